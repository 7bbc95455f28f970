"""Exact marginals as an attacker has them: each is a known sum over cells of a table of counts.

A table has an axis for each column. A marginal keeps some of the axes and sums over the others; the marginal of no axis is the
total, that of all axes the table itself. A known cell is a sum over one cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.publish.tables.table import MISSING, Table

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
        raise InvalidInput(f"counts must be 0 or more, and at most {LARGEST:,} together", argument="counts")


# --- a table of counts with the names of its columns and the values along every axis -----------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Contingency:
    """Counts with the names of their columns and the values along every axis."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    counts: Counts

    def labels(self, cell: Sequence[int]) -> tuple[str, ...]:
        """The values of a cell."""
        return tuple(names[place] for names, place in zip(self.values, cell, strict=True))

    def label(self, cell: Sequence[int]) -> str:
        """The values of a cell in words."""
        return ", ".join(self.labels(cell))

    def cells(self) -> list[Cell]:
        """All cells, in the order of the table."""
        return list(product(*map(range, self.counts.shape)))

    def axes(self, names: Sequence[str]) -> tuple[int, ...]:
        """The places of columns by name."""
        if missing := [name for name in names if name not in self.columns]:
            raise InvalidInput(f"a marginal names {missing[0]!r}, which is not among the columns {', '.join(self.columns)}")
        return tuple(sorted({self.columns.index(name) for name in names}))


def contingency(table: Table, columns: Sequence[str], counts: str | None = None) -> Contingency:
    """How many rows have each combination of values; with `counts`, the sum of that column of a table of counts.

    >>> people = Table.of({"hair": ["brown", "blond", "brown"], "eyes": ["blue", "blue", "blue"]})
    >>> contingency(people, ["hair", "eyes"]).counts.tolist()
    [[1], [2]]
    """
    if not columns or not table.rows:
        raise InvalidInput("a contingency table needs at least one column and one row")
    chosen = [table[name] for name in columns]
    shape = tuple(len(column.values) for column in chosen)
    if np.prod([float(size) for size in shape]) > MOST_CELLS:
        raise InvalidInput(
            f"the columns have more than {MOST_CELLS:,} combinations of values; leave one out, or use coarser values"
        )
    places = np.ravel_multi_index(tuple(column.codes for column in chosen), shape)
    cells = np.zeros(int(np.prod(shape)), dtype=np.int64)
    np.add.at(cells, places, 1 if counts is None else _numbers(table, counts))
    return Contingency(tuple(column.name for column in chosen), tuple(column.values for column in chosen), cells.reshape(shape))


def margins_alone(table: Table, columns: Sequence[str], counts: str) -> tuple[Contingency, Released]:
    """Marginals without the table behind them: each line has a value in the columns that it is about, and a blank in the others.

    The table of the result has no counts. A marginal has a line for each combination of its values.

    >>> lines = {"hair": ["blond", "brown", "", ""], "eyes": ["", "", "blue", "brown"], "n": [12, 18, 16, 14]}
    >>> _, known = margins_alone(Table.of(lines), ["hair", "eyes"], "n")
    >>> known.marginals[0,], known.marginals[1,]
    (array([12, 18]), array([16, 14]))
    """
    if not columns or not table.rows:
        raise InvalidInput("marginals need at least one column and one line")
    chosen, numbers = [table[name] for name in columns], _numbers(table, counts)
    values = tuple(tuple(value for value in column.values if value != MISSING) for column in chosen)
    places = [{value: place for place, value in enumerate(each)} for each in values]
    marginals: dict[tuple[int, ...], dict[Cell, int]] = {}
    for line, number in zip(zip(*(column.texts() for column in chosen), strict=True), numbers.tolist(), strict=True):
        axes = tuple(axis for axis, value in enumerate(line) if value != MISSING)
        if marginals.setdefault(axes, {}).setdefault(tuple(places[axis][line[axis]] for axis in axes), number) != number:
            raise InvalidInput("a marginal has two counts for the same values; give each combination one line")
    shape = tuple(map(len, values))
    release = Released(shape, {axes: _fill(cells, [shape[axis] for axis in axes]) for axes, cells in marginals.items()})
    _check_agreement(release)
    nothing = np.zeros(shape, dtype=np.int64)
    return Contingency(tuple(column.name for column in chosen), values, nothing), release


def _fill(cells: dict[Cell, int], shape: Sequence[int]) -> Counts:
    if len(cells) < prod(shape):
        raise InvalidInput("a marginal lacks a combination of its values; write a line with the count 0 for it")
    counts = np.zeros(tuple(shape), dtype=np.int64)
    for cell, count in cells.items():
        counts[cell] = count
    return counts


def _check_agreement(release: Released) -> None:
    """Raises unless marginals agree on the columns that both have."""
    for (one, counts), (other, others) in combinations(release.marginals.items(), 2):
        shared = set(one) & set(other)
        left = marginal(counts, [place for place, axis in enumerate(one) if axis in shared])
        right = marginal(others, [place for place, axis in enumerate(other) if axis in shared])
        if not np.array_equal(left, right):
            raise InvalidInput("two marginals contradict each other in the columns that both have; they must come from one table")


def _numbers(table: Table, counts: str) -> Counts:
    column = table[counts]
    if not all(value.isascii() and value.isdigit() and len(value) < 11 for value in column.values):
        raise InvalidInput(f"{column.name} has a value that is not a count; expected whole numbers of at least 0")
    numbers = np.array([int(value) for value in column.values], dtype=np.int64)[column.codes]
    if len(numbers) * float(numbers.max(initial=0)) > 2**62 or int(numbers.sum()) > LARGEST:
        raise InvalidInput(f"the counts of {column.name} add up to more than {LARGEST:,}; use a smaller table")
    return numbers
