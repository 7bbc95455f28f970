"""Collusion that spreads: people who find themselves in a published graph name others, who never disclosed anything.

A colluder knows the names of their contacts, and so their own degree. Together colluders know who of them are linked, and whom
they share. They look for nodes that agree with all of it. Then a person who is a contact of exactly these colluders is one of the
nodes that are linked to exactly these: if there is one such node, the person is found, and so are the edges between people found
(Hay, Miklau, Jensen, Towsley and Weis 2008). If the contacts of those who were found become known as well, it goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.evidence.attacks.graphs.drawing import drawing, on_circle
from tacit.evidence.attacks.graphs.recovery import linked_subsets
from tacit.publish.graphs.graph import Graph

MOST_PLACEMENTS = 1000  # of the colluders; with more of them no person is found
MOST_STEPS = 1_000_000  # of the search for placements
MOST_DRAWN = 60  # people in a drawing
EMAIL = {
    "Alice": ("Bob", "Cathy", "Ed"),
    "Bob": ("Alice", "Cathy", "Diane", "Ed"),
    "Cathy": ("Alice", "Bob", "Diane", "Fred", "Grace"),
    "Diane": ("Bob", "Cathy"),
    "Ed": ("Alice", "Bob", "Fred", "Grace"),
    "Fred": ("Cathy", "Ed"),
    "Grace": ("Cathy", "Ed"),
}  # who wrote e-mail to whom

Contacts = Mapping[str, Collection[str]]
Placement = dict[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Collusion:
    """The nodes that every named person can be, and the edges between people found that no colluder knew."""

    published: Graph
    colluders: tuple[str, ...]
    candidates: Mapping[str, frozenset[int]]
    edges: tuple[tuple[str, str], ...]
    rounds: int

    @property
    def found(self) -> dict[str, int]:
        """The people with one candidate, and their nodes."""
        return {name: next(iter(nodes)) for name, nodes in self.candidates.items() if len(nodes) == 1}

    @property
    def others(self) -> tuple[str, ...]:
        """The people found who did not collude."""
        return tuple(name for name in self.found if name not in self.colluders)

    def summary(self) -> str:
        """The result in sentences."""
        size = f"{self.published.nodes:,} nodes and {self.published.edges:,} edges, no names"
        placed = [name for name in self.colluders if name in self.found]
        if len(placed) < len(self.colluders):
            return (
                f"Published: {size}. {len(placed)} of {len(self.colluders)} colluders found themselves; nobody else is identified."
            )
        doubt = sorted(len(nodes) for name, nodes in self.candidates.items() if name not in self.found)
        named = _name_list(self.others) or "nobody"
        linked = _name_list(tuple(f"{one}-{two}" for one, two in self.edges)) or "none"
        left = f" {len(doubt)} more are among {doubt[0]} to {doubt[-1]} candidates." if doubt else ""
        return (
            f"Published: {size}.\n{_name_list(self.colluders)} found themselves. They identify {named}.{left}\n"
            f"Edges learned that no colluder knew: {linked}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values."""
        return {
            "nodes": self.published.nodes,
            "edges": self.published.edges,
            "colluders": list(self.colluders),
            "identified": {name: self.found[name] for name in self.others},
            "learned": [list(edge) for edge in self.edges],
            "candidates": {name: sorted(nodes) for name, nodes in self.candidates.items()},
            "rounds": self.rounds,
        }

    def chart(self, path: str | None = None) -> Any:
        """A drawing of the published graph with the names that were found; of a large one, of the people found only."""
        from tacit.chart import save

        names_of_nodes = {node: name for name, node in self.found.items()}
        small = self.published.nodes <= MOST_DRAWN
        drawn = list(range(self.published.nodes)) if small else list(names_of_nodes)[:MOST_DRAWN]
        names = {node: names_of_nodes.get(node, f"node {node}") for node in drawn}
        kinds = {
            name: "colluder" if name in self.colluders else "identified" if node in names_of_nodes else "unknown"
            for node, name in names.items()
        }
        learned = {tuple(sorted(edge)) for edge in self.edges}
        pairs = [(names[one], names[two]) for one, two in combinations(drawn, 2) if self.published.has_edge(one, two)]
        edges = [(one, two, "learned" if tuple(sorted((one, two))) in learned else "published") for one, two in pairs]
        ordered = sorted(edges, key=lambda edge: edge[2], reverse=True)
        return save(drawing(on_circle(list(kinds)), kinds, ordered, "What the colluders read from the published graph"), path)


def _name_list(names: tuple[str, ...], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def placements(graph: Graph, contacts: Contacts) -> list[Placement]:
    """Every way to place the colluders at nodes that agrees with what they know together, up to MOST_PLACEMENTS + 1 of them."""
    order = sorted(contacts, key=lambda name: int((graph.degrees == len(contacts[name])).sum()))
    fitting, steps = list[Placement](), 0
    stack: list[tuple[int, ...]] = [()]
    while stack and len(fitting) <= MOST_PLACEMENTS:
        placed = stack.pop()
        if len(placed) == len(order):
            place = dict(zip(order, placed, strict=True))
            if _profiles(place, contacts) == Counter(linked_subsets(graph, np.array(list(place.values()))).values()):
                fitting.append(place)
            continue
        steps += 1
        if steps > MOST_STEPS:
            raise InvalidInput("too many placements of the colluders; add colluders who are linked to each other")
        stack += [(*placed, node) for node in _fitting_nodes(graph, contacts, order, placed)]
    return fitting


def _fitting_nodes(graph: Graph, contacts: Contacts, order: list[str], placed: tuple[int, ...]) -> Iterator[int]:
    """The nodes for the next colluder: of the right degree, linked to the colluders before it, with as many shared contacts."""
    name = order[len(placed)]
    linked = [node for other, node in zip(order, placed, strict=False) if other in contacts[name]]
    for node in graph.neighbours(linked[0]) if linked else np.flatnonzero(graph.degrees == len(contacts[name])):
        if graph.degrees[node] == len(contacts[name]) and int(node) not in placed:
            row = graph.neighbours(int(node))
            before = list(zip(order, placed, strict=False))
            agrees = all(graph.has_edge(int(node), there) == (other in contacts[name]) for other, there in before)
            shared = agrees and all(
                len(np.intersect1d(row, graph.neighbours(there))) == len(set(contacts[name]) & set(contacts[other]))
                for other, there in before
            )
            if shared:
                yield int(node)


def _profiles(order: Collection[str], contacts: Contacts) -> Counter[tuple[int, ...]]:
    """How many people are contacts of exactly these colluders, for every set of places."""
    return Counter(_knowers(order, contacts).values())


def _knowers(order: Collection[str], contacts: Contacts) -> dict[str, tuple[int, ...]]:
    knowers: dict[str, tuple[int, ...]] = {}
    for place, name in enumerate(order):
        for person in contacts[name]:
            if person not in contacts:
                knowers[person] = (*knowers.get(person, ()), place)
    return knowers


def _candidates(graph: Graph, places: list[Placement], contacts: Contacts) -> dict[str, frozenset[int]]:
    """The nodes that each named person can be, over all placements."""
    candidates: dict[str, set[int]] = {}
    for place in places:
        holders: dict[tuple[int, ...], set[int]] = {}
        for node, subset in linked_subsets(graph, np.array(list(place.values()))).items():
            holders.setdefault(subset, set()).add(node)
        for name, node in place.items():
            candidates.setdefault(name, set()).add(node)
        for person, subset in _knowers(place, contacts).items():
            candidates.setdefault(person, set()).update(holders.get(subset, set()))
    return {name: frozenset(nodes) for name, nodes in candidates.items()}


def collude(published: Graph, contacts: Contacts, learn: Callable[[str], Collection[str]] | None = None) -> Collusion:
    """The people whom the colluders find; `contacts` has their contacts by name.

    With `learn`, the contacts of each person found become known as well, and the search goes on until it finds no one new.
    """
    contacts_known: dict[str, Collection[str]] = dict(contacts)
    places, rounds = placements(published, contacts_known), 1
    if not 1 <= len(places) <= MOST_PLACEMENTS:
        return Collusion(published, tuple(contacts), {}, (), 0)
    candidates = _candidates(published, places, contacts_known)
    while learn is not None and len(places) == 1:
        new = [name for name, nodes in candidates.items() if len(nodes) == 1 and name not in contacts_known]
        if not new:
            break
        contacts_known |= {name: learn(name) for name in new}
        places = [places[0] | {name: next(iter(candidates[name])) for name in new}]
        candidates, rounds = _candidates(published, places, contacts_known), rounds + 1
    others = [(name, next(iter(nodes))) for name, nodes in candidates.items() if len(nodes) == 1 and name not in contacts]
    edges = tuple((one, two) for (one, left), (two, right) in combinations(others, 2) if published.has_edge(left, right))
    return Collusion(published, tuple(contacts), candidates, edges, rounds)


def email_graph() -> tuple[Graph, list[str]]:
    """The e-mail graph of seven people, and their names in the order of its nodes."""
    names = list(EMAIL)
    pairs = [(names.index(one), names.index(two)) for one, others in EMAIL.items() for two in others]
    left, right = zip(*pairs, strict=True)
    return Graph.of_edges(left, right, nodes=len(names)), names
