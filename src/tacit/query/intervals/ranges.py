"""The rows of a window in its order, and the range of its value where released numbers order or choose them.

The range holds while all released numbers lie between their ends. Of every row it is known whether it certainly counts, and whether
it may. A sum is at least what the certain rows bring and what negative ones may take away; a rank is one more than the rows that
are certainly before, up to those that may be. The row itself counts: a row that the exact numbers would not show has no exact value
to cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.query.intervals.bands import Cells, Flags, Floats, Numbers, Words
from tacit.query.question import RowFrame, Window

Ends = tuple[Floats, Floats, Flags]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The partition of each row, the exact keys by which it is sorted first, and whether it counts, certainly and perhaps."""

    partition: Places
    before: Floats
    sure: Flags
    possible: Flags

    @property
    def among(self) -> Places:
        """The rows that may count."""
        return np.flatnonzero(self.possible)


@dataclass(frozen=True, slots=True, eq=False)
class _Added:
    """The summands, one for each row: its ends, and whether it certainly has a value and is there."""

    low: Floats
    high: Floats
    sure: Flags

    @classmethod
    def of(cls, child: Numbers, rows: Rows) -> _Added:
        return cls(child.low, child.high, rows.sure & ~child.null & ~child.empty)


def ordered(window: Window, child: Numbers, rows: Rows, sorts: Sequence[Floats]) -> Ends:
    """Where keys order the rows: the frame of each is known, except for rows that HAVING may leave out."""
    seen = arranged(rows.among, rows.partition, sorts)
    start, end = seen.frame(window.frame, bool(window.order))
    if window.function in ("rank", "dense_rank", "row_number"):
        until = seen.here if window.function == "row_number" else seen.peer
        fewest = total(rows.sure[seen.rows].astype(np.float64), seen.first, until)
        low = 1 + (np.minimum(fewest, 1) if window.function == "dense_rank" else fewest)
        high = 1 + (until - seen.first).astype(np.float64)
        return _by_place(seen, low, high, np.zeros(len(low), dtype=np.bool_), len(rows.sure))
    if window.function in ("shift", "first", "last"):
        return anywhere(window, child, rows)
    added = _Added.of(child, rows)
    inside = _Added(added.low[seen.rows], added.high[seen.rows], added.sure[seen.rows])
    unknown = np.full(len(seen.rows), np.nan)
    nothing = _Added(unknown, unknown, np.zeros(len(seen.rows), dtype=np.bool_))
    ends = _aggregate_ends(window, _Set(inside, start, end), _Set(inside, start, end), nothing)
    return _by_place(seen, *ends, len(rows.sure))


def ends_of_all(window: Window, child: Numbers, rows: Rows, ends: tuple[Floats, Floats]) -> Ends:
    """Where released numbers order the rows, each up to itself: some rows certainly come before it, some may."""
    if window.function in ("shift", "first", "last"):
        return anywhere(window, child, rows)
    segments = _segments(rows)
    lows, highs = ends
    by_high = arranged(rows.among, rows.partition, [segments, highs])
    by_low = arranged(rows.among, rows.partition, [segments, lows])
    own = by_low.rows
    surely = _until(by_high, segments, highs, lows[own], "left")
    maybe = _until(by_low, segments, lows, highs[own], "right")
    if window.function in ("rank", "dense_rank", "row_number"):
        fewest = total(rows.sure[by_high.rows].astype(np.float64), by_low.first, surely)
        most = (maybe - by_low.first).astype(np.float64) - 1
        low = 1 + (np.minimum(fewest, 1) if window.function == "dense_rank" else fewest)
        return _by_place(by_low, low, 1 + most, np.zeros(len(own), dtype=np.bool_), len(rows.sure))
    added = _Added.of(child, rows)
    certain = _Set(_Added(added.low[by_high.rows], added.high[by_high.rows], added.sure[by_high.rows]), by_low.first, surely)
    possible = _Set(_Added(added.low[own], added.high[own], added.sure[own]), by_low.first, maybe)
    itself = _Added(added.low[own], added.high[own], (~child.null & ~child.empty)[own])
    return _by_place(by_low, *_aggregate_ends(window, certain, possible, itself), len(rows.sure))


def anywhere(window: Window, child: Numbers, rows: Rows) -> Ends:
    """Where nothing is said of the frame: it has some rows of the partition."""
    seen = arranged(rows.among, rows.partition, [])
    start, end = seen.first, seen.last
    low, high = least(child.low[seen.rows], start, end), greatest(child.high[seen.rows], start, end)
    if window.otherwise is not None:
        low, high = np.full_like(low, -np.inf), np.full_like(high, np.inf)
    most = (end - start).astype(np.float64)
    if window.frame is not None and window.frame.start is not None and window.frame.end is not None:
        most = np.clip(most, 0, max(0, window.frame.end - window.frame.start + 1))
    with np.errstate(all="ignore"):
        if window.function == "sum":
            low, high = most * np.minimum(np.nan_to_num(low, nan=0.0), 0), most * np.maximum(np.nan_to_num(high, nan=0.0), 0)
        elif window.function == "count":
            low, high = np.zeros_like(most), most
    unsure = np.full(len(low), window.function != "count")
    return _by_place(seen, low, high, unsure, len(rows.sure))


def sort_ends(cells: Cells, descending: bool) -> tuple[Floats, Floats]:
    """Between which numbers a row sorts, ascending, NULL last."""
    if isinstance(cells, Words):
        size = len(cells.values)
        return np.full(size, -np.inf), np.full(size, np.inf)
    low, high = (-cells.high, -cells.low) if descending else (cells.low, cells.high)
    return np.where(cells.empty, np.inf, low), np.where(cells.null | cells.empty, np.inf, high)


def _by_place(seen: Arranged, low: Floats, high: Floats, null: Flags, size: int) -> Ends:
    spread = np.ones(size, dtype=np.bool_)
    spread[seen.rows] = null
    return seen.without_order(low, size), seen.without_order(high, size), spread


def _segments(rows: Rows) -> Floats:
    """Whole numbers in the order of the exact keys that sort first: rows of one number are ordered by released numbers alone."""
    exact = rows.before[:-1]
    if not len(exact):
        return np.zeros(len(rows.partition))
    return np.unique(exact, axis=1, return_inverse=True)[1].reshape(-1).astype(np.float64)


def _until(seen: Arranged, segments: Floats, sorted_by: Floats, borders: Floats, side: str) -> Places:
    """For the i-th sorted row of the other order, the end of the rows of its partition that sort below its border.

    Both orders have the same rows in the same partitions and segments, so that a segment has the same places in both.
    """
    places = np.zeros(len(borders), dtype=np.int64)
    keys = segments[seen.rows]
    differs = (keys[1:] != keys[:-1]) | (seen.first[1:] != seen.first[:-1])
    starts = [*([0] if len(keys) else []), *(np.flatnonzero(differs) + 1).tolist()]
    for start, end in zip(starts, [*starts[1:], len(keys)][: len(starts)], strict=True):
        inside = sorted_by[seen.rows[start:end]]
        places[start:end] = start + np.searchsorted(inside, borders[start:end], side=side)  # type: ignore[call-overload]
    return places


# --- totals over some rows and perhaps others ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Set:
    """Rows as ranges of places: what each adds, and from where to where."""

    added: _Added
    start: Places
    end: Places

    def total(self, numbers: Floats) -> Floats:
        return total(numbers, self.start, self.end)

    def count(self, flags: Flags) -> Floats:
        return total(flags.astype(np.float64), self.start, self.end)


def _aggregate_ends(window: Window, certain: _Set, possible: _Set, itself: _Added) -> Ends:
    """Ends of a total over the certain rows, the row itself where it is certain, and any of the possible ones."""
    here = certain.added
    surely = certain.count(here.sure) + itself.sure
    there = possible.count(~np.isnan(possible.added.low))
    lowest = least(possible.added.low, possible.start, possible.end)
    highest = greatest(possible.added.high, possible.start, possible.end)
    null = surely == 0
    match window.function:
        case "count":
            return surely, there, np.zeros_like(null)
        case "sum":
            low = possible.total(np.minimum(possible.added.low, 0)) + certain.total(_only(here, np.maximum(here.low, 0)))
            high = possible.total(np.maximum(possible.added.high, 0)) + certain.total(_only(here, np.minimum(here.high, 0)))
            return low + _own(itself, np.maximum(itself.low, 0)), high + _own(itself, np.minimum(itself.high, 0)), null
        case "avg" if certain is possible or bool((surely == there).all()):
            return _mean(here.low, certain, lowest), _mean(here.high, certain, highest), null
        case "min":
            nearest = np.fmin(least(_only(here, here.high), certain.start, certain.end), _own(itself, itself.high, np.nan))
            return lowest, np.where(np.isnan(nearest), highest, nearest), null
        case "max":
            nearest = np.fmax(greatest(_only(here, here.low), certain.start, certain.end), _own(itself, itself.low, np.nan))
            return np.where(np.isnan(nearest), lowest, nearest), highest, null
        case _:
            return lowest, highest, null


def _only(added: _Added, numbers: Floats) -> Floats:
    return np.where(added.sure, numbers, np.nan)


def _own(itself: _Added, numbers: Floats, other: float = 0.0) -> Floats:
    return np.where(itself.sure, numbers, other)


def _mean(numbers: Floats, inside: _Set, otherwise: Floats) -> Floats:
    """The mean of the ends where every row of a range certainly counts."""
    counted, all_sure = inside.end - inside.start, inside.count(inside.added.sure) == inside.end - inside.start
    with np.errstate(all="ignore"):
        return np.where(all_sure & (counted > 0), inside.total(numbers) / counted, otherwise)


# --- partitions, peers and frames as ranges of sorted places, and totals over them -------------------------------------------


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

    def without_order(self, numbers: Floats, size: int) -> Floats:
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
    sums = _range_sums(finite, start, end)
    for sign in (1.0, -1.0):
        if (numbers == sign * np.inf).any():
            sums = np.where(_range_sums((numbers == sign * np.inf).astype(np.float64), start, end) > 0, sign * np.inf, sums)
    return sums


def _range_sums(numbers: Floats, start: Places, end: Places) -> Floats:
    summed = np.concatenate([[0.0], np.cumsum(numbers)])
    return np.asarray(summed[end] - summed[start])


def least(numbers: Floats, start: Places, end: Places) -> Floats:
    """The least number in each range, NaN in an empty one; from the least of every run of 1, 2, 4, ... places."""
    minima = np.full(len(start), np.nan)
    level, width = np.where(np.isnan(numbers), np.inf, numbers), 1
    length = end - start
    while width <= (length.max() if len(length) else 0):
        here = (length >= width) & (length < 2 * width)
        minima[here] = np.minimum(level[start[here]], level[end[here] - width])
        level, width = np.minimum(level[: max(0, len(level) - width)], level[width:]), 2 * width
    has_value = _range_sums((~np.isnan(numbers)).astype(np.float64), start, end) > 0
    return np.where(has_value, minima, np.nan)


def greatest(numbers: Floats, start: Places, end: Places) -> Floats:
    """The greatest number in each range, NaN in an empty one."""
    return -least(-numbers, start, end)
