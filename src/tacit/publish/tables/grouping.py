"""Groups of rows that are equal on some columns of codes, by one integer key for each row.

A key is the mixed-radix number of the codes. A small key space is addressed directly. Otherwise key and row number are sorted as
one integer, which is several times quicker than sorting row numbers by key. A key too large for 62 bits is replaced by its rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
BITS = 62
DIRECT = 1 << 16  # a key space of this size, or of four times the rows, is addressed directly


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """For each group the first of its rows, and for each row its group; groups are numbered in the order of their keys."""

    first: Integers
    of_row: Integers

    def __len__(self) -> int:
        return len(self.first)

    def sizes(self, counts: Integers | None = None) -> Integers:
        """The rows of each group, or the sum of their counts."""
        return sum_by_place(self.of_row, counts, len(self.first))


def sum_by_place(places: Integers, counts: Integers | None, size: int) -> Integers:
    """The sum of the counts at each place, exactly: floats hold integers below 2^53."""
    if counts is None:
        return np.bincount(places, minlength=size)
    return np.bincount(places, weights=counts, minlength=size).astype(np.int64)


def pack_keys(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int]) -> tuple[Integers, int]:
    """One key for each row, and the number of keys that there may be; equal keys are equal rows.

    >>> pack_keys([np.array([1, 0]), np.array([2, 2])], [2, 3])[0].tolist()
    [5, 2]
    """
    rows = len(columns[0]) if columns else 0
    key, space = np.zeros(rows, dtype=np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        if space * max(size, 1) >= 1 << BITS:
            ranked = group_keys(key, space)
            key, space = ranked.of_row, max(len(ranked), 1)
        key = key * size + codes
        space *= max(size, 1)
    return key, space


def group_rows(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int]) -> Groups:
    """The groups of rows that are equal on all columns; `sizes` has the number of codes of each."""
    return group_keys(*pack_keys(columns, sizes))


def group_keys(key: Integers, space: int) -> Groups:
    """The groups of rows with equal keys; keys are at least 0 and below `space`."""
    rows = len(key)
    if space <= max(DIRECT, 4 * rows):
        return _group_by_address(key, space)
    width = max(rows - 1, 1).bit_length()
    if space.bit_length() + width <= BITS:
        return _group_by_sort((key << width) | np.arange(rows), width)
    _, first, of_row = np.unique(key, return_index=True, return_inverse=True)
    return Groups(first, of_row)


def _group_by_address(key: Integers, space: int) -> Groups:
    first = np.full(space, -1, dtype=np.int64)
    first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    taken = first >= 0
    ranks = np.cumsum(taken) - 1
    return Groups(first[taken], ranks[key])


def _group_by_sort(paired: Integers, width: int) -> Groups:
    paired.sort()
    rows = paired & ((1 << width) - 1)
    key = paired >> width
    begins = np.empty(len(key), dtype=np.bool_)
    begins[:1] = True
    np.not_equal(key[1:], key[:-1], out=begins[1:])
    of_row = np.empty(len(key), dtype=np.int64)
    of_row[rows] = np.cumsum(begins) - 1
    return Groups(rows[begins], of_row)
