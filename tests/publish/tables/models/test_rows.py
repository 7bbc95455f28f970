"""Groups of rows: packing, missing values, suppressed rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.tables.models import rows as module
from tacit.publish.tables.models.rows import rows_of


@given(
    st.lists(st.tuples(*[st.sampled_from("ab*")] * 3), min_size=1, max_size=30),
    st.sampled_from([2, 7, 2**62]),
    st.sampled_from([0, 4]),
)
def test_groups_are_those_of_tuples(table, largest, dense):
    """Whatever the size of keys, and hashed or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGEST_KEY", largest)
        patch.setattr(module, "DENSE", dense)
        found = rows_of(dict(zip("xyz", zip(*table, strict=True), strict=True)), ["x", "y", "z"])
        of_row = found.groups.of_row
    gone = [row == ("*", "*", "*") for row in table]
    gone = [False] * len(table) if all(gone) else gone
    assert found.suppressed.tolist() == gone
    for at, row in enumerate(table):
        for other, beside in enumerate(table):
            same = row == beside and not gone[at] and not gone[other]
            assert (of_row[at] == of_row[other] >= 0) == same
    sizes = [table.count(row) for row, lost in zip(table, gone, strict=True) if not lost]
    assert sorted(found.groups.sizes.tolist()) == sorted(
        table.count(row) for row in {r for r, g in zip(table, gone, strict=True) if not g}
    )
    assert found.groups.sizes.sum() == len(sizes)


def test_many_columns_do_not_overflow_a_key():
    """Thirty columns of a hundred values: 10^60 combinations, of which the first and the last row agree in all but the first."""
    columns = {f"c{number}": np.arange(100) % 100 for number in range(30)}
    columns["c0"] = np.zeros(100, dtype=np.int64)
    assert len(rows_of(columns, list(columns)).groups.sizes) == 100


@pytest.mark.parametrize("kind", [list, np.array, pa.array, lambda values: pa.chunked_array([values[:2], values[2:]])])
def test_columns_of_every_kind(kind):
    found = rows_of({"q": kind(["a", "b", "a", "b"]), "s": kind([1, 2, 2, 2])}, ["q"], ["s"])
    assert found.groups.sizes.tolist() == [2, 2]
    assert found.counts("s").totals.tolist() == [1, 3]


def test_a_missing_value_is_a_value_of_its_own_unless_dropped():
    columns = {"q": ["a", None, "a", None, "?"], "s": ["x", "y", "x", "z", "x"]}
    assert sorted(rows_of(columns, ["q"], ["s"]).groups.sizes.tolist()) == [1, 2, 2]
    assert sorted(rows_of(columns, ["q"], ["s"], drop=["?"]).groups.sizes.tolist()) == [2]
    assert sorted(rows_of(columns, ["q"], ["s"], drop=()).groups.sizes.tolist()) == [1, 2]


def test_a_table_whose_every_value_is_the_mark_is_one_group():
    assert rows_of({"q": ["*"] * 5}, ["q"]).groups.sizes.tolist() == [5]
    assert rows_of({"q": ["*", "*", "a"]}, ["q"]).groups.sizes.tolist() == [1]
    assert rows_of({"q": ["*", "*", "a"]}, ["q"], mark=None).groups.sizes.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("columns", "quasi", "sensitive", "words"),
    [
        ({"a": [1]}, [], [], "no quasi-identifier"),
        ({"a": [1]}, ["b"], [], "unknown column 'b'"),
        ({"a": [1]}, ["a"], ["a"], "both"),
        ({"a": [1]}, ["a", "a"], [], "twice"),
        ({"a": []}, ["a"], [], "no rows"),
        ({"a": [1], "b": [1, 2]}, ["a"], ["b"], "length"),
        ({"a": [1, "x"]}, ["a"], [], "mixes types"),
    ],
)
def test_tables_that_cannot_be_checked(columns, quasi, sensitive, words):
    with pytest.raises(InvalidInput, match=words):
        rows_of(columns, quasi, sensitive)
