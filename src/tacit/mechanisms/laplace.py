"""The Laplace mechanism on a public grid: discrete Laplace noise, scaled to the l1 sensitivity. Proof in laplace.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Unpack

from tacit.accounting import calibrate
from tacit.accounting.composition import loss
from tacit.accounting.events import LaplaceNoise
from tacit.mechanisms import additive
from tacit.mechanisms.additive import Shape
from tacit.mechanisms.noise import discrete
from tacit.mechanisms.noise.grid import Units, from_units
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import Loss, positive_budget
from tacit.privacy.neighbours import ADD_REMOVE, Neighbours
from tacit.privacy.rounding import Number, as_text, exact


@dataclass(frozen=True, slots=True)
class Laplace:
    """Adds to each of `dimension` numbers k * step, the integer k with probability proportional to exp(-|k| / scale).

    `sensitivity` is the largest l1 distance between the exact values of neighbours. `on_grid` says that all values are multiples
    of `step`, as counts are: rounding then costs nothing. Pure epsilon: Dwork, McSherry, Nissim and Smith 2006; the discrete
    law: Ghosh, Roughgarden and Sundararajan 2009.

    >>> mechanism = Laplace(sensitivity=2, epsilon=0.5)
    >>> print(mechanism.interval(0.95), mechanism.loss, sep="; ")
    ± 11.98; pure epsilon 0.5 (add or remove one row)
    """

    sensitivity: Fraction
    epsilon: Fraction
    step: Fraction
    dimension: int = 1
    on_grid: bool = False
    neighbours: Neighbours = ADD_REMOVE

    def __init__(
        self,
        sensitivity: Number,
        epsilon: Number,
        step: Number | None = None,
        dimension: int = 1,
        on_grid: bool = False,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> None:
        distance, budget = additive.read_sensitivity(sensitivity), positive_budget(epsilon)
        count = additive.read_dimension(dimension)
        grid = additive.read_grid(distance, step, on_grid)
        object.__setattr__(self, "sensitivity", distance)
        object.__setattr__(self, "epsilon", budget)
        object.__setattr__(self, "step", grid or _fitting_step(distance, distance / budget, count))
        object.__setattr__(self, "dimension", count)
        object.__setattr__(self, "on_grid", on_grid)
        object.__setattr__(self, "neighbours", neighbours)

    @classmethod
    def for_error(cls, error: Number, confidence: Number, sensitivity: Number, **shape: Unpack[Shape]) -> Laplace:
        """The least epsilon with which `interval(confidence)` is at most `error` on either side.

        >>> counts = Laplace.for_error(error=10, confidence=0.95, sensitivity=1, step=1, on_grid=True)
        >>> print(counts.interval(0.95), f"{float(counts.epsilon):.4f}")
        ± 10 0.2843
        """
        return cls._staying_within(error, calibrate.miss(confidence), sensitivity, shape)

    @classmethod
    def for_simultaneous_error(cls, error: Number, confidence: Number, sensitivity: Number, **shape: Unpack[Shape]) -> Laplace:
        """The least epsilon with which `simultaneous_interval(confidence)` is at most `error` on either side."""
        return cls._staying_within(error, calibrate.miss(confidence, shape.get("dimension", 1)), sensitivity, shape)

    @classmethod
    def _staying_within(cls, error: Number, missed: Fraction, sensitivity: Number, shape: Shape) -> Laplace:
        distance, wanted = additive.not_constant(additive.read_sensitivity(sensitivity)), positive_budget(error, "error")
        dimension, on_grid = additive.read_dimension(shape.get("dimension", 1)), shape.get("on_grid", False)
        step = additive.read_grid(distance, shape.get("step"), on_grid)
        step = step or _fitting_step(distance, wanted / calibrate.laplace_error_up(1, missed), dimension)
        units, steps = _units(distance, step, dimension, on_grid), additive.whole_steps(wanted, step, on_grid)
        least = calibrate.discrete_laplace_epsilon_up if on_grid else calibrate.laplace_epsilon_up
        epsilon = calibrate.short_up(least(units, steps, missed), additive.DIGITS_OF_BUDGET)
        return cls(distance, epsilon, step, dimension, on_grid, shape.get("neighbours", ADD_REMOVE))

    @property
    def units(self) -> Fraction:
        """The sensitivity in units of the grid, with what rounding adds to it: grid.md, Lemmas 2 and 4."""
        return _units(self.sensitivity, self.step, self.dimension, self.on_grid)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in units of the grid."""
        return calibrate.laplace_scale(self.units, self.epsilon)

    @property
    def event(self) -> LaplaceNoise:
        """What the ledger records for one release."""
        return LaplaceNoise(self.units, self.scale, self.neighbours)

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def release(self, value: Any) -> Any:
        """The value with noise, on the grid: a number for a number, an array of `dimension` for an array."""
        units = additive.units_of(value, self.step, self.dimension, self.on_grid)
        return from_units(self._noisy(units), self.step)

    def release_units(self, units: Any) -> Units:
        """The same in whole units of the grid: exact integers in, exact integers out."""
        return self._noisy(additive.given_units(units, self.dimension))

    def release_each(self, units: Any) -> Units:
        """The same noise on every number of a flat array, however many: neighbours may differ in at most `dimension` of them.

        So the event does not depend on how many there are, such as the keys that a threshold shows.
        """
        known = additive.each_units(units)
        return additive.noisy(known, discrete.draw_laplace(self.scale, known.size))

    def _noisy(self, units: Units) -> Units:
        return additive.noisy(units, discrete.draw_laplace(self.scale, self.dimension))

    def law(self, value: Any, missing: Number = additive.MISSING) -> Law:
        """The law of `release(value)`: all outcomes but the farthest, which weigh at most `missing` for each number."""
        units, tail = additive.units_of(value, self.step, self.dimension, self.on_grid), exact(missing, "missing")
        if self.scale == 0:
            return additive.law_around(units, self.step, [Decimal(1)], Decimal(0))
        reach = calibrate.discrete_laplace_error(self.scale, tail)
        ratio = ARITHMETIC.exp(additive.decimal(-1 / self.scale))
        weights = [ARITHMETIC.divide(ARITHMETIC.subtract(Decimal(1), ratio), ARITHMETIC.add(Decimal(1), ratio))]
        for _ in range(reach):
            weights.append(ARITHMETIC.multiply(weights[-1], ratio))
        return additive.law_around(
            units, self.step, weights, additive.decimal(calibrate.discrete_laplace_tail_up(self.scale, reach))
        )

    def interval(self, confidence: Number) -> Interval:
        """Where the exact value lies around a released one with at least `confidence`, for each number by itself."""
        return self._interval(calibrate.miss(confidence))

    def simultaneous_interval(self, confidence: Number) -> Interval:
        """The same for all numbers at once; they are independent, so that this is sharper than the union bound.

        >>> print(Laplace(sensitivity=2, epsilon=0.5, step="1/8", dimension=10, on_grid=True).simultaneous_interval(0.95))
        ± 21.12
        """
        return self._interval(calibrate.miss(confidence, self.dimension))

    def _interval(self, missed: Fraction) -> Interval:
        """On the grid the noise's own tail; off it, rounding and noise exceed k steps with probability exp(-k/scale)."""
        if self.on_grid:
            return additive.within(self.step * calibrate.discrete_laplace_error(self.scale, missed))
        steps = math.ceil(calibrate.laplace_error_up(self.scale, missed))
        return additive.within(self.step * steps if steps else self.step / 2)

    def chart(self, path: str | None = None) -> Any:
        """The law of the noise at half, once and twice epsilon, with the interval at 95 %."""
        from tacit.chart import noise_picture, save

        band = self.interval(0.95)
        scales = {as_text(factor * self.epsilon): float(self.scale / factor) for factor in (Fraction(1, 2), 1, 2)}
        curves = {f"epsilon {name}": additive.curve(partial(_chance, scale), self.step, band) for name, scale in scales.items()}
        return save(noise_picture(curves, (-band.below, band.above), f"Laplace noise: {band} at 95 %"), path)


def _units(distance: Fraction, step: Fraction, dimension: int, on_grid: bool) -> Fraction:
    if on_grid or distance == 0:
        return Fraction(math.floor(distance / step))
    return Fraction(math.ceil(distance / step) + dimension - 1)


def _fitting_step(distance: Fraction, scale: Fraction, dimension: int) -> Fraction:
    return additive.fitting_step(scale, distance, lambda step: _units(distance, step, dimension, on_grid=False))


def _chance(scale: float, move: int) -> float:
    return math.tanh(0.5 / scale) * math.exp(-abs(move) / scale) if scale else float(move == 0)
