"""Where rows come from: files, databases and tables given in Python, each as something that the engine can select from.

CSV has a reader of its own, in which no row changes how another is read (csv_rows.py). The engine's Parquet reader is fast but
stops at the first string that is not UTF-8; such a file is read again by a reader that accepts every row (tolerant.py). PostgreSQL
comes in Arrow batches (postgres.py). Column names match case-insensitively.

Tables given in Python: pandas and Polars frames, Arrow tables, and any other object that exports an Arrow stream.

The catalog declares such a table with `source = "memory"`, and `prepare(sources={"visits": frame})` supplies its rows. Preparation
writes them as Parquet into its own folder, which only the owner can open and which is removed afterwards, and reads them from
there. So a frame is prepared exactly as a Parquet file with the same columns, by the same reader: what store.md says about Parquet
holds for frames.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatch
from functools import partial
from glob import escape, glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tacit.data.declaration import folded
from tacit.data.dialect import Dialect, name, text
from tacit.data.engine import EngineError, Workshop
from tacit.data.files.csv_rows import CsvRows, Header, csv_header
from tacit.data.files.kinds import FileKind, kind_by_pattern, not_found
from tacit.data.files.postgres import postgres_batches
from tacit.data.files.raw import MOST_RUNS, Form, OnGrid, Raw, Runs, fate_name, number_name, tidy_name
from tacit.data.files.tolerant import (
    FILE,
    MENDED_COPIES,
    PLACE,
    SECOND,
    ZONED,
    held_moments,
    mended_batches,
    moments_in,
    require_memory,
)
from tacit.errors import InvalidCatalog, InvalidInput
from tacit.files import write_scratch
from tacit.privacy.catalog import MEMORY, Catalog, Kind, Source, Table
from tacit.untrusted import for_terminal

if TYPE_CHECKING:
    import pyarrow as pa

    Given = Mapping[str, pa.Table]

LONGEST_NAME = 80  # characters of a file's name in a message
EXPECTED = "a pandas or Polars DataFrame, or an Arrow table"


def given_tables(catalog: Catalog, sources: Mapping[str, Any] | None) -> Given:
    """The rows of every table declared with `source = "memory"`, as Arrow tables by their names in the catalog."""
    if sources is not None and not isinstance(sources, Mapping):
        raise InvalidInput(f"sources must be a mapping of table names to frames, not {type(sources).__name__}")
    frames = {folded(str(name)): frame for name, frame in (sources or {}).items()}
    for table in frames:
        if table not in catalog.tables:
            raise InvalidInput(f"unknown table {table!r} in sources; the catalog declares: {', '.join(catalog.tables)}")
        if catalog.tables[table].source.kind != MEMORY:
            raise InvalidInput(f'{table} has a source in the catalog; declare source = "memory", or leave it out of sources')
    if missing := [table.name for table in memory_tables(catalog) if table.name not in frames]:
        raise InvalidInput(
            f'missing rows of {missing[0]}, declared with source = "memory"; '
            f'pass them in Python, for example db.prepare(sources={{"{missing[0]}": frame}})'
        )
    return {name: as_arrow(frame, name) for name, frame in frames.items()}


def memory_tables(catalog: Catalog) -> list[Table]:
    """The tables declared with `source = "memory"`."""
    return [table for table in catalog.tables.values() if table.source.kind == MEMORY]


def as_arrow(frame: Any, name: str) -> pa.Table:
    """A frame as an Arrow table. An error names the type of the object and quotes none of its content.

    >>> as_arrow({"cost": [12, 30]}, "visits")
    Traceback (most recent call last):
    ...
    tacit.errors.InvalidInput: unsupported type of sources['visits']: dict; expected a pandas or Polars DataFrame, or an Arrow table
    """
    what = f"sources[{name!r}]"
    if not _is_frame(frame):
        raise InvalidInput(f"unsupported type of {what}: {type(frame).__name__}; expected {EXPECTED}")
    try:
        table = _frame_to_arrow(frame)
    except Exception:  # a library's message may quote a cell
        raise InvalidInput(f"{what} cannot be converted to an Arrow table; give every column values of one type") from None
    if not table.num_columns:
        raise InvalidInput(f"{what} has no columns; expected {EXPECTED} with named columns")
    _require_parquet(table.schema, what)
    return table


def _is_frame(frame: Any) -> bool:
    """Arrow tables, batches and readers, Polars and pandas (from 2.2 on) export a stream; older pandas is recognized by name."""
    return hasattr(frame, "__arrow_c_stream__") or _is_pandas(frame)


def _is_pandas(frame: Any) -> bool:
    return type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns")


def _frame_to_arrow(frame: Any) -> pa.Table:
    import pyarrow as pa

    table = pa.table(frame) if hasattr(frame, "__arrow_c_stream__") else pa.Table.from_pandas(frame)
    for place, field in enumerate(table.schema):
        table = table.set_column(place, field.name, _plain(table.column(place)))
    return table


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in a form that Parquet and the engine accept, whatever its values."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return column.cast(_without_view(kind))
    if pa.types.is_dictionary(kind) and _without_view(kind.value_type) != kind.value_type:
        values = _without_view(kind.value_type)
        named = [pa.DictionaryArray.from_arrays(each.indices, each.dictionary.cast(values)) for each in column.chunks]
        return pa.chunked_array(named, pa.dictionary(kind.index_type, values))
    return held_moments(column) if pa.types.is_timestamp(kind) and kind.unit in SECOND else column


def _without_view(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    texts = pa.large_string() if pa.types.is_string_view(kind) else kind
    return pa.large_binary() if pa.types.is_binary_view(kind) else texts


def _require_parquet(schema: pa.Schema, what: str) -> None:
    """Refuse a type that Parquet cannot store; only the types are checked."""
    import pyarrow as pa
    from pyarrow import parquet

    for field in schema:
        file = io.BytesIO()
        try:
            parquet.write_table(pa.schema([field]).empty_table(), file)
        except (pa.ArrowException, OSError):
            raise InvalidInput(
                f"unsupported type of column {field.name!r} in {what}: {field.type}; convert it to numbers, texts or dates"
            ) from None


def place_given(catalog: Catalog, given: Given, folder: Path) -> Catalog:
    """The catalog with Parquet files in `folder` as the sources of the given tables, to be read once."""
    import pyarrow as pa
    from pyarrow import parquet

    tables = dict(catalog.tables)
    for number, (table_name, table) in enumerate(given.items()):
        place = folder / f"memory-{number}.parquet"
        try:
            write_scratch(place, partial(parquet.write_table, table))
        except pa.ArrowException:  # about values deep inside a nested column
            raise InvalidInput(f"sources[{table_name!r}] cannot be written as Parquet; leave out nested columns") from None
        tables[table_name] = replace(tables[table_name], source=Source("parquet", str(place), declared=MEMORY))
    return replace(catalog, tables=tables)


# --- where rows come from ----------------------------------------------------------------------------------------------------


HIDDEN = (".", "_", "~$")  # how names begin that are not read in a folder: what programs write beside data
MENDED = ("TIMESTAMP", ZONED, "TIME", "TIME_NS")  # types with values at which the engine's reader stops
PATTERNS = {"parquet": ("*.parquet", "*.pq"), "csv": ("*.csv", "*.csv.gz", "*.tsv", "*.tsv.gz")}  # in a folder, in any case

Wanted = Mapping[str, Kind | OnGrid] | None  # how a source of texts places a number on its grid, if it may
Reader = Callable[[Workshop, Catalog, Source, Wanted], AbstractContextManager["Rows"]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to select from once: SQL for a FROM clause, and the columns by their case-folded names.

    `typed` says whether the source has types of its own; CSV has only texts. A source may come in several runs, whose columns are
    in different forms: `further` gives the next, after all rows of this one have been selected.
    """

    relation: str
    columns: Mapping[str, Raw]
    typed: bool = True
    further: Callable[[], Rows | None] = lambda: None


@contextmanager
def _parquet(workshop: Workshop, catalog: Catalog, source: Source, wanted: Wanted) -> Iterator[Rows]:
    files = _files(catalog, source)
    check_parquet_columns(files, wanted)
    ((threads,),) = workshop.engine.sql("SELECT current_setting('threads')").fetchall()
    require_memory(files, wanted, workshop.limit, int(threads))
    yield _describe_rows(workshop, _parquet_relation(files))


@contextmanager
def _mended_parquet(workshop: Workshop, catalog: Catalog, source: Source, wanted: Wanted) -> Iterator[Rows]:
    """Texts and days from the reader that accepts them all, everything else from the engine as usual; joined by row position."""
    files = _files(catalog, source)
    native, relation = parquet_columns(workshop, files), _parquet_relation(files)
    texts, moments = mended_columns(files, native, wanted)
    require_memory(files, texts, workshop.limit, 1, MENDED_COPIES)
    with _register_batches(workshop, mended_batches(files, texts, moments)):
        places = " AND ".join(f"native.{place} = batches.{place}" for place in (FILE, PLACE))
        columns = {key: replace(raw, sql=f"native.{raw.sql}") for key, raw in native.items()}
        types = mended_types(workshop, texts, moments)
        mended = {key: Raw(f"batches.{name(key)}", kind, words=workshop.words) for key, kind in types.items()}
        yield Rows(f"{relation} AS native JOIN batches ON {places}", {**columns, **mended})


def parquet_columns(workshop: Workshop, files: list[Path]) -> Mapping[str, Raw]:
    """The columns that Parquet files have together, with the types that hold the values of all of them."""
    return _describe_rows(workshop, _parquet_relation(files)).columns


def arrow_columns(workshop: Workshop, table: pa.Table) -> Mapping[str, Raw]:
    """The columns that Arrow batches with the schema of a table have in the engine."""
    with _register_batches(workshop, table.to_reader()) as rows:
        return rows.columns


def mended_columns(files: list[Path], native: Mapping[str, Raw], wanted: Wanted) -> tuple[list[str], dict[str, str]]:
    """The columns that the reader of mended values reads: texts, and moments and times, each with its type."""
    if taken := {FILE, PLACE} & native.keys():
        raise InvalidCatalog(f"a text is not UTF-8, and {taken.pop()} is a name that tacit needs to mend it; rename that column")
    asked = {key: raw for key, raw in native.items() if wanted is None or key in wanted}
    texts = [key for key, raw in asked.items() if _is_text(raw)]
    moments = [key for key, raw in asked.items() if raw.type in MENDED]
    return texts, {key: asked[key].type for key in (moments_in(files, moments) if moments else ())}


def mended_types(workshop: Workshop, texts: list[str], moments: Mapping[str, str]) -> dict[str, str]:
    """The types of what the reader of mended values gives."""
    return {**dict.fromkeys(texts, workshop.words.types.text), **moments}


def _is_text(raw: Raw) -> bool:
    return raw.type in (raw.words.types.text, "JSON") or raw.nature == "nested"


@contextmanager
def _csv(workshop: Workshop, catalog: Catalog, source: Source, wanted: Wanted) -> Iterator[Rows]:
    files = _files(catalog, source)
    header = common_header(files, source)
    places = {key: f"c{place}" for key, place in header.places.items() if wanted is None or key in wanted}
    rows = CsvRows(files, header, source.multiline, [header.places[key] for key in places], source.encoding)
    try:
        yield from _text_rows(workshop, rows.batches(workshop.tell_share), places, wanted)
    except EngineError:
        if rows.problem is not None:
            raise rows.problem from None
        raise


@contextmanager
def _xlsx(workshop: Workshop, catalog: Catalog, source: Source, wanted: Wanted) -> Iterator[Rows]:
    from tacit.data.files.sheets import sheet_batches, sheet_header

    file, sheet = _files(catalog, source)[0], source.table or ""
    header = Header(sheet_header(file, sheet), "")
    places = {key: f"c{place}" for key, place in header.places.items() if wanted is None or key in wanted}
    batches = sheet_batches(file, sheet, [header.places[key] for key in places])
    yield from _text_rows(workshop, batches, places, wanted)


def _text_rows(workshop: Workshop, batches: pa.RecordBatchReader, places: Mapping[str, str], wanted: Wanted) -> Iterator[Rows]:
    """Rows of texts; where it is known what is wanted of each column, in the forms that need no cleaning."""
    if wanted is None:
        with _register_batches(workshop, batches):
            columns = {key: Raw(column, workshop.words.types.text, words=workshop.words) for key, column in places.items()}
            yield Rows("batches", columns, typed=False)
        return
    forms = {column: _form(wanted[key]) for key, column in places.items()}
    most = MOST_RUNS if any(map(callable, forms.values())) else 0
    yield from _in_runs(workshop, Runs(batches, forms, most), {key: (column, forms[column]) for key, column in places.items()})


def _form(wanted: Kind | OnGrid) -> Form:
    return wanted if callable(wanted) else "key" if wanted == "key" else "text"


def _in_runs(workshop: Workshop, runs: Runs, columns: Mapping[str, tuple[str, Form]]) -> Iterator[Rows]:
    """The first run of rows, which leads to the others."""

    def next_rows() -> Rows:
        batches = runs.next_run()
        workshop.engine.register("batches", batches)
        raws = {key: _with_forms(workshop.words, *each, batches.schema.names) for key, each in columns.items()}
        return Rows("batches", raws, typed=False, further=lambda: next_rows() if runs else None)

    try:
        yield next_rows()
    finally:
        workshop.engine.unregister("batches")
        runs.close()


def _with_forms(words: Dialect, column: str, form: Form, there: Collection[str]) -> Raw:
    """A column in the forms that are there; the others are NULL."""

    def sql(name: str, kind: str) -> str:
        return name if name in there else f"CAST(NULL AS {kind})"

    raw = Raw(sql(column, words.types.text), words.types.text, words=words)
    number = sql(number_name(column), words.types.whole)
    if callable(form):
        return replace(raw, number=number, fate=sql(fate_name(column), words.types.small))
    return replace(raw, tidy=sql(tidy_name(column), words.types.text), number=number if form == "key" else None)


@contextmanager
def _duckdb(workshop: Workshop, catalog: Catalog, source: Source, _: Wanted) -> Iterator[Rows]:
    (file,) = _files(catalog, source)[:1]
    table = ".".join(name(part) for part in (source.table or "").split("."))
    workshop.run(f"ATTACH {text(str(file))} AS source (READ_ONLY)")
    try:
        yield _describe_rows(workshop, f"source.{table}")
    finally:
        workshop.run("DETACH source")


@contextmanager
def _postgres(workshop: Workshop, _: Catalog, source: Source, wanted: Wanted) -> Iterator[Rows]:
    with postgres_batches(source, wanted, os.environ) as batches, _register_batches(workshop, batches) as rows:
        yield rows


OF_TEXTS = ("csv", "xlsx")  # kinds of sources without types
READERS: Mapping[str, Reader] = {
    "parquet": _parquet,
    "csv": _csv,
    "duckdb": _duckdb,
    "postgres": _postgres,
    "xlsx": _xlsx,
}
MENDING: Mapping[str, Reader] = {"parquet": _mended_parquet}


def _files(catalog: Catalog, source: Source) -> list[Path]:
    """The files of a source: one, those in a folder, or those that match a pattern."""
    if source.remote:
        raise InvalidCatalog(f"{source.declared} is read by the engine spark only; declare [store] engine, or a local `source`")
    files = listed_files(catalog.folder / source.location, source.kind)
    if not files:
        missing = source.declared or source.location
        raise InvalidCatalog(not_found(missing, "correct `source`, which is taken from the folder of the catalog"))
    return files


source_files = _files


def listed_files(path: Path, kind: str) -> list[Path]:
    """The files at a place, in the order of their names: one, those in a folder, or those that match a pattern."""
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if is_source_name(file.name, kind) and file.is_file()]
    else:
        files = [path] if path.exists() else sorted(file for each in glob(str(path)) if (file := Path(each)).is_file())
    return _without_twins(files)


def agreeing_files(path: Path, text: Mapping[str, str]) -> tuple[FileKind, list[Path]]:
    """The files of a folder or a pattern and their one kind, if they agree in their columns: what a draft declares as one table."""
    location = str(path.absolute())
    named = kind_by_pattern(location)
    kinds: list[FileKind] = [named] if named and not path.is_dir() else ["parquet", "csv"]
    there = {kind: listed_files(Path(location), kind) for kind in kinds}
    found = {kind: files for kind, files in there.items() if files}
    if not found:
        raise InvalidInput(not_found(for_terminal(str(path)), "expected CSV or Parquet files there"))
    if len(found) > 1:
        raise InvalidInput(f"{for_terminal(path.name)} has CSV and Parquet files; give a pattern, for example FOLDER/*.csv")
    ((kind, files),) = found.items()
    source = Source(cast(Any, kind), location, encoding=text.get("encoding"), separator=text.get("separator"))
    try:
        common_header(files, source) if kind == "csv" else check_parquet_columns(files, None)
    except InvalidCatalog as error:
        raise InvalidInput(error.message) from None
    return kind, files


def is_source_name(name: str, kind: str) -> bool:
    """Whether a file in a folder belongs to a source of this kind, by its name; hidden files, which programs write, do not."""
    return not name.startswith(HIDDEN) and any(fnmatch(name.lower(), pattern) for pattern in PATTERNS.get(kind, ()))


def _without_twins(files: list[Path]) -> list[Path]:
    """The files, each once: a link to another of them gives no second copy of its rows."""
    first: dict[Path, Path] = {}
    for file in files:
        first.setdefault(file.resolve(), file)
    return list(first.values())


def changed_since(catalog: Catalog, moment: str) -> Iterator[str]:
    """Tables with a file that was changed after a moment in whole seconds (ISO 8601), by the times of the files alone."""
    since = datetime.fromisoformat(moment).timestamp() + 1
    for table in catalog.tables.values():
        if table.source.kind not in ("postgres", "memory"):
            with suppress(InvalidCatalog, OSError):
                if any(Path(file).stat().st_mtime > since for file in source_files(catalog, table.source)):
                    yield table.name


def reader_of(catalog: Catalog, place: Path) -> Table | None:
    """The table that would read a file at `place`, if one existed there: as its source, in its folder, or by its pattern.

    A file written there would replace private rows, or be counted with them after the next preparation.
    """
    return next((table for table in catalog.tables.values() if _would_read(catalog, table.source, place.resolve())), None)


def _would_read(catalog: Catalog, source: Source, place: Path) -> bool:
    path, patterns = catalog.folder / source.location, PATTERNS.get(source.kind, ())
    if path.is_dir():
        return place.is_relative_to(path.resolve()) and is_source_name(place.name, source.kind)
    return bool(patterns) and (place == path.resolve() or fnmatch(str(place), str(path.parent.resolve() / path.name)))


def _parquet_relation(files: list[Path]) -> str:
    return f"read_parquet({_file_list(files)}, union_by_name = true, hive_partitioning = false)"


def _file_list(files: list[Path]) -> str:
    return f"[{', '.join(text(escape(str(file))) for file in files)}]"


def common_header(files: list[Path], source: Source) -> Header:
    first = csv_header(files[0], source.encoding, source.separator)
    for file in files[1:]:
        if csv_header(file, source.encoding, source.separator) != first:
            raise InvalidCatalog(
                f"{seen(file.name)} and {seen(files[0].name)} have different headers: files of one table have the same columns, "
                "in the same order; correct one, or declare a table of its own"
            )
    return first


def check_parquet_columns(files: list[Path], wanted: Collection[str] | None) -> None:
    """Refuse a file of one table that lacks a wanted column which another file has; of a draft and a public table, any column.

    A column that no file has is reported by the caller. Types may differ, since each file is read by its own.
    """
    from pyarrow import ArrowException, parquet

    columns: dict[Path, frozenset[str]] = {}
    for file in files if len(files) > 1 else ():
        try:
            columns[file] = frozenset(folded(each) for each in parquet.read_schema(file).names)
        except (ArrowException, OSError):
            raise InvalidCatalog(f"{seen(file.name)} cannot be read as Parquet; write it again, or move it elsewhere") from None
    for file, names in columns.items():
        more, fewer = (one - other for one, other in ((names, columns[files[0]]), (columns[files[0]], names)))
        if (more | fewer) & (more | fewer if wanted is None else frozenset(wanted)):
            parts = [f"{word} {', '.join(sorted(some))}" for word, some in (("has", more), ("lacks", fewer)) if some]
            what = f"{seen(file.name)} has other columns than {seen(files[0].name)}: it {seen(' and '.join(parts))}"
            raise InvalidCatalog(f"{what}; write them alike, or declare a table of its own")


def seen(name: str) -> str:
    """The name of a file or a column as messages show it: on one line, without control characters."""
    return for_terminal(name, LONGEST_NAME)


def _describe_rows(workshop: Workshop, relation: str) -> Rows:
    columns: dict[str, Raw] = {}
    for column, kind, *_ in workshop.rows(f"DESCRIBE SELECT * FROM {relation}"):
        columns.setdefault(folded(column), Raw(name(column), kind, words=workshop.words))
    return Rows(relation, columns)


@contextmanager
def _register_batches(workshop: Workshop, batches: pa.RecordBatchReader) -> Iterator[Rows]:
    workshop.engine.register("batches", batches)
    try:
        yield _describe_rows(workshop, "batches")
    finally:
        workshop.engine.unregister("batches")
        batches.close()
