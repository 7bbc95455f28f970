"""Groups by one integer key: each of the three ways finds the same groups, in the same order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.publish.tables import grouping
from tacit.publish.tables.grouping import group_keys, group_rows, pack_keys


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=30), st.sampled_from([15, 1 << 40, 1 << 61]))
def test_groups_are_those_of_sorted_rows(rows, space):
    codes = [np.array([row[at] for row in rows], dtype=np.int64) for at in (0, 1)]
    found = group_keys(codes[0] * 3 + codes[1], space)
    distinct = sorted(set(rows))
    assert [rows[each] for each in found.first] == distinct
    assert [distinct[each] for each in found.of_row] == rows
    assert found.sizes().tolist() == [rows.count(each) for each in distinct]
    assert found.sizes(np.full(len(rows), 2)).tolist() == [2 * rows.count(each) for each in distinct]


@pytest.mark.parametrize("bits", [62, 5])
def test_keys_too_large_become_ranks(monkeypatch, bits):
    monkeypatch.setattr(grouping, "BITS", bits)
    random = np.random.default_rng(4)
    columns = [random.integers(0, size, 50) for size in (3, 5, 4, 3)]
    found = group_rows(columns, [3, 5, 4, 3])
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert [rows[each] for each in found.first] == sorted(set(rows))
    assert pack_keys([], [])[1] == 1
