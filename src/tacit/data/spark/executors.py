"""The functions that run on the executors of a cluster: the embedded engine reads a part of a source and cleans its rows.

Functions are shipped by value, with the SQL that the driver wrote: executors need Python with duckdb (of the driver's version),
pyarrow and numpy, and not tacit. There is one implementation of cleaning, and of the hash, whoever makes the store. A failure comes
back as one of a few codes, since the engine's own messages quote cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from glob import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.data.dialect import name, text
from tacit.data.files.tolerant import FILE, PLACE, mend_texts, mended_batches

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

ROWS = "tacit_rows"  # what the SQL of cleaning reads on an executor
BATCH_ROWS = 20_000
CODE = "tacit_failed:"  # before the code of what went wrong, in the message of an exception
MEMORY = "1GB"  # of one task; beyond it the engine spills

KEPT = "file string, rows bigint, counted bigint"  # what an executor hands over of a file that it keeps

Batches = Iterator["pa.RecordBatch"]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one Parquet file, from `first` up to and without `last`."""

    file: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Work:
    """The work of an executor on the rows of a part: statements that prepare its engine, and a query over `tacit_rows`.

    `columns` are the names and types that the rows have there, whatever a single file says. `texts` and `moments` are the columns,
    by case-folded names, that the reader of mended values reads, moments and times with their types. If `texts` is None, the engine
    reads all columns. In a `folder` the executor keeps what it made as a file, and hands over its name and two counts:
    of rows, and what `counted` counts in them.
    """

    version: str
    statements: tuple[str, ...]
    query: str
    parameters: Mapping[str, int | str]
    columns: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    texts: tuple[str, ...] | None = None
    moments: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None
    counted: str = "count(*)"


def cleaned_parts(work: Work, parts: Sequence[Part]) -> Callable[[Batches], Batches]:
    """A function of batches with the places of parts: the cleaned rows of these parts."""

    def cleaned(batches: Batches) -> Batches:
        with _in_codes():
            for batch in batches:
                for place in batch.column(0).to_pylist():
                    yield from _clean_rows(work, partial(_read, work, parts[place]))

    return cleaned


def cleaned_batches(work: Work, schema: Any) -> Callable[[Batches], Batches]:
    """A function of batches of raw rows, with the given schema: the cleaned rows."""

    def cleaned(batches: Batches) -> Batches:
        import pyarrow as pa

        with _in_codes():
            raw = pa.RecordBatchReader.from_batches(schema, (_mend_batch(batch, schema) for batch in batches))
            yield from _clean_rows(work, partial(_register, raw))

    return cleaned


def finished_batches(work: Work) -> Callable[[Batches], Batches]:
    """A function of batches of rows that are clean: what the query makes of all of them."""

    def finished(batches: Batches) -> Batches:
        import pyarrow as pa

        with _in_codes():
            for first in batches:  # the reader takes the rest of them
                rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
                yield from _clean_rows(work, partial(_register, rows))

    return finished


def _register(rows: Any, engine: duckdb.DuckDBPyConnection) -> None:
    engine.register(ROWS, rows)


def _clean_rows(work: Work, read: Callable[[Any], object]) -> Batches:
    from tempfile import TemporaryDirectory, mkdtemp

    import duckdb

    if duckdb.__version__ != work.version:
        raise RuntimeError(f"{CODE}version")
    with TemporaryDirectory(prefix="tacit-") as spill, duckdb.connect() as engine:
        for statement in (*work.statements, f"SET temp_directory = {text(spill)}", f"SET memory_limit = {text(MEMORY)}"):
            engine.execute(statement)
        read(engine)
        if work.folder is None:
            yield from engine.sql(work.query, params=dict(work.parameters)).to_arrow_reader(BATCH_ROWS)
        else:
            own = Path(mkdtemp(dir=work.folder))  # of this attempt alone
            yield _keep_file(work, engine, str(own / f"{own.name}.parquet"))


def _keep_file(work: Work, engine: duckdb.DuckDBPyConnection, file: str) -> pa.RecordBatch:
    """Writes a file, in a folder that no other attempt of the task has: only the names that a job returns are read later."""
    import pyarrow as pa

    copy = f"COPY ({work.query}) TO {text(file)} (FORMAT parquet, COMPRESSION zstd)"
    ((rows,),) = engine.execute(copy, dict(work.parameters)).fetchall()
    ((counted,),) = engine.execute(f"SELECT {work.counted} FROM read_parquet({text(escape(file))})").fetchall()
    whole = pa.int64()
    return pa.record_batch(
        [pa.array([file]), pa.array([rows], whole), pa.array([counted], whole)], names=["file", "rows", "counted"]
    )


def _read(work: Work, part: Part, engine: duckdb.DuckDBPyConnection) -> None:
    """Let `tacit_rows` be the rows of a part, with the columns and types that they have in the whole source."""
    source = f"read_parquet([{text(escape(part.file))}], hive_partitioning = false)"
    there = {str(row[0]).lower() for row in engine.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    taken = {*(work.texts or ()), *work.moments}
    native = {
        alias: f"CAST({f'native.{name(column)}' if column.lower() in there else 'NULL'} AS {kind})"
        for key, (column, kind) in work.columns.items()
        for alias in [name(column)]
        if key not in taken
    }
    within = f"native.{PLACE} >= {part.first} AND native.{PLACE} < {part.last}"
    if work.texts is None:
        _view(engine, native, f"{source} AS native WHERE {within}")
        return
    engine.register("batches", mended_batches([Path(part.file)], work.texts, work.moments))
    mending = {name(work.columns[key][0]): f"batches.{name(key)}" for key in (*work.texts, *work.moments)}
    places = " AND ".join(f"native.{place} = batches.{place}" for place in (FILE, PLACE))
    _view(engine, {**native, **mending}, f"{source} AS native JOIN batches ON {places} WHERE {within}")


def _view(engine: duckdb.DuckDBPyConnection, columns: Mapping[str, str], rows: str) -> None:
    chosen = ", ".join(f"{sql} AS {alias}" for alias, sql in columns.items()) or "0 AS tacit_row"
    engine.execute(f"CREATE TEMP VIEW {ROWS} AS SELECT {chosen} FROM {rows}")


def _mend_batch(batch: pa.RecordBatch, schema: Any) -> pa.RecordBatch:
    """The batch with the replacement character for bytes that are not UTF-8."""
    import pyarrow as pa

    columns = [mend_texts(each).cast(each.type) if pa.types.is_string(each.type) else each for each in batch.columns]
    return pa.record_batch(columns, schema=schema)


@contextmanager
def _in_codes() -> Iterator[None]:
    """Replaces an error, whose message may quote cells, by a code."""
    import duckdb
    import pyarrow as pa

    codes: tuple[tuple[Any, str], ...] = (
        (duckdb.OutOfMemoryException, "memory"),
        ((duckdb.IOException, OSError), "file"),
        ((duckdb.InvalidInputException, duckdb.ConversionException), "value"),
        ((duckdb.Error, pa.ArrowException, EOFError), "engine"),
    )
    try:
        yield
    except Exception as error:
        if str(error).startswith(CODE):
            raise
        code = next((code for kind, code in codes if isinstance(error, kind)), "other")
        raise RuntimeError(f"{CODE}{code}") from None
