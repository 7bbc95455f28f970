"""Sheets of Excel workbooks, read by calamine (the extra `xlsx`): the values that the workbook keeps; no formula is computed.

The first row of a sheet has the names of its columns, and each later row is one row of the table. A cell is a text as CSV would
have it: a whole number without a fraction, a date as YYYY-MM-DD, true and false, nothing where the cell is empty or an error. So
no cell stops preparation, and how a row is read depends on its own cells and on the names alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.data.declaration import folded
from tacit.data.files.kinds import Field, Found
from tacit.errors import InvalidCatalog, InvalidInput
from tacit.privacy.catalog import BLANKS
from tacit.untrusted import for_terminal

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 20_000
MOST_COLUMNS = 16_384  # of a sheet
LARGEST_FILE = 1 << 29  # bytes: the sheet is unpacked in memory


def sheets_in(path: Path, written: str) -> tuple[Found, ...]:
    """The sheets of a workbook that have names of columns; only the first row of each is used."""
    with _opened(path) as book:
        found = {name: _header(book, name) for name in book.sheet_names}
    return tuple(
        Found(folded(name), {"xlsx": written, "sheet": name}, tuple(Field(column) for column in names))
        for name, names in found.items()
        if any(names)
    )


def fields_of_sheet(path: Path, sheet: str) -> tuple[Field, ...]:
    """The columns of one sheet."""
    try:
        with _opened(path) as book:
            return tuple(Field(name) for name in _header(book, _sheet_name(book, path, sheet)))
    except InvalidCatalog as error:
        raise InvalidInput(error.message) from None


def sheet_header(path: Path, sheet: str) -> tuple[str, ...]:
    """The names of a sheet's columns, case-folded; an empty text where a cell of the first row is empty."""
    with _opened(path) as book:
        return tuple(folded(name) for name in _header(book, _sheet_name(book, path, sheet)))


def sheet_batches(path: Path, sheet: str, places: Collection[int]) -> pa.RecordBatchReader:
    """The rows of a sheet in batches of texts `c0`, `c1`, ...: the columns at the given places. Empty rows are left out."""
    import pyarrow as pa

    wanted = sorted(places) or [0]
    schema = pa.schema([(f"c{place}", pa.large_string()) for place in wanted])
    return pa.RecordBatchReader.from_batches(schema, _batches(path, sheet, wanted, schema))


def _batches(path: Path, sheet: str, wanted: Sequence[int], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with _opened(path) as book:
        rows = _rows(book, _sheet_name(book, path, sheet))
        next(rows, None)
        columns: list[list[str]] = [[] for _ in wanted]
        for row in rows:
            if all(cell is None or cell == "" for cell in row):
                continue
            for column, place in zip(columns, wanted, strict=True):
                column.append(cell_text(row[place]) if place < len(row) else "")
            if len(columns[0]) == BATCH_ROWS:
                yield pa.record_batch([pa.array(each, pa.large_string()) for each in columns], schema=schema)
                columns = [[] for _ in wanted]
        yield pa.record_batch([pa.array(each, pa.large_string()) for each in columns], schema=schema)


def cell_text(cell: Any) -> str:
    """The text of a cell; an empty one for what is not a value.

    >>> cell_text(7.0), cell_text(0.1), cell_text(True), cell_text(date(2020, 1, 31)), cell_text(datetime(2020, 1, 31, 0, 0))
    ('7', '0.1', 'true', '2020-01-31', '2020-01-31')
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return _number_text(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(sep=" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    return str(cell).encode("utf-8", "replace").decode()


def _number_text(number: float) -> str:
    if number != number or number in (float("inf"), float("-inf")):
        return ""
    return str(int(number)) if number.is_integer() and abs(number) < 2**63 else repr(number)


def _rows(book: Any, sheet: str) -> Iterator[list[Any]]:
    """The rows of a sheet, from the first that is not empty: it has the names."""
    read = iter(book.get_sheet_by_name(sheet).iter_rows())
    return dropwhile(lambda row: all(cell in (None, "") for cell in row), read)


def _header(book: Any, sheet: str) -> tuple[str, ...]:
    first = next(_rows(book, sheet), [])
    return tuple(cell_text(cell).strip(BLANKS) for cell in first[:MOST_COLUMNS])


def _sheet_name(book: Any, path: Path, sheet: str) -> str:
    """The sheet by its name, exactly or else without case."""
    names = [name for name in book.sheet_names if name == sheet] or [
        name for name in book.sheet_names if folded(name) == folded(sheet)
    ]
    if not names:
        listed = ", ".join(for_terminal(name, 40) for name in book.sheet_names)
        raise InvalidCatalog(f"unknown sheet {for_terminal(sheet, 40)} in {for_terminal(path.name, 80)}; it has: {listed}")
    return str(names[0])


def _opened(path: Path) -> Any:
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise InvalidCatalog("an Excel workbook needs the extra `xlsx`: pip install 'tacit[xlsx]'") from None
    if path.stat().st_size > LARGEST_FILE:
        raise InvalidCatalog(f"{for_terminal(path.name, 80)} is too large for a workbook: at most 512 MB; save its sheets as CSV")
    try:
        return CalamineWorkbook.from_path(str(path))
    except Exception:  # the reader's own types differ by version, and its messages may quote cells
        raise InvalidCatalog(f"{for_terminal(path.name, 80)} cannot be read as an Excel workbook; save it again") from None
