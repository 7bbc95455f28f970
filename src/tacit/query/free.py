"""Free questions: those about public tables and about the catalog. The answers cannot depend on a private row.

A SELECT is free if every table anywhere in it is public: in FROM, joins, sub-queries, WITH, UNION, EXISTS and IN. The walk over the
tree knows no kinds of nodes, so that a kind which is added later is walked too. The SQL that runs is written anew from the tree,
with functions of a list, on an engine that holds copies of the public tables it names and nothing else (engines/public.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any, Protocol

from tacit.errors import NotAllowed, TooMuchWork, UnknownName
from tacit.privacy.catalog import Catalog, Column, Table, day_of
from tacit.privacy.rounding import as_text
from tacit.query.binding.scope import PublicFacts
from tacit.query.functions import FUNCTIONS
from tacit.query.intervals.aggregates import PUBLIC
from tacit.query.language.syntax import Apply, Describe, From, Item, Name, Select, ShowTables, Statement
from tacit.query.language.writer import written
from tacit.query.trees import fields_of

Columns = Sequence[tuple[str, tuple[Any, ...]]]  # names and values of an answer
_LEAVES = frozenset({int, str, bool, float, Fraction, type(None)})
MOST_NODES = 50_000  # more than 64 KiB of SQL have, unless a sub-query is named many times
MOST_WORK = 10**7  # rows that a question may make at most, as if every join and sub-query met every row
ALLOWED = frozenset({
    "=", "<>", "<", "<=", ">", ">=", "and", "or", "not", "case", "in", "between", "like", "ilike",
    "is_null", "is_true", "is_false", "starts_with", "ends_with", "contains", "regexp_matches",
    *(name for name, row in FUNCTIONS.items() if row.public), *PUBLIC,
})  # fmt: skip


class Facts(PublicFacts, Protocol):
    """Facts about the public tables, and free questions about them."""

    def answered(self, text: str, tables: Sequence[str]) -> Columns:
        """The answer to a question of public tables alone, in SQL that tacit has written."""


def is_free(select: Select, catalog: Catalog) -> bool:
    """Whether a SELECT asks public tables or the catalog alone."""
    return bool(public_tables(select, catalog) or declared_values(select, catalog))


def free_columns(asked: Statement, catalog: Catalog, public: Callable[[], Facts]) -> Columns | None:
    """The columns of an answer that cannot depend on a private row; None for any other question."""
    if isinstance(asked, ShowTables):
        return shown_tables(catalog)
    if isinstance(asked, Describe):
        return describe(asked, catalog, public)
    if (tables := public_tables(asked, catalog)) is None:
        return declared_values(asked, catalog)
    text = written(check_free(asked, tables, public()))
    return public().answered(text, [table.name for table in tables])


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


def declared_tables(catalog: Catalog) -> dict[str, Table]:
    """The tables of a catalog by their names in lower case."""
    return {name.lower(): table for name, table in catalog.tables.items()}


def public_tables(select: object, catalog: Catalog) -> list[Table] | None:
    """The tables of a question, one for each time that it names one; None unless all of them are public."""
    declared = declared_tables(catalog)
    named = [declared.get(node.table.lower()) for node in nodes_in(select) if isinstance(node, From)]
    tables = [table for table in named if table is not None and table.public]
    return tables if tables and len(tables) == len(named) else None


def check_free(select: Select, tables: list[Table], public: PublicFacts) -> Select:
    """The question as it is asked of the public tables; refused where it calls what is not listed, or is too much work."""
    for node in nodes_in(select):
        if isinstance(node, Apply) and node.function not in ALLOWED:
            raise NotAllowed(
                f"{node.function.upper()} is not supported on public tables", remedy="see: tacit reference sql", at=node.at
            )
    _check_names(select, tables, public)
    work = prod(max(1, public.size(table.name)) for table in tables)
    if work > MOST_WORK:
        raise TooMuchWork(
            f"the public tables have {work:,} combinations of rows: the limit is {MOST_WORK:,}", remedy="name fewer tables"
        )
    return replace(select, options=())


def _check_names(select: Select, tables: list[Table], public: PublicFacts) -> None:
    """Refuses a column that no table has and no item of SELECT is called, at its place; the engine would say less."""
    columns = {name.lower() for table in tables for name in public.columns(table.name)}
    names = columns | {item.name.lower() for item in nodes_in(select) if isinstance(item, Item) and item.name}
    for node in nodes_in(select):
        if isinstance(node, Name) and node.parts[-1].lower() not in names:
            what = f"unknown column {node.parts[-1][:60]!r}"
            raise UnknownName(what, remedy=f"declared are: {', '.join(sorted(columns)[:20])}", at=node.at)


# --- from the catalog alone --------------------------------------------------------------------------------------------------


def declared_values(select: Select, catalog: Catalog) -> Columns | None:
    """The answer to a bare SELECT DISTINCT column FROM table, from the values that are declared; None for any other question."""
    item = select.items[0] if len(select.items) == 1 else None
    if item is None or not isinstance(item.expression, Name) or not isinstance(select.table, From) or not select.distinct:
        return None
    table, names = declared_tables(catalog).get(select.table.table.lower()), item.expression.parts
    if table is None or replace(select, items=(), table=From("", ""), distinct=False, options=()) != Select((), From("", "")):
        return None
    column = {name.lower(): each for name, each in table.columns.items()}.get(names[-1].lower())
    if column is None or column.kind != "category" or (len(names) == 2 and names[0].lower() != select.table.alias.lower()):
        return None
    return ((item.name or column.name, tuple(column.domain)),)


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
    table = declared_tables(catalog).get(asked.table.lower())
    if table is None:
        tables = ", ".join(sorted(catalog.tables)[:20]) or "none"
        raise UnknownName(f"unknown table {asked.table[:60]!r}", remedy=f"declared are: {tables}", at=asked.at)
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
