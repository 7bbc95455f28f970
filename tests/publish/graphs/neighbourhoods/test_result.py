"""What is published by k-neighbourhood anonymity: the claim, the people chosen, labels, and what is left to find."""

import json

import networkx as nx
import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.graphs import check_k_neighbourhood, k_neighbourhood
from tacit.publish.graphs.graph import Graph
from tacit.publish.tables.hierarchy import Hierarchy


def ring(nodes=40):
    """A ring with a few hubs."""
    graph = nx.cycle_graph(nodes)
    graph.add_edges_from([(0, 5), (0, 9), (0, 14), (3, 20), (3, 30)])
    return graph


@pytest.mark.parametrize("k", [0, 41])
def test_a_k_that_cannot_be_met_is_refused(k):
    with pytest.raises(InvalidInput, match="k must be"):
        k_neighbourhood(ring(), k)


def test_people_who_are_not_in_the_graph_are_refused():
    with pytest.raises(InvalidInput, match="1 of the 2 people"):
        k_neighbourhood(ring(), 2, only=["0", "nobody"])
    with pytest.raises(InvalidInput, match="empty"):
        k_neighbourhood(ring(), 2, only=[])


def test_the_result_says_what_it_is_and_who_can_still_be_found():
    shown = list[tuple[str, float]]()
    made = k_neighbourhood(ring(), 3, seed=1, told=lambda what, share: shown.append((what, share)))
    again = k_neighbourhood(ring(), 3, seed=1)
    assert made.graph.targets.tolist() == again.graph.targets.tolist()
    assert (made.candidates[-1].knowledge, made.candidates[-1].smallest >= 3, made.before[-1].alone > 0) == ("N", True, True)
    told = made.to_dict()
    assert (told["differentially_private"], told["method"], told["work"]["people_protected"]) == (False, "k-neighbourhood", 40)
    assert "which contacts know each other" in made.page()
    assert shown[0][0] == "adding edges"
    assert [share for _, share in shown] == sorted(share for _, share in shown)


def test_labels_are_published_at_the_lowest_level_that_has_k_people(tmp_path):
    jobs = {str(node): ("nurse", "doctor", "cook", "driver")[node % 4] for node in range(40)}
    jobs["39"] = "pilot"
    rows = [
        ("nurse", "care", "*"),
        ("doctor", "care", "*"),
        ("cook", "other", "*"),
        ("driver", "other", "*"),
        ("pilot", "other", "*"),
    ]
    made = k_neighbourhood(ring(), 2, labels=jobs, hierarchy=Hierarchy.of("job", rows), seed=1)
    assert made.labels is not None
    assert (made.work["label_level"], set(made.labels)) == (1, {"care", "other"})
    codes = [("care", "other").index(label) for label in made.labels]
    check_k_neighbourhood(*made.graph.ends(), 40, 2, labels=codes)
    made.save(tmp_path / "edges.tsv")
    assert json.loads((tmp_path / "edges.tsv.labels.json").read_text())["labels"] == list(made.labels)
    assert "connected and labelled like" in made.claim


def test_labels_without_a_hierarchy_are_published_or_not_at_all():
    kept = k_neighbourhood(ring(), 2, labels={node: "ab"[node % 2] for node in range(40)}, seed=1)
    assert set(kept.labels) == {"a", "b"}
    gone = k_neighbourhood(ring(), 2, labels={node: "b" if node else "a" for node in range(40)}, seed=1)
    assert set(gone.labels) == {"*"}


def test_labels_that_are_missing_or_unknown_are_refused():
    with pytest.raises(InvalidInput, match="39 of the 40 people"):
        k_neighbourhood(ring(), 2, labels={"0": "a"})
    with pytest.raises(InvalidInput, match="not in the hierarchy"):
        k_neighbourhood(ring(), 2, labels=dict.fromkeys(range(40), "a"), hierarchy=Hierarchy.of("job", [("b", "*")]))
    labels = {node: "b" if node else "a" for node in range(40)}
    with pytest.raises(InvalidInput, match="at every level"):
        k_neighbourhood(ring(), 2, labels=labels, hierarchy=Hierarchy.of("job", [("a", "x"), ("b", "y")]))


def test_names_and_order_do_not_leave():
    graph = Graph.of_edges(np.arange(30), np.arange(1, 31), nodes=31)
    first, second = (k_neighbourhood(graph, 3, seed=seed).graph for seed in (1, 2))
    assert first.edges == second.edges
    assert first.targets.tolist() != second.targets.tolist()
