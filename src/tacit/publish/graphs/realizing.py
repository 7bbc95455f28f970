"""Graphs with given degrees: from nothing, or by adding edges to a graph.

Nodes wait in an array in descending order of the edges that they still need. One node at a time is joined to those that need
most. Where a node's need falls by one, it changes places with the last node of equal need, so that the array stays sorted in
constant time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.compiled import compiled, inner
from tacit.publish.graphs.degree_sequence import is_graphical
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.rows import build

EMPTY, GONE = -1, -2  # places of a table of edges
TRIES = 400  # added edges that are tried for one swap
FAILURES = 60  # pairs of nodes for whom no swap was found, before the swaps end


@compiled
def _sorted_by_need(need: Any, order: Any) -> Any:
    """Nodes by descending need, ties in the given order; their places; and how many need at least each amount."""
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
def _serve(node: Any, need: Any, waiting: Any, places: Any, enough: Any) -> None:
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
        partner_count, place = 0, 1
        while partner_count < wanted and place < enough[1]:
            if near[waiting[place]] != node:
                partners[partner_count] = waiting[place]
                partner_count += 1
            place += 1
        for index in range(partner_count):
            _serve(partners[index], need, waiting, places, enough)
            left[count], right[count] = node, partners[index]
            count += 1
        lacking[node] = wanted - partner_count
        for _again in range(wanted):
            _serve(node, need, waiting, places, enough)
    return left[:count].copy(), right[:count].copy(), lacking


@compiled
def serve_by_swaps(offsets: Any, targets: Any, ends: Any, units: Any, hop: Any) -> Any:
    """The added edges after swaps that serve more nodes, and the nodes that still lack an edge, each as often as it does.

    `ends` are the edges added so far, at least one, and `units` the nodes that lack one, in random order. Two of
    them are put between the ends of an added edge that neither knows in that place: an augmenting path of three edges. Edges of
    the graph itself stay.
    """
    count, size = ends.shape[1], len(units)
    edges, units = np.empty((2, count + size), np.int64), units.copy()
    edges[:, :count] = ends
    held = _table(edges[:, :count], len(offsets) - 1, 4 * (count + size))
    place, fails = 0, 0
    while size > 1 and fails < FAILURES:
        one, two = units[size - 1], units[size - 2]
        done = False
        for _ in range(TRIES):
            place = (place + hop) % count
            near, far = edges[0, place], edges[1, place]
            if _are_linked(offsets, targets, held, one, near) or _are_linked(offsets, targets, held, two, far):
                near, far = far, near
                if _are_linked(offsets, targets, held, one, near) or _are_linked(offsets, targets, held, two, far):
                    continue
            done = True
            break
        if done:
            held[_slot(held, _key(near, far, len(offsets)))] = GONE
            for node, other in ((one, near), (two, far)):
                key = _key(node, other, len(offsets))
                held[_slot(held, key)] = key
            edges[0, place], edges[1, place] = one, near
            edges[0, count], edges[1, count] = two, far
            count, size = count + 1, size - 2
        else:
            fails += 1
            other = (place * 7919 + fails) % size
            units[size - 1], units[other] = units[other], units[size - 1]
    return edges[:, :count].copy(), units[:size].copy()


@inner
def _table(ends: Any, nodes: Any, least: Any) -> Any:
    """A table of edges by open addressing, at most half full."""
    size = 16
    while size < 2 * least:
        size *= 2
    held = np.full(size, EMPTY, np.int64)
    for place in range(ends.shape[1]):
        key = _key(ends[0, place], ends[1, place], nodes + 1)
        held[_slot(held, key)] = key
    return held


@inner
def _key(one: Any, two: Any, base: Any) -> Any:
    return min(one, two) * base + max(one, two)


@inner
def _slot(held: Any, key: Any) -> Any:
    """Where an edge stands in the table, or the empty place where it would."""
    place = (key * 0x9E3779B97F4A7C1) >> 7 & (len(held) - 1)
    while held[place] != key and held[place] != EMPTY:
        place = (place + 1) & (len(held) - 1)
    return place


@inner
def _are_linked(offsets: Any, targets: Any, held: Any, one: Any, two: Any) -> Any:
    """Whether two nodes are the same, or share an edge of the graph or an added one."""
    if one == two:
        return True
    few, other = one, two
    if offsets[one + 1] - offsets[one] > offsets[two + 1] - offsets[two]:
        few, other = two, one
    row = targets[offsets[few] : offsets[few + 1]]
    place = np.searchsorted(row, other)
    if place < len(row) and row[place] == other:
        return True
    key = _key(one, two, len(offsets))
    return held[_slot(held, key)] == key


@compiled
def construct(need: Any, order: Any) -> Any:
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
            _serve(node, need, waiting, places, enough)
        if wanted > enough[1]:
            return left[:0].copy(), right[:0].copy(), False
        partners[:wanted] = waiting[:wanted]
        for index in range(wanted):
            _serve(partners[index], need, waiting, places, enough)
            left[count], right[count] = node, partners[index]
            count += 1
    return left[:count].copy(), right[:count].copy(), True


def graph_of_degrees(degrees: Any, seed: int | None = None) -> Graph:
    """Some graph with the given degrees. Raises if they are not graphical.

    >>> graph_of_degrees([3, 3, 2, 2, 2], seed=1).degrees.tolist()
    [3, 3, 2, 2, 2]
    """
    need = np.asarray(degrees, dtype=np.int64)
    if not is_graphical(need):
        raise InvalidInput("no simple graph has these degrees: their sum must be even, and they must satisfy Erdos-Gallai")
    left, right, _ = construct(need.copy(), np.random.default_rng(seed).permutation(len(need)))
    return build(left, right, len(need)).graph
