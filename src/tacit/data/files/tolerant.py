"""Texts of Parquet files that are not all UTF-8: the replacement character takes the place of invalid bytes.

The engine's own reader stops at such a text, but still reads all other columns. So only texts are read here, each with the position
of its row: a text that is not UTF-8 changes how nothing else is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.data.declaration.problems import folded
from tacit.errors import InvalidCatalog

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 20_000
FILE, PLACE = "file_index", "file_row_number"  # the engine's names for the position of a row: which file, and which row in it


def text_batches(files: Sequence[Path], columns: Sequence[str]) -> pa.RecordBatchReader:
    """The texts in these columns, by case-folded names, with the positions of their rows.

    A nested column, which can only be tested for presence, gives a text that marks it as present.
    """
    import pyarrow as pa

    _check_types(files, columns)
    places = [(FILE, pa.int64()), (PLACE, pa.int64())]
    schema = pa.schema([*places, *((column, pa.large_string()) for column in columns)])
    batches = (batch for number, file in enumerate(files) for batch in _batches_of(file, number, columns, schema))
    return pa.RecordBatchReader.from_batches(schema, batches)


def _batches_of(file: Path, number: int, columns: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as parquet:
        there: dict[str, str] = {}
        for name in parquet.schema_arrow.names:
            there.setdefault(folded(name), name)
        first = 0
        for batch in parquet.iter_batches(BATCH_ROWS, columns=[there[column] for column in columns if column in there]):
            last = first + batch.num_rows
            texts = [
                _texts(batch.column(there[column])) if column in there else pa.nulls(batch.num_rows, pa.large_string())
                for column in columns
            ]
            places = [pa.array([number] * batch.num_rows, pa.int64()), pa.array(range(first, last), pa.int64())]
            yield pa.record_batch([*places, *texts], schema=schema)
            first = last


def mended(strings: Any) -> Any:
    """An Arrow array of strings, with the replacement character where bytes are not UTF-8."""
    import pyarrow as pa

    values = strings.dictionary_decode() if pa.types.is_dictionary(strings.type) else strings
    raw = values.cast(pa.large_binary())
    try:
        return raw.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([None if each is None else each.decode("utf-8", "replace") for each in raw.to_pylist()], pa.large_string())


def _check_types(files: Sequence[Path], columns: Sequence[str]) -> None:
    import pyarrow.parquet as pq

    for file in files:
        for field in pq.read_schema(file):
            if folded(field.name) in columns and not _is_readable(field.type):
                raise InvalidCatalog(f"{field.name} is text in one Parquet file and not in another; give it one type in all files")


def _is_readable(kind: Any) -> bool:
    import pyarrow.types as of

    kind = kind.value_type if of.is_dictionary(kind) else getattr(kind, "storage_type", kind)
    texts = (of.is_string, of.is_large_string, of.is_string_view, of.is_binary, of.is_large_binary, of.is_nested, of.is_null)
    return any(fits(kind) for fits in texts)


def _texts(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        return pa.array(["something" if valid else None for valid in column.is_valid().to_pylist()], pa.large_string())
    return mended(column.storage if isinstance(column, pa.ExtensionArray) else column)
