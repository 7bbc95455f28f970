"""Public tables: declared columns as declared, the others as the data show them; what the data show is in the store's own words."""

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

from stored import catalog, category, number, stored, table, write_csv, write_parquet
from tacit.data.prepare import prepare
from tacit.data.store import open_store, store_file, store_info
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import day_number


def prepared_from(folder, source, *columns):
    prepared = catalog(folder, table("wards", source, *columns, public=True))
    report = prepare(prepared).tables[0]
    return prepared, store_info(prepared).public["wards"], report


CSV_HEADER = ["Ward", "beds", "share", "opened", "postcode", "mixed", "nothing", "flag", "below", "huge"]
CSV_ROWS = [
    ["b", "12", "0.50", "2001-02-03", "02139", "1", "", "true", "-0.25", "99999999999999999999"],
    ["a", "7", "0.125", "1999-12-31", "10001", "x", "", "false", "3", "1"],
    ["é", "", "1", "", "02139", "", "", "true", "-1", "2"],
]


def test_columns_of_a_csv_file(tmp_path):
    prepared, columns, report = prepared_from(tmp_path, write_csv(tmp_path / "wards.csv", CSV_HEADER, CSV_ROWS))
    assert (columns["ward"].kind, columns["ward"].values, columns["ward"].nullable) == ("category", ("a", "b", "é"), False)
    assert (columns["beds"].kind, columns["beds"].bounds, columns["beds"].step, columns["beds"].nullable) == (
        "number",
        (7, 12),
        1,
        True,
    )
    assert (columns["share"].bounds, columns["share"].step) == ((Fraction(1, 8), 1), Fraction(1, 1000))
    opened = tuple(Fraction(day_number(day)) for day in (date(1999, 12, 31), date(2001, 2, 3)))
    assert (columns["opened"].kind, columns["opened"].bounds, columns["opened"].nullable) == ("date", opened, True)
    assert columns["postcode"].values == ("02139", "10001"), "zeros in front make it a code, not a number"
    assert (columns["mixed"].values, columns["mixed"].nullable) == (("1", "x"), True)
    assert columns["flag"].values == ("false", "true")
    assert (columns["below"].bounds, columns["below"].step) == ((-1, 3), Fraction(1, 100))
    assert columns["huge"].kind == "category"
    assert report.left_out == {"nothing": "it has no values"}
    assert stored(prepared, "wards", "ward", "beds", "share", "opened", "postcode") == [
        (0, 0, 0, 0, 1),
        (1, 5, 375, 400, 0),
        (2, None, 875, None, 0),
    ]
    with open_store(store_file(prepared)) as engine:
        found = {column for column, *_ in engine.execute("DESCRIBE wards").fetchall()}
    assert found == set(columns)


def test_columns_of_a_parquet_file(tmp_path):
    columns = {
        "i": pa.array([3, -4, None], pa.int16()),
        "u": pa.array([2**64 - 1, 2**64 - 5, 2**64 - 2], pa.uint64()),
        "wide": pa.array([0, 2**62, 1], pa.int64()),
        "d": pa.array([Decimal("1.50"), Decimal("2.25"), Decimal("0")], pa.decimal128(9, 2)),
        "x": pa.array([0.1, 0.25, float("inf")]),
        "y": pa.array([1 / 3, 0.5, 0.0]),
        "whole": pa.array([1.0, 2.0, float("nan")]),
        "s": pa.array(["007", "b ", None]),
        "t": pa.array([True, None, False]),
        "day": pa.array([date(2020, 1, 1), date(2020, 1, 31), None]),
        "moment": pa.array([datetime(2020, 1, 1, 23, 59), datetime(2020, 1, 3), datetime(2020, 1, 2)]),
        "many": pa.array([[1], [2], None]),
        "raw": pa.array([b"1", b"2", None]),
    }
    prepared, found, report = prepared_from(tmp_path, write_parquet(tmp_path / "wards.parquet", columns))
    assert (found["i"].bounds, found["i"].nullable) == ((-4, 3), True)
    assert found["u"].bounds == (2**64 - 5, 2**64 - 1)
    assert (found["d"].bounds, found["d"].step) == ((0, Fraction(9, 4)), Fraction(1, 100))
    assert (found["x"].bounds, found["x"].step) == ((Fraction(1, 10), Fraction(1, 4)), Fraction(1, 100))
    assert (found["whole"].bounds, found["whole"].step, found["whole"].nullable) == ((1, 2), 1, True)
    assert (found["s"].values, found["t"].values) == (("007", "b"), (False, True))
    assert [type(value) for value in found["t"].values] == [bool, bool]
    assert found["moment"].points == 3
    assert report.left_out == {
        "wide": "its values need more than 2^53 steps",
        "y": "its numbers have more than 9 decimals",
        "many": "its type is INTEGER[]" if "INTEGER[]" in report.left_out["many"] else "its type is BIGINT[]",
        "raw": "its type is BLOB",
    }
    assert stored(prepared, "wards", "i", "d", "x", "whole", "t", "moment") == sorted(
        [(7, 150, 0, 0, 1, 0), (0, 225, 15, 1, None, 2), (None, 0, 15, None, 0, 1)], key=repr
    )


def test_what_is_declared_counts(tmp_path):
    source = write_csv(tmp_path / "wards.csv", CSV_HEADER, CSV_ROWS)
    declared = (category("ward", "a", "b", unknown="drop"), number("beds", 0, 10))
    prepared, columns, report = prepared_from(tmp_path, source, *declared)
    assert stored(prepared, "wards", "ward", "beds") == [(0, 7), (1, 10)]
    assert (columns["beds"].bounds, columns["ward"].values) == ((0, 10), ("a", "b"))
    assert (report.read, report.kept, report.dropped["value"]) == (3, 2, 1)
    with pytest.raises(InvalidCatalog, match="missing column 'height'"):
        prepared_from(tmp_path, source, number("height", 0, 10))


def test_too_many_values_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.data.prepare.public_columns.MOST_VALUES", 2)
    _, columns, report = prepared_from(tmp_path, write_csv(tmp_path / "wards.csv", CSV_HEADER, CSV_ROWS))
    assert report.left_out["ward"] == "it has more than 2 values"
    assert "ward" not in columns


def test_a_table_of_which_nothing_can_be_read(tmp_path):
    with pytest.raises(InvalidCatalog, match="wards has no column that"):
        prepared_from(tmp_path, write_csv(tmp_path / "wards.csv", ["a"], []))


def test_names_that_cannot_be_used(tmp_path):
    rows = [["0", "a", "1", "x"], ["1", "b", "2", "y"]]
    _, columns, report = prepared_from(tmp_path, write_csv(tmp_path / "wards.csv", ["", "ward", "tacit_unit", "WARD"], rows))
    assert list(columns) == ["ward"]
    assert columns["ward"].values == ("a", "b")
    assert report.left_out == {"tacit_unit": "such names are tacit's own"}
