"""An undirected graph in compressed rows: the neighbours of every node, sorted, one row after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput

Integers = NDArray[np.int64]
MOST_NODES = 2**31 - 1  # so that a neighbour is a 32-bit number


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph:
    """A simple graph: `targets[offsets[v]:offsets[v + 1]]` are the neighbours of v, ascending; every edge stands in two rows.

    >>> graph = Graph.of_edges([0, 1, 2, 1], [1, 2, 0, 0], nodes=4)
    >>> graph, graph.neighbours(1).tolist(), graph.degrees.tolist(), graph.has_edge(0, 2)
    (Graph(nodes=4, edges=3), [0, 2], [2, 2, 2, 0], True)
    """

    offsets: Integers
    targets: NDArray[np.int32]

    @classmethod
    def of_edges(cls, left: object, right: object, nodes: int) -> Graph:
        """The graph of the edges (left[i], right[i]); loops and repetitions are left out."""
        one, two = (np.asarray(side, dtype=np.int64) for side in (left, right))
        check_ends(one, two, nodes)
        kept = one != two
        low, high = np.minimum(one, two)[kept], np.maximum(one, two)[kept]
        codes = np.unique(low * nodes + high)
        low, high = np.divmod(codes, max(nodes, 1))
        sources, targets = np.concatenate([low, high]), np.concatenate([high, low])
        order = np.argsort(sources * nodes + targets, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=nodes))]).astype(np.int64)
        return cls(offsets, targets[order].astype(np.int32))

    def __repr__(self) -> str:
        return f"Graph(nodes={self.nodes}, edges={self.edges})"

    @property
    def nodes(self) -> int:
        return len(self.offsets) - 1

    @property
    def edges(self) -> int:
        return len(self.targets) // 2

    @property
    def degrees(self) -> Integers:
        """The number of neighbours of every node."""
        return np.diff(self.offsets)

    def neighbours(self, node: int) -> NDArray[np.int32]:
        """The neighbours of a node, ascending."""
        return self.targets[self.offsets[node] : self.offsets[node + 1]]

    def has_edge(self, left: int, right: int) -> bool:
        row = self.neighbours(left)
        place = int(np.searchsorted(row, right))
        return place < len(row) and int(row[place]) == right

    def ends(self) -> tuple[Integers, Integers]:
        """Every edge once, as two arrays with the smaller end first, in ascending order."""
        sources = np.repeat(np.arange(self.nodes), self.degrees)
        once = sources < self.targets
        return sources[once], self.targets[once].astype(np.int64)


def check_ends(one: NDArray[Any], two: NDArray[Any], nodes: int) -> None:
    """Raises unless (one[i], two[i]) are edges of a graph with this number of nodes."""
    if one.shape != two.shape or one.ndim != 1:
        raise InvalidInput("edges must be two flat arrays of the same length")
    if not 0 <= nodes <= MOST_NODES:
        raise InvalidInput(f"nodes must be from 0 to {MOST_NODES:,}", argument="nodes")
    if len(one) and (min(one.min(), two.min()) < 0 or max(one.max(), two.max()) >= nodes):
        raise InvalidInput("every end of an edge must be from 0 to nodes - 1")
