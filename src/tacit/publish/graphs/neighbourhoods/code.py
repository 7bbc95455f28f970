"""Canonical codes of small graphs: two connected graphs have equal codes exactly if they are isomorphic, labels included.

A clique is coded by its labels alone, and a star by those of its center and its leaves. Any other component is coded by its labels
and edges in a canonical order of its nodes: colours are refined until all nodes of a colour see the same colours; while several
nodes share a colour, each of them in turn is given a colour of its own, and the least list wins (McKay 1981). Nodes that an
automorphism exchanges lead to the same list, so that one of them is tried: twins are seen at once, other automorphisms when two
tries end in the same list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tacit.errors import InvalidInput

Rows: TypeAlias = list[set[int]]  # of each node, numbered from 0, its neighbours
Code: TypeAlias = tuple[int, int, str, tuple[int, ...], tuple[int, ...]]  # nodes, edges, form, labels, edges in canonical order
CLIQUE, STAR, OTHER = "clique", "star", "other"
MOST_STEPS = 20_000  # nodes of the search; graphs of people need a few dozen


class TooDense(InvalidInput):
    """A graph in which neighbourhoods are too large or too symmetric to be compared by codes, or grow without end."""


@dataclass(frozen=True, slots=True)
class Component:
    """A connected graph in canonical order: its code, the labels of its nodes, and its edges."""

    code: Code
    labels: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.labels)


def component_of(rows: Rows, labels: Sequence[int] | None = None) -> Component:
    """The canonical form of a connected graph.

    >>> component_of([{1}, {0, 2}, {1}]) == component_of([{2}, {2}, {0, 1}])
    True
    """
    size, edges = len(rows), sum(map(len, rows)) // 2
    given = tuple(labels) if labels is not None else (0,) * size
    if 2 * edges == size * (size - 1):
        ordered = tuple(sorted(given))
        pairs = tuple((low, high) for high in range(size) for low in range(high))
        return Component((size, edges, CLIQUE, ordered, ()), ordered, pairs)
    center = max(range(size), key=lambda node: len(rows[node]))
    if edges == size - 1 == len(rows[center]):
        ordered = (given[center], *sorted(given[node] for node in range(size) if node != center))
        return Component((size, edges, STAR, ordered, ()), ordered, tuple((0, leaf) for leaf in range(1, size)))
    ranks = {label: rank for rank, label in enumerate(sorted(set(given)))}
    listed, order = _Search(rows).least([ranks[label] for label in given])
    ordered = tuple(given[node] for node in order)
    return Component((size, edges, OTHER, ordered, listed), ordered, tuple(divmod(edge, size) for edge in listed))


def refine(rows: Rows, colours: list[int]) -> list[int]:
    """The coarsest colours, finer than the given ones, in which nodes of one colour see the same colours; numbered canonically."""
    count = 0
    while True:
        marks = [(colours[node], tuple(sorted([colours[other] for other in row]))) for node, row in enumerate(rows)]
        ranks = {mark: rank for rank, mark in enumerate(sorted(set(marks)))}
        colours = [ranks[mark] for mark in marks]
        if len(ranks) == count:
            return colours
        count = len(ranks)


class _Search:
    """The search for the least list of edges of one connected graph."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.steps = 0

    def least(self, colours: list[int]) -> tuple[tuple[int, ...], list[int]]:
        """The least list of edges over all orders that the colours allow, and its order."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            size, edges = len(self.rows), sum(map(len, self.rows)) // 2
            raise TooDense(
                f"a neighbourhood is too symmetric: {size:,} people with {edges:,} edges have no canonical order after "
                f"{MOST_STEPS:,} steps; protect fewer people with --only, or use --method k-degree"
            )
        colours = refine(self.rows, colours)
        cell = _smallest_cell(colours)
        if not cell:
            return self._edge_list(colours)
        orbits, tried = self._twins(cell), set[int]()
        best: tuple[tuple[int, ...], list[int]] | None = None
        for node in cell:
            if _root(orbits, node) in {_root(orbits, other) for other in tried}:
                continue
            tried.add(node)
            split = [2 * colour for colour in colours]
            split[node] -= 1
            candidate = self.least(split)
            if best is not None and candidate[0] == best[0]:  # the two orders are exchanged by an automorphism
                for one, two in zip(best[1], candidate[1], strict=True):
                    orbits[_root(orbits, one)] = _root(orbits, two)
            if best is None or candidate[0] < best[0]:
                best = candidate
        return best if best is not None else self._edge_list(colours)

    def _edge_list(self, colours: list[int]) -> tuple[tuple[int, ...], list[int]]:
        """The edges in the order of colours that are all different; an edge (low, high) is the number low * size + high."""
        size = len(colours)
        order = sorted(range(size), key=colours.__getitem__)
        ends = ((colours[node], colours[other]) for node in range(size) for other in self.rows[node])
        return tuple(sorted(low * size + high for low, high in ends if low < high)), order

    def _twins(self, cell: list[int]) -> list[int]:
        """Orbits as trees: nodes of the cell with the same neighbours, themselves aside, are in one tree."""
        orbits, first = list(range(len(self.rows))), dict[frozenset[int], int]()
        for node in cell:
            for mark in (frozenset(self.rows[node]), frozenset(self.rows[node] | {node})):
                orbits[_root(orbits, node)] = _root(orbits, first.setdefault(mark, node))
        return orbits


def _root(parents: list[int], node: int) -> int:
    while parents[node] != node:
        parents[node] = node = parents[parents[node]]
    return node


def _smallest_cell(colours: list[int]) -> list[int]:
    """The nodes of the rarest colour that several nodes have, the first of them by number; empty if all differ."""
    cells: dict[int, list[int]] = {}
    for node, colour in enumerate(colours):
        cells.setdefault(colour, []).append(node)
    several = [(len(nodes), colour) for colour, nodes in cells.items() if len(nodes) > 1]
    return cells[min(several)[1]] if several else []
