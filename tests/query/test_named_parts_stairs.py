"""Stairs are read back from a tree of comparisons, and their buckets say what the tree says, for every number."""

from __future__ import annotations

from bisect import bisect_right

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.query import named_parts as module
from tacit.query.binding.dates import steps
from tacit.query.named_parts import Stairs, stairs
from tacit.query.plan import Choose, Column, Compare, Literal


def in_buckets(found: Stairs, number: int, low: int, high: int) -> int | None:
    buckets = found.buckets(low, high)
    at = (number - low) >> buckets.power
    return buckets.first[at] if number - low < buckets.borders[at] else buckets.then[at]


@given(st.integers(-50, 50), st.lists(st.integers(1, 40), min_size=9, max_size=30), st.data())
@settings(max_examples=60, deadline=None)
def test_buckets_say_what_the_tree_says(low: int, gaps: list[int], data: st.DataObject) -> None:
    starts = [low + sum(gaps[:at]) for at in range(len(gaps))]
    values = data.draw(st.lists(st.integers(-9, 9), min_size=len(starts), max_size=len(starts)))
    high = starts[-1] + data.draw(st.integers(0, 60))
    found = Stairs(Column(0, "x", low, high, False), tuple(starts[1:]), tuple(values))
    assert all(in_buckets(found, each, low, high) == values[bisect_right(starts, each) - 1] for each in range(low, high + 1))
    read = stairs(steps(found.row, starts, values))
    assert read is None or read == found
    assert (read is not None) == (found.count(low, high) <= module.SPARSEST * len(found.borders))


def test_a_bucket_with_two_borders_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: buckets twice as large as the distance of two borders."""
    found = Stairs(Column(0, "x", 0, 99, False), tuple(range(10, 100, 10)), tuple(range(10)))
    honest = Stairs._power
    monkeypatch.setattr(Stairs, "_power", lambda own, low, high: honest(own, low, high) + 1)
    assert any(in_buckets(found, each, 0, 99) != each // 10 for each in range(100))


def test_other_trees_are_not_stairs() -> None:
    row, other = Column(0, "x", 0, 999, False), Column(0, "y", 0, 999, False)
    starts = list(range(0, 1000, 50))
    tree = steps(row, starts, starts)
    assert stairs(tree) is not None
    assert isinstance(tree, Choose)
    (test, lower), (again, upper) = tree.branches
    assert stairs(Choose(((test, steps(other, starts[:10], starts[:10])), (again, upper)), Literal(None), 0, 950, False)) is None
    assert stairs(Choose(((test, lower), (again, upper)), Literal(0), 0, 950, False)) is None
    assert stairs(Choose(((test, lower), (Compare("<=", Literal(501), row), upper)), Literal(None), 0, 950, False)) is None
    assert stairs(Choose(((test, upper), (again, lower)), Literal(None), 0, 950, False)) is None
    assert stairs(steps(row, starts[:5], starts[:5])) is None
