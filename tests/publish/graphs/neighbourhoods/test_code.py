"""Canonical codes: equal exactly for isomorphic graphs, against networkx; and the checker's classes, by another road."""

import networkx as nx
import numpy as np
import pytest
from networkx.generators.atlas import graph_atlas_g

from tacit.errors import InvalidInput
from tacit.publish.graphs.neighbourhoods import checker, code
from tacit.publish.graphs.neighbourhoods.checker import class_sizes
from tacit.publish.graphs.neighbourhoods.code import component_of


def rows_of(graph, order=None):
    order = list(graph) if order is None else order
    place = {node: index for index, node in enumerate(order)}
    return [{place[other] for other in graph[node]} for node in order]


def shuffled(graph, random):
    return rows_of(graph, [list(graph)[index] for index in random.permutation(len(graph))])


def code_of(rows):
    return component_of(rows).code


def test_codes_of_all_connected_graphs_of_up_to_seven_nodes_differ_and_renaming_keeps_them():
    """The atlas has every graph of at most seven nodes once, so equal codes of two of them would be a mistake."""
    random, seen = np.random.default_rng(1), set()
    for graph in graph_atlas_g():
        if len(graph) and nx.is_connected(graph):
            found = component_of(rows_of(graph))
            assert found.code == code_of(shuffled(graph, random))
            assert nx.is_isomorphic(nx.Graph(found.edges) if found.edges else nx.empty_graph(1), graph)
            seen.add(found.code)
    assert len(seen) == 1 + 1 + 2 + 6 + 21 + 112 + 853


@pytest.mark.parametrize("seed", range(20))
def test_labelled_codes_are_equal_exactly_for_isomorphic_labelled_graphs(seed):
    random = np.random.default_rng(seed)
    graphs = []
    while len(graphs) < 12:
        graph = nx.gnp_random_graph(5, 0.55, seed=int(random.integers(1 << 30)))
        if nx.is_connected(graph):
            nx.set_node_attributes(graph, {node: int(random.integers(2)) for node in graph}, "label")
            graphs.append(graph)
    codes = [component_of(rows_of(each), [each.nodes[node]["label"] for node in each]).code for each in graphs]
    same = nx.algorithms.isomorphism.categorical_node_match("label", None)
    for one in range(12):
        for two in range(one):
            assert (codes[one] == codes[two]) == nx.is_isomorphic(graphs[one], graphs[two], node_match=same)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (nx.circular_ladder_graph(7), nx.circulant_graph(14, [1, 7])),  # prism and Moebius ladder: both cubic
        (nx.line_graph(nx.complete_bipartite_graph(4, 4)), None),  # the rook's graph, strongly regular (16, 6, 2, 2)
        (nx.petersen_graph(), nx.circular_ladder_graph(5)),
        (nx.hypercube_graph(4), nx.circulant_graph(16, [1, 4])),
        (nx.complete_multipartite_graph(8, 8, 8), nx.complete_multipartite_graph(7, 8, 9)),
    ],
)
def test_codes_of_symmetric_graphs(one, two):
    random = np.random.default_rng(2)
    assert code_of(shuffled(one, random)) == code_of(shuffled(one, random))
    assert two is None or (code_of(rows_of(one)) == code_of(rows_of(two))) == nx.is_isomorphic(one, two)


def shrikhande():
    steps = [(0, 1), (1, 0), (1, 1)]
    cells = [(row, column) for row in range(4) for column in range(4)]
    return nx.Graph(((r, c), ((r + dr) % 4, (c + dc) % 4)) for r, c in cells for dr, dc in steps)


def test_two_strongly_regular_graphs_with_equal_parameters_have_different_codes():
    """Colour refinement alone cannot tell the rook's graph from Shrikhande's."""
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    assert code_of(rows_of(rook)) != code_of(rows_of(shrikhande()))


def test_a_search_beyond_the_limit_is_refused_with_numbers(monkeypatch):
    monkeypatch.setattr(code, "MOST_STEPS", 3)
    with pytest.raises(InvalidInput, match="16 people with 48 edges"):
        code_of(rows_of(shrikhande()))


@pytest.mark.parametrize("seed", range(12))
def test_the_checkers_classes_are_those_of_networkx(seed):
    random = np.random.default_rng(seed)
    nodes = int(random.integers(6, 30))
    graph = nx.gnp_random_graph(nodes, float(random.uniform(0.1, 0.7)), seed=seed)
    labels = random.integers(2, size=nodes).tolist() if seed % 2 else [0] * nodes
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    around, same = [graph.subgraph(graph[node]) for node in graph], nx.algorithms.isomorphism.categorical_node_match("label", None)
    wanted = [
        sum(
            labels[one] == labels[two]
            and nx.faster_could_be_isomorphic(around[one], around[two])
            and nx.is_isomorphic(around[one], around[two], node_match=same)
            for two in graph
        )
        for one in graph
    ]
    ends = np.array(graph.edges()).reshape(-1, 2)
    assert class_sizes(ends[:, 0], ends[:, 1], nodes, labels).tolist() == wanted


def two_hubs():
    """Two people: the contacts of one form a prism of fourteen, of the other a Moebius ladder; all have three acquaintances."""
    parts = [nx.circular_ladder_graph(7), nx.circulant_graph(14, [1, 7])]
    for part in parts:
        part.add_edges_from([("hub", node) for node in list(part)])
    both = nx.convert_node_labels_to_integers(nx.disjoint_union(*parts))
    return both, [node for node in both if both.degree(node) == 14]


def test_the_checker_tells_apart_what_marks_do_not():
    both, hubs = two_hubs()
    sizes = class_sizes(*np.array(both.edges()).T, len(both))
    assert [sizes[node] for node in hubs] == [1, 1]


def test_a_comparison_beyond_the_limit_counts_as_a_difference(monkeypatch):
    """Two people whose contacts form a prism each: alike, but not to a search that may take no step."""
    prism = nx.circular_ladder_graph(7)
    prism.add_edges_from([("hub", node) for node in list(prism)])
    both = nx.convert_node_labels_to_integers(nx.disjoint_union(prism, prism))
    hubs = [node for node in both if both.degree(node) == 14]
    assert class_sizes(*np.array(both.edges()).T, len(both))[hubs].tolist() == [2, 2]
    monkeypatch.setattr(checker, "MOST_STEPS", 5)
    assert class_sizes(*np.array(both.edges()).T, len(both))[hubs].tolist() == [1, 1]


@pytest.mark.parametrize(
    "source",
    [
        nx.complement(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
        nx.complement(nx.cycle_graph(6)),
        nx.line_graph(nx.complete_bipartite_graph(5, 5)),
        nx.complete_multipartite_graph(4, 4, 4, 4),
        nx.complete_graph(60),
        nx.star_graph(40),
        nx.paley_graph(13).to_undirected(),
    ],
)
def test_the_checker_finds_isomorphisms_of_dense_and_symmetric_graphs(source):
    """The same graph around two people, with its nodes in another order, is found to be the same."""
    random, graph = np.random.default_rng(3), nx.Graph()
    names = list(source)
    for hub in (0, 1):
        order = dict(zip(names, (random.permutation(len(names)) + 2 + hub * len(names)).tolist(), strict=True))
        graph.add_edges_from((order[one], order[two]) for one, two in source.edges())
        graph.add_edges_from((hub, order[name]) for name in names)
    assert class_sizes(*np.array(graph.edges()).T, len(graph))[:2].min() >= 2
