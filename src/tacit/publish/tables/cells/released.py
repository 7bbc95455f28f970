"""Exact marginals as an attacker has them: each is a known sum over cells of a table of counts.

A table has an axis for each column. A marginal keeps some of the axes and sums over the others; the marginal of no axis is the
total, that of all axes the table itself. A known cell is a sum over one cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput

Counts = NDArray[np.int64]
Cell = tuple[int, ...]
MOST_CELLS = 1_000_000
LARGEST = 10**9  # people: the solver works in floating point with an absolute tolerance of 1e-6, and whole numbers must stand out


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """The shape of a table, the released marginals by their axes, and the cells that are published as they are."""

    shape: tuple[int, ...]
    marginals: Mapping[tuple[int, ...], Counts]
    known: Mapping[Cell, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.shape or prod(self.shape) == 0 or prod(self.shape) > MOST_CELLS:
            raise InvalidInput(
                f"a table needs at least one cell and at most {MOST_CELLS:,}; leave out a column, or use coarser values"
            )
        if not self.marginals:
            raise InvalidInput("no marginal is released; release at least the total")
        for axes, counts in self.marginals.items():
            _check(self.shape, axes, counts)
        if len({int(counts.sum()) for counts in self.marginals.values()}) > 1:
            raise InvalidInput("the marginals have different totals; they must come from one table")

    @property
    def size(self) -> int:
        """The number of cells."""
        return prod(self.shape)

    @property
    def total(self) -> int:
        """The number of people."""
        return int(next(iter(self.marginals.values())).sum())

    def sums(self) -> Iterator[tuple[NDArray[np.intp], int]]:
        """Every known sum: the cells that it runs over, counted through in the order of the table, and its value."""
        places = np.arange(self.size).reshape(self.shape)
        for axes, counts in self.marginals.items():
            others = [axis for axis in range(len(self.shape)) if axis not in axes]
            rows = places.transpose(*axes, *others).reshape(counts.size, -1)
            yield from zip(rows, map(int, counts.ravel()), strict=True)
        for cell, count in self.known.items():
            yield np.array([places[cell]]), count


def released(table: Counts | Sequence[Any], sets: Sequence[Sequence[int]]) -> Released:
    """The marginals of a table over the given sets of axes.

    >>> hair_and_eyes = released([[2, 10], [12, 6]], [(0,), (1,)])
    >>> hair_and_eyes.marginals[0,], hair_and_eyes.total
    (array([12, 18]), 30)
    """
    counts = np.asarray(table, dtype=np.int64)
    return Released(counts.shape, {axes: marginal(counts, axes) for axes in (tuple(sorted(set(each))) for each in sets)})


def marginal(counts: Counts, axes: Sequence[int]) -> Counts:
    """The sums over all other axes."""
    if any(not 0 <= axis < counts.ndim for axis in axes):
        raise InvalidInput("a marginal names a column that the table does not have")
    others = tuple(axis for axis in range(counts.ndim) if axis not in axes)
    return np.asarray(counts.sum(axis=others), dtype=np.int64)


def _check(shape: tuple[int, ...], axes: tuple[int, ...], counts: Counts) -> None:
    if list(axes) != sorted(set(axes)) or any(not 0 <= axis < len(shape) for axis in axes):
        raise InvalidInput("the axes of a marginal must be axes of the table, each once and in their order")
    if counts.shape != tuple(shape[axis] for axis in axes):
        raise InvalidInput("a marginal must have a count for every combination of its values")
    if (counts < 0).any() or counts.sum() > LARGEST:
        raise InvalidInput(f"counts must be 0 or more, and at most {LARGEST:,} together")
