"""The sum of several draws of noise: against exact convolution, and each bound against the others."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.accounting.weighted import _gaussian, _laplace, added_error, moments_error
from tacit.accounting.weighted import _listed_error as _listed

MISSED = Fraction(1, 20)


def chance_beyond(noise: str, scale: float, count: int, error: int) -> float:
    """P[|S| > error] by plain convolution, over a window that holds all but 1e-14."""
    reach = math.ceil(scale * 36 + 12)
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(places) / scale) if noise == "Laplace" else np.exp(-(places**2) / (2 * scale**2))
    one, law = weights / weights.sum(), np.ones(1)
    for _ in range(count):
        law = np.convolve(law, one)
    return float(law[np.abs(np.arange(len(law)) - len(law) // 2) > error].sum())


@pytest.mark.parametrize("noise", ["Laplace", "Gaussian"])
@pytest.mark.parametrize(("scale", "count"), [(Fraction(1, 3), 4), (Fraction(1), 2), (Fraction(5, 2), 7), (Fraction(8), 15)])
@pytest.mark.parametrize("missed", [Fraction(1, 2), MISSED, Fraction(1, 10**4)])
def test_the_law_of_a_sum_is_that_of_exact_convolution(noise: str, scale: Fraction, count: int, missed: Fraction) -> None:
    found = added_error(noise, scale, count, missed)
    assert chance_beyond(noise, float(scale), count, found) <= missed
    assert found == 0 or chance_beyond(noise, float(scale), count, found - 1) > float(missed) - 2e-8, "no wider than it must be"
    one = added_error(noise, scale, 1, missed)
    assert scale <= 1 or chance_beyond(noise, float(scale), count, one) > missed, "planted: the interval of one cell"


@pytest.mark.parametrize(("scale", "count"), [(Fraction(30), 2), (Fraction(100), 10), (Fraction(40), 300), (Fraction(3), 5)])
def test_bounds_for_large_noise_are_never_below_the_law(scale: Fraction, count: int) -> None:
    for noise, bound in (("Laplace", _laplace), ("Gaussian", _gaussian)):
        law, above = _listed(noise, float(scale), count, float(MISSED)), bound(scale, count, MISSED)
        assert law <= above <= law * 1.005 + count + 2


def test_rare_misses_and_large_scales_have_an_end() -> None:
    """Wider for a rarer miss, and in proportion to the scale."""
    for noise in ("Laplace", "Gaussian"):
        errors = [added_error(noise, Fraction(10), 6, Fraction(1, 10**power)) for power in (1, 5, 7, 50, 199)]
        assert errors == sorted(set(errors))
        large = [added_error(noise, Fraction(10**power), 6, MISSED) for power in (9, 12)]
        assert large[1] / large[0] == pytest.approx(1000, rel=1e-3)
    assert added_error("Laplace", Fraction(0), 5, MISSED) == 0


@pytest.mark.parametrize("noise", ["Laplace", "Gaussian"])
@pytest.mark.parametrize(("scale", "count"), [(Fraction(1, 3), 4), (Fraction(5, 2), 7), (Fraction(30), 2), (Fraction(40), 300)])
def test_moments_are_never_below_the_law(noise: str, scale: Fraction, count: int) -> None:
    for missed in (Fraction(1, 2), MISSED, Fraction(1, 10**4)):
        law, above = added_error(noise, scale, count, missed), moments_error(noise, scale, count, missed)
        assert law <= above <= 4 * law + 10
