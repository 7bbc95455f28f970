"""A number between public bounds: what the three numeric randomizers share, and the choice between them. Proof in numeric.md.

Numbers lie on a public grid of `points` values from `lower` to `upper`: by default every whole number if the bounds are whole and
not far apart. Others count as the nearest of them (a tie goes up), and what is beyond a bound counts as the bound. A decoded
report is exactly unbiased for the value on the grid, so that rounding moves a mean of reports by at most half a step, which is
public and part of every interval; where the answers are on the grid to begin with, by nothing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise import grid
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number, as_text, exact
from tacit.publish.local.randomizers.channel import Channel
from tacit.publish.local.randomizers.randomizer import Codes, LocalMechanism, ratio_within, read_reports

HALF = Fraction(1, 2)
MOST_POINTS = 1 << 14
DEFAULT_POINTS = 1001
LARGEST = 10**200  # of bounds: floats find the nearest point and hold what a report stands for, also at the smallest epsilon


@dataclass(frozen=True, init=False)
class Numeric(LocalMechanism):
    """A randomizer of numbers: reports are codes, `decode` makes unbiased numbers of them."""

    lower: Fraction
    upper: Fraction
    epsilon: Fraction
    points: int

    def __init__(self, lower: Number, upper: Number, epsilon: Number, points: int | None = None) -> None:
        low, high = exact(lower, "lower"), exact(upper, "upper")
        if low >= high:
            raise InvalidInput(f"lower must be below upper, not {lower} and {upper}")
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "epsilon", positive_budget(epsilon))
        object.__setattr__(self, "points", _points(low, high, points))
        ratio_within(self.epsilon)
        if max(abs(low), abs(high)) > LARGEST or self.spacing * LARGEST < 1:
            raise InvalidInput("bounds beyond 1e200, or points nearer than 1e-200, do not fit into floats; use another unit")

    @staticmethod
    def best(lower: Number, upper: Number, epsilon: Number, points: int | None = None) -> Numeric:
        """The numeric randomizer of the smallest variance in the worst case; `compared` shows all three.

        >>> [type(Numeric.best(0, 100, epsilon)).__name__ for epsilon in (0.5, 1, 2, 4)]
        ['OneBit', 'OneBit', 'Piecewise', 'Piecewise']
        """
        return compared(lower, upper, epsilon, points)[0]

    @property
    def spacing(self) -> Fraction:
        """The distance of two neighbouring points of the grid."""
        return (self.upper - self.lower) / (self.points - 1)

    @property
    def rounding(self) -> Fraction:
        """The farthest that the grid moves a value between the bounds, and so a mean: half a step."""
        return self.spacing / 2

    @property
    @abstractmethod
    def levels(self) -> tuple[Fraction, ...]:
        """What each report stands for, exactly."""

    @abstractmethod
    def probability(self, index: int, report: int) -> Fraction:
        """The probability of a report for the point number `index` of the grid."""

    @abstractmethod
    def variance_at(self, index: int) -> Fraction:
        """The exact variance of a decoded report for the point number `index` of the grid."""

    @property
    @abstractmethod
    def worst_variance(self) -> Fraction:
        """The largest variance of a decoded report over all points of the grid."""

    def variance(self, value: Any) -> Fraction:
        """The exact variance of a decoded report of this value."""
        return self.variance_at(self.place(value))

    @property
    def spread(self) -> Fraction:
        """How far apart the decoded reports can be, for Hoeffding's inequality."""
        return max(self.levels) - min(self.levels)

    def index(self, values: Any) -> Any:
        """The numbers of the nearest points of the grid: an int64 array, or an integer for one value."""
        several = grid.is_array(values)
        codes = nearest(values if several else [values], self.lower, self.spacing, self.points)
        return codes if several else int(codes[0])

    def place(self, value: Any) -> int:
        """The number of the nearest point of the grid, for one value."""
        if grid.is_array(value):
            raise InvalidValue("expected the value of one person; give a single number, not a list")
        return int(self.index(value))

    def point(self, index: int) -> Fraction:
        """The value at this place of the grid."""
        return self.lower + index * self.spacing

    def written(self, value: Any) -> str:
        """The place on the grid, in decimal."""
        return str(self.place(value))

    def decode(self, reports: Any) -> NDArray[np.float64]:
        """The unbiased number that each report stands for; it may lie outside the bounds."""
        return self._decoded[read_reports(reports, len(self.levels))]

    @cached_property
    def _decoded(self) -> NDArray[np.float64]:
        return np.array([float(level) for level in self.levels])

    @cached_property
    def channel(self) -> Channel:
        """From the points of the grid, by their numbers, to the reports."""
        return Channel.of(range(self.points), range(len(self.levels)), self.probability)  # type: ignore[arg-type]

    def input_of(self, value: Any) -> int:
        """The place on the grid."""
        return self.place(value)


def compared(lower: Number, upper: Number, epsilon: Number, points: int | None = None) -> list[Numeric]:
    """The three numeric randomizers, the one of smallest worst variance first.

    >>> [(type(each).__name__, round(float(each.worst_variance), 4)) for each in compared(-1, 1, 1, points=201)]
    [('OneBit', 4.6827), ('Piecewise', 5.0656), ('FoldedLaplace', 5.5678)]
    """
    from tacit.publish.local.randomizers.folded_laplace import FoldedLaplace
    from tacit.publish.local.randomizers.one_bit import OneBit
    from tacit.publish.local.randomizers.piecewise import Piecewise

    return sorted((kind(lower, upper, epsilon, points) for kind in (OneBit, Piecewise, FoldedLaplace)), key=_worst_variance)


def nearest(values: Any, lower: Fraction, step: Fraction, points: int) -> Codes:
    """floor((value - lower) / step + 1/2), kept from 0 to points - 1, exactly: doubles decide where they are clear of a tie.

    >>> nearest([0.05, 0.15, -3, 7, 0.149999], Fraction(0), Fraction(1, 10), points=11)
    array([ 1,  1,  0, 10,  1])
    """
    array = grid.read_array(values)
    if array.ndim != 1:
        raise InvalidValue("the values must be one flat list of numbers, one for each person")
    if array.dtype == object or array.dtype.itemsize > 8:
        return np.array([_nearest(number, lower, step, points) for number in array], dtype=np.int64)
    doubles = array.astype(np.float64)
    if not np.isfinite(doubles).all():
        raise InvalidValue(grid.NOT_FINITE)
    upper = lower + (points - 1) * step
    places = (np.clip(doubles, float(lower), float(upper)) - float(lower)) / float(step) + 0.5
    codes = np.floor(places).astype(np.int64)
    unsure = (float(max(abs(lower), abs(upper)) / step) + points) * 2.0**-48
    doubt = np.flatnonzero(np.abs(places - np.round(places)) <= unsure)
    codes[doubt] = [_nearest(number, lower, step, points) for number in array[doubt].tolist()]
    return codes


def _nearest(number: Any, lower: Fraction, step: Fraction, points: int) -> int:
    try:
        top, bottom = number.as_integer_ratio()
    except (AttributeError, ValueError, OverflowError):
        raise InvalidValue(grid.NOT_FINITE) from None
    return min(max(math.floor((Fraction(int(top), int(bottom)) - lower) / step + HALF), 0), points - 1)


def _points(lower: Fraction, upper: Fraction, points: int | None) -> int:
    """The number of points that is asked for; else one for each whole number if they are few, else 1001."""
    if points is None:
        whole = lower.denominator == upper.denominator == 1 and upper - lower < DEFAULT_POINTS
        return int(upper - lower) + 1 if whole else DEFAULT_POINTS
    if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= MOST_POINTS:
        raise InvalidInput(
            f"points, the values of the grid from {as_text(lower)} to {as_text(upper)}, must be from 2 to {MOST_POINTS}"
        )
    return points


def _worst_variance(numeric: Numeric) -> Fraction:
    return numeric.worst_variance
