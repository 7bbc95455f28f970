"""The edges that must be added at least: for given missing degrees, and for all anonymous ones. Proofs in least_edges.md.

Half the sum of the missing degrees is too little where hubs miss many edges: two of them can be joined once, and not at all if they
are joined already.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.degree_sequence import optimal_groups
from tacit.publish.graphs.graph import Graph, Integers

WEIGHTS = ((1, 0), (7, 1), (3, 1), (1, 1), (0, 1))  # of the first ranks and of the others, in the bound for all graphs


def edges_for(graph: Graph, need: Integers) -> tuple[int, int]:
    """A lower bound on the edges to add so that every node gets its need, and the size of the set of nodes that gives it.

    >>> edges_for(Graph.of_edges([0], [1], nodes=6), np.array([3, 3, 0, 0, 0, 0]))
    (6, 2)
    """
    order = np.argsort(-need, kind="stable")
    least, size = _largest_excess(graph.offsets, graph.targets, need, order)
    return max(int(least), -(-int(need.sum()) // 2)), int(size)


@compiled
def _largest_excess(offsets: Any, targets: Any, need: Any, order: Any) -> Any:
    """Over the sets of the first nodes in the order, the largest need less the pairs that are not joined yet; and its size."""
    ranks = np.full(len(need), len(need), np.int64)
    excess, most, size = 0, 0, 0
    for rank in range(len(order)):
        node = order[rank]
        if not need[node]:
            break
        ranks[node] = rank
        joined = 0
        for place in range(offsets[node], offsets[node + 1]):
            joined += ranks[targets[place]] < rank
        excess += need[node] - (rank - joined)
        if excess > most:
            most, size = excess, rank + 1
    return most, size


def edges_for_any(graph: Graph, k: int, sizes: Collection[int]) -> int:
    """The edges that must be added at least to reach any graph with k-anonymous degrees; the best bound over sets of these sizes.

    >>> star = Graph.of_edges([0] * 9, range(1, 10), nodes=20)
    >>> edges_for_any(star, 2, sizes=[1, 2, 3])  # eight, if a leaf becomes a hub
    7
    """
    order = np.argsort(-graph.degrees, kind="stable")
    degrees, ranks = graph.degrees[order], np.empty(graph.nodes, np.int64)
    ranks[order] = np.arange(graph.nodes)
    best = Fraction(0)
    for size in sorted({min(each, graph.nodes) for each in sizes}):
        reach = size * (size - 1) // 2 + min(_most_touched(graph, ranks, size, part) for part in {size // 2, size, 2 * size})
        for first, other in WEIGHTS:  # first: of the excess; other: of half the sum
            weights = np.where(np.arange(graph.nodes) < size, 2 * first + other, other)
            sums, mass = (np.concatenate([[0], np.cumsum(each)]) for each in (weights * degrees, weights))
            ends = optimal_groups(degrees, sums, mass, k)
            begins = np.concatenate([[0], ends[:-1]])
            reached = int((degrees[begins] * (mass[ends] - mass[begins])).sum())
            bound = Fraction(reached - other * int(degrees.sum()) - 2 * first * reach, 2 * (first + other))
            best = max(best, bound)
    return -int(-best // 1)


def _most_touched(graph: Graph, ranks: Integers, size: int, part: int) -> int:
    """An upper bound on the edges that `size` nodes touch: edges among the first `part` ranks count once, and for no node."""
    left, right = graph.ends()
    inside = (ranks[left] < part) & (ranks[right] < part)
    rest = graph.degrees.copy()
    for side in (left, right):
        rest -= np.bincount(side[inside], minlength=graph.nodes)
    return int(inside.sum() + np.sort(rest)[::-1][:size].sum())
