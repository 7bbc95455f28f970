"""Report noisy max: the index of the largest of several numbers, by noisy comparison. Proof in noisy_max.md."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import calibrate, events
from tacit.accounting.composition import loss
from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.additive import fitting_step
from tacit.mechanisms.exponential import positive_sensitivity
from tacit.mechanisms.noise import discrete
from tacit.mechanisms.noise.discrete_law import DiscreteLaplaceLaw
from tacit.mechanisms.noise.grid import add_units, read_array, read_step, to_units
from tacit.mechanisms.unseal import opened
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours, positive_budget
from tacit.privacy.rounding import Number, float_up

LARGEST_SCALE_LISTED = 200


@dataclass(frozen=True, slots=True)
class NoisyMax:
    """The index of the largest number after discrete Laplace noise of scale 2 * sensitivity / epsilon; ties go to the first.

    `sensitivity` is the most that any one of the numbers differs between neighbours, in either direction. Only the index
    leaves, so the price does not grow with how many there are. Pure epsilon: Dwork and Roth 2014, Claim 3.9, here with ties.

    >>> loudest = NoisyMax(sensitivity=1, epsilon=1, step=1)
    >>> print(loudest.loss, [round(p, 4) for p in loudest.law([3, 5]).probabilities.values()])
    pure epsilon 1 (add or remove one row) [Decimal('0.3200'), Decimal('0.6800')]
    """

    sensitivity: Fraction
    epsilon: Fraction
    step: Fraction
    neighbours: Neighbours = ADD_REMOVE

    def __init__(
        self, sensitivity: Number, epsilon: Number, step: Number | None = None, neighbours: Neighbours = ADD_REMOVE
    ) -> None:
        distance, budget = positive_sensitivity(sensitivity), positive_budget(epsilon)
        object.__setattr__(self, "sensitivity", distance)
        object.__setattr__(self, "epsilon", budget)
        object.__setattr__(self, "step", chosen_step(step, distance, 2 * distance / budget))
        object.__setattr__(self, "neighbours", neighbours)

    @property
    def units(self) -> int:
        """The sensitivity in units of the grid, with what rounding adds to it."""
        return math.ceil(self.sensitivity / self.step)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in units of the grid."""
        return 2 * self.units / self.epsilon

    @property
    def event(self) -> events.NoisyMax:
        """The event that the ledger records for one release."""
        return events.NoisyMax(self.epsilon, self.neighbours)

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def release(self, values: Any) -> int:
        """The index of the number that is largest with noise."""
        units = flat_units(opened(values), self.step)
        return int(np.argmax(add_units(units, discrete.draw_laplace(self.scale, units.size))))

    def law(self, values: Any) -> Law:
        """The probability of each index: the sum over the level at which it wins.

        Levels that none reaches but with probability 10^-60 are left out; 50 digits do not show them.
        """
        scores, noise = [int(unit) for unit in flat_units(opened(values), self.step)], listed_noise(self.scale)
        around, best = noise.reach(), max(scores)
        chances: dict[Hashable, Decimal] = dict.fromkeys(range(len(scores)), Decimal(0))
        for level in range(best - around, best + around + 1):
            for index in range(len(scores)):
                chances[index] = ARITHMETIC.add(chances[index], _wins_at(level, index, scores, noise))
        return Law(chances)

    def score_error(self, candidates: int, confidence: Number) -> float:
        """How far, with `confidence`, the chosen one of that many numbers is below the largest, at most.

        >>> NoisyMax(sensitivity=1, epsilon=1, step=1).score_error(candidates=10, confidence=0.95)
        21.0
        """
        if candidates < 1:
            raise InvalidInput(f"candidates must be a whole number of at least 1, not {candidates}", argument="candidates")
        noise = calibrate.discrete_laplace_error(self.scale, calibrate.miss(confidence, candidates))
        return float_up(self.step * (2 * noise + 1))


def chosen_step(step: Number | None, sensitivity: Fraction, scale: Fraction) -> Fraction:
    """The step that was given, or one on which rounding is not felt."""
    if step is not None:
        return read_step(step)
    return fitting_step(scale, sensitivity, lambda width: Fraction(math.ceil(sensitivity / width)))


def flat_units(values: Any, step: Fraction) -> NDArray[Any]:
    """Numbers as whole units on the grid, in one flat array of at least one."""
    array = read_array(values)
    if array.ndim != 1 or array.size == 0:
        raise InvalidValue("the values must be one flat list or array of at least one number")
    return np.asarray(to_units(array, step))


def listed_noise(scale: Fraction) -> DiscreteLaplaceLaw:
    """The law of the noise, if it is short enough to be summed over."""
    if scale > LARGEST_SCALE_LISTED:
        raise InvalidInput(f"noise of more than {LARGEST_SCALE_LISTED} steps is too long to list; use a larger step")
    return DiscreteLaplaceLaw(scale)


def _wins_at(level: int, index: int, scores: list[int], noise: DiscreteLaplaceLaw) -> Decimal:
    """The probability that `index` reaches `level`, those before it stay below and those after it are not above."""
    others = (noise.below(level - score + (place > index)) for place, score in enumerate(scores) if place != index)
    return reduce(ARITHMETIC.multiply, others, noise.mass(level - scores[index]))
