"""A public bound on a private scale, for part of the budget. Proof in smooth.md, "The bound that is sold"."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tacit.accounting.composition import loss
from tacit.accounting.events import LaplaceNoise
from tacit.errors import InvalidInput
from tacit.mechanisms.noise import discrete
from tacit.mechanisms.smooth.noise import SmoothMechanism
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import Loss, Neighbours, positive_budget
from tacit.privacy.rounding import Number, as_text, exact, exp_down, exp_up, float_up, log_up

HALF = Fraction(1, 2)
LISTED = 40  # scales of noise on each side of a listed law: what is left out weighs less than 10^-17


@dataclass(frozen=True, slots=True)
class SmoothBound:
    """A number that is at least the smooth bound used by `mechanism` on the same data, except with probability `failure`.

    The logarithm of a beta-smooth bound has sensitivity beta, so discrete Laplace noise on it is pure epsilon; the noise is
    shifted up by its own quantile, which is public.

    >>> from tacit.mechanisms.smooth.estimates import SmoothQuantile
    >>> median = SmoothQuantile(0.5, lower=0, upper=1000, step=1, epsilon=1)
    >>> sold = SmoothBound(median, epsilon=0.25, failure=0.01)
    >>> print(sold.loss)
    pure epsilon 0.25 (add or remove one row)
    >>> most = sold.release([490, 499, 500, 501, 510])
    >>> 0 < median.half_width(most, confidence=0.95)
    True
    """

    mechanism: SmoothMechanism
    epsilon: Fraction
    failure: Fraction

    def __init__(self, mechanism: SmoothMechanism, epsilon: Number, failure: Number = 0.01) -> None:
        chance = exact(failure, "failure")
        if not 0 < chance < 1:
            raise InvalidInput(f"failure must be a probability between 0 and 1, not {as_text(chance)}; give for example 0.01")
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "epsilon", positive_budget(epsilon))
        object.__setattr__(self, "failure", chance)

    @property
    def neighbours(self) -> Neighbours:
        """The relation of the mechanism whose bound is sold."""
        return self.mechanism.neighbours

    @property
    def log_step(self) -> Fraction:
        """The grid of the logarithm: a power of two, so fine that rounding adds at most 1/64 to the sensitivity."""
        return Fraction(2) ** math.floor(math.log2(self.mechanism.beta / 64))

    @property
    def event(self) -> LaplaceNoise:
        """The event that the ledger records for one release."""
        sensitivity = Fraction(math.ceil(self.mechanism.beta / self.log_step))
        return LaplaceNoise(sensitivity, sensitivity / self.epsilon, self.neighbours)

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    @property
    def lift(self) -> int:
        """How many units are added to the logarithm: P[noise <= -lift] is at most `failure`.

        It is p^lift / (1 + p) with p = exp(-1/scale). Noise above -lift also covers the half unit of rounding.
        """
        scale = self.event.scale
        within = scale * log_up(1 / (self.failure * (1 + exp_down(-1 / scale))))
        return max(math.ceil(within), 1)

    def release(self, values: Any) -> float:
        """The bound, in the unit of the values."""
        return self.release_for(self._private(values))

    def release_for(self, bound: Fraction) -> float:
        """The same for a smooth bound that is known already, in units of the grid. It is private."""
        noise = int(discrete.draw_laplace(self.event.scale, 1)[0])
        return self._at(self._log_units(bound) + noise)

    def law(self, values: Any) -> Law:
        """The law of `release(values)`, within 40 scales of noise."""
        scale, centre = self.event.scale, self._log_units(self._private(values))
        ratio = ARITHMETIC.exp(ARITHMETIC.divide(Decimal(-scale.denominator), Decimal(scale.numerator)))
        least = ARITHMETIC.divide(ARITHMETIC.subtract(1, ratio), ARITHMETIC.add(1, ratio))
        reach = math.ceil(LISTED * scale)
        masses: dict[Any, Decimal] = {}
        for noise in range(-reach, reach + 1):
            outcome = self._at(centre + noise)
            mass = ARITHMETIC.multiply(least, ARITHMETIC.power(ratio, abs(noise)))
            masses[outcome] = ARITHMETIC.add(masses.get(outcome, Decimal(0)), mass)
        return Law(masses, missing=ARITHMETIC.power(ratio, reach))

    def _private(self, values: Any) -> Fraction:
        return self.mechanism.statistic(self.mechanism.grid.rows(values))[1]

    def _log_units(self, bound: Fraction) -> int:
        return math.floor(log_up(bound) / self.log_step + HALF)

    def _at(self, noisy: int) -> float:
        """The exponential of the lifted logarithm, in the unit of the values; never more than any smooth bound can be."""
        largest = self.mechanism.largest_bound
        log = min((noisy + self.lift) * self.log_step, log_up(largest / self.mechanism.step))
        return float_up(min(exp_up(log) * self.mechanism.step, largest))
