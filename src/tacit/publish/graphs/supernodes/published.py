"""The published form of a k-sized grouping: the size of every group, and the edges inside and between groups.

Whatever an attacker knows of the structure, a person is one of at least k. Facts about all members of a group are not hidden:
if a block has all of its possible edges, or a group has none inside, the numbers disclose the edges of its members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput, LawViolated
from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.supernodes.blocks import Blocks, blocks_of

BANNER = "Not differentially private: a grouping hides a person among k others, and not what is true of the whole group."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Supergraph:
    """A graph published by groups of at least k nodes. Not differentially private.

    >>> path = Graph.of_edges([0, 1, 2], [1, 2, 3], nodes=4)
    >>> made = publish(path, np.array([0, 1, 1, 0]), k=2)
    >>> made, made.blocks.worlds(), made.full
    (Supergraph(nodes=4, groups=2, edges=3), 6, 1)
    """

    blocks: Blocks
    k: int
    differentially_private: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"Supergraph(nodes={self.nodes}, groups={len(self.blocks.sizes)}, edges={int(self.blocks.edges.sum())})"

    @property
    def nodes(self) -> int:
        return int(self.blocks.sizes.sum())

    @property
    def full(self) -> int:
        """Blocks with every possible edge: each of these edges is known to exist."""
        return int((self.blocks.edges == self.blocks.cells).sum())

    @property
    def empty(self) -> int:
        """Groups without an edge inside: none of their members know each other."""
        inside = int((self.blocks.ones == self.blocks.twos).sum())
        return len(self.blocks.sizes) - inside

    def warnings(self) -> list[str]:
        """The facts about members that the numbers disclose, in sentences."""
        groups = len(self.blocks.sizes)
        apart = groups * (groups - 1) // 2 - int((self.blocks.ones != self.blocks.twos).sum())
        facts = [
            (self.full, f"{self.full:,} blocks have every possible edge, so each of these edges is known"),
            (self.empty, f"{self.empty:,} of {groups:,} groups have no edge inside, so their members are known not to be linked"),
            (apart, f"{apart:,} pairs of groups have no edge between them, so their members are known not to be linked"),
        ]
        return [words for count, words in facts if count]

    def to_dict(self) -> dict[str, Any]:
        """Everything that is published, as it stands in JSON."""
        blocks = np.stack([self.blocks.ones, self.blocks.twos, self.blocks.edges], axis=1).tolist()
        return {"k": self.k, "sizes": self.blocks.sizes.tolist(), "blocks": blocks, "differentially_private": False}


def publish(graph: Graph, groups: Integers, k: int) -> Supergraph:
    """The published form of a grouping, after a check. Groups are in the order of their size and edges, which reveals nothing
    new.
    """
    if k < 2 or k > max(graph.nodes, 2):
        raise InvalidInput(f"k must be from 2 to the number of nodes, not {k}", argument="k")
    made = Supergraph(_reorder(blocks_of(graph, groups)), k)
    if problems := problems_of(made, graph):
        raise LawViolated("the check of a k-sized grouping", f"{problems[0]}; nothing is written; report this defect")
    return made


def problems_of(made: Supergraph, graph: Graph) -> list[str]:
    """The problems of a grouping: groups below k, nodes or edges that are missing, blocks with more edges than cells."""
    blocks = made.blocks
    problems = {
        f"a group has fewer than {made.k} nodes": bool((blocks.sizes < made.k).any()),
        "the groups do not hold all nodes": int(blocks.sizes.sum()) != graph.nodes,
        "the blocks do not hold all edges": int(blocks.edges.sum()) != graph.edges,
        "a block has more edges than pairs of nodes": bool((blocks.edges > blocks.cells).any() or (blocks.edges < 1).any()),
    }
    return [words for words, wrong in problems.items() if wrong]


def _reorder(blocks: Blocks) -> Blocks:
    """The same blocks with groups numbered by their published numbers, so that the order of the search is not published."""
    degree = np.bincount(blocks.ones, blocks.edges, len(blocks.sizes)) + np.bincount(blocks.twos, blocks.edges, len(blocks.sizes))
    rank = np.empty(len(blocks.sizes), np.int64)
    rank[np.lexsort((-degree, -blocks.sizes))] = np.arange(len(blocks.sizes))
    one, two = rank[blocks.ones], rank[blocks.twos]
    low, high = np.minimum(one, two), np.maximum(one, two)
    order = np.lexsort((high, low))
    return Blocks(blocks.sizes[np.argsort(rank)], low[order], high[order], blocks.edges[order])
