"""Intervals of a grid, not many more than its points, that fit all others closely: what both ends are drawn from.

Proofs are in quantile.md, "Cells".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.noise.choice import uniform_integer

Integers = NDArray[np.int64]

APART = 16  # stretches at least, from the lower stretch of a cell to its upper one, where stretches are longer than a point
OFFSETS = np.arange(2 * APART)
TOGETHER = 1 << 14  # numbers at a time: what is in hand stays in the processor's cache
MOST = 2**56  # points of a grid whose cells are counted in 62 bits


class Cell(NamedTuple):
    """Two stretches of a grid of the same length, the first and the last value of each: what lies between is the interval."""

    low: tuple[int, int]
    high: tuple[int, int]


class Box(NamedTuple):
    """Values for the low end, from first to last, and values for the high end; or arrays of them."""

    low_first: Any
    low_last: Any
    high_first: Any
    high_last: Any


NOTHING = Box(0, -1, 0, -1)


@dataclass(frozen=True)
class Cells:
    """All pairs (v, w) of grid values with v <= w, each in one cell: v in its lower stretch and w in its upper one.

    Stretches of 2^k points begin at multiples of 2^k. A pair is in the longest two whose places differ by at least 16, or in two
    points: so that no stretch is longer than a sixteenth of what lies between, and there are few cells (Callahan and Kosaraju
    1995, well-separated pairs).

    >>> Cells.of(4).total, Cells.of(1000).total < 47 * 1000 < 1000 * 1001 / 2
    (10, True)
    """

    points: int

    @classmethod
    def of(cls, points: int) -> Cells:
        """Those of a grid, which are public, and counted once."""
        return _cells(points)

    @cached_property
    def depths(self) -> Integers:
        """0 for points, and 1, 2, ... for stretches of 2^depth points as long as two of them are far enough apart."""
        return np.arange(max(1, ((self.points - 1) // APART).bit_length()))

    @cached_property
    def total(self) -> int:
        """How many cells there are."""
        return int(self.meeting(Box(*(np.array([end]) for end in self.whole)))[0])

    @property
    def whole(self) -> Box:
        """All pairs."""
        return Box(0, self.points - 1, 0, self.points - 1)

    def meeting(self, boxes: Box) -> Integers:
        """How many cells have a pair in each box."""
        totals = np.zeros(len(boxes.low_first), dtype=np.int64)
        for start in range(0, len(self.depths), some := max(1, TOGETHER // len(totals))):
            depths = self.depths[start : start + some, None]
            low_first, low_last, high_first, high_last = (end >> depths for end in boxes)
            nearest = np.where(depths == 0, 0, APART)
            counts = _within(high_first - low_last, nearest) - _within(high_last - low_last + 1, nearest)
            counts += _within(high_last - low_first + 2, nearest) - _within(high_first - low_first + 1, nearest)
            first = np.maximum(low_first, high_first - OFFSETS[-1])
            last = np.minimum(low_last, high_last - OFFSETS[-1])
            counts += np.maximum((last >> 1) - ((first - 1) >> 1), 0)
            totals += counts.sum(axis=0)
        return totals

    def drawn(self, outer: Box, inner: Box = NOTHING) -> Cell:
        """One of the cells that have a pair in `outer` and none in `inner`, which lies in it; each is equally likely."""
        counts = self._counts(outer), self._counts(inner)
        return self._at(uniform_integer(int(counts[0].sum() - counts[1].sum()), 64 * MOST), (outer, inner), counts)

    def at(self, place: int, outer: Box, inner: Box = NOTHING) -> Cell:
        """The one at a place, from 0, among those cells."""
        return self._at(place, (outer, inner), (self._counts(outer), self._counts(inner)))

    def _at(self, place: int, boxes: tuple[Box, Box], counts: tuple[Integers, Integers]) -> Cell:
        ends = np.cumsum(counts[0] - counts[1])
        index = int(np.searchsorted(ends, place, side="right"))
        depth, offset = divmod(index, len(OFFSETS))
        rest, skipped = place - int(ends[index]) + int(counts[0][index] - counts[1][index]), int(counts[1][index])
        first, hole = (_first(box, depth, offset) for box in boxes)
        step = 1 + (offset == OFFSETS[-1])
        lower = first + step * rest
        lower += step * skipped * (lower >= hole)
        return self.cell(depth, lower, lower + offset)

    def cell(self, depth: int, low: int, high: int) -> Cell:
        """That of two stretches at their places."""
        (low_first, low_last), (high_first, high_last) = ((at << depth, ((at + 1) << depth) - 1) for at in (low, high))
        return Cell((low_first, min(low_last, self.points - 1)), (high_first, min(high_last, self.points - 1)))

    def listed(self) -> Iterator[Cell]:
        """All of them."""
        yield from (self.at(place, self.whole) for place in range(self.total))

    def _counts(self, box: Box) -> Integers:
        """For each depth and each offset between places, how many cells meet the box."""
        depths = self.depths[:, None]
        last = np.minimum(box.low_last >> depths, (box.high_last >> depths) - OFFSETS)
        first = np.maximum(box.low_first >> depths, (box.high_first >> depths) - OFFSETS)
        counts = np.maximum(last - first + 1, 0)
        counts[:, -1] = np.maximum((last[:, -1] >> 1) - ((first[:, -1] - 1) >> 1), 0)
        counts[1:, :APART] = 0
        return np.asarray(counts.ravel())


def _first(box: Box, depth: int, offset: int) -> int:
    """The first place of the lower stretch of a cell that meets a box; the farthest of two stretches has an even one."""
    first: int = max(box.low_first >> depth, (box.high_first >> depth) - offset)
    return first + (first & 1) * (offset == int(OFFSETS[-1]))


@lru_cache(maxsize=256)
def _cells(points: int) -> Cells:
    return Cells(points)


def _within(start: Integers, nearest: Integers) -> Integers:
    """How many pairs of whole numbers x, y >= 0 have start + x + y from `nearest` to 30."""
    most, fewest = np.maximum(2 * APART - 1 - start, 0), np.maximum(nearest - start, 0)
    return np.asarray((most - fewest) * (most + fewest + 1) >> 1)
