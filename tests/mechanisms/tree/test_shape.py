"""The shape of a tree, and what all its counts cost together."""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from tacit.mechanisms.quantile.rank_blocks import Blocks
from tacit.mechanisms.sorted_rows import Grid
from tacit.mechanisms.tree.margins import margins, variances
from tacit.mechanisms.tree.quantiles import Counts
from tacit.mechanisms.tree.shape import MOST_BRANCHES, Tree, each_test, fitting, least_branches
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Pure

POINTS, BRANCHES, LEVELS = 5, 2, 3


@cache
def every_count(rows):
    """The exact counts of all cells: one array for each level."""
    tree = Tree(POINTS, BRANCHES, LEVELS, Fraction(1))
    counts = Counts(tree, Blocks.of(Grid(0, POINTS - 1, 1).rows(list(rows)), POINTS))
    paths = [list(product(range(BRANCHES), repeat=depth)) for depth in range(LEVELS)]
    return [np.concatenate([counts.exactly(path) for path in of_level]) for of_level in paths]


def moved(one, two):
    """How far each level moves, in all cells together."""
    return [int(np.abs(a - b).sum()) for a, b in zip(every_count(tuple(one)), every_count(tuple(two)), strict=True)]


def small_units(most):
    return [rows for number in range(most + 1) for rows in product(range(POINTS), repeat=number)]


@pytest.mark.parametrize("rows", [[], [0], [4, 4, 4], [0, 1, 2, 3, 4, 4]])
def test_every_row_is_in_one_cell_of_each_level(rows):
    for level in every_count(tuple(rows)):
        assert level.sum() == len(rows)
    assert every_count(tuple(rows))[-1][:POINTS].tolist() == [rows.count(point) for point in range(POINTS)]


@pytest.mark.parametrize("neighbours", [ADD_REMOVE, CHANGE_ONE])
@pytest.mark.parametrize("most", [1, 2])
def test_no_unit_moves_a_level_by_more_than_the_sensitivity(neighbours, most):
    tree, others = Tree(POINTS, BRANCHES, LEVELS, Fraction(1), most, neighbours), [0, 2, 2, 4]
    before = small_units(most) if neighbours is CHANGE_ONE else [()]
    farthest = max(max(moved([*others, *old], [*others, *new])) for old in before for new in small_units(most))
    assert farthest == tree.sensitivity


@pytest.mark.parametrize("neighbours", [ADD_REMOVE, CHANGE_ONE])
@pytest.mark.parametrize("most", [1, 3])
def test_all_levels_together_are_epsilon(neighbours, most):
    tree = Tree(1000, 10, 3, Fraction(1, 2), most, neighbours)
    assert tree.loss == Pure(Fraction(1, 2), neighbours)
    assert len(tree.event.events) == tree.levels
    per_level = sum(Fraction(tree.sensitivity) / event.scale for event in tree.event.events)
    assert per_level == Fraction(1, 2)


def test_planted_epsilon_that_is_counted_once_for_two_levels_is_seen():
    """A row is in a cell of both: their log-ratios add, so a second level with the whole epsilon doubles the loss."""
    scale = 1 / Fraction(1, 2)
    loss = sum(Fraction(move) / scale for move in moved([1, 3], [1, 3, 3]))
    assert loss == LEVELS * Fraction(1, 2)
    mended = Tree(POINTS, BRANCHES, LEVELS, Fraction(1, 2)).noise.scale
    assert sum(Fraction(move) / mended for move in moved([1, 3], [1, 3, 3])) == Fraction(1, 2)


def test_planted_sensitivity_of_one_row_fails_units():
    tree = Tree(POINTS, BRANCHES, LEVELS, Fraction(1), max_rows=1)
    assert sum(Fraction(move) / tree.noise.scale for move in moved([1], [1, 0, 4])) == 2


@pytest.mark.parametrize("points", [2, 3, 11, 1000, 10_001, 2**20, 2**40])
def test_the_shape_that_fits_reaches_all_points(points):
    tree = fitting(points, Fraction(1, 10), 1, ADD_REMOVE)
    assert tree.branches**tree.levels >= points
    assert 2 <= tree.branches <= MOST_BRANCHES
    assert tree.branches == 2 or (tree.branches - 1) ** tree.levels < points


@pytest.mark.parametrize("points", [2, 3, 65, 100, 1296, 65_536, 2**24, 2**48])
def test_the_shape_that_fits_has_the_narrowest_interval_of_the_median(points):
    """Of all that reach the points: few levels of many cells, or many of few."""
    reaching = {levels: [found for found in range(2, 257) if found**levels >= points][:1] for levels in range(1, 17)}
    shapes = [(found[0], levels) for levels, found in reaching.items() if found and (levels == 1 or found[0] >= 4)]
    trees = [Tree(points, branches, levels, Fraction(1, 10)) for branches, levels in shapes]
    widths = [tree.half_width(Fraction(1, 2), Fraction(1, 20)) for tree in trees]
    assert fitting(points, Fraction(1, 10), 1, ADD_REMOVE) == trees[int(np.argmin(widths))]


def test_one_level_may_have_fewer_than_four_branches():
    assert [fitting(points, Fraction(1), 1, ADD_REMOVE).levels for points in (2, 3)] == [1, 1]


def test_all_tests_together_miss_as_rarely_as_the_interval_may():
    """One test for each level and each end; an extreme has one end."""
    for share, ends in ((Fraction(0), 1), (Fraction(1, 9), 2), (Fraction(1, 2), 2), (Fraction(1), 1)):
        for levels in (1, 2, 5):
            assert each_test(share, Fraction(1, 20), levels) * levels * ends == Fraction(1, 20)


def test_a_forecast_is_that_of_a_usual_bound():
    """A quarter of the way into each level from the side of the share."""
    expected = {
        (2, 1): (0, 0),
        (2, 3): (1, 0),
        (3, 3): (2, 1),
        (4, 1): (1, 0),
        (4, 3): (2, 1),
        (10, 1): (2, 1),
        (10, 2): (2, 1),
        (10, 3): (7, 6),
    }
    for (branches, quarters), (place, bound) in expected.items():
        tree, share = Tree(branches**3, branches, 3, Fraction(1, 2), max_rows=2), Fraction(quarters, 4)
        width = margins(branches, (place, place), share, Fraction(1, 120), tree.noise.scale)[bound]
        assert tree.half_width(share, Fraction(1, 20)) == width
        deviation = float(variances(branches, (place, place), share)[bound]) ** 0.5
        assert tree.error(share) == pytest.approx(1.8 * float(tree.noise.scale) * deviation)
        assert tree.noise.scale == 12


@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_a_forecast_is_near_the_mean_over_all_bounds(share):
    tree = Tree(144, 12, 2, Fraction(1))
    missed = each_test(share, Fraction(1, 20), 2)
    everywhere = [margins(12, (place,), share, missed, tree.noise.scale) for place in range(12)]
    assert tree.half_width(share, Fraction(1, 20)) == pytest.approx(np.mean(everywhere), rel=0.25)


def test_the_least_number_of_branches():
    for points, levels in product((2, 7, 8, 9, 26, 27, 28, 2**40), (1, 2, 3)):
        if levels > 1 or points < 100:
            found = least_branches(points, levels)
            assert found**levels >= points
            assert found == 2 or (found - 1) ** levels < points
