"""A public grid, cut by the data into blocks of values that have the same rank: what private quantiles are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

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
Listed = TypeVar("Listed")

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
    """Rows as runs of grid values between them, built once for any number of draws.

    `edges` are the lower end of the grid, the distinct values, and the upper end. Run j lies between edges j and j + 1, and
    `through[j]` rows are at or below its start. For a rank, the runs before it take in their first edge, and those after it their
    last one; the edge between, `middle`, is at no distance. So each distinct value makes one candidate more.

    >>> blocks = Blocks.of(sorted_rows([2, 2, 5], 0, 9, counts=[1, 1, 1]), points=10)
    >>> blocks.edges.tolist(), blocks.through.tolist(), blocks.middle(Fraction(5, 2))
    ([0, 2, 5, 9], [0, 2, 3], 2)
    """

    edges: Integers
    lengths: Integers
    through: Integers

    @classmethod
    def of(cls, rows: SortedRows, points: int) -> Blocks:
        """The runs before, between and after the values, some of length 0, and the edge of a rank: two candidates and more."""
        ends = np.arange(1, len(rows.values) + 1) if rows.ends is None else rows.ends
        edges = np.concatenate([[0], rows.values, [points - 1]])
        lengths = np.ones(len(edges), dtype=np.int64)
        np.subtract(edges[1:], edges[:-1], out=lengths[:-1])
        return cls(edges, lengths, np.concatenate([[0], ends]))

    @property
    def points(self) -> int:
        """How many points the grid has."""
        return int(self.edges[-1]) + 1

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.through[-1])

    def middle(self, rank: Fraction | Rank) -> int:
        """The place of the edge at no distance: rows through it are more than `rank`, or it is the upper end; else the lower."""
        return int(np.searchsorted(self.through, rank.numerator // rank.denominator, side="right"))

    def costs(self, rank: Fraction | Rank) -> MixedCosts:
        """How far each run, and last the middle, is from `rank`, where any number of rows may stand at both ends of the grid.

        For rank k + r, 0 <= r < 1, a run above it has a whole number and 1 - r; one below it, a whole number and r.
        """
        whole, part = divmod(rank.numerator, rank.denominator)
        wholes, kinds = np.zeros(len(self.edges), dtype=np.int64), np.full(len(self.edges), 2, dtype=np.int8)
        beyond = wholes[:-1]
        np.subtract(self.through, whole + 1, out=beyond)
        np.greater_equal(beyond, 0, out=kinds[:-1].view(np.bool_))
        np.maximum(beyond, ~beyond, out=beyond)  # ~x is -1 - x
        return MixedCosts(wholes, kinds, (part, rank.denominator - part, 0), rank.denominator)

    def draw(self, rank: Fraction | Rank, factor: Fraction) -> int:
        """An offset, each with probability proportional to e^(-factor * distance from `rank`): a run, then uniformly in it."""
        run, middle = int(choose(self.lengths, self.costs(rank), factor)[0]), self.middle(rank)
        inside = uniform_integer(int(self.lengths[run]), MOST_POINTS)
        return self.offset(run, inside, middle)

    def offset(self, run: int, inside: int, middle: int) -> int:
        """A grid value of a run; past the middle, a run begins behind its first edge. The last run is the middle itself."""
        last = len(self.through)
        place = (run, middle)[run == last]  # no branch: the clock would tell a value that is a row's from one that is not
        return int(self.edges[place]) + inside + ((middle <= run) & (run < last))

    def law(self, rank: Fraction | Rank, factor: Fraction) -> list[Decimal]:
        """The probability of each offset."""
        costs = self.costs(rank)
        distances = [costs.exponent(run, Fraction(1)) for run in range(costs.size)]
        chances = weighed(self.lengths.tolist(), distances, factor)
        return self._by_offset(rank, [ARITHMETIC.divide(p, max(1, int(n))) for p, n in zip(chances, self.lengths, strict=True)])

    def distances(self, rank: Fraction | Rank) -> list[Fraction]:
        """How far each offset is from `rank`."""
        costs = self.costs(rank)
        return self._by_offset(rank, [costs.exponent(run, Fraction(1)) for run in range(costs.size)])

    def _by_offset(self, rank: Fraction | Rank, of_runs: Sequence[Listed]) -> list[Listed]:
        """What each offset has that its run has."""
        points, middle = self.points, self.middle(rank)
        if points > MOST_LISTED:
            raise InvalidInput(f"a grid of more than {MOST_LISTED} points is too long to list; use a larger step")
        listed = [of_runs[-1]] * points
        for run, length in enumerate(self.lengths.tolist()):
            for inside in range(length):
                listed[self.offset(run, inside, middle)] = of_runs[run]
        return listed
