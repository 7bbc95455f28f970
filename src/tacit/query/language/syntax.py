"""The tree of a question as it was written: names, constants, functions. SQL and the Python builder both end here."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
class Limits:
    """The options of a question besides its budget: the unit, its most groups and rows, and which groups are shown."""

    unit: Name | None = None
    groups: int | None = None
    rows: int | None = None
    selection: str | None = None
    people: int | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """A whole question as written; `options` is the budget written in it, and `limits` are its other options.

    `sets` are the grouping sets of ROLLUP, CUBE or GROUPING SETS; `group_by` has all their expressions. The rows of the questions
    in `below` stand below its own (UNION ALL); its order and limit are then those of all rows. Without FROM, `table` is None.
    `also` are the questions after the first one of a list, which are asked with it at one price.
    """

    items: tuple[Item, ...]
    table: From | Nested | None
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
    limits: Limits = Limits()
    also: tuple[Select, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Form:
    """How a function is written: the fields of sqlglot's node of that name, fewest and most arguments, an example, other words.

    Without fields, the function has a reader of its own. Without a most, it takes any number.
    """

    fields: tuple[str, ...] = ("this",)
    least: int = 1
    most: int | None = 1
    usage: str = "see: tacit reference sql"
    also: tuple[str, ...] = ()


MODEL_WORDS = ("linreg", "linreg_intercept", "linreg_slope", "linreg_r2")  # of a linear model: the first stands for all the others
ONE, TWO, SEVERAL = Form(), Form(("this", "expression"), 2, 2), Form(("this", "expressions"), 1, None)


# --- two trees of the same question, which differ in their places alone ------------------------------------------------------


def without_places(select: Select) -> Select:
    """The question without its places, to tell whether two say the same; an empty name counts as no name."""
    return replace(
        select,
        items=tuple(Item(_without_place(item.expression), item.name or None) for item in select.items),
        table=None if select.table is None else _unplaced_source(select.table),
        joins=tuple(replace(join, table=_unplaced_source(join.table), on=_maybe(join.on)) for join in select.joins),
        where=_maybe(select.where),
        group_by=() if select.sets else tuple(map(_without_place, select.group_by)),
        sets=tuple(tuple(map(_without_place, keys)) for keys in select.sets),
        below=tuple(map(without_places, select.below)),
        also=tuple(map(without_places, select.also)),
        having=_maybe(select.having),
        qualify=_maybe(select.qualify),
        limits=replace(select.limits, unit=select.limits.unit and replace(select.limits.unit, at=None)),
        order_by=tuple(replace(order, expression=_without_place(order.expression)) for order in select.order_by),
    )


def _unplaced_source(source: From | Nested) -> From | Nested:
    if isinstance(source, Nested):
        return replace(source, query=unplaced_query(source.query), at=None)
    return replace(source, at=None)


def unplaced_query(query: Query) -> Query:
    """A sub-query without its places."""
    if isinstance(query, UnionAll):
        return UnionAll(tuple(map(unplaced_query, _parts(query))))
    return without_places(query)


def _parts(query: Query) -> list[Query]:
    """The queries of UNION ALL in order, however they were put together."""
    return [each for part in query.parts for each in _parts(part)] if isinstance(query, UnionAll) else [query]


def _maybe(expression: Expression | None) -> Expression | None:
    return None if expression is None else _without_place(expression)


def _without_place(expression: Expression) -> Expression:
    if isinstance(expression, Apply):
        return Apply(expression.function, tuple(map(_without_place, expression.arguments)))
    if isinstance(expression, InQuery):
        return InQuery(_without_place(expression.value), unplaced_query(expression.query))
    if isinstance(expression, Exists):
        return Exists(unplaced_query(expression.query))
    if isinstance(expression, Scalar):
        return Scalar(unplaced_query(expression.query))
    return replace(expression, at=None)
