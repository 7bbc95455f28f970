"""Distances of cells against counting, and draws against the law."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chance import follows_law
from interval_cells import cells_with_costs, distance
from tacit.errors import InvalidInput
from tacit.evidence.verify import samplers
from tacit.evidence.verify.driving import UNDECIDED, driven
from tacit.evidence.verify.driving import distance as distance_of
from tacit.mechanisms.quantile import ends as module
from tacit.mechanisms.quantile.cells import MOST, Box, Cells
from tacit.mechanisms.quantile.ends import Intervals
from tacit.mechanisms.quantile.rank_blocks import Blocks, Rank
from tacit.mechanisms.sorted_rows import sorted_rows
from tacit.privacy.law import Law

POINTS = 35
many_rows, margins = st.lists(st.integers(0, POINTS - 1), max_size=25), st.integers(0, 12)


def intervals(rows, share, down, up, points=POINTS, *, one_by_one=False):
    values, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    values, counts = (np.repeat(values, counts), None) if one_by_one else (values, counts)
    aims = (Rank(share.numerator * len(rows) + shift * share.denominator, share.denominator) for shift in (-down, up))
    return Intervals(Blocks.of(sorted_rows(values, 0, points - 1, counts), points), *aims)


def expected(rows, between, points=POINTS):
    costs = ([distance(rows, value, Fraction(*rank), points) for value in range(points)] for rank in (between.low, between.high))
    return {(low, high): cost for low, high, cost in zip(*cells_with_costs(points, *costs), strict=True)}


@given(many_rows, st.fractions(min_value=0, max_value=1, max_denominator=9), margins, margins, st.integers(0, 30), st.booleans())
@example(rows=[4, 21, 24, 28], share=Fraction(2, 5), down=3, up=6, farthest=30, one_by_one=True)  # ranks 3/5 above a whole number
@example(rows=[4, 21, 24], share=Fraction(4, 5), down=1, up=2, farthest=30, one_by_one=False)  # 2/5 above one
@example(rows=[4, 21, 24], share=Fraction(1, 2), down=1, up=2, farthest=30, one_by_one=False)  # a half above one
@settings(max_examples=25)
def test_every_cell_is_in_the_candidate_of_its_distance(rows, share, down, up, farthest, one_by_one):
    """Ties, no rows, ranks that no row has: also beyond the distances that are told apart, where it costs too little."""
    between = intervals(rows, share, down, up, one_by_one=one_by_one)
    known, candidates = expected(rows, between), between.candidates(farthest)
    assert sum(candidates.lengths) == len(known)
    for index, length in enumerate(candidates.lengths.tolist()):
        outer, inner = (Box(*(int(end[at]) for end in candidates.boxes)) for at in (index + 1, index))
        cells = [between.cells.at(place, outer, inner) for place in range(length)]
        cost = candidates.costs.exponent(index, Fraction(1))
        for cell in cells:
            exact = known[cell.low[0], cell.high[1]]
            assert float(between.distance(cell)) == pytest.approx(exact)
            assert float(cost) == pytest.approx(exact) if index < len(candidates.lengths) - 1 else cost <= exact + 1e-9


def test_planted_stretches_without_their_last_values_are_seen(monkeypatch):
    """Values that are just as far as the candidate says, and were counted with those that are farther."""
    rows = [1, 2, 2, 30]
    between = intervals(rows, Fraction(1, 3), 1, 2)
    known = Counter(expected(rows, between).values())

    def counted():
        candidates = between.candidates(30)
        costs = [float(candidates.costs.exponent(index, Fraction(1))) for index in range(candidates.costs.size)]
        return sum((Counter({cost: length}) for cost, length in zip(costs, candidates.lengths.tolist(), strict=True)), Counter())

    assert sorted(counted().values()) == sorted(known.values())
    honest = Intervals._stretch
    monkeypatch.setattr(
        Intervals, "_stretch", lambda self, lowest, highest: honest(self, lowest, np.append(highest[0], highest[1:] - 1))
    )
    assert sorted(counted().values()) != sorted(known.values())


@pytest.mark.parametrize(("rare", "size"), [(2**36, 1500), (Fraction(1, 10**6), 600)], ids=["as it is", "most cells are beyond"])
def test_draws_follow_the_law(monkeypatch, rare, size):
    """Also where what is beyond is drawn often, and kept only sometimes."""
    monkeypatch.setattr(module, "RARE", rare)
    rows, factor = [3, 20, 20, 21], Fraction(1, 2)
    between = intervals(rows, Fraction(1, 2), 1, 2)
    assert between.farthest(factor) < 0 or rare > 1
    weights = {ends: math.exp(-factor * cost) for ends, cost in expected(rows, between).items()}
    law = {ends: weight / sum(weights.values()) for ends, weight in weights.items()}
    assert {ends: float(p) for ends, p in between.law(factor).items()} == pytest.approx(law)
    drawn = Counter(between.draw(factor) for _ in range(size))
    assert follows_law(drawn, law)


def running(between, factor):
    return distance_of(driven(lambda: between.draw(factor)), Law(dict(between.law(factor))))


@pytest.mark.parametrize("rows", [[3, 20, 20, 21], [], [0, 1, 1, 34], [17] * 9])
def test_the_code_that_draws_has_the_law(rows):
    """All decisions of a draw, each way once: no draws, so no luck."""
    assert running(intervals(rows, Fraction(1, 2), 1, 2), Fraction(1, 2)) < UNDECIDED


def test_cells_that_are_not_told_apart_by_their_distance_have_the_law_too():
    """The row of `tacit verify` in which all distances above 1 are drawn together, and kept as often as they should be."""
    assert distance_of(*samplers.ROWS[samplers.BEYOND]()["both ends"]()) < UNDECIDED


def test_planted_cells_that_are_drawn_without_the_inner_box_are_seen(monkeypatch):
    """A cell of a cost from all cells of that cost or less: the listed law stays right, and what runs tells four times too much."""
    between = intervals([3, 20, 20, 21], Fraction(1, 2), 1, 2)
    honest = Cells.drawn
    monkeypatch.setattr(Cells, "drawn", lambda self, outer, inner: honest(self, outer))
    assert running(between, Fraction(1, 2)) > Decimal("0.1")


def test_the_longest_grids():
    between = intervals([0, MOST // 2, MOST - 1], Fraction(1, 2), 2, 2, MOST)
    candidates = between.candidates(between.farthest(Fraction(1)))
    assert sum(candidates.lengths.tolist()) == between.cells.total
    assert min(candidates.lengths.tolist()) >= 0
    low, high = between.draw(Fraction(1))
    assert 0 <= low <= high < MOST
    with pytest.raises(InvalidInput, match="too many to list"):
        between.law(Fraction(1))


@pytest.mark.parametrize("factor", [Fraction(1, 7), Fraction(1, 2), Fraction(1), Fraction(5)])
def test_the_farthest_distance_is_the_least_that_is_rare(factor):
    """All cells at the distances beyond it together weigh less than 2^-36 of one at no distance."""
    between = intervals([3, 20, 20, 21], Fraction(1, 2), 1, 2)
    farthest, cells = between.farthest(factor), Decimal(len(expected([], between)))
    weight = [cells * (Decimal(distance * -factor.numerator) / factor.denominator).exp() for distance in (farthest, farthest - 1)]
    assert weight[0] <= Decimal(2) ** -36 < weight[1]


def test_few_distances_are_weighed_however_many_rows():
    """Twice as many as are not beyond: the time follows from public parameters where there are many rows."""
    between = intervals(list(range(4000)), Fraction(1, 2), 10, 10, 4000)
    farthest = between.farthest(Fraction(1))
    assert len(between.candidates(farthest).lengths) <= 2 * (farthest + 1) + 2 < 100
