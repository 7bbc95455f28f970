"""Windows over released numbers: SQL's values, and the range of the exact ones.

The exact value of a window is what it gives on the exact numbers: in the order of the exact numbers, over the rows that HAVING
would leave of them. So where released numbers order or choose rows, a row may count or not, and the range covers both.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from tacit.mechanisms.running import Running
from tacit.query.intervals import ranges
from tacit.query.intervals.aggregates import finish_call
from tacit.query.intervals.bands import (
    Band,
    Cells,
    Flags,
    Floats,
    Noisy,
    Numbers,
    Priced,
    Words,
    certain,
    half_width_of_sum,
    noises_of,
    settle,
)
from tacit.query.intervals.misses import window_kind
from tacit.query.intervals.ranges import Arranged, Places, arranged, greatest, least, total
from tacit.query.intervals.trends import sums_of_cells
from tacit.query.question import Call, Out, Result, Window, is_noisy

MOST_LAWS = 64  # different numbers of rows for which a law is computed; of more, a simpler bound is


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Which rows a window sees: by released numbers, and by the exact ones certainly and perhaps."""

    inside: Flags
    sure: Flags
    possible: Flags


class Released(Protocol):
    """The columns around a window, as it reads them."""

    @property
    def quote(self) -> Priced: ...
    @property
    def noisy(self) -> Noisy: ...
    @property
    def missed(self) -> Fraction: ...
    @property
    def size(self) -> int: ...
    @property
    def members(self) -> Members: ...
    def of(self, out: Out) -> Cells: ...
    def sortable(self, out: Out) -> Cells: ...
    def numbers(self, out: Out) -> Numbers: ...
    def places(self, call: Call) -> list[int]: ...


def window_ends(columns: Released, window: Window) -> Numbers:
    """A window in every row that it sees; NULL in the others."""
    child = _child(columns, window)
    partition = _codes([tuple(group[key.index] for key in window.partition) for group in columns.noisy.groups])
    orders = [(columns.sortable(order.by), order.descending) for order in window.order]
    sorts = [ascending(cells, down) for cells, down in orders]
    seen = arranged(np.flatnonzero(columns.members.inside), partition, sorts)
    value = seen.without_order(_value(window, columns, child, seen), columns.size)
    match window_kind(window, columns.quote.question):
        case "exact":
            return certain(value)
        case "moved":
            return _shift(window, columns, child, seen)
        case "linear":
            return _of_sums(window, columns, seen)
    noisy = next((at for at, order in enumerate(window.order) if is_noisy(order.by)), None)
    rows = ranges.Rows(partition, np.stack([*sorts[:noisy], partition]), columns.members.sure, columns.members.possible)
    if noisy is None and (window.frame is None or bool((columns.members.sure == columns.members.possible).all())):
        low, high, null = ranges.ordered(window, child, rows, sorts)
    elif noisy is not None and window.frame is None:
        cells, down = orders[noisy]
        low, high, null = ranges.ends_of_all(window, child, rows, ranges.sort_ends(cells, down))
    else:
        low, high, null = ranges.anywhere(window, child, rows)
    return settle(Band(value, low, high), null)


def _child(columns: Released, window: Window) -> Numbers:
    """The numbers that a window adds up or compares; of COUNT of texts only whether they are there."""
    cells = columns.of(window.child) if window.child is not None else certain(np.ones(columns.size))
    if isinstance(cells, Words):
        there = np.array([np.nan if value is None else 1.0 for value in cells.values])
        unsure = np.full(columns.size, not cells.certain)
        return Numbers(there, np.where(unsure, 1.0, there), np.where(unsure, 1.0, there), np.isnan(there) | unsure)
    return cells


def _codes(values: list[object]) -> Places:
    """Whole numbers that are equal where the values are, in the order of their first appearance."""
    codes: dict[object, int] = {}
    return np.array([codes.setdefault(value, len(codes)) for value in values], dtype=np.int64)


def ascending(cells: Cells, descending: bool) -> Floats:
    """Numbers that sort as the cells do, NULL last in either direction."""
    if isinstance(cells, Words):
        names = {value: at for at, value in enumerate(sorted({each for each in cells.values if each is not None}, key=_sortable))}
        numbers = np.array([np.nan if each is None else float(names[each]) for each in cells.values])
    else:
        numbers = cells.value
    numbers = -numbers if descending else numbers
    return np.where(np.isnan(numbers), np.inf, numbers + 0.0)


def _sortable(value: object) -> tuple[bool, object]:
    """Numbers before text, where a key has both."""
    return isinstance(value, str), value


# --- values ------------------------------------------------------------------------------------------------------------------


def _value(window: Window, columns: Released, child: Numbers, seen: Arranged) -> Floats:
    """The value in every sorted row, as SQL has it."""
    numbers, (start, end) = child.value[seen.rows], seen.frame(window.frame, bool(window.order))
    match window.function:
        case "rank":
            return (seen.peer - seen.first + 1).astype(np.float64)
        case "row_number":
            return (seen.here - seen.first + 1).astype(np.float64)
        case "dense_rank":
            changes = np.cumsum(seen.here == seen.peer)
            return (changes - changes[seen.first] + 1).astype(np.float64) if len(changes) else np.zeros(0)
        case "shift" | "first" | "last":
            other, absent = _elsewhere(window, seen)
            otherwise = np.full(columns.size, np.nan) if window.otherwise is None else columns.numbers(window.otherwise).value
            return np.where(absent, otherwise[seen.rows] if window.function == "shift" else np.nan, child.value[other])
        case "min" | "max":
            return (least if window.function == "min" else greatest)(numbers, start, end)
    counted = total((~np.isnan(numbers)).astype(np.float64), start, end)
    if window.function == "count":
        return counted
    with np.errstate(all="ignore"):
        summed = np.where(counted > 0, total(numbers, start, end), np.nan)
        return summed / counted if window.function == "avg" else summed


def _elsewhere(window: Window, seen: Arranged) -> tuple[Places, Flags]:
    """The row whose value is shown, and whether it lies outside."""
    if not len(seen.rows):
        return seen.rows, np.zeros(0, dtype=np.bool_)
    start, end = seen.frame(window.frame, bool(window.order))
    if window.function == "shift":
        place = seen.here + window.offset
        absent = (place < seen.first) | (place >= seen.last)
    else:
        place = start if window.function == "first" else end - 1
        absent = start >= end
    return seen.rows[np.clip(place, 0, len(seen.rows) - 1)], absent


# --- ends, where keys decide which rows count ----------------------------------------------------------------------------------


def _shift(window: Window, columns: Released, child: Numbers, seen: Arranged) -> Numbers:
    """The number of another row with its own ends; else the given one."""
    other, absent = _elsewhere(window, seen)
    nothing = certain(np.full(columns.size, np.nan))
    given = nothing if window.otherwise is None or window.function != "shift" else columns.numbers(window.otherwise)
    there, instead = child.at(other), given.at(seen.rows)
    parts = [
        seen.without_order(np.where(absent, two, one), columns.size)
        for one, two in ((there.value, instead.value), (there.low, instead.low), (there.high, instead.high))
    ]
    null = np.ones(columns.size, dtype=np.bool_)
    null[seen.rows] = np.where(absent, instead.null, there.null)
    return Numbers(parts[0], parts[1], parts[2], null)


def _of_sums(window: Window, columns: Released, seen: Arranged) -> Numbers:
    """Sums of counts or sums: the noises of the rows add up to one noise, whose law is known."""
    assert isinstance(window.child, Result)  # noqa: S101  # as window_kind says
    call = columns.quote.question.calls[window.child.index]
    start, end = seen.frame(window.frame, bool(window.order))
    counts = end - start
    bands = []
    for place in columns.places(call):
        part, released = columns.noisy.sums[place]
        summed = total(np.asarray(released, dtype=np.float64)[seen.rows], start, end)
        if isinstance(part.mechanism, Running):
            width = sums_of_cells(part.mechanism, seen.rows, list(zip(start.tolist(), end.tolist(), strict=True)), columns.missed)
            bands.append(Band(summed, summed - width, summed + width))
            continue
        sizes, which = np.unique(counts, return_inverse=True)
        by_law = len(sizes) <= MOST_LAWS
        noise, each = noises_of(part)
        widths = np.array([half_width_of_sum(noise, each * int(size), columns.missed, by_law) for size in sizes])
        width = widths[which] if len(counts) else np.zeros(0)
        bands.append(Band(summed, summed - width, summed + width))
    band = finish_call(call, columns.quote.question.calls, tuple(bands))
    with np.errstate(all="ignore"):
        divisor = counts.astype(np.float64) if window.function == "avg" else np.ones(len(counts))
        parts = [np.where(counts > 0, numbers / divisor, np.nan) for numbers in (band.value, band.low, band.high)]
    value, low, high = (seen.without_order(numbers, columns.size) for numbers in parts)
    return settle(Band(value, low, high), np.isnan(value), np.isnan(low))
