"""A table of counts with the names of its columns and the values along every axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.tables.cells.released import MOST_CELLS, Cell, Counts
from tacit.publish.tables.table import Table


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


def contingency(table: Table, columns: Sequence[str]) -> Contingency:
    """How many rows have each combination of values.

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
    counts = np.bincount(places, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64)
    return Contingency(tuple(column.name for column in chosen), tuple(column.values for column in chosen), counts)
