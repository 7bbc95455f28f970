"""Sorted whole numbers within public bounds, as rows or as values with counts: what order statistics are read from.

Places are counted from 1. Before the first row every place holds the lower bound, after the last one the upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise.grid import read_array, read_step, to_units
from tacit.mechanisms.smooth.decayed_gap import Integers, Stairs
from tacit.privacy.rounding import Number, as_text, exact

MOST_POINTS = 2**62
LARGEST_RANGE = 2**62  # units: differences of two values are exact in int64
PLACES = 32  # bits for the place of a value among up to 2^32; they are sorted with it
PACKED = 2**31 - 2  # ranges below it, and two values more, leave these bits free


@dataclass(frozen=True, slots=True)
class Grid:
    """The values lower, lower + step, ..., upper. Offsets count steps from `lower`.

    >>> Grid(0, 1, "0.25").points, Grid(0, 10, 1).value(3), Grid(0, 1, "0.25").value(3)
    (5, 3, 0.75)
    """

    lower: Fraction
    upper: Fraction
    step: Fraction

    def __init__(self, lower: Number, upper: Number, step: Number) -> None:
        object.__setattr__(self, "lower", exact(lower, "lower"))
        object.__setattr__(self, "upper", exact(upper, "upper"))
        object.__setattr__(self, "step", read_step(step))
        steps = (self.upper - self.lower) / self.step
        if steps.denominator != 1 or not 1 <= steps < MOST_POINTS:
            raise InvalidInput(
                f"from lower={as_text(self.lower)} to upper={as_text(self.upper)} there must be a whole number of steps of "
                f"{as_text(self.step)}, at least 1 and fewer than 2^62; move a bound or change the step"
            )

    @property
    def points(self) -> int:
        """How many points the grid has."""
        return int((self.upper - self.lower) / self.step) + 1

    def value(self, offset: int) -> int | float:
        """The value at an offset: an integer on a grid of integers, else the nearest float."""
        if self.lower.denominator == self.step.denominator == 1:
            return self.lower.numerator + int(offset) * self.step.numerator
        return float(self.lower + offset * self.step)

    def offsets(self, values: Any) -> Integers:
        """Each value rounded to the grid and clamped to its ends. Every row is mapped alone, so neighbours stay neighbours."""
        array = read_array(values)
        if array.ndim != 1:
            raise InvalidValue("the values must be one flat list or array of numbers")
        finer = (self.lower / self.step).denominator  # lower is a multiple of step / finer
        first, last = int(self.lower / self.step * finer), int(self.upper / self.step * finer)
        units = np.clip(to_units(array, self.step / finer), first, last) - first
        rounded: Integers = ((2 * units + finer) // (2 * finer)).astype(np.int64)
        return rounded

    def rows(self, values: Any) -> SortedRows:
        """Plain values as sorted offsets with counts."""
        distinct, counts = np.unique(self.offsets(values), return_counts=True)
        return sorted_rows(distinct, 0, self.points - 1, counts)

    def rows_of_units(self, pair: Any) -> SortedRows:
        """Offsets with counts, as an engine gives them; without counts (None), each offset is one row."""
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidValue("release_units requires a pair (offsets, counts); for plain values call release(...)")
        return sorted_rows(pair[0], 0, self.points - 1, pair[1])


@dataclass(frozen=True, slots=True)
class SortedRows:
    """`values` in order; with `ends`, value k fills the places up to ends[k], else one place each."""

    values: Integers
    ends: Integers | None
    lower: int
    upper: int

    def __repr__(self) -> str:
        return "SortedRows(...)"

    @property
    def size(self) -> int:
        """How many rows there are."""
        if self.ends is None:
            return len(self.values)
        return int(self.ends[-1]) if len(self.ends) else 0

    def at(self, place: int) -> int:
        """The value at a place."""
        if place < 1:
            return self.lower
        if place > self.size:
            return self.upper
        return int(self.values[place - 1 if self.ends is None else np.searchsorted(self.ends, place)])

    def down_from(self, place: int, reach: int) -> Stairs:
        """The values at `place`, `place` - 1, ... for at least `reach` places, as distances below the value at `place`."""
        places, values = self._below(place, reach)
        return Stairs(places, self.at(place) - values)

    def up_from(self, place: int, reach: int, pivot: int) -> Stairs:
        """The values at `place`, `place` + 1, ... for at least `reach` places, as distances above `pivot`."""
        places, values = self._above(place, reach)
        return Stairs(places, values - pivot)

    def sum_between(self, first: int, last: int) -> int:
        """The exact sum of the values at the places `first` to `last`, all of them rows."""
        if self.ends is None:
            return _exact_sum(self.values[first - 1 : last])
        shares = np.diff(np.clip(self.ends, first - 1, last), prepend=first - 1)
        return int(np.dot(self.values.astype(object), shares.astype(object))) if len(shares) else 0

    def _below(self, place: int, reach: int) -> tuple[Integers, Integers]:
        if self.ends is None:
            places, values = _changes(self.values[max(place - reach - 1, 0) : max(place, 0)][::-1])
        else:
            groups = int(np.searchsorted(self.ends, place)) + 1 if place > 0 else 0
            places = np.maximum(place - self.ends[:groups], 0)[::-1]
            values = self.values[:groups][::-1]
        return _close(places, values, max(place, 0), reach, self.lower)

    def _above(self, place: int, reach: int) -> tuple[Integers, Integers]:
        if self.ends is None:
            places, values = _changes(self.values[place - 1 : place + reach])
        else:
            group = int(np.searchsorted(self.ends, place))
            starts = np.append(1, self.ends + 1)[group:-1]
            places, values = np.maximum(starts - place, 0), self.values[group:]
        return _close(places, values, self.size + 1 - place, reach, self.upper)


def sorted_rows(values: Any, lower: int, upper: int, counts: Any = None) -> SortedRows:
    """Whole numbers in any order, clamped to the bounds, each with its count if `counts` are given.

    Two values that no row has are sorted with them: NumPy is quicker with none than with one, and slower with one than with two.

    >>> sorted_rows([5, 3, 9], lower=0, upper=7).at(3), sorted_rows([2, 1], 0, 4, counts=[1, 10**10]).size
    (7, 10000000001)
    """
    check_bounds(lower, upper)
    units = np.concatenate([[lower - 2, lower - 1], _clamp(_whole_numbers(values, "values"), lower, upper)])
    if counts is not None:
        return _from_counts(units, _whole_numbers(counts, "counts"), lower, upper)
    units.sort()
    return SortedRows(units[2:], None, lower, upper)


def check_bounds(lower: int, upper: int) -> None:
    """Raises for bounds that are not a range, or whose differences int64 cannot hold."""
    if not lower < upper or upper - lower >= LARGEST_RANGE or max(abs(lower), abs(upper)) >= LARGEST_RANGE:
        raise InvalidInput("lower must be below upper, and both within 2^62 steps of 0; use a larger step or narrower bounds")


def _from_counts(values: Integers, counts: Integers, lower: int, upper: int) -> SortedRows:
    counts = np.concatenate([[1, 1], counts])
    if len(values) != len(counts) or (counts < 0).any():
        raise InvalidValue("counts must be whole numbers of at least 0, one for each value", argument="counts")
    if counts.sum(dtype=np.float64) >= LARGEST_RANGE:
        raise InvalidValue("the counts must sum to at most 2^62 rows")
    ordered, ends = _in_order(values, counts, lower, upper)
    last = np.append(ordered[1:] != ordered[:-1], True)  # of the rows of a value
    ordered, ends = ordered[last], ends[last]
    kept = np.diff(ends, prepend=0) > 0
    return SortedRows(ordered[kept][2:], ends[kept][2:] - 2, lower, upper)


def _in_order(values: Integers, counts: Integers, lower: int, upper: int) -> tuple[Integers, Integers]:
    """The values in order, and how many rows there are through each. Which way it is sorted follows from public bounds alone."""
    if upper - lower >= PACKED:
        order = np.argsort(values)
        return values[order], np.cumsum(counts[order])
    packed = values - (lower - 2)  # the value in the upper bits and its place in the lower ones: one sort, and no search
    packed <<= PLACES
    packed |= np.arange(len(values))
    packed.sort()
    places = packed & (2**PLACES - 1)
    packed >>= PLACES
    packed += lower - 2
    return packed, np.cumsum(counts[places])


def _whole_numbers(values: Any, name: str) -> Integers:
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)  # an empty list is one of floats
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.dtype == np.uint64 and int(array.max()) >= LARGEST_RANGE):
        raise InvalidValue(f"{name} must be one flat array of whole numbers (units of the grid) that fit in 64 bits", argument=name)
    return array.astype(np.int64, copy=False)


def _clamp(values: Integers, lower: int, upper: int) -> Integers:
    """All values are clamped, whether one needs it or not: to look first would take less time where none does."""
    return np.minimum(np.maximum(values, lower), upper)


def _changes(rows: NDArray[np.int64]) -> tuple[Integers, Integers]:
    """Where a new value begins, and that value; or every row, where few repeat the one before."""
    new = rows[1:] != rows[:-1]
    if 4 * np.count_nonzero(new) >= len(rows):
        return np.arange(len(rows)), rows
    places = np.append(0, np.flatnonzero(new) + 1)
    return places, rows[places]


def _close(places: Integers, values: Integers, end: int, reach: int, bound: int) -> tuple[Integers, Integers]:
    """The stairs with the bound behind them, if it is within reach and not there yet."""
    if end > reach or (len(values) and int(values[-1]) == bound):
        return places, values
    return np.append(places, end), np.append(values, bound)


def _exact_sum(values: Integers) -> int:
    """The sum as a Python integer: the low 31 bits and the rest are summed apart, so nothing wraps around."""
    return int((values >> 31).sum()) * 2**31 + int((values & (2**31 - 1)).sum())
