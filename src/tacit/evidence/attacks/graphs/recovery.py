"""Finding a planted pattern, or a coalition, in a graph without names; then its neighbours; then the edges between those.

The search walks down the tree of partial matches: a node continues a match if it is linked to the accounts before it exactly as
the plan says, and if its degree is right. In a graph of N nodes the tree has N 2^O((log log N)^2) nodes on average (Backstrom,
Dwork and Kleinberg 2007), so that a graph of millions is searched in a fraction of a second.

A publisher who changes the graph breaks an exact search. `Tolerance` lets a number of links and degrees be wrong, and takes the
match with the fewest differences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from time import perf_counter, process_time

import numpy as np

from tacit.errors import InvalidInput
from tacit.evidence.attacks.graphs.planting import Pattern, Plan
from tacit.publish.graphs.graph import Graph, Integers

LEAVES = 16  # matches kept; two already mean that the attacker does not know which is theirs
MOST_TREE_NODES = 50_000_000  # after these a search gives up; an exact search needs a fraction of them


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The differences allowed in the published graph: in the degree of every account, and in the number of links in total."""

    degree: int = 0
    links: int = 0

    def __post_init__(self) -> None:
        if self.degree < 0 or self.links < 0:
            raise InvalidInput("a tolerance must be 0 or more")


EXACT = Tolerance()


@dataclass(frozen=True, slots=True, eq=False)
class Recovery:
    """The result of the search: the best matches, account by account, how many tree nodes it visited, and how long it took."""

    matches: Integers
    cost: int
    tree: int
    ended: bool
    seconds: float = field(compare=False)
    processor: float = field(compare=False)

    @property
    def unique(self) -> bool:
        """Whether exactly one match was found, and the search went through all others."""
        return self.ended and len(self.matches) == 1


def parents_of(internal: Pattern) -> Integers:
    """For every account the earlier accounts that it is linked to, the latest first; -1 behind them."""
    parents = np.full(internal.shape, -1, dtype=np.int64)
    for account, row in enumerate(internal):
        earlier = np.flatnonzero(row[:account])[::-1]
        if account and not len(earlier):
            raise InvalidInput("every account must be linked to an earlier one: order them along a spanning tree")
        parents[account, : len(earlier)] = earlier
    return parents


def recover(graph: Graph, internal: Pattern, degrees: Integers, tolerance: Tolerance = EXACT, keep: int = LEAVES) -> Recovery:
    """The places where the pattern fits best in a published graph, at most `keep` of them.

    >>> graph = Graph.of_edges([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], nodes=5)
    >>> recover(graph, np.array([[0, 1], [1, 0]], dtype=bool), np.array([3, 2])).matches.tolist()
    [[2, 0], [2, 1], [2, 3]]
    """
    from tacit.evidence.attacks.graphs.loops import search

    leaves = np.empty((keep, len(internal)), dtype=np.int64)
    slack = np.array([tolerance.degree, tolerance.links], dtype=np.int64)
    wanted, pattern = np.array(degrees, dtype=np.int64), np.array(internal, dtype=np.bool_)
    parents, started, used = parents_of(pattern), perf_counter(), process_time()
    count, cost, tree, ended = search(graph.offsets, graph.targets, wanted, pattern, parents, slack, leaves, MOST_TREE_NODES)
    return Recovery(leaves[:count], int(cost), int(tree), bool(ended), perf_counter() - started, process_time() - used)


def warm_up() -> None:
    """Loads the compiled search, so that a measured one does not wait for it."""
    graph = Graph.of_edges([0], [1], nodes=2)
    recover(graph, np.array([[False, True], [True, False]]), np.array([1, 1]))


def linked_subsets(graph: Graph, accounts: Integers) -> dict[int, tuple[int, ...]]:
    """For every neighbour of the accounts, themselves excluded, the places of the accounts that it is linked to."""
    places_of: dict[int, tuple[int, ...]] = {}
    for place, account in enumerate(accounts):
        for other in graph.neighbours(int(account)).tolist():
            places_of[other] = (*places_of.get(other, ()), place)
    return {other: places for other, places in places_of.items() if other not in set(accounts.tolist())}


def read_targets(graph: Graph, plan: Plan, accounts: Integers, tolerance: Tolerance = EXACT) -> tuple[int | None, ...]:
    """The node of every target: the only one that is linked to exactly its accounts, else None.

    With a tolerance for links, the only one that comes nearest, if at most one link is wrong.
    """
    linked = linked_subsets(graph, accounts)
    holders: dict[tuple[int, ...], list[int]] = {}
    for other, places in linked.items():
        holders.setdefault(places, []).append(other)
    return tuple(_holder(subset, holders, 1 if tolerance.links else 0) for subset in plan.subsets)


def _holder(subset: tuple[int, ...], holders: dict[tuple[int, ...], list[int]], most: int) -> int | None:
    exact = holders.get(subset, [])
    if len(exact) == 1 or most == 0:
        return exact[0] if len(exact) == 1 else None
    near = [
        other
        for places, others in holders.items()
        if len(places) > 1 and len(set(places) ^ set(subset)) <= most
        for other in others
    ]
    return near[0] if len(near) == 1 else None


def edges_between(graph: Graph, nodes: tuple[int | None, ...]) -> set[tuple[int, int]]:
    """The pairs of places, both with a node, whose nodes are linked."""
    present = [(place, node) for place, node in enumerate(nodes) if node is not None]
    return {(one, two) for (one, left), (two, right) in combinations(present, 2) if graph.has_edge(left, right)}
