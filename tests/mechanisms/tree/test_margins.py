"""The margin of a rank that is read from a tree, against the exact law of the noises behind it."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit.accounting.weighted import added_tail
from tacit.mechanisms.quantile.rank_blocks import Blocks
from tacit.mechanisms.sorted_rows import Grid
from tacit.mechanisms.tree import margins as module
from tacit.mechanisms.tree.margins import NEGLECTED, SLACK, Weighted, margins, noises, variances
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


# --- a weighted sum of Laplace noises ----------------------------------------------------------------------------------------


SCALES = (0.3, 1.0, 7.0, 1000.0)


def equal(number, size=1.0):
    return Weighted(np.array([[size]]), np.array([[float(number)]]))


def by_series(weighted, missed):
    return weighted.by_series(missed, *weighted.by_moments(missed, missed * NEGLECTED))


def beyond(scale, place):
    """P[X >= place] for one discrete Laplace noise, place > 0."""
    ratio = math.exp(-1 / scale)
    return ratio ** math.ceil(place) / (1 + ratio)


@pytest.mark.parametrize("missed", [0.2, 0.05, 0.001, 1e-5])
@pytest.mark.parametrize("number", [1, 2, 3, 9, 30])
def test_continuous_noise_of_equal_weights_has_the_law_of_its_closed_form(number, missed):
    """Never too near, and at most a 200th of the chance is lost, more for one noise alone: its transform falls slowly."""
    found = by_series(equal(number, 0.5), missed) / 0.5
    chance = added_tail(found, number)[0]
    assert chance <= missed
    assert number == 1 or chance >= missed * 0.995
    assert chance >= missed * (0.9 if missed > 1e-4 else 0.01)


def test_two_different_weights():
    """By partial fractions: P[a L + b L' > t] = (a^2 e^(-t/a) - b^2 e^(-t/b)) / (2 (a^2 - b^2))."""
    one, two, missed = 0.9, 0.25, 0.01
    found = by_series(Weighted(np.array([[one, two]]), np.ones((1, 2))), missed)[0]
    chance = (one**2 * math.exp(-found / one) - two**2 * math.exp(-found / two)) / (2 * (one**2 - two**2))
    assert 0.995 * missed <= chance <= missed


def test_rows_are_as_they_are_alone():
    sizes = np.array([[0.5, 0.25], [0.9, 0.1], [1.0, 0.0]])
    numbers = np.array([[3.0, 5.0], [1.0, 20.0], [2.0, 9.0]])
    together = Weighted(sizes, numbers).reached(Fraction(1, 100), Fraction(10))
    alone = [Weighted(sizes[at : at + 1], numbers[at : at + 1]).reached(Fraction(1, 100), Fraction(10))[0] for at in range(3)]
    assert np.allclose(together, alone, rtol=2e-3)


def test_what_the_series_leaves_out_is_at_most_what_is_said():
    for weighted in (equal(1), equal(4, 0.3), Weighted(np.array([[1.0, 0.05]]), np.array([[1.0, 30.0]]))):
        for step, terms in product((0.1, 0.7), (4, 30)):
            places = step * (np.arange(terms, 200_000) + 0.5)
            falls = np.exp(-weighted.summed(np.log1p, places))[0]
            assert (falls * step / (math.pi * places)).sum() <= weighted.left_out(np.array([terms * step]))[0, 0]


@pytest.mark.parametrize("missed", [Fraction(1, 20), Fraction(1, 1000), Fraction(1, 10**8)])
def test_moments_stand_where_the_series_cannot(missed, monkeypatch):
    """Of few terms, and of a chance that is too small."""
    monkeypatch.setattr(module, "TERMS", np.array([1.0]))
    weighted = equal(1)
    found = weighted.reached(missed, Fraction(100))[0]
    assert beyond(100, found) <= missed
    assert found <= weighted.by_moments(float(missed))[0][0] * 100 * (1 + 1e-8)


def test_shared_weights_count_as_if_every_row_had_them():
    alone = Weighted(np.array([[0.5, 0.3], [0.9, 0.3]]), np.array([[3.0, 5.0], [2.0, 5.0]]))
    shared = Weighted(np.array([[0.5], [0.9]]), np.array([[3.0], [2.0]]), (np.array([0.3]), np.array([5.0])))
    larger = Weighted(np.array([[0.3], [0.2]]), np.array([[3.0], [2.0]]), (np.array([0.9]), np.array([5.0])))
    same = Weighted(np.array([[0.3, 0.9], [0.2, 0.9]]), np.array([[3.0, 5.0], [2.0, 5.0]]))
    for one, other in ((alone, shared), (same, larger)):
        assert np.allclose(one.squares, other.squares, rtol=1e-12)
        assert np.allclose(one.by_moments(0.01), other.by_moments(0.01), rtol=1e-12)
        assert np.allclose(one.reached(Fraction(1, 50), Fraction(3)), other.reached(Fraction(1, 50), Fraction(3)), rtol=1e-9)


@pytest.mark.parametrize("size", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("number", [1, 4])
def test_what_is_left_out_is_the_integral_of_what_falls(number, size):
    """f(u) / (2 pi k), with k the sum of w^2 u^2 / (1 + w^2 u^2)."""
    for place in (0.5, 2.0, 20.0):
        square = (size * place) ** 2
        expected = (1 + square) ** -number / (2 * math.pi * number * square / (1 + square))
        assert equal(number, size).left_out(np.array([place]))[0, 0] == pytest.approx(expected)


@pytest.mark.parametrize("scale", SCALES[1:])
@pytest.mark.parametrize("missed", [Fraction(1, 5), Fraction(1, 100), Fraction(1, 10**5)])
def test_a_drift_and_the_series_share_the_chance(scale, missed, monkeypatch):
    """P[W >= s t + d] <= P[T >= s t] / (1 - c), for the chance c = e^(-3 d^2 / sum of squares) of a larger drift."""
    asked = []
    monkeypatch.setattr(Weighted, "by_series", lambda self, *given: asked.append(given) or np.zeros(len(self.sizes)))
    weighted = Weighted(np.array([[0.5, 1.0], [0.9, 0.25]]), np.array([[30.0, 4.0], [6.0, 10.0]]))
    drift = weighted.reached(missed, Fraction(scale)) / module.ROUNDED
    [(chance, found, far)] = asked
    larger = np.exp(-3 * drift**2 / weighted.squares)
    assert (chance <= float(missed) * (1 - larger) * (1 + 1e-12)).all()
    assert chance > 0.8 * float(missed)
    assert np.allclose(found, weighted.by_moments(chance)[0], rtol=1e-14)
    assert np.allclose(far, weighted.by_moments(chance * NEGLECTED)[0], rtol=1e-14)


def test_floating_point_is_allowed_for_in_both_bounds(monkeypatch):
    """A billionth of the margin is more than what doubles lose of it."""
    weighted = equal(4, 0.5)
    moments = weighted.by_moments(1e-8)[0] * 7
    assert weighted.reached(Fraction(1, 10**8), Fraction(7)) >= moments * (1 + 0.999e-9)
    monkeypatch.setattr(Weighted, "by_series", lambda self, *_: np.full(len(self.sizes), 1e9))
    moments = weighted.by_moments(0.01)[0] * 7
    assert weighted.reached(Fraction(1, 100), Fraction(7)) >= moments * (1 + 0.999e-9)
    assert module.TERMS.tolist() == [16, 32, 64, 128, 256, 512, 1024], "the slack is proved for 1024 terms"


def test_the_period_of_the_series_is_that_of_the_row_that_reaches_farthest(monkeypatch):
    seen, weighted = [], Weighted(np.array([[0.5, 0.25], [1.0, 0.9]]), np.array([[3.0, 5.0], [2.0, 9.0]]))
    honest = Weighted.left_out
    monkeypatch.setattr(Weighted, "left_out", lambda self, places: seen.append(places) or honest(self, places))
    near, far = weighted.by_moments(0.01, 0.01 * NEGLECTED)
    weighted.by_series(0.01, near, far)
    assert 2 * math.pi / (seen[0][0] / 16) == pytest.approx(max(near[1] + far[1], near[0] + far[0]))


@pytest.mark.parametrize("first", [0.1, 0.5, 0.77, 0.99, 1.5])
@pytest.mark.parametrize("steps", [1, 2])
def test_what_is_tried_is_taken_only_where_it_holds(first, steps, monkeypatch):
    """Newton's method may be anywhere when it ends: the bound holds, and is never beyond that by moments."""
    monkeypatch.setattr(module, "FIRST", first)
    monkeypatch.setattr(module, "STEPS", steps)
    for number, missed in product((1, 3, 30), (0.2, 0.05, 0.001)):
        found = by_series(equal(number), missed)
        assert added_tail(found, number)[0] <= missed
        assert found[0] <= equal(number).by_moments(missed)[0][0]


@pytest.mark.parametrize(("name", "part"), [("SLACK", 0.01), ("NEGLECTED", 0.2)])
def test_what_is_set_aside_is_taken_off_the_chance(name, part, monkeypatch):
    """With much of it, to see it: 0.01 of the chance 0.05, or a fifth of it."""
    monkeypatch.setattr(module, name, part)
    for number in (1, 3, 30):
        assert added_tail(by_series(equal(number), 0.05), number)[0] <= 0.04


@pytest.mark.parametrize("scale", SCALES)
def test_one_discrete_noise_reaches_it_as_rarely_as_stated(scale):
    for missed in (Fraction(1, 5), Fraction(1, 37), Fraction(1, 900)):
        assert beyond(scale, equal(1).reached(missed, Fraction(scale))[0]) <= missed


def test_planted_discrete_noise_without_its_drift_is_seen():
    """Just below a whole number, discrete noise has up to twice the chance of continuous noise."""
    place, scale = 3, 1.0
    missed = math.exp(-(place - 0.05)) / 2
    without = by_series(equal(1), missed)[0]
    assert place - 0.06 < without < place
    assert beyond(scale, without) > 1.3 * missed
    assert beyond(scale, equal(1).reached(Fraction(missed), Fraction(1))[0]) <= missed


def test_planted_a_series_that_is_cut_off_unseen_is_seen(monkeypatch):
    """Without what the series leaves out, few terms claim a reach that is too near."""
    monkeypatch.setattr(module, "TERMS", np.array([16.0]))
    monkeypatch.setattr(Weighted, "left_out", lambda self, places: np.zeros((len(self.sizes), len(places))))
    chances = [added_tail(by_series(equal(1), missed), 1)[0] / missed for missed in np.linspace(0.02, 0.2, 40)]
    assert max(chances) > 1.001


@pytest.mark.parametrize("scale", SCALES)
def test_continuous_noise_is_discrete_noise_and_a_drift(scale):
    """E and E' exponential: their whole parts differ by discrete Laplace noise, and their fractions by a bounded drift.

    The drift's moments are at most those of a normal variable with its variance for large scales, 1/6.
    """
    slopes = np.linspace(0.05, 0.95, 7) / scale
    ratio = math.exp(-1 / scale)
    discrete = (1 - ratio) ** 2 / ((1 - ratio * np.exp(slopes)) * (1 - ratio * np.exp(-slopes)))

    def fraction(slope):
        return (1 - np.exp(slope - 1 / scale)) / ((1 - slope * scale) * (1 - ratio))

    assert np.allclose(discrete * fraction(slopes) * fraction(-slopes), 1 / (1 - (slopes * scale) ** 2))
    for slope in (0.01, 0.5, 2.0, 10.0):
        if abs(slope * scale - 1) > 1e-6:
            assert fraction(slope) * fraction(-slope) <= math.exp(slope**2 / 12) * (1 + 1e-9)


def test_the_moments_of_discrete_noise_are_at_most_those_that_are_used():
    for scale, part in product(SCALES, (0.1, 0.5, 0.9)):
        moves = np.arange(-int(800 * scale + 50), int(800 * scale + 51))
        logs = -np.abs(moves) / scale + part * moves / scale
        known = np.exp(logs).sum() / np.exp(-np.abs(moves) / scale).sum()
        assert known <= 1 / (1 - part**2) * (1 + 1e-9)


def test_the_slack_is_above_what_doubles_lose():
    """The same series in 30 digits: the chance of many noises at a far place differs by less than a thousandth of the slack."""
    from mpmath import mp, mpf

    mp.dps = 30
    weighted = Weighted(np.array([[0.9, 0.4, 0.07]]), np.array([[5.0, 12.0, 25.0]]))
    step, terms, place = 0.05, 200, 17.3
    places = step * (np.arange(terms) + 0.5)
    falls = np.exp(-weighted.summed(np.log1p, places))[0] * (step / math.pi)
    doubles = 0.5 - (falls / places * np.sin(place * places)).sum()
    exact = mpf(1) / 2
    for at in range(terms):
        turn = mpf(step) * (at + mpf(1) / 2)
        fall = mp.mpf(1)
        for size, number in zip(weighted.sizes[0], weighted.numbers[0], strict=True):
            fall /= (1 + (mpf(float(size)) * turn) ** 2) ** int(number)
        exact -= fall * mp.sin(mpf(place) * turn) / (mp.pi * (at + mpf(1) / 2))
    assert abs(float(exact) - doubles) < SLACK / 1000
