"""Coalitions: what they claim without doubt is right, and agrees with trying every placement."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from small_graphs import exhaustive, random_graph
from tacit.errors import InvalidInput
from tacit.evidence.attacks.graphs import coalition
from tacit.evidence.attacks.graphs.coalition import Coalitions, attempt, by_size, gather, singled_out, with_targets
from tacit.evidence.attacks.graphs.power_law import power_law
from tacit.evidence.attacks.graphs.recovery import linked_subsets
from tacit.publish.graphs.graph import Graph


@pytest.mark.parametrize("seed", range(20))
def test_a_coalition_is_sure_exactly_if_one_placement_agrees(seed):
    graph = random_graph(9, 0.4, seed)
    members = gather(graph, 3, np.random.default_rng([seed, 3, 7]))  # those of the attempt
    internal = np.array([[graph.has_edge(one, two) for two in members.tolist()] for one in members.tolist()])
    known = Counter(linked_subsets(graph, members).values())
    _, placed = exhaustive(graph, internal, graph.degrees[members])
    agreeing = [each for each in placed if Counter(linked_subsets(graph, np.array(each)).values()) == known]
    found = attempt(graph, 3, seed)
    assert found.unique == (len(agreeing) == 1)
    assert found.wrong == 0


def test_a_coalition_is_linked_to_its_first_member():
    graph = random_graph(40, 0.2, 1)
    members = gather(graph, 5, np.random.default_rng(1)).tolist()
    assert len(set(members)) == 5
    assert all(graph.has_edge(members[0], other) for other in members[1:])
    with pytest.raises(InvalidInput, match="nobody has 39 contacts"):
        gather(Graph.of_edges([0], [1], 40), 40, np.random.default_rng(1))


def test_larger_coalitions_find_more_people():
    graph = power_law(1500, 20_000, seed=2)
    found = Coalitions(graph.nodes, graph.edges, 0, tuple(by_size(graph, (3, 7), trials=8, seed=1)))
    assert [each.members for each in found.sizes] == [3, 4, 5, 6, 7]
    assert found.sizes[-1].unique >= 7
    assert found.sizes[-1].found > found.sizes[0].found
    assert sum(each.wrong for each in found.sizes) == 0
    assert "7 members" in found.summary()
    with pytest.raises(InvalidInput, match="invalid sizes"):
        list(by_size(graph, (8, 3), trials=1))


def test_links_added_before_publication_single_out_chosen_people():
    graph = power_law(1500, 20_000, seed=2)
    rng = np.random.default_rng(3)
    members = gather(graph, 6, rng)
    changed, chosen = with_targets(graph, members, 8, rng)
    assert len(chosen) == len(set(chosen.values())) == 8
    assert changed.edges == graph.edges + sum(map(len, chosen.values()))
    named = singled_out(linked_subsets(changed, members))
    assert all(named[subset] == person for person, subset in chosen.items())
    assert attempt(graph, 6, 4, targets=8).targets >= 6


def test_planted_bug_what_outsiders_tell_is_forgotten(monkeypatch):
    """Without the check of the shared contacts, members who can be exchanged leave the coalition in doubt."""
    graph = random_graph(9, 0.4, 3)
    sure = [attempt(graph, 4, seed).unique for seed in range(30)]
    monkeypatch.setattr(coalition, "agrees", lambda there, known: True)
    assert [attempt(graph, 4, seed).unique for seed in range(30)] != sure
