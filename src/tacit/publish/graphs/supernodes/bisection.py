"""Groups of nodes that share neighbours: all nodes are halved, then each half, until a part is one group.

A halving exchanges nodes between both halves while the neighbours of a half become easier to describe. A node with d neighbours in
a half of n nodes costs about d log(n / (d + 1)), so it is cheap where its neighbours are in one half. All parts of a level are
halved together (Dhulipala, Kabiljo, Karrer, Ottaviano, Pupyrev and Shalita 2016, "Compressing graphs and indexes with recursive
graph bisection").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.graph import Graph, Integers

ROUNDS = 20  # of exchanges in one level
SETTLED = 0.002  # a level ends when a round exchanges fewer of the nodes


def bisect(graph: Graph, k: int) -> Integers:
    """Groups of at least k and fewer than 2k nodes (one group if there are fewer than 2k).

    >>> ring = Graph.of_edges(range(25), [*range(1, 25), 0], nodes=25)
    >>> sorted(np.bincount(bisect(ring, 4)).tolist())
    [4, 4, 4, 4, 4, 5]
    """
    order = np.argsort(-graph.degrees, kind="stable")
    begins = np.array([0, graph.nodes], np.int64)
    while (middles := _middles(begins, k)) is not None:
        part = np.empty(graph.nodes, np.int64)
        part[order] = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
        order = _exchange_halves(graph, order, part, (begins, middles))
        begins = np.unique(np.concatenate([begins, middles]))
    groups = np.empty(graph.nodes, np.int64)
    groups[order] = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    return groups


def _middles(begins: Integers, k: int) -> Integers | None:
    """Where each part is cut, so that both sides hold whole groups; the end of a part that is not cut. None if no part is."""
    sizes = np.diff(begins)
    counts = np.maximum(sizes // k, 1)
    if int(counts.max()) < 2:
        return None
    return begins[:-1] + np.where(counts < 2, sizes, counts // 2 * k + sizes % k // 2)


def _exchange_halves(graph: Graph, order: Integers, part: Integers, cuts: tuple[Integers, Integers]) -> Integers:
    """The same parts, after the nodes before and after each cut have exchanged members."""
    begins, middles = cuts
    source = np.repeat(np.arange(graph.nodes), graph.degrees)
    pair = np.unique(graph.targets * np.int64(len(middles)) + part[source], return_inverse=True)[1]
    costs, bias = _costs(graph), _bias(begins, middles)
    place = np.arange(graph.nodes)
    late = place >= np.repeat(middles, np.diff(begins))
    first, second = _opposite(begins, middles)
    for _ in range(ROUNDS):
        side = np.empty(graph.nodes, np.int64)
        side[order] = late
        gains = _gains(pair, source, side, costs) + np.where(side == 0, 1, -1) * bias[part] * graph.degrees
        order = order[np.lexsort((-gains[order], late, part[order]))]
        better = gains[order[first]] + gains[order[second]] > 1e-9
        one, two = first[better], second[better]
        order[one], order[two] = order[two], order[one]
        if len(one) <= SETTLED * graph.nodes:
            break
    return order


def _opposite(begins: Integers, middles: Integers) -> tuple[Integers, Integers]:
    """Places before and after each cut that face each other: the first with the first, and so on, as far as both sides go."""
    ends = begins[1:]
    room = np.minimum(middles - begins[:-1], ends - middles)
    steps = np.arange(int(room.sum())) - np.repeat(np.cumsum(room) - room, room)
    return np.repeat(begins[:-1], room) + steps, np.repeat(middles, room) + steps


def _costs(graph: Graph) -> Any:
    """For d from 0: the saving of the d-th neighbour in a half, d log(d + 1) - (d - 1) log d."""
    sums = np.arange(int(graph.degrees.max()) + 2) * np.log(np.arange(1, int(graph.degrees.max()) + 3))
    return np.diff(sums, prepend=0.0)


def _bias(begins: Integers, middles: Integers) -> Any:
    """The saving of an edge that changes from the first half to the second because the second is smaller."""
    sizes = np.maximum(np.stack([middles - begins[:-1], begins[1:] - middles]), 1)
    return np.log(sizes[0] / sizes[1])


def _gains(pair: Integers, source: Integers, side: Integers, costs: Any) -> Any:
    """The saving of each node if it alone changes its side."""
    here = 2 * pair + side[source]
    counts = np.bincount(here, minlength=2 * int(pair.max(initial=-1)) + 2)
    saved = costs[counts[here ^ 1] + 1] - costs[counts[here]]
    return np.bincount(source, saved, len(side))
