"""Edges added, deleted and moved until every node has a given degree, with few changes.

Two nodes that have too many edges and share one lose it; two that have too few and share none get it: one change for both. The
remaining differences are removed by swaps: an edge of a node with too many is moved to one with too few, two edges of nodes with
too many become one of their other ends, and an edge elsewhere is opened between two nodes with too few. No swap changes a third
node's degree.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.realizing import added_edges
from tacit.publish.graphs.rows import build

TRIES = 60  # random partners that are tried for one swap


class Changes:
    """A graph with edges put in and taken out."""

    def __init__(self, graph: Graph, random: np.random.Generator) -> None:
        self.graph, self.random = graph, random
        self.added: set[tuple[int, int]] = set()
        self.deleted: set[tuple[int, int]] = set()
        self.beside: defaultdict[int, list[int]] = defaultdict(list)  # the other ends of edges that were added

    def has(self, one: int, two: int) -> bool:
        """Whether two nodes are connected now, or are one and the same."""
        edge = (min(one, two), max(one, two))
        return one == two or edge in self.added or (edge not in self.deleted and self.graph.has_edge(one, two))

    def add(self, one: int, two: int) -> None:
        """Connect two nodes."""
        edge = (min(one, two), max(one, two))
        if edge in self.deleted:
            self.deleted.remove(edge)
        else:
            self.added.add(edge)
            self.beside[one].append(two)
            self.beside[two].append(one)

    def delete(self, one: int, two: int) -> None:
        """Take an edge out."""
        edge = (min(one, two), max(one, two))
        if edge in self.added:
            self.added.remove(edge)
        else:
            self.deleted.add(edge)

    def neighbour(self, node: int) -> int:
        """Some neighbour, at random: perhaps one that has been one, which `has` tells."""
        row, more = self.graph.neighbours(node), self.beside[node]
        place = int(self.random.integers(len(row) + len(more)))
        return int(row[place]) if place < len(row) else more[place - len(row)]

    def edge(self) -> tuple[int, int]:
        """Some edge, at random: perhaps one that has been one."""
        first = int(self.graph.targets[self.random.integers(len(self.graph.targets))])
        return first, self.neighbour(first)

    def move(self, full: int, short: int) -> bool:
        """Move an edge of one node to another, if need be by way of an edge elsewhere."""
        for _ in range(TRIES):
            other = self.neighbour(full)
            if self.has(full, other) and not self.has(short, other):
                self.delete(full, other)
                self.add(short, other)
                return True
        for _ in range(TRIES):
            other = self.neighbour(full)
            if self.has(full, other):
                self.delete(full, other)
                if self.open(other, short):
                    return True
                self.add(full, other)
        return False

    def close(self, one: int, two: int) -> bool:
        """Delete an edge of each of two nodes, perhaps the same, and connect the other ends, if need be through another edge."""
        for _ in range(TRIES):
            first, second = self.neighbour(one), self.neighbour(two)
            ready = self.has(one, first) and self.has(two, second) and {first, second}.isdisjoint((one, two))
            if ready and not self.has(first, second):
                self.delete(one, first)
                self.delete(two, second)
                self.add(first, second)
                return True
        for _ in range(TRIES):
            first, second = self.neighbour(one), self.neighbour(two)
            if (one, first) != (two, second) and self.has(one, first) and self.has(two, second):
                self.delete(one, first)
                self.delete(two, second)
                if self.open(first, second):
                    return True
                self.add(one, first)
                self.add(two, second)
        return False

    def open(self, one: int, two: int) -> bool:
        """Put two nodes, which may be the same, between the ends of an edge elsewhere."""
        for _ in range(TRIES):
            first, second = self.edge()
            if first != second and self.has(first, second) and not self.has(one, first) and not self.has(two, second):
                self.delete(first, second)
                self.add(one, first)
                self.add(two, second)
                return True
        return False

    def to_graph(self) -> Graph:
        """The graph as it is now."""
        left, right = self.graph.ends()
        kept = np.ones(len(left), dtype=np.bool_)
        if self.deleted:
            gone = np.array(sorted(self.deleted), dtype=np.int64)
            kept = ~np.isin(left * self.graph.nodes + right, gone[:, 0] * self.graph.nodes + gone[:, 1])
        new = np.array(sorted(self.added), dtype=np.int64).reshape(-1, 2)
        return build(np.concatenate([left[kept], new[:, 0]]), np.concatenate([right[kept], new[:, 1]]), self.graph.nodes).graph


def rewire(graph: Graph, wanted: Integers, random: np.random.Generator) -> Graph | None:
    """The graph with the wanted degrees, whose sum is even, or None if the swaps that were tried did not suffice."""
    changes, missing = Changes(graph, random), wanted - graph.degrees
    left, right = graph.ends()
    both = np.flatnonzero((missing[left] < 0) & (missing[right] < 0))
    for place in random.permutation(both):
        one, two = int(left[place]), int(right[place])
        if missing[one] < 0 and missing[two] < 0:
            changes.delete(one, two)
            missing[one] += 1
            missing[two] += 1
    need = np.maximum(missing, 0)
    new_left, new_right, lacking = added_edges(graph.offsets, graph.targets, need.copy(), random.permutation(graph.nodes))
    for one, two in zip(new_left.tolist(), new_right.tolist(), strict=True):
        changes.add(one, two)
    short, full = _each(lacking, random), _each(np.maximum(-missing, 0), random)
    while short and full:
        if not changes.move(full.pop(), short.pop()):
            return None
    while len(full) > 1:
        if not changes.close(full.pop(), full.pop()):
            return None
    while len(short) > 1:
        if not changes.open(short.pop(), short.pop()):
            return None
    return changes.to_graph()


def _each(amounts: Integers, random: np.random.Generator) -> list[int]:
    """Every node as often as its amount, in a random order."""
    return [int(node) for node in random.permutation(np.repeat(np.arange(len(amounts)), amounts))]


def make_even(degrees: Integers, k: int) -> Integers:
    """Degrees of an even sum that are as anonymous as the given ones: one node moves to the next degree, or a whole degree does.

    >>> make_even(np.array([2, 2, 2, 1, 1, 1, 1]), k=3).tolist()
    [2, 2, 2, 1, 1, 1, 1]
    >>> make_even(np.array([3, 2, 2, 2, 3, 3, 3, 3]), k=3).tolist()
    [2, 2, 2, 2, 3, 3, 3, 3]
    """
    if degrees.sum() % 2 == 0:
        return degrees
    even, (values, counts) = degrees.copy(), np.unique(degrees, return_counts=True)
    sizes = dict(zip(values.tolist(), counts.tolist(), strict=True))
    near = [(value, value + step) for value in sizes for step in (-1, 1) if sizes[value] > k and value + step in sizes]
    if near:
        value, other = near[0]
        even[np.flatnonzero(degrees == value)[0]] = other
        return even
    value = min((value for value in sizes if sizes[value] % 2), key=lambda value: sizes[value])
    even[degrees == value] += 1 if value + 1 < len(degrees) else -1
    return even
