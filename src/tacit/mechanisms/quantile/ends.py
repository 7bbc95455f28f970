"""Intervals between two ranks: a cell of values for both ends, the likelier the nearer it is to them. Proof in quantile.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tacit.errors import InvalidInput
from tacit.mechanisms.exponential import weighed
from tacit.mechanisms.noise.choice import choose
from tacit.mechanisms.noise.costs import MixedCosts
from tacit.mechanisms.noise.envelope import survives
from tacit.mechanisms.quantile.cells import NOTHING, Box, Cell, Cells, Integers
from tacit.mechanisms.quantile.rank_blocks import MOST_LISTED, Blocks, Rank
from tacit.privacy.rounding import log_up

RARE = 2**36  # one draw in this many is beyond the distances that are told apart at once


class Candidates(NamedTuple):
    """Cells by their distance: those of candidate j meet box j + 1 and not box j. The last ones may be farther than they cost."""

    lengths: Integers
    costs: MixedCosts
    boxes: Box


@dataclass(frozen=True, slots=True, repr=False)  # a repr would quote the data
class Intervals:
    """Rows, and the ranks that the two ends aim at, a whole number apart; MOST points of a grid are enough.

    The distance of a cell is the larger one of two: of its lower stretch from `low` and of its upper one from `high`.
    """

    blocks: Blocks
    low: Rank
    high: Rank

    @property
    def cells(self) -> Cells:
        """Those of the grid."""
        return Cells.of(self.blocks.points)

    def draw(self, factor: Fraction) -> tuple[int, int]:
        """The first and the last value of a cell, each cell with probability proportional to e^(-factor * distance).

        A distance, then a cell that has it, uniformly. Cells beyond `farthest` cost less than they should, and are kept so much
        less often; they are drawn so rarely that it does not matter that the clock tells it.
        """
        farthest = self.farthest(factor)
        candidates = self.candidates(farthest)
        while True:
            index = int(choose(candidates.lengths, candidates.costs, factor)[0])
            outer, inner = (Box(*(int(end[at]) for end in candidates.boxes)) for at in (index + 1, index))
            cell = self.cells.drawn(outer, inner)
            beyond = index == len(candidates.lengths) - 1
            if not beyond or survives(factor * (self.distance(cell) - farthest - 1)):
                return cell.low[0], cell.high[1]

    def law(self, factor: Fraction) -> dict[tuple[int, int], Decimal]:
        """The probability of each first and last value."""
        if self.cells.total > MOST_LISTED:
            raise InvalidInput(f"more than {MOST_LISTED} intervals are too many to list; use a larger step")
        cells = list(self.cells.listed())
        chances = weighed([1] * len(cells), [self.distance(cell) for cell in cells], factor)
        return {(cell.low[0], cell.high[1]): chance for cell, chance in zip(cells, chances, strict=True)}

    def distance(self, cell: Cell) -> Fraction:
        """How far a cell is, at the nearest values of its stretches."""
        return max(self._nearest(cell.low, Fraction(*self.low)), self._nearest(cell.high, Fraction(*self.high)))

    def farthest(self, factor: Fraction) -> int:
        """A distance beyond which all cells together have a probability below 1 / RARE."""
        return _farthest(self.cells.total * RARE, factor)

    def candidates(self, farthest: int) -> Candidates:
        """The distances up to `farthest` that cells may have, in order, with how many have each; last, those beyond.

        For ranks k + r, 0 <= r < 1, a distance is 0, or a whole number and r below a rank, or a whole number and 1 - r above it.
        """
        denominator = self.low.denominator
        (whole, part), away = divmod(self.low.numerator, denominator), (self.high.numerator - self.low.numerator) // denominator
        swapped = 2 * part > denominator
        both = np.sort(np.concatenate([self._steps(at, farthest, swapped) for at in (whole, whole + away)]))
        steps = both[np.diff(both, prepend=-1) > 0]
        wholes, above = steps >> 1, (steps & 1 == 1) ^ swapped
        lowest = np.append(whole + (part > 0), whole - wholes - above * (1 + -2 * part // denominator))
        highest = np.append(whole, whole + wholes + np.where(above, 1, 2 * part // denominator))
        near = Box(*self._stretch(lowest, highest), *self._stretch(lowest + away, highest + away))
        counts = np.concatenate([[0], self.cells.meeting(near), [self.cells.total]])
        boxes = (np.concatenate([[first], ends, [last]]) for first, ends, last in zip(NOTHING, near, self.cells.whole, strict=True))
        kinds = np.concatenate([[2], above, [2]]).astype(np.int8)
        parts = (part, denominator - part, 0)
        costs = MixedCosts(np.concatenate([[0], wholes, [farthest + 1]]), kinds, parts, denominator)
        return Candidates(np.diff(counts), costs, Box(*boxes))

    def _steps(self, whole: int, farthest: int, swapped: bool) -> Integers:
        """Twice the whole part of each distance from a rank, and 1 more for the larger one of the two parts that may follow."""
        through = self.blocks.through
        beyond = through[slice(*np.searchsorted(through, [whole - farthest, whole + farthest + 2]))] - (whole + 1)
        return np.asarray(2 * np.maximum(beyond, ~beyond) + ((beyond >= 0) ^ swapped))

    def _stretch(self, lowest: Integers, highest: Integers) -> tuple[Integers, Integers]:
        """The first and the last value with a number of rows from `lowest` to `highest`, or with the rank between them."""
        edges, through = self.blocks.edges, self.blocks.through
        return edges[np.searchsorted(through, lowest, side="left")], edges[np.searchsorted(through, highest, side="right")]

    def _nearest(self, stretch: tuple[int, int], rank: Fraction) -> Fraction:
        """How far a stretch is from a rank, by the rows below its first value and those up to its last one."""
        values, through, (first, last) = self.blocks.edges[1:-1], self.blocks.through, stretch
        below = int(through[np.searchsorted(values, first, side="left")]) - rank if first > 0 else Fraction(0)
        above = rank - int(through[np.searchsorted(values, last, side="right")]) if last < self.blocks.points - 1 else Fraction(0)
        return max(Fraction(0), below, above)


@lru_cache(maxsize=256)
def _farthest(odds: Fraction | int, factor: Fraction) -> int:
    return math.ceil(log_up(Fraction(odds)) / factor)
