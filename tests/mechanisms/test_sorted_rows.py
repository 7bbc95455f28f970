"""Rows and (value, count) lists read alike, place by place, and nothing in them can make the reading fail."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.sorted_rows import Grid, sorted_rows

lists = st.lists(st.integers(-3, 12), max_size=25)


def counted(values, shuffle):
    distinct = list(dict.fromkeys(shuffle(values)))
    return sorted_rows(distinct, 0, 9, counts=[values.count(value) for value in distinct])


@settings(max_examples=200, deadline=None)
@given(lists, st.randoms(use_true_random=False), st.integers(0, 26), st.integers(0, 30))
def test_rows_and_counts_agree_with_a_sorted_list(values, random, place, reach):
    clamped = sorted(min(max(value, 0), 9) for value in values)
    padded = {place: clamped[place - 1] if 1 <= place <= len(clamped) else (0 if place < 1 else 9) for place in range(-40, 70)}
    for rows in (sorted_rows(values, 0, 9), counted(values, lambda v: random.sample(v, len(v)))):
        assert rows.size == len(clamped)
        assert [rows.at(p) for p in range(-2, 30)] == [padded[p] for p in range(-2, 30)]
        here = min(place, len(clamped))
        down, up = rows.down_from(here, reach), rows.up_from(here + 1, reach, pivot=padded[here])
        check_stairs(down, [padded[here] - padded[here - d] for d in range(reach + 1)])
        check_stairs(up, [padded[here + 1 + d] - padded[here] for d in range(reach + 1)])


def check_stairs(stairs, expected):
    """Every distance within reach is that of the last entry at or before it, and entries are true."""
    assert stairs.places[0] == 0
    assert (np.diff(stairs.places) > 0).all()
    assert (np.diff(stairs.gaps) >= 0).all()
    read = [int(stairs.gaps[np.searchsorted(stairs.places, d, side="right") - 1]) for d in range(len(expected))]
    assert read == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-(2**61), 2**61), min_size=1, max_size=12), st.data())
def test_sums_are_exact(values, data):
    first = data.draw(st.integers(1, len(values)))
    last = data.draw(st.integers(first, len(values)))
    bounds = (-(2**61), 2**61 - 1)
    exact = sum(sorted(min(value, bounds[1]) for value in values)[first - 1 : last])
    assert sorted_rows(values, *bounds).sum_between(first, last) == exact
    assert sorted_rows(values, *bounds, counts=[1] * len(values)).sum_between(first, last) == exact


def test_ten_thousand_million_rows_need_no_room():
    rows = sorted_rows([5, 7], 0, 9, counts=[6 * 10**9, 4 * 10**9])
    assert (rows.size, rows.at(6 * 10**9), rows.at(6 * 10**9 + 1)) == (10**10, 5, 7)


def test_words_without_a_sign_are_refused_before_they_wrap_around():
    for values in ([2**63, 1], [2**62]):
        with pytest.raises(InvalidValue):
            sorted_rows(np.array(values, dtype=np.uint64), 0, 9)
    assert sorted_rows(np.array([2**62 - 1, 1], dtype=np.uint64), 0, 9).values.tolist() == [1, 9]


def test_a_value_is_there_once_and_only_with_rows():
    rows = sorted_rows([3, 8, 3, 5], 0, 9, counts=[1, 4, 2, 0])
    assert (rows.values.tolist(), rows.ends.tolist()) == ([3, 8], [3, 7])


def test_the_sum_of_no_rows():
    assert [sorted_rows([], 0, 9, counts).sum_between(1, 0) for counts in (None, [])] == [0, 0]


@pytest.mark.parametrize(
    ("lower", "upper", "step"), [(0, 10, 1), (1, 10, 3), ("1/3", "7/3", "1/4"), (-7, 8, "5/2"), ("1/2", "9/2", 2)]
)
def test_values_go_to_the_nearest_point_of_the_grid(lower, upper, step):
    """By the definition: the distance from the lower end in steps, rounded, and clamped to the ends."""
    grid = Grid(lower, upper, step)
    values = [grid.lower + Fraction(part, 3) * grid.step for part in range(-5, 3 * grid.points + 5)]
    nearest = [min(max(round((value - grid.lower) / grid.step), 0), grid.points - 1) for value in values]
    assert grid.offsets(values).tolist() == nearest
    assert [grid.value(offset) for offset in range(grid.points)] == [float(grid.lower + k * grid.step) for k in range(grid.points)]


def test_a_grid_has_from_one_step_to_fewer_than_2_to_the_62():
    assert [Grid(0, upper, 1).points for upper in (1, 2, 2**62 - 1)] == [2, 3, 2**62]
    for lower, upper, step in ((0, 0, 1), (1, 0, 1), (0, 2**62, 1), (0, 3, 2), (0, 1, 2)):
        with pytest.raises(InvalidInput, match="whole number of steps"):
            Grid(lower, upper, step)


def test_units_come_as_a_pair_of_offsets_and_counts():
    assert Grid(0, 10, 1).rows_of_units(([3, 9], [2, 5])).size == 7
    assert Grid(0, 10, 1).rows_of_units([[3, 9], None]).size == 2
    for wrong in (([3],), ([3], [1], [1]), 3):
        with pytest.raises(InvalidValue, match="a pair"):
            Grid(0, 10, 1).rows_of_units(wrong)


def test_many_values_keep_their_counts_in_order():
    values = np.arange(1000) * 7 % 1000
    rows = sorted_rows(values, 0, 999, counts=values + 1)
    assert rows.values.tolist() == list(range(1000))
    assert np.diff(rows.ends, prepend=0).tolist() == list(range(1, 1001))


def test_the_rows_of_a_grid_end_where_it_ends():
    grid = Grid(0, 10, 1)
    for rows in (grid.rows([3, 99]), grid.rows_of_units(([3, 99], [1, 1]))):
        assert (rows.lower, rows.upper, rows.values.tolist()) == (0, 10, [3, 10])


def test_the_rows_are_not_shown():
    assert repr(sorted_rows([5], 0, 9)) == "SortedRows(...)"


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([1.5], None),
        ([[1]], None),
        (["a"], None),
        ([1, 2], [1]),
        ([1], [-1]),
        ([1], [0.5]),
        ([1, 2], [2**62, 2**62]),
        ([1], [2**62]),
    ],
)
def test_what_is_no_list_of_units_is_refused(values, counts):
    with pytest.raises(InvalidValue):
        sorted_rows(values, 0, 9, counts)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(3, 3), (4, 3), (0, 2**62), (-(2**62), 0), (-(2**61), 2**61), (2**62 - 5, 2**62), (2**61, 2**62), (-(2**62), 5 - 2**62)],
)
def test_bounds_must_leave_room_and_fit(lower, upper):
    with pytest.raises(InvalidInput):
        sorted_rows([1], lower, upper)


@pytest.mark.parametrize("upper", [9, 2**31 - 3, 2**31 - 2, 2**31 + 1, 2**32 - 3, 2**40, 2**61])
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=12), st.booleans())
@settings(max_examples=25, deadline=None)
def test_both_ways_of_sorting_are_one(upper, pairs, negative):
    """Up to a public range, values are sorted together with their places; values may repeat, and some have no rows."""
    lower = -(upper // 2) if negative else 0
    values = [lower + offset if offset < 5 else lower + upper - (9 - offset) for offset, _ in pairs]
    rows = sorted_rows(
        np.array(values, dtype=np.int64), lower, lower + upper, np.array([count for _, count in pairs], dtype=np.int64)
    )
    assert [rows.at(place + 1) for place in range(rows.size)] == sorted(
        value for value, (_, count) in zip(values, pairs, strict=True) for _ in range(count)
    )
