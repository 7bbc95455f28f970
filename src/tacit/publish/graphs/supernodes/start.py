"""The grouping that a search starts from.

Nodes with the same neighbours, such as the leaves of a hub, are interchangeable. Where k of them are together, all of their
edges are in as few blocks as they can be, so such groups are settled: the search leaves them as they are. All other nodes are
bisected, or grouped by their degrees if that has fewer worlds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.supernodes.bisection import bisect
from tacit.publish.graphs.supernodes.blocks import blocks_of


class Start(NamedTuple):
    """A grouping whose settled groups have the largest numbers, how many groups are not settled, and its log|W|."""

    groups: Integers
    open: int
    log_worlds: float


def by_degree(graph: Graph, k: int) -> Integers:
    """Groups of k nodes in the order of degrees; what remains joins the last one."""
    groups = np.empty(graph.nodes, np.int64)
    count = max(graph.nodes // k, 1)
    groups[np.argsort(-graph.degrees, kind="stable")] = np.minimum(np.arange(graph.nodes) // k, count - 1)
    return groups


def kinds(graph: Graph) -> Integers:
    """Numbers that are equal for nodes with the same neighbours, and almost never for others.

    >>> found = kinds(Graph.of_edges([0, 0, 0, 1], [1, 2, 3, 4], nodes=5))
    >>> bool(found[2] == found[3]), len(set(found.tolist()))
    (True, 4)
    """
    drawn = np.random.default_rng(0).integers(0, 1 << 62, graph.nodes)
    sums = np.concatenate([[0], np.cumsum(drawn[graph.targets], dtype=np.int64)])  # they may wrap around, which does no harm
    kinds_of_nodes: Integers = np.unique(sums[graph.offsets[1:]] - sums[graph.offsets[:-1]], return_inverse=True)[1]
    return kinds_of_nodes


def best_start(graph: Graph, k: int) -> Start:
    """The start with the fewest worlds."""
    similar = by_degree(graph, k)
    starts = (similar, int(similar.max()) + 1), settle(graph, k)
    return min((Start(*each, blocks_of(graph, each[0]).log_worlds) for each in starts), key=lambda start: start.log_worlds)


def settle(graph: Graph, k: int) -> tuple[Integers, int]:
    """Whole groups of nodes of a kind, after a bisection of the others; how many groups these have."""
    kind = kinds(graph)
    count, order = np.bincount(kind), np.argsort(kind, kind="stable")
    place = np.empty(graph.nodes, np.int64)
    place[order] = np.arange(graph.nodes) - np.repeat(np.cumsum(count) - count, count)
    whole = place < (count // k * k)[kind]
    if not whole.any() or int((~whole).sum()) < k:
        groups = bisect(graph, k)
        return groups, int(groups.max()) + 1
    others = np.flatnonzero(~whole)
    groups = np.empty(graph.nodes, np.int64)
    groups[others] = bisect(_induced_graph(graph, others), k)
    first = int(groups[others].max()) + 1
    groups[whole] = first + np.unique(kind[whole] * graph.nodes + place[whole] // k, return_inverse=True)[1]
    return groups, first


def _induced_graph(graph: Graph, nodes: Integers) -> Graph:
    """The graph of some nodes and the edges between them."""
    number = np.full(graph.nodes, -1)
    number[nodes] = np.arange(len(nodes))
    left, right = (number[side] for side in graph.ends())
    kept = (left >= 0) & (right >= 0)
    return Graph.of_edges(left[kept], right[kept], nodes=len(nodes))
