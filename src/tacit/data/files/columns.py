"""Chosen columns of a CSV or Parquet file, as texts; what a reader says of a broken file goes no further, since it quotes rows.

Whatever a row holds, `read_columns` reads it: a text that is no UTF-8 is mended. So a file whose columns `require_columns` has
found, and of which one column has been read, fails on no value of another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.data.files.schema import columns_told
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


def require_columns(path: str | Path, names: Sequence[str], remedy: str = "") -> None:
    """Refuse a file that has not each of the columns once; no row is looked at, nor quoted where a row stands as the header."""
    there, file = column_names(path), Path(path)
    if missing := [name for name in names if name not in there]:
        told = columns_told(there, as_text=file.suffix.lower() not in PARQUET)
        raise InvalidInput(f"{file.name} has no column {missing[0]!r}; {told}{remedy}")
    if twice := [name for name in names if there.count(name) > 1]:
        raise InvalidInput(f"{Path(path).name} has two columns {twice[0]!r}; rename one of them")


def require_names(path: str | Path, columns: Sequence[str]) -> None:
    """Refuse columns of a Parquet file that hold no names, which are texts or whole numbers; other numbers would be rounded."""
    file = _file(path)
    if file.suffix.lower() not in PARQUET:
        return
    from pyarrow import parquet, types

    schema = _tried(file, lambda: parquet.read_schema(file))
    for name in columns:
        kind = schema.field(name).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if not (types.is_integer(kind) or _is_text(kind)):
            raise InvalidInput(f"{file.name} has names in {name!r} of the type {kind}; write them as texts")


def read_columns(path: str | Path, names: Sequence[str]) -> list[Any]:
    """The named columns, each an Arrow array of texts, in the order asked for; no other column is kept."""
    import pyarrow as arrow

    file = _file(path)
    require_columns(file, names)
    if file.suffix.lower() in PARQUET:
        from pyarrow import parquet

        table = _tried(file, lambda: parquet.read_table(file, columns=list(dict.fromkeys(names))))
    else:
        from pyarrow import csv

        texts = csv.ConvertOptions(include_columns=list(dict.fromkeys(names)), column_types=dict.fromkeys(names, arrow.binary()))
        table = _tried(file, lambda: csv.read_csv(file, convert_options=texts))
    return [_tried(file, lambda name=name: _texts(table.column(name))) for name in names]


def _texts(column: Any) -> Any:
    """A column as valid texts; of one that is not UTF-8 throughout, what is not is replaced."""
    import pyarrow as arrow

    plain = column.cast(column.type.value_type) if arrow.types.is_dictionary(column.type) else column
    raw = (plain if _is_text(plain.type) else plain.cast(arrow.string())).cast(arrow.binary()).combine_chunks()
    try:
        return raw.cast(arrow.string())
    except arrow.ArrowInvalid:
        mended = [None if each is None else each.decode("utf-8", "replace") for each in raw.to_pylist()]
        return arrow.array(mended, arrow.string())


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return any(is_kind(kind) for is_kind in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary))


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
