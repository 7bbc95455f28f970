"""The blocks of a grouping: how many edges there are inside and between groups, and how many graphs have the same numbers.

|W| is the product of C(n_X (n_X - 1) / 2, d(X, X)) over all groups and of C(n_X n_Y, d(X, Y)) over all pairs of groups. To a
reader of the numbers, each of these graphs is equally likely, so fewer of them describe the graph better (Hay, Miklau, Jensen,
Towsley and Weis 2008).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.publish.graphs.graph import Graph, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The sizes of all groups, and for each pair of groups with edges between them (or one group inside) their number."""

    sizes: Integers
    ones: Integers
    twos: Integers  # at least as large as in `ones`; the same for a group itself
    edges: Integers

    @property
    def cells(self) -> Integers:
        """How many edges each of these blocks could have."""
        inside = self.sizes[self.ones] * (self.sizes[self.ones] - 1) // 2
        return np.where(self.ones == self.twos, inside, self.sizes[self.ones] * self.sizes[self.twos])

    @property
    def log_worlds(self) -> float:
        """The natural logarithm of the number of graphs with these numbers."""
        from scipy.special import gammaln

        cells = self.cells
        return float((gammaln(cells + 1.0) - gammaln(self.edges + 1.0) - gammaln(cells - self.edges + 1.0)).sum())

    def worlds(self) -> int:
        """The number itself, exactly: for small graphs."""
        return math.prod(math.comb(*pair) for pair in zip(self.cells.tolist(), self.edges.tolist(), strict=True))


def blocks_of(graph: Graph, groups: Integers) -> Blocks:
    """The blocks of a grouping, counted from the edges.

    >>> path = Graph.of_edges([0, 1, 2], [1, 2, 3], nodes=4)
    >>> [blocks_of(path, np.array(groups)).worlds() for groups in ([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0])]
    [4, 4, 6]
    """
    one, two = (groups[side].astype(np.int64) for side in graph.ends())
    count = int(groups.max()) + 1 if len(groups) else 0
    pairs, edges = np.unique(np.minimum(one, two) * count + np.maximum(one, two), return_counts=True)
    return Blocks(np.bincount(groups, minlength=count), *np.divmod(pairs, max(count, 1)), edges)
