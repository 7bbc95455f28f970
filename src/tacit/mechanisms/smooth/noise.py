"""The base of the mechanisms of smooth sensitivity: a public grid, a private scale, and noise that fits it.

The scale depends on the data. So there is no interval and no attribute that tells it; `SmoothBound` sells a public bound on it,
and `half_width` turns such a bound into an error bar. Proofs in smooth.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tacit.accounting.composition import loss
from tacit.accounting.events import SmoothNoise
from tacit.chart import noise_picture, save
from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise.grid import from_units, is_array, read_array, to_units
from tacit.mechanisms.noise.heavy import HeavyTails
from tacit.mechanisms.noise.tails import rounded_law, size_up
from tacit.mechanisms.smooth.calibration import Calibration, calibrated
from tacit.mechanisms.smooth.sensitivity import SLACK, smoothness
from tacit.mechanisms.sorted_rows import SortedRows, check_bounds, sorted_rows
from tacit.mechanisms.unseal import opened
from tacit.privacy.law import Law
from tacit.privacy.loss import Loss, Neighbours, positive_budget, probability
from tacit.privacy.rounding import Number, as_text, exact, float_up

MOST_OUTCOMES = 1_000_000
CHARTED = 4.0  # scales of noise on each side


@dataclass(frozen=True, slots=True)
class Grid:
    """The multiples of `step` from `lower` to `upper`, which are units of it."""

    lower: int
    upper: int
    step: Fraction

    def rows(self, values: Any) -> SortedRows:
        """Values, or a pair (values, counts), sealed or not: each rounded to its nearest unit and clamped. None: one row each."""
        plain = opened(values)
        if isinstance(plain, tuple) and len(plain) == 2 and plain[1] is None:
            return self.unit_rows(self._units(plain[0]))
        if isinstance(plain, tuple) and len(plain) == 2 and all(map(is_array, plain)):
            return self.unit_rows(self._units(plain[0]), _flat(plain[1]))
        return self.unit_rows(self._units(plain))

    def unit_rows(self, units: Any, counts: Any = None) -> SortedRows:
        """Rows that are whole units already."""
        return sorted_rows(opened(units), self.lower, self.upper, opened(counts))

    def value(self, units: int) -> Any:
        """The number at a unit of the grid."""
        return from_units(units, self.step)

    def _units(self, values: Any) -> Any:
        units: Any = to_units(_flat(values), self.step)
        return units if units.dtype != object else np.clip(units, self.lower, self.upper).astype(np.int64)


def read_grid(lower: Number, upper: Number, step: Number) -> Grid:
    """The public grid of a mechanism; its bounds are multiples of its step.

    >>> read_grid(0, 10, 0.5)
    Grid(lower=0, upper=20, step=Fraction(1, 2))
    """
    width, low, high = exact(step, "step"), exact(lower, "lower"), exact(upper, "upper")
    if width <= 0:
        raise InvalidInput(f"step must be a finite number above 0, not {step}; give for example step=0.01")
    if low >= high:
        raise InvalidInput(f"lower must be below upper, not {as_text(low)} and {as_text(high)}")
    if (low / width).denominator != 1 or (high / width).denominator != 1:
        raise InvalidInput(
            f"lower and upper must be multiples of the step: {as_text(low)} and {as_text(high)} are not both multiples of "
            f"{as_text(width)}; move the bounds outwards, or give a step that divides them"
        )
    check_bounds(int(low / width), int(high / width))
    return Grid(int(low / width), int(high / width), width)


class SmoothMechanism:
    """A quantity of sorted rows, with noise of scale (smooth bound) / alpha: what its kinds have in common."""

    __slots__ = ()

    lower: Fraction
    upper: Fraction
    step: Fraction
    epsilon: Fraction
    delta: Fraction
    gamma: Fraction | None
    max_rows: int
    neighbours: Neighbours

    def statistic(self, rows: SortedRows) -> tuple[Fraction, Fraction]:
        """The exact answer and its smooth bound, in units of the grid. Private: for a mechanism that adds noise to either."""
        raise TypeError(f"{type(self).__name__} is abstract; use SmoothQuantile or SmoothTrimmedMean")

    @property
    def grid(self) -> Grid:
        """The public grid."""
        return read_grid(self.lower, self.upper, self.step)

    @property
    def calibration(self) -> Calibration:
        """The noise's alpha and beta for the budget."""
        return calibrated(self.epsilon, self.delta, self.gamma)

    @property
    def alpha(self) -> Fraction:
        """The noise has scale (smooth bound) / alpha."""
        return self.calibration.alpha

    @property
    def beta(self) -> Fraction:
        """The smooth bounds of neighbours differ by a factor of at most e^beta."""
        return self.calibration.beta

    @property
    def largest_bound(self) -> Fraction:
        """The largest smooth bound on any data, in the unit of the values."""
        return (self.upper - self.lower) * (1 + SLACK)

    @property
    def event(self) -> SmoothNoise:
        """The event that the ledger records for one release."""
        return SmoothNoise(self.epsilon, self.delta, self.alpha, self.beta, self.gamma, self.neighbours)

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def release(self, values: Any) -> Any:
        """A number on the grid, from the values or a pair (values, counts), in any order and sealed or not."""
        grid = self.grid
        return grid.value(self._noisy(grid, grid.rows(values)))

    def release_units(self, units: Any, counts: Any = None) -> int:
        """The same for rows that are already whole units of the grid; returns a whole unit."""
        grid = self.grid
        return self._noisy(grid, grid.unit_rows(units, counts))

    def law(self, values: Any) -> Law:
        """The law of `release(values)`, from the definition of the noise; finite, since a release is clamped to the bounds."""
        grid = self.grid
        if grid.upper - grid.lower > MOST_OUTCOMES:
            raise InvalidInput(
                f"a law of more than {MOST_OUTCOMES} outcomes is too long to list; use a larger step or narrower bounds"
            )
        answer, bound = self.statistic(grid.rows(values))
        masses = rounded_law(self.calibration.noise, answer, bound / self.alpha, grid.lower, grid.upper)
        return Law({grid.value(units): mass for units, mass in masses.items()})

    def half_width(self, bound: Number, confidence: Number) -> float:
        """How far a release is from the exact answer, with `confidence`, if the smooth bound is at most the public `bound`.

        `SmoothBound` sells such a bound; its own chance to fail comes on top.
        """
        most, wanted = exact(bound, "bound"), exact(confidence, "confidence")
        if most <= 0 or not 0 < wanted < 1:
            raise InvalidInput(
                "bound must be above 0 and confidence between 0 and 1; give for example confidence=0.95",
                argument=("bound", "confidence"),
            )
        return float_up(most / self.alpha * size_up(self.calibration.noise, wanted) + self.step / 2)

    def chart(self, path: str | Path | None = None) -> Any:
        """The density of the noise at half, all and twice the epsilon, in multiples of the smooth bound, which is private."""
        curves = {}
        for epsilon in (self.epsilon / 2, self.epsilon, 2 * self.epsilon):
            calibration = calibrated(epsilon, self.delta, self.gamma)
            rate = float(calibration.alpha)
            sizes = (np.linspace(-CHARTED, CHARTED, 401) / float(self.alpha)).tolist()
            curves[f"epsilon {as_text(epsilon)}"] = (sizes, [rate * calibration.noise.density(rate * size) for size in sizes])
        title = f"{type(self).__name__}: noise over the smooth bound"
        return save(noise_picture(curves, None, title, axes=("error / smooth bound", "density")), path)

    def _noisy(self, grid: Grid, rows: SortedRows) -> int:
        return self.noisy(grid, *self.statistic(rows))

    def noisy(self, grid: Grid, answer: Fraction, bound: Fraction) -> int:
        """The release for an exact answer and its smooth bound, which are both private: a unit of the grid."""
        units = self.calibration.noise.draw().rounded(answer, bound / self.alpha)
        return min(max(units, grid.lower), grid.upper)


Budget = tuple[Number, Number, Number | None]


def set_terms(mechanism: SmoothMechanism, grid: Grid, budget: Budget, max_rows: int, neighbours: Neighbours) -> None:
    """Read and set what all kinds take; the budget is (epsilon, delta, gamma)."""
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
        raise InvalidInput(f"max_rows must be a whole number of at least 1, not {max_rows!r}", argument="max_rows")
    epsilon, delta, gamma = budget
    read = {
        "lower": grid.lower * grid.step,
        "upper": grid.upper * grid.step,
        "step": grid.step,
        "epsilon": positive_budget(epsilon),
        "delta": probability(delta),
        "gamma": None if gamma is None else HeavyTails(gamma).gamma,
        "max_rows": max_rows,
        "neighbours": neighbours,
    }
    for name, value in read.items():
        object.__setattr__(mechanism, name, value)
    smoothness(mechanism.beta)  # refuses a budget whose beta is too small, or which is no budget for this noise


def _flat(values: Any) -> Any:
    if not is_array(values):
        raise InvalidValue("the values must be one flat array of numbers, or a pair (values, counts) of such arrays")
    array = read_array(values)
    if array.ndim != 1:
        raise InvalidValue("the values must be one flat array of numbers, or a pair (values, counts) of such arrays")
    return array
