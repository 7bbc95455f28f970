"""Questions of public tables alone: plain DuckDB in memory, which holds copies of those tables and has no way to anything else.

The text that runs is made by `writer.py` from a tree of listed parts, never that of the question. Even so this engine could not do
harm: it has no store, no files, no network and no extensions, and limits of memory, time and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any

from tacit.data.deadline import stopped_after
from tacit.data.dialect import name as quoted
from tacit.errors import NotAllowed, Refused, TooMuchWork
from tacit.privacy.catalog import Column
from tacit.query.trees import each_once

if TYPE_CHECKING:
    from tacit.query.plan import Condition

Columns = list[tuple[str, tuple[Any, ...]]]  # names and values of an answer
SECONDS, MEMORY = 10.0, "1GB"
MOST_ROWS = 100_000  # of an answer


REFUSALS: Mapping[str, Callable[[], Refused]] = {  # all that can go wrong, in words that do not depend on the rows
    "time": lambda: TooMuchWork(
        f"the question took more than {SECONDS:g} seconds or {MEMORY} of memory", remedy="ask a simpler one"
    ),
    "rows": lambda: TooMuchWork(f"the answer has more than {MOST_ROWS:,} rows", remedy=f"add LIMIT {MOST_ROWS}"),
    "question": lambda: NotAllowed(
        "the public tables cannot be asked in this way", remedy="check the columns and their types: DESCRIBE shows them"
    ),
}


@dataclass(frozen=True, slots=True)
class PublicTable:
    """The rows of a public table as stored, an Arrow table, and what its columns mean."""

    stored: Any
    columns: Mapping[str, Column]


def asked_of_public(text: str, tables: Mapping[str, PublicTable], seconds: float = SECONDS) -> Columns:
    """The columns of the answer, by name and value."""
    import duckdb

    try:
        names, rows = _run(text, tables, seconds)
    except (duckdb.InterruptException, duckdb.OutOfMemoryException):
        raise REFUSALS["time"]() from None
    except duckdb.Error:
        raise REFUSALS["question"]() from None
    if len(rows) > MOST_ROWS:
        raise REFUSALS["rows"]()
    return [(name, tuple(_plain(row[place]) for row in rows)) for place, name in enumerate(each_once(names))]


def _run(text: str, tables: Mapping[str, PublicTable], seconds: float) -> tuple[list[str], list[Any]]:
    """The names and rows of an answer, from an engine of its own that is gone afterwards."""
    import duckdb

    settings = {"autoinstall_known_extensions": False, "autoload_known_extensions": False, "memory_limit": MEMORY, "threads": 1}
    with duckdb.connect(config=settings) as engine:  # type: ignore[arg-type]
        engine.execute("SET python_enable_replacements = false")
        engine.execute("SET temp_directory = ''")
        with stopped_after(seconds, engine.interrupt):
            for name, table in tables.items():
                _fill(engine, name, table)
            engine.execute("SET enable_external_access = false")
            engine.execute("SET lock_configuration = true")
            result = engine.execute(text)
            return [each[0] for each in result.description or ()], result.fetchmany(MOST_ROWS + 1)


def _fill(engine: Any, name: str, table: PublicTable) -> None:
    """A copy of a public table, its codes replaced by what they stand for."""
    kept = {key: column for key, column in table.columns.items() if key in table.stored.column_names and column.kind != "key"}
    values: list[Any] = []
    parts = [f"{_value(quoted(key), column, values)} AS {quoted(key)}" for key, column in kept.items()]
    engine.register("given", table.stored)
    engine.execute(f"CREATE TABLE {quoted(name)} AS SELECT {', '.join(parts)} FROM given", values or None)  # noqa: S608
    engine.unregister("given")


def _value(code: str, column: Column, values: list[Any]) -> str:
    """The SQL of a value from its stored code; lists of values are parameters."""
    if column.kind == "category":
        kinds = set(map(type, column.domain))
        listed = list(column.domain) if len(kinds) == 1 else list(map(str, column.domain))
        kind = {bool: "BOOLEAN", int: "BIGINT"}.get(kinds.pop(), "VARCHAR") if len(kinds) == 1 else "VARCHAR"
        values.append(listed)
        return f"(?::{kind}[])[{code} + 1]"
    if column.kind == "text" or column.bounds is None or column.step is None:
        return code
    low, step = column.bounds[0], column.step
    if column.kind == "date":
        return f"DATE '1970-01-01' + CAST({int(low)} + {code} AS INTEGER)"
    divisor = (low / step).denominator * Fraction(step).denominator
    first, each = low * divisor, step * divisor
    whole = f"({int(first)} + {code} * {int(each)})"
    digits = next((digits for digits in range(10) if 10**digits % divisor == 0), None)
    if divisor == 1 or digits is None:
        return whole if divisor == 1 else f"({whole} / {divisor}::DOUBLE)"
    return f"(CAST({whole} AS DECIMAL(20, 0)) * {Fraction(1, divisor) * 10**digits} * CAST('1e-{digits}' AS DECIMAL(10, {digits})))"


def _plain(value: Any) -> Any:
    """The values of an answer: dates as texts, and NULL in place of NaN, such as a division by zero."""
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, datetime):
        return value.date().isoformat() if (value.hour, value.minute, value.second) == (0, 0, 0) else value.isoformat()
    return value.isoformat() if isinstance(value, date) else value


def truths_of(conditions: Sequence[Condition], columns: Mapping[str, tuple[Any, Any]]) -> list[Any]:
    """Where each bound condition is true, for stored offsets of its columns and where they are missing; of no table."""
    import ibis
    import numpy as np
    import pyarrow as pa

    from tacit.query.engines.rows import stored_name, value

    arrays = {stored_name(0, name): pa.array(offsets, pa.int64(), mask=missing) for name, (offsets, missing) in columns.items()}
    rows = ibis.memtable(pa.table({**arrays, "tacit_at": pa.array(np.arange(len(next(iter(arrays.values())))))}))
    named = {f"t{at}": ibis.coalesce(value(each, rows), ibis.literal(False)) for at, each in enumerate(conditions)}
    engine = ibis.duckdb.connect()
    try:
        told = engine.to_pyarrow(rows.select("tacit_at", **named).order_by("tacit_at"))
    finally:
        engine.disconnect()
    return [told[name].to_numpy(zero_copy_only=False).astype(bool) for name in named]
