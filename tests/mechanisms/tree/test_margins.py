"""The margin of a rank that is read from a tree, against the exact law of the noises behind it."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.mechanisms.rank_blocks import Blocks
from tacit.mechanisms.sorted_rows import Grid
from tacit.mechanisms.tree.law import Weighted
from tacit.mechanisms.tree.margins import margins, noises, variances
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
    assert np.allclose(variances(3, path, share), exact)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("path", PATHS)
def test_the_weights_are_those_of_what_is_read(path, share):
    found = noises(3, path, share)
    for row, weights in enumerate(weights_of(path, share)):
        own, shared = (
            np.repeat(found.sizes[row], found.numbers[row].astype(int)),
            np.repeat(found.shared[0], found.shared[1].astype(int)),
        )
        known = np.concatenate([own, shared])
        assert np.allclose(np.sort(known), np.sort(np.abs(weights)))


@pytest.mark.parametrize(("path", "share"), [((), Fraction(1, 2)), ((1,), Fraction(1, 4)), ((2, 0), Fraction(9, 10))])
def test_noise_exceeds_its_margin_as_rarely_as_stated(path, share):
    missed = Fraction(1, 40)
    for weights, margin in zip(weights_of(path, share), margins(3, path, share, missed, Fraction(2)), strict=True):
        chance = tail(weights, 2.0, margin)
        assert chance <= missed
        assert chance >= missed / 3  # the margin is at most a scale more than the least


def test_margins_are_kept_and_cannot_be_changed():
    """They are computed once for all who ask."""
    with pytest.raises(ValueError, match="read-only"):
        margins(3, (1,), Fraction(1, 2), Fraction(1, 20), Fraction(2))[0] = 0


def test_planted_a_level_whose_noise_is_left_out_is_seen():
    """The margin of the first level alone, for a bound of the third: missed far more often than stated."""
    missed, path, share, scale = Fraction(1, 100), (4, 4), Fraction(1, 10), Fraction(2)
    weights = weights_of(path, share, branches=9)[4]
    assert tail(weights, 2.0, margins(9, (), share, missed, scale)[0]) > 2 * missed
    assert tail(weights, 2.0, margins(9, path, share, missed, scale)[4]) <= missed


def test_planted_a_law_without_the_noise_of_the_last_level_is_seen():
    """Three noises of nine: the margin is that of the law, so that a part of the noise cannot hide in a bound that is looser."""
    missed, path, share, scale = Fraction(1, 40), (2, 0), Fraction(9, 10), Fraction(2)
    weights, whole = weights_of(path, share)[0], noises(3, path, share)
    short = Weighted(whole.sizes[:1, :1], whole.numbers[:1, :1], whole.shared)
    assert tail(weights, 2.0, short.reached(missed, scale)[0]) > missed
    assert tail(weights, 2.0, whole.reached(missed, scale)[0]) <= missed
