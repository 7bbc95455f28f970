"""Mechanisms with one bug each, planted to show that the checks find it. Nothing releases a value with them.

Each lists the law of what it really does, under the claim of what it should do: a check of the law finds it for certain. Those of
samplers.py and some of small_trees.py are in the code that runs, while its listed law stays right.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from tacit.accounting.composition import Cost
from tacit.accounting.filter import Filter, State
from tacit.evidence.verify import classical, local_answers, samplers, small_graphs, small_maps, small_tables, small_trees
from tacit.evidence.verify.case import Case, Contracted, Exhaustive
from tacit.evidence.verify.classical import Underclaimed
from tacit.evidence.verify.subjects import (
    BETA,
    CAP,
    COUNT,
    FILTER,
    HALF,
    MEDIAN,
    REAL,
    SHARE,
    SMOOTH_CLAIM,
    TWO_ROWS,
    filter_case,
    smooth_median,
)
from tacit.evidence.verify.survey import SurveyedShare
from tacit.evidence.verify.trial import Pair
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.noise import choice
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.smooth_sensitivity import order_place
from tacit.mechanisms.sorted_rows import SortedRows
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.rounding import exp_up


@dataclass(frozen=True)
class PlantedUnderclaim(Underclaimed):
    """Runs `actual`, and claims the loss, the grid and the intervals of `claim`."""

    claim: Laplace
    actual: Laplace

    @property
    def step(self) -> Fraction:
        """The step of the grid that is claimed."""
        return self.claim.step

    def interval(self, confidence: float) -> Interval:
        """The interval that is claimed."""
        return self.claim.interval(confidence)


@dataclass(frozen=True)
class PlantedSign(PlantedUnderclaim):
    """The size of the noise is right, and its sign is positive three times in five."""

    def release(self, value: Any) -> Any:
        """The value with noise of a lopsided sign."""
        size = abs(self.actual.release(0))
        return value + (size if choice.bernoulli(Fraction(3, 5), 1)[0] else -size)

    def law(self, value: Any) -> Law:
        """The law of that output."""
        sound = self.actual.law(0)
        tilt = {1: Decimal("1.2"), 0: Decimal(1), -1: Decimal("0.8")}
        tilted = {value + k: ARITHMETIC.multiply(p, tilt[(k > 0) - (k < 0)]) for k, p in sound.probabilities.items()}  # type: ignore[operator]
        return Law(tilted, ARITHMETIC.multiply(sound.missing, Decimal("1.2")))


@dataclass(frozen=True)
class PlantedValue(PlantedUnderclaim):
    """The scale of the noise grows with the value, by an eighth for each unit."""

    def release(self, value: Any) -> Any:
        """The value with noise whose scale follows it."""
        return self._scaled(value).release(value)

    def law(self, value: Any) -> Law:
        """The law of that output."""
        return self._scaled(value).law(value)

    def _scaled(self, value: Any) -> Laplace:
        return _count(1 / (1 + Fraction(abs(value), 8)))


@dataclass(frozen=True)
class PlantedGrid(PlantedUnderclaim):
    """The noise is on the grid and the value is not rounded to it, so that every output shows the value's fraction of a step."""

    def release(self, value: Any) -> Any:
        """The value as it is, with noise on the grid."""
        return value + self.actual.release(0)

    def law(self, value: Any) -> Law:
        """The law of that output."""
        return self.actual.law(0).map(lambda k: value + k)


@dataclass(frozen=True)
class PlantedSwap(SurveyedShare):
    """The estimator of a survey with p and 1 - p swapped: it estimates one minus the share."""

    def estimate(self, reported: int) -> float:
        """The estimate with p and 1 - p exchanged."""
        flip = 1 - self.response.flip
        return float((Fraction(reported, self.people) - flip) / (1 - 2 * flip))


@dataclass(frozen=True)
class PlantedFilter:
    """The naive rule of a ledger: the deltas of events and the conversion may each use the whole delta of the cap."""

    epsilon: Fraction
    delta: Fraction

    def admits(self, state: State, cost: Cost) -> bool:
        """Whether the naive rule admits a spend."""
        spent = self.after(state, cost)
        without_delta = State(spent.epsilon, spent.rho)
        return spent.delta <= self.delta and Filter(self.epsilon, self.delta, for_events=0).holds(without_delta)

    def after(self, state: State, cost: Cost) -> State:
        """The sums after a spend."""
        return Filter(self.epsilon, self.delta).after(state, cost)


def adjacent_gaps(rows: SortedRows) -> Fraction:
    """The smooth sensitivity of the median as it is often printed: single gaps near the median, not what lies between them.

    >>> from tacit.mechanisms.sorted_rows import sorted_rows
    >>> float(adjacent_gaps(sorted_rows([2, 3, 3, 4], 0, 4)))                      # the true one is 2.114
    1.4093761794374...
    """
    if not rows.size:
        return Fraction(rows.upper - rows.lower)
    place = order_place(HALF, rows.size)
    gaps = [
        max(rows.at(place + k + 1) - rows.at(place + k), rows.at(place - k) - rows.at(place - k - 1)) for k in range(rows.size + 1)
    ]
    return max(gap * exp_up(-k * BETA) for k, gap in enumerate(gaps))


def _count(epsilon: Fraction | int) -> Laplace:
    return Laplace(sensitivity=1, epsilon=epsilon, step=1, on_grid=True)


def _planted(spoiled: str, what: str, mechanism: Mechanism, *pairs: Pair) -> tuple[str, Case]:
    return spoiled, Contracted(f"{spoiled}, {what} (planted)", mechanism, pairs)


PLANTED: dict[str, tuple[str, Case]] = {
    "noise": _planted(COUNT, "noise 10% too small", PlantedUnderclaim(_count(1), _count(Fraction(10, 9))), (0, 1), (5, 4)),
    "sensitivity": _planted(
        TWO_ROWS,
        "noise for one row",
        PlantedUnderclaim(Laplace(sensitivity=2, epsilon=1, step=1, on_grid=True), _count(1)),
        (0, 2),
    ),
    "sign": _planted(COUNT, "a biased sign", PlantedSign(_count(1), _count(1)), (0, 1), (5, 4)),
    "value": _planted(COUNT, "noise that depends on the value", PlantedValue(_count(1), _count(1)), (0, 1), (5, 4)),
    "swap": _planted(SHARE, "p and 1-p swapped", PlantedSwap(40, RandomizedResponse(1)), (Fraction(12, 40), Fraction(13, 40))),
    "smooth": (
        MEDIAN,
        Exhaustive(f"{MEDIAN}, adjacent gaps only (planted)", SMOOTH_CLAIM, partial(smooth_median, adjacent_gaps)),
    ),
    "grid": _planted(REAL, "noise off the grid", PlantedGrid(_count(1), _count(1)), (0.25, 0.75)),
    "filter": (FILTER, filter_case(f"{FILTER}, doubled delta (planted)", PlantedFilter(*CAP))),
    **dict(local_answers.planted()),
    **dict(small_maps.planted()),
    **dict(small_tables.planted()),
    **dict(small_trees.planted()),
    **dict(classical.planted()),
    **dict(small_graphs.planted()),
    **dict(samplers.planted()),
}
