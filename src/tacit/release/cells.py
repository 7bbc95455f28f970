"""Columns made of released numbers: their values, and over which values the exact ones range while all ends hold.

Numbers have two ends, both NaN where the exact value is certainly NULL, and say where it may be. A statement about NULL is part of
the range: the exact value lies between the ends, or is NULL where that is said to be possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.query.price.error_bars import Band, Floats

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Numbers of all rows; NaN is NULL. `null` says where the exact value may be NULL."""

    value: Floats
    low: Floats
    high: Floats
    null: Flags

    @property
    def band(self) -> Band:
        """Value and ends alone, to compute with."""
        return Band(self.value, self.low, self.high)

    @property
    def empty(self) -> Flags:
        """Where the exact value is certainly NULL."""
        return np.isnan(self.low)

    def at(self, rows: NDArray[np.int64]) -> Numbers:
        """Those of some rows."""
        return Numbers(self.value[rows], self.low[rows], self.high[rows], self.null[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Texts or truths of all rows. `certain` says that they are exact: made of keys and constants alone."""

    values: tuple[Any, ...]
    certain: bool


@dataclass(frozen=True, slots=True, eq=False)
class Truths:
    """Whether a test holds in every row: 1, 0, or -1 where it is unknown; and what it may be for the exact numbers."""

    value: NDArray[np.int8]
    true: Flags
    false: Flags
    unknown: Flags


Cells = Numbers | Words


def certain(value: Floats) -> Numbers:
    """Numbers that are exact."""
    return Numbers(value, value, value, np.isnan(value))


def settled(band: Band, null: Flags, empty: Flags | None = None) -> Numbers:
    """Numbers from a computed band: what is too large for a double is NULL, and ends that are not numbers are open."""
    value = np.where(np.isfinite(band.value), band.value, np.nan)
    low, high = np.where(np.isnan(band.low), -np.inf, band.low), np.where(np.isnan(band.high), np.inf, band.high)
    open_ended = np.isinf(low) | np.isinf(high)
    if empty is not None:
        low, high = np.where(empty, np.nan, low), np.where(empty, np.nan, high)
    return Numbers(value, low, high, null | open_ended | (False if empty is None else empty))


def always(value: bool | None, size: int) -> Truths:
    """The same truth in every row."""
    code = -1 if value is None else int(value)
    flags = [np.full(size, code == each) for each in (1, 0, -1)]
    return Truths(np.full(size, code, dtype=np.int8), *flags)


def all_of(parts: Sequence[Truths]) -> Truths:
    """AND: one false part decides; else one that is unknown leaves the whole unknown."""
    values = np.stack([part.value for part in parts])
    value = np.where((values == 0).any(axis=0), 0, np.where((values == -1).any(axis=0), -1, 1)).astype(np.int8)
    true = np.all([part.true for part in parts], axis=0)
    false = np.any([part.false for part in parts], axis=0)
    never_false = np.all([part.true | part.unknown for part in parts], axis=0)
    return Truths(value, true, false, never_false & np.any([part.unknown for part in parts], axis=0))


def negated(part: Truths) -> Truths:
    """NOT."""
    value = np.where(part.value == -1, -1, 1 - part.value).astype(np.int8)
    return Truths(value, part.false, part.true, part.unknown)


def any_of(parts: Sequence[Truths]) -> Truths:
    """OR."""
    return negated(all_of([negated(part) for part in parts]))


def known_as(part: Truths, wanted: bool) -> Truths:
    """IS TRUE or IS FALSE: never unknown."""
    can, other = (part.true, part.false) if wanted else (part.false, part.true)
    return Truths((part.value == int(wanted)).astype(np.int8), can, other | part.unknown, np.zeros_like(can))


def missing(cells: Cells) -> Truths:
    """IS NULL."""
    if isinstance(cells, Numbers):
        value = np.isnan(cells.value)
        return Truths(value.astype(np.int8), cells.null | cells.empty, ~cells.empty, np.zeros_like(value))
    value = np.array([each is None for each in cells.values], dtype=np.bool_)
    unsure = np.full(len(value), not cells.certain)
    return Truths(value.astype(np.int8), value | unsure, ~value | unsure, np.zeros_like(value))


def listed(cells: Cells) -> list[Any]:
    """The values as plain objects, None for NULL."""
    if isinstance(cells, Words):
        return list(cells.values)
    return [None if known else number for number, known in zip(cells.value.tolist(), np.isnan(cells.value).tolist(), strict=True)]


def chosen_words(tests: Sequence[Truths], values: Sequence[Cells], certain: bool) -> Words:
    """CASE over texts or truths; the last value is that of ELSE."""
    columns = [listed(each) for each in values]
    holds = np.stack([*(test.value == 1 for test in tests), np.ones(len(columns[0]), dtype=np.bool_)])
    return Words(tuple(columns[at][row] for row, at in enumerate(holds.argmax(axis=0).tolist())), certain)
