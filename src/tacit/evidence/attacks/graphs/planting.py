"""From the attacker's plan to the published graph: accounts are added, noise may be, and the names are taken off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.errors import InvalidInput
from tacit.evidence.attacks.graphs.pattern import Plan
from tacit.publish.graphs.graph import MOST_NODES, Graph, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """A graph under random labels; `label_of[v]` is the label of node v, which only the publisher knows."""

    graph: Graph
    label_of: Integers


def plant(graph: Graph, plan: Plan) -> Graph:
    """The graph with the accounts behind its nodes: account i is node `graph.nodes + i`.

    An account has a larger number than every person, so that its links stand at the ends of people's rows: the rows in between are
    copied as they are, and a plan costs one copy of the graph whatever its size.
    """
    people, accounts = graph.nodes, plan.accounts
    if people + accounts > MOST_NODES:
        raise InvalidInput(f"a graph has at most {MOST_NODES:,} nodes, accounts included")
    pairs = [(int(person), account) for person, subset in zip(plan.targets, plan.subsets, strict=True) for account in subset]
    pairs += [(person, account) for account, row in enumerate(plan.strangers) for person in row]
    linked = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    rows: list[np.ndarray] = []
    before = 0
    for person, account in linked:
        end = int(graph.offsets[person + 1])
        rows += [graph.targets[before:end], np.array([people + account], dtype=np.int32)]
        before = end
    rows.append(graph.targets[before:])
    for account in range(accounts):
        inside = people + np.flatnonzero(plan.internal[account])
        rows.append(np.concatenate([linked[linked[:, 1] == account, 0], inside]).astype(np.int32))
    added = np.bincount(linked[:, 0], minlength=people)
    degrees = np.concatenate([graph.degrees + added, plan.degrees])
    return Graph(np.concatenate([[0], np.cumsum(degrees)]), np.concatenate(rows))


def relabel(graph: Graph, seed: int = 0) -> Published:
    """Naive anonymization: the same graph, its nodes in random order.

    >>> path = Graph.of_edges([0, 1], [1, 2], nodes=3)
    >>> published = relabel(path, seed=3)
    >>> sorted(published.graph.degrees.tolist()), published.graph.has_edge(*published.label_of[:2].tolist())
    ([1, 1, 2], True)
    """
    from tacit.evidence.attacks.graphs.row_loops import relabelled

    node_of = np.random.default_rng([seed, 3]).permutation(graph.nodes)
    label_of = np.empty_like(node_of)
    label_of[node_of] = np.arange(graph.nodes)
    return Published(Graph(*relabelled(graph.offsets, graph.targets, label_of, node_of)), label_of)


def disturb(graph: Graph, share: float, seed: int = 0) -> Graph:
    """The graph with a share of its edges removed at random, and as many random edges added.

    >>> graph = Graph.of_edges([0, 1, 2, 3], [1, 2, 3, 4], nodes=100)
    >>> disturb(graph, 0.5).edges
    4
    """
    from tacit.publish.graphs.rows import built

    if not 0 <= share <= 1:
        raise InvalidInput("the share of edges to change must be from 0 to 1")
    rng = np.random.default_rng([seed, 4])
    left, right = graph.ends()
    many = round(share * graph.edges)
    gone = rng.choice(graph.edges, many, replace=False)
    before = left * graph.nodes + right
    added = np.empty(0, dtype=np.int64)
    room = graph.nodes * (graph.nodes - 1) // 2 - graph.edges
    while len(added) < min(many, room):
        ends = np.sort(rng.integers(0, graph.nodes, (2 * many + 16, 2)), axis=1)
        drawn = ends[ends[:, 0] < ends[:, 1]] @ np.array([graph.nodes, 1])
        added = np.unique(np.concatenate([added, np.setdiff1d(drawn, before)]))
    pairs = np.concatenate([np.delete(before, gone), rng.permutation(added)[:many]])
    return built(*np.divmod(pairs, max(graph.nodes, 1)), graph.nodes).graph


def k_degree(graph: Graph, k: int, seed: int = 0) -> Graph:
    """The graph with edges added until at least k people share every degree, its nodes in the same order."""
    from tacit.publish.graphs.k_degree import supergraph

    return supergraph(graph, k, np.random.default_rng([seed, 8]))[0]


def k_neighbourhood(graph: Graph, k: int, seed: int = 0) -> Graph:
    """The graph with edges added until k people share every neighbourhood, its nodes in the same order; nothing is drawn.

    >>> k_neighbourhood(Graph.of_edges([0, 1], [1, 2], nodes=4), k=2).edges
    4
    """
    from tacit.publish.graphs.neighbourhoods.limits import addition

    added = addition(graph, k).edges
    left, right = graph.ends()
    return Graph.of_edges(np.concatenate([left, added[:, 0]]), np.concatenate([right, added[:, 1]]), graph.nodes)


def sized_groups(graph: Graph, k: int, seed: int = 0) -> Graph:
    """A graph with the numbers that a k-sized grouping publishes, drawn uniformly; each node stands in its own group.

    The publication itself has no nodes to search, so the attacker searches one of the equally likely graphs.

    >>> ring = Graph.of_edges([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0], nodes=6)
    >>> drawn = sized_groups(ring, k=3)
    >>> drawn.nodes, drawn.edges
    (6, 6)
    """
    from tacit.publish.graphs.supernodes.annealing import annealed
    from tacit.publish.graphs.supernodes.blocks import blocks_of
    from tacit.publish.graphs.supernodes.published import Supergraph, published
    from tacit.publish.graphs.supernodes.worlds import sampled

    if not 2 <= k <= max(graph.nodes, 2):
        raise InvalidInput(f"k must be from 2 to the number of nodes, not {k}")
    groups = annealed(graph, k, seed).groups
    published(graph, groups, k)  # checks the grouping
    world = sampled(Supergraph(blocks_of(graph, groups), k), seed)
    node_of = np.argsort(groups, kind="stable")  # a world numbers the nodes of the first group first
    left, right = world.ends()
    return Graph.of_edges(node_of[left], node_of[right], graph.nodes)
