"""Edges added until the graph can be turned onto itself: an answer for every graph, at most k times as many edges for most of them.

People stand in rows of k, one in each of k blocks. A turn moves each person to the next block, in their own row, and every edge is
repeated for all k turns. So the people of a row look alike in everything that structure tells, and in their neighbourhoods too
(after the k-automorphism of Zou, Chen and Ozsu 2009). Rows have people of one label.

If k does not divide the number of people of a label, k to 2k - 1 of those with the fewest contacts stand still. They become twins:
each contact of one of them, with the whole row of that contact, becomes a contact of all of them. People of a label with fewer than
k people, who are not to be protected, stand still as well, each alone.

The cost: an edge between two rows becomes at most k edges. One between a row and twins becomes k times as many as there are twins,
and one among twins, or between two sets of them, all that are possible there. If k is more than half the number of people, all are
twins, and a graph with an edge becomes complete. The work grows with k times the edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.publish.graphs.graph import Graph, Integers

Pairs = NDArray[np.int64]  # in two columns


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """The place of each person: `rows[row, block]` is a person; twins have the number of their set, and all others -1."""

    rows: Pairs
    twins: Integers

    def closure(self, graph: Graph) -> Pairs:
        """The edges of the graph and their images under all turns and exchanges of twins."""
        k, nodes = self.rows.shape[1], graph.nodes
        row, block = np.full(nodes, -1), np.zeros(nodes, np.int64)
        row[self.rows] = np.arange(len(self.rows))[:, None]
        block[self.rows] = np.arange(k)
        one, two = graph.ends()
        later = row[one] > row[two]
        one, two = np.where(later, two, one), np.where(later, one, two)  # people who stand still come first
        moving, still = row[one] >= 0, row[two] < 0
        images = [self._turn_edges(row[one[moving]], row[two[moving]], (block[two] - block[one])[moving] % k)]
        half = ~moving & ~still
        for twins, place in _distinct(self.twins[one[half]], row[two[half]]):
            images.append(_all_pairs(self._members(twins), self.rows[place]))
        low, high = np.minimum(self.twins[one], self.twins[two])[still], np.maximum(self.twins[one], self.twins[two])[still]
        images += [_all_pairs(self._members(twins), self._members(others)) for twins, others in _distinct(low, high)]
        ends = np.sort(np.concatenate(images), axis=1)
        codes = np.unique(ends[:, 0] * nodes + ends[:, 1])
        return np.stack(np.divmod(codes, max(nodes, 1)), axis=1)

    def _turn_edges(self, low: Integers, high: Integers, apart: Integers) -> Pairs:
        """Edges between two rows, `apart` blocks apart, in every turn."""
        k = self.rows.shape[1]
        codes = np.unique((low * len(self.rows) + high) * k + apart)
        rest, apart = np.divmod(codes, k)
        low, high = np.divmod(rest, max(len(self.rows), 1))
        turns = np.arange(k)
        pairs: Pairs = np.stack([self.rows[low], self.rows[high[:, None], (turns + apart[:, None]) % k]], axis=2).reshape(-1, 2)
        return pairs

    def _members(self, twins: int) -> Integers:
        return np.flatnonzero(self.twins == twins)


def _distinct(one: Integers, two: Integers) -> list[tuple[int, int]]:
    return sorted(set(zip(one.tolist(), two.tolist(), strict=True)))


def _all_pairs(some: Integers, others: Integers) -> Pairs:
    """All pairs of one person each; of two different people, if both are the same set."""
    pairs: Pairs = np.stack(np.meshgrid(some, others, indexing="ij"), axis=2).reshape(-1, 2)
    distinct: Pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return distinct


def turn_edges(graph: Graph, k: int, labels: Sequence[int] | None = None) -> Pairs:
    """The edges to add so that at least k people of each label look alike; of a few ways to stand, the one with fewest.

    >>> turn_edges(Graph.of_edges([0, 0, 1, 2], [1, 2, 2, 3], nodes=4), k=2).tolist()
    [[0, 3]]
    """
    held = np.zeros(graph.nodes, np.int64) if labels is None else np.asarray(labels, dtype=np.int64)
    best = min((turn.closure(graph) for turn in _ways(graph, k, held)), key=len)
    one, two = graph.ends()
    new = ~np.isin(best[:, 0] * graph.nodes + best[:, 1], one * graph.nodes + two)
    return best[new]


def _ways(graph: Graph, k: int, labels: Integers) -> Iterator[Turn]:
    """Ways to stand: rows of similar degree, rows of people who are near each other, and blocks of people who are."""
    near = _walk(graph)
    yield _turn_of(graph, k, labels, np.argsort(-graph.degrees, kind="stable"), blocks=False)
    yield _turn_of(graph, k, labels, near, blocks=False)
    yield _turn_of(graph, k, labels, near, blocks=True)


def _turn_of(graph: Graph, k: int, labels: Integers, order: Integers, blocks: bool) -> Turn:
    """Rows of people of one label in an order: k after each other in a row, or as many as there are rows in a block."""
    rows, twins, sets = [np.empty((0, k), np.int64)], np.full(graph.nodes, -1), 0
    for label in np.unique(labels).tolist():
        people = order[labels[order] == label]
        few, rest = len(people) < k, len(people) % k
        if few:
            twins[people] = sets + np.arange(len(people))
            sets += len(people)
            continue
        if rest:
            still = people[np.argsort(graph.degrees[people], kind="stable")[: k + rest]]
            twins[still] = sets
            sets, people = sets + 1, people[twins[people] < 0]
        rows.append(people.reshape(k, -1).T if blocks else people.reshape(-1, k))
    return Turn(np.concatenate(rows), twins)


def _walk(graph: Graph) -> Integers:
    """All people in the order of a walk to contacts and their contacts, from people of high degree."""
    order, seen, place = np.empty(graph.nodes, np.int64), np.zeros(graph.nodes, np.bool_), 0
    for start in np.argsort(-graph.degrees, kind="stable").tolist():
        if seen[start]:
            continue
        seen[start], order[place] = True, start
        place, at = place + 1, place
        while at < place:
            near = graph.neighbours(int(order[at]))
            fresh = near[~seen[near]]
            seen[fresh] = True
            order[place : place + len(fresh)] = fresh
            place, at = place + len(fresh), at + 1
    return order
