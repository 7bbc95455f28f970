"""Cases that `tacit verify` runs, and mechanisms with one bug each, planted to show that the checks find it.

Mechanisms with one bug each, planted to show that the checks find it. Nothing releases a value with them.

Each lists its real law under the claim of the sound mechanism: a check of the law finds it for certain. Those of
samplers.py and some of small_trees.py are in the code that runs, while its listed law stays right.

Bugs that published code has had, planted one line at a time. Nothing releases a value with them.

Lyu, Su and Li 2017 list six variants of the sparse vector technique, four of them wrong; the forgotten factors are here. The
others are the slips of the same kind elsewhere: the spread of an extreme at its own rank used for one that aims inside the data, a
budget divided by too little, half of a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from tacit.accounting.composition import Cost
from tacit.accounting.events import Event, LaplaceNoise
from tacit.accounting.filter import Filter, State
from tacit.errors import InvalidInput
from tacit.evidence.verify import (
    hard_pairs,
    local_answers,
    samplers,
    small_families,
    small_graphs,
    small_grids,
    small_maps,
    small_margins,
    small_rounds,
    small_tables,
    small_training,
    small_trees,
)
from tacit.evidence.verify.case import Case, Contracted, Exhaustive
from tacit.evidence.verify.subjects import (
    BETA,
    CAP,
    CHANGED,
    COUNT,
    ENCLOSED,
    FILTER,
    FILTER_AT_ORDER,
    HALF,
    HEAVY,
    MAXIMUM,
    MEDIAN,
    ORDER,
    PROPOSED,
    REAL,
    SHARE,
    SMOOTH_CLAIM,
    SPARSE,
    SPARSE_TWO,
    TWO_ROWS,
    filled_bins,
    filter_case,
    moves_at,
    smooth_median,
    sound,
)
from tacit.evidence.verify.survey import SurveyedShare
from tacit.evidence.verify.trial import Effort, Pair
from tacit.mechanisms.bounds import ProposedBounds
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Listed, Mechanism
from tacit.mechanisms.noise import choice
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.smooth.estimates import SmoothQuantile
from tacit.mechanisms.smooth.sensitivity import order_place
from tacit.mechanisms.sorted_rows import SortedRows
from tacit.mechanisms.sparse_vector import SparseVector
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Loss
from tacit.privacy.rounding import exp_up


@dataclass(frozen=True)
class Underclaimed:
    """Runs `actual`, lists its law, and claims the loss of `claim`."""

    claim: Listed
    actual: Listed

    @property
    def event(self) -> Event:
        """The event that the ledger records for one release."""
        return self.claim.event

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return self.claim.loss

    def release(self, value: Any) -> Any:
        """An output of the mechanism that runs."""
        return self.actual.release(value)

    def law(self, value: Any) -> Law:
        """The law of the mechanism that runs."""
        return self.actual.law(value)


class WithoutTheTwo(SparseVector):
    """Noise on the answers as if a number could not rise while the threshold falls."""

    @property
    def answer_scale(self) -> Fraction:
        """The scale without its factor of 2."""
        return self.positives * self.units / self.epsilon_answers


class WithoutThePositives(SparseVector):
    """Noise on the answers for one positive, however many are given."""

    @property
    def answer_scale(self) -> Fraction:
        """The scale for one positive."""
        return 2 * self.units / self.epsilon_answers


class QuarterOfTheThreshold(SparseVector):
    """A quarter of the noise on the threshold."""

    @property
    def threshold_scale(self) -> Fraction:
        """A quarter of the scale that is needed."""
        return self.units / (4 * self.epsilon_threshold)


class OwnRankSpread(Quantile):
    """The spread of an extreme at its own rank, half of the spread that an aim inside the data needs."""

    @property
    def spread(self) -> Fraction:
        """The spread of an extreme at its own rank."""
        return Fraction(self.max_rows)


class OneRowOfThree(ProposedBounds):
    """Noise for one row of a unit, where a unit has three."""

    __slots__ = ()

    @property
    def noise(self) -> Laplace:
        """The noise for one row."""
        return ProposedBounds(1, self.epsilon).noise

    @property
    def event(self) -> LaplaceNoise:
        """The event of the honest mechanism, with its loss."""
        return ProposedBounds(self.max_rows, self.epsilon).event

    @property
    def loss(self) -> Loss:
        """The claim for three rows."""
        return ProposedBounds(self.max_rows, self.epsilon).loss


class HalvedBound(SmoothQuantile):
    """Noise scaled to half of the smooth bound."""

    def statistic(self, rows: SortedRows) -> tuple[Fraction, Fraction]:
        """The answer, and half of its smooth bound."""
        answer, bound = SmoothQuantile.statistic(self, rows)
        return answer, bound / 2


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    one, two = (SPARSE, hard_pairs.rising_and_falling(10, 1)), (SPARSE_TWO, hard_pairs.rising_and_falling(9, 2))
    highest = OwnRankSpread(1, lower=0, upper=40, step=1, epsilon=1)
    claim, actual = (QuantileWithInterval(HALF, lower=0, upper=20, step=1, epsilon=epsilon) for epsilon in (1, 2))
    changed, comes_or_goes = (Quantile(HALF, 0, 40, 1, 1, neighbours=relation) for relation in (CHANGE_ONE, ADD_REMOVE))
    sound, far = hard_pairs.far_end_median(1)
    halved = HalvedBound(sound.q, sound.lower, sound.upper, sound.step, sound.epsilon, gamma=sound.gamma)
    wrong: dict[str, tuple[str, str, Listed, Any]] = {
        "two": (one[0], "the noise without its 2", WithoutTheTwo(1, HALF, HALF, 1, threshold=2, step=1), one[1]),
        "positives": (two[0], "noise for one", WithoutThePositives(1, HALF, HALF, 2, threshold=2, step=1), two[1]),
        "threshold": (one[0], "a quarter of the threshold's noise", QuarterOfTheThreshold(1, HALF, HALF, 1, 2, step=1), one[1]),
        "spread": (MAXIMUM, "half the spread", highest, hard_pairs.above_the_aim(highest)),
        "halves": (
            ENCLOSED,
            "all of epsilon for each draw",
            Underclaimed(claim, actual),
            hard_pairs.under_both_ends(actual.of_many.low, actual.of_many.high),
        ),
        "halved": (HEAVY, "half of the bound", halved, far),
        "moved": (CHANGED, "noise for a row that comes or goes", Underclaimed(changed, comes_or_goes), ([39, 0], [39, 40])),
    }
    for plant, (spoiled, what, mechanism, pair) in wrong.items():
        yield plant, (spoiled, Contracted(f"{spoiled}, {what} (planted)", mechanism, (pair,)))


# --- mechanisms with one bug each, planted to show that the checks find it ---------------------------------------------------


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
        return self._scaled_noise(value).release(value)

    def law(self, value: Any) -> Law:
        """The law of that output."""
        return self._scaled_noise(value).law(value)

    def _scaled_noise(self, value: Any) -> Laplace:
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
    """The smooth sensitivity of the median as it is often printed: single gaps near the median, not the rows between them.

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


def _plant(spoiled: str, what: str, mechanism: Mechanism, *pairs: Pair) -> tuple[str, Case]:
    return spoiled, Contracted(f"{spoiled}, {what} (planted)", mechanism, pairs)


PLANTED: dict[str, tuple[str, Case]] = {
    "noise": _plant(COUNT, "noise 10% too small", PlantedUnderclaim(_count(1), _count(Fraction(10, 9))), (0, 1), (5, 4)),
    "sensitivity": _plant(
        TWO_ROWS,
        "noise for one row",
        PlantedUnderclaim(Laplace(sensitivity=2, epsilon=1, step=1, on_grid=True), _count(1)),
        (0, 2),
    ),
    "sign": _plant(COUNT, "a biased sign", PlantedSign(_count(1), _count(1)), (0, 1), (5, 4)),
    "value": _plant(COUNT, "noise that depends on the value", PlantedValue(_count(1), _count(1)), (0, 1), (5, 4)),
    "swap": _plant(SHARE, "p and 1-p swapped", PlantedSwap(40, RandomizedResponse(1)), (Fraction(12, 40), Fraction(13, 40))),
    "smooth": (
        MEDIAN,
        Exhaustive(f"{MEDIAN}, adjacent gaps only (planted)", SMOOTH_CLAIM, partial(smooth_median, adjacent_gaps)),
    ),
    "bounds": (
        PROPOSED,
        Contracted(f"{PROPOSED}, noise for one row (planted)", OneRowOfThree(3, 1), (filled_bins(3),)),
    ),
    "grid": _plant(REAL, "noise off the grid", PlantedGrid(_count(1), _count(1)), (0.25, 0.75)),
    "filter": (FILTER, filter_case(f"{FILTER}, doubled delta (planted)", PlantedFilter(*CAP))),
    "order": (
        FILTER_AT_ORDER,
        filter_case(f"{FILTER_AT_ORDER}, counted at another (planted)", Filter(*CAP, order=ORDER), moves_at(10 * ORDER)),
    ),
    **dict(local_answers.plant_cases()),
    **dict(small_maps.plant_cases()),
    **dict(small_tables.plant_cases()),
    **dict(small_rounds.plant_cases()),
    **dict(small_grids.plant_cases()),
    **dict(small_families.plant_cases()),
    **dict(small_training.plant_cases()),
    **dict(small_margins.plant_cases()),
    **dict(small_trees.plant_cases()),
    **dict(plant_cases()),
    **dict(small_graphs.plant_cases()),
    **dict(samplers.plant_cases()),
}


# --- the cases of `tacit verify` ------------------------------------------------------------------------------------------------


QUICK = Effort(samples=1_000)
FULL = Effort(samples=50_000)


def cases(plant: str | None = None) -> list[Case]:
    """All cases; with a plant, its case in place of the sound one that it spoils.

    >>> len(cases("noise")) == len(cases()), cases("noise")[0].name
    (True, 'Laplace, a count, noise 10% too small (planted)')
    """
    if plant is None:
        return sound()
    if plant not in PLANTED:
        raise InvalidInput(f"plant must be one of {', '.join(PLANTED)}, not {plant!r}", argument="plant")
    spoiled, planted = PLANTED[plant]
    usual = sound()
    if spoiled not in {case.name for case in usual}:
        raise InvalidInput(f'{spoiled!r} requires the package numba, which is not installed; run: pip install "tacit[graphs]"')
    return [planted if case.name == spoiled else case for case in usual]
