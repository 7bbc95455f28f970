"""The randomizers of a number between public bounds, and the choice between them. Proof in numeric.md.

A number between public bounds: the common part of the three numeric randomizers, and the choice between them. See numeric.md.

Numbers lie on a public grid of `points` values from `lower` to `upper`: by default every whole number if the bounds are whole and
not far apart. Others count as the nearest of them (a tie goes up), and numbers beyond a bound count as the bound. A decoded
report is exactly unbiased for the value on the grid, so that rounding moves a mean of reports by at most half a step, which is
public and part of every interval; where the answers are on the grid to begin with, by nothing.

A number reported as one bit, more often 1 for larger ones (Duchi, Jordan and Wainwright 2018). Proof in numeric.md.

A number reported as a point that is probably near it: the piecewise mechanism on a grid. Proof in numeric.md.

A number with discrete Laplace noise; results beyond a bound are folded into the bound. Proof in numeric.md.

A report at a bound stands for the mean of the results folded into it, which does not depend on the true value since the tails are
geometric. So the decoded report is as unbiased as with plain noise, its variance is smaller, and there are finitely many reports.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise import choice, grid
from tacit.mechanisms.noise.choice import uniform_integers
from tacit.mechanisms.noise.enclosure import Enclosure
from tacit.mechanisms.noise.table import Table
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import DIGITS as DECIMALS
from tacit.privacy.rounding import Number, as_text, exact, exp_up
from tacit.publish.local.randomizers.randomizer import Channel, Codes, Coins, LocalMechanism, Ratio, ratio_within, read_reports

HALF = Fraction(1, 2)
MOST_POINTS = 1 << 14
DEFAULT_POINTS = 1001
LARGEST = 10**200  # of bounds: floats find the nearest point and hold the level of a report, also at the smallest epsilon


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
        """The numeric randomizer of the smallest variance in the worst case; `by_variance` lists all three.

        >>> [type(Numeric.best(0, 100, epsilon)).__name__ for epsilon in (0.5, 1, 2, 4)]
        ['OneBit', 'OneBit', 'Piecewise', 'Piecewise']
        """
        return by_variance(lower, upper, epsilon, points)[0]

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
        """The number that each report stands for, exactly."""

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
        return self._levels_in_floats[read_reports(reports, len(self.levels))]

    @cached_property
    def _levels_in_floats(self) -> NDArray[np.float64]:
        return np.array([float(level) for level in self.levels])

    @cached_property
    def channel(self) -> Channel:
        """From the points of the grid, by their numbers, to the reports."""
        return Channel.of(range(self.points), range(len(self.levels)), self.probability)  # type: ignore[arg-type]

    def input_of(self, value: Any) -> int:
        """The place on the grid."""
        return self.place(value)


def by_variance(lower: Number, upper: Number, epsilon: Number, points: int | None = None) -> list[Numeric]:
    """The three numeric randomizers, the one of smallest worst variance first.

    >>> [(type(each).__name__, round(float(each.worst_variance), 4)) for each in by_variance(-1, 1, 1, points=201)]
    [('OneBit', 4.6827), ('Piecewise', 5.0656), ('FoldedLaplace', 5.5678)]
    """
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


# --- a number reported as one bit --------------------------------------------------------------------------------------------


@dataclass(frozen=True, init=False)
class OneBit(Numeric):
    """Reports 1 with a probability that rises linearly from 1/(E + 1) at `lower` to E/(E + 1) at `upper`, else 0.

    >>> answer = OneBit(lower=0, upper=10, epsilon=1)
    >>> [round(float(level), 3) for level in answer.levels], answer.channel.within(1)
    ([-5.82, 15.82], True)
    """

    @cached_property
    def ratio(self) -> Fraction:
        """E, a rational at or below e^epsilon."""
        return ratio_within(self.epsilon)

    @cached_property
    def levels(self) -> tuple[Fraction, ...]:
        """The number that each report decodes to."""
        beyond = (self.upper - self.lower) / (self.ratio - 1)
        return self.lower - beyond, self.upper + beyond

    def chance(self, index: int) -> Fraction:
        """The probability of a one for the point number `index`."""
        return (1 + (self.ratio - 1) * Fraction(index, self.points - 1)) / (self.ratio + 1)

    def probability(self, index: int, report: int) -> Fraction:
        """The exact probability of a report at a point of the grid."""
        return self.chance(index) if report else 1 - self.chance(index)

    def randomize(self, values: Any) -> Any:
        """The bits: an int64 array, or 0 or 1 for one value.

        A one comes by one of two coins: with probability 2/(E + 1) a fair one, else one that says whether a uniform number below
        points - 1 is below the index; together that is `chance`.
        """
        index = self.index(values)
        codes = np.atleast_1d(index)
        told = uniform_integers(self.points - 1, codes.size) < codes
        blind = choice.bernoulli(2 / (self.ratio + 1), codes.size)
        reports = np.where(blind, choice.bernoulli(Fraction(1, 2), codes.size), told).astype(np.int64)
        return reports if isinstance(index, np.ndarray) else int(reports[0])

    def derive(self, value: Any, coins: Coins) -> int:
        """One coin of probability `chance`."""
        return int(coins.coin(self.chance(self.place(value))))

    def variance_at(self, index: int) -> Fraction:
        """The exact variance of a decoded report at a point of the grid."""
        return self.chance(index) * (1 - self.chance(index)) * self.spread**2

    @property
    def worst_variance(self) -> Fraction:
        """In the middle of the grid, where the bit says least."""
        return self.variance_at(self.points // 2)


# --- a number reported as a point that is probably near it -------------------------------------------------------------------


@dataclass(frozen=True, init=False)
class Piecewise(Numeric):
    """Reports one of points - 1 + window numbers; the `window` of them from the index on are E times as likely as the others.

    Wang et al. 2019 on the real line, here on a grid, where it is exact. The window is the one of the smallest worst variance.

    >>> answer = Piecewise(lower=0, upper=10, epsilon=3)
    >>> answer.window, len(answer.levels), answer.channel.within(3)
    (4, 14, True)
    """

    @cached_property
    def ratio(self) -> Fraction:
        """E, a rational at or below e^epsilon."""
        return ratio_within(self.epsilon)

    @cached_property
    def window(self) -> int:
        """How many reports are likely ones."""
        return best_window(float(self.ratio), self.points)

    @property
    def outputs(self) -> int:
        """How many reports there are."""
        return self.points - 1 + self.window

    @cached_property
    def _total(self) -> Fraction:
        return (self.ratio - 1) * self.window + self.outputs

    @cached_property
    def levels(self) -> tuple[Fraction, ...]:
        """The number that each report decodes to."""
        excess, total = (self.ratio - 1) * self.window, self._total
        shift = Fraction(self.outputs * (self.outputs - 1), 2) + excess * Fraction(self.window - 1, 2)
        return tuple(self.lower + self.spacing * (total * report - shift) / excess for report in range(self.outputs))

    def probability(self, index: int, report: int) -> Fraction:
        """The exact probability of a report at a point of the grid."""
        return (self.ratio if index <= report < index + self.window else 1) / self._total

    @property
    def near(self) -> Fraction:
        """The probability with which the report is drawn from the window alone; else it is drawn from all."""
        return (self.ratio - 1) * self.window / self._total

    def randomize(self, values: Any) -> Any:
        """The reports: an int64 array, or an integer for one value."""
        index = self.index(values)
        codes = np.atleast_1d(index)
        inside = codes + uniform_integers(self.window, codes.size)
        anywhere = uniform_integers(self.outputs, codes.size)
        reports = np.where(choice.bernoulli(self.near, codes.size), inside, anywhere)
        return reports if isinstance(index, np.ndarray) else int(reports[0])

    def derive(self, value: Any, coins: Coins) -> int:
        """A coin of probability `near`: true, the index plus a number below `window`; false, a number below `outputs`."""
        place = self.place(value)
        return place + coins.below(self.window) if coins.coin(self.near) else coins.below(self.outputs)

    def variance_at(self, index: int) -> Fraction:
        """The exact variance of a decoded report at a point of the grid."""
        excess, total = self.ratio - 1, self._total
        mean = (excess * _sum(index, self.window) + _sum(0, self.outputs)) / total
        square = (excess * _squares(index, self.window) + _squares(0, self.outputs)) / total
        return (square - mean**2) * (self.spacing * total / (excess * self.window)) ** 2

    @property
    def worst_variance(self) -> Fraction:
        """At the bounds: the variance is a convex function of the index."""
        return self.variance_at(0)


def best_window(ratio: float, points: int) -> int:
    """The window of the smallest variance at the bounds, found in floats: a choice of design, the law is exact for any window."""
    window = np.arange(1, points, dtype=np.float64)
    outputs, excess = points - 1 + window, ratio - 1
    total = excess * window + outputs
    mean = (excess * window * (window - 1) + outputs * (outputs - 1)) / 2 / total
    square = (excess * window * (window - 1) * (2 * window - 1) + outputs * (outputs - 1) * (2 * outputs - 1)) / 6 / total
    return int(np.argmin((square - mean**2) * (total / window) ** 2)) + 1


def _sum(start: int, count: int) -> Fraction:
    """start + (start + 1) + ... over `count` numbers."""
    return Fraction(count * (2 * start + count - 1), 2)


def _squares(start: int, count: int) -> Fraction:
    """The squares of the same numbers."""
    return count * start**2 + start * count * (count - 1) + Fraction((count - 1) * count * (2 * count - 1), 6)


# --- a number with discrete Laplace noise, all that falls beyond a bound folded into the bound -------------------------------


DIGITS = 40  # binary digits of the decay, at least
SPARE = 30  # of its epsilon no more than one part in 2^30 is lost by its rounding


@dataclass(frozen=True, init=False)
class FoldedLaplace(Numeric):
    """Moves the index by k with probability proportional to decay^|k|, and keeps the result from 0 to points - 1.

    `decay` is a rational at or above e^(-epsilon / (points - 1)).

    >>> answer = FoldedLaplace(lower=0, upper=4, epsilon=2)
    >>> [round(float(level), 3) for level in answer.levels], answer.channel.within(2)
    ([-1.541, 1.0, 2.0, 3.0, 5.541], True)
    """

    @cached_property
    def decay(self) -> Fraction:
        """By how much the next move is rarer than the one before."""
        step = self.epsilon / (self.points - 1)
        digits = max(DIGITS, SPARE + math.ceil(step * Fraction(3, 2)) + math.floor(1 / step).bit_length())
        return Fraction(math.ceil(exp_up(-step, 2 * DECIMALS) * 2**digits), 2**digits)

    @cached_property
    def levels(self) -> tuple[Fraction, ...]:
        """The number that each report decodes to."""
        beyond = self.spacing * self.decay / (1 - self.decay)
        inside = (self.point(index) for index in range(1, self.points - 1))
        return self.lower - beyond, *inside, self.upper + beyond

    def probability(self, index: int, report: int) -> Fraction:
        """The exact probability of a report at a point of the grid."""
        folded = report in (0, self.points - 1)
        return (1 if folded else 1 - self.decay) * self.decay ** abs(report - index) / (1 + self.decay)

    def randomize(self, values: Any) -> Any:
        """The reports: an int64 array, or an integer for one value."""
        index = self.index(values)
        codes = np.atleast_1d(index)
        moves = _moves(self.decay, self.points).draw(codes.size)
        reports = np.clip(codes + moves - (self.points - 1), 0, self.points - 1)
        return reports if isinstance(index, np.ndarray) else int(reports[0])

    def derive(self, value: Any, coins: Coins) -> int:
        """A coin of probability 1/(1 + decay): true, up by G; false, down by G + 1; in both cases no farther than the bound.

        G is at least m with probability decay^m. Its binary digits are independent: for step = 1, 2, 4, ... below points - 1 a coin
        of probability r/(1 + r), r = decay^step, adds the step. Then, for the first step that is not below points - 1, a coin of
        probability r adds it, whatever is left of G: that is beyond any bound.
        """
        index, (not_down, *digits) = self.place(value), _chances(self.decay, self.points)
        up = coins.coin(not_down)
        moved = sum(coins.coin(chance) << at for at, chance in enumerate(digits))
        return min(index + moved, self.points - 1) if up else max(index - moved - 1, 0)

    def variance_at(self, index: int) -> Fraction:
        """The exact variance of a decoded report at a point of the grid."""
        ends = self.decay**index + self.decay ** (self.points - 1 - index)
        return self.spacing**2 * self.decay / (1 - self.decay) ** 2 * (2 - ends / (1 + self.decay))

    @property
    def worst_variance(self) -> Fraction:
        """In the middle of the grid, where least is folded."""
        return self.variance_at((self.points - 1) // 2)


@lru_cache(maxsize=16)
def _chances(decay: Fraction, points: int) -> tuple[Ratio, ...]:
    """Of a move that is not down, of each binary digit of the move from the lowest on, and of one that is beyond them all."""
    top, bottom, steps = decay.numerator, decay.denominator, (points - 2).bit_length()
    chances = [Ratio(bottom, top + bottom)]
    for _ in range(steps):
        chances.append(Ratio(top, top + bottom))
        top, bottom = top * top, bottom * bottom
    return *chances, Ratio(top, bottom)


@lru_cache(maxsize=16)
def _moves(decay: Fraction, points: int) -> Table:
    """The table of moves from -(points - 1) to points - 1, with the tails folded into both; the decay is in binary digits."""
    top, digits = decay.numerator, decay.denominator.bit_length() - 1

    def weights(precision: int) -> list[Enclosure]:
        whole = 1 << (precision + 2 * digits)
        low = list(accumulate(repeat(top, points - 1), lambda power, d: power * d >> digits, initial=whole))
        high = list(accumulate(repeat(top, points - 1), lambda power, d: -(-power * d >> digits), initial=whole))
        less = (1 << digits) - top
        inside = [(a * less >> digits, -(-b * less >> digits)) for a, b in zip(low[:-1], high[:-1], strict=True)]
        side = [*inside[1:], (low[-1], high[-1])]
        return [*reversed(side), inside[0], *side]

    return Table(weights)
