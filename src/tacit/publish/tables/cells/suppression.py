"""Cell suppression: small counts are hidden, and further cells with them, until no hidden count can be narrowed down too far.

Every marginal stays published, so that a hidden cell next to shown ones is a subtraction. For each small cell an integer program
looks for two tables that keep all sums, differ in the cell by the width wanted, and touch as few shown cells as possible; the cells
that they touch are hidden too (after Kelly, Golden and Assad 1992). Cells that turn out not to be needed are shown again. At
the end the bounds of every small cell are computed anew, by integer programs: the result is checked, not assumed.

The pattern of hidden cells depends on the counts, and anyone who knows the threshold knows that the first hidden ones are below it.
This is not differential privacy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.publish.tables.cells.bounds import CLOSE, System
from tacit.publish.tables.cells.released import Cell, Counts, Released, released

TOO_WIDE = "no set of hidden cells gives intervals that wide; ask for narrower ones, or release fewer marginals"


@dataclass(frozen=True, slots=True, eq=False)
class Suppressed:
    """Which cells are hidden: the small ones, and those that protect them; with the interval of every small cell."""

    counts: Counts
    small: NDArray[np.bool_]
    hidden: NDArray[np.bool_]
    sets: tuple[tuple[int, ...], ...]
    intervals: dict[Cell, tuple[int, int]]

    @property
    def narrowest(self) -> int | None:
        """The width of the narrowest interval of a small cell; None if no cell is small."""
        return min((high - low for low, high in self.intervals.values()), default=None)

    def published(self) -> Released:
        """The marginals, and the cells that are not hidden, as an outsider sees them."""
        return _as_seen(self.counts, self.hidden, self.sets)


def suppress(counts: Counts | Sequence[object], below: int, width: int, sets: Sequence[Sequence[int]]) -> Suppressed:
    """Hide every count from 1 to below `below`, and what else it takes that each of them has an interval of `width` or more.

    >>> found = suppress([[20, 50, 10], [8, 19, 22], [17, 32, 2]], below=5, width=4, sets=[(0,), (1,)])
    >>> int(found.hidden.sum()), found.narrowest >= 4
    (4, True)
    """
    table = np.asarray(counts, dtype=np.int64)
    if below < 2 or width < 1:
        raise InvalidInput("hide counts below at least 2, with intervals of at least 1; smaller numbers hide nothing")
    axes = tuple(tuple(sorted(set(each))) for each in sets)
    small = (table > 0) & (table < below)
    hidden = small.copy()
    places = [tuple(map(int, cell)) for cell in np.argwhere(small)]
    for cell in places:
        hidden |= _partners(table, hidden, axes, cell, width)
    for cell in _largest_first(table, hidden & ~small):
        hidden[cell] = False
        if not _safe(table, hidden, axes, places, width):
            hidden[cell] = True
    intervals = _intervals(table, hidden, axes, places)
    if any(high - low < width for low, high in intervals.values()):
        raise InvalidInput(TOO_WIDE)
    return Suppressed(table, small, hidden, axes, intervals)


def _partners(
    table: Counts, hidden: NDArray[np.bool_], axes: Sequence[tuple[int, ...]], cell: Cell, width: int
) -> NDArray[np.bool_]:
    """The cells that have to be hidden with a small one so that two tables with the same sums are the width apart there.

    The variables are the excess and the deficit of a first table in every cell against the true one, then the same for a second
    table. If no two tables are that far apart, no set of hidden cells would do, since hiding a cell only adds tables that fit.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import block_array, csr_array

    matrix = _everywhere(released(table, axes))
    size, here = table.size, int(np.ravel_multi_index(cell, table.shape))
    cost = np.where(hidden.ravel(), 0.0, table.ravel() + 1.0)
    most = np.tile(np.concatenate([np.full(size, float(table.sum())), table.ravel()]), 2)
    sums = block_array([[matrix, -matrix, None, None], [None, None, matrix, -matrix]]).tocsr()
    apart = csr_array(_apart(size, here).reshape(1, -1))
    rules = [LinearConstraint(sums, 0, 0), LinearConstraint(apart, width, np.inf)]
    solution = milp(np.tile(cost, 4), integrality=np.ones(4 * size, dtype=np.int64), bounds=Bounds(0, most), constraints=rules)
    if solution.x is None:
        raise InvalidInput(TOO_WIDE)
    return np.asarray((solution.x.reshape(4, size).sum(axis=0) > CLOSE).reshape(table.shape))


def _apart(size: int, here: int) -> NDArray[np.float64]:
    """By how much the first table exceeds the second in one cell: the width may lie above the true count, below it, or both."""
    signs = np.zeros((4, size))
    signs[:, here] = 1, -1, -1, 1
    return signs.ravel()


def _everywhere(release: Released) -> Any:
    """All known sums as rows of a matrix over all cells."""
    from scipy.sparse import csr_array

    parts = [cells for cells, _ in release.sums()]
    starts = np.cumsum([0, *map(len, parts)])
    columns = np.concatenate(parts)
    return csr_array((np.ones(len(columns)), columns, starts), shape=(len(parts), release.size))


def _safe(table: Counts, hidden: NDArray[np.bool_], axes: Sequence[tuple[int, ...]], cells: Collection[Cell], width: int) -> bool:
    return all(high - low >= width for low, high in _intervals(table, hidden, axes, cells).values())


def _intervals(
    table: Counts, hidden: NDArray[np.bool_], axes: Sequence[tuple[int, ...]], cells: Collection[Cell]
) -> dict[Cell, tuple[int, int]]:
    """The interval of each cell, from the cells and sums that an outsider sees."""
    system = System.of(_as_seen(table, hidden, axes))
    places = {int(cell): place for place, cell in enumerate(system.free)}
    intervals = {}
    for cell in cells:
        place = places[int(np.ravel_multi_index(cell, table.shape))]
        least, most = system.extreme(place)
        intervals[cell] = (int(least), int(most))
    return intervals


def _as_seen(table: Counts, hidden: NDArray[np.bool_], axes: Sequence[tuple[int, ...]]) -> Released:
    shown = {tuple(map(int, cell)): int(table[tuple(cell)]) for cell in np.argwhere(~hidden)}
    return Released(table.shape, released(table, axes).marginals, shown)


def _largest_first(table: Counts, cells: NDArray[np.bool_]) -> list[Cell]:
    return sorted((tuple(map(int, cell)) for cell in np.argwhere(cells)), key=lambda cell: (-table[cell], cell))
