"""Ends of means, ratios, variances and covariances: coverage summed exactly over all noises, for small worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit.accounting.weighted import Draws
from tacit.query.intervals import ratios
from tacit.query.intervals.ratios import Quotient, Released, covariance_ends, mean_ends, ratio_ends, variance_ends

MISSED = Fraction(1, 10)
REACH = 11  # scales to which noise is listed: less than 2e-5 lies beyond
Noises = tuple[Draws, ...]


def law(noise: Draws, reach: float = REACH) -> tuple[np.ndarray, np.ndarray]:
    """The places of a noise and their chances."""
    scale = float(noise.scale)
    places = np.arange(-int(reach * scale) - 1, int(reach * scale) + 2)
    weights = np.exp(-np.abs(places) / scale) if noise.noise == "Laplace" else np.exp(-(places**2) / (2 * scale**2))
    return places, weights / weights.sum()


def together(noises: Noises, reach: float = REACH) -> tuple[list[np.ndarray], np.ndarray]:
    """All places of several noises, and their chances."""
    laws = [law(noise, reach) for noise in noises]
    places = [axis.reshape(-1) for axis in np.meshgrid(*(each[0] for each in laws), indexing="ij")]
    chances = np.ones(1)
    for each in laws:
        chances = np.multiply.outer(chances, each[1]).reshape(-1)
    return places, chances


def laplace(scale: float) -> Draws:
    return Draws("Laplace", Fraction(scale))


def gaussian(scale: float) -> Draws:
    return Draws("Gaussian", Fraction(scale))


# --- means -------------------------------------------------------------------------------------------------------------------

BOUND = 3  # values are from -3 to 3
SMALL = [(rows, total) for rows in (1, 2, 5, 12) for total in sorted({-BOUND * rows, -rows, 0, 1, BOUND * rows - 1, BOUND * rows})]


def least_coverage(noises: Noises, worlds: list[tuple[int, int]] = SMALL, bound: int = BOUND) -> float:
    """The least chance, over data sets, that the mean lies between its ends."""
    (extra, more), chances = together(noises)
    found = []
    for rows, total in worlds:
        sums, counts = Released((total + extra).astype(float), noises[0]), Released((rows + more).astype(float), noises[1])
        low, high = mean_ends(sums, counts, (-float(bound), float(bound)), MISSED)
        assert (low >= -bound).all()
        assert (high <= bound).all()
        found.append(float(chances[(low <= total / rows + 1e-12) & (total / rows - 1e-12 <= high)].sum()))
    return min(found)


@pytest.mark.parametrize(
    "noises",
    [
        (laplace(6), laplace(2)),
        (laplace(3), laplace(1)),
        (laplace(1), laplace(4)),
        (gaussian(6), gaussian(2)),
        (laplace(5), gaussian(2)),
        (gaussian(2), laplace(0.4)),
    ],
)
def test_every_mean_is_covered_exactly(noises: Noises) -> None:
    assert least_coverage(noises) >= 1 - MISSED


def test_planted_sets_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of the count ignored; candidates above the released mean only; the hull cut on the wrong side."""
    noises, honest, kept = (laplace(6), laplace(2)), ratios._mean_widths, ratios._ratios_kept
    worlds = [(12, 36), (40, -100)]
    assert least_coverage(noises, worlds) >= 1 - MISSED
    exact = Draws("Laplace", Fraction(0))
    planted: dict[str, Callable[..., object]] = {
        "_mean_widths": lambda summed, rows, bounds, missed: honest(summed, exact, bounds, missed),
        "_ratios_kept": lambda above, below, edges, widths: (
            np.clip(above / np.maximum(below, 1), -3, 3),
            kept(above, below, edges, widths)[1],
        ),
    }
    for name, bug in planted.items():
        with monkeypatch.context() as patched:
            patched.setattr(ratios, name, bug)
            assert least_coverage(noises, worlds) < 1 - MISSED, name
    with monkeypatch.context() as patched:  # the range ends too early
        patched.setattr(ratios, "_ratios_kept", lambda *given: (kept(*given)[0], np.minimum(kept(*given)[1], 2.5)))
        assert least_coverage(noises, worlds) < 1 - MISSED


def test_a_set_may_be_the_whole_range() -> None:
    """Of a count that may be zero nothing is known; the other end of the range is not lost where the set has two pieces."""
    sums, counts = Released(np.array([0.0, 40.0, -40.0]), laplace(6)), Released(np.array([0.0, 0.0, -1.0]), laplace(2))
    low, high = mean_ends(sums, counts, (-3.0, 3.0), Fraction(1, 20))
    assert low.tolist() == [-3.0] * 3
    assert high.tolist() == [3.0] * 3


def test_blocks_keep_what_cells_keep() -> None:
    """Both stages of `_ratios_kept` against a look at every cell: no candidate is lost, at most one block is kept for nothing."""
    noise = np.random.default_rng(7)
    above, below = noise.integers(-60, 60, 400).astype(float), noise.integers(-8, 40, 400).astype(float)
    edges, widths = ratios._mean_widths(laplace(6), laplace(2), (-3.0, 3.0), MISSED)
    low, high = ratios._ratios_kept(above, below, edges, widths)
    for at in range(400):
        grid = np.linspace(edges[:-1], edges[1:], 9)
        held = grid[np.abs(above[at] - grid * below[at]) <= widths]
        if len(held):
            assert low[at] <= held.min() + 1e-12
            assert high[at] >= held.max() - 1e-12
            assert low[at] >= held.min() - 0.76
            assert high[at] <= held.max() + 0.76


# --- ratios ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noises", [(laplace(2), laplace(2)), (laplace(0.5), laplace(6)), (gaussian(3), laplace(1))])
def test_every_ratio_is_covered_exactly(noises: Noises) -> None:
    (extra, more), chances = together(noises)
    noise = Quotient(noises, (1.0, 0.0), (0.0, 1.0))
    for above, below in product((-40, 0, 3, 25), (1, -7, 30)):
        low, high = ratio_ends((above + extra).astype(float), (below + more).astype(float), noise, MISSED)
        truth = above / below
        assert chances[(low <= truth + 1e-12) & (truth - 1e-12 <= high)].sum() >= 1 - MISSED


@pytest.mark.parametrize("noises", [(laplace(2), laplace(3))])
def test_a_share_of_a_whole_is_covered_exactly(noises: Noises) -> None:
    """a / (a + b): the noise of a is on both sides of the line."""
    (extra, more), chances = together(noises)
    noise = Quotient(noises, (1.0, 0.0), (1.0, 1.0))
    for one, other in [(0, 20), (20, 0), (15, 15), (3, -2)]:
        above, both = (one + extra).astype(float), (one + other + extra + more).astype(float)
        low, high = ratio_ends(above, both, noise, MISSED)
        truth = one / (one + other)
        assert chances[(low <= truth + 1e-12) & (truth - 1e-12 <= high)].sum() >= 1 - MISSED
        assert (np.isinf(low) == np.isinf(high)).all()


# --- variances and covariances -----------------------------------------------------------------------------------------------


def data_sets(least: int, most: int) -> Iterator[tuple[int, ...]]:
    """Hostile lists of values from 0 to 2, as half steps from -2 to 2."""
    for values in [(0,), (2,), (0, 2), (1, 1, 1), (0, 0, 0, 2, 2), (0,) * 9, (0,) * 8 + (2,), (0,) * 6 + (2,) * 6]:
        if least <= len(values) <= most:
            yield tuple(2 * value - 2 for value in values)


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("noises", [(laplace(1), laplace(2), laplace(4)), (gaussian(1), gaussian(2), gaussian(4))])
def test_every_variance_is_covered_exactly(noises: Noises, sample: bool) -> None:
    """Noises of n, of the sum of y, and of the sum of 2 y^2 - R^2, R = 2."""
    moves, chances = together(noises, reach=6.5 if noises[0].noise == "Laplace" else 4)
    lost = 0.01  # less than that lies beyond what is listed
    for values in data_sets(1, 12):
        numbers = np.array(values)
        exact = [len(numbers), numbers.sum(), (2 * numbers**2 - 4).sum()]
        sums = [Released((each + move).astype(float), noise) for each, move, noise in zip(exact, moves, noises, strict=True)]
        low, high = variance_ends(sums, 2.0, sample, MISSED)
        truth = numbers.var(ddof=int(sample)) if len(numbers) > 1 else 0.0
        assert chances[(low <= truth + 1e-12) & (truth - 1e-12 <= high)].sum() >= 1 - MISSED - lost, values


def test_every_covariance_is_covered_exactly() -> None:
    noises = laplace(0.8), laplace(1), laplace(1), laplace(2)
    moves, chances = together(noises, reach=5)
    for pairs in [((1, 1),), ((-1, -1), (1, 1)), ((-1, 1),) * 5, ((1, 1),) * 8 + ((-1, -1),)]:
        one, other = np.array(pairs).T
        exact = [len(one), one.sum(), other.sum(), (one * other).sum()]
        sums = [Released((each + move).astype(float), noise) for each, move, noise in zip(exact, moves, noises, strict=True)]
        low, high = covariance_ends(sums, (1.0, 1.0), False, MISSED)
        truth = (one * other).mean() - one.mean() * other.mean()
        assert chances[(low <= truth + 1e-12) & (truth - 1e-12 <= high)].sum() >= 1 - MISSED - 0.03


def test_variances_with_the_noise_of_the_mean_ignored_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the released mean taken for the exact one, which loses (m - c)^2."""
    noises = laplace(1), laplace(6), laplace(0.5)
    moves, chances = together(noises, reach=7)
    exact = [6, 12, 24]  # six values of 2: variance 0

    def coverage() -> float:
        sums = [Released((each + move).astype(float), noise) for each, move, noise in zip(exact, moves, noises, strict=True)]
        low, high = variance_ends(sums, 2.0, False, MISSED)
        return float(chances[(low <= 0) & (high >= 0)].sum())

    assert coverage() >= 1 - MISSED
    honest = ratios.weighted_error
    monkeypatch.setattr(ratios, "weighted_error", lambda noises, weights, *rest: honest(noises, weights * [1, 0, 0], *rest))
    assert coverage() < 1 - MISSED


@pytest.mark.parametrize("groups", [300, 5000])
def test_rounded_weights_only_widen(groups: int) -> None:
    """Where groups are many, weights are rounded up: no width is below that of the group alone, nor 30 % above it."""
    noises = laplace(900), laplace(30), laplace(2)
    drawn = np.random.default_rng(3)
    weights = np.stack([np.full(groups, 0.5), drawn.uniform(1, 60, groups), drawn.uniform(30, 450, groups)], axis=1)
    shared = ratios.shared_error(noises, weights, MISSED)
    few = slice(0, 60)
    alone = ratios.shared_error(noises, weights[few], MISSED)
    assert (shared[few] >= alone * (1 - 1e-4)).all()
    assert (shared[few] <= alone * 1.3).all()
