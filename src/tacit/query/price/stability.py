"""How far neighbours can differ: how many rows, groups, and rows in one group a single unit can reach at each step of a plan.

Add or remove one unit: at most `rows` rows come or go (the row limit, times the fan-out of each join with a public table, and never
more than the catalog's max_joined_rows), in at most `groups` groups, at most `per_group` of them in one. The norms below are of the
vector of changes over the groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from math import prod

from tacit.errors import TooMuchWork
from tacit.privacy.catalog import Catalog, Table
from tacit.privacy.loss import Change, Neighbours
from tacit.privacy.rounding import sqrt_up
from tacit.query.plan import (
    All,
    Bound,
    Column,
    Compare,
    Condition,
    Group,
    Join,
    Moment,
    PerUnit,
    Relation,
    Row,
    Scan,
    Semi,
    Union,
    UnitJoin,
    Where,
)
from tacit.query.question import Question, private, size
from tacit.query.trees import below, children, nodes_of


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
    per_group = min(rows, _rows_in_one_group(group), group.per_group or rows)
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
    """The most rows that one unit has at a step of the plan, in whatever order its joins are written (stability.md)."""
    raise TypeError(f"{type(relation).__name__} has no stability without a row limit")


@rows_of.register
def _(relation: Bound) -> int:
    return relation.max_rows


@rows_of.register
def _(relation: Group) -> int:
    return rows_of(relation.child)


@rows_of.register(Where)
@rows_of.register(Semi)
@rows_of.register(Join)
@rows_of.register(UnitJoin)
def _(relation: Where | Semi | Join | UnitJoin) -> int:
    return Joined.of(relation).rows()


@rows_of.register
def _(relation: PerUnit) -> int:
    """One row for each combination of keys: at most as many as there are rows, and as there are combinations, and as are kept."""
    most = min(rows_of(relation.child), prod(size for _, size in _key_sizes(relation)))
    return most if relation.most is None else min(most, relation.most)


def _key_sizes(relation: PerUnit) -> Iterator[tuple[str, int]]:
    return ((name, node.high - node.low + 1 + node.nullable) for name, node in relation.keys)


def _rows_in_one_group(group: Group) -> int:
    """The most rows of one unit in one group: where a sub-query groups by its keys too, those that other keys tell apart."""
    child: Relation = group.child
    while isinstance(child, Where):
        child = child.child
    if not isinstance(child, PerUnit):
        return rows_of(child)
    keys = {key.term.node for key in group.keys}
    told = {node.name for node in keys if isinstance(node, Column) and node.source == child.source}
    return min(rows_of(child), prod(size for name, size in _key_sizes(child) if name not in told))


@rows_of.register
def _(relation: Union) -> int:
    return sum(rows_of(part) for part, _ in relation.parts)


# --- joins: what they put together, and which rows of a unit the others determine (stability.md, section 2a) -----------------


Place = tuple[int, str]  # a column: the relation that makes it, and its name


@dataclass(frozen=True, slots=True)
class Member:
    """A relation that a join puts together with others: `rows` of one unit. No two rows agree in a set of `unique` columns.

    The right side of a left join comes `after` the members of its left side, whose every row it is beside at most `rows` times.
    """

    sources: frozenset[int]
    rows: int
    unique: tuple[frozenset[Place], ...] = ()
    after: frozenset[int] | None = None
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Joined:
    """The members of a tree of joins, the columns that are equal in every row that comes out, and the fan-outs of public tables.

    Neither depends on the order in which the tree is written, except where a left join says what is kept.
    """

    members: tuple[Member, ...]
    equal: tuple[tuple[Place, Place], ...] = ()
    fan_out: int = 1

    @classmethod
    def of(cls, relation: Relation, present: int | None = None) -> Joined:
        """The tree of joins at a step. Of rows with a part in the source `present`, a left join that found it is an inner one."""
        match relation:
            case Where():
                inside = cls.of(relation.child, present)
                return replace(
                    inside, equal=(*inside.equal, *_places((each.left, each.right) for each in joining(relation.condition)))
                )
            case Semi():
                return cls.of(relation.child, present)
            case Join():
                inside = cls.of(relation.child, present)
                return replace(inside, fan_out=inside.fan_out * relation.fan_out)
            case UnitJoin():
                left, right = cls.of(relation.child, present), cls.of(relation.other, present)
                if relation.kind == "inner" or any(present in each.sources for each in right.members):
                    return left._and(right, _places(relation.pairs))
                return left._and(Joined((right._beside(relation, frozenset().union(*(each.sources for each in left.members))),)))
            case _:
                return cls((_member(relation),))

    def rows(self, present: int | None = None) -> int:
        """The most rows of one unit; or, of these, the most that one row of the member `present` can be a part of."""
        return self.fan_out * self._least(frozenset(each for each in self.members if present in each.sources), frozenset(), {})

    def counted(self, beside: UnitJoin | None = None) -> tuple[tuple[Member, int], ...]:
        """The members in an order in which `rows` counts them, each with its factor: the witness of the bound (section 2a).

        If they are the right side of a left join, they are counted `beside` one row of its left side.
        """
        given = frozenset(place for _, place in _places(beside.pairs)) if beside is not None else frozenset[Place]()
        found, known = dict[frozenset[Member], int](), frozenset[Member]()
        order: list[tuple[Member, int]] = []
        while True:
            whole = self._with_determined(known, given)
            added = [each for each in self.members if each in whole and each not in known]
            order += [(each, each.rows if each.after is not None else 1) for each in added]
            rest = [each for each in self.members if each not in whole and each.after is None]
            if not rest:
                return tuple(order)
            least = min(rest, key=lambda each: each.rows * self._least(whole | {each}, given, found))
            order.append((least, least.rows))
            known = whole | {least}

    def lone(self) -> list[tuple[Table, int]]:
        """The tables, with their sources, whose rows come out at most once each, except for fan-outs of public tables."""
        single, every = frozenset(each for each in self.members if each.table and each.rows == 1), frozenset(self.members)
        if any(each.after is not None and each.rows > 1 for each in self.members):
            return []
        alone = [each for each in self.members if each.table and self._with_determined(single | {each}) == every]
        return [(each.table, source) for each in alone for source in each.sources if each.table]

    def _and(self, other: Joined, equal: tuple[tuple[Place, Place], ...] = ()) -> Joined:
        return Joined((*self.members, *other.members), (*self.equal, *other.equal, *equal), self.fan_out * other.fan_out)

    def _beside(self, relation: UnitJoin, after: frozenset[int]) -> Member:
        """The right side of a left join as one member: at most its rows for given values of the columns that are compared."""
        given = frozenset(place for _, place in _places(relation.pairs))
        rows = self.fan_out * self._least(frozenset(), given, {})
        return Member(frozenset().union(*(each.sources for each in self.members)), max(1, rows), after=after)

    def _least(self, known: frozenset[Member], given: frozenset[Place], found: dict[frozenset[Member], int]) -> int:
        """The least product of rows by which all members are counted one after the other: those that others determine cost 1.

        Many orders lead to the same known members: what is `found` for these is not sought again.
        """
        known = self._with_determined(known, given)
        if known not in found:
            found[known] = self._least_after(known, given, found)
        return found[known]

    def _least_after(self, known: frozenset[Member], given: frozenset[Place], found: dict[frozenset[Member], int]) -> int:
        """The same, of the members that the known ones do not determine."""
        rest = [each for each in self.members if each not in known and each.after is None]
        if not rest:
            return prod(each.rows for each in self.members if each.after is not None)
        single = next((each for each in rest if each.rows == 1), None)
        chosen = rest if single is None else [single]
        return min(each.rows * self._least(known | {each}, given, found) for each in chosen)

    def _with_determined(self, known: frozenset[Member], given: frozenset[Place] = frozenset()) -> frozenset[Member]:
        """The known members, and those with at most one row of a unit beside given rows of the known ones, and given values."""
        while True:
            sources = frozenset[int]().union(*(each.sources for each in known))
            values = self._with_equal(given | {place for pair in self.equal for place in pair if place[0] in sources})
            more = {each for each in self.members if each not in known and _is_determined(each, sources, values)}
            if not more:
                return known
            known |= more

    def _with_equal(self, places: frozenset[Place]) -> frozenset[Place]:
        while more := {one for pair in self.equal for one in pair if places & {*pair}} - places:
            places |= more
        return places


def _is_determined(member: Member, sources: frozenset[int], values: frozenset[Place]) -> bool:
    return member.after <= sources if member.after is not None else any(columns <= values for columns in member.unique)


def _member(relation: Relation) -> Member:
    """A table with its row limit: by preparation no two rows of a unit have one key (store.md). Or rows that a sub-query made."""
    rows = rows_of(relation)
    match relation:
        case Bound(child=scan):
            from tacit.data.ownership import code_name

            named = () if scan.table.key is None else (frozenset({(scan.source, code_name(scan.table.key))}),)
            return Member(frozenset({scan.source}), rows, named, table=scan.table)
        case PerUnit():
            return Member(frozenset({relation.source}), rows, (frozenset((relation.source, name) for name, _ in relation.keys),))
        case Union():
            return Member(frozenset({relation.source}), rows)
        case _:
            raise TypeError(f"{type(relation).__name__} is not a member of a join")


def _places(pairs: Iterable[tuple[Row, Row]]) -> tuple[tuple[Place, Place], ...]:
    """The columns that are compared, where each side is a column itself."""
    columns = ((left, right) for left, right in pairs if isinstance(left, Column) and isinstance(right, Column))
    return tuple(((left.source, left.name), (right.source, right.name)) for left, right in columns)


def joining(condition: Condition) -> tuple[Compare, ...]:
    """The comparisons of two columns with = that a condition demands: what a tree of joins takes from WHERE."""
    if isinstance(condition, All):
        return tuple(each for part in condition.parts for each in joining(part))
    match condition:
        case Compare(operator="=", left=Column(), right=Column()):
            return (condition,)
        case _:
            return ()


def is_private(relation: Relation) -> bool:
    """Whether the rows of a relation have a unit."""
    return any(isinstance(step, Scan) for step in below(relation))


def check_joined_rows(relation: Relation) -> None:
    """Raises if one unit can have more rows after all joins of a tree than the catalog's max_joined_rows, here or below."""
    for tree, last in _trees(relation):
        rows, table = rows_of(tree), min(tables_of(last), key=lambda each: each.most_joined_rows)
        if rows > table.most_joined_rows:
            raise TooMuchWork(
                f"one unit of {table.name} can have {rows:,} rows after {_words(last)}: the limit is {table.most_joined_rows:,}",
                remedy="join fewer tables or on a column with fewer matches, or have max_joined_rows raised in the catalog",
            )


def _trees(relation: Relation, inside: bool = False) -> Iterator[tuple[Relation, Relation]]:
    """The trees of joins of private rows in a plan, with their filters, and the last join of each; a UNION ALL is one, too."""
    part = isinstance(relation, Join | UnitJoin | Where | Semi)
    last = relation
    while isinstance(last, Where | Semi):
        last = last.child
    if isinstance(last, Join | UnitJoin | Union) and not (inside and part) and not (isinstance(last, Union) and part):
        yield relation, last
    for child in children(relation):
        yield from _trees(child, part and not (isinstance(relation, Semi) and child is relation.other))


def _words(last: Relation) -> str:
    match last:
        case UnitJoin():
            return f"the join with {' and '.join(table.name for table in tables_of(last.other))}"
        case Join():
            return f"the join with {last.table.name}"
        case _:
            return "UNION ALL"


def tables_of(relation: Relation) -> tuple[Table, ...]:
    """The private tables of a plan, each once, in the order of the query."""
    scans = sorted((step for step in below(relation) if isinstance(step, Scan)), key=lambda scan: scan.source)
    return tuple({scan.table.name: scan.table for scan in scans}.values())


def copies(relation: Relation, source: int) -> int | None:
    """How often one row of a source can occur in a relation; None if the source is not part of its rows."""
    joined = Joined.of(relation, source)
    return joined.rows(source) if any(source in each.sources for each in joined.members) else None


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
