"""The grid and its blocks of equal rank, against the definitions by counting."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import follows_law, plausible_hits
from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise.choice import reach
from tacit.mechanisms.quantile import rank_blocks
from tacit.mechanisms.quantile.rank_blocks import Blocks, Rank
from tacit.mechanisms.sorted_rows import Grid, sorted_rows

rows_on_grid = st.lists(st.integers(0, 11), max_size=15)


def blocks_of(rows, points=12):
    values, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return Blocks.of(sorted_rows(values, 0, points - 1, counts), points)


def distance(rows, value, rank, points=12):
    """How far a value is from a rank if any number of rows may stand at both ends of the grid."""
    above = sum(x < value for x in rows) - rank if value > 0 else 0
    below = rank - sum(x <= value for x in rows) if value < points - 1 else 0
    return max(Fraction(0), above, below)


def distances(blocks, rank):
    """The cost of every offset; each is in one run."""
    costs, middle = blocks.costs(rank), blocks.middle(rank)
    runs = [(run, inside) for run, length in enumerate(blocks.lengths.tolist()) for inside in range(length)]
    placed = sorted((blocks.offset(run, inside, middle), costs.exponent(run, Fraction(1))) for run, inside in runs)
    assert [offset for offset, _ in placed] == list(range(int(blocks.edges[-1]) + 1))
    return [cost for _, cost in placed]


@given(rows_on_grid, st.fractions(min_value=-9, max_value=24, max_denominator=30))
@settings(max_examples=150)
def test_runs_cover_the_grid_with_the_right_distance(rows, rank):
    expected = [distance(rows, v, rank) for v in range(12)]
    assert distances(blocks_of(rows), rank) == expected
    assert distances(Blocks.of(sorted_rows(rows, 0, 11), 12), rank) == expected  # row by row, some of them equal


@pytest.mark.parametrize("rows", [[], [0], [1], [0, 1], [0, 0, 0], [1, 1]])
def test_a_grid_of_two_points(rows):
    for rank in (Fraction(at, 2) for at in range(-5, 12)):
        assert distances(blocks_of(rows, 2), rank) == [distance(rows, v, rank, 2) for v in range(2)]


@given(rows_on_grid, st.integers(0, 9), st.fractions(min_value=0, max_value=1, max_denominator=9))
@settings(max_examples=80)
def test_public_rows_stand_at_both_ends(rows, padding, share):
    """As many as a rank needs at both ends of the grid, counted like rows, give the same distances."""
    rank = share * (len(rows) + 2 * padding)
    public = [0] * padding + [11] * padding
    counted = [
        max(Fraction(0), sum(x < v for x in rows + public) - rank, rank - sum(x <= v for x in rows + public)) for v in range(12)
    ]
    assert distances(blocks_of(rows), rank - padding) == counted


ROWS, FACTOR = [1, 2, 2, 4], Fraction(2, 3)
RANK = Fraction(1, 2)


def test_the_law_does_not_follow_from_where_the_list_ends(monkeypatch):
    """Candidates that are not listed are drawn often if the list is short, and as often as they should be."""
    monkeypatch.setattr(rank_blocks, "reach", lambda candidates, factor: 1)
    law = dict(enumerate(map(float, blocks_of(ROWS).law(RANK, FACTOR))))
    assert follows_law([blocks_of(ROWS).draw(RANK, FACTOR) for _ in range(1200)], law)


@pytest.mark.parametrize("kept", [lambda beyond, factor: False, lambda beyond, factor: beyond > 0])
def test_planted_what_is_not_listed_is_forgotten_or_always_kept(kept, monkeypatch):
    """By how many values are not listed: those that cost more than 1."""
    costs = [distance(ROWS, value, RANK) for value in range(12)]
    law = blocks_of(ROWS).law(RANK, FACTOR)
    share = float(sum(p for p, cost in zip(law, costs, strict=True) if cost > 1))
    monkeypatch.setattr(rank_blocks, "reach", lambda candidates, factor: 1)
    monkeypatch.setattr(rank_blocks, "_keeps", kept)
    assert not plausible_hits(sum(costs[blocks_of(ROWS).draw(RANK, FACTOR)] > 1 for _ in range(1500)), 1500, share)


def within(blocks, rank, farthest):
    """The values of a list that cost at most so much, in order, with their costs."""
    costs, middle = blocks.costs(rank), blocks.middle(rank)
    runs = [(run, inside) for run, length in enumerate(blocks.lengths.tolist()) for inside in range(length)]
    found = [(blocks.offset(run, inside, middle), costs.exponent(run, Fraction(1))) for run, inside in runs]
    return sorted((offset, cost) for offset, cost in found if cost <= farthest)


@given(rows_on_grid, st.fractions(min_value=-9, max_value=24, max_denominator=30), st.integers(0, 12))
@settings(max_examples=100)
def test_values_within_reach_are_listed_once(rows, rank, farthest):
    near = blocks_of(rows).near(farthest, rank)
    expected = [(value, distance(rows, value, rank)) for value in range(12)]
    assert within(near, rank, farthest) == [(value, cost) for value, cost in expected if cost <= farthest]
    assert len(near.edges) >= 2


def test_planted_a_list_that_ends_too_early_is_seen():
    blocks = blocks_of(list(range(12)))
    listed = [len(within(blocks.near(at, Fraction(6)), Fraction(6), 4)) for at in (4, 1)]
    assert listed[0] == sum(distance(range(12), value, Fraction(6)) <= 4 for value in range(12)) != listed[1]


@given(rows_on_grid, st.fractions(min_value=-9, max_value=24, max_denominator=30))
@settings(max_examples=100)
def test_the_distance_of_one_offset(rows, rank):
    assert [blocks_of(rows).distance(v, rank) for v in range(12)] == [distance(rows, v, rank) for v in range(12)]


def test_what_is_listed_is_not_drawn_again_and_what_is_not_has_its_own_weight(monkeypatch):
    asked = []
    monkeypatch.setattr(rank_blocks, "survives", lambda exponent: asked.append(exponent) or True)
    kept = [rank_blocks._keeps(Fraction(beyond), Fraction(2, 3)) for beyond in ("-1", "0", "1/2", "2")]
    assert kept == [False, False, True, True]
    assert asked == [Fraction(1, 3), Fraction(4, 3)]


@pytest.mark.parametrize("rows", [[], [0], [11], [0, 11], [0, 0, 3, 3, 3, 11]])
def test_rows_at_both_ends_of_the_grid(rows):
    """Their runs have no length, and their values all of a law."""
    blocks, rank = blocks_of(rows), Fraction(5, 3)
    assert blocks.size == len(rows)
    expected = [distance(rows, value, rank) for value in range(12)]
    assert blocks.distances(rank) == expected
    weights = [math.exp(-float(cost) / 2) for cost in expected]
    assert [float(p) for p in blocks.law(rank, Fraction(1, 2))] == pytest.approx([weight / sum(weights) for weight in weights])


def test_a_draw_looks_at_no_more_rows_than_are_within_reach():
    """So many different values that all of them would take a second; the rank has a few thousand around it."""
    blocks, farthest = blocks_of(range(10**5), 10**5), reach(10**5, Fraction(1, 10))
    assert len(blocks.near(farthest, Rank(49_000, 1)).edges) <= 2 * farthest + 4


@given(rows_on_grid)
def test_there_are_two_candidates_and_more(rows):
    """As many as the different values say, without an exception for none of them, which would take another time."""
    assert blocks_of(rows).lengths.size == len(set(rows)) + 2


@pytest.mark.parametrize("rank", [Fraction(10**18, 3 * 10**18 + 1), Rank(2 * 10**40, 10**40), Rank(3 * 10**40 // 7, 10**40)])
def test_long_ranks_cost_no_long_integers(rank):
    """A denominator beyond 64 bits changes no array: whether it takes part must not follow from the number of rows."""
    blocks = blocks_of([1, 2, 2])
    costs = blocks.costs(rank)
    assert (costs.wholes.dtype, costs.kinds.dtype) == (np.int64, np.int8)
    exact = Fraction(rank.numerator, rank.denominator)
    assert distances(blocks, rank) == [distance([1, 2, 2], v, exact) for v in range(12)]


def test_the_law_of_offsets():
    rows, rank, factor = [2, 2, 5], Fraction(3, 2), Fraction(1, 3)
    weights = [math.exp(-float(factor * distance(rows, v, rank))) for v in range(12)]
    for listed, weight in zip(blocks_of(rows).law(rank, factor), weights, strict=True):
        assert float(listed) == pytest.approx(weight / sum(weights), rel=1e-12)


def test_drawing_is_by_block_and_then_uniform():
    drawn = [blocks_of([3, 8]).draw(Fraction(1), Fraction(1, 2)) for _ in range(3000)]
    assert follows_law(drawn, dict(enumerate(map(float, blocks_of([3, 8]).law(Fraction(1), Fraction(1, 2))))))


@given(st.lists(st.one_of(st.floats(-1e6, 1e6), st.integers(-1000, 1000)), max_size=20))
@settings(max_examples=60)
def test_values_go_to_the_nearest_grid_point(values):
    grid = Grid("-2.5", "7.5", "0.5")
    for value, offset in zip(values, grid.offsets(values), strict=True):
        clamped = min(max(Fraction(value), grid.lower), grid.upper)
        assert abs(grid.lower + int(offset) * grid.step - clamped) <= grid.step / 2


@pytest.mark.parametrize("lower", ["0.3", "1/3", -7])
def test_a_grid_need_not_contain_zero(lower):
    grid = Grid(lower, Fraction(lower) + 10, 1)
    for value in np.linspace(-10, 20, 61):
        clamped = min(max(Fraction(float(value)), grid.lower), grid.upper)
        nearest = abs(grid.lower + int(grid.offsets([float(value)])[0]) * grid.step - clamped)
        assert nearest <= Fraction(1, 2) + Fraction(1, 2 * grid.lower.denominator)


def test_every_row_is_mapped_alone():
    grid = Grid(0, 100, "0.1")
    values = np.random.default_rng(1).uniform(-5, 105, 200)
    together = grid.offsets(values)
    assert together.tolist() == [int(grid.offsets([value])[0]) for value in values]


def test_grid_values():
    assert Grid(0, 10, 1).value(3) == 3
    assert isinstance(Grid(0, 10, 1).value(3), int)
    assert Grid("0.1", "0.9", "0.1").value(2) == 0.3
    assert Grid(0, 2**62 - 1, 1).points == 2**62


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [(0, 10, 3), (10, 0, 1), (5, 5, 1), (0, 1, 0), (0, 1, -1), (0, 2**62, 1), (0, math.inf, 1), (0, "x", 1)],
)
def test_bad_grids_are_refused(lower, upper, step):
    with pytest.raises(InvalidInput):
        Grid(lower, upper, step)


@pytest.mark.parametrize("values", [[1, math.nan], [math.inf], ["a"], [[1, 2], [3, 4]], [None], 3])
def test_bad_values_are_refused(values):
    with pytest.raises(InvalidValue):
        Grid(0, 10, 1).rows(values)


@pytest.mark.parametrize("pair", [[1, 2, 3], ([1], [1], [1]), ([1, 2], [1]), ([1], [-1]), ([0.5], [1]), 7])
def test_bad_pairs_are_refused(pair):
    with pytest.raises(InvalidValue):
        Grid(0, 10, 1).rows_of_units(pair)


def test_long_grids_are_not_listed():
    with pytest.raises(InvalidInput, match="too long to list"):
        blocks_of([1], points=10**6).law(Fraction(1), Fraction(1))
    assert len(blocks_of([1], points=100_000).distances(Fraction(1))) == 100_000
    with pytest.raises(InvalidInput, match="more than 100000 points"):
        blocks_of([1], points=100_001).distances(Fraction(1))


def test_the_law_sums_to_one():
    assert abs(sum(blocks_of([1, 1, 9]).law(Fraction(1), Fraction(1))) - 1) < Decimal("1e-25")
