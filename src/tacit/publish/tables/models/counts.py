"""How often each sensitive value occurs in each group: the only input of the models of groups."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput

DENSE = 4  # most cells a row for which a table of groups by values is quicker than sorting


@dataclass(frozen=True, eq=False)
class Counts:
    """Triples of group, value and count, in the order of groups; only values that occur in a group have one.

    `totals` counts each value in the whole table, rows without a group included. `outer` has, for each group, the size of the group
    of its quasi-identifiers alone; it is the same as `sizes` unless other sensitive columns divide the groups further.

    >>> some = counts_of([[8, 2, 2], [1, 0, 3]])
    >>> some.sizes.tolist(), some.distinct.tolist(), some.largest.tolist(), some.totals.tolist()
    ([12, 4], [3, 2], [8, 3], [9, 2, 5])
    """

    group: NDArray[np.int64]
    value: NDArray[np.int64]
    count: NDArray[np.int64]
    outer: NDArray[np.int64]
    totals: NDArray[np.int64]
    values: tuple[Any, ...]
    name: str = ""

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the triples of each group begin."""
        return np.searchsorted(self.group, np.arange(len(self.outer))).astype(np.int64)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each group."""
        return self.sum_by_group(self.count)

    @cached_property
    def distinct(self) -> NDArray[np.int64]:
        """Distinct values of each group."""
        return np.bincount(self.group, minlength=len(self.outer)).astype(np.int64)

    @cached_property
    def largest(self) -> NDArray[np.int64]:
        """The count of the most frequent value of each group."""
        counts_of_groups: NDArray[np.int64] = np.maximum.reduceat(self.count, self.starts)
        return counts_of_groups

    def largest_of(self, protected: Collection[Any] | None) -> NDArray[np.int64]:
        """The count of the most frequent of the protected values in each group; None protects all."""
        if protected is None:
            return self.largest
        if unknown := [value for value in protected if value not in self.values]:
            column = self.name or "the column"
            raise InvalidInput(f"protected value {str(unknown[0])[:40]!r} does not occur in {column}; check its spelling")
        chosen = np.array([value in protected for value in self.values], dtype=np.bool_)[self.value]
        counts_of_groups: NDArray[np.int64] = np.maximum.reduceat(np.where(chosen, self.count, 0), self.starts)
        return counts_of_groups

    @cached_property
    def total(self) -> int:
        """Rows of the whole table that show a value."""
        return int(self.totals.sum())

    @cached_property
    def domain(self) -> int:
        """Distinct values of the whole table."""
        return int((self.totals > 0).sum())

    def sum_by_group(self, of_triple: NDArray[Any]) -> NDArray[Any]:
        """The sum over the triples of each group; every group has at least one."""
        sums: NDArray[Any] = np.add.reduceat(of_triple, self.starts)
        return sums

    def vector(self, group: int) -> tuple[int, ...]:
        """The counts of one group, largest first."""
        end = self.starts[group] + self.distinct[group]
        return tuple(sorted(self.count[self.starts[group] : end].tolist(), reverse=True))


def count_triples(
    group: NDArray[np.int64], value: NDArray[np.int64], outer: NDArray[np.int64], totals: NDArray[np.int64], values: Any, name: str
) -> Counts:
    """The triples of rows, given the group and the value of each row."""
    number, width = len(outer), len(values)
    pair = group * width + value
    if number * width <= DENSE * max(len(pair), 1):
        table = np.bincount(pair, minlength=number * width)
        keys = np.flatnonzero(table)
        count = table[keys]
    else:
        keys, count = np.unique(pair, return_counts=True)
    return Counts(keys // width, keys % width, count.astype(np.int64), outer, totals, tuple(values), name)


def counts_of(table: Sequence[Sequence[int]], totals: Sequence[int] | None = None) -> Counts:
    """Counts written as a table with a line for each group; the whole table is the sum of the lines unless it is given."""
    cells = np.array(table, dtype=np.int64)
    group, value = np.nonzero(cells)
    whole = cells.sum(axis=0) if totals is None else np.array(totals, dtype=np.int64)
    return Counts(group, value, cells[group, value], cells.sum(axis=1), whole, tuple(range(cells.shape[1])))
