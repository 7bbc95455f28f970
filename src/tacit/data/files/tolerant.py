"""Parquet files that harm a reader: pages that unpack to gigabytes, and values that stop the engine.

Some kilobytes can hold a dictionary that unpacks to gigabytes, so pages are measured before any is unpacked. A reader unpacks the
first page of a column in each group of rows as a whole. That is its dictionary where it has one, and each step of cleaning copies
its texts, which the engine does not count. The size is in the header of the page (Parquet's thrift, compact protocol), and a reader
that unpacks to another size stops.

Values that stop the engine's own reader of Parquet files: texts that are not UTF-8, moments too far away, and times beyond a day.

The replacement character takes the place of invalid bytes, and the last moment that the engine can hold that of a later one. The
engine still reads all other columns. So only these are read here, each with the position of its row: such a value changes how
nothing else is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tacit.data.declaration import folded
from tacit.data.engine import BESIDE
from tacit.errors import InvalidCatalog, StoreUnusable

if TYPE_CHECKING:
    import pyarrow as pa

ORDINARY = 8 * 2**20  # bytes: writers make dictionaries of 1 MB or 2
COPIES = 7  # of a page, in the steps that are at work at once: 6.7 were measured
MENDED_COPIES = 20  # where texts are mended: rows are matched by their positions, each with a text of its own
HEADER = 32  # bytes that hold the kind and both sizes of a page
SIZES = (0x15, 0x15)  # each of the first two fields of the header: the next field, a number of 32 bits


def require_memory(files: Collection[Path], wanted: Collection[str] | None, limit: int, threads: int, copies: int = COPIES) -> None:
    """Refuse files whose largest pages, unpacked by every thread at once, would not fit into the limit of memory."""
    for file in files:
        largest: dict[str, int] = {}
        groups: set[int] = set()
        for group, column, size, _ in _first_pages(file):
            if size > ORDINARY and (wanted is None or folded(column) in wanted):
                largest[column] = max(size, largest.get(column, 0))
                groups.add(group)
        needed = BESIDE + copies * min(threads, len(groups)) * sum(largest.values())
        if needed > limit:
            worst = max(largest, key=largest.__getitem__)
            raise StoreUnusable(
                f"{file.name} needs more memory than the limit: a page of {worst} unpacks to {largest[worst] / 2**20:,.0f} MB",
                remedy=f"raise it to --memory {-(-needed // 10**9)}GB, or write the file with a smaller dictionary",
            )


def large_columns(file: Path) -> set[str]:
    """The columns of texts with a first page that unpacks to more than an ordinary dictionary has."""
    return {column for _, column, size, is_text in _first_pages(file) if size > ORDINARY and is_text}


def _first_pages(file: Path) -> Iterator[tuple[int, str, int, bool]]:
    """The first page of each column in each group of rows, with its unpacked size, and whether it is one of texts.

    Nothing of a file that is not Parquet.
    """
    from pyarrow import ArrowException, parquet

    try:
        metadata = parquet.read_metadata(file)
    except (ArrowException, OSError):
        return  # the reader of the rows says what is wrong
    with file.open("rb") as opened:
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group)
            for place in range(rows.num_columns):
                column = rows.column(place)
                first = column.dictionary_page_offset or column.data_page_offset
                name = column.path_in_schema
                is_text = column.physical_type == "BYTE_ARRAY" and "." not in name
                yield group, name.partition(".")[0], _unpacked_size(opened, first), is_text


def _unpacked_size(opened: BinaryIO, offset: int) -> int:
    """The unpacked size in the header of a page; 0 where there is no such header, at which a reader stops.

    >>> from io import BytesIO
    >>> _unpacked_size(BytesIO(bytes([0x15, 0x04, 0x15, 0x80, 0x80, 0x01, 0x15])), 0)
    8192
    """
    opened.seek(offset)
    header, at, number = opened.read(HEADER), 0, 0
    for expected in SIZES:
        if at >= len(header) or header[at] != expected:
            return 0
        number, shift, at = 0, 0, at + 1
        while at < len(header):
            number |= (header[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if header[at - 1] < 0x80:
                break
    return (number >> 1) ^ -(number & 1)


# --- what stops the engine's own reader of Parquet files ---------------------------------------------------------------------


BATCH_ROWS = 20_000
HELD = 2 * 2**20  # bytes of texts from a large dictionary in one batch: rows that share a text each get a copy of it
LAST_SECOND = 9_223_372_036_854  # since 1970: the latest moment that the engine can represent, in whole seconds
SECOND = {"s": 1, "ms": 10**3, "us": 10**6}  # nanoseconds cannot represent moments that far away
ZONED = "TIMESTAMP WITH TIME ZONE"  # in the engine
FILE, PLACE = "file_index", "file_row_number"  # the engine's names for the position of a row: which file, and which row in it


def mended_batches(files: Sequence[Path], texts: Sequence[str], moments: Mapping[str, str]) -> pa.RecordBatchReader:
    """The texts and the moments in these columns, by case-folded names, with the positions of their rows.

    `moments` are columns of moments and of times of day, with their types in the engine, on which their texts depend. A nested
    column, which can only be tested for presence, gives a text that marks it as present.
    """
    import pyarrow as pa

    _check_types(files, texts)
    places = [(FILE, pa.int64()), (PLACE, pa.int64())]
    of_moments = {
        "TIMESTAMP": pa.timestamp("us"), ZONED: pa.timestamp("us", "UTC"), "TIME": pa.time64("us"), "TIME_NS": pa.time64("ns"),
    }  # fmt: skip
    kinds = {**dict.fromkeys(texts, pa.large_string()), **{column: of_moments[kind] for column, kind in moments.items()}}
    schema = pa.schema([*places, *kinds.items()])
    batches = (batch for number, file in enumerate(files) for batch in _batches_of(file, number, kinds, schema))
    return pa.RecordBatchReader.from_batches(schema, batches)


def _batches_of(file: Path, number: int, columns: Mapping[str, pa.DataType], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(file, read_dictionary=sorted(large_columns(file))) as parquet:
        there: dict[str, str] = {}
        for name in parquet.schema_arrow.names:
            there.setdefault(folded(name), name)
        first = 0
        read = parquet.iter_batches(BATCH_ROWS, columns=[there[column] for column in columns if column in there])
        for batch in (piece for whole in read for piece in _pieces(whole)):
            last = first + batch.num_rows
            mended = [
                _mend_column(batch.column(there[column]), kind) if column in there else pa.nulls(batch.num_rows, kind)
                for column, kind in columns.items()
            ]
            places = [pa.array([number] * batch.num_rows, pa.int64()), pa.array(range(first, last), pa.int64())]
            yield pa.record_batch([*places, *mended], schema=schema)
            first = last


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in pieces that stay small when the texts of its dictionaries are written out."""
    import pyarrow as pa
    import pyarrow.compute as compute

    longest = [
        compute.max(compute.binary_length(column.dictionary)).as_py() or 0
        for column in batch.columns
        if pa.types.is_dictionary(column.type)
    ]
    rows = max(1, HELD // max(sum(longest), 1)) if longest else BATCH_ROWS
    return (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def held_moments(moments: Any) -> Any:
    """The moments, with those that the engine cannot represent, some 200,000 years from now, as the latest that it can.

    Every bound excludes both.
    """
    import pyarrow as pa
    import pyarrow.compute as compute

    last = LAST_SECOND * SECOND[moments.type.unit]
    above = compute.max_element_wise(moments.cast(pa.int64()), pa.scalar(-last, pa.int64()), skip_nulls=False)
    return compute.min_element_wise(above, pa.scalar(last, pa.int64()), skip_nulls=False).cast(moments.type)


def moments_in(files: Sequence[Path], columns: Collection[str]) -> list[str]:
    """Those of the columns that are in every file moments, in units in which one can be too far away, or times of day."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [field for file in files for field in pq.read_schema(file) if folded(field.name) in columns]
    moments = {folded(field.name) for field in fields if not (pa.types.is_timestamp(field.type) and field.type.unit in SECOND)}
    times = {folded(field.name) for field in fields if not pa.types.is_time(field.type)}
    return [column for column in columns if column not in moments & times]


def _mend_column(column: Any, kind: pa.DataType) -> Any:
    """A moment with a time zone is the same moment in UTC, whose day and text count."""
    import pyarrow as pa

    if pa.types.is_time(kind):
        return _times(column, kind)
    if not pa.types.is_timestamp(kind):
        return _texts(column)
    held = held_moments(column)
    plain = held.cast(pa.int64()).cast(pa.timestamp(held.type.unit)).cast(pa.timestamp("us"))
    return plain.cast(pa.int64()).cast(kind)


def _times(column: Any, kind: Any) -> Any:
    """Times of day; what is before or after the day is missing."""
    import pyarrow as pa
    import pyarrow.compute as compute

    second = {**SECOND, "ns": 10**9}
    units = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64()).cast(pa.int64())
    within = compute.and_(compute.greater_equal(units, 0), compute.less_equal(units, 86400 * second[column.type.unit]))
    held = compute.if_else(within, units, pa.scalar(None, pa.int64()))
    return compute.multiply(held, second[kind.unit] // second[column.type.unit]).cast(kind)


def mend_texts(strings: Any) -> Any:
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
    return mend_texts(column.storage if isinstance(column, pa.ExtensionArray) else column)
