"""Intervals for the true share, from the number of reports that support a category. Proofs in intervals.md.

Everything is computed for the *rate* m = q + (p - q) f at which reports support a category of share f, where p is the oracle's
`hit` and q its `false_hit`; the ends are carried over to shares at the end. An interval is the set of all rates that the count does
not contradict, so that the exact variance, which depends on the unknown share, is used as it is and nothing is plugged in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, as_text, exact, float_up, log_up, sqrt_up

Floats = NDArray[np.float64]
STEPS = 44  # halvings: an interval of length 1 becomes shorter than 10^-13
THIRDS = 40  # an interval of length 1 becomes shorter than 10^-7, and at a peak a value moves by less than the square of that


def divergence(observed: Floats, rate: Floats) -> Floats:
    """KL(x, m) = x ln(x/m) + (1 - x) ln((1 - x)/(1 - m)), for 0 < m < 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(observed > 0, observed * np.log(observed / rate), 0.0)
        zeros = np.where(observed < 1, (1 - observed) * np.log((1 - observed) / (1 - rate)), 0.0)
    return ones + zeros


def ends(observed: Floats, limit: float) -> tuple[Floats, Floats]:
    """The lowest and the highest rate m with KL(observed, m) <= limit, from outside.

    >>> low, high = ends(np.array([0.0, 0.5]), limit=0.02)
    >>> low.round(4), high.round(4)
    (array([0.   , 0.401]), array([0.0198, 0.599 ]))
    """
    near = np.clip(observed, 0.0, 1.0)
    low, high = (outermost(lambda rate: divergence(near, rate) <= limit, near, np.full_like(near, far)) for far in (0.0, 1.0))
    return low, high


def outermost(fits: Callable[[Floats], NDArray[np.bool_]], near: Floats, far: Floats) -> Floats:
    """Between a point that fits and one beyond, the first that does not fit, by halving: all fit up to it and none after."""
    inner, outer = near.astype(np.float64), far.astype(np.float64)
    for _ in range(STEPS):
        middle = (inner + outer) / 2
        held = fits(middle)
        inner, outer = np.where(held, middle, inner), np.where(held, outer, middle)
    return outer


def deviation(rate: float, limit: float) -> float:
    """How far above `rate` an observed rate may lie, by Chernoff: the largest x - m with KL(x, m) <= limit.

    >>> round(deviation(0.25, limit=0.001), 4)                                   # about the root of 2 m (1 - m) limit, 0.0194
    0.0195
    """
    low, high = rate, 1.0
    if rate <= 0:  # nothing is ever seen above a rate of zero
        return 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        zeros = (1 - middle) * math.log((1 - middle) / (1 - rate)) if middle < 1 else 0.0
        low, high = (middle, high) if middle * math.log(middle / rate) + zeros <= limit else (low, middle)
    return high - rate


def largest_deviation(low: Fraction, high: Fraction, limit: float) -> float:
    """The largest deviation of either side over all rates from `low` to `high`; exact ones, since 1 - high may be tiny.

    Each side rises and then falls with the rate, so that thirds close in on its peak.
    """
    sides = [(low, high), (1 - high, 1 - low)]
    return max(_peak(lambda rate: deviation(rate, limit), float(first), float(last)) for first, last in sides)


def _peak(function: Callable[[float], float], low: float, high: float) -> float:
    """The largest value of a function that rises and then falls."""
    largest = max(function(low), function(high))
    for _ in range(THIRDS):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        first, second = function(one), function(other)
        largest = max(largest, first, second)
        low, high = (one, high) if first < second else (low, other)
    return largest


# --- where the true share lies, given how many reports support a category ----------------------------------------------------


Ends = tuple[Floats, Floats]
NUDGE = 1e-11  # in rates, outward: far above the rounding of floats, far below any half-width of up to 10^10 people


@dataclass(frozen=True, slots=True)
class Setting:
    """The terms of an interval: the oracle's two rates, the people who reported, and the chance that the interval may miss.

    `sampled` says whose share it is: that of those who reported (False), or of a large population from which they are a random
    sample (True), so that the sampling error is part of the interval.
    """

    hit: Fraction
    false_hit: Fraction
    people: int
    miss: Fraction
    sampled: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.false_hit < self.hit <= 1:
            raise InvalidInput(
                "the reports contain no information: the true category must be supported with a larger probability than others"
            )
        if isinstance(self.people, bool) or not isinstance(self.people, int) or self.people < 1:
            raise InvalidInput("people must be a whole number of at least 1: an estimate requires reports", argument="people")
        if not 0 < self.miss < 1:
            raise InvalidInput(f"miss must be above 0 and below 1, not {as_text(self.miss)}")

    @property
    def slope(self) -> Fraction:
        """How much a share moves the rate."""
        return self.hit - self.false_hit

    @property
    def variance(self) -> tuple[Fraction, Fraction, Fraction]:
        """The variance of one report's support at rate m, as the coefficients of 1, m and m squared."""
        if self.sampled:
            return Fraction(0), Fraction(1), Fraction(-1)
        return self.hit * self.false_hit, 1 - self.hit - self.false_hit, Fraction(0)

    @property
    def worst_variance(self) -> Fraction:
        """The largest variance of one report's support, over all shares."""
        constant, linear, square = self.variance
        peak = min(max(Fraction(1, 2), self.false_hit), self.hit) if self.sampled else self.hit
        return max(constant + linear * rate + square * rate**2 for rate in (self.false_hit, peak, self.hit))

    @property
    def deviation(self) -> Fraction:
        """The farthest that one report's support, 0 or 1, lies from its mean, over all shares."""
        return max(self.hit, 1 - self.false_hit)


@dataclass(frozen=True, slots=True)
class Bound:
    """One way to an interval: the ends of the rates for each observed rate, and the largest half-width of a rate in advance."""

    ends: Callable[[Setting, Floats], Ends]
    margin: Callable[[Setting], Fraction]
    guaranteed: bool = True


@lru_cache(maxsize=1024)
def margin(setting: Setting, bound: str) -> float:
    """The half-width of a share that no answers can exceed, known before the survey begins.

    >>> lecture = Setting(Fraction(3, 4), Fraction(1, 4), people=20000, miss=Fraction(1, 20))
    >>> [f"{margin(lecture, bound):.6f}" for bound in BOUNDS]
    ['0.031623', '0.027386', '0.019206', '0.019206', '0.016726', '0.012002']
    """
    return float_up(BOUNDS[check_bound(bound)].margin(setting) / setting.slope)


def share_ends(setting: Setting, bound: str, supports: NDArray[np.int64]) -> Ends:
    """The two ends for every category, within [0, 1], since shares are.

    A rate that no share has counts as the nearest that one has. Else a rate too low for anybody, as chance has it, would leave
    nothing of the interval, and a share of zero would seem certain. It only widens intervals.
    """
    return _shares_that_fit(setting, bound, np.clip(supports / setting.people, float(setting.false_hit), float(setting.hit)))


def tail_ends(setting: Setting, bound: str, supports: NDArray[np.int64]) -> Ends:
    """The same from the rates as they are: for an end that is used alone, such as those that enclose a quantile."""
    return _shares_that_fit(setting, bound, supports / setting.people)


def _shares_that_fit(setting: Setting, bound: str, observed: Floats) -> Ends:
    low, high = BOUNDS[check_bound(bound)].ends(setting, observed)
    shift, slope = float(setting.false_hit), float(setting.slope)
    return np.clip((low - NUDGE - shift) / slope, 0.0, 1.0), np.clip((high + NUDGE - shift) / slope, 0.0, 1.0)


@lru_cache(maxsize=1024)
def tightest(setting: Setting) -> str:
    """The guaranteed bound of the smallest margin: a choice by public facts alone, so that it costs no confidence."""
    return min((name for name, bound in BOUNDS.items() if bound.guaranteed), key=lambda name: margin(setting, name))


def read_miss(confidence: Number, intervals: int = 1) -> Fraction:
    """The chance of a miss for each of `intervals` intervals, so that all hold together with `confidence` (Bonferroni)."""
    sure = exact(confidence, "confidence")
    if not 0 < sure < 1:
        raise InvalidInput(
            f"confidence must be above 0 and below 1, not {confidence}; give for example confidence=0.95", argument="confidence"
        )
    return (1 - sure) / intervals


def check_bound(bound: str) -> str:
    """The name of a bound; raises if there is no such bound."""
    if bound not in BOUNDS:
        raise InvalidInput(f"bound must be one of {', '.join(BOUNDS)}, not {bound!r}", argument="bound")
    return bound


def normal_square(miss: Fraction) -> Fraction:
    """The square of the normal quantile that is passed on either side with total probability `miss`."""
    from scipy.special import ndtri

    return Fraction(float(ndtri(float(miss / 2)))) ** 2


# --- by the variance: (observed - m)^2 <= factor * variance(m) ---------------------------------------------------------------

Factor = Callable[[Setting], Fraction]


def _chebyshev(setting: Setting) -> Fraction:
    return 1 / (setting.people * setting.miss)


def _normal(setting: Setting) -> Fraction:
    return normal_square(setting.miss) / setting.people


def _by_variance(factor: Factor) -> Bound:
    """The rates from which the observed one lies no more than a number of standard deviations, which are those of the rate."""

    def ends(setting: Setting, observed: Floats) -> Ends:
        constant, linear, square = (float(factor(setting) * part) for part in setting.variance)
        lead, middle = 1 - square, observed + linear / 2
        inside = middle**2 - lead * (observed**2 - constant)
        half = np.sqrt(np.maximum(inside, 0.0))  # below zero no rate fits: an observed rate that is hardly possible
        return (middle - half) / lead, (middle + half) / lead

    return Bound(ends, lambda setting: sqrt_up(factor(setting) * setting.worst_variance), factor is not _normal)


def _symmetric(half_width: Callable[[Setting], Fraction]) -> Bound:
    """The same half-width whatever is observed."""

    def ends(setting: Setting, observed: Floats) -> Ends:
        half = float_up(half_width(setting))
        return observed - half, observed + half

    return Bound(ends, half_width)


def _as_printed(setting: Setting) -> Fraction:
    """Chebyshev with the variance of a report bounded by 1/4, as a lecture prints it (Ziani, Theorem 5): right, and loose."""
    return sqrt_up(_chebyshev(setting) / 4)


def _hoeffding(setting: Setting) -> Fraction:
    return sqrt_up(log_up(2 / setting.miss) / (2 * setting.people))


# --- by the variance and the range: n d^2 <= 2 ln(2 / miss) (variance(m) + reach d / 3), where d is the distance of the two rates


def _bernstein_ends(setting: Setting, observed: Floats) -> Ends:
    return observed - _bernstein_distance(setting, observed, -1), observed + _bernstein_distance(setting, observed, 1)


def _bernstein_distance(setting: Setting, observed: Floats, side: int) -> Floats:
    """The larger root of the quadratic in d that follows with m = observed + side * d; 0 if there is no root."""
    constant, linear, square = (float(part) for part in setting.variance)
    log, slope = 2 * float_up(_exponent(setting)), side * (linear + 2 * square * observed) + float(setting.deviation) / 3
    lead, half = 1 - log * square, log * slope / 2
    inside = half**2 + lead * log * (constant + linear * observed + square * observed**2)
    return np.where(inside > 0, np.maximum((half + np.sqrt(np.maximum(inside, 0.0))) / lead, 0.0), 0.0)


def _bernstein_margin(setting: Setting) -> Fraction:
    log = _exponent(setting)
    linear = setting.deviation * log / 3
    return linear + sqrt_up(linear**2 + 2 * setting.worst_variance * log)


def _exponent(setting: Setting) -> Fraction:
    """ln(2 / miss) / n, from above."""
    return log_up(2 / setting.miss) / setting.people


# --- by the relative entropy: n KL(observed, m) <= ln(2 / miss), see above


def _chernoff_ends(setting: Setting, observed: Floats) -> Ends:
    return ends(observed, float_up(_exponent(setting)))


def _chernoff_margin(setting: Setting) -> Fraction:
    return Fraction(largest_deviation(setting.false_hit, setting.hit, float_up(_exponent(setting))) + NUDGE)


BOUNDS: Mapping[str, Bound] = MappingProxyType(
    {
        "chebyshev as printed": _symmetric(_as_printed),
        "chebyshev": _by_variance(_chebyshev),
        "hoeffding": _symmetric(_hoeffding),
        "chernoff": Bound(_chernoff_ends, _chernoff_margin),
        "bernstein": Bound(_bernstein_ends, _bernstein_margin),
        "normal": _by_variance(_normal),
    }
)
