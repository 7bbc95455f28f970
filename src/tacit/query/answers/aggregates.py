"""Aggregates over the rows of groups: their values, and the range of the exact ones, whichever rows noisy numbers have chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tacit.query.intervals.bands import Band, Cells, Flags, Floats, Numbers, Words, certain, listed, settle
from tacit.query.intervals.ranges import Places
from tacit.query.intervals.windows import Members


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """The argument of an aggregate, and which rows count: by their values, certainly, and perhaps."""

    cells: Cells
    codes: Places
    count: int
    members: Members

    @property
    def there(self) -> Flags:
        """Rows with a value."""
        given = [each is not None for each in self.cells.values] if isinstance(self.cells, Words) else ~np.isnan(self.cells.value)
        return self.members.inside & np.asarray(given, dtype=np.bool_) & (self.codes >= 0)

    @property
    def sure(self) -> Flags:
        """Rows that certainly count, with a value."""
        if isinstance(self.cells, Words):
            return self.there & self.members.sure if self.cells.certain else np.zeros(len(self.codes), dtype=np.bool_)
        return self.members.sure & ~self.cells.null & ~self.cells.empty & (self.codes >= 0)

    @property
    def possible(self) -> Flags:
        """Rows that may count."""
        if isinstance(self.cells, Words):
            return self.members.possible & (self.codes >= 0) & (self.there | (not self.cells.certain))
        return self.members.possible & ~self.cells.empty & (self.codes >= 0)

    def added(self, numbers: Floats, which: Flags) -> Floats:
        """The sum of numbers of some rows in every group."""
        with np.errstate(all="ignore"):
            return np.bincount(self.codes[which], numbers[which], minlength=self.count).astype(np.float64)

    def counted(self, which: Flags) -> Floats:
        """The number of some rows in every group."""
        return np.bincount(self.codes[which], minlength=self.count).astype(np.float64)

    def extreme(self, numbers: Floats, which: Flags, least: bool) -> Floats:
        """The least or the largest number of some rows in every group; NaN without one."""
        found = np.full(self.count, np.inf if least else -np.inf)
        (np.minimum if least else np.maximum).at(found, self.codes[which], numbers[which])
        return np.where(self.counted(which) > 0, found, np.nan)


def _count(rows: Grouped) -> Numbers:
    value = rows.counted(rows.there)
    return Numbers(value, rows.counted(rows.sure), rows.counted(rows.possible), np.zeros(rows.count, dtype=np.bool_))


def _distinct(rows: Grouped) -> Numbers:
    values = listed(rows.cells)
    pairs = {(int(rows.codes[at]), values[at]) for at in np.flatnonzero(rows.there)}
    value = np.bincount(np.array([code for code, _ in pairs], dtype=np.int64), minlength=rows.count).astype(np.float64)
    fixed = isinstance(rows.cells, Words) and rows.cells.certain
    fixed = fixed or (isinstance(rows.cells, Numbers) and bool((rows.cells.low == rows.cells.high)[rows.possible].all()))
    low, high = np.minimum(rows.counted(rows.sure), 1.0), rows.counted(rows.possible)
    same = np.full(rows.count, fixed and bool((rows.sure == rows.possible).all()))
    return Numbers(value, np.where(same, value, low), np.where(same, value, high), np.zeros(rows.count, dtype=np.bool_))


def _numbers(rows: Grouped) -> Numbers:
    if isinstance(rows.cells, Numbers):
        return rows.cells
    return certain(np.full(len(rows.codes), np.nan))  # of NULL alone


def _sum(rows: Grouped) -> Numbers:
    """At least what certain rows bring, and what the others may take away."""
    cells, sure, possible = _numbers(rows), rows.sure, rows.possible
    value = np.where(rows.counted(rows.there) > 0, rows.added(np.nan_to_num(cells.value), rows.there), np.nan)
    low = rows.added(np.where(sure, cells.low, np.minimum(cells.low, 0.0)), possible)
    high = rows.added(np.where(sure, cells.high, np.maximum(cells.high, 0.0)), possible)
    return settle(Band(value, low, high), rows.counted(sure) == 0, rows.counted(possible) == 0)


def _mean(rows: Grouped) -> Numbers:
    """The mean of all rows where all are certain; else between the least and the largest that may count."""
    cells, sure, possible = _numbers(rows), rows.sure, rows.possible
    with np.errstate(all="ignore"):
        value = rows.added(np.nan_to_num(cells.value), rows.there) / np.where((n := rows.counted(rows.there)) > 0, n, np.nan)
        number = np.maximum(rows.counted(possible), 1.0)
        low, high = rows.added(cells.low, possible) / number, rows.added(cells.high, possible) / number
    same = rows.counted(sure) == rows.counted(possible)
    low = np.where(same, low, rows.extreme(cells.low, possible, least=True))
    high = np.where(same, high, rows.extreme(cells.high, possible, least=False))
    return settle(Band(value, low, high), rows.counted(sure) == 0, rows.counted(possible) == 0)


def _extreme(rows: Grouped, least: bool) -> Numbers:
    """The least is at most that of the certain rows, and at least that of all that may count."""
    cells, sure, possible = _numbers(rows), rows.sure, rows.possible
    value = rows.extreme(cells.value, rows.there, least)
    outer, bound = (cells.low, cells.high) if least else (cells.high, cells.low)
    far = rows.extreme(outer, possible, least)
    near = np.where(rows.counted(sure) > 0, rows.extreme(bound, sure, least), rows.extreme(bound, possible, not least))
    low, high = (far, near) if least else (near, far)
    return settle(Band(value, low, high), rows.counted(sure) == 0, rows.counted(possible) == 0)


AGGREGATED: Mapping[str, Callable[[Grouped], Numbers]] = {
    "count": _count,
    "count_distinct": _distinct,
    "sum": _sum,
    "avg": _mean,
    "min": lambda rows: _extreme(rows, least=True),
    "max": lambda rows: _extreme(rows, least=False),
}
