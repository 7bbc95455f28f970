"""Quantiles that are read from a tree of counts: coverage on hostile rows, and what is read."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from chance import most_hits
from tacit.mechanisms.quantile.interval import Enclosed
from tacit.mechanisms.quantile.rank_blocks import Blocks
from tacit.mechanisms.sorted_rows import Grid
from tacit.mechanisms.tree import quantiles
from tacit.mechanisms.tree.quantiles import Counts, FromTree, enclosed, release_from_tree
from tacit.mechanisms.tree.shape import Tree, fitting
from tacit.privacy.loss import ADD_REMOVE
from tacit.privacy.sealed import Sealed

POINTS, TIMES = 81, 70
SHARES = [Fraction(share) for share in ("0", "0.1", "0.5", "0.75", "1")]
CONFIDENCE = Fraction(9, 10)
HOSTILE = {
    "one point": [40] * 300,
    "two points": [26] * 150 + [27] * 150,
    "ends": [0] * 150 + [80] * 150,
    "one row": [53],
    "heavy tail": sorted(min(80, int(2 / (1 - at / 300))) for at in range(300)),
    "spread": [at % 81 for at in range(324)],
}


def blocks(rows, points=POINTS):
    return Blocks.of(Grid(0, points - 1, 1).rows(rows), points)


def usual_quantiles(rows, q):
    """The places of q among sorted rows: lower, upper, and both ends of the interpolated one."""
    n, ordered = len(rows), sorted(rows)
    places = [math.ceil(q * n), math.floor(q * n) + 1, math.floor(1 + q * (n - 1)), math.ceil(1 + q * (n - 1))]
    return [ordered[min(max(place, 1), n) - 1] for place in places]


def misses(tree, rows, times=TIMES):
    """How often the interval of each share leaves out a usual quantile."""
    missed, known = dict.fromkeys(SHARES, 0), blocks(rows, tree.points)
    for _ in range(times):
        counts = Counts(tree, known)
        for share in SHARES:
            found, truth = enclosed(counts, FromTree(share, CONFIDENCE, tree)), usual_quantiles(rows, share)
            missed[share] += not found.low <= min(truth) <= max(truth) <= found.high
            assert 0 <= found.low <= found.value <= found.high < tree.points
    return missed


def test_a_surplus_of_a_cell_is_divided_evenly():
    """A cell of 8 rows whose children have 4 together: least squares gives each of the three children 1 more, and takes 1 away."""
    counts = Counts(Tree(9, 3, 2, Fraction(1)), blocks([], 9))
    counts._noisy = {(): np.array([10.0, 8.0, 6.0]), (1,): np.array([1.0, 2.0, 1.0])}
    assert counts.below(()).tolist() == [10, 18]
    assert counts.below((1,)).tolist() == [10 + 2, 10 + 5]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_rows_are_enclosed(name):
    tree = Tree(POINTS, 3, 4, Fraction(1))
    assert max(misses(tree, HOSTILE[name], TIMES).values()) <= most_hits(TIMES, 1 - CONFIDENCE, len(SHARES))


def test_planted_margins_for_one_row_and_all_of_epsilon_are_seen(monkeypatch):
    """Margins that forget the rows of a unit, and that each level has its part of epsilon alone.

    The interval of 0.1 then misses six times in ten.
    """
    real, tree = quantiles.margins, Tree(9**4, 9, 4, Fraction(1), max_rows=2)
    rows = [3280] * 31 + [6000] * 269  # the bound above the first has one row too many below it
    monkeypatch.setattr(quantiles, "margins", lambda *cell: real(*cell) / (tree.levels * tree.max_rows))
    assert max(misses(tree, rows, 120).values()) > most_hits(120, 1 - CONFIDENCE, len(SHARES))
    monkeypatch.setattr(quantiles, "margins", real)
    assert max(misses(tree, rows).values()) <= most_hits(TIMES, 1 - CONFIDENCE, len(SHARES))


def test_without_much_noise_the_interval_is_the_quantile():
    tree = Tree(POINTS, 3, 4, Fraction(10**6))
    for share in SHARES:
        found = enclosed(Counts(tree, blocks(HOSTILE["spread"])), FromTree(share, CONFIDENCE, tree))
        truth = usual_quantiles(HOSTILE["spread"], share)
        assert found.low <= min(truth)
        assert max(truth) <= found.high
        assert share in (0, 1) or found.high - found.low <= 1


def test_no_rows_at_all():
    tree = Tree(POINTS, 3, 4, Fraction(1))
    for found in release_from_tree([FromTree(share, CONFIDENCE, tree) for share in SHARES], ([], [])):
        assert 0 <= found.low <= found.value <= found.high <= POINTS - 1


def test_values_of_larger_shares_are_never_smaller():
    tree, shares = Tree(POINTS, 3, 4, Fraction(1, 10)), [Fraction(at, 20) for at in range(1, 20)]
    for _ in range(20):
        counts = Counts(tree, blocks(HOSTILE["spread"]))
        values = [quantiles.value(counts, share) for share in shares]
        assert all(one <= two for one, two in pairwise(values))


def test_a_count_is_drawn_once():
    counts = Counts(Tree(POINTS, 3, 4, Fraction(1, 100)), blocks([5]))
    assert counts.children((1,)) is counts.children((1,))
    assert counts.total == counts.total


def test_what_is_read_does_not_grow_with_the_rows():
    """At most one cell's children for each level of each of three readings, whatever the data."""
    tree = fitting(10_001, Fraction(1, 10), 1, ADD_REMOVE)
    for rows in ([], [3], list(range(10_000))):
        counts = Counts(tree, blocks(rows, 10_001))
        enclosed(counts, FromTree(Fraction(1, 2), CONFIDENCE, tree))
        assert len(counts._noisy) <= 1 + 3 * (tree.levels - 1)


def test_without_a_confidence_there_is_no_interval():
    tree = Tree(10, 4, 2, Fraction(9999))
    wanted = [FromTree(Fraction(share), None, tree) for share in ("0", "0.5", "1")]
    assert release_from_tree(wanted, Sealed(([3, 5], [50, 50]))) == [Enclosed(3, 0, 9), Enclosed(3, 0, 9), Enclosed(5, 0, 9)]


def test_a_grid_that_the_cells_do_not_fill():
    tree = Tree(10, 4, 2, Fraction(9999))
    found = release_from_tree([FromTree(Fraction(1, 2), CONFIDENCE, tree)], ([9], [100]))
    assert found == [Enclosed(9, 9, 9)]


def known(children, epsilon=1):
    """The counts of one level, as if they had been drawn."""
    counts = Counts(Tree(len(children), len(children), 1, Fraction(epsilon)), blocks([], len(children)))
    counts._noisy[()] = np.array(children, dtype=np.float64)
    return counts


@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(1, 2), Fraction(7, 8)])
def test_an_end_is_the_last_bound_that_is_surely_beyond_the_quantile(share):
    """A quantile may be one row from its rank: by `share` of a row below it and the rest above it. Both sides of each limit."""
    missed, total = Fraction(1, 40), 1000.0
    sure = float(quantiles._sure(known([0, total]), (), share, missed)[0])
    for off, low, high in ((-0.1, 1, 1), (0.1, 0, 0)):
        below = float(share) * total - float(share) - sure + off
        assert quantiles.low_end(known([below, total - below]), share, missed) == low
        below = float(share) * total + 1 - float(share) + sure + off
        assert quantiles.high_end(known([below, total - below]), share, missed) == high


@pytest.mark.parametrize("size", [1.0, 1e15])
def test_a_margin_covers_what_rounding_loses_of_large_counts(size):
    """10^-12 of all that is added up, whatever its sign."""
    children = np.array([2.0, -1.0, 4.0, 1.0]) * size
    lost = quantiles._sure(known(children), (), Fraction(1, 2), Fraction(1, 40)) - quantiles.margins(
        4, (), Fraction(1, 2), Fraction(1, 40), Fraction(1)
    )
    assert lost == pytest.approx(1e-12 * (np.abs(np.cumsum(children)[:3]) + 8 * size), rel=1e-3 if size > 1 else 1)
    assert lost.min() > 0


def test_the_value_is_read_by_itself_where_its_interval_has_it():
    counts, asked = known([2] * 16), FromTree(Fraction(1, 2), CONFIDENCE, Tree(16, 16, 1, Fraction(1)))
    found = enclosed(counts, asked)
    assert found.low < found.value == quantiles.value(counts, asked.q) == 7 < found.high


def test_without_rows_the_value_is_the_lowest():
    """No row is below any bound, and all of no rows are wanted."""
    assert quantiles.value(known([0] * 4), Fraction(1, 2)) == 0
    assert quantiles.value(known([-1, -1, 1, -2]), Fraction(1, 2)) == 3


def test_no_end_is_beyond_the_grid():
    """The last cells of a tree of 16 for 10 points are empty."""
    tree = Tree(10, 4, 2, Fraction(1))
    counts = Counts(tree, blocks([], 10))
    counts._noisy = dict.fromkeys([(), (0,), (1,), (2,), (3,)], np.zeros(4))
    assert quantiles.high_end(counts, Fraction(1, 2), Fraction(1, 40)) == 9


def test_an_extreme_without_a_confidence_is_that_of_95_percent():
    assert Fraction(1, 20) == quantiles.USUAL_MISS
    tree = Tree(16, 16, 1, Fraction(1))
    assert [FromTree(Fraction(share), None, tree).extreme for share in ("0", "1/2", "1")] == [True, False, True]
    for share in (Fraction(0), Fraction(1)):
        plain, usual = (enclosed(known([2] * 16), FromTree(share, asked, tree)) for asked in (None, Fraction(19, 20)))
        assert plain == Enclosed(usual.value, 0, 15)


def test_offsets_beyond_the_grid_are_clamped_to_its_end():
    tree = Tree(10, 4, 2, Fraction(9999))
    assert release_from_tree([FromTree(Fraction(1, 2), CONFIDENCE, tree)], ([10, 99], [50, 50])) == [Enclosed(9, 9, 9)]


@pytest.mark.parametrize("rows", [HOSTILE["heavy tail"], HOSTILE["one point"]])
def test_the_value_is_near(rows):
    tree, off = Tree(POINTS, 3, 4, Fraction(5)), []
    for _ in range(60):
        value = quantiles.value(Counts(tree, blocks(rows)), Fraction(1, 2))
        below, through = sum(row < value for row in rows), sum(row <= value for row in rows)
        off.append(max(0, below - len(rows) / 2, len(rows) / 2 - through))
    assert np.median(off) <= tree.error(Fraction(1, 2))
