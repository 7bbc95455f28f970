"""Readers that take every row of a file: what is not UTF-8 becomes the replacement character, a line of any length a row.

They are slower than the engine's own and give the same rows for files that those can read. A CSV line with too few fields is
filled up with empty ones, fields beyond the header are ignored, empty lines are skipped, and a quotation mark that is never
closed ends with the file.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.errors import CatalogUnusable
from tacit.privacy.catalog import BLANKS
from tacit.privacy.catalog_file.reading import folded

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = ",;\t|"
BATCH_ROWS = 20_000
BATCH_CHARACTERS = 1 << 25
MARK = "\udfff"  # half a character, which no decoded text holds


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a CSV file: the names without case, and the delimiter that parts it into most of them."""

    names: tuple[str, ...]
    delimiter: str

    @property
    def places(self) -> Mapping[str, int]:
        """Where each column with a name stands; of two with one name, the first counts."""
        return {name: self.names.index(name) for name in self.names if name}


def csv_header(file: Path) -> Header:
    """The header of a CSV file. No line after it is looked at."""
    with _opened(file) as lines:
        first = lines.readline()
    rows = {delimiter: next(_parsed([first], delimiter), []) for delimiter in DELIMITERS}
    delimiter = max(rows, key=lambda each: len(rows[each]))
    if not any(rows.values()):
        raise CatalogUnusable(f"{file.name} is empty; a CSV file begins with the names of its columns")
    return Header(tuple(folded(name.strip(BLANKS)) for name in rows[delimiter]), delimiter)


def csv_batches(files: Sequence[Path], header: Header, wanted: Collection[str] | None) -> pa.RecordBatchReader:
    """All rows of CSV files, in batches of texts."""
    import pyarrow as pa

    places = {name: place for name, place in header.places.items() if not wanted or name in wanted}
    schema = pa.schema([(name, pa.large_string()) for name in places])

    def batches() -> Iterator[pa.RecordBatch]:
        for rows in (rows for file in files for rows in _row_blocks(file, header)):
            columns = [[row[place] if place < len(row) else "" for row in rows] for place in places.values()]
            yield pa.record_batch([pa.array(column, pa.large_string()) for column in columns], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def parquet_batches(files: Sequence[Path], wanted: Collection[str] | None) -> pa.RecordBatchReader:
    """All rows of Parquet files, with mended strings; nested columns as a text that says that there is something."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole = pa.unify_schemas([pq.read_schema(file) for file in files], promote_options="permissive")
    schema = pa.schema([(field.name, _mended_type(field.type)) for field in whole if not wanted or folded(field.name) in wanted])

    def batches() -> Iterator[pa.RecordBatch]:
        for file in files:
            with pq.ParquetFile(file) as parquet:
                there = [column for column in schema.names if column in parquet.schema_arrow.names]
                for batch in parquet.iter_batches(BATCH_ROWS, columns=there):
                    yield pa.record_batch([_column(batch, field) for field in schema], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def mended(strings: Any) -> Any:
    """An Arrow array of strings, with the replacement character where bytes are not UTF-8."""
    import pyarrow as pa

    values = strings.dictionary_decode() if pa.types.is_dictionary(strings.type) else strings
    raw = values.cast(pa.large_binary())
    try:
        return raw.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([None if each is None else each.decode("utf-8", "replace") for each in raw.to_pylist()], pa.large_string())


def _column(batch: pa.RecordBatch, field: pa.Field) -> Any:
    import pyarrow as pa

    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(field.name)
    if pa.types.is_nested(column.type):
        return pa.array(["something" if valid else None for valid in column.is_valid().to_pylist()], pa.large_string())
    return mended(column) if pa.types.is_large_string(field.type) else column.cast(field.type)


def _mended_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    texts = pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner)
    return pa.large_string() if texts or pa.types.is_nested(kind) else inner


def _row_blocks(file: Path, header: Header) -> Iterator[list[list[str]]]:
    block: list[list[str]] = []
    size = 0
    with _opened(file) as lines:
        rows = _parsed(lines, header.delimiter)
        next(rows, None)
        for row in rows:
            if row:
                block.append(row)
                size += sum(map(len, row))
            if len(block) >= BATCH_ROWS or size >= BATCH_CHARACTERS:
                yield block
                block, size = [], 0
    yield block


def _parsed(lines: Any, delimiter: str) -> Iterator[list[str]]:
    """The fields of each row. A quotation mark after one blank opens a field, after several it is a character, as for the engine.

    A mark before such blanks makes them part of a plain field; inside a quoted field it does nothing, and it is taken out again.
    """
    csv.field_size_limit(sys.maxsize)
    several = re.compile(f'(^|{re.escape(delimiter)})(?=  +")')
    marked = (several.sub(f"\\g<1>{MARK}", line) if '  "' in line else line for line in lines)
    for row in csv.reader(marked, delimiter=delimiter, skipinitialspace=True):
        yield [field.replace(MARK, "") for field in row]


@contextmanager
def _opened(file: Path) -> Iterator[TextIO]:
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as raw:
        yield io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="")
