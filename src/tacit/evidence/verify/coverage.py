"""The coverage of intervals against their confidence: exactly where the law is listed, else from draws."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import InvalidInput
from tacit.evidence.verify.proportion import proportion_down, proportion_up
from tacit.mechanisms.mechanism import Listed, WithError
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law

SURE = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Coverage:
    """An interval that says `wanted` covers with a probability from `low` to `high`: for certain if `exact`, else at `sure`."""

    wanted: float
    low: float
    high: float
    exact: bool
    samples: int
    sure: float

    @property
    def holds(self) -> bool:
        """False only where it is shown that the intervals cover less often than they say."""
        return self.high >= self.wanted

    def __str__(self) -> str:
        how = "exactly" if self.exact else f"from {self.samples} draws"
        seen = f"{self.low:.4f}" if self.exact and self.high - self.low < 1e-4 else f"{self.low:.4f} to {self.high:.4f}"
        return f"covers {seen} ({how}), says {self.wanted:g}"


def coverage(mechanism: WithError, value: Any, confidence: float = 0.95, samples: int = 20_000, sure: float = SURE) -> Coverage:
    """How often the interval of `confidence` around `release(value)` holds `value`; the simultaneous one for a vector."""
    interval = interval_for(mechanism, value, confidence)
    if isinstance(mechanism, Listed):
        return coverage_of_law(mechanism.law(value), value, interval, confidence)
    return coverage_of_outputs([mechanism.release(value) for _ in range(samples)], value, interval, confidence, sure)


def coverage_of_law(law: Law, value: Any, interval: Interval, confidence: float) -> Coverage:
    """The probability, by the law of the output, that the interval around it holds `value`."""
    covering = (weight for outcome, weight in law.probabilities.items() if _covers(interval, outcome, value))
    listed = reduce(ARITHMETIC.add, covering, Decimal(0))
    return Coverage(confidence, float(listed), float(ARITHMETIC.add(listed, law.missing)), True, 0, 1.0)


def coverage_of_outputs(outputs: Iterable[Any], value: Any, interval: Interval, confidence: float, sure: float = SURE) -> Coverage:
    """The share of outputs around which the interval holds `value` (all its entries, for a vector), with its bounds."""
    released = np.array(list(outputs), dtype=np.float64)
    low, high = interval.around(released)  # type: ignore[arg-type]  # an array of values, each with its own ends
    covered = (low <= np.asarray(value)) & (np.asarray(value) <= high)
    return coverage_of_draws(covered.reshape(len(released), -1).all(axis=1), confidence, sure)


def coverage_of_draws(covered: ArrayLike, confidence: float, sure: float = SURE) -> Coverage:
    """The same from one truth value per draw, for intervals of any origin.

    >>> print(coverage_of_draws([True] * 940 + [False] * 60, confidence=0.99))
    covers 0.8823 to 0.9755 (from 1000 draws), says 0.99
    """
    hits = np.asarray(covered, dtype=np.bool_)
    if hits.ndim != 1 or not hits.size:
        raise InvalidInput("coverage requires a non-empty list of truth values, one per draw")
    error = (1 - sure) / 2
    low, high = (float(bound(hits.sum(), hits.size, error)) for bound in (proportion_down, proportion_up))
    return Coverage(confidence, low, high, False, hits.size, sure)


def interval_for(mechanism: WithError, value: Any, confidence: float) -> Interval:
    """The mechanism's interval for one number, its simultaneous one for a vector."""
    if np.ndim(value) == 0:
        return mechanism.interval(confidence)
    if not hasattr(mechanism, "simultaneous_interval"):
        raise InvalidInput(f"{type(mechanism).__name__} has no simultaneous_interval, so a vector of its values has no interval")
    interval: Interval = mechanism.simultaneous_interval(confidence)
    return interval


def _covers(interval: Interval, outcome: Any, value: Any) -> bool:
    below, above = Fraction(interval.below), Fraction(interval.above)
    outcomes, values = (np.atleast_1d(np.asarray(number, dtype=object)) for number in (outcome, value))
    return all(-below <= Fraction(v) - Fraction(o) <= above for o, v in zip(outcomes, values, strict=True))
