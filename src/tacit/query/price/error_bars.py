"""Released numbers with their intervals, as arrays: a value, and two ends around the exact number.

The ends are moved by interval arithmetic: if each exact input is between its ends, so is the exact output. All of it works on
released numbers, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Arrays of one shape; NaN means NULL."""

    value: Floats
    low: Floats
    high: Floats

    def __add__(self, other: Band) -> Band:
        return Band(self.value + other.value, self.low + other.low, self.high + other.high)

    def __neg__(self) -> Band:
        return Band(-self.value, -self.high, -self.low)

    def __sub__(self, other: Band) -> Band:
        return self + (-other)

    def __mul__(self, other: Band) -> Band:
        with np.errstate(all="ignore"):
            corners = [one * two for one in (self.low, self.high) for two in (other.low, other.high)]
            return _between(self.value * other.value, corners)

    def __truediv__(self, other: Band) -> Band:
        """If the divisor may be zero, the ends are infinite; if its value is zero, the value is NaN."""
        open_ended = (other.low <= 0) & (other.high >= 0)
        with np.errstate(all="ignore"):
            corners = [one / two for one in (self.low, self.high) for two in (other.low, other.high)]
            value = np.where(other.value == 0, np.nan, self.value / other.value)
        return _between(value, [np.where(open_ended, np.nan, corner) for corner in corners])

    def scaled(self, factor: float) -> Band:
        """Every number times a constant."""
        ends = (self.low * factor, self.high * factor)
        return Band(self.value * factor, np.minimum(*ends), np.maximum(*ends))

    def divided(self, divisor: float) -> Band:
        """Every number divided by a positive constant: for integers the nearest double, which times 1 / divisor may miss."""
        return Band(self.value / divisor, self.low / divisor, self.high / divisor)

    def shifted(self, constant: float) -> Band:
        """Every number plus a constant."""
        return Band(self.value + constant, self.low + constant, self.high + constant)

    def clamped(self, low: float, high: float) -> Band:
        """Every number clamped to a range that is known to contain the exact one."""
        return self.mapped(lambda numbers: np.clip(numbers, low, high))

    def mapped(self, increasing: Callable[[Floats], Floats]) -> Band:
        """An increasing function of every number."""
        return Band(increasing(self.value), increasing(self.low), increasing(self.high))

    def squared(self) -> Band:
        """Every number squared: non-negative, and as small as zero if the ends have different signs."""
        ends = (self.low**2, self.high**2)
        crosses = (self.low <= 0) & (self.high >= 0)
        return Band(self.value**2, np.where(crosses, 0.0, np.minimum(*ends)), np.maximum(*ends))


def _between(value: Floats, corners: list[Floats]) -> Band:
    """The band between the smallest and the largest corner; if one is NaN, the ends are infinite."""
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return Band(value, np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


def divisor(rows: Band) -> Band:
    """A number of rows to divide by: at least one in its value; its ends keep zero where zero is possible, so that nothing is
    claimed there.
    """
    return Band(np.maximum(rows.value, 1.0), rows.low, np.maximum(rows.high, 1.0))


def population(spread: float, rows: Band, centred: Band, squares: Band) -> Band:
    """E[y^2] - E[y]^2 in half steps, from the sums of y and of 2 y^2 - R^2, R the range in steps."""
    count = divisor(rows)
    second = (squares / count).shifted(spread**2).scaled(0.5).clamped(0.0, spread**2)
    mean = (centred / count).clamped(-spread, spread)
    return (second - mean.squared()).clamped(0.0, spread**2)


def sample_correction(rows: Band) -> Band:
    """n / (n - 1), and 2 where n is at most 1.5."""

    def correction(numbers: Floats) -> Floats:
        return np.where(numbers > 1.5, numbers / np.maximum(numbers - 1.0, 0.5), 2.0)

    return Band(correction(rows.value), correction(rows.high), correction(rows.low))


def certain(value: float, like: Band) -> Band:
    """A constant, repeated to the shape of `like`."""
    numbers = np.full_like(like.value, value)
    return Band(numbers, numbers, numbers)
