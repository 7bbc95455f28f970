"""Recursive bisection: groups of the right sizes, and of nodes that share neighbours."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.supernodes import bisection
from tacit.publish.graphs.supernodes.blocks import blocks_of
from tacit.publish.graphs.supernodes.start import by_degree


@settings(max_examples=40)
@given(st.integers(1, 60), st.integers(2, 9), st.integers(0, 120), st.integers(0, 2**32 - 1))
def test_groups_hold_k_and_fewer_than_2k_and_every_node_has_one(nodes, k, edges, seed):
    ends = np.random.default_rng(seed).integers(0, nodes, (2, edges))
    groups = bisection.bisect(Graph.of_edges(*ends, nodes=nodes), k)
    sizes = np.bincount(groups)
    assert (len(groups), len(sizes)) == (nodes, max(nodes // k, 1))
    assert sizes.min() >= min(k, nodes)
    assert sizes.max() < 2 * k


def planted(seed):
    """20 groups of 10 nodes, each of which is linked to some of the nodes of one other group."""
    generator = np.random.default_rng(seed)
    owner = generator.permutation(200) % 20
    left = generator.integers(0, 200, 1200)
    right = [generator.choice(np.flatnonzero(owner == (owner[node] ^ 1))) for node in left]
    return Graph.of_edges(left, right, nodes=200), owner


def test_nodes_that_share_neighbours_come_together():
    for seed in range(3):
        graph, owner = planted(seed)
        found = blocks_of(graph, bisection.bisect(graph, 10)).log_worlds
        best, similar = (blocks_of(graph, groups).log_worlds for groups in (owner, by_degree(graph, 10)))
        assert best <= found < best + 0.25 * (similar - best)


def test_without_gains_nothing_comes_together(monkeypatch):
    real = bisection._gains
    monkeypatch.setattr(bisection, "_gains", lambda *terms: 0 * real(*terms))
    graph, owner = planted(0)
    best, similar = (blocks_of(graph, groups).log_worlds for groups in (owner, by_degree(graph, 10)))
    assert blocks_of(graph, bisection.bisect(graph, 10)).log_worlds > best + 0.9 * (similar - best)
