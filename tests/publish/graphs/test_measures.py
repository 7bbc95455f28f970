"""Measures of graphs against networkx and numpy."""

import networkx
import numpy as np
import pytest

from tacit.publish.graphs import measures
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.measures import Figures, degree_distance, largest_eigenvalue, measure, utility
from tacit.publish.graphs.network import network_of


def random_graph(seed: int, nodes: int = 40, edges: int = 90) -> Graph:
    random = np.random.default_rng(seed)
    return Graph.of_edges(random.integers(0, nodes, edges), random.integers(0, nodes, edges), nodes)


def plain(graph: Graph) -> networkx.Graph:
    made = networkx.empty_graph(graph.nodes)
    made.add_edges_from(zip(*graph.ends(), strict=True))
    return made


@pytest.mark.parametrize("seed", range(6))
def test_figures_are_those_of_networkx(seed):
    graph = random_graph(seed)
    other, everyone = plain(graph), np.arange(graph.nodes)
    found = measure(graph, everyone, everyone)
    lengths = [each for _, row in networkx.all_pairs_shortest_path_length(other) for each in row.values() if each]
    assert found.clustering == pytest.approx(networkx.average_clustering(other))
    assert found.path_length == pytest.approx(np.mean(lengths))
    assert found.reached == pytest.approx(len(lengths) / (graph.nodes * (graph.nodes - 1)))
    assert found.eigenvalue == pytest.approx(max(np.linalg.eigvalsh(networkx.to_numpy_array(other))), rel=1e-3)


def test_a_hub_is_looked_up_and_counted_all_the_same():
    star = networkx.star_graph(60)
    star.add_edges_from([(1, 2), (2, 3)])
    graph = network_of(star).graph
    assert measure(graph, np.arange(61), np.arange(61)).clustering == pytest.approx(networkx.average_clustering(star))


def test_a_bipartite_graph_does_not_swing():
    graph = network_of(networkx.complete_bipartite_graph(3, 12)).graph
    assert largest_eigenvalue(graph) == pytest.approx(6, rel=1e-5)


def test_changes_are_counted_from_the_edges():
    before = Graph.of_edges([0, 1, 2], [1, 2, 3], nodes=5)
    after = Graph.of_edges([0, 1, 0, 3], [1, 2, 2, 4], nodes=5)
    found = utility(before, after, np.random.default_rng(1))
    assert (found.edges_added, found.edges_deleted, found.edges_before) == (2, 1, 3)
    assert found.degree_distance == degree_distance(before, after) == pytest.approx(2 / 5)
    assert found.to_dict()["clustering"]["after"] == found.after.clustering > 0


def test_a_large_graph_is_sampled(monkeypatch):
    monkeypatch.setattr(measures, "ALL_NODES", 10)
    monkeypatch.setattr(measures, "SOME_NODES", 7)
    nodes, sources = measures.sample_nodes(random_graph(1), np.random.default_rng(1))
    assert len(nodes) == 7
    assert len(sources) == 40


def test_an_empty_graph_has_figures():
    none = Graph.of_edges([], [], nodes=0)
    assert utility(none, none, np.random.default_rng(1)).before == Figures(0.0, 0.0, 0.0, 0.0)
