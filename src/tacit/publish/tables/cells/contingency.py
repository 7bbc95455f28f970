"""A table of counts with the names of its columns and the values along every axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.tables.cells.released import LARGEST, MOST_CELLS, Cell, Counts, Released, marginal
from tacit.publish.tables.table import MISSING, Table


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
    found = np.zeros(int(np.prod(shape)), dtype=np.int64)
    np.add.at(found, places, 1 if counts is None else _numbers(table, counts))
    return Contingency(tuple(column.name for column in chosen), tuple(column.values for column in chosen), found.reshape(shape))


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
    known = Released(shape, {axes: _filled(cells, [shape[axis] for axis in axes]) for axes, cells in marginals.items()})
    _check_agreement(known)
    nothing = np.zeros(shape, dtype=np.int64)
    return Contingency(tuple(column.name for column in chosen), values, nothing), known


def _filled(cells: dict[Cell, int], shape: Sequence[int]) -> Counts:
    if len(cells) < prod(shape):
        raise InvalidInput("a marginal lacks a combination of its values; write a line with the count 0 for it")
    found = np.zeros(tuple(shape), dtype=np.int64)
    for cell, count in cells.items():
        found[cell] = count
    return found


def _check_agreement(known: Released) -> None:
    """Refuse marginals that differ in what they say of the columns that both have."""
    for (one, counts), (other, others) in combinations(known.marginals.items(), 2):
        shared = set(one) & set(other)
        left = marginal(counts, [place for place, axis in enumerate(one) if axis in shared])
        right = marginal(others, [place for place, axis in enumerate(other) if axis in shared])
        if not np.array_equal(left, right):
            raise InvalidInput("two marginals contradict each other in the columns that both have; they must come from one table")


def _numbers(table: Table, counts: str) -> Counts:
    column = table[counts]
    if not all(value.isascii() and value.isdigit() and len(value) < 11 for value in column.values):
        raise InvalidInput(f"{column.name} has a value that is not a count; expected whole numbers of at least 0")
    found = np.array([int(value) for value in column.values], dtype=np.int64)[column.codes]
    if len(found) * float(found.max(initial=0)) > 2**62 or int(found.sum()) > LARGEST:
        raise InvalidInput(f"the counts of {column.name} add up to more than {LARGEST:,}; use a smaller table")
    return found
