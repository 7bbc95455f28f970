"""A public grid, cut by the data into blocks of values that have the same rank: what private quantiles are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.exponential import weighed
from tacit.mechanisms.noise.choice import choose, uniform_integer
from tacit.mechanisms.noise.grid import read_array, read_step, to_units
from tacit.mechanisms.sorted_rows import SortedRows, sorted_rows
from tacit.privacy.law import ARITHMETIC
from tacit.privacy.rounding import Number, as_text, exact

Integers = NDArray[np.int64]

MOST_POINTS = 2**62
MOST_LISTED = 100_000
WORD_LIMIT = 2**62


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
        return int((self.upper - self.lower) / self.step) + 1

    def value(self, offset: int) -> int | float:
        """The value at an offset: an integer on a grid of integers, else the nearest float."""
        number = self.lower + offset * self.step
        return int(number) if self.lower.denominator == self.step.denominator == 1 else float(number)

    def offsets(self, values: Any) -> Integers:
        """Each value rounded to the grid and clamped to its ends. Every row is mapped alone, so neighbours stay neighbours."""
        array = read_array(values)
        if array.ndim != 1:
            raise InvalidValue("the values must be one flat list or array of numbers")
        if not array.size:
            return np.zeros(0, dtype=np.int64)
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
        """Offsets with counts, as an engine gives them."""
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidValue("release_units takes a pair (offsets, counts); for plain values call release(...)")
        return sorted_rows(pair[0], 0, self.points - 1, pair[1])


@dataclass(frozen=True, slots=True, repr=False)  # a repr would quote the data
class Blocks:
    """Runs of grid values: the first offset and the length of each, how many rows lie `below` it, and how many `through` its end.

    >>> blocks = Blocks.of(sorted_rows([2, 2, 5], 0, 9, counts=[1, 1, 1]), points=10)
    >>> [column.tolist() for column in (blocks.starts, blocks.lengths, blocks.below, blocks.through)]
    [[0, 2, 3, 5, 6], [2, 1, 2, 1, 4], [0, 0, 2, 2, 3], [0, 2, 2, 3, 3]]
    """

    starts: Integers
    lengths: Integers
    below: Integers
    through: Integers

    @classmethod
    def of(cls, rows: SortedRows, points: int) -> Blocks:
        """Gap, value, gap, value, ..., gap."""
        values, ends = rows.values, np.arange(1, rows.size + 1) if rows.ends is None else rows.ends
        starts, lengths, below, through = np.zeros((4, 2 * len(values) + 1), dtype=np.int64)
        starts[1::2], starts[2::2] = values, values + 1
        lengths[1::2], lengths[0::2] = 1, np.diff(values, prepend=-1, append=points) - 1
        through[1::2] = through[2::2] = below[2::2] = ends
        below[3::2] = ends[:-1]
        return cls(starts, lengths, below, through)

    @classmethod
    def padded(cls, rows: SortedRows, points: int, padding: int) -> Blocks:
        """The blocks of the rows and of `padding` public rows more at each end of the grid."""
        counts = np.ones(rows.size, dtype=np.int64) if rows.ends is None else np.diff(rows.ends, prepend=0)
        values = np.concatenate([[0], rows.values, [points - 1]])
        return cls.of(sorted_rows(values, 0, points - 1, np.concatenate([[padding], counts, [padding]])), points)

    def costs(self, rank: Fraction) -> NDArray[Any]:
        """How far each block is from `rank`: max(0, below - rank, rank - through), times the denominator of `rank`."""
        size, target = rank.denominator, rank.numerator
        small = size * int(self.through[-1]) + abs(target) < WORD_LIMIT
        below, through = (rows if small else rows.astype(object) for rows in (self.below, self.through))
        return np.maximum(np.maximum(below * size - target, target - through * size), 0)

    def draw(self, rank: Fraction, factor: Fraction) -> int:
        """An offset, each with probability proportional to e^(-factor * distance from `rank`): a block, then uniformly in it."""
        block = int(choose(self.lengths, self.costs(rank), factor / rank.denominator)[0])
        return int(self.starts[block]) + uniform_integer(int(self.lengths[block]))

    def law(self, rank: Fraction, factor: Fraction) -> list[Decimal]:
        """The probability of each offset."""
        if self.starts[-1] + self.lengths[-1] > MOST_LISTED:
            raise InvalidInput(f"a grid of more than {MOST_LISTED} points is too long to list; use a larger step")
        costs = [Fraction(int(cost), rank.denominator) for cost in self.costs(rank)]
        lengths = self.lengths.tolist()
        blocks = zip(lengths, weighed(lengths, costs, factor), strict=True)
        return [ARITHMETIC.divide(weight, length) for length, weight in blocks for _ in range(length)]
