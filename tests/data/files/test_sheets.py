"""Excel workbooks as sources: a sheet gives the rows that the same table in CSV gives, and no cell stops preparation."""

from __future__ import annotations

import datetime

import openpyxl
import pytest

from stored import catalog, category, days, number, stored, table
from tacit.data.files.columns import tables_at
from tacit.data.prepare import prepare
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Column, Owner, Source

NAMES = ["Person ID", "cost", "day", "sex", "note"]
ROWS = [
    [1, 12.5, datetime.date(2020, 1, 2), "F", " é "],
    [1, "7,5", "2020-01-03", "M", None],
    ["00002", 3, datetime.datetime(2020, 5, 1, 13, 30), "x", "#N/A"],
    [2.0, True, datetime.time(1, 2), "=1/0", 'a "b"\nc'],
    [None, 1e300, -5, None, "\ud7ff"],
    [3, "=1+1", None, "M", "x" * 300],
]
COLUMNS = (
    number("cost", 0, 100, "0.5"),
    days("day", "2020-01-01", "2020-12-31"),
    category("sex", "F", "M"),
    Column("note", "text"),
)


def workbook(path, rows=ROWS, sheet="Visits"):
    book = openpyxl.Workbook()
    book.active.title = "empty"
    page = book.create_sheet(sheet)
    for row in [NAMES, *rows]:
        page.append(row)
    book.save(path)
    return path


def visits(path, sheet="Visits"):
    return table("visits", Source("xlsx", str(path), sheet), *COLUMNS, unit=Owner("person id"), max_rows=9)


def test_the_rows_of_a_sheet_are_those_of_the_same_csv(tmp_path):
    cells = '1,12.5,2020-01-02,F,é\n1,"7,5",2020-01-03,M,\n00002,3,2020-05-01,x,\n3,,,M,\n'
    (tmp_path / "visits.csv").write_text(f"{','.join(NAMES)}\n{cells}")
    rows = [*ROWS[:2], ["00002", 3, datetime.date(2020, 5, 1), "x", "#N/A"], [3, None, None, "M", None]]
    both = []
    for place, source in {
        "a": Source("csv", str(tmp_path / "visits.csv")),
        "b": Source("xlsx", str(workbook(tmp_path / "v.xlsx", rows)), "visits"),
    }.items():
        (tmp_path / place).mkdir()
        prepared = catalog(tmp_path / place, table("visits", source, *COLUMNS, unit=Owner("person id"), max_rows=9))
        prepare(prepared)
        both.append(stored(prepared, "visits", *(column.name for column in COLUMNS)))
    assert both[0] == both[1]
    assert len(both[0]) == 4


def test_no_cell_stops_preparation(tmp_path):
    prepared = catalog(tmp_path, visits(workbook(tmp_path / "v.xlsx")))
    report = prepare(prepared).tables[0]
    assert (report.read, report.unnamed) == (6, 1)


def test_a_formula_counts_by_the_value_that_the_workbook_keeps(tmp_path):
    file = workbook(tmp_path / "v.xlsx", [[1, "=1+1", None, "M", None]])  # written without a computed value: nothing is kept
    prepared = catalog(tmp_path, visits(file))
    prepare(prepared)
    assert stored(prepared, "visits", "cost") == [(None,)]


def test_init_names_each_sheet_and_reads_no_row_of_it(tmp_path):
    (found,) = tables_at(str(workbook(tmp_path / "v.xlsx")), str)
    assert found.source == {"xlsx": str(tmp_path / "v.xlsx"), "sheet": "Visits"}
    assert [field.name for field in found.fields] == NAMES


def test_an_unknown_sheet_and_a_file_that_is_no_workbook_are_named(tmp_path):
    with pytest.raises(InvalidCatalog, match="unknown sheet Other"):
        prepare(catalog(tmp_path, visits(workbook(tmp_path / "v.xlsx"), "Other")))
    (tmp_path / "v.xlsx").write_bytes(b"PK not a workbook")
    with pytest.raises(InvalidCatalog, match="as an Excel workbook"):
        prepare(catalog(tmp_path, visits(tmp_path / "v.xlsx")))
