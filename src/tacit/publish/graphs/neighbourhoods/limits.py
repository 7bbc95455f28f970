"""The edges to add to a graph, by growth within limits; beyond them, those that turn the graph onto itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.neighbourhoods.anonymize import Growth
from tacit.publish.graphs.neighbourhoods.classes import MOST, Classes
from tacit.publish.graphs.neighbourhoods.code import TooDense
from tacit.publish.graphs.neighbourhoods.rotating import Pairs, turn_edges

GROWTH = 3  # times as many edges may be added as there are edges and people, and half of all that are missing; a growth beyond
# beyond it, growth rarely ends before the graph is complete
FEWER = "protect fewer people with --only, publish a smaller graph, choose a smaller k"
REMEDY = f"{FEWER}, raise --max-neighbourhood, or use --method k-degree"


Told: TypeAlias = Callable[[float], None] | None


@dataclass(frozen=True, slots=True, eq=False)
class Addition:
    """The edges to add; the rounds of growth, or None if the graph had to be turned; and which of the given labels match."""

    edges: Pairs
    rounds: int | None
    level: int


def addition(
    graph: Graph,
    k: int,
    only: Collection[int] | None = None,
    levels: Sequence[Sequence[int] | None] = (None,),
    most: int = MOST,
    told: Told = None,
) -> Addition:
    """The edges that put each person (or each in `only`) into a class of at least k; there is an answer for every graph.

    `levels` are the labels from the finest to the coarsest. The finest that allow growth are used; if none do, the finest of all.

    >>> addition(Graph.of_edges([0, 1], [1, 2], nodes=4), k=2).edges.tolist()
    [[3, 0], [3, 2]]
    """
    for level, labels in enumerate(levels):
        try:
            growth = grow(graph, k, only, labels, most, told)
            return Addition(np.array(growth.classes.added, dtype=np.int64).reshape(-1, 2), growth.rounds, level)
        except TooDense:
            continue  # people with coarser labels are alike more often
    return Addition(turn_edges(graph, k, levels[0]), None, 0)


def grow(
    graph: Graph,
    k: int,
    only: Collection[int] | None = None,
    labels: Sequence[int] | None = None,
    most: int = MOST,
    told: Told = None,
) -> Growth:
    """The growth until each person (or each in `only`) is in a class of at least k. Raises TooDense beyond the limits.

    >>> grow(Graph.of_edges([0, 1], [1, 2], nodes=4), k=2).classes.added
    [(3, 0), (3, 2)]
    """
    if k < 1:
        raise InvalidInput("k must be at least 1", argument="k")
    if graph.nodes < k:
        raise InvalidInput(
            f"k must be at most the number of people: k is {k:,} and the graph has {graph.nodes:,}; choose a smaller k",
            argument="k",
        )
    growth = Growth(Classes(graph, labels, most), k, only)
    _check_parts(growth)
    first, room = max(len(growth.people_waiting()), 1), graph.nodes * (graph.nodes - 1) // 2 - graph.edges
    limit = min(GROWTH * (graph.edges + graph.nodes), room // 2)
    while (seed := growth.largest()) is not None:
        if len(growth.classes.added) > limit:
            raise _endless(growth, graph)
        growth.round(seed)
        _check_parts(growth)
        if told is not None:
            told(max(0.0, 1 - len(growth.people_waiting()) / first))
    return growth


def _check_parts(growth: Growth) -> None:
    """Refuse neighbourhoods with a part that is too large to have a code."""
    classes = growth.classes
    large = (
        [person for person in growth.people_waiting() if classes.too_large(person)]
        if any(key[0] < 0 for key in growth.open)
        else []
    )
    if large:
        sizes = [max(map(len, classes.components(person))) for person in large]
        when = f" after {len(classes.added):,} edges were added" if classes.added else ""
        raise TooDense(
            f"the graph is too dense{when}: {max(sizes):,} contacts of one person are connected with each other, the limit is "
            f"{classes.most:,}, and {len(large):,} of the people to protect are above it; {REMEDY}"
        )


def _endless(growth: Growth, graph: Graph) -> TooDense:
    added = len(growth.classes.added)
    largest = max(map(len, growth.classes.rows))
    return TooDense(
        f"the graph is too dense for k = {growth.k:,}: after {added:,} edges were added to {graph.edges:,}, "
        f"{len(growth.people_waiting()):,} people still lack others who look like them, and the largest neighbourhood has "
        f"{largest:,} people; {REMEDY}"
    )
