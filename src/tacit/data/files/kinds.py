"""The file type that a name implies, and the messages about files that cannot be read.

No message quotes a row. The first line of a CSV file may be one, so messages do not name its columns either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from tacit.errors import InvalidInput

FileKind = Literal["parquet", "csv", "duckdb"]
ENDINGS: Mapping[FileKind, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "duckdb": (".duckdb",),
}
EXPECTED = ".parquet, .csv, .csv.gz, .tsv or .duckdb"
ENDING = re.compile(r"(\.parquet|\.pq|\.[ct]sv(\.gz)?|\.duckdb)$")


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
