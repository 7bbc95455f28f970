"""Compressed rows from edges, by counting alone: two scatters leave every row sorted, without a comparison.

The first pass counts the ends of every node, the second puts each edge into the rows of both ends, and the third reads the rows
in order and puts every node into the rows of its neighbours: these then hold their neighbours ascending. Each entry carries one
bit that says in which direction the edge was given, so that arcs in both directions can be counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.graph import Graph, check_ends


@dataclass(frozen=True, slots=True)
class Built:
    """A graph, and the number of its edges that were left out: self-loops, repetitions, and pairs given in both directions."""

    graph: Graph
    self_loops: int
    repeated: int
    both_directions: int


def build(left: Any, right: Any, nodes: int) -> Built:
    """The simple graph of the edges (left[i], right[i]).

    >>> build(np.array([0, 1, 2, 1, 2, 0]), np.array([1, 2, 0, 0, 2, 1]), nodes=3)
    Built(graph=Graph(nodes=3, edges=3), self_loops=1, repeated=2, both_directions=1)
    """
    one, two = (_ends(side) for side in (left, right))
    check_ends(one, two, nodes)
    offsets = _row_offsets(one, two, nodes)
    scattered = _scatter(one, two, offsets)
    marked = _transpose(scattered, offsets)
    both = _compact(marked, offsets)
    targets = marked[: offsets[-1]].view(np.int32)
    loops = int((one == two).sum())
    kept = targets if len(targets) == len(marked) else targets.copy()
    return Built(Graph(offsets, kept), loops, len(one) - loops - len(kept) // 2, int(both))


def _ends(side: Any) -> Any:
    ends = np.asarray(side)
    return ends if ends.dtype in (np.int32, np.int64) else ends.astype(np.int64)


@compiled
def _row_offsets(one: Any, two: Any, nodes: Any) -> Any:
    offsets = np.zeros(nodes + 1, np.int64)
    for place in range(len(one)):
        if one[place] != two[place]:
            offsets[one[place] + 1] += 1
            offsets[two[place] + 1] += 1
    for node in range(nodes):
        offsets[node + 1] += offsets[node]
    return offsets


@compiled
def _scatter(one: Any, two: Any, offsets: Any) -> Any:
    """Every edge in the rows of both its ends, in no order; the lowest bit says that the edge was given from this row."""
    next_place, entries = offsets[:-1].copy(), np.empty(offsets[-1], np.uint32)
    for place in range(len(one)):
        low, high = one[place], two[place]
        if low != high:
            entries[next_place[low]] = np.uint32(high) << np.uint32(1) | np.uint32(1)
            next_place[low] += 1
            entries[next_place[high]] = np.uint32(low) << np.uint32(1)
            next_place[high] += 1
    return entries


@compiled
def _transpose(scattered: Any, offsets: Any) -> Any:
    """The same rows read in order and put into the rows of the neighbours: ascending, repetitions side by side."""
    next_place, entries = offsets[:-1].copy(), np.empty(len(scattered), np.uint32)
    for node in range(len(offsets) - 1):
        for place in range(offsets[node], offsets[node + 1]):
            other = scattered[place] >> np.uint32(1)
            entries[next_place[other]] = np.uint32(node) << np.uint32(1) | (scattered[place] & np.uint32(1) ^ np.uint32(1))
            next_place[other] += 1
    return entries


@compiled
def _compact(marked: Any, offsets: Any) -> Any:
    """Take the marks off and leave repetitions out, in place and in the offsets; the number of edges given in both directions."""
    kept, both, begin = 0, 0, 0
    for node in range(len(offsets) - 1):
        place, end = begin, offsets[node + 1]
        begin = end
        while place < end:
            other, marks = marked[place] >> np.uint32(1), 0
            while place < end and marked[place] >> np.uint32(1) == other:
                marks |= 2 if marked[place] & np.uint32(1) else 1
                place += 1
            both += marks == 3 and node < other
            marked[kept] = other
            kept += 1
        offsets[node + 1] = kept
    return both
