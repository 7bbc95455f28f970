"""How many people an attacker's knowledge of the structure around them singles out, in a graph without names.

An attacker who knows the degree of a person, the degrees of the neighbours, or more of the surroundings, looks for the nodes that
agree (Hay, Miklau, Jensen, Towsley and Weis 2008). These are the person's candidates; one candidate is a name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.candidates import BINS, Candidates, candidate_sizes, colours_of, fixed_point
from tacit.publish.graphs.graph import Graph

ROUNDS = 3  # of refinement inside a neighbourhood; more tell hardly any apart
HUBS, REACH = 10, 3  # hubs of a fingerprint, and the largest distance that counts
SAMPLE = 20  # people for whom known edges are sought
STEPS = 500  # of one search for known edges; a node at which it is stopped counts as a candidate


@dataclass(frozen=True, slots=True)
class ReIdentification:
    """The candidates under one or several kinds of knowledge."""

    nodes: int
    edges: int
    found: tuple[Candidates, ...]

    def summary(self) -> str:
        """A line for each kind of knowledge."""
        lines = [f"{self.nodes:,} people, {self.edges:,} edges, no names."]
        for each in self.found:
            told = ", ".join(f"{name}: {many:,}" for name, many in each.histogram().items())
            of = f"{len(each.sizes):,} people" if len(each.sizes) == self.nodes else f"a sample of {len(each.sizes):,}"
            lines.append(f"{each.knowledge}: {each.alone:,} of {of} alone. People by number of candidates: {told}.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values."""
        return {"nodes": self.nodes, "edges": self.edges, "knowledge": [each.to_dict() for each in self.found]}

    def chart(self, path: str | None = None) -> Any:
        """The share of people by the number of their candidates."""
        from tacit.chart import COLOURS, charting, save

        alt = charting()
        names = [name for name, _, _ in BINS]
        rows = [
            {"knowledge": each.knowledge, "candidates": name, "order": names.index(name), "share": many / max(len(each.sizes), 1)}
            for each in self.found
            for name, many in each.histogram().items()
        ]
        colour = alt.Color("candidates:N", sort=names).scale(domain=names, range=[COLOURS[2], "#f0b890", *COLOURS[:2], COLOURS[5]])
        title = alt.TitleParams("Who could a person be?", subtitle=f"{self.nodes:,} people, {self.edges:,} edges", anchor="start")
        bars = alt.Chart(alt.InlineData(values=rows), title=title).mark_bar()
        share = alt.X("share:Q", title="people").axis(format="%").scale(domain=[0, 1])
        shown = bars.encode(x=share, y=alt.Y("knowledge:N", title=None, sort=None), color=colour, order="order:Q")
        return save(shown.properties(width=440, height=40 * len(self.found)), path)


def by_degree(graph: Graph, detail: int | None, seed: int) -> Candidates:
    """People with the same degree."""
    return Candidates("degree", candidate_sizes(graph.degrees.astype(np.uint64)))


def by_neighbours(graph: Graph, detail: int | None, seed: int) -> Candidates:
    """People with the same degree whose neighbours have the same degrees."""
    return Candidates("neighbours' degrees", candidate_sizes(colours_of(graph, 2)))


def by_refinement(graph: Graph, detail: int | None, seed: int) -> Candidates:
    """People whom `detail` rounds of refinement do not distinguish; by default as many as distinguish more."""
    if detail is not None:
        return Candidates(f"refinement, {detail} rounds", candidate_sizes(colours_of(graph, detail)))
    colours, rounds = fixed_point(graph)
    return Candidates(f"refinement, {rounds} rounds (all)", candidate_sizes(colours))


def by_neighbourhood(graph: Graph, detail: int | None, seed: int) -> Candidates:
    """People whose neighbours are linked among themselves in the same way.

    Neighbourhoods are compared by refinement inside them: isomorphic ones count as equal, and so do the few others, such as regular
    graphs of one size and degree, that refinement does not tell apart. A candidate set may look larger than it is, never smaller.
    """
    from tacit.evidence.attacks.graphs.loops import neighbourhood_colours

    return Candidates("neighbourhood", candidate_sizes(neighbourhood_colours(graph.offsets, graph.targets, detail or ROUNDS)))


def by_hubs(graph: Graph, detail: int | None, seed: int) -> Candidates:
    """People at the same distances, up to REACH, from the people with the most contacts, who are easily found themselves."""
    from tacit.evidence.attacks.graphs.loops import distances

    hubs = np.argsort(-graph.degrees, kind="stable")[: detail or HUBS]
    rows = np.stack([distances(graph.offsets, graph.targets, int(hub), REACH) for hub in hubs], axis=1).astype(np.int8)
    _, colours = np.unique(rows, axis=0, return_inverse=True)
    return Candidates(f"distances to {len(hubs)} hubs", candidate_sizes(colours.reshape(-1).astype(np.uint64)))


def by_edges(graph: Graph, detail: int | None, seed: int) -> Candidates:
    """People around whom some known edges fit: grown at random from each person of a sample, links that are missing not known."""
    from tacit.evidence.attacks.graphs.loops import count_containing

    rng, many = np.random.default_rng([seed, 6]), detail or 10
    linked = np.flatnonzero(graph.degrees)
    people = rng.choice(linked, min(SAMPLE, len(linked)), replace=False).tolist()
    patterns = [grow_pattern(graph, person, many, rng) for person in people]
    sizes = [count_containing(graph.offsets, graph.targets, pattern, parents, STEPS) for pattern, parents in patterns]
    return Candidates(f"{many} edges around a person", np.array(sizes, dtype=np.int64))


def grow_pattern(graph: Graph, person: int, edges: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """A pattern of `edges` edges around a person, who comes first, and for each later node an earlier one that it is linked to."""
    chosen, parents, edges_known = [person], [-1], set[tuple[int, int]]()
    for _ in range(20 * edges):
        if len(edges_known) == edges:
            break
        place = int(rng.integers(len(chosen)))
        other = int(rng.choice(graph.neighbours(chosen[place])))
        if other not in chosen:
            chosen.append(other)
            parents.append(place)
        there = chosen.index(other)
        edges_known.add((min(place, there), max(place, there)))
    pattern = np.zeros((len(chosen), len(chosen)), dtype=np.bool_)
    for one, two in edges_known:
        pattern[one, two] = pattern[two, one] = True
    return pattern, np.array(parents, dtype=np.int64)


KNOWLEDGE: dict[str, Callable[[Graph, int | None, int], Candidates]] = {
    "degree": by_degree,
    "neighbours": by_neighbours,
    "refine": by_refinement,
    "neighbourhood": by_neighbourhood,
    "hubs": by_hubs,
    "subgraph": by_edges,
}
DETAILED = {"refine": "rounds", "hubs": "hubs", "subgraph": "edges"}  # the meaning of a number after the knowledge
MOST_DETAIL = 100


def re_identify(graph: Graph, knowledge: list[str], seed: int = 0) -> ReIdentification:
    """The candidates under each kind of knowledge, such as `degree`, `neighbours`, `refine:3`, `subgraph:20`.

    >>> star = Graph.of_edges([0, 0, 0], [1, 2, 3], nodes=4)
    >>> re_identify(star, ["degree"]).found[0].alone
    1
    """
    return ReIdentification(graph.nodes, graph.edges, tuple(_candidates_by(graph, each, seed) for each in knowledge))


def _candidates_by(graph: Graph, text: str, seed: int) -> Candidates:
    name, _, detail = text.partition(":")
    number = int(detail) if detail.isascii() and detail.isdigit() and len(detail) < 4 else None
    wrong = detail and (name not in DETAILED or number is None or not 1 <= number <= MOST_DETAIL)
    if name not in KNOWLEDGE or wrong or text.endswith(":"):
        forms = ", ".join(f"{each}[:{DETAILED[each].upper()}]" if each in DETAILED else each for each in KNOWLEDGE)
        raise InvalidInput(f"unknown knowledge: expected one of {forms}, with a number from 1 to {MOST_DETAIL}")
    return KNOWLEDGE[name](graph, number, seed)
