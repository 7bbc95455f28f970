"""Bounds by programs: the least and the largest value of a cell among all tables with the known sums.

Over whole numbers the bounds are sharp; each is reached by a table that is checked in exact arithmetic, and that no table goes
further is the claim of the solver (HiGHS, with no gap allowed). Over all non-negative numbers the bounds are quicker and may be
wider: in a test, six people with five yes/no columns and all marginals of two columns leave a cell empty in every table that fits,
and its linear bound is 5/3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.publish.tables.cells.released import Counts, Released

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
    def of(cls, known: Released) -> System:
        """The equations of released marginals."""
        from scipy.sparse import csr_array

        equations = list(known.sums())
        most = np.full(known.size, known.total, dtype=np.int64)
        for cells, total in equations:
            most[cells] = np.minimum(most[cells], total)
        free = np.flatnonzero(most)
        places = np.full(known.size, -1)
        places[free] = np.arange(len(free))
        parts = [places[cells][places[cells] >= 0] for cells, _ in equations]
        columns = np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)
        starts = np.cumsum([0, *map(len, parts)])
        matrix = csr_array((np.ones(len(columns)), columns, starts), shape=(len(parts), len(free)))
        return cls(known.size, free, matrix, np.array([total for _, total in equations], dtype=np.int64), most[free])

    def best(self, goal: NDArray[Any], whole: bool = True) -> tuple[float, NDArray[np.float64]]:
        """The least value of a goal that is linear in the free cells, and cells that reach it."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        if not len(self.free):
            if self.sums.any():
                raise InvalidInput(NO_TABLE)
            return 0.0, np.empty(0)
        found = milp(
            goal,
            integrality=np.full(len(self.free), int(whole)),
            bounds=Bounds(0, self.most),
            constraints=LinearConstraint(self.matrix, self.sums, self.sums),
            options={"mip_rel_gap": 0},
        )
        if found.x is None or found.fun is None:
            raise InvalidInput(NO_TABLE)
        return float(found.fun), np.asarray(found.x)

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
