"""The start of a search: nodes with the same neighbours are in groups of their own, which the search leaves as they are."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.supernodes import search, state
from tacit.publish.graphs.supernodes.blocks import blocks_of
from tacit.publish.graphs.supernodes.start import best_start, by_degree, kinds, settle


def with_leaves(seed=0, leaves=23):
    """30 linked nodes, of which the first three have so many leaves each."""
    generator, hubs = np.random.default_rng(seed), np.repeat(np.arange(3), leaves)
    left, right = generator.integers(0, 30, (2, 120))
    return Graph.of_edges([*left, *hubs], [*right, *range(30, 30 + len(hubs))], nodes=30 + len(hubs))


@settings(max_examples=40)
@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30))
def test_a_kind_is_a_set_of_neighbours(nodes, pairs):
    ends = [(one % nodes, two % nodes) for one, two in pairs]
    graph = Graph.of_edges([one for one, _ in ends], [two for _, two in ends], nodes=nodes)
    rows = [tuple(graph.targets[graph.offsets[node] : graph.offsets[node + 1]]) for node in range(nodes)]
    found = kinds(graph)
    assert all((found[one] == found[two]) == (rows[one] == rows[two]) for one in range(nodes) for two in range(nodes))


def test_leaves_of_a_hub_are_settled_as_far_as_they_fill_groups():
    graph = with_leaves()
    (groups, first), kind = settle(graph, 5), kinds(graph)
    whole = [np.flatnonzero(groups == group) for group in range(first, int(groups.max()) + 1)]
    assert [len(members) for members in whole] == [5] * 12
    assert all(len(set(kind[members])) == 1 for members in whole)
    assert np.bincount(groups).min() >= 5


def test_the_start_is_the_better_of_both():
    graph = with_leaves()
    either = [blocks_of(graph, groups).log_worlds for groups in (by_degree(graph, 5), settle(graph, 5)[0])]
    assert best_start(graph, 5).log_worlds == min(either)


def test_the_search_leaves_settled_groups_alone():
    graph = with_leaves()
    groups, first = settle(graph, 5)
    held = state.state_of(graph, groups, 15, int(groups.max()) + 1, first)
    _, accepted, _ = search.run_batch(held, np.array([7], np.uint64), 5_000, 5, 10.0)
    whole = groups >= first
    assert accepted > 0
    assert held.group[whole].tolist() == groups[whole].tolist()
    assert (held.group[~whole] < first).all()


def test_where_all_nodes_are_alike_none_is_settled():
    bipartite = Graph.of_edges(np.repeat(np.arange(6), 6), np.tile(np.arange(6, 12), 6), nodes=12)
    groups, first = settle(bipartite, 3)
    assert first == int(groups.max()) + 1
    assert np.bincount(groups).min() >= 3
