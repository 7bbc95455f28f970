"""Numbers instead of categories, for an adversary of Class I: conjugate priors, and the belief that a value lies in a range.

The adversary's model is a normal distribution of known variance, a Poisson or a Pareto distribution; the prior over its parameter
is the conjugate one, and its stubbornness counts pseudo-observations. With the row, the belief in a range is the share of the
group's values in it; without it, the posterior predictive probability (Gelman and others 2013, chapters 2 and 3; the Pareto case
by taking logarithms, which makes it exponential). These probabilities are computed in floating point: a ratio within a relative
1e-9 of the limit counts as above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, log
from typing import Protocol

from tacit.errors import InvalidInput

CLOSE = 1e-9


class Conjugate(Protocol):
    """A model with a conjugate prior."""

    def above(self, values: Sequence[float], point: float) -> float:
        """The probability that a further value is above a point, after these values."""


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal distribution with a known variance; the prior of its mean counts as `stubbornness` observations of `mean`."""

    mean: float
    variance: float
    stubbornness: float

    def __post_init__(self) -> None:
        _positive(variance=self.variance, stubbornness=self.stubbornness)

    def above(self, values: Sequence[float], point: float) -> float:
        """The tail of a normal distribution around the posterior mean, wider by the uncertainty about that mean."""
        from scipy.special import ndtr

        weight = self.stubbornness + len(values)
        middle = (self.stubbornness * self.mean + sum(values)) / weight
        return float(ndtr((middle - point) / (self.variance * (1 + 1 / weight)) ** 0.5))


@dataclass(frozen=True, slots=True)
class Poisson:
    """Counts with a Poisson distribution; the prior of its rate counts as `stubbornness` observations with the mean `mean`."""

    mean: float
    stubbornness: float

    def __post_init__(self) -> None:
        _positive(mean=self.mean, stubbornness=self.stubbornness)

    def above(self, values: Sequence[float], point: float) -> float:
        """The tail of a negative binomial distribution."""
        from scipy.special import betainc

        if any(value < 0 or value != int(value) for value in values):
            raise InvalidInput("Poisson values must be whole numbers of 0 or more")
        if point < 0:
            return 1.0
        weight = self.stubbornness + len(values)
        events = self.stubbornness * self.mean + sum(values)
        return float(betainc(int(point) + 1, events, 1 / (weight + 1)))


@dataclass(frozen=True, slots=True)
class Pareto:
    """A Pareto distribution from a known minimum; the prior of its exponent counts as observations with the mean log `mean_log`."""

    minimum: float
    mean_log: float
    stubbornness: float

    def __post_init__(self) -> None:
        _positive(minimum=self.minimum, mean_log=self.mean_log, stubbornness=self.stubbornness)

    def above(self, values: Sequence[float], point: float) -> float:
        """The tail of a Lomax distribution in the logarithm."""
        if any(value < self.minimum for value in values):
            raise InvalidInput("Pareto values must be at least the minimum")
        weight = self.stubbornness + len(values)
        logs = self.stubbornness * self.mean_log + sum(log(value / self.minimum) for value in values)
        return 1.0 if point <= self.minimum else (logs / (logs + log(point / self.minimum))) ** weight


@dataclass(frozen=True, slots=True)
class RangeBelief:
    """The belief that a value is above `low` and at most `high`, with the row and without it."""

    low: float
    high: float
    with_row: float
    without: float

    @property
    def worst(self) -> float:
        """The larger of both ratios."""
        return max(_over(self.with_row, self.without), _over(1 - self.without, 1 - self.with_row))


def range_beliefs(values: Sequence[float], cuts: Sequence[float], model: Conjugate) -> list[RangeBelief]:
    """The beliefs in each range between public cut points, the first and the last without an end.

    >>> [round(each.worst, 3) for each in range_beliefs([30, 31, 33, 60], [40], Normal(35, 100, 10))]
    [1.398, 0.867]
    """
    if not values or not all(isfinite(value) for value in values):
        raise InvalidInput("a group needs at least one value, and every value must be a finite number")
    if list(cuts) != sorted(set(cuts)):
        raise InvalidInput("cut points must be in increasing order, each once")
    ends = [-inf, *cuts, inf]
    tails = [1.0, *(model.above(values, cut) for cut in cuts), 0.0]
    return [
        RangeBelief(low, high, sum(low < value <= high for value in values) / len(values), above - beyond)
        for low, high, above, beyond in zip(ends, ends[1:], tails, tails[1:], strict=False)
    ]


def private(values: Sequence[float], cuts: Sequence[float], model: Conjugate, ratio: float) -> bool:
    """Whether every range keeps within the ratio; a ratio that is too close to the limit to be decided does not."""
    return all(each.worst <= ratio * (1 - CLOSE) for each in range_beliefs(values, cuts, model))


def _over(one: float, other: float) -> float:
    if other <= 0:
        return inf if one > 0 else 1.0
    return one / other


def _positive(**numbers: float) -> None:
    for name, number in numbers.items():
        if not 0 < number < inf:
            raise InvalidInput(f"{name} must be a positive number", argument=name)
