"""How far neighbours drift: how many rows, groups, and rows in one group a single unit can reach at each step of a plan.

Add or remove one unit: at most `rows` rows come or go (the row limit, times the fan-out of each join with a public table, and never
more than the catalog's max_joined_rows), in at most `groups` groups, at most `per_group` of them in one. The norms below are of the
vector of changes over the groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

from tacit.errors import TooMuchWork
from tacit.privacy.catalog import Table
from tacit.privacy.rounding import sqrt_up
from tacit.query.groups import private, size
from tacit.query.plan import Bound, Join, Moment, Question, Relation, Scan, Where


@dataclass(frozen=True, slots=True)
class Reach:
    """What one unit can touch.

    >>> Reach(rows=10, groups=4, per_group=3).l1, Reach(rows=10, groups=10, per_group=3).l2_squared
    (10, 28)
    """

    rows: int
    groups: int
    per_group: int

    @property
    def l1(self) -> int:
        """The largest total change of counts over the groups."""
        return min(self.rows, self.groups * self.per_group)

    @property
    def l2_squared(self) -> int:
        """The largest sum of squares of whole changes: as many full groups as there are, then the rest.

        A sum of squares with a given total grows when the larger entry takes from the smaller one, so filling groups to
        the limit one after the other is the maximum.
        """
        full = min(self.groups, self.l1 // self.per_group)
        rest = self.l1 - full * self.per_group
        return full * self.per_group**2 + rest**2

    @property
    def units_l1(self) -> int:
        """The same for numbers of units: a unit counts once in a group."""
        return min(self.rows, self.groups)


def reach(question: Question) -> Reach:
    """What one unit can touch in the groups of a question."""
    rows, group = rows_of(question.group.child), question.group
    if not group.keys:
        return Reach(rows, 1, rows)
    cells = rows if private(question) else prod(size(key) for key in group.keys)
    per_group = min(rows, group.per_group) if group.per_group else rows
    return Reach(rows, min(rows, cells), per_group)


def rows_of(relation: Relation) -> int:
    """The most rows that one unit has at a step of the plan; refused above the catalog's max_joined_rows."""
    match relation:
        case Bound():
            return relation.max_rows
        case Join():
            return _joined(relation, rows_of(relation.child) * relation.fan_out)
        case Where():
            return rows_of(relation.child)
        case Scan():
            raise TypeError("a scan without a row limit has no stability; the pass `bound` puts one above it")
        case _:
            return rows_of(relation.child)


def _joined(join: Join, rows: int) -> int:
    table = scan_of(join).table
    if rows > table.most_joined_rows:
        raise TooMuchWork(
            f"one unit of {table.name} can have {rows:,} rows after the join with {join.table.name}: at most "
            f"{table.most_joined_rows:,} are answered",
            remedy="join fewer tables or on a column with fewer matches, or have max_joined_rows raised in the catalog",
        )
    return rows


def scanned(question: Question) -> Table:
    """The private table of a question."""
    return scan_of(question.group.child).table


def scan_of(relation: Relation) -> Scan:
    """The scan below a step of the plan."""
    return relation if isinstance(relation, Scan) else scan_of(relation.child)


def magnitude(moment: Moment) -> int:
    """The most that one row can move a moment, in its integer units."""
    node = moment.value
    if moment.kind in ("rows", "units", "list") or node is None:
        return 1
    if moment.kind == "sum":
        return max(abs(node.low), abs(node.high))
    spread = node.high - node.low
    return spread if moment.kind == "centred" else spread**2


def l1_sensitivity(moment: Moment, touched: Reach) -> int:
    """The l1 sensitivity of a moment over all groups."""
    return touched.units_l1 if moment.kind == "units" else touched.l1 * magnitude(moment)


def l2_sensitivity(moment: Moment, touched: Reach) -> Fraction:
    """The l2 sensitivity of a moment over all groups, rounded up."""
    squared = touched.units_l1 if moment.kind == "units" else touched.l2_squared * magnitude(moment) ** 2
    return sqrt_up(Fraction(squared))
