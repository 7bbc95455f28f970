"""How the declared limits shape the numbers of an answer, in a few words: from the plan and the catalog alone.

An interval covers the noise only. It does not cover rows beyond `max_rows`, values clamped to their bounds, or rows that are left
out: how many there are would be private. So every answer lists the limits that shaped it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction

from tacit.privacy import catalog
from tacit.privacy.catalog import Table, day_of
from tacit.privacy.rounding import as_text
from tacit.query.plan import Column, Question, Scan, TextColumn
from tacit.query.price.price import Quote
from tacit.query.size_limit import below


def shaping(quote: Quote) -> tuple[str, ...]:
    """The limits that shaped an answer: of rows, of values, of rows that are left out, and of groups that are shown."""
    return tuple(dict.fromkeys(text for part in quote.parts for text in _of_part(part)))


def _of_part(quote: Quote) -> tuple[str, ...]:
    tables = {step.source: step.table for step in below(quote.question.group) if isinstance(step, Scan)}
    asked = {(tables[source].name, name) for source, name in _asked(quote.question) if source in tables}
    named = {table.name: table for table in tables.values()}
    columns = [column for table in named.values() for name, column in _columns(table).items() if (table.name, name) in asked]
    return (
        *(text for table in named.values() for text in _of_rows(quote.question, table, len(named) > 1)),
        *(text for column in columns for text in _of_values(column)),
        *(text for table in named.values() for text in _left_out(table, len(named) > 1)),
        *([f"groups below a noisy number of {quote.keys.threshold:,} units are not shown"] if quote.keys else []),
    )


def _columns(table: Table) -> Mapping[str, catalog.Column]:
    return {column.name.lower(): column for column in table.columns.values()}


def _asked(question: Question) -> set[tuple[int, str]]:
    """The columns that a query reads, each with its source."""
    found: set[tuple[int, str]] = set()
    seen: set[int] = set()
    waiting: list[object] = [question.group]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Column | TextColumn):
            found.add((node.source, node.name))
        if isinstance(node, Table) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, tuple):
            waiting += [part for part in node if isinstance(part, tuple) or is_dataclass(part)]
        elif is_dataclass(node):
            waiting += [
                value for field in fields(node) if is_dataclass(value := getattr(node, field.name)) or isinstance(value, tuple)
            ]
    return found


def _of_rows(question: Question, table: Table, several: bool) -> Iterator[str]:
    unit = table.unit.column if table.unit else table.key
    if unit is not None:
        grouped = question.group.per_group if table.max_rows_per_group == question.group.per_group else None
        rows = f"{_counted(table.max_rows)} of {table.name}" if several else _counted(table.max_rows)
        yield f"at most {rows} per {unit}" + (f", {grouped} in a group" if grouped else "")


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _of_values(column: catalog.Column) -> Iterator[str]:
    """What happens to values that are not as declared, if their rows stay."""
    if column.bounds is not None and column.outside != "drop":
        step = f", in steps of {as_text(column.step)}" if column.step not in (None, Fraction(1)) else ""
        said = (
            f"{column.name} limited to {_range(column)}"
            if column.outside == "clamp"
            else f"{column.name} outside {_range(column)} is NULL"
        )
        yield f"{said}{step}"
    if column.unknown == "other":
        yield f"unknown {column.name} counts as other"
    if column.nulls not in ("keep", "drop"):
        yield f"missing {column.name} counts as {_end(column, column.nulls)}"


def _left_out(table: Table, several: bool) -> Iterator[str]:
    """Every column whose values drop rows, used in the query or not: the rows are missing either way."""
    columns = table.columns.values()
    missing = [column.name for column in columns if column.nulls == "drop" and column.kind != "key"]
    owner = [table.unit.column] if table.unit and table.no_unit == "drop" else []
    parts = [
        f"without {', '.join([*owner, *missing])}" if owner or missing else "",
        *(
            f"with {column.name} outside {_range(column)}"
            for column in columns
            if column.bounds is not None and column.outside == "drop"
        ),
        *(f"with unknown {column.name}" for column in columns if column.kind == "category" and column.unknown == "drop"),
    ]
    if any(parts):
        yield f"rows{f' of {table.name}' if several else ''} left out: {'; '.join(filter(None, parts))}"


def _range(column: catalog.Column) -> str:
    low, high = column.bounds or (Fraction(0), Fraction(0))
    return f"{_end(column, low)}..{_end(column, high)}"


def _end(column: catalog.Column, value: object) -> str:
    """A declared value in its usual notation."""
    if not isinstance(value, Fraction):
        return str(value)
    if column.kind == "date":
        return day_of(int(value)).isoformat()
    return f"{int(value):,}" if value.denominator == 1 else as_text(value)
