"""A graph that grows edge by edge, and its classes: people whose neighbourhoods are isomorphic.

The neighbourhood of a person is the graph that their contacts form, without the person. It is kept as how often each connected
component occurs in it. A new edge (x, y) changes the neighbourhoods of x, of y and of their common contacts, and no others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.neighbourhoods.code import Code, Component, Rows, TooDense, component_of

Key: TypeAlias = tuple[int, tuple[tuple[int, int], ...]]  # the person's own label; how often each kind of component occurs


MOST = 200  # people in a connected part of a neighbourhood, unless another limit is given
CODED = 4  # the work of a code, for each person and each edge at both ends
LEAST, WORK = 2_000_000, 600  # steps allowed, and more for each person and edge; about 2 million take a second of processor time


class Kinds:
    """Components up to isomorphism, numbered as they are first seen."""

    def __init__(self) -> None:
        self.forms: list[Component] = []
        self.tallies: list[Counter[int]] = []  # of each kind, how many nodes have which label
        self._numbers: dict[Code, int] = {}
        self._seen: dict[object, int] = {}

    def of(self, rows: Rows, labels: Sequence[int]) -> int:
        """The number of a component."""
        mark = (*labels, None, *(tuple(sorted(row)) for row in rows))
        if mark not in self._seen:
            component = component_of(rows, labels)
            if component.code not in self._numbers:
                self._numbers[component.code] = len(self.forms)
                self.forms.append(component)
                self.tallies.append(Counter(component.labels))
            self._seen[mark] = self._numbers[component.code]
        return self._seen[mark]

    def alone(self, label: int) -> int:
        """The number of a contact with this label who knows none of the others."""
        return self.of([set()], (label,))


class Classes:
    """The rows of the graph, and people sorted by their neighbourhoods."""

    def __init__(self, graph: Graph, labels: Sequence[int] | None = None, most: int = MOST) -> None:
        self.kinds, self.most, self.work = Kinds(), most, 0
        self.enough = LEAST + WORK * (graph.nodes + graph.edges)
        self.labels = list(labels) if labels is not None else [0] * graph.nodes
        self.rows: Rows = [set(graph.neighbours(node).tolist()) for node in range(graph.nodes)]
        self.added: list[tuple[int, int]] = []
        self.alike: dict[Key, set[int]] = {}
        self._stale: set[int] = set()
        self._sizes: dict[Key, tuple[int, int]] = {}
        self._keys: list[Key] = [self._key_now(node) for node in range(graph.nodes)]
        for node, key in enumerate(self._keys):
            self.alike.setdefault(key, set()).add(node)

    def count_work(self, amount: int) -> None:
        """Adds to the count of work, in a unit that depends on the graph alone and not on the machine; raises if it is too much."""
        self.work += amount
        if self.work > self.enough:
            raise TooDense(f"the graph is too dense: {self.enough:,} steps did not do; protect fewer people with --only")

    def key(self, person: int) -> Key:
        """The class of a person, as of the last `renew`."""
        return self._keys[person]

    def components(self, person: int) -> list[list[int]]:
        """The contacts of a person by connected component of the neighbourhood, in ascending order."""
        left, parts = set(self.rows[person]), list[list[int]]()
        while left:
            edge = {left.pop()}
            nodes = list(edge)
            while edge:
                edge = set[int]().union(*(self.rows[name] & left for name in edge))
                left -= edge
                nodes += edge
            parts.append(sorted(nodes))
        return sorted(parts)

    def add(self, left: int, right: int) -> None:
        """Add an edge, if it is missing; marks the people whose neighbourhood it changes."""
        if right in self.rows[left]:
            return
        self.rows[left].add(right)
        self.rows[right].add(left)
        self.added.append((left, right))
        self._stale.update(self.people_near(left, right))

    def people_near(self, left: int, right: int) -> set[int]:
        """The people whose neighbourhoods an edge changes: its two ends and their common contacts."""
        return {left, right} | (self.rows[left] & self.rows[right])

    def renew(self) -> set[Key]:
        """Sort again the people whose neighbourhood has changed; returns the classes that someone has left or joined."""
        touched = set[Key]()
        for person in sorted(self._stale):
            old, new = self._keys[person], self._key_now(person)
            self.alike[old].discard(person)
            if not self.alike[old]:
                del self.alike[old]
            self.alike.setdefault(new, set()).add(person)
            self._keys[person] = new
            touched |= {old, new}
        self._stale.clear()
        return touched

    def size(self, key: Key) -> tuple[int, int]:
        """The number of people and of edges in the neighbourhoods of a class."""
        if key not in self._sizes:
            counted = [(self.kinds.forms[kind], count) for kind, count in key[1]]
            self._sizes[key] = (
                sum(form.size * count for form, count in counted),
                sum(form.code[1] * count for form, count in counted),
            )
        return self._sizes[key]

    def too_large(self, person: int) -> bool:
        """Whether more contacts of a person than the limit are connected with each other, as of the last `renew`."""
        return self._keys[person][0] < 0

    def _key_now(self, person: int) -> Key:
        own, counts = self.rows[person], dict[int, int]()
        self.count_work(sum(min(len(own), len(self.rows[name])) for name in own))
        for nodes in self.components(person):
            if len(nodes) > self.most:
                return -1 - person, ()  # unlike all others: no person has this label
            place = {name: index for index, name in enumerate(nodes)}
            rows = [{place[other] for other in self.rows[name] & own} for name in nodes] if len(nodes) > 1 else [set[int]()]
            self.count_work(CODED * (len(nodes) + sum(map(len, rows))))
            kind = self.kinds.of(rows, [self.labels[name] for name in nodes])
            counts[kind] = counts.get(kind, 0) + 1
        return self.labels[person], tuple(sorted(counts.items()))
