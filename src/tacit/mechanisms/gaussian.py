"""The Gaussian mechanism on a public grid: discrete Gaussian noise, scaled to the l2 sensitivity. Proof in gaussian.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar, Self, Unpack

from numpy.typing import NDArray

from tacit.accounting import calibrate
from tacit.accounting.events import CalibratedGaussian, GaussianNoise
from tacit.accounting.gaussian_curve import Moves, calibrated_rho
from tacit.accounting.gaussian_sums import gaussian_tail_up, whole_sum
from tacit.mechanisms import additive
from tacit.mechanisms.additive import Shape
from tacit.mechanisms.mechanism import Norm
from tacit.mechanisms.noise import discrete
from tacit.mechanisms.noise.grid import STEPS_PER_SCALE
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import ADD_REMOVE, Approximate, Neighbours, largest_concentrated_down, positive_budget, probability
from tacit.privacy.rounding import Number, as_text, exact, log_up, sqrt_up

FAR = 16  # scales from the centre: e^-128 is below the last digit of a law
WEIGHTS = Context(prec=60)


@dataclass(frozen=True, slots=True)
class Gaussian(additive.AdditiveNoise):
    """Adds to each of `dimension` numbers k * step, the integer k with probability proportional to exp(-k^2 / (2 scale^2)).

    `sensitivity` is the largest l2 distance between the exact values of neighbours; `on_grid` as for Laplace. Concentrated rho:
    Canonne, Kamath and Steinke 2020. A mechanism made `for_budget` is stated as (epsilon, delta) by the noise's own curve.

    >>> mechanism = Gaussian(sensitivity=1, rho=0.5, step=1, on_grid=True)
    >>> print(mechanism.interval(0.95), mechanism.loss, sep="; ")
    ± 2; concentrated rho 0.5 (add or remove one row)
    """

    name: ClassVar[str] = "Gaussian"
    norm: ClassVar[Norm] = "l2"
    concentrated: ClassVar[bool] = True

    sensitivity: Fraction
    rho: Fraction
    step: Fraction
    dimension: int = 1
    on_grid: bool = False
    neighbours: Neighbours = ADD_REMOVE
    stated: Approximate | None = field(init=False, default=None)

    def __init__(
        self,
        sensitivity: Number,
        rho: Number,
        step: Number | None = None,
        dimension: int = 1,
        on_grid: bool = False,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> None:
        distance, budget = additive.read_sensitivity(sensitivity), positive_budget(rho, "rho")
        count = additive.read_dimension(dimension)
        grid = additive.read_grid(distance, step, on_grid)
        object.__setattr__(self, "sensitivity", distance)
        object.__setattr__(self, "rho", budget)
        object.__setattr__(self, "step", grid or _fitting_step(distance, calibrate.gaussian_scale_up(distance, budget), count))
        object.__setattr__(self, "dimension", count)
        object.__setattr__(self, "on_grid", on_grid)
        object.__setattr__(self, "neighbours", neighbours)
        object.__setattr__(self, "stated", None)

    @classmethod
    def for_budget(cls, sensitivity: Number, epsilon: Number, delta: Number, **shape: Unpack[Shape]) -> Gaussian:
        """The least noise that is (epsilon, delta) by the noise's own curve (accounting/gaussian_curve.md).

        >>> one = Gaussian.for_budget(sensitivity=1, epsilon=1, delta=1e-6, step=1, on_grid=True)
        >>> print(one.loss, round(float(one.scale), 3), sep="; ")
        epsilon 1, delta 1e-06 (add or remove one row); 4.231
        """
        distance = additive.not_constant(additive.read_sensitivity(sensitivity))
        limit, chance = positive_budget(epsilon), probability(positive_budget(delta, "delta"))
        rough = cls(distance, largest_concentrated_down(limit, chance), **shape)
        return rough._restate(Approximate(limit, chance, rough.neighbours), any_step=shape.get("step") is None)

    def _restate(self, budget: Approximate, any_step: bool) -> Gaussian:
        """The same question with the least noise for `budget`; one number on a finer grid where that is less noise."""
        step, units = self.step, self.units
        while (rho := self._calibrate(units, budget)) and any_step and self.dimension == 1:
            if calibrate.gaussian_scale_up(units, rho) >= STEPS_PER_SCALE:
                break
            step /= 2
            units = _units(self.sensitivity, step, 1, self.on_grid)
        made = Gaussian(self.sensitivity, rho, step, self.dimension, self.on_grid, self.neighbours)
        lost = self.dimension * discrete.gaussian_truncation(made.scale)
        object.__setattr__(made, "stated", replace(budget, delta=calibrate.drifted_delta_up(budget.delta, budget.epsilon, lost)))
        return made

    def _calibrate(self, units: Fraction, budget: Approximate) -> Fraction:
        moves = Moves(units, entries=self.dimension)
        return calibrated_rho((moves,), (Fraction(1),), budget.epsilon, budget.delta)

    @classmethod
    def for_error(cls, error: Number, confidence: Number, sensitivity: Number, **shape: Unpack[Shape]) -> Self:
        """The least rho with which `interval(confidence)` is at most `error` on either side; off the grid, up to one step.

        >>> counts = Gaussian.for_error(error=10, confidence=0.95, sensitivity=1, step=1, on_grid=True)
        >>> print(counts.interval(0.95), f"{float(counts.rho):.5f}")
        ± 10 0.01737
        """
        return cls._staying_within(error, calibrate.miss(confidence), sensitivity, shape)

    @classmethod
    def _staying_within(cls, error: Number, missed: Fraction, sensitivity: Number, shape: Shape) -> Self:
        distance, wanted = additive.not_constant(additive.read_sensitivity(sensitivity)), positive_budget(error, "error")
        dimension, on_grid = additive.read_dimension(shape.get("dimension", 1)), shape.get("on_grid", False)
        step = additive.read_grid(distance, shape.get("step"), on_grid)
        step = step or _fitting_step(distance, wanted / sqrt_up(2 * log_up(2 / missed)), dimension)
        units, steps = _units(distance, step, dimension, on_grid), additive.whole_steps(wanted, step, on_grid)
        least = calibrate.gaussian_rho_up(units, steps if on_grid else steps - 1, missed)
        rho = calibrate.short_up(least, additive.DIGITS_OF_BUDGET)
        return cls(distance, rho, step, dimension, on_grid, shape.get("neighbours", ADD_REMOVE))

    @property
    def units(self) -> Fraction:
        """The sensitivity in units of the grid, with what rounding adds to it: grid.md, Lemmas 1, 3 and 4."""
        return _units(self.sensitivity, self.step, self.dimension, self.on_grid)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in units of the grid, to 15 digits, rounded up."""
        return calibrate.gaussian_scale_up(self.units, self.rho)

    @property
    def event(self) -> GaussianNoise | CalibratedGaussian:
        """The event that the ledger records for one release: its rho, and the statement beside it."""
        noise = self.noise
        return noise if self.stated is None else CalibratedGaussian((noise,), self.stated.epsilon, self.stated.delta)

    @property
    def noise(self) -> GaussianNoise:
        """The noise that is drawn, whatever its statement."""
        truncation = self.dimension * discrete.gaussian_truncation(self.scale)
        return GaussianNoise(self.units, self.scale, truncation, self.neighbours)

    @property
    def deviation(self) -> float:
        """The standard deviation of one number in units of the grid, to a few digits: for weights, not for promises."""
        return float(self.scale)

    def resized(self, dimension: int) -> Gaussian:
        """The same rho on another number of numbers. A statement by its own curve does not go with it."""
        return Gaussian(self.sensitivity, self.rho, self.step, dimension, self.on_grid, self.neighbours)

    def _noise(self, size: int) -> NDArray[Any]:
        return discrete.draw_gaussian(self.scale, size)

    def law(self, value: Any, missing: Number = additive.MISSING) -> Law:
        """The law of `release(value)`: all outcomes but the farthest, which weigh at most `missing` for each number."""
        units, tail = additive.units_of(value, self.step, self.dimension, self.on_grid), exact(missing, "missing")
        scale = self.scale
        reach = calibrate.gaussian_error(scale, tail)
        weights = gaussian_weights(scale) if scale else [Decimal(1)]
        return additive.law_around(units, self.step, weights[: reach + 1], additive.decimal(gaussian_tail_up(scale, reach)))

    def _interval(self, missed: Fraction) -> Interval:
        """On the grid the noise's own tail; off it the mean of the tails at k - 1 and at k, for k >= 1: gaussian.md."""
        scale = self.scale
        steps = calibrate.gaussian_error(scale, missed)
        if self.on_grid:
            return additive.within(self.step * steps)
        if scale == 0:
            return additive.within(self.step / 2)
        tails = gaussian_tail_up(scale, steps - 1) + gaussian_tail_up(scale, steps)
        return additive.within(self.step * (steps if steps and tails <= 2 * missed else steps + 1))

    def chart(self, path: str | None = None) -> Any:
        """The law of the noise at half, once and twice the budget, with the interval at 95 %."""
        from tacit.chart import noise_picture, save

        band = self.interval(0.95)
        curves = {name: additive.curve(_chances(scale), self.step, band) for name, scale in self._several().items()}
        return save(noise_picture(curves, (-band.below, band.above), f"Gaussian noise: {band} at 95 %"), path)

    def _several(self) -> dict[str, Fraction]:
        """Scales at half, once and twice the budget, by their names."""
        factors = (Fraction(1, 2), Fraction(1), Fraction(2))
        if self.stated is None:
            return {f"rho {as_text(each * self.rho)}": calibrate.gaussian_scale_up(self.units, each * self.rho) for each in factors}
        epsilon = self.stated.epsilon
        return {
            f"epsilon {as_text(each * epsilon)}": calibrate.gaussian_scale_up(
                self.units, self._calibrate(self.units, replace(self.stated, epsilon=each * epsilon))
            )
            for each in factors
        }


def _units(distance: Fraction, step: Fraction, dimension: int, on_grid: bool) -> Fraction:
    if distance == 0:
        return Fraction(0)
    if on_grid:
        return Fraction(math.floor(distance / step)) if dimension == 1 else distance / step
    return Fraction(math.ceil(distance / step)) if dimension == 1 else distance / step + sqrt_up(Fraction(dimension))


def _fitting_step(distance: Fraction, scale: Fraction, dimension: int) -> Fraction:
    return additive.fitting_step(scale, distance, lambda step: _units(distance, step, dimension, on_grid=False))


def gaussian_weights(scale: Fraction) -> list[Decimal]:
    """The probabilities of 0, 1, 2, ... as far as they have digits: each is the last one times a ratio that shrinks evenly."""
    ratio = WEIGHTS.exp(WEIGHTS.divide(-(scale.denominator**2), 2 * scale.numerator**2))
    shrink = WEIGHTS.multiply(ratio, ratio)
    terms = [Decimal(1)]
    for _ in range(math.ceil(FAR * scale)):
        terms.append(WEIGHTS.multiply(terms[-1], ratio))
        ratio = WEIGHTS.multiply(ratio, shrink)
    whole = WEIGHTS.add(reduce(WEIGHTS.add, terms), reduce(WEIGHTS.add, terms[1:]))
    return [ARITHMETIC.divide(term, whole) for term in terms]


def _chances(scale: Fraction) -> Callable[[int], float]:
    if scale == 0:
        return lambda move: float(move == 0)
    width, whole = float(scale), float(whole_sum(scale).up)
    return lambda move: math.exp(-((move / width) ** 2) / 2) / whole
