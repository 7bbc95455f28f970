"""Sharp bounds of every cell: by formula where the marginals are in a tree, else by programs.

Sharp bounds of every cell: by formula where the marginals are in a tree, otherwise by integer programs.

Marginals of all rows and all columns of a two-way table are the smallest case: max(0, row + column - total) and min(row, column).

Sets of marginals with closed formulas: those that can be put in a tree.

A set of marginals is decomposable if they can be ordered so that each meets all earlier ones in axes of a single one of them: the
*separator* (acyclic hypergraphs: Beeri, Fagin, Maier and Yannakakis 1983). A maximal spanning tree by the number of shared axes is
such a tree if there is any, and there is one if and only if the sizes of the marginals, less those of the separators, add up to the
number of axes (Bernstein and Goodman 1981).

For those, with n_C the released count of a cell in the marginal C and n_S in the separator S, the sharp bounds of the cell are
max(0, sum of n_C - sum of n_S) and min of n_C (Dobra and Fienberg 2000). Why: marginals are added in the order of the tree; the
counts so far and the next marginal share S alone, and two margins that agree on S are the rows and columns of a two-way table for
every value of S, whose bounds are those of Fréchet. A lower bound below 0 stays at or below 0, since n_C <= n_S.

Bounds by programs: the least and the largest value of a cell among all tables with the known sums.

Over whole numbers the bounds are sharp; each is reached by a table that is checked in exact arithmetic, and that no table goes
further is the claim of the solver (HiGHS, with no gap allowed). Over all non-negative numbers the bounds are quicker and may be
wider: in a test, six people with five yes/no columns and all marginals of two columns leave a cell empty in every table that fits,
and its linear bound is 5/3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.publish.tables.cells.released import Counts, Released, marginal

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NO_TABLE = "no table of counts has these marginals; they must come from one table"
CLOSE = 1e-6  # how far the solver's numbers may be from whole ones


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """Known sums as equations over the cells that no sum of zero rules out: `matrix` times the cells is `sums`."""

    size: int
    free: NDArray[np.intp]
    matrix: csr_array = field(repr=False)
    sums: Counts = field(repr=False)
    most: Counts = field(repr=False)

    @classmethod
    def of(cls, release: Released) -> System:
        """The equations of released marginals."""
        from scipy.sparse import csr_array

        equations = list(release.sums())
        most = np.full(release.size, release.total, dtype=np.int64)
        for cells, total in equations:
            most[cells] = np.minimum(most[cells], total)
        free = np.flatnonzero(most)
        places = np.full(release.size, -1)
        places[free] = np.arange(len(free))
        parts = [places[cells][places[cells] >= 0] for cells, _ in equations]
        columns = np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)
        starts = np.cumsum([0, *map(len, parts)])
        matrix = csr_array((np.ones(len(columns)), columns, starts), shape=(len(parts), len(free)))
        return cls(release.size, free, matrix, np.array([total for _, total in equations], dtype=np.int64), most[free])

    def best(self, goal: NDArray[Any], whole: bool = True) -> tuple[float, NDArray[np.float64]]:
        """The least value of a goal that is linear in the free cells, and cells that reach it."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        if not len(self.free):
            if self.sums.any():
                raise InvalidInput(NO_TABLE)
            return 0.0, np.empty(0)
        solution = milp(
            goal,
            integrality=np.full(len(self.free), int(whole)),
            bounds=Bounds(0, self.most),
            constraints=LinearConstraint(self.matrix, self.sums, self.sums),
            options={"mip_rel_gap": 0},
        )
        if solution.x is None or solution.fun is None:
            raise InvalidInput(NO_TABLE)
        return float(solution.fun), np.asarray(solution.x)

    def some_table(self, goal: NDArray[Any] | None = None) -> Counts:
        """A table of whole numbers that has the sums, the best for a goal if there is one; checked in exact arithmetic."""
        _, cells = self.best(np.zeros(len(self.free)) if goal is None else goal)
        table = np.zeros(self.size, dtype=np.int64)
        table[self.free] = np.rint(cells).astype(np.int64)
        if len(self.free) and (self.matrix.astype(np.int64) @ table[self.free] != self.sums).any():
            raise InvalidInput(NO_TABLE)
        return table

    def extreme(self, place: int, whole: bool = True) -> tuple[float, float]:
        """The least and the largest value of the free cell at a place."""
        goal = np.zeros(len(self.free))
        goal[place] = 1.0
        if not whole:
            return self.best(goal, whole=False)[0], -self.best(-goal, whole=False)[0]
        cell = self.free[place]
        return float(self.some_table(goal)[cell]), float(self.some_table(-goal)[cell])


# --- sets of marginals with closed formulas ----------------------------------------------------------------------------------


Axes = tuple[int, ...]


def tree(sets: Collection[Axes]) -> list[tuple[Axes, Axes]] | None:
    """The largest marginals, each with its separator from those before it, in the order of a tree; None if no tree exists.

    >>> tree([(0, 1), (1, 2)])
    [((0, 1), ()), ((1, 2), (1,))]
    >>> tree([(0, 1), (1, 2), (0, 2)]) is None
    True
    """
    left = largest(sets)
    ordered: list[tuple[Axes, Axes]] = [(left.pop(0), ())]
    while left:
        joined = [(_shared_axes(each, before), each) for each in left for before, _ in ordered]
        separator, each = max(joined, key=lambda pair: (len(pair[0]), [-axis for axis in pair[1]]))
        ordered.append((each, separator))
        left.remove(each)
    covered = {axis for each, _ in ordered for axis in each}
    return ordered if sum(len(each) - len(shared) for each, shared in ordered) == len(covered) else None


def largest(sets: Collection[Axes]) -> list[Axes]:
    """The sets that are in no other; the others add nothing."""
    return sorted(each for each in set(sets) if not any(set(each) < set(other) for other in sets))


def closed_bounds(release: Released) -> tuple[Counts, Counts] | None:
    """The bounds by the formulas, or None if the marginals have none: not in a tree, an axis in none of them, or known cells."""
    ordered = tree(release.marginals)
    if ordered is None or release.known or {axis for each, _ in ordered for axis in each} != set(range(len(release.shape))):
        return None
    lower = np.zeros(release.shape, dtype=np.int64)
    upper = np.full(release.shape, release.total, dtype=np.int64)
    for place, (axes, separator) in enumerate(ordered):
        counts = release.marginals[axes]
        there = _spread(counts, axes, release.shape)
        upper = np.minimum(upper, there)
        lower += there
        if place:
            lower -= _spread(marginal(counts, [axes.index(axis) for axis in separator]), separator, release.shape)
    return np.maximum(lower, 0), upper


def _shared_axes(one: Axes, other: Axes) -> Axes:
    return tuple(axis for axis in one if axis in other)


def _spread(counts: Counts, axes: Sequence[int], shape: Sequence[int]) -> Counts:
    """A marginal with every axis of the table, to be added to it cell by cell."""
    return counts.reshape([size if axis in axes else 1 for axis, size in enumerate(shape)])


# --- sharp bounds of every cell ----------------------------------------------------------------------------------------------


Way = Literal["formula", "integer programs", "linear programs"]
Track = Callable[[Iterable[int], int], Iterable[int]]


@dataclass(frozen=True, slots=True, eq=False)
class CellBounds:
    """The least and the largest count of every cell among the tables that fit; `way` is the method that gave them."""

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
