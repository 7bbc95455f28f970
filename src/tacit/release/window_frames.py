"""Rows of an answer in the order of a window: partitions, peers and frames as ranges of sorted places, and totals over ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.query.price.error_bars import Floats
from tacit.query.results import RowFrame

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    """Rows sorted by partition and order. Ranges [first, last) are of sorted places, one for each sorted row."""

    rows: Places
    first: Places  # of the partition
    last: Places
    peer: Places  # where the peers begin
    past: Places  # and where they end

    @property
    def here(self) -> Places:
        """The place of each sorted row."""
        return np.arange(len(self.rows))

    def frame(self, frame: RowFrame | None, ordered: bool) -> tuple[Places, Places]:
        """The range of each row's frame; without one, up to the last peer, or the whole partition where there is no order."""
        if frame is None:
            return self.first, self.past if ordered else self.last
        start = self.first if frame.start is None else np.clip(self.here + frame.start, self.first, self.last)
        end = self.last if frame.end is None else np.clip(self.here + frame.end + 1, self.first, self.last)
        return start, np.maximum(start, end)

    def unsorted(self, numbers: Floats, size: int) -> Floats:
        """Numbers of sorted rows, at the places of the rows; NaN for rows that are not among them."""
        placed = np.full(size, np.nan)
        placed[self.rows] = numbers
        return placed


def arranged(among: Places, partition: Places, orders: Sequence[Floats]) -> Arranged:
    """The rows `among`, by their partition, then by each order, then as they came."""
    keys = [np.asarray(each[among], dtype=np.float64) for each in (partition, *orders)]
    order = np.lexsort([*reversed(keys)]) if len(among) else np.arange(0)
    sorted_keys = [each[order] for each in keys]
    first, last = _runs(sorted_keys[:1])
    peer, past = _runs(sorted_keys)
    return Arranged(among[order], first, last, peer, past)


def _runs(keys: Sequence[Floats]) -> tuple[Places, Places]:
    """Where the run of equal keys around each place begins, and where it ends."""
    size = len(keys[0])
    if not size:
        return np.arange(0), np.arange(0)
    differs = np.zeros(size, dtype=np.bool_)
    differs[0] = True
    for key in keys:
        differs[1:] |= key[1:] != key[:-1]
    starts = np.flatnonzero(differs)
    run = np.cumsum(differs) - 1
    return starts[run], np.append(starts[1:], size)[run]


def total(numbers: Floats, start: Places, end: Places) -> Floats:
    """The sum over each range; infinite where an infinite number is in it. NaN does not count."""
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    found = _ranged(finite, start, end)
    for sign in (1.0, -1.0):
        if (numbers == sign * np.inf).any():
            found = np.where(_ranged((numbers == sign * np.inf).astype(np.float64), start, end) > 0, sign * np.inf, found)
    return found


def _ranged(numbers: Floats, start: Places, end: Places) -> Floats:
    summed = np.concatenate([[0.0], np.cumsum(numbers)])
    return np.asarray(summed[end] - summed[start])


def least(numbers: Floats, start: Places, end: Places) -> Floats:
    """The least number in each range, NaN in an empty one; from the least of every run of 1, 2, 4, ... places."""
    found = np.full(len(start), np.nan)
    level, width = np.where(np.isnan(numbers), np.inf, numbers), 1
    length = end - start
    while width <= (length.max() if len(length) else 0):
        here = (length >= width) & (length < 2 * width)
        found[here] = np.minimum(level[start[here]], level[end[here] - width])
        level, width = np.minimum(level[: max(0, len(level) - width)], level[width:]), 2 * width
    known = _ranged((~np.isnan(numbers)).astype(np.float64), start, end) > 0
    return np.where(known, found, np.nan)


def greatest(numbers: Floats, start: Places, end: Places) -> Floats:
    """The greatest number in each range, NaN in an empty one."""
    return -least(-numbers, start, end)
