"""The grid and its blocks of equal rank, against the definitions by counting."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.rank_blocks import Blocks, Grid, Rank
from tacit.mechanisms.sorted_rows import sorted_rows

rows_on_grid = st.lists(st.integers(0, 11), max_size=15)


def blocks_of(rows, points=12, padding=0):
    values, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return Blocks.of(sorted_rows(values, 0, points - 1, counts), points, padding)


def distance(rows, value, rank):
    below, through = sum(x < value for x in rows), sum(x <= value for x in rows)
    return max(Fraction(0), below - rank, rank - through)


def distances(blocks, rank):
    """The cost of every offset."""
    costs = blocks.costs(rank)
    return [costs.exponent(block, Fraction(1)) for block, length in enumerate(blocks.lengths) for _ in range(length)]


@given(rows_on_grid, st.fractions(min_value=-3, max_value=18))
@settings(max_examples=80)
def test_blocks_cover_the_grid_with_the_right_distance(rows, rank):
    blocks = blocks_of(rows)
    places = np.concatenate([start + np.arange(length) for start, length in zip(blocks.starts, blocks.lengths, strict=True)])
    assert places.tolist() == list(range(12))
    assert distances(blocks, rank) == [distance(rows, v, rank) for v in range(12)]


@given(rows_on_grid, st.integers(0, 9), st.fractions(min_value=0, max_value=30))
@settings(max_examples=80)
def test_public_rows_stand_at_both_ends(rows, padding, rank):
    blocks = blocks_of(rows, padding=padding)
    public = [0] * padding + [11] * padding
    assert distances(blocks, rank) == [distance(rows + public, v, rank) for v in range(12)]


@given(rows_on_grid)
def test_there_are_three_blocks_and_more(rows):
    """As many as the different values say, without an exception for none of them, which would take another time."""
    assert blocks_of(rows).starts.size == 2 * len(set(rows)) + 3


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
    law = blocks_of([3, 8]).law(Fraction(1), Fraction(1, 2))
    limit = math.log(2 * 12 * 1e6)  # Bernstein's inequality over twelve cells: false alarm 1e-6
    for offset, probability in enumerate(law):
        p = float(probability)
        assert abs(drawn.count(offset) - 3000 * p) < math.sqrt(2 * limit * 3000 * p) + limit / 3


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


def test_the_law_sums_to_one():
    assert abs(sum(blocks_of([1, 1, 9]).law(Fraction(1), Fraction(1))) - 1) < Decimal("1e-25")
