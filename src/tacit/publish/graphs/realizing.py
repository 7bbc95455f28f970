"""Graphs with given degrees: from nothing, or by adding edges to a graph.

Nodes wait in an array in descending order of the edges that they still need. One node at a time is joined to those that need
most. Where a node's need falls by one, it changes places with the last node of equal need, so that the array stays sorted in
constant time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.degree_sequence import is_graphical
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.rows import built


@compiled
def _sorted_by_need(need: Any, order: Any) -> Any:
    """Nodes by descending need, ties in the given order; their places; and how many need at least so much."""
    most = need.max() if len(need) else 0
    enough = np.zeros(most + 2, np.int64)
    for node in range(len(need)):
        enough[need[node]] += 1
    for amount in range(most - 1, -1, -1):
        enough[amount] += enough[amount + 1]
    waiting, places = np.empty(len(need), np.int64), np.empty(len(need), np.int64)
    next_place = enough[1:].copy()
    for node in order:
        places[node] = next_place[need[node]]
        waiting[places[node]] = node
        next_place[need[node]] += 1
    return waiting, places, enough


@compiled
def _served(node: Any, need: Any, waiting: Any, places: Any, enough: Any) -> None:
    """One edge less for a node: it changes places with the last one of its need."""
    last = enough[need[node]] - 1
    other = waiting[last]
    waiting[places[node]], places[other] = other, places[node]
    waiting[last], places[node] = node, last
    enough[need[node]] = last
    need[node] -= 1


@compiled
def added_edges(offsets: Any, targets: Any, need: Any, order: Any) -> Any:
    """Edges that give every node its need beside the edges it has, and by how much each node falls short.

    The node that needs most is joined to those non-neighbours that need most (Liu and Terzi's Supergraph). A node that was served
    never comes again, so that no edge is added twice. `need` is used up.
    """
    waiting, places, enough = _sorted_by_need(need, order)
    left, right = np.empty(need.sum() // 2 + 1, np.int32), np.empty(need.sum() // 2 + 1, np.int32)
    lacking, near = np.zeros(len(need), np.int64), np.full(len(need), -1, np.int64)
    partners = np.empty(len(need), np.int64)
    count = 0
    for _ in range(len(need)):
        node = waiting[0]
        wanted = need[node]
        if not wanted:
            break
        for place in range(offsets[node], offsets[node + 1]):
            near[targets[place]] = node
        found, place = 0, 1
        while found < wanted and place < enough[1]:
            if near[waiting[place]] != node:
                partners[found] = waiting[place]
                found += 1
            place += 1
        for index in range(found):
            _served(partners[index], need, waiting, places, enough)
            left[count], right[count] = node, partners[index]
            count += 1
        lacking[node] = wanted - found
        for _again in range(wanted):
            _served(node, need, waiting, places, enough)
    return left[:count].copy(), right[:count].copy(), lacking


@compiled
def constructed(need: Any, order: Any) -> Any:
    """Edges of a graph with the given degrees, and whether there is one: node by node, each joined to those in most need.

    Liu and Terzi's ConstructGraph. It succeeds for every sequence that is graphical, whatever the order (Hakimi 1962). `need` is
    used up.
    """
    waiting, places, enough = _sorted_by_need(need, order)
    left, right = np.empty(need.sum() // 2 + 1, np.int32), np.empty(need.sum() // 2 + 1, np.int32)
    partners = np.empty(len(need), np.int64)
    count = 0
    for node in order:
        wanted = need[node]
        for _ in range(wanted):
            _served(node, need, waiting, places, enough)
        if wanted > enough[1]:
            return left[:0].copy(), right[:0].copy(), False
        partners[:wanted] = waiting[:wanted]
        for index in range(wanted):
            _served(partners[index], need, waiting, places, enough)
            left[count], right[count] = node, partners[index]
            count += 1
    return left[:count].copy(), right[:count].copy(), True


def graph_of_degrees(degrees: Any, seed: int | None = None) -> Graph:
    """Some graph with the given degrees; refused if there is none.

    >>> graph_of_degrees([3, 3, 2, 2, 2], seed=1).degrees.tolist()
    [3, 3, 2, 2, 2]
    """
    need = np.asarray(degrees, dtype=np.int64)
    if not is_graphical(need):
        raise InvalidInput("no simple graph has these degrees: their sum must be even, and they must satisfy Erdos-Gallai")
    left, right, _ = constructed(need.copy(), np.random.default_rng(seed).permutation(len(need)))
    return built(left, right, len(need)).graph
