"""The loops of the measures: clustering, breadth-first distances, edges in common, and a product with the adjacency matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled, inner


@compiled
def clustering(offsets: Any, targets: Any, nodes: Any) -> Any:
    """At each node the share of the pairs of its neighbours that are connected; 0 with fewer than two neighbours."""
    marked = np.full(len(offsets) - 1, -1, np.int64)
    shares = np.zeros(len(nodes))
    for index in range(len(nodes)):
        node = nodes[index]
        begin, end = offsets[node], offsets[node + 1]
        if end - begin < 2:
            continue
        for place in range(begin, end):
            marked[targets[place]] = node
        closed = 0
        for place in range(begin, end):
            other = targets[place]
            if offsets[other + 1] - offsets[other] <= 4 * (end - begin):
                for near in range(offsets[other], offsets[other + 1]):
                    closed += marked[targets[near]] == node
            else:  # a hub: look its row up for each neighbour of the node
                closed += _common(targets[begin:end], targets[offsets[other] : offsets[other + 1]])
        shares[index] = closed / ((end - begin) * (end - begin - 1.0))
    return shares


@inner
def _common(few: Any, many: Any) -> Any:
    """How many of a few are among many; both are ascending."""
    count = 0
    for each in few:
        place = np.searchsorted(many, each)
        count += place < len(many) and many[place] == each
    return count


@compiled
def distances(offsets: Any, targets: Any, sources: Any) -> Any:
    """The sum of the distances from the sources to all nodes they reach, and the number of such pairs."""
    nodes = len(offsets) - 1
    seen, queue = np.full(nodes, -1, np.int32), np.empty(nodes, np.int32)
    total, pairs = 0, 0
    for index in range(len(sources)):
        queue[0], seen[sources[index]] = sources[index], index
        begin, end, depth = 0, 1, 0
        while begin < end:
            total += depth * (end - begin)
            depth, last = depth + 1, end
            for place in range(begin, last):
                node = queue[place]
                for near in range(offsets[node], offsets[node + 1]):
                    other = targets[near]
                    if seen[other] != index:
                        seen[other] = index
                        queue[end] = other
                        end += 1
            begin = last
        pairs += end - 1
    return total, pairs


@compiled
def multiply(offsets: Any, targets: Any, vector: Any) -> Any:
    """The adjacency matrix times a vector."""
    product = np.zeros(len(offsets) - 1)
    for node in range(len(offsets) - 1):
        for place in range(offsets[node], offsets[node + 1]):
            product[node] += vector[targets[place]]
    return product


@compiled
def common_edges(one_offsets: Any, one_targets: Any, two_offsets: Any, two_targets: Any) -> Any:
    """The number of entries that the rows of two graphs have in common: two for each common edge."""
    count = 0
    for node in range(len(one_offsets) - 1):
        one, two = one_offsets[node], two_offsets[node]
        while one < one_offsets[node + 1] and two < two_offsets[node + 1]:
            if one_targets[one] == two_targets[two]:
                count += 1
                one += 1
                two += 1
            elif one_targets[one] < two_targets[two]:
                one += 1
            else:
                two += 1
    return count
