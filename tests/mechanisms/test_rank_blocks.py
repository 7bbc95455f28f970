"""The grid and its blocks of equal rank, against the definitions by counting."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms import rank_blocks
from tacit.mechanisms.noise.unlisted import reach
from tacit.mechanisms.rank_blocks import MOST_PAIRED, Blocks, Rank
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


def paired(blocks, low, high):
    """Every pair that is in a candidate, with its cost, as often as it is in one."""
    pairs, edges = blocks.pairs(low, high), len(blocks.edges)
    for index, (length, first, width) in enumerate(zip(pairs.lengths, pairs.firsts, pairs.widths, strict=True)):
        of_high, run = divmod(index, edges)
        assert length == blocks.lengths[run] * width >= 0
        own = [blocks.offset(run, inside, blocks.middle((low, high)[of_high])) for inside in range(blocks.lengths[run])]
        for pair in product(own, range(first, first + width)):
            yield pair[::-1] if of_high else pair, pairs.costs.exponent(index, Fraction(1))


def ranks(rows, share, down, up):
    return tuple(Rank(share.numerator * len(rows) + shift * share.denominator, share.denominator) for shift in (-down, up))


def larger_distances(rows, low, high, points):
    both = product(range(points), repeat=2)
    return sorted(((v, w), max(distance(rows, v, low, points), distance(rows, w, high, points))) for v, w in both)


small_rows, margins = st.lists(st.integers(0, 5), max_size=9), st.integers(-2, 8)


@given(small_rows, st.fractions(min_value=0, max_value=1, max_denominator=9), margins, margins)
@settings(max_examples=150)
def test_every_pair_is_once_in_a_candidate_with_the_larger_distance(rows, share, down, up):
    low, high = ranks(rows, share, down, up)
    expected = larger_distances(rows, Fraction(*low), Fraction(*high), 6)
    assert sorted(paired(blocks_of(rows, 6), low, high)) == expected


def test_planted_pairs_at_equal_distance_that_count_twice_are_seen(monkeypatch):
    rows, (low, high) = [1, 2, 2, 4], ranks([1, 2, 2, 4], Fraction(1, 2), 1, 1)
    honest = larger_distances(rows, Fraction(*low), Fraction(*high), 6)
    assert sorted(paired(blocks_of(rows, 6), low, high)) == honest
    monkeypatch.setattr(Blocks, "_nearer", lambda self, rank, away: [part[:-1] for part in self._no_farther(rank, -away)])
    assert len(list(paired(blocks_of(rows, 6), low, high))) > len(honest)


def follow(drawn, law):
    """Bernstein's inequality over the cells: false alarm 1e-6."""
    counts, size, limit = Counter(drawn), len(drawn), math.log(2 * len(law) * 1e6)
    return all(abs(counts[key] - size * p) < math.sqrt(2 * limit * size * p * (1 - p)) + limit / 3 for key, p in law.items())


ROWS, FACTOR = [1, 2, 2, 4], Fraction(2, 3)
LOW, HIGH = ranks(ROWS, Fraction(1, 2), 1, 2)


def drawn_pairs(size=4000):
    return [blocks_of(ROWS, 6).draw_pair(LOW, HIGH, FACTOR) for _ in range(size)]


def law_of_pairs():
    weights = {pair: math.exp(-FACTOR * cost) for pair, cost in larger_distances(ROWS, Fraction(*LOW), Fraction(*HIGH), 6)}
    return {pair: weight / sum(weights.values()) for pair, weight in weights.items()}


def test_the_law_of_pairs_and_its_draws():
    listed = blocks_of(ROWS, 6).law_of_pairs(LOW, HIGH, FACTOR)
    assert {pair: float(p) for pair, p in listed.items()} == pytest.approx(law_of_pairs())
    assert follow(drawn_pairs(), law_of_pairs())


def test_the_law_does_not_follow_from_where_the_list_ends(monkeypatch):
    """Candidates that are not listed are drawn often if the list is short, and as often as they should be."""
    monkeypatch.setattr(rank_blocks, "reach", lambda candidates, factor: 1)
    assert follow(drawn_pairs(1200), law_of_pairs())
    law = dict(enumerate(map(float, blocks_of(ROWS).law(Fraction(1, 2), FACTOR))))
    assert follow([blocks_of(ROWS).draw(Fraction(1, 2), FACTOR) for _ in range(600)], law)


@pytest.mark.parametrize("kept", [lambda beyond, factor: False, lambda beyond, factor: beyond > 0])
def test_planted_what_is_not_listed_is_forgotten_or_always_kept(kept, monkeypatch):
    """By how many pairs are not listed: those that cost more than 1."""
    costs = dict(larger_distances(ROWS, Fraction(*LOW), Fraction(*HIGH), 6))
    share = sum(p for pair, p in law_of_pairs().items() if costs[pair] > 1)
    monkeypatch.setattr(rank_blocks, "reach", lambda candidates, factor: 1)
    monkeypatch.setattr(rank_blocks, "_kept", kept)
    assert not follow([costs[pair] > 1 for pair in drawn_pairs(600)], {True: share})


@given(small_rows, st.fractions(min_value=0, max_value=1, max_denominator=9), margins, margins, st.integers(0, 12))
@settings(max_examples=150)
def test_pairs_within_reach_are_listed_once(rows, share, down, up, farthest):
    low, high = ranks(rows, share, down, up)
    near = blocks_of(rows, 6).near(farthest, low, high)
    listed = sorted((pair, cost) for pair, cost in paired(near, low, high) if cost <= farthest)
    expected = larger_distances(rows, Fraction(*low), Fraction(*high), 6)
    assert listed == [(pair, cost) for pair, cost in expected if cost <= farthest]
    assert len(near.edges) >= 2


def test_planted_a_list_that_ends_too_early_is_seen():
    rows, (low, high) = list(range(12)), ranks(range(12), Fraction(1, 2), 1, 1)
    within = sum(cost <= 4 for _, cost in larger_distances(rows, Fraction(*low), Fraction(*high), 12))
    listed = [sum(cost <= 4 for _, cost in paired(blocks_of(rows).near(at, low, high), low, high)) for at in (4, 2)]
    assert listed[0] == within != listed[1]


@given(rows_on_grid, st.fractions(min_value=-9, max_value=24, max_denominator=30))
@settings(max_examples=100)
def test_the_distance_of_one_offset(rows, rank):
    assert [blocks_of(rows).distance(v, rank) for v in range(12)] == [distance(rows, v, rank) for v in range(12)]


def test_a_draw_looks_at_no_more_rows_than_are_within_reach():
    """So many different values that all of them would take a second; the rank has a few thousand around it."""
    blocks, low, high = blocks_of(range(10**5), 10**5), Rank(49_000, 1), Rank(51_000, 1)
    assert len(blocks.near(reach(10**10, Fraction(1, 10)), low, high).edges) <= 2000 + 2 * reach(10**10, Fraction(1, 10)) + 4


def test_pairs_of_long_grids_are_counted_in_62_bits():
    points = MOST_PAIRED
    blocks = blocks_of([0, points // 2, points - 1], points)
    pairs = blocks.pairs(Rank(-1, 2), Rank(7, 2))
    assert sum(pairs.lengths.tolist()) == points**2
    assert min(pairs.lengths.tolist()) >= 0
    with pytest.raises(InvalidInput, match="too many to list"):
        blocks.law_of_pairs(Rank(-1, 2), Rank(7, 2), Fraction(1))


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
    assert follow(drawn, dict(enumerate(map(float, blocks_of([3, 8]).law(Fraction(1), Fraction(1, 2))))))


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
