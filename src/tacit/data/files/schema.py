"""The columns of a file: their names, and their types if the file declares them. No value is read.

A CSV file is read up to the end of its first line and not a byte further. Of Parquet and DuckDB files, only the schema is read.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tacit.data.files.csv_rows import LINE_END, LONGEST_HEADER, header_names
from tacit.data.files.kinds import ENDINGS, is_compressed, kind_of, not_found, table_name, unreadable
from tacit.data.quoting import text
from tacit.errors import InvalidInput

GZIP = 31  # zlib's code for gzip
DATUM = re.compile(r"(?!\d{4}$)[+-]?\d[\d.,:/-]*(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)  # a year may be a name


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a file: its name as written there, and the engine's name for its type, or None if it is not declared."""

    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A table that was found: a suggested name, its source as a catalog writes it, and its columns."""

    name: str
    source: str | dict[str, str]
    fields: tuple[Field, ...]


def tables_in(path: Path, written: str) -> tuple[Found, ...]:
    """The tables in a file, with their source written as `written`: a single one, or all tables of a DuckDB file."""
    if kind_of(path) == "duckdb":
        return tuple(Found(table, {"duckdb": written, "table": table}, fields) for table, fields in _in_duckdb(path).items())
    return (Found(table_name(path), written, fields_of(path)),)


def fields_of(path: Path, table: str | None = None, encoding: str | None = None) -> tuple[Field, ...]:
    """The columns of a Parquet or CSV file (UTF-8 unless another encoding is given), or of a table in a DuckDB file."""
    if table is not None:  # whatever the database file is called
        return _of_table(_there(path), table.lower().removeprefix("main."))
    if kind_of(path) == "csv":
        return _in_csv(_there(path), encoding)
    return _in_parquet(_there(path))


def _there(path: Path) -> Path:
    if not path.exists():  # a pipe is accepted like a file
        raise InvalidInput(not_found(path.name))
    return path


def _in_csv(path: Path, encoding: str | None) -> tuple[Field, ...]:
    try:
        with path.open("rb", buffering=0) as file:
            read = _bytes_of(file, is_compressed(path))
            line = _first_line(read if encoding is None else _in_utf8(read, encoding))
            names = _cells(line.decode("utf-8-sig"))
    except (OSError, zlib.error, UnicodeDecodeError, _NoHeader) as error:
        raise InvalidInput(f"the first line of {path.name} cannot be read as a header: {_words(error)}") from None
    return tuple(Field(name) for name in names)


class _NoHeader(Exception):
    """The first line does not contain names; states why, and quotes nothing."""


def _words(error: Exception) -> str:
    """What went wrong, quoting nothing from the file."""
    if isinstance(error, OSError):
        return error.strerror or "it cannot be read"
    return str(error) if isinstance(error, _NoHeader) else "it is not UTF-8 text in comma-separated form"


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


def _cells(line: str) -> tuple[str, ...]:
    """The names in a header, read as preparation reads them."""
    cells, _, is_open = header_names(line)
    if is_open:
        raise _NoHeader("a quotation mark is left open")
    if not any(cells):
        raise _NoHeader("it is empty")
    if any(DATUM.fullmatch(cell) for cell in cells):
        raise _NoHeader("it has a number where a name is expected, so it may be a row; put a line of names before it")
    return cells


def _in_parquet(path: Path) -> tuple[Field, ...]:
    described = _asked(path, f"DESCRIBE SELECT * FROM read_parquet({text(str(path))})")  # `text` quotes
    return tuple(Field(name, kind) for name, kind, *_ in described)


def _of_table(path: Path, table: str) -> tuple[Field, ...]:
    tables = _in_duckdb(path)
    if table not in tables:
        raise InvalidInput(f"unknown table {table} in {path.name}; it has: {', '.join(tables) or 'none'}")
    return tables[table]


def _in_duckdb(path: Path) -> dict[str, tuple[Field, ...]]:
    """The tables and views of a DuckDB file by their names in lower case, with the schema unless it is main."""
    listed = _asked(
        path,
        f"ATTACH {text(str(path))} AS source (READ_ONLY)",
        "SELECT lower(if(schema_name = 'main', '', schema_name || '.') || table_name), column_name, data_type "
        "FROM duckdb_columns() WHERE NOT internal AND database_name = 'source' ORDER BY 1, column_index",
    )
    found: dict[str, tuple[Field, ...]] = {}
    for table, name, kind in listed:
        found[table] = (*found.get(table, ()), Field(name, kind))
    return found


def _asked(path: Path, *statements: str) -> list[tuple[Any, ...]]:
    """The rows of the last statement; the engine's error message is not passed on."""
    import duckdb

    try:
        with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as engine:
            for statement in statements:
                engine.execute(statement)
            return engine.fetchall()
    except duckdb.Error:
        raise unreadable(_there(path), "parquet" if path.name.lower().endswith(ENDINGS["parquet"]) else "duckdb") from None
