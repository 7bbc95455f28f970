"""Free questions: those about public tables, constants and the catalog. The answers cannot depend on a private row.

A SELECT is free if every table anywhere in it is public: in FROM, joins, sub-queries, WITH, UNION, EXISTS and IN; one without any
table has constants alone. The walk over the tree knows no kinds of nodes, so that a kind which is added later is walked too. The
SQL that runs is written anew from the tree, with functions of a list, on an engine that holds copies of the public tables it names
and nothing else (engines/public.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, Protocol

from tacit.errors import NotAllowed, TooMuchWork, UnknownName
from tacit.privacy.catalog import Catalog, Column, Table, day_of
from tacit.privacy.rounding import as_text, decimal_text
from tacit.query.binding.scope import IN_SCHEMA, PublicFacts, declared_names, source_of
from tacit.query.functions import FUNCTIONS
from tacit.query.intervals.aggregates import PUBLIC, WRITTEN
from tacit.query.language.syntax import (
    Apply,
    Constant,
    Describe,
    Expression,
    From,
    Item,
    Limits,
    Name,
    Nested,
    Ordering,
    Scalar,
    Select,
    ShowTables,
    Star,
    Statement,
    UnionAll,
)
from tacit.query.language.writer import expression_text, written
from tacit.query.trees import each_once, fields_of

Columns = Sequence[tuple[str, tuple[Any, ...]]]  # names and values of an answer
_LEAVES = frozenset({int, str, bool, float, Fraction, type(None)})
MOST_NODES = 50_000  # more than 64 KiB of SQL have, unless a sub-query is named many times
LONGEST_NAME = 60  # characters of a column that is named by its expression
MOST_LISTED = 100_000  # rows of declared values
MOST_WORK = 10**7  # rows that a question may make at most, as if every join and sub-query met every row
ALLOWED = frozenset({
    "=", "<>", "<", "<=", ">", ">=", "and", "or", "not", "case", "in", "between", "like", "ilike",
    "cast_decimal", "is_null", "is_true", "is_false", "starts_with", "ends_with", "contains", "regexp_matches",
    *(name for name, row in FUNCTIONS.items() if row.public), *PUBLIC,
})  # fmt: skip


class Facts(PublicFacts, Protocol):
    """Facts about the public tables, and free questions about them."""

    def answered(self, text: str, tables: Sequence[str]) -> Columns:
        """The answer to a question of public tables alone, in SQL that tacit has written."""


def is_free(select: Select, catalog: Catalog) -> bool:
    """Whether a SELECT asks public tables or the catalog alone."""
    return public_tables(select, catalog) is not None or bool(probed(select, catalog) or declared_values(select, catalog))


def free_columns(asked: Statement, catalog: Catalog, public: Callable[[], Facts]) -> Columns | None:
    """The columns of an answer that cannot depend on a private row; None for any other question."""
    if isinstance(asked, ShowTables):
        return shown_tables(catalog)
    if isinstance(asked, Describe):
        return describe(asked, catalog, public)
    if (tables := public_tables(asked, catalog)) is None:
        return probed(asked, catalog) or declared_values(asked, catalog)
    if not tables and (constants := plain_constants(asked)) is not None:
        return constants
    text = written(check_free(asked, tables, public()))
    return public().answered(text, [table.name for table in tables])


def may_select_from_answers(select: Select) -> bool:
    """Whether a statement may select from an answer, by its form: FROM holds an aggregate in parentheses, or it has no FROM."""
    if select.table is None:
        return any(isinstance(node, Scalar) for item in select.items for node in nodes_in(item.expression))
    sources = [source for each in (select, *select.below) for source in sources_of(each)]
    inside = (node for source in sources if isinstance(source, Nested) for node in nodes_in(source.query))
    return any(isinstance(node, Apply) and node.function in WRITTEN for node in inside)


def sources_of(select: Select) -> list[From | Nested]:
    """The items of FROM."""
    return [] if select.table is None else [select.table, *(joined.table for joined in select.joins)]


def nodes_in(value: object) -> Iterator[object]:
    """A tree and everything in it; refused where it has too many parts, as sub-queries do that name one another twice each."""
    for number, node in enumerate(_nodes(value)):
        if number >= MOST_NODES:
            raise TooMuchWork("the question is too large when its sub-queries are written out", remedy="use fewer sub-queries")
        yield node


def _nodes(value: object) -> Iterator[object]:
    waiting = [value]  # the next one last
    while waiting:
        one = waiting.pop()
        if type(one) in _LEAVES:
            continue
        if (names := fields_of(one)) is not None:
            yield one
            waiting.extend([getattr(one, name) for name in reversed(names)])
        elif isinstance(one, tuple | list):
            waiting.extend(reversed(one))
        elif isinstance(one, set | frozenset):
            waiting.extend(one)
        elif isinstance(one, Mapping):
            waiting.extend(part for pair in reversed(list(one.items())) for part in reversed(pair))


def tables_by_name(catalog: Catalog) -> dict[str, Table]:
    """The tables of a catalog by their names in lower case."""
    return {name.lower(): table for name, table in catalog.tables.items()}


def public_tables(select: object, catalog: Catalog) -> list[Table] | None:
    """The tables of a question, one for each time that it names one, none of constants alone; None unless all are public."""
    declared = tables_by_name(catalog)
    named = [declared.get(node.table.lower()) for node in nodes_in(select) if isinstance(node, From)]
    tables = [table for table in named if table is not None and table.public]
    return tables if len(tables) == len(named) else None


def plain_constants(select: Select) -> Columns | None:
    """The answer to a SELECT of constants as they are written, which needs no engine: programs send it to see who is there."""
    values = [item.expression.value for item in select.items if isinstance(item.expression, Constant)]
    if len(values) < len(select.items) or replace(select, items=(), options=(), limits=Limits()) != Select((), None):
        return None
    return tuple((name, (_as_value(value),)) for name, value in zip(each_once(_names_of(select)), values, strict=True))


def _names_of(select: Select) -> list[str]:
    return [item.name or expression_text(item.expression)[:LONGEST_NAME] for item in select.items]


def _as_value(value: Fraction | str | bool | date | None) -> Any:
    """A constant as an answer has it."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else Decimal(decimal_text(value))
    return value.isoformat() if isinstance(value, date) else value


def check_free(select: Select, tables: list[Table], public: PublicFacts) -> Select:
    """The question as it is asked of the public tables; refused where it calls what is not listed, or is too much work."""
    if select.table is None and any(isinstance(node, Star) or is_aggregate(node) for item in select.items for node in _here(item)):
        source_of(select)  # refused: whoever counts rows has left FROM out
    for node in nodes_in(select):
        if isinstance(node, Apply) and node.function not in ALLOWED:
            raise NotAllowed(
                f"{node.function.upper()} is not supported on public tables", remedy="see: tacit reference sql", at=node.at
            )
    _check_names(select, tables, public)
    work = _work(select, {table.name.lower(): max(1, public.size(table.name)) for table in tables})
    if work > MOST_WORK:
        raise TooMuchWork(
            f"the public tables have {work:,} combinations of rows: the limit is {MOST_WORK:,}", remedy="name fewer tables"
        )
    if select.table is None:
        select = replace(select, items=tuple(map(Item, (item.expression for item in select.items), _names_of(select))))
    return replace(select, options=(), limits=Limits(), below=tuple(replace(part, limits=Limits()) for part in select.below))


def is_aggregate(node: object) -> bool:
    """Whether a node is a call of an aggregate."""
    return isinstance(node, Apply) and node.function in PUBLIC


def _here(item: Item) -> Iterator[object]:
    """The parts of an item outside its sub-queries."""
    waiting: list[object] = [item.expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.arguments if isinstance(node, Apply) else ())


def _work(node: object, sizes: Mapping[str, int]) -> int:
    """The rows that a question makes at most: parts of UNION ALL are added, everything else meets everything else."""
    if isinstance(node, From):
        return sizes.get(node.table.lower(), 1)  # a table that is not there is refused by the engine
    if isinstance(node, UnionAll):
        return sum(_work(part, sizes) for part in node.parts)
    below = [_work(part, sizes) for part in node.below] if isinstance(node, Select) else []
    names = [name for name in fields_of(node) or () if name != "below"]
    inside = [getattr(node, name) for name in names] if names else node if isinstance(node, tuple) else ()
    return prod(_work(part, sizes) for part in inside) + sum(below)


def _check_names(select: Select, tables: list[Table], public: PublicFacts) -> None:
    """Refuses a column that no table has and no item of SELECT is called, at its place; the engine would say less."""
    columns = {name.lower() for table in tables for name in public.columns(table.name)}
    names = columns | {item.name.lower() for item in nodes_in(select) if isinstance(item, Item) and item.name}
    for node in nodes_in(select):
        if isinstance(node, Name) and node.parts[-1].lower() not in names:
            what = f"unknown column {node.parts[-1][:60]!r}"
            remedy = declared_names(columns) if tables else "add FROM and a declared table"
            raise UnknownName(what, remedy=remedy, at=node.at)


# --- from the catalog alone --------------------------------------------------------------------------------------------------


def probed(select: Select, catalog: Catalog) -> Columns | None:
    """The answer to SELECT constants FROM table LIMIT 0, by which programs test that they may ask a table; None otherwise.

    It has no row whatever the data, so WHERE may stand in it, if it is made of constants too.
    """
    bare = replace(select, items=(), table=None, where=None, limit=None, offset=0, options=()) == Select((), None)
    fixed = all(not isinstance(node, Name | Star | From) for part in (select.items, select.where) for node in nodes_in(part))
    if not bare or not fixed or select.limit != 0 or not isinstance(select.table, From):
        return None
    known = select.table.table.lower() in tables_by_name(catalog)
    return tuple((name, ()) for name in each_once(_names_of(select))) if known else None


def declared_values(select: Select, catalog: Catalog) -> Columns | None:
    """The answer to a bare SELECT DISTINCT or GROUP BY of columns with declared values; None for any other question.

    It lists every value, of several columns every combination, whether or not a row has it. So nothing that could narrow it by data
    may stand beside it: no WHERE, no join, no HAVING. ORDER BY, LIMIT and OFFSET apply to the list.
    """
    if not isinstance(select.table, From) or replace(select, **_BESIDE_THE_LIST) != Select((), None):
        return None
    listed = Listed.of(select, catalog, select.table)
    places = None if listed is None else listed.ordered_by(select.order_by)
    if listed is None or places is None or not listed.each_once(select):
        return None
    rows = listed.rows()
    for column, descending in reversed(places):
        rows.sort(key=lambda row, place=column: (type(row[place]).__name__, row[place]), reverse=descending)  # type: ignore[misc]
    kept = rows[select.offset : None if select.limit is None else select.offset + select.limit]
    return tuple((name, tuple(row[place] for row in kept)) for name, place in zip(listed.names, listed.items, strict=True))


_BESIDE_THE_LIST: Mapping[str, Any] = {
    "items": (), "table": None, "distinct": False, "group_by": (), "order_by": (), "limit": None, "offset": 0, "options": (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Listed:
    """Columns with declared values, each once, and the items of SELECT: their names, and which of the columns each is."""

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    items: tuple[int, ...]
    table: Table
    alias: str

    @classmethod
    def of(cls, select: Select, catalog: Catalog, source: From) -> Listed | None:
        """The items of a SELECT, if all of them are such columns of one table."""
        table = tables_by_name(catalog).get(source.table.lower())
        found = [] if table is None else [_declared_column(item.expression, table, source.alias) for item in select.items]
        columns = [column for column in found if column is not None]
        if table is None or not columns or len(columns) < len(found):
            return None
        once = tuple(dict.fromkeys(columns))
        names = each_once([item.name or column.name for item, column in zip(select.items, columns, strict=True)])
        return cls(once, tuple(names), tuple(map(once.index, columns)), table, source.alias)

    def each_once(self, select: Select) -> bool:
        """Whether the question asks for each combination once: DISTINCT, GROUP BY of all the columns, or both."""
        keys = {self._place(key, ()) for key in select.group_by}
        if any(isinstance(key, Star) for key in select.group_by):
            return True
        return keys == set(range(len(self.columns))) if select.group_by else select.distinct

    def ordered_by(self, orders: Sequence[Ordering]) -> list[tuple[int, bool]] | None:
        """The columns of ORDER BY, each with whether it falls; None if it names anything else."""
        places = [(self._place(order.expression, self.names), order.descending) for order in orders]
        known = [(place, falls) for place, falls in places if place is not None]
        return known if len(known) == len(places) else None

    def _place(self, expression: Expression, names: Sequence[str]) -> int | None:
        """Which column an expression of GROUP BY or ORDER BY is: by its place in SELECT, by its name there, or by its own."""
        if isinstance(expression, Constant) and isinstance(expression.value, Fraction):
            return self.items[int(expression.value) - 1] if expression.value in range(1, len(self.items) + 1) else None
        if isinstance(expression, Name) and len(expression.parts) == 1:
            wanted = expression.parts[0].lower()
            if (item := next((place for place, name in enumerate(names) if name.lower() == wanted), None)) is not None:
                return self.items[item]
        column = _declared_column(expression, self.table, self.alias)
        return self.columns.index(column) if column in self.columns else None

    def rows(self) -> list[tuple[Any, ...]]:
        """Every combination of the declared values, in the order of the catalog."""
        number = prod(len(column.domain) for column in self.columns)
        if number > MOST_LISTED:
            raise TooMuchWork(
                f"the columns have {number:,} combinations of declared values: the limit is {MOST_LISTED:,}",
                remedy="name fewer columns",
            )
        return list(product(*(column.domain for column in self.columns)))


def _declared_column(expression: Expression, table: Table, alias: str) -> Column | None:
    """The column with declared values that an expression names; None for anything else."""
    if not isinstance(expression, Name) or (len(expression.parts) == 2 and expression.parts[0].lower() != alias.lower()):
        return None
    column = {name.lower(): each for name, each in table.columns.items()}.get(expression.parts[-1].lower())
    return column if column is not None and column.kind == "category" else None


def shown_tables(catalog: Catalog) -> Columns:
    """SHOW TABLES."""
    tables = [catalog.tables[name] for name in sorted(catalog.tables)]
    return (
        ("table", tuple(table.name for table in tables)),
        ("public", tuple(table.public for table in tables)),
        ("unit", tuple(_unit(table) for table in tables)),
        ("rows_per_unit", tuple(None if table.public else table.max_rows for table in tables)),
    )


def _unit(table: Table) -> str | None:
    if table.public:
        return None
    if table.unit is None:
        return "row"
    referred = f" -> {'.'.join(table.unit.references)}" if table.unit.references else ""
    return f"{table.unit.column}{referred}"


def describe(asked: Describe, catalog: Catalog, public: Callable[[], PublicFacts]) -> Columns:
    """DESCRIBE table: the columns that may be asked about, and what is declared of them; of a public table, what it holds."""
    table = tables_by_name(catalog).get(asked.table.lower())
    if table is None:
        raise UnknownName(f"unknown table {asked.table[:60]!r}", remedy=declared_names(catalog.tables, IN_SCHEMA), at=asked.at)
    held = public().columns(table.name) if table.public else table.columns
    columns = list(held.values())
    return (
        ("column", tuple(column.name for column in columns)),
        ("type", tuple(_kind(column, table) for column in columns)),
        ("values", tuple(_domain(column) for column in columns)),
        ("nullable", tuple(column.nullable for column in columns)),
    )


def _kind(column: Column, table: Table) -> str:
    if table.unit is not None and table.unit.column.lower() == column.name.lower():
        return "privacy unit"
    if column.kind == "category":
        return "truth" if set(map(type, column.domain)) == {bool} else "category"
    return {"key": "key", "text": "private text", "presence": "not declared"}.get(column.kind, column.kind)


def _domain(column: Column) -> str | None:
    if column.kind == "category":
        return ", ".join(str(value).lower() if isinstance(value, bool) else str(value) for value in column.domain)
    if column.bounds is None or column.step is None:
        return None
    low, high = column.bounds
    if column.kind == "date":
        return f"{day_of(int(low)).isoformat()} to {day_of(int(high)).isoformat()}"
    step = "" if column.step == Fraction(1) else f", step {as_text(column.step)}"
    return f"{as_text(low)} to {as_text(high)}{step}"
