"""A public grid, cut by the data into blocks of values that have the same rank: what private quantiles are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.exponential import weighed
from tacit.mechanisms.noise.choice import choose, uniform_integer
from tacit.mechanisms.noise.costs import MixedCosts
from tacit.mechanisms.noise.grid import read_array, read_step, to_units
from tacit.mechanisms.sorted_rows import SortedRows, sorted_rows
from tacit.privacy.law import ARITHMETIC
from tacit.privacy.rounding import Number, as_text, exact

Integers = NDArray[np.int64]

MOST_POINTS = 2**62
MOST_LISTED = 100_000


class Rank(NamedTuple):
    """numerator / denominator, not reduced: the denominator is public, and stays what it is whatever the numerator."""

    numerator: int
    denominator: int


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
        number = self.lower + offset * self.step
        return int(number) if self.lower.denominator == self.step.denominator == 1 else float(number)

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
        """Offsets with counts, as an engine gives them."""
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidValue("release_units requires a pair (offsets, counts); for plain values call release(...)")
        return sorted_rows(pair[0], 0, self.points - 1, pair[1])


@dataclass(frozen=True, slots=True, repr=False)  # a repr would quote the data
class Blocks:
    """Runs of grid values: the first offset and the length of each, how many rows lie `below` it, and how many `through` its end.

    >>> blocks = Blocks.of(sorted_rows([2, 2, 5], 0, 9, counts=[1, 1, 1]), points=10)
    >>> [column.tolist() for column in (blocks.starts, blocks.lengths, blocks.below, blocks.through)]
    [[0, 1, 2, 3, 5, 6, 9], [1, 1, 1, 2, 1, 3, 1], [0, 0, 0, 2, 2, 3, 3], [0, 0, 2, 2, 3, 3, 3]]
    """

    starts: Integers
    lengths: Integers
    below: Integers
    through: Integers

    @classmethod
    def of(cls, rows: SortedRows, points: int, padding: int = 0) -> Blocks:
        """End, gap, value, gap, value, ..., gap, end, with `padding` public rows more at each end of the grid.

        An end is a block of its own, of length 0 where a row has its value: three blocks and more, by one road, whatever the rows.
        """
        size = rows.size
        ends = np.arange(1, size + 1) if rows.ends is None else rows.ends
        starts, lengths, below, through = np.zeros((4, 2 * len(ends) + 3), dtype=np.int64)
        edges = np.concatenate([[-1], rows.values, [points]])
        starts[1:-1:2], starts[2:-2:2], starts[-1] = edges[:-1] + 1, rows.values, points - 1
        lengths[1:-1:2], lengths[2:-2:2] = np.diff(edges) - 1, 1
        through[2:-2:2] = through[3:-1:2] = below[3:-1:2] = ends
        below[4:-2:2] = ends[:-1]
        below[-1] = through[-1] = size
        lengths[0] = min(int(lengths[1]), 1)
        starts[1], lengths[1] = lengths[0], lengths[1] - lengths[0]
        lengths[-1] = min(int(lengths[-2]), 1)
        lengths[-2] -= lengths[-1]
        if padding:  # which is public
            below += padding * (starts > 0)
            through += padding + padding * (starts == points - 1)
        return cls(starts, lengths, below, through)

    def costs(self, rank: Fraction | Rank) -> MixedCosts:
        """How far each block is from `rank`: max(0, below - rank, rank - through).

        A block above the rank k + r, 0 <= r < 1, has a whole number and 1 - r; one below it, a whole number and r.
        """
        whole, part = divmod(rank.numerator, rank.denominator)
        wholes = np.maximum(self.below - (whole + 1), whole - self.through)
        np.maximum(wholes, 0, out=wholes)
        kinds = (self.through <= whole).view(np.int8)
        kinds *= 2
        kinds += self.below > whole
        return MixedCosts(wholes, kinds, (0, rank.denominator - part, part), rank.denominator)

    def draw(self, rank: Fraction | Rank, factor: Fraction) -> int:
        """An offset, each with probability proportional to e^(-factor * distance from `rank`): a block, then uniformly in it.

        The rank is from 0 to the number of rows, so that some value is at no distance from it.
        """
        block = int(choose(self.lengths, self.costs(rank), factor)[0])
        return int(self.starts[block]) + uniform_integer(int(self.lengths[block]), MOST_POINTS)

    def law(self, rank: Fraction | Rank, factor: Fraction) -> list[Decimal]:
        """The probability of each offset."""
        if self.starts[-1] + self.lengths[-1] > MOST_LISTED:
            raise InvalidInput(f"a grid of more than {MOST_LISTED} points is too long to list; use a larger step")
        distances = self.costs(rank)
        costs = [distances.exponent(block, Fraction(1)) for block in range(distances.size)]
        lengths = self.lengths.tolist()
        blocks = zip(lengths, weighed(lengths, costs, factor), strict=True)
        return [ARITHMETIC.divide(weight, length) for length, weight in blocks for _ in range(length)]
