"""The Laplace mechanism on a public grid: discrete Laplace noise, scaled to the l1 sensitivity. Proof in laplace.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self, Unpack

from numpy.typing import NDArray

from tacit.accounting import calibrate
from tacit.accounting.events import LaplaceNoise
from tacit.mechanisms import additive
from tacit.mechanisms.additive import Shape
from tacit.mechanisms.mechanism import Norm
from tacit.mechanisms.noise import discrete
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import ADD_REMOVE, Neighbours, positive_budget
from tacit.privacy.rounding import Number, as_text, exact


@dataclass(frozen=True, slots=True)
class Laplace(additive.AdditiveNoise):
    """Adds to each of `dimension` numbers k * step, the integer k with probability proportional to exp(-|k| / scale).

    `sensitivity` is the largest l1 distance between the exact values of neighbours. `on_grid` says that all values are multiples
    of `step`, as counts are: rounding then costs nothing. Pure epsilon: Dwork, McSherry, Nissim and Smith 2006; the discrete
    law: Ghosh, Roughgarden and Sundararajan 2009.

    >>> mechanism = Laplace(sensitivity=2, epsilon=0.5)
    >>> print(mechanism.interval(0.95), mechanism.loss, sep="; ")
    ± 11.98; pure epsilon 0.5 (add or remove one row)
    """

    name: ClassVar[str] = "Laplace"
    norm: ClassVar[Norm] = "l1"
    concentrated: ClassVar[bool] = False

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
    def for_error(cls, error: Number, confidence: Number, sensitivity: Number, **shape: Unpack[Shape]) -> Self:
        """The least epsilon with which `interval(confidence)` is at most `error` on either side.

        >>> counts = Laplace.for_error(error=10, confidence=0.95, sensitivity=1, step=1, on_grid=True)
        >>> print(counts.interval(0.95), f"{float(counts.epsilon):.4f}")
        ± 10 0.2843
        """
        return cls._staying_within(error, calibrate.miss(confidence), sensitivity, shape)

    @classmethod
    def _staying_within(cls, error: Number, missed: Fraction, sensitivity: Number, shape: Shape) -> Self:
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
        """The event that the ledger records for one release."""
        units = self.units
        return LaplaceNoise(units, calibrate.laplace_scale(units, self.epsilon), self.neighbours)

    @property
    def deviation(self) -> float:
        """The standard deviation of one number in units of the grid, to a few digits: for weights, not for promises."""
        return float(self.scale) * 2**0.5

    def resized(self, dimension: int) -> Laplace:
        """The same noise on another number of numbers, for the same sensitivity and budget of all of them.

        >>> Laplace(sensitivity=2, epsilon=0.5, step=1, on_grid=True).resized(10).simultaneous_interval(0.95)
        Interval(below=21.0, above=21.0)
        """
        return Laplace(self.sensitivity, self.epsilon, self.step, dimension, self.on_grid, self.neighbours)

    def _noise(self, size: int) -> NDArray[Any]:
        return discrete.draw_laplace(self.scale, size)

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
        return Fraction(distance // step)
    return Fraction(math.ceil(distance / step) + dimension - 1)


def _fitting_step(distance: Fraction, scale: Fraction, dimension: int) -> Fraction:
    return additive.fitting_step(scale, distance, lambda step: _units(distance, step, dimension, on_grid=False))


def _chance(scale: float, move: int) -> float:
    return math.tanh(0.5 / scale) * math.exp(-abs(move) / scale) if scale else float(move == 0)
