"""The whole growth of a graph, with limits: it ends with everybody in a class of k, or is refused with numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tacit.errors import InvalidInput
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.neighbourhoods.anonymize import Growth
from tacit.publish.graphs.neighbourhoods.classes import MOST, Classes

GROWTH = 3  # times as many edges may be added as there are edges and people, and half of all that are missing; a growth beyond
# that rarely ends before everybody is linked to everybody
FEWER = "protect fewer people with --only, publish a smaller graph, choose a smaller k"
REMEDY = f"{FEWER}, raise --max-neighbourhood, or use --method k-degree"


class TooDense(InvalidInput):
    """A graph in which neighbourhoods are too large, or grow without end."""


def grown(
    graph: Graph,
    k: int,
    only: Collection[int] | None = None,
    labels: Sequence[int] | None = None,
    most: int = MOST,
    told: Callable[[float], None] | None = None,
) -> Growth:
    """The growth until everybody (or everybody in `only`) is in a class of at least k.

    A graph whose people all fit into one neighbourhood is never refused: where too many edges were added, all others are as well.

    >>> grown(Graph.of_edges([0, 1], [1, 2], nodes=4), k=2).classes.added
    [(3, 0), (3, 2)]
    """
    if k < 1:
        raise InvalidInput("k must be at least 1")
    if graph.nodes < k:
        raise InvalidInput(
            f"k must be at most the number of people: k is {k:,} and the graph has {graph.nodes:,}; choose a smaller k"
        )
    growth = Growth(Classes(graph, labels, most), k, only)
    _check_parts(growth)
    first, room = max(len(growth.waiting()), 1), graph.nodes * (graph.nodes - 1) // 2 - graph.edges
    limit = min(GROWTH * (graph.edges + graph.nodes), room // 2)
    while (seed := growth.largest()) is not None:
        if len(growth.classes.added) > limit:
            if graph.nodes > most + 1:
                raise _endless(growth, graph)
            growth.complete()
            break
        growth.round(seed)
        _check_parts(growth)
        if told is not None:
            told(max(0.0, 1 - len(growth.waiting()) / first))
    return growth


def _check_parts(growth: Growth) -> None:
    """Refuse neighbourhoods with a part that is too large to have a code."""
    classes = growth.classes
    large = [person for person in growth.waiting() if classes.too_large(person)] if any(key[0] < 0 for key in growth.open) else []
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
        f"{len(growth.waiting()):,} people still lack others who look like them, and the largest neighbourhood has {largest:,} "
        f"people; {REMEDY}"
    )
