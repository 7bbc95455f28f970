"""Range counts over two columns, asked of a generalized table as if the rows of a form were spread evenly over its values.

The ranges are always the same for a lattice: pairs of columns in turn, and ends from a sequence that fills the plane evenly.
Suppressed rows are taken as spread over all values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, combinations_with_replacement

import numpy as np

from tacit.publish.tables.conditions import Floats, Truths
from tacit.publish.tables.grouping import Integers, summed
from tacit.publish.tables.lattice import Lattice, Rolled
from tacit.publish.tables.table import natural_order

QUERIES = 200
WIDTH = 0.4  # of a column's values in a range
FLOOR = 0.001  # of the rows: relative errors of smaller counts are taken of this
EVEN = (0.7548776662466927, 0.5698402909980532)  # 1/p and 1/p^2 of the plastic number p


@dataclass(frozen=True, eq=False)
class RangeQueries:
    """The queries on a lattice, and the error of a node."""

    lattice: Lattice
    _shares: dict[tuple[int, int, int], Floats] = field(default_factory=dict)

    @cached_property
    def asked(self) -> dict[tuple[int, int], Integers]:
        """For each pair of columns the numbers of the queries on it."""
        columns = range(len(self.lattice.quasi))
        pairs = list(combinations(columns, 2)) or list(combinations_with_replacement(columns, 2))
        return {pair: np.arange(place, QUERIES, len(pairs)) for place, pair in enumerate(pairs)}

    def chosen(self, column: int, numbers: Integers) -> Floats:
        """For each leaf of a column's hierarchy (rows) and query, whether it lies in the range: 1 or 0."""
        leaves = self.lattice.hierarchies[self.lattice.quasi[column]].leaves
        width = max(1, round(WIDTH * len(leaves)))
        even = np.modf((numbers + 1) * EVEN[column % 2] + column * 0.1)[0]
        begin = np.floor(even * (len(leaves) - width + 1)).astype(np.int64)
        ranks = np.empty(len(leaves), dtype=np.int64)
        ranks[natural_order(leaves)] = np.arange(len(leaves))
        return np.asarray((ranks[:, None] >= begin) & (ranks[:, None] < begin + width), dtype=np.float64)

    def shares(self, column: int, level: int, numbers: Integers) -> Floats:
        """For each form of a level (rows) and query, the share of its leaves in the range."""
        key = (column, level, int(numbers[0]))
        if key not in self._shares:
            self._shares[key] = self._counted(column, level, numbers)
        return self._shares[key]

    def _counted(self, column: int, level: int, numbers: Integers) -> Floats:
        hierarchy = self.lattice.hierarchies[self.lattice.quasi[column]]
        inside = np.zeros((len(hierarchy.forms[level]), len(numbers)))
        np.add.at(inside, hierarchy.levels[level], self.chosen(column, numbers))
        return np.asarray(inside / hierarchy.leaf_counts[level][:, None])

    @cached_property
    def truth(self) -> Floats:
        """The count that each query has."""
        everything = np.ones(len(self.lattice.tuples), dtype=np.bool_)
        return self._answers(self.lattice.bottom, everything)

    def error(self, rolled: Rolled, published: Truths) -> float:
        """The median relative error of a node."""
        floor = FLOOR * self.lattice.table.rows
        return float(np.median(np.abs(self._answers(rolled, published) - self.truth) / np.maximum(self.truth, floor)))

    def _answers(self, rolled: Rolled, published: Truths) -> Floats:
        found = np.zeros(QUERIES)
        kept, gone = rolled.sizes * published, float((rolled.sizes * ~published).sum())
        forms = [self._forms(rolled, column) for column in range(len(self.lattice.quasi))]
        for (one, other), numbers in self.asked.items():
            left, right = (self.shares(column, rolled.node[column], numbers) for column in (one, other))
            joint = summed(forms[one] * len(right) + forms[other], kept, len(left) * len(right)).reshape(len(left), len(right))
            if one == other:  # a single quasi-identifier: a range of it alone
                found[numbers] = np.diag(joint) @ left
            else:
                found[numbers] = ((left.T @ joint) * right.T).sum(axis=1)
            if gone:
                both = self.chosen(one, numbers).mean(axis=0)
                found[numbers] += gone * (both if one == other else both * self.chosen(other, numbers).mean(axis=0))
        return found

    def _forms(self, rolled: Rolled, column: int) -> Integers:
        """The form of each group in one column."""
        codes = self.lattice.table[self.lattice.quasi[column]].codes[self.lattice.tuples.first[rolled.tuples]]
        return self.lattice.above[column][rolled.node[column]][codes].astype(np.int64)
