"""Tables as codes and values: what is read, what is missing, and what is written again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tacit.errors import InvalidInput
from tacit.publish.tables.table import Table, natural_order


def test_csv_is_read_as_trimmed_texts_in_natural_order(tmp_path):
    (tmp_path / "a.csv").write_text("age,name\n31, Bo\n9,\n100,Bo \n", "utf-8")
    table = Table.read(tmp_path / "a.csv")
    assert table["age"].values == ("9", "31", "100")
    assert table["age"].codes.tolist() == [1, 0, 2]
    assert table["name"].values == ("", "Bo")
    assert table["name"].codes.tolist() == [1, 0, 1]
    assert table["age"].numbers().tolist() == [9, 31, 100]
    assert table["name"].numbers() is None
    assert table["name"].counts().tolist() == [1, 2]


def test_parquet_keeps_its_types(tmp_path):
    written = pa.table({"n": pa.array([3, None, 1, 3], pa.int16()), "x": ["a", "b", "?", None]})
    parquet.write_table(written, tmp_path / "a.parquet")
    table = Table.read(tmp_path / "a.parquet")
    assert table["n"].values == ("", "1", "3")
    assert table.to_arrow().column("n").combine_chunks().equals(written.column("n").combine_chunks())
    kept = table.drop_missing(["?"])
    assert kept.rows == 1
    assert kept.to_arrow().column("n").to_pylist() == [3]
    assert kept.to_arrow().schema.field("n").type == pa.int16()


def test_missing_values_are_looked_for_in_the_named_columns():
    table = Table.of({"a": ["1", None, "2"], "b": ["?", "x", "y"]})
    assert table.drop_missing().rows == 2
    assert table.drop_missing(["?"], ["b"])["a"].texts().tolist() == ["", "2"]
    assert table.drop_missing(["?"])["b"].values == ("y",)
    whole = Table.of({"a": ["1", "2"]})
    assert whole.drop_missing() is whole


def test_names_match_without_case_and_a_missing_one_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("Age,Sex\n1,F\n", "utf-8")
    assert Table.read(tmp_path / "a.csv", ["sex"]).names == ("Sex",)
    with pytest.raises(InvalidInput, match="missing column 'zip'"):
        Table.read(tmp_path / "a.csv")["zip"]
    with pytest.raises(InvalidInput, match="differ in length"):
        Table.of({"a": [1], "b": [1, 2]})


def test_order_of_numbers_and_of_texts():
    values = ["10", "9.5", "-3", "1e2"]
    assert [values[place] for place in natural_order(values)] == ["-3", "9.5", "10", "1e2"]
    assert natural_order(["nan", "10", "9"]) == [1, 2, 0]


def test_no_rows():
    table = Table.of({"a": []})
    assert table.rows == 0
    assert table.drop_missing(["?"]).rows == 0
    assert len(table["a"].texts()) == 0
    assert table["a"].codes.dtype == np.int32
