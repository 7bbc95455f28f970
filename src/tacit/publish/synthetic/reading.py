"""Chosen columns of a CSV or Parquet file, as texts; what a reader says of a broken file goes no further, since it quotes rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput

PARQUET = (".parquet", ".pq")


def column_names(path: str | Path) -> list[str]:
    """The names of a file's columns, from its header or its schema; no row is looked at."""
    file = _file(path)
    if file.suffix.lower() in PARQUET:
        from pyarrow import parquet

        return list(_tried(file, lambda: parquet.read_schema(file)).names)
    from pyarrow import csv

    def first() -> Any:
        with csv.open_csv(file) as opened:
            return opened.schema

    return list(_tried(file, first).names)


def read_columns(path: str | Path, names: Sequence[str]) -> list[Any]:
    """The named columns, each an Arrow array of texts, in the order asked for; no other column is kept."""
    import pyarrow as arrow

    file = _file(path)
    if missing := [name for name in names if name not in column_names(file)]:
        raise InvalidInput(f"{file.name} has no column {missing[0]!r}; it has {', '.join(column_names(file))}")
    if file.suffix.lower() in PARQUET:
        from pyarrow import parquet

        table = _tried(file, lambda: parquet.read_table(file, columns=list(dict.fromkeys(names))))
    else:
        from pyarrow import csv

        texts = csv.ConvertOptions(include_columns=list(dict.fromkeys(names)), column_types=dict.fromkeys(names, arrow.string()))
        table = _tried(file, lambda: csv.read_csv(file, convert_options=texts))
    return [table.column(name).cast(arrow.string()).combine_chunks() for name in names]


def _file(path: str | Path) -> Path:
    file = Path(path)
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}")
    return file


def _tried(file: Path, read: Any) -> Any:
    import pyarrow as arrow

    try:
        return read()
    except (arrow.ArrowException, OSError, UnicodeDecodeError, EOFError):
        raise InvalidInput(f"{file.name} cannot be read as CSV or Parquet; the name of the latter ends in .parquet") from None
