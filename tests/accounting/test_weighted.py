"""The reach of weighted sums of noises: against exact convolution, for all weights that a width claims to serve."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from tacit.accounting import weighted
from tacit.accounting.weighted import Draws, scaled_erfc, weighted_error

MISSED = Fraction(1, 20)


def one_law(draws: Draws) -> tuple[np.ndarray, np.ndarray]:
    """Places and chances of a noise, all but 1e-13."""
    scale = float(draws.scale)
    reach = math.ceil(scale * 34 + 10)
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(places) / scale) if draws.noise == "Laplace" else np.exp(-(places**2) / (2 * scale**2))
    law = np.ones(1)
    for _ in range(draws.count):
        law = np.convolve(law, weights / weights.sum())
    return np.arange(len(law)) - len(law) // 2, law


def chance_beyond(draws: tuple[Draws, ...], weights: tuple[float, ...], width: float) -> float:
    """P[|sum| > width], by summing over all places of all noises but the first, of which the law is cumulated."""
    places, law = one_law(draws[0])
    above = np.concatenate([np.cumsum(law[::-1])[::-1], [0.0]])  # P[X >= places[at]]
    others = [one_law(each) for each in draws[1:]]
    miss = 0.0
    for cells in product(*(range(len(each[0])) for each in others[:-1])):
        fixed = sum(weight * others[at][0][cell] for at, (cell, weight) in enumerate(zip(cells, weights[1:-1], strict=True)))
        chance = math.prod(others[at][1][cell] for at, cell in enumerate(cells))
        shift = fixed + weights[-1] * others[-1][0]
        if weights[0] == 0:
            miss += chance * float(others[-1][1][np.abs(shift) > width].sum())
            continue
        over = np.floor((width - shift) / weights[0] + 1e-12).astype(int) + 1 - places[0]
        under = np.floor((width + shift) / weights[0] + 1e-12).astype(int) + 1 - places[0]
        tails = above[np.clip(over, 0, len(law))] + above[np.clip(under, 0, len(law))]
        miss += chance * float((others[-1][1] * tails).sum())
    return miss


def laplace(scale: float, count: int = 1) -> Draws:
    return Draws("Laplace", Fraction(scale), count)


def gaussian(scale: float, count: int = 1) -> Draws:
    return Draws("Gaussian", Fraction(scale), count)


CASES = [
    ((laplace(40), laplace(2)), (1, 17), (1, 0)),
    ((laplace(2), laplace(2)), (1, 1), (1, 0)),
    ((laplace(2), laplace(5)), (1, 3), (1, 0)),
    ((laplace(0.7), laplace(1.5)), (1, 2), (1, 0)),
    ((gaussian(9), gaussian(3)), (1, 4), (1, 0)),
    ((gaussian(9), laplace(3)), (1, 4), (1, 0)),
    ((laplace(9), gaussian(0.6)), (1, 14), (1, 0)),
    ((laplace(9), laplace(2, 3)), (1, 5), (1, 0)),
    ((gaussian(9, 4), gaussian(2, 4)), (1, 5), (1, 0)),
    ((laplace(9, 3), laplace(2, 3)), (1, 5), (1, 0)),
    ((laplace(12, 6), laplace(1)), (1, 10), (1, 0)),
    ((laplace(3), laplace(3), laplace(1)), (0.5, 1, 6), (0.5, 0, 0)),
    ((laplace(3), gaussian(2), laplace(1)), (1, 1, 2), (1, 0, 0)),
]


@pytest.mark.parametrize(("draws", "weights", "least"), CASES)
@pytest.mark.parametrize("missed", [MISSED, Fraction(1, 2000)])
def test_the_chance_of_a_miss_is_that_of_exact_convolution(
    draws: tuple[Draws, ...], weights: tuple[float, ...], least: tuple[float, ...], missed: Fraction
) -> None:
    width = float(weighted_error(draws, np.array([weights]), missed, least)[0])
    alone = sum(weight * each.error(missed / len(draws)) for weight, each in zip(weights, draws, strict=True))
    assert width <= alone
    for shares in product((0.0, 0.37, 1.0), repeat=len(draws)):
        inside = tuple(low + share * (high - low) for low, high, share in zip(least, weights, shares, strict=True))
        assert chance_beyond(draws, inside, width) <= missed + 1e-12, inside


@pytest.mark.parametrize(
    ("draws", "weights"),
    [
        ((laplace(300), laplace(2)), (1, 110)),
        ((laplace(300), laplace(2)), (1, 10)),
        ((gaussian(300), gaussian(5)), (1, 60)),
        ((laplace(300), gaussian(5)), (1, 60)),
        ((gaussian(300), laplace(5)), (1, 60)),
        ((laplace(500), laplace(300)), (1, 1)),
        ((laplace(80, 3), laplace(2, 3)), (1, 30)),
    ],
)
def test_widths_are_nearly_the_least(draws: tuple[Draws, ...], weights: tuple[float, ...]) -> None:
    width = float(weighted_error(draws, np.array([weights]), MISSED)[0])
    assert chance_beyond(draws, weights, width) <= MISSED < chance_beyond(draws, weights, width * 0.985)


def test_planted_widths_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Continuous noise without the distance to the discrete one; and the noise of the count ignored."""
    draws, weights = (laplace(0.7), laplace(1.5)), (1.0, 0.5)
    ignored = float(weighted_error(draws[:1], np.array([[1.0]]), MISSED)[0])
    assert chance_beyond(draws, weights, ignored) > MISSED
    fine = [(laplace(scale), laplace(1)) for scale in (0.6, 0.8, 1.1)]
    rows = [(each, (1.0, weight)) for each in fine for weight in (0.1, 0.3, 0.5)]
    assert all(chance_beyond(*row, float(weighted_error(row[0], np.array([row[1]]), MISSED)[0])) <= MISSED for row in rows)
    monkeypatch.setattr(Draws, "drift", 0.0)
    found = [chance_beyond(*row, float(weighted_error(row[0], np.array([row[1]]), MISSED)[0])) for row in rows]
    assert max(found) > MISSED


def test_a_coarse_count_stands_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the steps of a coarse noise, wider fine noise may miss less: its width is too short for the narrower one."""
    draws, wide, narrow, least = (laplace(30), laplace(0.6)), (1 / 6, 40.0), (0.01, 40.0), (0.01, 0)
    chances = [Fraction(each, 100) for each in range(2, 40, 3)]

    def held() -> list[bool]:
        widths = [float(weighted_error(draws, np.array([wide]), missed, least)[0]) for missed in chances]
        return [chance_beyond(draws, narrow, width) <= missed for width, missed in zip(widths, chances, strict=True)]

    assert all(held())
    monkeypatch.setattr(weighted, "_is_even", lambda noises, weights, least: np.ones(len(weights), dtype=bool))
    assert not all(held())


def test_rare_misses_and_exact_numbers() -> None:
    """What is too rare for doubles is bounded one by one; a number without noise adds nothing."""
    draws = laplace(30), laplace(2)
    rare = weighted_error(draws, np.array([[1.0, 5.0]]), Fraction(1, 10**30))
    assert rare[0] == draws[0].error(Fraction(1, 2 * 10**30)) + 5 * draws[1].error(Fraction(1, 2 * 10**30))
    exact = Draws("Laplace", Fraction(0))
    assert weighted_error((draws[0], exact), np.array([[1.0, 5.0]]), MISSED)[0] == draws[0].error(MISSED)
    assert weighted_error((exact, exact), np.array([[1.0, 5.0], [0.0, 0.0]]), MISSED).tolist() == [0.0, 0.0]


def test_the_scaled_error_function() -> None:
    places = np.concatenate([np.linspace(0, 8, 81), [15.0, 30.0, 1e3]])
    with mpmath.workdps(40):
        truth = [float(mpmath.exp(mpmath.mpf(x) ** 2) * mpmath.erfc(mpmath.mpf(x))) for x in places]
    assert scaled_erfc(places) == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize(
    ("scales", "weights"),
    [
        ((30, 30, 30, 3), (1, 1, 1, 5)),
        ((40, 10, 10, 20, 2), (1, 2, 3, 1, 9)),
        ((9, 9, 9, 9, 9, 2), (1, 1, 1, 1, 1, 3)),
        ((50, 7, 7, 20, 20, 1), (1, 3, 4, 1, 2, 30)),
    ],
)
@pytest.mark.parametrize("missed", [MISSED, Fraction(1, 2000)])
def test_sums_of_many_noises(scales: tuple[int, ...], weights: tuple[int, ...], missed: Fraction) -> None:
    """Against exact convolution, on the integers; near the least width, and far below that of all noises one by one."""
    noises = tuple(map(laplace, scales))
    law = np.ones(1)
    for noise, weight in zip(noises, weights, strict=True):
        chances = one_law(noise)[1]
        spaced = np.zeros((len(chances) - 1) * weight + 1)
        spaced[::weight] = chances
        size = len(law) + len(spaced) - 1
        law = np.fft.irfft(np.fft.rfft(law, size) * np.fft.rfft(spaced, size), size)
    far = np.abs(np.arange(len(law)) - len(law) // 2)
    width = float(weighted_error(noises, np.array([weights], dtype=float), missed, (1, *(0,) * (len(weights) - 1)))[0])
    assert law[far > width].sum() <= missed + 1e-11
    assert law[far > width * 0.72].sum() > missed
    assert width < 0.7 * sum(weight * noise.error(missed / len(noises)) for weight, noise in zip(weights, noises, strict=True))


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_closed_forms_stay_small(number: int) -> None:
    """The coefficients are largest where the scales are as near as may be; their errors in doubles stay below the slack."""
    scales = weighted._apart(np.ones((1, number)))[0]
    shares = [math.prod(a**2 / (a**2 - b**2) for b in scales if b != a) for a in scales]
    assert sum(shares) == pytest.approx(1)
    assert sum(map(abs, shares)) * 1e-13 < weighted.SLACK
