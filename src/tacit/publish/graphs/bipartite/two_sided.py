"""A bipartite graph: nodes of two kinds with their labels, and for every node its neighbours on the other side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.graph import Integers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Side:
    """One kind of nodes: `targets[offsets[v]:offsets[v + 1]]` are the neighbours of v on the other side, ascending."""

    labels: Any  # an array of numbers or of texts, one for each node
    offsets: Integers
    targets: Integers

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def degrees(self) -> Integers:
        """The number of neighbours of every node."""
        return np.diff(self.offsets)

    def rows(self) -> list[list[int]]:
        """The neighbours of every node, as lists."""
        flat, ends = self.targets.tolist(), self.offsets.tolist()
        return [flat[begin:end] for begin, end in pairwise(ends)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TwoSided:
    """A simple bipartite graph.

    >>> graph = TwoSided.of_labels(["ann", "bob", "ann", "ann"], ["tea", "tea", "milk", "tea"])
    >>> graph, graph.left.labels.tolist(), graph.left.degrees.tolist()
    (TwoSided(left=2, right=2, edges=3), ['ann', 'bob'], [2, 1])
    """

    left: Side
    right: Side

    @classmethod
    def of_labels(cls, left: Any, right: Any) -> TwoSided:
        """The graph of the edges (left[i], right[i]) between labels of two kinds; repetitions count once."""
        (ones, one), (twos, two) = (np.unique(np.asarray(side), return_inverse=True) for side in (left, right))
        return cls.of_edges(one, two, (ones, twos))

    @classmethod
    def of_edges(cls, left: Any, right: Any, labels: tuple[Any, Any]) -> TwoSided:
        """The graph of edges between places in the two arrays of labels; a label may have no edge."""
        one, two = (np.asarray(side, dtype=np.int64) for side in (left, right))
        ones, twos = len(labels[0]), len(labels[1])
        if one.shape != two.shape or one.ndim != 1:
            raise InvalidInput("edges must be two flat arrays of the same length")
        if len(one) and (min(one.min(), two.min()) < 0 or one.max() >= ones or two.max() >= twos):
            raise InvalidInput("every end of an edge must be a place in the labels of its side")
        one, two = np.divmod(np.unique(one * twos + two), max(twos, 1))
        order = np.argsort(two, kind="stable")
        return cls(_side(labels[0], one, two), _side(labels[1], two[order], one[order]))

    @classmethod
    def read(cls, path: str | Path) -> TwoSided:
        """The graph in an edge list whose first column names nodes of the left side, and whose second those of the right."""
        from tacit.publish.graphs.edge_list import encode, read_columns

        columns = read_columns(path)
        (ones, [one]), (twos, [two]) = encode(columns.left), encode(columns.right)
        return cls.of_edges(one, two, (ones, twos))

    def __repr__(self) -> str:
        return f"TwoSided(left={len(self.left)}, right={len(self.right)}, edges={self.edges})"

    @property
    def edges(self) -> int:
        return len(self.left.targets)

    def ends(self) -> tuple[Integers, Integers]:
        """Every edge once, as places on the left and on the right."""
        return np.repeat(np.arange(len(self.left)), self.left.degrees), self.left.targets


def _side(labels: Any, sources: Integers, targets: Integers) -> Side:
    """One side; the edges come sorted by this side, then by the other."""
    counts = np.bincount(sources, minlength=len(labels))
    return Side(np.asarray(labels), np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), targets)
