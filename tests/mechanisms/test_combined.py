"""Widths of weighted sums of noises: what residual.md, "Intervals", states, computed apart from the code that runs."""

from fractions import Fraction
from math import exp, inf, log, log1p, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erfcinv, erfcx

from tacit.errors import InvalidInput
from tacit.mechanisms.combined import Weights, combined_error, variance_of
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace

SLACK, LOST, LEAST_CHANCE, LEAST_BY_LAW = 1e-9, 1e-9, 1e-250, Fraction(1, 10**6)  # as the code has them, not imported
ROOM = 2e-12  # relative: what doubles lose in the widths computed here


def gaussian(scale):
    """Gaussian noise on whole numbers, with this scale; rho is 1 / (2 scale^2)."""
    noise = Gaussian(1, 1 / (2 * Fraction(scale) ** 2), step=1, on_grid=True)
    assert noise.scale == scale
    return noise


def laplace(scale):
    return Laplace(1, 1 / Fraction(scale), step=1, on_grid=True)


def weighted(noise, *parts):
    """Weights from a scale, a size and a number each."""
    scales, sizes, numbers = zip(*parts, strict=True)
    return Weights(tuple(noise(scale) for scale in scales), tuple(map(float, sizes)), numbers)


# --- Gaussian noise ----------------------------------------------------------------------------------------------------------

WIDE = ((20, 1, 4), (Fraction(41, 2), 2.5, 3))
NARROW = ((1, 1, 2), (3, 0.5, 9))  # a scale of exactly 1 is wide enough for normal noise
TOO_NARROW = ((Fraction(9, 10), 1, 1), (50, 1, 1))
MANY = ((2, 1, 66),)  # a factor below 2
TOO_MANY = ((2, 1, 70),)  # and above


def deviation(parts):
    return sqrt(sum(number * (float(scale) * size) ** 2 for scale, size, number in parts))


def factor(parts):
    """How much more likely rounded normal noise is anywhere, at most."""
    return exp(sum(number / (24 * float(scale) ** 2) for scale, _, number in parts) + LOST)


def drift(parts):
    return sum(size * number for _, size, number in parts) / 2


def sub_gaussian(parts, missed):
    """The solution of 2 e^(-k^2 / (2 sd^2)) = missed."""
    return deviation(parts) * sqrt(2 * (log(2) + log(missed.denominator) - log(missed.numerator)))


def normal(parts, missed):
    return deviation(parts) * sqrt(2) * erfcinv(float(missed) / factor(parts) / (1 + LOST)) + drift(parts)


@pytest.mark.parametrize("parts", [WIDE, NARROW, MANY, ((1000, 1, 1),)])
@pytest.mark.parametrize("missed", [Fraction(1, 2), Fraction(1, 20), Fraction(3, 1000), Fraction(1, 10**9), Fraction(7, 10**100)])
def test_gaussian_widths_are_those_of_normal_noise(parts, missed):
    expected = min(normal(parts, missed), sub_gaussian(parts, missed))
    assert combined_error(weighted(gaussian, *parts), missed) / (1 + SLACK) == pytest.approx(expected, rel=ROOM)


def test_both_bounds_of_gaussian_widths_are_used():
    """Rounded normal noise is better for few wide noises, moments for many narrow ones."""
    missed = Fraction(1, 20)
    assert normal(WIDE, missed) < 0.99 * sub_gaussian(WIDE, missed)
    assert sub_gaussian(MANY, missed) < 0.99 * normal(MANY, missed)
    assert factor(MANY) < 2 < factor(TOO_MANY) < 3


@pytest.mark.parametrize("missed", [Fraction(1, 3), Fraction(1, 20), Fraction(1, 10**6)])
def test_narrow_gaussian_noise_has_the_moments_alone(missed):
    """A scale below 1, beside any other, and a factor above 2: there rounded normal noise proves nothing."""
    for parts in (TOO_NARROW, tuple(reversed(TOO_NARROW))):
        assert normal(parts, missed) < 0.99 * sub_gaussian(parts, missed), "the other bound would be told"
        assert combined_error(weighted(gaussian, *parts), missed) == pytest.approx(
            sub_gaussian(parts, missed) * (1 + SLACK), rel=ROOM
        )


def test_too_many_noises_have_the_moments_alone():
    """With a weight of nothing beside one that counts, normal noise would be narrower, at a factor above 2."""
    for many, near in ((90, False), (100, True)):
        parts = ((500, 1, 1), (2, 1e-9, many + 100 * near))
        missed = Fraction(1, 10**8)
        assert (factor(parts) > 2) is (many + 100 * near > 66.5)
        assert normal(parts, missed) < (1 - 1e-5) * sub_gaussian(parts, missed)
        assert combined_error(weighted(gaussian, *parts), missed) == pytest.approx(
            sub_gaussian(parts, missed) * (1 + SLACK), rel=ROOM
        )


def test_chances_below_the_tail_of_a_double_have_the_moments_alone():
    parts, least = ((100, 1, 1),), Fraction(LEAST_CHANCE)
    assert float(least) == LEAST_CHANCE
    for missed in (least, least * Fraction(3, 2)):
        z = sqrt(-2 * log(float(missed)))  # Newton's method on ln(factor erfc(z / sqrt 2)), by the scaled function
        for _ in range(50):
            scaled = erfcx(z / sqrt(2))
            value = log(factor(parts)) + log1p(LOST) + log(scaled) - z**2 / 2 - log(float(missed))
            z += value * scaled / sqrt(2 / np.pi)
        expected = z * 100 + 0.5
        assert expected < 0.999 * sub_gaussian(parts, missed)
        assert combined_error(weighted(gaussian, *parts), missed) / (1 + SLACK) == pytest.approx(expected, rel=ROOM)
    for missed in (least / 2, Fraction(1, 10**400)):
        assert combined_error(weighted(gaussian, *parts), missed) / (1 + SLACK) == pytest.approx(
            sub_gaussian(parts, missed), rel=ROOM
        )


# --- Laplace noise -----------------------------------------------------------------------------------------------------------

ONE_NOISE = ((30, 1, 1),)
TWO_ALIKE = ((6, 2, 2),)
NARROWEST = ((Fraction(1, 2), 3, 2),)
APART = ((40, 0.25, 1), (2, 1, 6))
ALL = (ONE_NOISE, TWO_ALIKE, NARROWEST, APART, ((5, 1, 1), (50, 0.1, 2)))
SERIES = ((Fraction(1, 50), 4e-3), (Fraction(0), 0.12))  # what the series and few steps to its end leave of a chance


def beyond(parts, width):
    """P[weighted sum of continuous Laplace noises >= width], from its characteristic function."""
    wide = [(float(scale) * size, number) for scale, size, number in parts]

    def transformed(place):
        return exp(-sum(number * log1p((scale * place) ** 2) for scale, number in wide))

    def part(place):
        return transformed(place) / place

    near = quad(lambda place: transformed(place) * np.sinc(width * place / np.pi) * width, 0, 1 / width, limit=200)[0]
    far = quad(part, 1 / width, inf, weight="sin", wvar=width, limit=400, limlst=400)[0]
    return 0.5 - (near + far) / np.pi


def test_the_law_that_widths_are_compared_with():
    """Of one noise and of two alike, in closed form."""
    assert beyond(((30, 1, 1),), 60.0) == pytest.approx(exp(-2) / 2, abs=1e-9)
    assert beyond(((30, 1, 2),), 60.0) == pytest.approx(exp(-2) * (2 + 2) / 4, abs=1e-9)


@pytest.mark.parametrize("parts", ALL)
@pytest.mark.parametrize("missed", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**4)])
def test_laplace_widths_are_those_of_continuous_noise_and_a_drift(parts, missed):
    squares = sum(number * size**2 for _, size, number in parts)
    spread = sum(number * (float(scale) * size) ** 2 for scale, size, number in parts)
    apart = 1 / (8 + 4 * sqrt(spread / squares))
    drift = sqrt(squares * log(1 / apart) / 3)
    width = combined_error(weighted(laplace, *parts), missed) / (1 + SLACK)
    by_moments = least_by_moments(parts, float(missed) / 2)
    if width < by_moments * (1 - 1e-9):
        allowed = float(missed) / 2 * (1 - apart)
        left = next(left for least, left in SERIES if missed > least)
        assert (1 - left) * allowed <= beyond(parts, width - drift) * (1 + 1e-7) <= allowed * (1 + 1e-6)
    else:
        assert beyond(parts, by_moments - drift) < float(missed) / 2 * (1 - apart), "the series would be narrower"


def least_by_moments(parts, chance):
    """The least of (ln E[e^(vW)] - ln chance) / v over sixteen slopes, up to 0.98 of the largest that has moments."""
    wide = [(float(scale) * size, number) for scale, size, number in parts]
    largest = max(scale for scale, _ in wide)
    found = []
    for slope in np.linspace(0.08, 0.98, 16) / largest:
        grown = -sum(number * log1p(-((scale * slope) ** 2)) for scale, number in wide)
        found.append((grown - log(chance)) / slope)
    return min(found)


def test_where_the_law_is_used():
    """At a chance of 10^-6 the law of continuous noise still stands, below it the moments alone."""
    for parts in (((6, 1, 20),), ((6, 1, 9), (20, 0.5, 9))):
        weights = weighted(laplace, *parts)
        at, below = (combined_error(weights, missed) / (1 + SLACK) for missed in (LEAST_BY_LAW, LEAST_BY_LAW * Fraction(99, 100)))
        assert below == pytest.approx(least_by_moments(parts, float(LEAST_BY_LAW) * 0.99 / 2), rel=ROOM)
        assert at < 0.97 * below


def test_laplace_noises_of_scales_that_differ_are_as_wide_as_the_widest():
    """A noise of no weight changes nothing, whatever its scale: slopes are taken below the largest scaled weight."""
    for missed in (Fraction(1, 20), Fraction(1, 10**8)):
        alone = combined_error(weighted(laplace, (30, 1, 1)), missed)
        beside = combined_error(weighted(laplace, (30, 1, 1), (30, 1e-7, 1)), missed)
        assert beside == pytest.approx(alone, rel=1e-6)


# --- what does not depend on the kind ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "variance"), [(laplace(4), 32), (gaussian(3), 9)])
def test_variances_are_those_of_continuous_noise(noise, variance):
    assert variance_of(noise) == variance
    assert Weights((noise, noise), (2.0, 1.0), (3, 4)).variance == variance * 16


def test_widths_are_zero_where_any_miss_is_allowed_and_none_where_no_miss_is():
    one = weighted(laplace, (3, 1, 1))
    assert combined_error(Weights((), (), ()), Fraction(1, 20)) == 0
    assert combined_error(one, Fraction(1)) == combined_error(one, Fraction(2)) == 0
    assert combined_error(one, Fraction(99, 100)) > 0
    with pytest.raises(InvalidInput, match="above 0"):
        combined_error(one, Fraction(0))
