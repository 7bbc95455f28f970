"""Files by their names: the type that a name implies, text files without a header, and messages about files that cannot be read."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO, Literal, cast

from tacit.errors import InvalidInput

FileKind = Literal["parquet", "csv", "duckdb"]
ENDINGS: Mapping[FileKind, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "duckdb": (".duckdb",),
}
EXPECTED = ".parquet, .csv, .csv.gz, .tsv or .duckdb"
ENDING = re.compile(r"(\.parquet|\.pq|\.[ct]sv(\.gz)?|\.duckdb)$")

Limit = int | Decimal | str  # a bound as a catalog writes it


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a source: its name as written there, and the engine's name for its type, or None if it is not declared.

    A database declares more: whether the column is its table's primary key, is NOT NULL (`required`) or `references` the column of
    another table, a comment, and the bounds or values that a constraint or an enumeration allows. None of it comes from rows.
    """

    name: str
    type: str | None = None
    key: bool = False
    required: bool = False
    comment: str = ""
    references: tuple[str, str] | None = None
    bounds: tuple[Limit, Limit] | None = None
    values: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A table that was found: a suggested name, its source as a catalog writes it, and its columns.

    `declared` are further keys of the table in a catalog, such as the encoding under which its header was read.
    """

    name: str
    source: str | dict[str, str]
    fields: tuple[Field, ...]
    declared: Mapping[str, str] = field(default_factory=dict)


def kind_of(path: Path) -> FileKind:
    """The type of a file, by its extension.

    >>> kind_of(Path("visits.CSV.GZ"))
    'csv'
    >>> kind_of(Path("visits.xlsx"))
    Traceback (most recent call last):
    ...
    tacit.errors.InvalidInput: unsupported file type: visits.xlsx; expected .parquet, .csv, .csv.gz, .tsv or .duckdb
    """
    for kind, endings in ENDINGS.items():
        if path.name.lower().endswith(endings):
            return kind
    raise InvalidInput(f"unsupported file type: {path.name}; expected {EXPECTED}")


def kind_by_pattern(written: str) -> FileKind | None:
    """The type that the end of a file's name or of a pattern says, as a catalog reads a source that is one text."""
    return next((kind for kind in ("parquet", "csv") if written.lower().endswith(ENDINGS[kind])), None)


def existing(path: str | Path) -> Path:
    """The path, if the file exists and is not a folder."""
    file = Path(path)
    if file.is_dir():
        raise InvalidInput(f"{path} is a folder, and a file is expected; name a file in it")
    if not file.is_file():
        raise InvalidInput(not_found(path))
    return file


def is_compressed(file: Path) -> bool:
    """Whether the name ends in .gz."""
    return file.suffix.lower() == ".gz"


def table_name(path: Path) -> str:
    """A table name derived from the name of a file.

    >>> table_name(Path("data/Visits.csv.gz"))
    'visits'
    """
    return ENDING.sub("", path.name.lower()) or "table"


def not_found(path: str | Path, remedy: str = "check the path") -> str:
    """The error for a file that does not exist."""
    return f"file not found: {path}; {remedy}"


def unreadable(file: Path, kind: str) -> InvalidInput:
    """The error for a file that is not what its name says; it leaves out the reader's own message."""
    words = {"csv": "CSV", "parquet": "Parquet", "duckdb": "DuckDB"}
    return InvalidInput(f"{file.name} cannot be read as {words[kind]}; expected {EXPECTED}, named by its content")


def missing_columns(missing: Sequence[str], where: str, there: Iterable[str], as_text: bool) -> str:
    """The message for columns that a file lacks; `as_text` if a line of text names its columns.

    >>> print(missing_columns(["cost"], "visits.parquet", ["id", "age"], as_text=False))
    missing column 'cost' in visits.parquet; it has: id, age
    >>> print(missing_columns(["cost", "day"], "visits.csv", ["alice", "Bath"], as_text=True))
    missing columns 'cost', 'day' in visits.csv; its first line must name its columns (not shown here: it may be a row)
    """
    named = f"column{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}"
    told = "its first line must name its columns (not shown here: it may be a row)" if as_text else f"it has: {', '.join(there)}"
    return f"missing {named} in {where}; {told}"


# --- the rows of a file that has no header, such as a hierarchy of values ----------------------------------------------------


LARGEST = 1 << 26  # bytes: a hierarchy is read whole


def level_rows(path: str | Path, delimiter: str = ";") -> list[tuple[str, ...]]:
    """The cells of each line, trimmed; blank lines are skipped, and quotes are read as in CSV."""
    file = existing(path)
    if file.stat().st_size > LARGEST:
        raise InvalidInput(f"{file.name} is too large for a hierarchy: at most {LARGEST:,} bytes; check the path")
    try:
        text = file.read_text("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput(f"{file.name} cannot be read as a hierarchy; expected UTF-8 text with levels separated by ;") from None
    return [tuple(cell.strip() for cell in row) for row in rows if any(cell.strip() for cell in row)]


# --- the bytes of a text file in blocks of whole lines, decompressed where the name says so ----------------------------------


BLOCK = 1 << 24
BOM = b"\xef\xbb\xbf"
LONGEST_LINE = 1 << 26  # in bytes; nothing that is a list of edges has a longer one


def line_blocks(path: str | Path, block: int = BLOCK) -> Iterator[bytes]:
    """Blocks that end with a line, the last one with the end of the file; a byte order mark is left out."""
    file = existing(path)
    try:
        with file.open("rb") as on_disk:
            raw = cast("BinaryIO", gzip.GzipFile(fileobj=on_disk)) if is_compressed(file) else on_disk
            yield from _whole_lines(raw, file.name, block)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InvalidInput(f"{file.name} cannot be decompressed; compress it again") from None
    except OSError as error:
        raise InvalidInput(f"{file.name} cannot be read: {error.strerror or 'unknown reason'}") from None


def _whole_lines(raw: BinaryIO, name: str, block: int) -> Iterator[bytes]:
    rest = raw.read(max(block, len(BOM) + 1)).removeprefix(BOM)
    while rest:
        more = raw.read(block)
        cut = len(rest) if not more else rest.rfind(b"\n") + 1
        if cut:
            yield rest[:cut]
        rest = rest[cut:] + more
        if len(rest) > LONGEST_LINE + block:
            raise InvalidInput(f"{name} has a line of more than {LONGEST_LINE:,} bytes; an edge list has one edge on each line")


def compressed(text: bytes) -> bytes:
    """The text in the form of a .gz file, the same bytes for the same text."""
    return gzip.compress(text, compresslevel=6, mtime=0)
