"""Sharp bounds of every cell: by formula where the marginals are in a tree, otherwise by integer programs.

Marginals of all rows and all columns of a two-way table are the smallest case: max(0, row + column - total) and min(row, column).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.publish.tables.cells.decomposable import closed_bounds
from tacit.publish.tables.cells.programs import CLOSE, System
from tacit.publish.tables.cells.released import Counts, Released

Way = Literal["formula", "integer programs", "linear programs"]
Track = Callable[[Iterable[int], int], Iterable[int]]


@dataclass(frozen=True, slots=True, eq=False)
class CellBounds:
    """The least and the largest count of every cell among the tables that fit; `way` is how they were found."""

    lower: Counts
    upper: Counts
    way: Way

    @property
    def sharp(self) -> bool:
        """Whether every bound is reached by a table of counts; linear programs give valid bounds that may not be."""
        return self.way != "linear programs"

    @property
    def determined(self) -> NDArray[np.bool_]:
        """The cells that have one possible value."""
        return np.asarray(self.lower == self.upper)

    def narrower_than(self, width: int) -> NDArray[np.bool_]:
        """The cells whose interval is narrower than wanted."""
        return np.asarray(self.upper - self.lower < width)


def cell_bounds(known: Released, way: Way | None = None, track: Track = lambda places, _: places) -> CellBounds:
    """Bounds of every cell; sharp unless linear programs are asked for.

    >>> from tacit.publish.tables.cells.released import released
    >>> found = cell_bounds(released([[2, 10], [12, 6]], [(0,), (1,)]))
    >>> found.lower.tolist(), found.upper.tolist(), found.way
    ([[0, 0], [2, 4]], [[12, 12], [14, 16]], 'formula')
    """
    closed = closed_bounds(known) if way in (None, "formula") else None
    if closed is not None:
        return CellBounds(*closed, "formula")
    whole = way != "linear programs"
    system = System.of(known)
    lower, upper = np.zeros(known.size, dtype=np.int64), np.zeros(known.size, dtype=np.int64)
    system.some_table()  # refuses marginals of no table, also where no cell is free
    for place in track(range(len(system.free)), len(system.free)):
        least, most = system.extreme(place, whole)
        cell = system.free[place]
        lower[cell], upper[cell] = np.ceil(least - CLOSE), np.floor(most + CLOSE)
    return CellBounds(lower.reshape(known.shape), upper.reshape(known.shape), "integer programs" if whole else "linear programs")
