"""Ends of slopes, intercepts and correlations: coverage on hostile data, and what is planted in them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tacit.accounting.weighted import Draws
from tacit.evidence.verify.coverage import coverage_of_draws
from tacit.query.intervals import regressions
from tacit.query.intervals.ratios import Ends, Released
from tacit.query.intervals.regressions import correlation_ends, intercept_ends, slope_ends

MISSED = Fraction(1, 10)
SPREADS = (20.0, 6.0)
MIDDLE = 4.0
DRAWS = 1000


def columns(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Two columns in half steps, the first from -20 to 20 and the second from -6 to 6."""
    made = np.random.default_rng(5)
    other = made.integers(-3, 4, 2000) * 2
    by_name = {
        "typical": (np.clip(2 * other + made.integers(-8, 9, 2000), -20, 20), other),
        "on a line": (3 * other, other),
        "falling": (-3 * other, other),
        "apart": (made.integers(-20, 21, 2000), other),
        "at a bound": (np.where(made.random(2000) < 0.1, 20, -20), np.where(made.random(2000) < 0.2, 6, -6)),
        "one point away": (np.array([-20] * 299 + [20]), np.array([-6] * 299 + [6])),
        "few": (np.array([-20, 0, 20, 20]), np.array([-6, 0, 2, 6])),
        "of large mean": (18 - np.abs(other), np.where(other == 6, 4, 6)),
    }
    return by_name[name]


def released(one, other, squares: tuple[int, ...], scale: float = 1.0, noise: str = "Laplace", louder: int | None = None):
    """Many releases as if each were a group; the noises of sums as for epsilon 1 / `scale` each, of one of them 30 times that."""
    draw = np.random.default_rng(11)
    exact = [len(one), one.sum(), other.sum(), (one * other).sum()]
    sizes = [1.0, SPREADS[0], SPREADS[1], SPREADS[0] * SPREADS[1]]
    for at in squares:
        exact.append((2 * (one, other)[at] ** 2 - SPREADS[at] ** 2).sum())
        sizes.append(SPREADS[at] ** 2)
    scales = [size * scale * (30 if at == louder else 1) for at, size in enumerate(sizes)]
    return [
        Released(value + _drawn(draw, each, noise), Draws(noise, Fraction(each))) for value, each in zip(exact, scales, strict=True)
    ]


def _drawn(draw: np.random.Generator, scale: float, noise: str) -> np.ndarray:
    """Discrete noise: the difference of two geometric numbers, or rounded normal noise."""
    if noise == "Gaussian":
        return draw.normal(0, scale, DRAWS).round()
    chance = 1 - np.exp(-1 / scale)
    return (draw.geometric(chance, DRAWS) - draw.geometric(chance, DRAWS)).astype(float)


def truths(one: np.ndarray, other: np.ndarray) -> tuple[float, float, float]:
    covered = np.cov(one, other, bias=True)
    slope = covered[0, 1] / covered[1, 1]
    return slope, one.mean() - slope * (other.mean() + MIDDLE), covered[0, 1] / np.sqrt(covered[0, 0] * covered[1, 1])


def slopes(sums: list[Released]) -> Ends:
    return slope_ends(sums, SPREADS, MISSED)


def intercepts(sums: list[Released]) -> Ends:
    return intercept_ends(sums, SPREADS, MIDDLE, MISSED)


def correlations(sums: list[Released]) -> Ends:
    return correlation_ends(sums, SPREADS, MISSED)


KINDS: list[tuple[Callable[[list[Released]], Ends], tuple[int, ...]]] = [(slopes, (1,)), (intercepts, (1,)), (correlations, (0, 1))]
NAMES = ["typical", "on a line", "falling", "apart", "at a bound", "one point away", "few", "of large mean"]


def covers(ends: Ends, truth: float) -> bool:
    slack = 1e-9 * (1 + abs(truth))
    return coverage_of_draws((ends[0] <= truth + slack) & (truth - slack <= ends[1]), float(1 - MISSED)).holds


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize(("scale", "noise"), [(6.0, "Laplace"), (2.0, "Gaussian")])
def test_hostile_data_is_covered(name: str, at: int, scale: float, noise: str) -> None:
    one, other = columns(name)
    ends, squares = KINDS[at]
    assert covers(ends(released(one, other, squares, scale, noise)), truths(one, other)[at])


@pytest.mark.parametrize("at", range(3))
def test_without_a_slope_nothing_is_claimed(at: int) -> None:
    """A column of one value has no slope and no correlation; finite ends would claim that there is one."""
    ends, squares = KINDS[at]
    for rows in (0, 1, 500):
        low, high = ends(released(np.arange(rows) % 7, np.full(rows, 4), squares))
        unknown = (low == -1) & (high == 1) if at == 2 else np.isinf(low) & np.isinf(high)
        assert coverage_of_draws(unknown, float(1 - MISSED)).holds


@pytest.mark.parametrize(("at", "most"), [(0, 1.25), (1, 1.5), (2, 1.3)])
def test_widths_are_close_to_the_error(at: int, most: float) -> None:
    one, other = columns("typical")
    ends, squares = KINDS[at]
    sums = released(one, other, squares)
    low, high = ends(sums)
    rows, *numbers = (each.value for each in sums)
    means = [number / rows for number in numbers[:2]]
    varied = [
        (number / rows + SPREADS[column] ** 2) / 2 - means[column] ** 2 for number, column in zip(numbers[3:], squares, strict=True)
    ]
    together = numbers[2] / rows - means[0] * means[1]
    slope = together / varied[-1]
    value = [slope, means[0] - slope * (means[1] + MIDDLE), together / np.sqrt(varied[0] * varied[-1])][at]
    error = np.quantile(np.abs(value - truths(one, other)[at]), float(1 - MISSED))
    assert 0.95 < np.median(high - low) / 2 / error < most


@pytest.mark.parametrize(("at", "left_out"), [(0, 4), (0, 3), (0, 1), (1, 4), (1, 3), (2, 5), (2, 4), (2, 3)])
def test_a_noise_left_out_is_caught(at: int, left_out: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the noise of squares, of products or of a sum taken for none where it is the loudest."""
    one, other = columns("of large mean" if left_out in (1, 2) else "typical")
    ends, squares = KINDS[at]
    sums = released(one, other, squares, 0.1, louder=left_out)
    assert covers(ends(sums), truths(one, other)[at])
    honest, loud = regressions.shared_error, sums[left_out].noise

    def bug(noises, weights, missed):
        return honest([regressions.NO_NOISE if noise == loud else noise for noise in noises], weights, missed)

    monkeypatch.setattr(regressions, "shared_error", bug)
    assert not covers(ends(sums), truths(one, other)[at])


def test_a_variance_that_may_be_zero_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: slopes looked for up to a fixed one only, whatever the variance may be."""
    monkeypatch.setattr(regressions, "_farthest", lambda both, *rest: np.full_like(both.rows.value, 100.0))
    low, high = slopes(released(np.arange(500) % 7, np.full(500, 4), (1,)))
    assert not coverage_of_draws(np.isinf(low) & np.isinf(high), float(1 - MISSED)).holds
