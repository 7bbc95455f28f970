"""The plan: the meaning of a query, as frozen nodes; no SQL text, no engine, no data.

A row expression is an integer with a range known in advance: every value is on a public grid, value = k step, and the plan
computes with k. A condition is true, false or unknown, as in SQL. Every node is total: no row can make it fail (`terms.py` builds
them and refuses what could).

    relations   a tree of Scan  Bound  Where  Join  UnitJoin  Semi  PerUnit  Union  PublicScan, below one Group
    rows        Column  Literal  Add  Multiply  Quotient  Ratio  Choose  Lookup  Root  Logarithm
    conditions  Compare  Among  IsNull  All  Either  Negation  Truth  TextIs  TextLike

The question around a plan, with all that is made of released numbers, is in question.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal as Choice

from tacit.privacy.catalog import Table, Value
from tacit.privacy.periods import Runs

UNSAID = {"unsaid": True}  # of a field: its default is not part of the text of a plan (trees.py), so that older texts stay the same

# --- rows: integers, with their ranges ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its stored offset plus `low`. `source` is the number of the relation that makes it, unique in a query.

    `together`, for a per-unit total, is the maximum sum of the absolute values of all rows of one unit.
    """

    source: int
    name: str
    low: int
    high: int
    nullable: bool
    together: int | None = None


@dataclass(frozen=True, slots=True)
class Code(Column):
    """The stored code of a key: one for each pair of a key and a unit, so rows with equal codes are of one unit (store.md).

    A separate type, since no name in a query can make one.
    """


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant integer, or NULL."""

    value: int | None

    @property
    def low(self) -> int:
        return self.value or 0

    @property
    def high(self) -> int:
        return self.value or 0

    @property
    def nullable(self) -> bool:
        return self.value is None


@dataclass(frozen=True, slots=True)
class Add:
    """left + right."""

    left: Row
    right: Row
    low: int
    high: int
    nullable: bool


@dataclass(frozen=True, slots=True)
class Multiply:
    """left times right."""

    left: Row
    right: Row
    low: int
    high: int
    nullable: bool


@dataclass(frozen=True, slots=True)
class Quotient:
    """floor(child / divisor), for a positive constant divisor; exact on every engine (see compile.py)."""

    child: Row
    divisor: int
    low: int
    high: int
    nullable: bool


@dataclass(frozen=True, slots=True)
class Ratio:
    """floor(above times / below) in doubles, clamped to its range; NULL if below is 0."""

    above: Row
    below: Row
    times: int
    low: int
    high: int
    nullable: bool


@dataclass(frozen=True, slots=True)
class Choose:
    """The value of the first true condition, else `otherwise` (CASE)."""

    branches: tuple[tuple[Condition, Row], ...]
    otherwise: Row
    low: int
    high: int
    nullable: bool


@dataclass(frozen=True, slots=True)
class Lookup:
    """table[child], for a child in 0..len(table)-1; a None in the table is NULL."""

    child: Row
    table: tuple[int | None, ...]
    low: int
    high: int
    nullable: bool


@dataclass(frozen=True, slots=True)
class Root:
    """floor(sqrt(child)), for a child from 0 to below 2^52; exact, since the root of a double is correctly rounded."""

    child: Row
    low: int
    high: int
    nullable: bool


@dataclass(frozen=True, slots=True)
class Logarithm:
    """floor(log(child step) / unit), for a child of at least 1; exact (curves.md).

    `up` and `down` are the values of the child so near to a border that doubles may see them on the other side: at it, and below.
    """

    child: Row
    base: Choice["e", "10"]
    step: Fraction
    unit: Fraction
    up: tuple[int, ...]
    down: tuple[int, ...]
    low: int
    high: int
    nullable: bool


Row = Column | Literal | Add | Multiply | Quotient | Ratio | Choose | Lookup | Root | Logarithm

# --- conditions: true, false or unknown --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of private text: it can be filtered on and, through a threshold, grouped by."""

    source: int
    name: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two integers; unknown if one is NULL."""

    operator: Choice["<", "<=", "="]
    left: Row
    right: Row


@dataclass(frozen=True, slots=True)
class Among:
    """child is one of `values`; unknown if child is NULL."""

    child: Row
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """True or false, never unknown."""

    child: Row | TextColumn


@dataclass(frozen=True, slots=True)
class All:
    """AND."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """OR."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """NOT."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Truth:
    """A constant condition; None is unknown."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class TextIs:
    """child is one of `texts`; unknown if child is NULL."""

    child: TextColumn
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextLike:
    """child matches a constant LIKE pattern: % is any run, _ any one character, nothing else is special."""

    child: TextColumn
    pattern: str


Condition = Compare | Among | IsNull | All | Either | Negation | Truth | TextIs | TextLike

# --- types: what an integer means --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NumberType:
    """k means k times step."""

    step: Fraction


@dataclass(frozen=True, slots=True)
class CategoryType:
    """k means values[k]."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class DateType:
    """k means the k-th day after 1970-01-01."""


@dataclass(frozen=True, slots=True)
class BooleanType:
    """k is 0 for false and 1 for true."""


@dataclass(frozen=True, slots=True)
class TextType:
    """Private text."""


Type = NumberType | CategoryType | DateType | BooleanType | TextType


@dataclass(frozen=True, slots=True)
class Term:
    """A row expression with its meaning. `points` lists its possible values if they are fewer than its range."""

    node: Row | TextColumn
    type: Type
    points: tuple[int, ...] | None = None

    @property
    def nullable(self) -> bool:
        return self.node.nullable


# --- relations ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scan:
    """A prepared private table."""

    table: Table
    source: int = 0


@dataclass(frozen=True, slots=True)
class Bound:
    """The first `max_rows` rows of each unit, by rank: before any filter or join, so sound under all of them.

    Of a table with periods, the first ones in each period, and only those of the `periods` that the question is charged to.
    """

    child: Scan
    max_rows: int
    periods: Runs | None = field(default=None, metadata=UNSAID)


@dataclass(frozen=True, slots=True)
class PublicScan:
    """A public table of `size` rows and `width` columns; its rows have no unit."""

    table: Table
    source: int
    size: int
    width: int


@dataclass(frozen=True, slots=True)
class Join:
    """Each row with the rows of a public table whose `right` column equals `left`; at most `fan_out` of them.

    `left` is already translated to the stored offsets of `right`. The public table has `size` rows of `width` columns; only rows
    for which `condition` is true count.
    """

    child: Rows
    table: Table
    left: Row
    right: str
    kind: Choice["inner", "left"]
    fan_out: int
    size: int
    width: int
    source: int = 1
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class UnitJoin:
    """Each row with the rows of the same unit in `other` for which all `pairs` (left, right) are equal.

    `once`: a row has at most one match, because the pairs contain a key with one row for each unit (store.md). `here` is the
    source of a column of that name: 1 if a row has a match, NULL if a left join found no match.
    """

    child: Rows
    other: Rows
    pairs: tuple[tuple[Row, Row], ...]
    kind: Choice["inner", "left"]
    once: bool
    here: int


@dataclass(frozen=True, slots=True)
class Semi:
    """The rows that have (or, if `negated`, do not have) a row in `other` for which all `pairs` are equal.

    If `other` is private, the unit is always one of the pairs; a public relation has no unit.
    """

    child: Rows
    other: Rows | PublicRows
    pairs: tuple[tuple[Row, Row], ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Total:
    """One number about the rows of a unit, or of a unit and keys: an offset from `low`, like a stored column.

    rows      how many rows (of those in which `value` is not NULL, if it is given)
    sum       the sum of value                          NULL if no row has a value; so are the next three
    least, largest
    mean      floor(sum of (value - low of value) times / (rows divisor))
    distinct  how many distinct values
    """

    name: str
    kind: Choice["rows", "sum", "least", "largest", "mean", "distinct"]
    value: Row | None
    low: int
    times: int = 1
    divisor: int = 1


@dataclass(frozen=True, slots=True)
class PerUnit:
    """One row for each unit and each combination of `keys` (name, value) in its rows, with its totals.

    Of each unit at most `most` such rows are kept, if that is given: those in which its rows have the lowest ranks.
    """

    child: Rows
    keys: tuple[tuple[str, Row], ...]
    totals: tuple[Total, ...]
    source: int
    most: int | None = field(default=None, metadata=UNSAID)


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of all parts, stacked; `names` are the columns that each part computes, in order."""

    parts: tuple[tuple[Rows, tuple[Row, ...]], ...]
    names: tuple[str, ...]
    lows: tuple[int, ...]
    source: int


@dataclass(frozen=True, slots=True)
class Where:
    """The rows for which the condition is true."""

    child: Rows | PublicRows
    condition: Condition


Rows = Scan | Bound | Join | UnitJoin | Semi | PerUnit | Union | Where  # every row belongs to exactly one unit
PublicRows = PublicScan | Where


@dataclass(frozen=True, slots=True)
class Moment:
    """One exact integer per group, over the rows of the group where `value` is not NULL.

    rows      how many rows (where `value` is given: rows in which it is not NULL)
    units     how many distinct units
    sum       the sum of value
    centred   the sum of y = 2 value - (low + high)
    squares   the sum of 2 y^2 - (high - low)^2
    products  the sum of y z, z being the same of `other`, which is NULL where `value` is
    list      every (value, how many rows), for quantiles and modes
    distinct  how many different values; of `text`, where it is given

    `together`, for a sum of per-unit totals: the most that one unit moves the sums of all groups together.
    """

    kind: Choice["rows", "units", "sum", "centred", "squares", "products", "list", "distinct"]
    value: Row | None = None
    together: int | None = None
    text: TextColumn | None = None
    other: Row | None = None

    @property
    def parts(self) -> tuple[Row | TextColumn, ...]:
        """The expressions of a row that it adds up."""
        return tuple(part for part in (self.text, self.value, self.other) if part is not None)


@dataclass(frozen=True, slots=True)
class Key:
    """A column of GROUP BY. `kept` lists the values that WHERE leaves, in order, NULL last; None if it leaves all."""

    name: str
    term: Term
    kept: tuple[int | None, ...] | None = field(default=None, metadata=UNSAID)


@dataclass(frozen=True, slots=True)
class Group:
    """One row per combination of keys, with its moments. `per_group` limits a unit's rows in one group, if declared.

    The rows are then numbered by their rank in the table of the source `limited`; None is the first table. A private group is shown
    if the noisy number of its units reaches `people`, where the question asks for that, and in any case what the catalog declares.
    """

    child: Rows
    keys: tuple[Key, ...]
    moments: tuple[Moment, ...]
    per_group: int | None = None
    limited: int | None = field(default=None, metadata=UNSAID)
    people: int | None = field(default=None, metadata=UNSAID)


Relation = Rows | PublicScan | Group
