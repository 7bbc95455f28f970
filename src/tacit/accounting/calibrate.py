"""The least noise for a budget, and the least budget for a wanted error. calibrate.md has the proofs.

An error is stated with the probability of missing it, for one coordinate: `miss(confidence, dimension)` turns "all of d
coordinates at once" into that. Everything is a closed form except for roots that have no closed form, and those are checked where
they land: what is returned holds, and is the least up to its last digits.

>>> scale = laplace_scale(sensitivity=2, epsilon=0.5)
>>> [round(float(laplace_error_up(scale, each)), 5) for each in (miss(0.95), miss_union(0.95, 10), miss(0.95, 10))]
[11.98293, 21.19327, 21.10138]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import count

from tacit.accounting.gaussian_sums import gaussian_delta_up, gaussian_tail_up, whole_units
from tacit.errors import InvalidInput, InvalidSensitivity
from tacit.privacy.loss import largest_concentrated_down, positive_budget, probability
from tacit.privacy.rounding import Number, brief, exact, exp_down, exp_up, log_up, sqrt_up

SIGNIFICANT = 15  # digits kept of a root that has no closed form
FAR = Fraction(10**4)  # e^-FAR stands for everything smaller


def miss(confidence: Number, dimension: int = 1) -> Fraction:
    """At or below the miss probability of one coordinate for which `dimension` independent ones all hold with `confidence`.

    1 - confidence^(1/d), exact for d = 1.
    """
    sure = _confidence(confidence)
    return 1 - sure if _dimension(dimension) == 1 else 1 - exp_up(log_up(sure) / dimension)


def miss_union(confidence: Number, dimension: int) -> Fraction:
    """The same by the union bound, (1 - confidence) / d, which needs no independence."""
    return (1 - _confidence(confidence)) / _dimension(dimension)


def laplace_scale(sensitivity: Number, epsilon: Number) -> Fraction:
    """The least scale of Laplace noise, continuous or discrete: sensitivity / epsilon."""
    return _sensitivity(sensitivity) / positive_budget(epsilon)


def laplace_error_up(scale: Number, missed: Fraction) -> Fraction:
    """The error of continuous Laplace noise: scale ln(1 / missed)."""
    return exact(scale, "scale") * log_up(1 / missed)


def laplace_epsilon_up(sensitivity: Number, error: Number, missed: Fraction) -> Fraction:
    """The least epsilon whose continuous Laplace noise has that error: sensitivity ln(1 / missed) / error.

    >>> [round(float(laplace_epsilon_up(1, 10, each)), 6) for each in (miss(0.95), miss_union(0.95, 10), miss(0.95, 10))]
    [0.299573, 0.529832, 0.527534]
    """
    return _sensitivity(sensitivity) * log_up(1 / missed) / positive_budget(error, "error")


def discrete_laplace_tail_up(scale: Fraction, beyond: int) -> Fraction:
    """At or above P[|X| > beyond] = 2 p^(beyond + 1) / (1 + p), p = e^(-1/scale), for discrete Laplace X."""
    if scale == 0 or beyond < 0:
        return Fraction(int(beyond < 0))
    return 2 * exp_up(-min((beyond + 1) / scale, FAR)) / (1 + _falling_down(scale))


def discrete_laplace_error(scale: Number, missed: Fraction) -> int:
    """The least whole k with P[|X| > k] <= missed: the least k + 1 of at least scale ln(2 / (missed (1 + p))).

    >>> discrete_laplace_error(4, miss(0.95)), discrete_laplace_error(4, miss(0.95, dimension=10))
    (12, 21)
    """
    width = exact(scale, "scale")
    return _discrete_laplace_error(width, missed) if width else 0


@lru_cache(maxsize=1024)
def _discrete_laplace_error(width: Fraction, missed: Fraction) -> int:
    return max(0, math.ceil(width * log_up(2 / (missed * (1 + _falling_down(width))))) - 1)


def discrete_laplace_epsilon_up(sensitivity: Number, error: int, missed: Fraction) -> Fraction:
    """The least epsilon, to 15 digits, with which discrete Laplace noise of scale sensitivity / epsilon stays within `error`.

    x = 1/scale solves (error + 1) x = ln(2 / missed) - ln(1 + e^-x); from above the iteration falls to the root, its slope
    below 1/2, and never passes it.

    >>> round(float(discrete_laplace_epsilon_up(1, 12, miss(0.95))), 6)
    0.239088
    """
    reach = _error(error) + 1
    rate = log_up(2 / missed) / reach
    lower = Fraction(0)
    while (rate - lower) * 10 ** (SIGNIFICANT + 5) > rate:
        lower, rate = 2 * (step := log_up(2 / (missed * (1 + exp_down(-rate)))) / reach) - rate, step
    return short_up(_sensitivity(sensitivity) * rate)


def _falling_down(scale: Fraction) -> Fraction:
    """p = e^(-1/scale), rounded down."""
    return exp_down(-1 / scale) if FAR * scale > 1 else Fraction(0)


def gaussian_scale_up(sensitivity: Number, rho: Number) -> Fraction:
    """The least scale, to 15 digits, of discrete Gaussian noise for concentrated `rho`: sensitivity / sqrt(2 rho)."""
    return short_up(_sensitivity(sensitivity) * sqrt_up(1 / (2 * positive_budget(rho, "rho"))))


def gaussian_error(scale: Number, missed: Fraction) -> int:
    """The least whole k with P[|X| > k] <= missed for discrete Gaussian X, every rounding against us.

    >>> gaussian_error(4, miss(0.95)), gaussian_error(4, miss(0.95, dimension=10))
    (8, 11)
    """
    return _gaussian_error(exact(scale, "scale"), missed)


@lru_cache(maxsize=1024)
def _gaussian_error(width: Fraction, missed: Fraction) -> int:
    """The search begins where the normal law, which misses by half a step, has its border: two tails are then enough."""
    near = width * _normal_reach(missed) - Fraction(1, 2)
    return _least_whole(lambda beyond: gaussian_tail_up(width, beyond) <= missed, max(0, math.ceil(near)))


@lru_cache(maxsize=1024)
def _normal_reach(missed: Fraction) -> Fraction:
    """About where the standard normal law exceeds either side with the chance `missed`."""
    return Fraction(_root(lambda reach: math.erfc(reach) <= missed, 0.0, 1.0)) * Fraction(math.sqrt(2))


def gaussian_rho_up(sensitivity: Number, error: int, missed: Fraction) -> Fraction:
    """The least rho, to 15 digits, with which discrete Gaussian noise stays within `error` grid units.

    >>> rho = gaussian_rho_up(1, 8, miss(0.95))
    >>> gaussian_error(gaussian_scale_up(1, rho), miss(0.95)), round(float(rho), 4)
    (8, 0.0265)
    """
    size, reach = _sensitivity(sensitivity), _error(error)
    widest = _root(lambda width: _tail_float(width, reach) > missed, (reach + 1.0) * 1e-3, reach + 1.0)
    least = size**2 / (2 * Fraction(widest) ** 2)
    return _first(least, lambda rho: size == 0 or gaussian_tail_up(gaussian_scale_up(size, rho), reach) <= missed)


def gaussian_scale_for(sensitivity: Number, epsilon: Number, delta: Number) -> Fraction:
    """The least scale, to about 10 digits, at which discrete Gaussian noise on one integer is (epsilon, delta) by its own sums.

    Bisection in floats from the concentrated scale down; the scale returned is checked by the rounded-up sums.

    >>> scale = gaussian_scale_for(1000, 1, 1e-6)
    >>> gaussian_delta_up(1000, scale, 1) <= Fraction(1, 10**6), round(float(scale))
    (True, 4225)
    """
    size, limit, rest = whole_units(sensitivity), positive_budget(epsilon), probability(positive_budget(delta, "delta"))
    safe = gaussian_scale_up(size, largest_concentrated_down(limit, rest))
    if size == 0 or limit > 500:  # e^500 is beyond floats, and beyond privacy
        return safe
    near = _root(lambda width: _delta_float(float(size), width, float(limit)) > rest, float(safe), float(safe) * 1e-3)
    return _first(Fraction(near), lambda scale: scale >= safe or gaussian_delta_up(size, scale, limit) <= rest)


def drifted_delta_up(delta: Number, epsilon: Number, drift: Number) -> Fraction:
    """The delta at `epsilon` of a sampler whose law is within `drift` in total variation: delta + (1 + e^epsilon) drift."""
    return probability(delta) + (1 + exp_up(exact(epsilon))) * probability(drift, "drift")


def short_up(number: Fraction, digits: int = SIGNIFICANT) -> Fraction:
    """The least number of `digits` significant decimal digits that is at or above a number of at least 0.

    >>> short_up(Fraction(1, 3), digits=3), short_up(Fraction(1, 4))
    (Fraction(167, 500), Fraction(1, 4))
    """
    if number == 0:
        return number
    size = math.floor((number.numerator.bit_length() - number.denominator.bit_length() - 1) * math.log10(2))
    unit = Fraction(10) ** (size - digits + 1)
    while number > 10**digits * unit:
        unit *= 10
    return math.ceil(number / unit) * unit


def _tail_float(scale: float, beyond: int) -> float:
    """P[|X| > beyond], near enough to begin a search."""
    return 2 * _sum_float(scale, beyond + 1) / _whole_float(scale)


def _delta_float(shift: float, scale: float, epsilon: float) -> float:
    start = math.ceil(epsilon * scale**2 / shift - shift / 2)
    return (_sum_float(scale, start) - math.exp(epsilon) * _sum_float(scale, start + int(shift))) / _whole_float(scale)


def _whole_float(scale: float) -> float:
    return scale * math.sqrt(2 * math.pi) if scale > 2 else 1 + 2 * _sum_float(scale, 1)


def _sum_float(scale: float, start: int) -> float:
    """`tail_sum` in floats: term by term, or the integral with three corrections of Euler and Maclaurin."""
    if start <= 0:
        return _whole_float(scale) - _sum_float(scale, 1 - start)
    position = start / scale
    if scale < 64:
        end = start + math.ceil(scale * (math.sqrt(position**2 + 80) - position)) + 1
        return math.fsum(math.exp(-((k / scale) ** 2) / 2) for k in range(start, end))
    corrections = 0.5 + position / (12 * scale) - (position**3 - 3 * position) / (720 * scale**3)
    integral = scale * math.sqrt(math.pi / 2) * math.erfc(position / math.sqrt(2))
    return integral + math.exp(-(position**2) / 2) * corrections


def _first(near: Fraction, holds: Callable[[Fraction], bool]) -> Fraction:
    """`near`, or the first of a row of numbers ever further above it, for which `holds`."""
    candidates = (short_up(near * (1 + Fraction(4**step - 1, 10**13))) for step in count())
    return next(candidate for candidate in candidates if holds(candidate))


def _least_whole(holds: Callable[[int], bool], near: int) -> int:
    """The least whole number from 0 on for which `holds`, which is false below it and true above; the search begins at `near`."""
    bad, good, step = near, near, 1
    while not holds(good):
        bad, good, step = good, good + step, 2 * step
    while bad >= 0 and (bad == good or holds(bad)):
        bad, good, step = bad - step, bad, 2 * step
    while good - bad > 1:
        middle = (bad + good) // 2
        bad, good = (bad, middle) if holds(middle) else (middle, good)
    return good


def _root(fails: Callable[[float], bool], good: float, bad: float) -> float:
    """A float near the border between where `fails` is false, from `good` on, and where it is true."""
    while not fails(bad):
        bad = bad / 2 if bad < good else bad * 2
    while abs(good - bad) > 1e-14 * (good + bad):
        middle = (good + bad) / 2
        good, bad = (good, middle) if fails(middle) else (middle, bad)
    return good


def _confidence(confidence: Number) -> Fraction:
    sure = exact(confidence, "confidence")
    if not 0 < sure < 1:
        raise InvalidInput(
            f"confidence must be above 0 and below 1, not {brief(confidence)}; give for example 0.95", argument="confidence"
        )
    return sure


def _dimension(dimension: int) -> int:
    if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
        raise InvalidInput(f"dimension must be a whole number of at least 1, not {dimension!r}")
    return dimension


def _error(error: int) -> int:
    if isinstance(error, bool) or not isinstance(error, int) or error < 0:
        raise InvalidInput(
            f"error must be a whole number of grid units, at least 0, not {error!r}; divide it by the step and round down",
            argument="error",
        )
    return error


def _sensitivity(sensitivity: Number) -> Fraction:
    number = exact(sensitivity, "sensitivity", InvalidSensitivity)
    if number < 0:
        raise InvalidSensitivity(f"sensitivity must be at least 0, not {sensitivity}", argument="sensitivity")
    return number
