"""Numbers on a public grid with independent integer noise on each: the part that Laplace and Gaussian share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import calibrate
from tacit.accounting.composition import loss
from tacit.accounting.events import Event
from tacit.errors import InvalidInput, InvalidSensitivity, InvalidValue
from tacit.mechanisms.noise.grid import (
    STEPS_PER_SCALE,
    Units,
    add_units,
    default_step,
    from_units,
    grid_units,
    is_array,
    read_array,
    read_step,
    read_units,
    to_units,
)
from tacit.mechanisms.unseal import opened
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import Loss, Neighbours
from tacit.privacy.rounding import Number, as_text, exact, float_up

MOST_OUTCOMES = 2_000_000
MISSING = Fraction(1, 10**12)
POINTS_DRAWN = 200
DIGITS_OF_BUDGET = 6  # of one that is chosen for an error, rounded up


def read_sensitivity(sensitivity: Number) -> Fraction:
    """A sensitivity that is finite and at least 0; 0 is a constant, which requires no noise and reveals nothing.

    >>> read_sensitivity(-1)
    Traceback (most recent call last):
    ...
    tacit.errors.InvalidSensitivity: sensitivity must be a finite number of at least 0, not -1; give for example sensitivity=1
    """
    number = exact(sensitivity, "sensitivity", InvalidSensitivity)
    if number < 0:
        raise InvalidSensitivity(
            f"sensitivity must be a finite number of at least 0, not {sensitivity}; give for example sensitivity=1",
            argument="sensitivity",
        )
    return number


def read_dimension(dimension: int) -> int:
    """How many numbers are released at once."""
    if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
        raise InvalidInput(f"dimension must be a whole number of at least 1, not {dimension!r}")
    return dimension


class Shape(TypedDict, total=False):
    """How many numbers on which grid: the keywords that every constructor here takes."""

    step: Number | None
    dimension: int
    on_grid: bool
    neighbours: Neighbours


class AdditiveNoise(ABC):
    """Releases, intervals and the loss, for any law whose noise can be drawn and whose tail is known."""

    __slots__ = ()
    sensitivity: Fraction
    step: Fraction
    dimension: int
    on_grid: bool
    neighbours: Neighbours

    @property
    @abstractmethod
    def event(self) -> Event:
        """The event that the ledger records."""

    @abstractmethod
    def _noise(self, size: int) -> NDArray[Any]:
        """Independent noise, in units of the grid."""

    @abstractmethod
    def _interval(self, missed: Fraction) -> Interval:
        """The interval that one number leaves with at most this chance."""

    @classmethod
    @abstractmethod
    def _staying_within(cls, error: Number, missed: Fraction, sensitivity: Number, shape: Shape) -> Self:
        """With the least budget for which one number leaves `error` on either side with at most the chance `missed`."""

    @classmethod
    def for_simultaneous_error(cls, error: Number, confidence: Number, sensitivity: Number, **shape: Unpack[Shape]) -> Self:
        """With the least budget for which `simultaneous_interval(confidence)` is at most `error` on either side."""
        return cls._staying_within(error, calibrate.miss(confidence, shape.get("dimension", 1)), sensitivity, shape)

    @property
    def loss(self) -> Loss:
        return loss(self.event)

    def release(self, value: Any) -> Any:
        """The value with noise, on the grid: a number for a number, an array of `dimension` for an array."""
        units = units_of(value, self.step, self.dimension, self.on_grid)
        return from_units(noisy(units, self._noise(self.dimension)), self.step)

    def release_units(self, units: Any) -> Units:
        """The same in whole units of the grid: exact integers in, exact integers out."""
        return noisy(given_units(units, self.dimension), self._noise(self.dimension))

    def release_each(self, units: Any) -> Units:
        """The same noise on every number of a flat array, however many: neighbours may differ in at most `dimension` of them.

        So the event does not depend on how many there are, such as the keys that a threshold shows.
        """
        numbers = each_units(units)
        return noisy(numbers, self._noise(numbers.size))

    def interval(self, confidence: Number) -> Interval:
        """Where the exact value lies around a released one with at least `confidence`, for each number by itself."""
        return self._interval(calibrate.miss(confidence))

    def simultaneous_interval(self, confidence: Number) -> Interval:
        """The same for all numbers at once; they are independent, so that this is sharper than the union bound."""
        return self._interval(calibrate.miss(confidence, self.dimension))


def read_grid(sensitivity: Fraction, step: Number | None, on_grid: bool) -> Fraction | None:
    """The step that was given, if one was. on_grid=True is a statement about the values, and needs the step that they have."""
    if step is None and on_grid:
        raise InvalidInput("on_grid=True requires a step that divides all values; give for example step=1")
    if step is None:
        return None
    width = read_step(step)
    if on_grid and 0 < sensitivity < width:
        raise InvalidSensitivity(
            f"values on a grid of step {as_text(width)} do not move by {as_text(sensitivity)}; give the step that the values have"
        )
    return width


def fitting_step(scale: Fraction, sensitivity: Fraction, units: Callable[[Fraction], Fraction]) -> Fraction:
    """The largest power of two up to scale / 1000 on which rounding adds at most a thousandth to the sensitivity.

    `units` gives the sensitivity in units of a step, rounding included: on a step near it, or for a long vector, it could be
    several times what was asked.
    """
    step = default_step(scale)
    while units(step) * step > sensitivity * (1 + Fraction(1, STEPS_PER_SCALE)):
        step /= 2
    return step


def units_of(value: Any, step: Fraction, dimension: int, on_grid: bool) -> Units:
    """The value as whole units on the grid, sealed or not: an integer for one number, an array of `dimension` for several."""
    plain = _in_shape(opened(value), dimension)
    return grid_units(plain, step) if on_grid else to_units(plain, step)


def given_units(units: Any, dimension: int) -> Units:
    """Whole units as a caller on the grid gives them, of the right number."""
    return read_units(_in_shape(opened(units), dimension))


def each_units(units: Any) -> NDArray[Any]:
    """Whole units of a flat array, however many there are."""
    array = np.asarray(read_units(opened(units)))
    if array.ndim != 1:
        raise InvalidValue("release_each requires one flat array of whole numbers")
    return array


def noisy(units: Units, noise: NDArray[Any]) -> Units:
    """The units with the noise added, exactly; an integer for an integer."""
    return add_units(units, noise if isinstance(units, np.ndarray) else int(noise[0]))


def within(distance: Fraction) -> Interval:
    """An interval of so much on either side."""
    return Interval(float_up(distance), float_up(distance))


def whole_steps(error: Fraction, step: Fraction, on_grid: bool) -> int:
    """How many whole steps an error allows. Off the grid it must allow one, since rounding alone may take half of it."""
    if error < step and not on_grid:
        raise InvalidInput(
            f"error must be at least the step {as_text(step)} of the grid, not {as_text(error)}; give a smaller step",
            argument="error",
        )
    return math.floor(error / step)


def not_constant(sensitivity: Fraction) -> Fraction:
    """The sensitivity, if a budget can be chosen for it."""
    if sensitivity == 0:
        raise InvalidSensitivity(
            "sensitivity must be above 0: an answer of sensitivity 0 is a constant that requires no noise", argument="sensitivity"
        )
    return sensitivity


def decimal(number: Fraction) -> Decimal:
    """A rational with the digits of a law."""
    return ARITHMETIC.divide(Decimal(number.numerator), Decimal(number.denominator))


def law_around(units: Units, step: Fraction, weights: list[Decimal], missing: Decimal) -> Law:
    """The law of the release: `weights` are those of the noise 0, ±1, ±2, ... and `missing` bounds the rest for one number."""
    moves = range(1 - len(weights), len(weights))
    centres = [int(unit) for unit in np.atleast_1d(np.asarray(units, dtype=object))]
    if len(moves) ** len(centres) > MOST_OUTCOMES:
        raise InvalidInput(
            f"{len(centres)} numbers of {len(moves)} outcomes each are too many to list; use a larger step, or missing=1e-6"
        )
    each = [{from_units(centre + move, step): weights[abs(move)] for move in moves} for centre in centres]
    if not isinstance(units, np.ndarray):
        return Law(each[0], missing)
    listed: dict[Hashable, Decimal] = {
        outcome: reduce(ARITHMETIC.multiply, map(dict.__getitem__, each, outcome)) for outcome in product(*each)
    }
    return Law(listed, min(Decimal(1), ARITHMETIC.multiply(Decimal(len(centres)), missing)))


def curve(density: Callable[[int], float], step: Fraction, band: Interval) -> tuple[list[float], list[float]]:
    """Points of the noise's law for a chart, as a density over the error, as many as an eye can see."""
    reach = max(3, math.ceil(1.6 * band.above / float(step)))
    every = max(1, reach // POINTS_DRAWN)
    moves = range(-(reach // every) * every, reach + 1, every)
    return [float(move * step) for move in moves], [density(move) / float(step) for move in moves]


def _in_shape(value: Any, dimension: int) -> Any:
    if not is_array(value):
        if dimension == 1:
            return value
    elif (array := read_array(value)).shape == (dimension,):
        return array
    elif array.shape == () and dimension == 1:
        return array[()]
    numbers = "one number" if dimension == 1 else f"one flat array of exactly {dimension} numbers"
    raise InvalidValue(f"expected {numbers}; give that, or create the mechanism with another dimension=")
