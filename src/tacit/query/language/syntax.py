"""What was written, before anything is known about it: names, constants, functions. SQL and the Python builder both end here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Literal

At = tuple[int, int] | None  # line and column, from 1


@dataclass(frozen=True, slots=True)
class Name:
    """A column, possibly with its table: the last part is the column."""

    parts: tuple[str, ...]
    at: At = None


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the question."""

    value: Fraction | str | bool | date | None
    at: At = None


@dataclass(frozen=True, slots=True)
class Star:
    """The star of COUNT(*), or of a sub-query; there it may have a table: v.*."""

    at: At = None
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """A function, operator or other construct by its plain name: "+", "case", "in", "count_distinct"."""

    function: str
    arguments: tuple[Expression, ...]
    at: At = None


@dataclass(frozen=True, slots=True)
class Exists:
    """EXISTS (query)."""

    query: Query
    at: At = None


@dataclass(frozen=True, slots=True)
class InQuery:
    """value IN (query)."""

    value: Expression
    query: Query
    at: At = None


@dataclass(frozen=True, slots=True)
class Scalar:
    """(query) as a value."""

    query: Query
    at: At = None


Expression = Name | Constant | Star | Apply | Exists | InQuery | Scalar


@dataclass(frozen=True, slots=True)
class From:
    """A table under the name by which columns call it."""

    table: str
    alias: str
    at: At = None


@dataclass(frozen=True, slots=True)
class Nested:
    """A sub-query in FROM, or a name of WITH, under the name by which columns call it."""

    query: Query
    alias: str
    at: At = None


@dataclass(frozen=True, slots=True)
class Joined:
    """A join: a condition (`on`), columns that both sides have (`using`, or all of them: `natural`), or neither (a comma)."""

    table: From | Nested
    kind: Literal["inner", "left"]
    on: Expression | None = None
    using: tuple[str, ...] = ()
    natural: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """An expression of SELECT with its name."""

    expression: Expression
    name: str | None


@dataclass(frozen=True, slots=True)
class Ordering:
    """An expression of ORDER BY."""

    expression: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class Select:
    """A whole question as written; `options` is the budget written in it.

    `sets` are the grouping sets of ROLLUP, CUBE or GROUPING SETS; `group_by` has all their expressions. The rows of the questions
    in `below` stand below its own (UNION ALL); its order and limit are then those of all rows.
    """

    items: tuple[Item, ...]
    table: From | Nested
    joins: tuple[Joined, ...] = ()
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    order_by: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    options: tuple[tuple[str, Fraction], ...] = ()
    distinct: bool = False
    sets: tuple[tuple[Expression, ...], ...] = ()
    below: tuple[Select, ...] = ()
    qualify: Expression | None = None


@dataclass(frozen=True, slots=True)
class UnionAll:
    """Queries one below the other."""

    parts: tuple[Query, ...]
    at: At = None


Query = Select | UnionAll


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE table: what the catalog declares of it."""

    table: str
    at: At = None


@dataclass(frozen=True, slots=True)
class ShowTables:
    """SHOW TABLES."""


Statement = Select | Describe | ShowTables
