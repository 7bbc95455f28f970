"""The pages of a Parquet file before any is unpacked: some kilobytes can hold a dictionary that unpacks to gigabytes.

A reader unpacks the first page of a column in each group of rows as a whole. That is its dictionary where it has one, and
each step of cleaning copies its texts, which the engine does not count. The size is in the header of the page (Parquet's
thrift, compact protocol), and a reader that unpacks to another size stops.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from tacit.data.declaration.problems import folded
from tacit.data.engine import BESIDE
from tacit.errors import StoreUnusable

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
        known = parquet.read_metadata(file)
    except (ArrowException, OSError):
        return  # the reader of the rows says what is wrong
    with file.open("rb") as opened:
        for group in range(known.num_row_groups):
            rows = known.row_group(group)
            for place in range(rows.num_columns):
                column = rows.column(place)
                first = column.dictionary_page_offset or column.data_page_offset
                name = column.path_in_schema
                is_text = column.physical_type == "BYTE_ARRAY" and "." not in name
                yield group, name.partition(".")[0], _unpacked(opened, first), is_text


def _unpacked(opened: BinaryIO, offset: int) -> int:
    """The unpacked size in the header of a page; 0 where there is no such header, at which a reader stops.

    >>> from io import BytesIO
    >>> _unpacked(BytesIO(bytes([0x15, 0x04, 0x15, 0x80, 0x80, 0x01, 0x15])), 0)
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
