"""Colluders in a published graph: the e-mail example, and agreement with every way to give names to nodes."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from small_graphs import random_graph
from tacit.evidence.attacks.graphs import collusion
from tacit.evidence.attacks.graphs.collusion import EMAIL, collude, email_graph, placements
from tacit.evidence.attacks.graphs.planting import relabel


def test_alice_and_cathy_name_bob_and_ed_and_the_edge_between_them():
    graph, names = email_graph()
    assert graph.degrees.tolist() == [3, 4, 5, 2, 4, 2, 2]
    for seed in range(10):
        published = relabel(graph, seed)
        found = collude(published.graph, {name: EMAIL[name] for name in ("Alice", "Cathy")})
        assert found.others == ("Bob", "Ed")
        assert found.edges == (("Bob", "Ed"),)
        assert all(published.label_of[names.index(name)] == node for name, node in found.found.items())
        assert {len(found.candidates[name]) for name in ("Diane", "Fred", "Grace")} == {3}
        assert "Bob-Ed" in found.summary()


def test_it_spreads_to_diane_and_leaves_a_pair():
    published = relabel(email_graph()[0], 2)
    found = collude(published.graph, {name: EMAIL[name] for name in ("Alice", "Cathy")}, EMAIL.__getitem__)
    assert found.others == ("Bob", "Ed", "Diane")
    assert len(found.candidates["Fred"] | found.candidates["Grace"]) == 2
    assert found.rounds == 3


def everything_that_agrees(graph, contacts, names):
    """For each person named the nodes that it has in some labelling which agrees with all that the colluders know."""
    found: dict[str, set[int]] = {}
    named = {*contacts, *(person for row in contacts.values() for person in row)}
    for labelling in permutations(range(graph.nodes)):
        place = dict(zip(names, labelling, strict=True))
        neighbours = {name: set(graph.neighbours(place[name]).tolist()) for name in contacts}
        if all(neighbours[name] == {place[person] for person in contacts[name]} for name in contacts):
            for name in named:
                found.setdefault(name, set()).add(place[name])
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_candidates_are_those_of_all_labellings(seed):
    graph = random_graph(6, 0.5, seed)
    names = [f"p{node}" for node in range(6)]
    contacts = {names[node]: [names[other] for other in graph.neighbours(node)] for node in (0, 1)}
    published = relabel(graph, seed).graph
    found = collude(published, contacts)
    assert {name: set(nodes) for name, nodes in found.candidates.items()} == everything_that_agrees(published, contacts, names)


def test_colluders_who_can_be_anywhere_find_nobody(monkeypatch):
    ring = type(email_graph()[0]).of_edges(np.arange(40), np.roll(np.arange(40), 1), 40)
    found = collude(ring, {"a": ["b", "c"]})
    assert found.others == ()
    assert len(found.candidates["a"]) == 40
    monkeypatch.setattr(collusion, "MOST_PLACEMENTS", 5)
    assert len(placements(ring, {"a": ["b", "c"]})) == 6
    assert collude(ring, {"a": ["b", "c"]}).candidates == {}
    assert "nobody else" in collude(ring, {"a": ["b", "c"]}).summary()


def test_the_drawing_has_the_names_that_were_found(tmp_path):
    found = collude(relabel(email_graph()[0], 1).graph, {name: EMAIL[name] for name in ("Alice", "Cathy")})
    found.chart(str(tmp_path / "out.svg"))
    text = (tmp_path / "out.svg").read_text()
    assert "Bob" in text
    assert "Fred" not in text
