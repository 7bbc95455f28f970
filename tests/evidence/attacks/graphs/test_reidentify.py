"""Candidates under each kind of knowledge: on graphs that can be counted by hand, and against networkx."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest

from small_graphs import random_graph
from tacit.errors import InvalidInput
from tacit.evidence.attacks.graphs import reidentify
from tacit.evidence.attacks.graphs.collusion import email_graph
from tacit.evidence.attacks.graphs.planting import relabel
from tacit.evidence.attacks.graphs.reidentify import KNOWLEDGE, grow_pattern, re_identify
from tacit.publish.graphs.graph import Graph

EXACT = ("degree", "neighbours", "refine:2", "refine", "neighbourhood", "hubs:3")


def sizes(graph: Graph, knowledge: str) -> list[int]:
    return re_identify(graph, [knowledge]).found[0].sizes.tolist()


def test_the_email_graph_by_hand():
    graph, _ = email_graph()  # degrees 3 4 5 2 4 2 2
    assert sizes(graph, "degree") == [1, 2, 1, 3, 2, 3, 3]
    assert sizes(graph, "neighbours") == [1, 1, 1, 3, 1, 3, 3]  # Diane, Fred and Grace have neighbours of degrees 4 and 5
    assert sizes(graph, "refine") == [1, 1, 1, 1, 1, 2, 2]
    assert sizes(graph, "hubs:1") == [4 + 1, 5, 1, 5, 1, 5, 5]  # only Ed is not a contact of Cathy


@pytest.mark.parametrize("seed", range(8))
def test_neighbourhoods_are_classed_as_by_isomorphism(seed):
    graph = random_graph(14, 0.45, seed)
    whole = nx.Graph(list(zip(*map(list, graph.ends()), strict=True)))
    whole.add_nodes_from(range(14))
    around = [whole.subgraph(whole.neighbors(node)) for node in range(14)]
    expected = [sum(nx.is_isomorphic(one, two) for two in around) for one in around]
    assert sizes(graph, "neighbourhood") == expected


@pytest.mark.parametrize("knowledge", EXACT)
def test_candidates_do_not_depend_on_labels(knowledge):
    graph = random_graph(60, 0.1, 3)
    if knowledge.startswith("hubs"):
        graph = Graph.of_edges(np.zeros(9, int), np.arange(1, 10), 12)  # one hub, so that no tie is broken by a label
        knowledge = "hubs:1"
    assert sorted(sizes(graph, knowledge)) == sorted(sizes(relabel(graph, 5).graph, knowledge))


def fits(graph: Graph, pattern: np.ndarray, root: int) -> bool:
    others = [node for node in range(graph.nodes) if node != root]
    ways = ((root, *rest) for rest in permutations(others, len(pattern) - 1))
    return any(all(graph.has_edge(way[one], way[two]) for one, two in np.argwhere(np.triu(pattern))) for way in ways)


@pytest.mark.parametrize("seed", range(6))
def test_known_edges_fit_where_some_placement_has_them(seed):
    from tacit.evidence.attacks.graphs.loops import count_containing

    graph, rng = random_graph(7, 0.4, seed), np.random.default_rng(seed)
    person = int(np.flatnonzero(graph.degrees)[0])
    pattern, parents = grow_pattern(graph, person, 4, rng)
    found = count_containing(graph.offsets, graph.targets, pattern, parents, 10**6)
    assert found == sum(fits(graph, pattern, node) for node in range(7))
    assert fits(graph, pattern, person)
    assert count_containing(graph.offsets, graph.targets, pattern, parents, 0) >= found  # a search that is stopped never excludes


def test_known_edges_are_sought_for_a_sample(monkeypatch):
    monkeypatch.setattr(reidentify, "SAMPLE", 5)
    found = re_identify(random_graph(40, 0.1, 1), ["subgraph:6"])
    assert len(found.found[0].sizes) == 5
    assert found.found[0].smallest >= 1
    assert "a sample of 5" in found.summary()


def test_the_chart_and_the_json_have_every_kind(tmp_path):
    found = re_identify(random_graph(40, 0.1, 1), ["degree", "neighbours"])
    found.chart(str(tmp_path / "out.svg"))
    assert [each["knowledge"] for each in found.to_dict()["knowledge"]] == ["degree", "neighbours' degrees"]
    assert (tmp_path / "out.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("text", ["age", "degree:2", "refine:0", "refine:x", "refine:1000", "refine:", ""])
def test_unknown_knowledge_is_refused(text):
    with pytest.raises(InvalidInput, match="unknown knowledge"):
        re_identify(random_graph(5, 0.5, 1), [text])
    assert "degree" in KNOWLEDGE
