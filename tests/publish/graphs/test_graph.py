"""Graphs in compressed rows, against plain sets of edges."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.graphs.graph import Graph

pairs = st.integers(1, 8).flatmap(
    lambda nodes: st.tuples(st.just(nodes), st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=30))
)


@given(pairs)
def test_rows_are_those_of_the_edges(given_pairs):
    nodes, written = given_pairs
    graph = Graph.of_edges([one for one, _ in written], [two for _, two in written], nodes)
    plain = networkx.Graph()
    plain.add_nodes_from(range(nodes))
    plain.add_edges_from((one, two) for one, two in written if one != two)
    assert (graph.nodes, graph.edges) == (plain.number_of_nodes(), plain.number_of_edges())
    assert [graph.neighbours(node).tolist() for node in range(nodes)] == [sorted(plain[node]) for node in range(nodes)]
    assert graph.degrees.tolist() == [plain.degree(node) for node in range(nodes)]
    assert all(graph.has_edge(one, two) == plain.has_edge(one, two) for one in range(nodes) for two in range(nodes))
    assert sorted(zip(*(side.tolist() for side in graph.ends()), strict=True)) == sorted(map(tuple, map(sorted, plain.edges)))
    again = Graph.of_edges(*graph.ends(), nodes)
    assert np.array_equal(again.targets, graph.targets)
    assert np.array_equal(again.offsets, graph.offsets)


@pytest.mark.parametrize(("left", "right", "nodes"), [([0], [1, 2], 3), ([0], [3], 3), ([-1], [0], 3), ([], [], 2**31)])
def test_edges_that_cannot_be_are_refused(left, right, nodes):
    with pytest.raises(InvalidInput):
        Graph.of_edges(left, right, nodes)


def test_no_node_and_no_edge():
    assert repr(Graph.of_edges([], [], 0)) == "Graph(nodes=0, edges=0)"
    assert Graph.of_edges([], [], 3).degrees.tolist() == [0, 0, 0]
