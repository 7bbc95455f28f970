"""From reports to shares and means, without bias, with intervals. Proofs in estimate.md; bounds in intervals.py, concentration.py.

A report supports a category with probability p if that is the person's own, else with probability q, so that the expected rate of
support is q + (p - q) f and (rate - q)/(p - q) is unbiased for the share f. A *tally* is all that an estimate needs of the
reports, and tallies of batches add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, exact, float_up
from tacit.publish.local.estimates.concentration import Scatter
from tacit.publish.local.estimates.intervals import Setting, margin, read_miss, share_ends, tightest
from tacit.publish.local.estimates.results import Frequencies, Mean, Terms
from tacit.publish.local.randomizers.randomizer import FrequencyOracle, Randomizer


class NumericRandomizer(Randomizer, Protocol):
    """Reports of a number in [lower, upper]; each decodes to a number whose mean is the true one."""

    @property
    def lower(self) -> Fraction:
        """The least value."""

    @property
    def upper(self) -> Fraction:
        """The largest value."""

    @property
    def worst_variance(self) -> Fraction:
        """The largest variance of one decoded report."""

    @property
    def spread(self) -> Fraction:
        """The largest decoded report less the smallest."""

    @property
    def rounding(self) -> Fraction:
        """The farthest that the grid moves a value in [lower, upper]."""

    def decode(self, reports: Any) -> NDArray[np.float64]:
        """The unbiased number of each report."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How many people reported, and how many reports support each category.

    >>> whole = Tally(3, [2, 1]) + Tally(2, [0, 2])
    >>> whole.people, whole.supports
    (5, array([2, 3]))
    """

    people: int
    supports: NDArray[np.int64]

    def __post_init__(self) -> None:
        counts = np.asarray(self.supports)
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or (counts < 0).any() or (counts > self.people).any():
            raise InvalidInput("a tally must have a whole number for each category, from 0 to the number of people")
        object.__setattr__(self, "supports", counts.astype(np.int64, copy=False))

    @classmethod
    def of(cls, oracle: FrequencyOracle, reports: Any) -> Tally:
        """The tally of a batch of reports."""
        return cls(_count(reports), oracle.supports(reports))

    def __add__(self, other: Tally) -> Tally:
        if len(self.supports) != len(other.supports):
            raise InvalidInput("tallies with different numbers of categories cannot be added")
        return Tally(self.people + other.people, self.supports + other.supports)


@dataclass(frozen=True, slots=True)
class Total:
    """How many people reported a number, and the sum of the decoded reports."""

    people: int
    total: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.total):
            raise InvalidInput("the total of decoded reports must be a finite number")

    @classmethod
    def of(cls, randomizer: NumericRandomizer, reports: Any) -> Total:
        """The total of a batch of reports."""
        return cls(_count(reports), math.fsum(randomizer.decode(reports)))

    def __add__(self, other: Total) -> Total:
        return Total(self.people + other.people, self.total + other.total)


def _count(reports: Any) -> int:
    try:
        return len(reports)
    except TypeError:
        raise InvalidInput("reports must be a list, one entry per respondent; put a single report into a list") from None


def unbiased_share(rate: Any, hit: Any, false_hit: Any) -> Any:
    """The unbiased share from a rate of support: (rate - q)/(p - q), in whatever numbers are given.

    >>> unbiased_share(Fraction(2, 5), Fraction(3, 4), Fraction(1, 4))
    Fraction(3, 10)
    """
    return (rate - false_hit) / (hit - false_hit)


def shares(oracle: FrequencyOracle, supports: NDArray[np.int64], people: int) -> NDArray[np.float64]:
    """`unbiased_share` in floats; p - q is exact before it is rounded, since for a tiny epsilon the two floats are the same."""
    unbiased: NDArray[np.float64] = (supports / people - float(oracle.false_hit)) / float(oracle.hit - oracle.false_hit)
    return unbiased


def share_variance(oracle: FrequencyOracle, share: Number, people: int) -> Fraction:
    """The exact variance of an estimated share if a fixed `share` of the people has the category.

    >>> from tacit.publish.local.randomizers.categories import KAry
    >>> round(float(share_variance(KAry(size=16, epsilon=1), share=0, people=1)), 5)
    5.66243
    """
    fraction, hit, false_hit = exact(share, "share"), oracle.hit, oracle.false_hit
    if not 0 <= fraction <= 1:
        raise InvalidInput(f"share must be from 0 to 1, not {share}")
    spread = fraction * hit * (1 - hit) + (1 - fraction) * false_hit * (1 - false_hit)
    return spread / (people * (hit - false_hit) ** 2)


def estimate(
    randomizer: Randomizer,
    reports: Any,
    confidence: Number = 0.95,
    bound: str | None = None,
    simultaneous: bool = False,
    sampled: bool = False,
    on_grid: bool = False,
) -> Frequencies | Mean:
    """The shares of all categories, or the mean of a number, from reports or from their tally.

    `bound` is a name of `intervals.BOUNDS` or `scatter.SUM_BOUNDS`; without one, the tightest that is a guarantee.
    `simultaneous` makes all intervals hold together; `sampled` makes them hold for a population from which the people who reported
    are a random sample, and not for these people alone. `on_grid` says that all answers were points of the grid to begin with, so
    that the interval of a mean need not include the half step by which rounding may have moved it.

    >>> from tacit.publish.local.randomizers.categories import KAry
    >>> shares = estimate(KAry(size=2, epsilon="1.0986122886681098"), Tally(20_000, [12_000, 8_000]), bound="chebyshev")
    >>> [round(float(number), 4) for number in (shares.values[1], shares.low[1], shares.high[1])]
    [0.3, 0.2726, 0.3274]
    """
    request = Request(confidence, bound, simultaneous, sampled, on_grid)
    return frequencies(randomizer, reports, request) if is_oracle(randomizer) else mean(numeric(randomizer), reports, request)


def is_oracle(randomizer: Randomizer) -> TypeGuard[FrequencyOracle]:
    """Whether shares are estimated from its reports; asked of one method, since a protocol would evaluate the whole channel."""
    return hasattr(randomizer, "supports")


def numeric(randomizer: Randomizer) -> NumericRandomizer:
    """The randomizer as one from whose reports a mean is estimated; raises if it is not one."""
    if not hasattr(randomizer, "decode"):
        raise InvalidInput(f"{type(randomizer).__name__} is neither a frequency oracle nor a numeric randomizer")
    return randomizer  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Request:
    """The kind of intervals that is requested; see `estimate`."""

    confidence: Number = 0.95
    bound: str | None = None
    simultaneous: bool = False
    sampled: bool = False
    on_grid: bool = False

    def terms(self, bound: str, rounding: Fraction = Fraction(0)) -> Terms:
        """The statement of an interval by this bound."""
        return Terms(exact(self.confidence, "confidence"), bound, self.simultaneous, self.sampled, rounding)

    def rounding(self, randomizer: NumericRandomizer, groups: int = 1) -> Fraction:
        """How far rounding to the grid may have moved a mean, or the difference of two: half a step for each, which is public."""
        return Fraction(0) if self.on_grid else groups * randomizer.rounding


def frequencies(oracle: FrequencyOracle, reports: Any, request: Request = Request()) -> Frequencies:  # frozen
    """The shares of all categories."""
    tally = tally_of(oracle, reports)
    miss = read_miss(request.confidence, oracle.size if request.simultaneous else 1)
    setting = Setting(oracle.hit, oracle.false_hit, tally.people, miss, request.sampled)
    bound = request.bound or tightest(setting)
    low, high = share_ends(setting, bound, tally.supports)
    values = shares(oracle, tally.supports, tally.people)
    exclusive = getattr(oracle, "exclusive", True)
    return Frequencies(tally.people, values, low, high, margin(setting, bound), request.terms(bound), exclusive=exclusive)


def tally_of(oracle: FrequencyOracle, reports: Any) -> Tally:
    """The tally of reports, or the one given, if it is of all categories."""
    tally = reports if isinstance(reports, Tally) else Tally.of(oracle, reports)
    if len(tally.supports) != oracle.size:
        raise InvalidInput(f"the tally has {len(tally.supports)} categories, but the randomizer has {oracle.size}")
    return tally


def mean(randomizer: NumericRandomizer, reports: Any, request: Request = Request()) -> Mean:  # frozen
    """The mean of a number."""
    total = reports if isinstance(reports, Total) else Total.of(randomizer, reports)
    scatter, miss = mean_scatter(randomizer, total.people, request.sampled), read_miss(request.confidence)
    bound = request.bound or scatter.tightest(miss)
    rounding, value = request.rounding(randomizer), total.total / total.people
    half = float_up(scatter.half_width_up(bound, miss) + rounding)
    low, high = (float(end) for end in ends_within(value, half, float(randomizer.lower), float(randomizer.upper)))
    return Mean(total.people, value, low, high, half, request.terms(bound, rounding))


def ends_within(value: Any, half: float, lowest: float, highest: float) -> tuple[Any, Any]:
    """The ends of an interval around a value, or around the nearest possible one; within the possible range.

    >>> [round(float(end), 2) for end in ends_within(-0.3, 0.1, 0.0, 1.0)]
    [0.0, 0.1]
    """
    middle = np.clip(value, lowest, highest)
    return np.clip(middle - half, lowest, highest), np.clip(middle + half, lowest, highest)


def mean_scatter(randomizer: NumericRandomizer, people: int, sampled: bool = False) -> Scatter:
    """How far the estimated mean of `people` strays.

    Values in [a, b] vary by at most (b - a)^2/4 among people, which a random sample adds to the variance of the reports.
    """
    among = (randomizer.upper - randomizer.lower) ** 2 / 4 if sampled else Fraction(0)
    return Scatter.of_mean(people, randomizer.worst_variance + among, randomizer.spread)
