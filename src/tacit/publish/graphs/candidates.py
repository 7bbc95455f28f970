"""The candidates for a person in a published graph, for an attacker who knows some of the structure around that person.

Knowledge H1 is the degree, H2 adds the degrees of the neighbours, and H(i + 1) adds H(i) of every neighbour (Hay et al. 2008). It
is colour refinement: two nodes have one colour in round i exactly if H(i) does not tell them apart, and the candidates of a node
are all nodes of its colour. A colour is a 64-bit hash of the one before and of the sum of the neighbours' hashes, so that equal
structure has equal colours in every graph. Two of n different structures share a colour with probability about n^2 / 2^65: less
than one in ten million at a million nodes. A collision makes a candidate set look larger, never smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.publish.graphs.graph import Graph, Integers

Colours = NDArray[np.uint64]
BINS = (("1", 1, 1), ("2-4", 2, 4), ("5-10", 5, 10), ("11-20", 11, 20), (">20", 21, 2**62))
WORDS = {
    "H1": "degree",
    "H2": "and the neighbours' degrees",
    "H3": "and their neighbours' degrees",
    "H*": "all structure around the person",
    "N": "which contacts know each other",
}
MOST_ROUNDS = 100  # a long path would take a round for every second node


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidate sets under one kind of knowledge: for every node, the number of nodes that look the same."""

    knowledge: str
    sizes: Integers

    @property
    def alone(self) -> int:
        """How many nodes this knowledge singles out."""
        return int((self.sizes == 1).sum())

    @property
    def smallest(self) -> int:
        """The smallest candidate set; 0 in a graph without nodes."""
        return int(self.sizes.min()) if len(self.sizes) else 0

    def histogram(self) -> dict[str, int]:
        """Nodes by the size of their candidate set, in the bins 1, 2-4, 5-10, 11-20 and >20."""
        return {name: int(((self.sizes >= low) & (self.sizes <= high)).sum()) for name, low, high in BINS}

    def to_dict(self) -> dict[str, Any]:
        """As it stands in JSON."""
        return {"knowledge": self.knowledge, "alone": self.alone, "smallest": self.smallest, "nodes": self.histogram()}


def candidate_sizes(colours: Colours) -> Integers:
    """For every node, how many nodes have its colour.

    >>> candidate_sizes(np.array([7, 9, 7], dtype=np.uint64)).tolist()
    [2, 1, 2]
    """
    _, place, sizes = np.unique(colours, return_inverse=True, return_counts=True)
    return sizes[place].astype(np.int64)


def colours_of(graph: Graph, rounds: int) -> Colours:
    """The colour of every node after the given number of rounds: the degree after round 1, with the neighbours' degrees after round
    2.
    """
    from tacit.publish.graphs.refining import first, refine

    colours: Colours = first(graph.offsets)
    for _ in range(rounds - 1):
        colours = refine(graph.offsets, graph.targets, colours)
    return colours


def rounds_of(graph: Graph, most: int = MOST_ROUNDS) -> Iterator[Colours]:
    """The colours of round 1, 2, ... as long as a round tells more nodes apart than the one before, at most `most` of them."""
    from tacit.publish.graphs.refining import first, refine

    colours, previous = first(graph.offsets), -1
    for _ in range(most):
        distinct = len(np.unique(colours))
        if distinct == previous:
            return
        yield colours
        colours, previous = refine(graph.offsets, graph.targets, colours), distinct


def fixed_point(graph: Graph, most: int = MOST_ROUNDS) -> tuple[Colours, int]:
    """The colours that no further round divides, and the rounds that they took; `most` rounds mean that there may be more."""
    rounds, colours = 0, colours_of(graph, 1)
    for rounds, colours in enumerate(rounds_of(graph, most), 1):  # noqa: B007  # the last one counts
        pass
    return colours, rounds


def candidates(graph: Graph, most: int = MOST_ROUNDS) -> list[Candidates]:
    """Candidate sets for the degree, the neighbours' degrees, the round after that and the fixed point.

    >>> path = Graph.of_edges([0, 1, 2], [1, 2, 3], nodes=4)
    >>> [(each.knowledge, each.histogram()["2-4"]) for each in candidates(path)]
    [('H1', 4), ('H2', 4), ('H3', 4), ('H*', 4)]
    """
    levels: list[Candidates] = []
    colours = colours_of(graph, 1)
    for count, colours in enumerate(rounds_of(graph, most), 1):
        if count <= 3:
            levels.append(Candidates(f"H{count}", candidate_sizes(colours)))
    while len(levels) < 3:  # the fixed point came before
        levels.append(Candidates(f"H{len(levels) + 1}", candidate_sizes(colours)))
    return [*levels, Candidates("H*", candidate_sizes(colours))]
