"""A public grid, cut by the data into blocks of values that have the same rank: what private quantiles are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.exponential import weighed
from tacit.mechanisms.noise.choice import choose_listed, reach, uniform_integer
from tacit.mechanisms.noise.costs import MixedCosts
from tacit.mechanisms.noise.envelope import survives
from tacit.mechanisms.sorted_rows import MOST_POINTS, SortedRows
from tacit.privacy.law import ARITHMETIC

Integers = NDArray[np.int64]
Listed = TypeVar("Listed")

MOST_LISTED = 100_000
ZERO = Fraction(0)


class Rank(NamedTuple):
    """numerator / denominator, not reduced: the denominator is public, and stays what it is whatever the numerator."""

    numerator: int
    denominator: int


@dataclass(frozen=True, slots=True, repr=False)  # a repr would quote the data
class Blocks:
    """Rows as runs of grid values between them, built once for any number of draws.

    `edges` are the lower end of the grid, the distinct values, and the upper end. Run j lies between edges j and j + 1, and
    `through[j]` rows are at or below its start. For a rank, the runs before it take in their first edge, and those after it their
    last one; the edge between, `middle`, is at no distance. So each distinct value makes one candidate more.

    >>> from tacit.mechanisms.sorted_rows import sorted_rows
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
        through = np.arange(len(rows.values) + 1) if rows.ends is None else np.concatenate([[0], rows.ends])
        return cls._between(np.concatenate([[0], rows.values, [points - 1]]), through)

    @classmethod
    def _between(cls, edges: Integers, through: Integers) -> Blocks:
        lengths = np.ones(len(edges), dtype=np.int64)
        np.subtract(edges[1:], edges[:-1], out=lengths[:-1])
        return cls(edges, lengths, through)

    def near(self, farthest: int, rank: Fraction | Rank) -> Blocks:
        """The runs from `farthest` rows below a rank to `farthest` rows above it, and one more on both sides if there is one.

        So there is always a run, and the next person's row does not decide whether there is: an empty array takes another time.
        """
        lowest, highest = -(-rank.numerator // rank.denominator) - farthest, rank.numerator // rank.denominator + farthest
        first = max(int(np.searchsorted(self.through, lowest, side="left")) - 1, 0)
        last = min(int(np.searchsorted(self.through, highest, side="right")) + 1, len(self.through))
        return self._between(self.edges[first : last + 1], self.through[first:last])

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.through[-1])

    @property
    def points(self) -> int:
        """How many points the grid has."""
        return int(self.edges[-1]) + 1

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

    def distance(self, offset: int, rank: Fraction | Rank) -> Fraction:
        """How far one offset is from `rank`, by the rows below it and those at or below it."""
        exact_rank, values = Fraction(rank.numerator, rank.denominator), self.edges[1:-1]
        below, through = (int(self.through[np.searchsorted(values, offset, side=side)]) for side in ("left", "right"))
        above_rank = below - exact_rank if offset > 0 else ZERO
        below_rank = exact_rank - through if offset < self.points - 1 else ZERO
        return max(ZERO, above_rank, below_rank)

    def draw(self, rank: Fraction | Rank, factor: Fraction) -> int:
        """An offset, each with probability proportional to e^(-factor * distance from `rank`): a run, then uniformly in it."""
        farthest = reach(self.points, factor)
        near = self.near(farthest, rank)
        while True:
            run = choose_listed(near.lengths, near.costs(rank), factor, self.points, farthest)
            if run < len(near.edges):
                return near.offset(run, uniform_integer(int(near.lengths[run]), MOST_POINTS), near.middle(rank))
            offset = uniform_integer(self.points, MOST_POINTS)
            if _keeps(self.distance(offset, rank) - farthest, factor):
                return offset

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
        """The entry of its run, for each offset."""
        points, middle = self.points, self.middle(rank)
        if points > MOST_LISTED:
            raise InvalidInput(f"a grid of more than {MOST_LISTED} points is too long to list; use a larger step")
        listed = [of_runs[-1]] * points
        for run, length in enumerate(self.lengths.tolist()):
            for inside in range(length):
                listed[self.offset(run, inside, middle)] = of_runs[run]
        return listed


def _keeps(beyond: Fraction, factor: Fraction) -> bool:
    """Whether a candidate that is not listed, being so far beyond those that are, is kept."""
    return beyond > 0 and survives(factor * beyond)
