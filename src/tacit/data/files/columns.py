"""The columns of one file: their names, their types if the file declares them, and the values of chosen ones.

For names and types no value is read: a CSV file is read up to the end of its first line and not a byte further, and of Parquet and
DuckDB files only the schema.

Values are read from files that no catalog declares: commuter flows, audited tables, truths of simulated surveys. A reader's own
error messages are dropped because they quote rows. CSV is read by the rule of
csv_rows.py, with every line as a row. `read_columns` reads any row, and replaces bytes that are not UTF-8. So once
`require_columns` has found the columns of a file and one column has been read, no value of another column can fail. Column names
match exactly, or else case-insensitively.
"""

from __future__ import annotations

import codecs
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tacit.data.declaration import folded
from tacit.data.dialect import name as quoted
from tacit.data.dialect import text
from tacit.data.dialect import text as quoted_text
from tacit.data.files.csv_rows import LINE_END, LONGEST_HEADER, CsvRows, Header, csv_header, header_names
from tacit.data.files.kinds import (
    ENDINGS,
    Field,
    Found,
    existing,
    is_compressed,
    kind_by_pattern,
    kind_of,
    missing_columns,
    not_found,
    table_name,
    unreadable,
)
from tacit.errors import InvalidCatalog, InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.privacy.catalog import Catalog, Source

GZIP = 31  # zlib's code for gzip
DATUM = re.compile(r"(?!\d{4}$)[+-]?\d[\d.,:/-]*(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)  # a year may be a name


WITH_SHEETS = (".xlsx",)
SCHEMES = ("postgresql://", "postgres://")
UTF8: Mapping[str, str] = {}
NOT_UTF8 = "it is not UTF-8 text, or not in the encoding given; give it, for example --encoding {}"


def tables_at(location: str, written: Callable[[Path], str], text: Mapping[str, str] = UTF8) -> tuple[Found, ...]:
    """The tables at a place that a data owner names: a file, a folder, a pattern, or a PostgreSQL URL. Reads no value.

    `written` gives the path of a file as a catalog writes it. `text` may declare the `encoding` and the `separator` of CSV files.
    """
    if location.startswith(SCHEMES):
        from tacit.data.files.postgres import postgres_tables

        return postgres_tables(location, os.environ)
    path = Path(location)
    if not path.is_file() and (path.is_dir() or has_magic(location)):
        return _in_files(path, written(path), text)
    if path.name.lower().endswith(WITH_SHEETS):
        from tacit.data.files.sheets import sheets_in

        return sheets_in(_there(path), written(path))
    return tables_in(path, written(path), text)


def _in_files(path: Path, written: str, text: Mapping[str, str]) -> tuple[Found, ...]:
    """The one table in the files of a folder or a pattern: its columns are those of the first file, and all files have them."""
    from tacit.data.files.sources import agreeing_files

    kind, files = agreeing_files(path, text)
    name = path.name if path.is_dir() else path.parent.resolve().name
    declared = text if kind == "csv" else {}
    source: str | dict[str, str] = written if kind_by_pattern(written) == kind else {str(kind): written}
    return (Found(table_name(Path(name)), source, fields_of(files[0], None, *_form(declared)), declared),)


def tables_in(path: Path, written: str, text: Mapping[str, str] = UTF8) -> tuple[Found, ...]:
    """The tables in a file, with their source written as `written`: a single one, or all tables of a DuckDB file."""
    if kind_of(path) == "duckdb":
        return tuple(Found(table, {"duckdb": written, "table": table}, fields) for table, fields in _in_duckdb(path).items())
    declared = text if kind_of(path) == "csv" else {}
    return (Found(table_name(path), written, fields_of(path, None, *_form(declared)), declared),)


def _form(text: Mapping[str, str]) -> tuple[str | None, str | None]:
    return text.get("encoding"), text.get("separator")


def fields_of(path: Path, table: str | None = None, encoding: str | None = None, separator: str | None = None) -> tuple[Field, ...]:
    """The columns of a Parquet or CSV file (UTF-8 unless another encoding is given), or of a table in a DuckDB file."""
    if path.name.lower().endswith(WITH_SHEETS):
        from tacit.data.files.sheets import fields_of_sheet

        return fields_of_sheet(_there(path), table or "")
    if table is not None:  # whatever the database file is called
        return _of_table(_there(path), table.lower().removeprefix("main."))
    if kind_of(path) == "csv":
        return _in_csv(_there(path), encoding, separator)
    return _in_parquet(_there(path))


def header_of(catalog: Catalog, source: Source, wanted: Collection[str]) -> Collection[str]:
    """The case-folded columns of a source, as preparation finds them; no row is read for them."""
    from tacit.data.files.postgres import postgres_header
    from tacit.data.files.sheets import sheet_header
    from tacit.data.files.sources import check_parquet_columns, common_header, source_files

    if source.kind == "postgres":
        return postgres_header(source, os.environ)
    files = source_files(catalog, source)
    if source.kind == "xlsx":
        return sheet_header(files[0], source.table or "")
    if source.kind == "csv":
        return common_header(files, source).places
    if source.kind == "parquet":
        check_parquet_columns(files, wanted)
        return {folded(field.name) for file in files for field in _in_parquet(file)}
    return {folded(field.name) for field in fields_of(files[0], source.table)}


def _there(path: Path) -> Path:
    if not path.exists():  # a pipe is accepted like a file
        raise InvalidInput(not_found(path.name))
    return path


def _in_csv(path: Path, encoding: str | None, separator: str | None) -> tuple[Field, ...]:
    try:
        with path.open("rb", buffering=0) as file:
            read = _bytes_of(file, is_compressed(path))
            line = _first_line(read if encoding is None else _in_utf8(read, encoding))
            names = _cells(line.decode("utf-8-sig"), separator)
    except (OSError, zlib.error, UnicodeDecodeError, _NoHeader) as error:
        words = NOT_UTF8.format(likely_encoding(path)) if isinstance(error, UnicodeDecodeError) else _words(error)
        raise InvalidInput(f"the first line of {path.name} cannot be read as a header: {words}") from None
    return tuple(Field(name) for name in names)


class _NoHeader(Exception):
    """The first line does not contain names; states why, and quotes nothing."""


def _words(error: Exception) -> str:
    """The error in words that quote nothing from the file."""
    if isinstance(error, OSError):
        return error.strerror or "it cannot be read"
    return str(error) if isinstance(error, _NoHeader) else "it cannot be decompressed"


def likely_encoding(path: Path) -> str:
    """The encoding of a CSV file whose header is not UTF-8, by its first two bytes, which no row has."""
    if not path.is_file():  # a pipe is read once
        return "windows-1252"
    first = b""
    with path.open("rb", buffering=0) as file:
        read = _bytes_of(file, is_compressed(path))
        while len(first) < len(codecs.BOM_UTF16_LE) and (chunk := next(read, None)) is not None:
            first += chunk
    return "utf-16" if first[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "windows-1252"


def _bytes_of(file: BinaryIO, compressed: bool) -> Iterator[bytes]:
    """The file byte by byte, so that nothing is read ahead; a compressed file as far as each byte decompresses."""
    inflate = zlib.decompressobj(GZIP)
    while byte := file.read(1):
        yield inflate.decompress(byte) if compressed else byte


def _in_utf8(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    return (decoder.decode(chunk).encode() for chunk in chunks)


def _first_line(chunks: Iterator[bytes]) -> bytes:
    read = bytearray()
    for chunk in chunks:
        read += chunk
        if LINE_END.search(chunk) or len(read) > LONGEST_HEADER:
            break
    line = LINE_END.split(bytes(read), maxsplit=1)[0]
    if len(line) > LONGEST_HEADER:
        raise _NoHeader("it is longer than a header can be")
    return line


def _cells(line: str, separator: str | None = None) -> tuple[str, ...]:
    """The names in a header, read as preparation reads them."""
    cells, _, is_open = header_names(line, separator)
    if is_open:
        raise _NoHeader("a quotation mark is left open")
    if not any(cells):
        raise _NoHeader("it is empty")
    if any(DATUM.fullmatch(cell) for cell in cells):
        raise _NoHeader("it has a number where a name is expected, so it may be a row; put a line of names before it")
    return cells


def _in_parquet(path: Path) -> tuple[Field, ...]:
    described = _query_file(path, f"DESCRIBE SELECT * FROM read_parquet({text(str(path))})")  # `text` quotes
    return tuple(Field(name, kind) for name, kind, *_ in described)


def _of_table(path: Path, table: str) -> tuple[Field, ...]:
    tables = _in_duckdb(path)
    if table not in tables:
        raise InvalidInput(f"unknown table {table} in {path.name}; it has: {', '.join(tables) or 'none'}")
    return tables[table]


def _in_duckdb(path: Path) -> dict[str, tuple[Field, ...]]:
    """The tables and views of a DuckDB file by their names in lower case, with the schema unless it is main."""
    listed = _query_file(
        path,
        f"ATTACH {text(str(path))} AS source (READ_ONLY)",
        "SELECT lower(if(schema_name = 'main', '', schema_name || '.') || table_name), column_name, data_type "
        "FROM duckdb_columns() WHERE NOT internal AND database_name = 'source' ORDER BY 1, column_index",
    )
    tables: dict[str, tuple[Field, ...]] = {}
    for table, name, kind in listed:
        tables[table] = (*tables.get(table, ()), Field(name, kind))
    return tables


def _query_file(path: Path, *statements: str) -> list[tuple[Any, ...]]:
    """The rows of the last statement; the engine's error message is not passed on."""
    import duckdb

    try:
        with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as engine:
            for statement in statements:
                engine.execute(statement)
            return engine.fetchall()
    except duckdb.Error:
        raise unreadable(_there(path), "parquet" if path.name.lower().endswith(ENDINGS["parquet"]) else "duckdb") from None


# --- chosen columns of one file, as texts or with their types ----------------------------------------------------------------


def column_names(path: str | Path, encoding: str | None = None) -> list[str]:
    """The names of a file's columns, from its header or its schema; no row is read."""
    file = existing(path)
    return list(_header(file, encoding).written) if kind_of(file) == "csv" else list(_schema(file).names)


def require_columns(path: str | Path, names: Sequence[str], remedy: str = "", encoding: str | None = None) -> None:
    """Refuse a file that does not have each of the columns once. Reads no row, and does not quote the header, which may be one."""
    there, file = column_names(path, encoding), Path(path)
    if missing := [name for name in names if not _positions_of(there, name)]:
        raise InvalidInput(missing_columns(missing[:1], file.name, there, kind_of(file) == "csv") + remedy)
    if twice := [name for name in names if len(_positions_of(there, name)) > 1]:
        raise InvalidInput(f"two columns {twice[0]!r} in {file.name}; rename one of them")


def require_names(path: str | Path, columns: Sequence[str]) -> None:
    """Refuse typed columns that cannot be names: names are texts or integers; other numbers would be rounded."""
    file = existing(path)
    if kind_of(file) == "csv":
        return
    from pyarrow import types

    schema = _schema(file)
    for name in columns:
        kind = schema.field(_positions_of(schema.names, name)[0]).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if not (types.is_integer(kind) or _is_text(kind)):
            raise InvalidInput(f"column {name!r} in {file.name} has the type {kind}, not texts; write the names as texts")


def read_columns(path: str | Path, names: Sequence[str], encoding: str | None = None) -> list[Any]:
    """The named columns, each an Arrow array of texts, in the requested order; no other column is kept."""
    file = existing(path)
    require_columns(file, names, encoding=encoding)
    if kind_of(file) == "csv":
        return _csv_texts(file, names, encoding)
    there = _schema(file).names
    table = _read_typed(file, [there[_positions_of(there, name)[0]] for name in dict.fromkeys(names)])
    with _in_our_words(file):
        return [_texts(table.column(_positions_of(table.column_names, name)[0])) for name in names]


def read_table(path: str | Path) -> pa.Table:
    """All columns with their types; a CSV column gets the type that fits all of its values."""
    file = existing(path)
    return _infer_types(file) if kind_of(file) == "csv" else _read_typed(file, None)


def _positions_of(there: Sequence[str], name: str) -> list[int]:
    """The positions of the columns that match a name."""
    exact = [place for place, each in enumerate(there) if each == name]
    return exact or [place for place, each in enumerate(there) if folded(each) == folded(name)]


def _header(file: Path, encoding: str | None) -> Header:
    with _in_our_words(file):
        return csv_header(file, encoding)


def _csv_texts(file: Path, names: Sequence[str], encoding: str | None) -> list[Any]:
    header = _header(file, encoding)
    places = [_positions_of(header.written, name)[0] for name in names]
    with _in_our_words(file):
        table = CsvRows([file], header, False, places, encoding).batches(lambda _: None).read_all()
        return [_texts(table.column(f"c{place}")) for place in places]


def _infer_types(file: Path) -> pa.Table:
    """The sound blocks of a CSV file, parsed together, so that every value counts towards the type of its column."""
    import pyarrow as pa
    from pyarrow import csv

    header = _header(file, None)
    with _in_our_words(file):
        rows = b"".join(block for block, _ in CsvRows([file], header, False, ()).sound_blocks(file))
        if not rows:
            return pa.table({name: pa.nulls(0) for name in header.written})
        reading = csv.ReadOptions(column_names=list(header.written), block_size=len(rows) + 1, use_threads=False)
        return csv.read_csv(pa.BufferReader(rows), reading, csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True))


def _schema(file: Path) -> pa.Schema:
    from pyarrow import parquet

    with _in_our_words(file):
        return parquet.read_schema(file) if kind_of(file) == "parquet" else _from_duckdb(file, None, "LIMIT 0").schema


def _read_typed(file: Path, names: Sequence[str] | None) -> pa.Table:
    from pyarrow import parquet

    with _in_our_words(file):
        if kind_of(file) == "duckdb":
            return _from_duckdb(file, names)
        with parquet.ParquetFile(file) as opened:
            return opened.read(columns=None if names is None else list(names))


def _from_duckdb(file: Path, names: Sequence[str] | None, rest: str = "") -> pa.Table:
    """Columns of the only table in a DuckDB file."""
    import duckdb

    tables = tables_in(file, file.name)
    if len(tables) != 1:
        listed = f"it has: {', '.join(each.name for each in tables)}" if tables else "it has none"
        raise InvalidInput(f"{file.name} must contain one table; {listed}")
    chosen = "*" if names is None else ", ".join(quoted(name) for name in names)
    table = ".".join(quoted(part) for part in tables[0].name.split("."))
    with duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}) as engine:
        engine.execute(f"ATTACH {quoted_text(str(file))} AS source (READ_ONLY)")
        return engine.sql(f"SELECT {chosen} FROM source.{table} {rest}").to_arrow_table()  # quoted


def _texts(column: Any) -> Any:
    """A column as valid texts; bytes that are not UTF-8 are replaced."""
    import pyarrow as pa

    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    raw = (plain if _is_text(plain.type) else plain.cast(pa.string())).cast(pa.binary()).combine_chunks()
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        mended = [None if each is None else each.decode("utf-8", "replace") for each in raw.to_pylist()]
        return pa.array(mended, pa.string())


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return any(is_kind(kind) for is_kind in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary))


@contextmanager
def _in_our_words(file: Path) -> Iterator[None]:
    """Replaces a reader's error message for a broken file, which may quote rows."""
    import duckdb
    import pyarrow as pa

    try:
        yield
    except InvalidCatalog as error:  # raised by tacit's CSV reader, whose messages quote no rows
        raise InvalidInput(error.message) from None
    except (pa.ArrowException, duckdb.Error, OSError, UnicodeDecodeError, EOFError):
        raise unreadable(file, kind_of(file)) from None
