"""Hierarchies: read, checked, bound to a column and drawn."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.publish.tables.hierarchy import Hierarchy, dates, intervals, prefixes
from tacit.publish.tables.table import Table

AGES = [("31", "30-39", "*"), ("34", "30-39", "*"), ("42", "40-49", "*")]


def test_a_file_is_read_and_bound_to_a_column(tmp_path):
    (tmp_path / "age.csv").write_text("31;30-39;*\n34;30-39;*\r\n\n42; 40-49 ;*\n", "utf-8")
    age = Hierarchy.read(tmp_path / "age.csv")
    assert (age.name, age.height, age.leaves) == ("age", 2, ("31", "34", "42"))
    column = Table.of({"age": [42, 31]})["age"]
    assert [codes.tolist() for codes in age.of_column(column)] == [[0, 2], [0, 1], [0, 0]]
    assert age.up(1, 2).tolist() == [0, 0]
    assert [counts.tolist() for counts in age.leaf_counts] == [[1, 1, 1], [2, 1], [3]]


def test_a_value_that_is_lacking_is_named_with_the_remedy():
    column = Table.of({"age": [31, 91, 95]})["age"]
    with pytest.raises(InvalidInput, match=r"no value '91' \(and 1 more\)"):
        Hierarchy.of("age", AGES).covers(column)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "is empty"),
        ([("31",)], "has one level"),
        ([("31", "a", "*"), ("32", "a")], "has 2 levels on line 2 and 3 on line 1"),
        ([("31", "a"), ("31", "b")], "repeats '31' on line 2"),
        ([("1", "a", "x", "*"), ("2", "a", "y", "*")], "do not nest: 'a' of level 1 is in both .* of level 2; give it one"),
    ],
)
def test_what_is_not_a_hierarchy_is_refused(rows, problem):
    with pytest.raises(InvalidInput, match=problem):
        Hierarchy.of("age", rows)


def test_a_file_of_bytes_is_refused(tmp_path):
    (tmp_path / "age.csv").write_bytes(b"\xff\xfe;*\n")
    with pytest.raises(InvalidInput, match="cannot be read as a hierarchy"):
        Hierarchy.read(tmp_path / "age.csv")


def test_the_drawing_counts_what_it_leaves_out():
    tree = list(Hierarchy.flat("n", [str(each) for each in range(20)]).tree(most=3))
    assert tree == ["*", "├── 0", "├── 1", "└── ... 18 more"]


def test_intervals_nest_and_know_negative_numbers():
    found = intervals("x", ["-1", "-11", "3.5", ""], [2, 10])
    assert found.forms[1] == ("[-2, 0)", "[-12, -10)", "[2, 4)", "")
    assert found.forms[2] == ("[-10, 0)", "[-20, -10)", "[0, 10)", "")
    assert found.forms[-1] == ("*",)
    with pytest.raises(InvalidInput, match="must be a multiple of 5"):
        intervals("x", ["1"], [5, 7])
    with pytest.raises(InvalidInput, match="positive widths"):
        intervals("x", ["1"], [0])
    with pytest.raises(InvalidInput, match="not a number"):
        intervals("x", ["a"], [5])


def test_every_number_lies_in_its_interval():
    values = [f"{each / 4:g}" for each in range(-40, 40)]
    found = intervals("x", values, [3], start=1)
    for value, form in zip(values, np.array(found.forms[1])[found.levels[1]], strict=True):
        low, high = form[1:-1].split(", ")
        assert float(low) <= float(value) < float(high)


def test_dates_and_prefixes():
    found = dates("born", ["1999-12-31", "2000-01-01"], ["month", "year", "decade", "century"])
    assert [forms[0] for forms in found.forms] == ["1999-12-31", "1999-12", "1999", "1990-1999", "1900-1999", "*"]
    with pytest.raises(InvalidInput, match="unknown span"):
        dates("born", [], ["week"])
    with pytest.raises(InvalidInput, match="from short to long"):
        dates("born", [], ["year", "month"])
    with pytest.raises(InvalidInput, match="not a date"):
        dates("born", ["31.12.1999"])
    assert prefixes("zip", ["0213", "0214"]).forms[1] == ("021*",)
    with pytest.raises(InvalidInput, match="falling lengths"):
        prefixes("zip", ["0213"], [2, 3])
