"""The sparse vector technique: which of many numbers are above a threshold, paid by the few that are. Proof in sparse_vector.md."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import calibrate
from tacit.accounting.composition import loss
from tacit.accounting.events import AboveThreshold
from tacit.errors import InvalidInput, Refused
from tacit.mechanisms.exponential import positive_sensitivity
from tacit.mechanisms.noise import discrete
from tacit.mechanisms.noise.discrete_law import DiscreteLaplaceLaw
from tacit.mechanisms.noise.grid import add_units, to_units
from tacit.mechanisms.noisy_max import chosen_step, flat_units, listed_noise
from tacit.mechanisms.unseal import opened
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours, positive_budget
from tacit.privacy.rounding import Number, exact, float_up

Answers = tuple[bool, ...]
Chances = tuple[list[Decimal], list[Decimal]]

MOST_ANSWERS_LISTED = 12


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Whether each number is above a noisy threshold, one after the other, until `positives` of them were.

    `sensitivity` is the most that any one of the numbers differs between neighbours. The threshold has noise of scale
    sensitivity / epsilon_threshold, drawn once; each number has fresh noise of scale 2 * positives * sensitivity /
    epsilon_answers. Pure epsilon_threshold + epsilon_answers, however many are below: Lyu, Su and Li 2017, Theorem 2.

    >>> alarms = SparseVector(sensitivity=1, epsilon_threshold=0.5, epsilon_answers=0.5, positives=1, threshold=100, step=1)
    >>> print(alarms.loss)
    pure epsilon 1 (add or remove one row)
    """

    sensitivity: Fraction
    epsilon_threshold: Fraction
    epsilon_answers: Fraction
    positives: int
    threshold: Fraction
    step: Fraction
    neighbours: Neighbours = ADD_REMOVE

    def __init__(
        self,
        sensitivity: Number,
        epsilon_threshold: Number,
        epsilon_answers: Number,
        positives: int,
        threshold: Number,
        step: Number | None = None,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> None:
        distance = positive_sensitivity(sensitivity)
        object.__setattr__(self, "sensitivity", distance)
        object.__setattr__(self, "epsilon_threshold", positive_budget(epsilon_threshold, "epsilon_threshold"))
        object.__setattr__(self, "epsilon_answers", positive_budget(epsilon_answers, "epsilon_answers"))
        object.__setattr__(self, "positives", _whole(positives, "positives"))
        object.__setattr__(self, "threshold", exact(threshold, "threshold"))
        smaller = distance * min(1 / self.epsilon_threshold, 2 * positives / self.epsilon_answers)
        object.__setattr__(self, "step", chosen_step(step, distance, smaller))
        object.__setattr__(self, "neighbours", neighbours)

    @property
    def units(self) -> int:
        """The sensitivity in units of the grid, with what rounding adds to it."""
        return math.ceil(self.sensitivity / self.step)

    @property
    def threshold_scale(self) -> Fraction:
        """The scale of the threshold's noise, in units of the grid."""
        return self.units / self.epsilon_threshold

    @property
    def answer_scale(self) -> Fraction:
        """The scale of each number's noise, in units of the grid."""
        return 2 * self.positives * self.units / self.epsilon_answers

    @property
    def event(self) -> AboveThreshold:
        """The event that the ledger records for one release."""
        return AboveThreshold(self.epsilon_threshold, self.epsilon_answers, self.positives, self.neighbours)

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def start(self) -> Watch:
        """A watch over numbers that come one at a time, each possibly chosen after the answers before it."""
        return Watch(self)

    def release(self, values: Any) -> Answers:
        """The answers for numbers that are all known in advance, up to the last positive one that is allowed."""
        units = flat_units(opened(values), self.step)
        above = self._above(units, self._noisy_threshold())
        stop = np.flatnonzero(above)[self.positives - 1 :]
        return tuple(above[: int(stop[0]) + 1].tolist()) if stop.size else tuple(above.tolist())

    def law(self, values: Any) -> Law:
        """The probability of each sequence of answers: the sum over the noisy threshold.

        Thresholds of probability below 10^-60 are left out; 50 digits do not show them.
        """
        scores = [int(unit) for unit in flat_units(opened(values), self.step)]
        if len(scores) > MOST_ANSWERS_LISTED:
            raise InvalidInput(f"the answers to more than {MOST_ANSWERS_LISTED} numbers are too many to list")
        noise, limit = listed_noise(self.threshold_scale), self._limit()
        weights = {limit + move: noise.mass(move) for move in range(-noise.reach(), noise.reach() + 1)}
        answer = DiscreteLaplaceLaw(self.answer_scale)
        chances = [_chances(answer, [limit - score for limit in weights]) for score in scores]
        return Law(dict(_sequences(chances, list(weights.values()), self.positives)))

    def margin(self, numbers: int, confidence: Number) -> float:
        """How far from the threshold, with `confidence`, all of that many numbers are answered rightly.

        >>> alarms = SparseVector(1, epsilon_threshold=0.5, epsilon_answers=0.5, positives=1, threshold=100, step=1)
        >>> alarms.margin(numbers=10, confidence=0.95)
        33.0
        """
        missed = calibrate.miss(confidence, _whole(numbers, "numbers") + 1)
        noise = sum(calibrate.discrete_laplace_error(scale, missed) for scale in (self.threshold_scale, self.answer_scale))
        return float_up(self.step * (noise + 1))

    def _limit(self) -> int:
        return int(to_units(self.threshold, self.step))

    def _noisy_threshold(self) -> int:
        return self._limit() + int(discrete.draw_laplace(self.threshold_scale, 1)[0])

    def _above(self, units: NDArray[Any], limit: int) -> NDArray[np.bool_]:
        return np.asarray(add_units(units, discrete.draw_laplace(self.answer_scale, units.size)) >= limit, dtype=np.bool_)


def _chances(noise: DiscreteLaplaceLaw, needed: Sequence[int]) -> Chances:
    """The probabilities of a negative and of a positive answer where noise of at least `needed` makes it positive."""
    return [noise.below(each) for each in needed], [noise.at_least(each) for each in needed]


def _sequences(chances: Sequence[Chances], weights: list[Decimal], left: int) -> Iterator[tuple[Hashable, Decimal]]:
    """Every sequence of answers to the remaining numbers, with its probability.

    `weights` are the probabilities of the noisy thresholds with the answers so far; `chances` has for each number those of a
    negative and of a positive answer, at each threshold.
    """
    if not chances or not left:
        yield (), reduce(ARITHMETIC.add, weights)
        return
    for answer, chance in zip((False, True), chances[0], strict=True):
        following = list(map(ARITHMETIC.multiply, weights, chance))
        for answers, weight in _sequences(chances[1:], following, left - answer):
            yield (answer, *answers), weight  # type: ignore[misc]


class Watch:
    """One run of a `SparseVector`: it holds the noisy threshold, and ends after the positives that were paid for.

    The threshold is private: a copy of the watch would be a second run with the same threshold, so it cannot be copied, pickled
    or carried into another process.
    """

    __slots__ = ("__left", "__limit", "__lock", "__mechanism", "__process")

    def __init__(self, mechanism: SparseVector) -> None:
        self.__mechanism = mechanism
        self.__limit = mechanism._noisy_threshold()
        self.__left = mechanism.positives
        self.__lock = threading.Lock()
        self.__process = os.getpid()

    @property
    def positives_left(self) -> int:
        """How many more answers may be positive."""
        return self.__left

    def ask(self, value: Any) -> bool:
        """Whether a number, with fresh noise, is at or above the noisy threshold."""
        units = flat_units([opened(value)], self.__mechanism.step)
        with self.__lock:
            self._check()
            above = bool(self.__mechanism._above(units, self.__limit)[0])
            self.__left -= above
        return above

    def _check(self) -> None:
        if self.__process != os.getpid():
            raise Refused("a watch can be used only in the process that started it; start another one, at its own price")
        if not self.__left:
            raise Refused(
                f"the watch has given the {self.__mechanism.positives} positive answers that it paid for; start another one"
            )

    def __repr__(self) -> str:
        return f"Watch(positives_left={self.__left})"

    def _refuse(self, *_: object) -> NoReturn:
        raise Refused("a watch cannot be copied or stored: a copy would answer twice behind one noisy threshold")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse


def _whole(number: int, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidInput(f"{name} must be a whole number of at least 1, not {number!r}", argument=name)
    return number
