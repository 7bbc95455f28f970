"""How far neighbours can differ: how many rows, groups, and rows in one group a single unit can reach at each step of a plan.

Add or remove one unit: at most `rows` rows come or go (the row limit, times the fan-out of each join with a public table, and never
more than the catalog's max_joined_rows), in at most `groups` groups, at most `per_group` of them in one. The norms below are of the
vector of changes over the groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from math import prod

from tacit.errors import TooMuchWork
from tacit.privacy.catalog import Catalog, Table
from tacit.privacy.loss import Change, Neighbours
from tacit.privacy.rounding import sqrt_up
from tacit.query.plan import Bound, Group, Join, Moment, PerUnit, Relation, Scan, Semi, Union, UnitJoin, Where
from tacit.query.question import Question, private, size
from tacit.query.trees import below, nodes_of


@dataclass(frozen=True, slots=True)
class Reach:
    """The reach of one unit; `change` is what may happen to it, `several` whether there is more than one group.

    Where a unit changes, these are the rows and groups that it has before, and again those that it has after. `fixed`: every unit
    has exactly one row, which always counts (`rows_are_public`).

    >>> Reach(rows=10, groups=4, per_group=3).l1, Reach(rows=10, groups=10, per_group=3).l2_squared
    (10, 28)
    """

    rows: int
    groups: int
    per_group: int
    change: Change = "add-remove"
    several: bool = False
    fixed: bool = False

    @property
    def neighbours(self) -> Neighbours:
        """The relation that sensitivities are for."""
        return Neighbours(self.change, "unit")

    @property
    def l1(self) -> int:
        """The largest total change of counts over the groups."""
        return min(self.rows, self.groups * self.per_group)

    @property
    def l2_squared(self) -> int:
        """The largest sum of squares of integer changes: as many full groups as possible, then the rest.

        A sum of squares with a given total grows when the larger entry takes from the smaller one, so filling groups to the limit
        one after the other is the maximum.
        """
        full = min(self.groups, self.l1 // self.per_group)
        rest = self.l1 - full * self.per_group
        return full * self.per_group**2 + rest**2

    @property
    def units_l1(self) -> int:
        """The same for numbers of units: a unit counts once in a group."""
        return min(self.rows, self.groups)


def reach(question: Question, change: Change = "add-remove", fixed: bool = False) -> Reach:
    """The reach of one unit in the groups of a question; `fixed` is `rows_are_public`."""
    rows, group = rows_of(question.group.child), question.group
    if not group.keys:
        return Reach(rows, 1, rows, change, fixed=fixed)
    cells = rows if private(question) else prod(size(key) for key in group.keys)
    per_group = min(rows, group.per_group) if group.per_group else rows
    return Reach(rows, min(rows, cells), per_group, change, private(question) or cells > 1)


def rows_are_public(question: Question, catalog: Catalog) -> bool:
    """Whether all neighbours have the same number of rows in a question, and each row always counts (stability.md, section 8).

    So where a unit changes that is one row of the only private table, nothing can drop a row when the table is prepared, and the
    question takes all rows as one group, with no value that may be missing.
    """
    group = question.group
    if catalog.change != "change-one" or len(question.parts) > 1 or group.keys or not isinstance(group.child, Bound):
        return False
    everyone = [table for table in catalog.tables.values() if not table.public]
    values = (node for moment in group.moments for part in moment.parts for node in nodes_of(part))
    missing = any(getattr(node, "nullable", False) for node in values)
    return everyone == [group.child.child.table] and not missing and _keeps_all_rows(everyone[0])


def _keeps_all_rows(table: Table) -> bool:
    """Whether every raw row is a unit and is stored, whatever it contains.

    Empty lines of a CSV file are skipped; in a file with a single column, one may stand for a missing value.
    """
    dropped = any("drop" in (column.nulls, column.outside, column.unknown) for column in table.columns.values())
    blank = table.source.kind == "csv" and len(table.columns) < 2
    return table.unit is None and table.key is None and table.max_rows == 1 and not dropped and not blank


@singledispatch
def rows_of(relation: Relation) -> int:
    """The most rows that one unit has at a step of the plan (stability.md); raises above the catalog's max_joined_rows."""
    raise TypeError(f"{type(relation).__name__} has no stability without a row limit")


@rows_of.register
def _(relation: Bound) -> int:
    return relation.max_rows


@rows_of.register
def _(relation: Group) -> int:
    return rows_of(relation.child)


@rows_of.register
def _(relation: Where) -> int:
    return rows_of(relation.child)


@rows_of.register
def _(relation: Semi) -> int:
    """Removes rows and adds none."""
    _ = rows_of(relation.other) if is_private(relation.other) else 0  # checks its own limit after joins
    return rows_of(relation.child)


@rows_of.register
def _(relation: Join) -> int:
    return _join_rows(relation, rows_of(relation.child) * relation.fan_out, relation.table.name)


@rows_of.register
def _(relation: UnitJoin) -> int:
    """Each row with at most one match, or with all rows of its unit there; under LEFT a row without a match stays."""
    left, right = rows_of(relation.child), rows_of(relation.other)
    matches = min(right, 1) if relation.once else right
    return _join_rows(relation, left * max(matches, 1), " and ".join(table.name for table in tables_of(relation.other)))


@rows_of.register
def _(relation: PerUnit) -> int:
    """One row for each combination of keys: at most as many as there are rows, and as there are combinations."""
    sizes = (node.high - node.low + 1 + node.nullable for _, node in relation.keys)
    return min(rows_of(relation.child), prod(sizes))


@rows_of.register
def _(relation: Union) -> int:
    return _join_rows(relation, sum(rows_of(part) for part, _ in relation.parts), "UNION ALL")


def is_private(relation: Relation) -> bool:
    """Whether the rows of a relation have a unit."""
    return any(isinstance(step, Scan) for step in below(relation))


def _join_rows(relation: Relation, rows: int, other: str) -> int:
    table = min(tables_of(relation), key=lambda each: each.most_joined_rows)
    if rows > table.most_joined_rows:
        raise TooMuchWork(
            f"one unit of {table.name} can have {rows:,} rows after the join with {other}: the limit is {table.most_joined_rows:,}",
            remedy="join fewer tables or on a column with fewer matches, or have max_joined_rows raised in the catalog",
        )
    return rows


def tables_of(relation: Relation) -> tuple[Table, ...]:
    """The private tables of a plan, each once, in the order of the query."""
    scans = sorted((step for step in below(relation) if isinstance(step, Scan)), key=lambda scan: scan.source)
    return tuple({scan.table.name: scan.table for scan in scans}.values())


def copies(relation: Relation, source: int) -> int | None:
    """How often one row of a source can occur in a relation; None if the source is not part of its rows."""
    match relation:
        case PerUnit() | Union():
            return 1 if relation.source == source else None
        case Where() | Semi():
            return copies(relation.child, source)
        case Join():
            below_it = copies(relation.child, source)
            return None if below_it is None else below_it * relation.fan_out
        case UnitJoin():
            left, right = copies(relation.child, source), copies(relation.other, source)
            if left is not None:
                return left * (1 if relation.once else max(1, rows_of(relation.other)))
            return None if right is None else right * rows_of(relation.child)
        case _:
            return None


def row_range(moment: Moment, fixed: bool = False) -> tuple[int, int]:
    """The least and the most that one row adds to a moment, in its integer units.

    0 is between them, since any row may not count, unless the number of rows is `fixed`: then each adds 1 to it, and its value.
    """
    node = moment.value
    if fixed and moment.kind == "rows":
        return 1, 1
    if fixed and moment.kind == "sum" and node is not None:
        return node.low, node.high
    if moment.kind in ("rows", "units", "list", "distinct") or node is None:
        return 0, 1
    if moment.kind == "sum":
        return min(node.low, 0), max(node.high, 0)
    spread = node.high - node.low
    if moment.kind == "products":
        spread *= moment.other.high - moment.other.low if moment.other is not None else 0
    elif moment.kind == "squares":
        spread **= 2
    return -spread, spread


def l1_sensitivity(moment: Moment, touched: Reach) -> int:
    """The l1 sensitivity of a moment over all groups."""
    if moment.kind == "units":
        return touched.units_l1 * _l1_of((0, 1), touched)
    apart = _count_reach(moment, touched).l1 * _l1_of(row_range(moment, touched.fixed), touched)
    return apart if moment.together is None else min(apart, _l1_of(_together(moment), touched))


def l2_sensitivity(moment: Moment, touched: Reach) -> Fraction:
    """The l2 sensitivity of a moment over all groups, rounded up; never above the l1 one."""
    if moment.kind == "units":
        return sqrt_up(Fraction(touched.units_l1 * _l2_squared_of((0, 1), touched)))
    squared = _count_reach(moment, touched).l2_squared * _l2_squared_of(row_range(moment, touched.fixed), touched)
    if moment.together is not None:
        squared = min(squared, _l2_squared_of(_together(moment), touched))
    return sqrt_up(Fraction(squared))


def largest_move(moment: Moment, touched: Reach) -> int:
    """How far one unit moves a moment in a single group."""
    if moment.kind == "units":
        return 1
    low, high = row_range(moment, touched.fixed)
    size = max(-low, high) if touched.change == "add-remove" else high - low
    return min(l1_sensitivity(moment, touched), _count_reach(moment, touched).per_group * size)


def entries_moved(moment: Moment, touched: Reach) -> int:
    """In how many groups one unit can move a moment: those that it has, and where it changes, those that it had."""
    groups = touched.units_l1 if moment.kind == "units" else touched.groups
    return 2 * groups if touched.change == "change-one" and touched.several else groups


def _l1_of(ends: tuple[int, int], touched: Reach) -> int:
    """How far a number between two ends moves one group (in l1: all of them) when it comes, goes or changes.

    0 is among the ends, unless the number of rows is fixed: there is one group then, and numbers change alone.
    """
    low, high = ends
    if touched.change == "add-remove":
        return max(-low, high)
    return 2 * max(-low, high) if touched.several else high - low


def _l2_squared_of(ends: tuple[int, int], touched: Reach) -> int:
    """The same for squares: two numbers in different groups, or in one, where opposite signs add up."""
    low, high = ends
    if touched.change == "change-one" and touched.several:
        return 2 * (max(-low, high) ** 2 - low * high)
    return _l1_of(ends, touched) ** 2


def _together(moment: Moment) -> tuple[int, int]:
    """The ends of what all totals of a unit add up to, over all groups."""
    (low, high), most = row_range(moment), moment.together or 0
    return -most if low < 0 else 0, most if high > 0 else 0


def _count_reach(moment: Moment, touched: Reach) -> Reach:
    """The reach of one unit in a moment: of a number of different values in one group no more than there can be."""
    if moment.kind != "distinct" or moment.value is None:
        return touched
    return replace(touched, per_group=min(touched.per_group, moment.value.high - moment.value.low + 1))
