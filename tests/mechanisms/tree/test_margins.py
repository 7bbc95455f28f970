"""The margin of a rank that is read from a tree, against the exact law of the noises behind it."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit.mechanisms.rank_blocks import Blocks
from tacit.mechanisms.sorted_rows import Grid
from tacit.mechanisms.tree.margins import margins, variances
from tacit.mechanisms.tree.quantiles import Counts
from tacit.mechanisms.tree.shape import Tree

SHARES = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)]
PATHS = [(), (0,), (2,), (1, 2), (0, 0, 2)]


def weights_of(path, share, branches=3):
    """What each noise adds to the ranks at the bounds of a cell: by the reading itself, of counts that are one at one cell."""
    tree = Tree(branches ** (len(path) + 1), branches, len(path) + 1, Fraction(1))
    blocks = Blocks.of(Grid(0, tree.points - 1, 1).rows([]), tree.points)
    cells = [(path[:depth], place) for depth in range(len(path) + 1) for place in range(branches)]
    found = []
    for at, place in cells:
        counts = Counts(tree, blocks)
        for depth in range(len(path) + 1):
            counts._noisy[path[:depth]] = np.zeros(branches)
        counts._noisy[at][place] = 1.0
        found.append(counts.below(path) - float(share) * counts.total)
    return np.array(found).T  # a row for each bound


def tail(weights, scale, beyond):
    """P[sum of weights * noise >= beyond], by convolution, for weights in fortieths: all but e^-29 of it."""
    step, reach = 1 / 40, 4000
    assert np.allclose(weights / step, np.round(weights / step))
    law = np.zeros(2 * reach + 1)
    law[reach] = 1
    moves, ratio = np.arange(-60, 61), np.exp(-1 / scale)
    chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(moves)
    for weight in weights:
        places, one = np.round(weight * moves / step).astype(int), np.zeros_like(law)
        for place, chance in zip(places, chances, strict=True):
            if abs(place) < reach:
                one += chance * np.roll(law, place)
        law = one
    return law[reach + int(np.ceil(beyond / step - 1e-6)) :].sum()


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("path", PATHS)
def test_the_variance_is_that_of_what_is_read(path, share):
    exact = 2 * (weights_of(path, share) ** 2).sum(axis=1)
    assert np.allclose(variances(3, path, share), exact, rtol=1e-3)


@pytest.mark.parametrize(("path", "share"), [((), Fraction(1, 2)), ((1,), Fraction(1, 4)), ((2, 0), Fraction(9, 10))])
def test_noise_exceeds_its_margin_as_rarely_as_stated(path, share):
    missed = Fraction(1, 40)
    for weights, margin in zip(weights_of(path, share), margins(3, path, share, missed), strict=True):
        chance = tail(weights, 2.0, 2.0 * margin)
        assert chance <= missed
        assert chance >= missed / 40  # and the margin is of use


def test_planted_a_level_whose_noise_is_left_out_is_seen():
    """The margin of the first level alone, for a bound of the third: missed far more often than stated."""
    missed, path, share = Fraction(1, 100), (4, 4), Fraction(1, 10)
    weights = weights_of(path, share, branches=9)[4]
    assert tail(weights, 2.0, 2.0 * margins(9, (), share, missed)[0]) > 2 * missed
    assert tail(weights, 2.0, 2.0 * margins(9, path, share, missed)[4]) <= missed


def test_the_moments_of_discrete_noise_are_at_most_those_that_are_used():
    for scale, part in product((0.3, 1.0, 7.0, 1000.0), (0.1, 0.5, 0.9)):
        moves = np.arange(-int(800 * scale + 50), int(800 * scale + 51))
        logs = -np.abs(moves) / scale + part * moves / scale
        known = np.exp(logs).sum() / np.exp(-np.abs(moves) / scale).sum()
        assert known <= 1 / (1 - part**2) * (1 + 1e-9)
