"""The search for a pattern: against every way to place it, with and without tolerance."""

from __future__ import annotations

import numpy as np
import pytest

from small_graphs import exhaustive, random_graph
from tacit.errors import InvalidInput
from tacit.evidence.attacks.graphs import recovery
from tacit.evidence.attacks.graphs.recovery import Tolerance, edges_between, linked_subsets, parents_of, recover
from tacit.publish.graphs.graph import Graph


def pattern_in(graph: Graph, seed: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """A connected part of the graph in the order of a spanning tree, with its degrees."""
    rng = np.random.default_rng(seed)
    chosen = [int(rng.choice(np.flatnonzero(graph.degrees)))]
    while len(chosen) < size:
        around = [int(other) for node in chosen for other in graph.neighbours(node) if other not in chosen]
        if not around:
            break
        chosen.append(int(rng.choice(around)))
    internal = np.array([[graph.has_edge(one, two) for two in chosen] for one in chosen])
    return internal, graph.degrees[chosen]


@pytest.mark.parametrize("seed", range(25))
def test_the_search_finds_what_trying_every_placement_finds(seed):
    graph = random_graph(8, 0.4, seed)
    internal, degrees = pattern_in(graph, seed, 4)
    cost, placed = exhaustive(graph, internal, degrees)
    found = recover(graph, internal, degrees, keep=3000)
    assert (found.cost, sorted(map(tuple, found.matches.tolist()))) == (cost, placed)
    assert found.ended


@pytest.mark.parametrize("seed", range(25))
def test_the_tolerant_search_finds_the_cheapest_placements(seed):
    graph = random_graph(7, 0.45, seed)
    internal, degrees = pattern_in(random_graph(7, 0.45, seed + 1000), seed, 4)
    tolerance = Tolerance(degree=1, links=1 + seed % 2)
    cost, placed = exhaustive(graph, internal, degrees, tolerance.degree, tolerance.links)
    found = recover(graph, internal, degrees, tolerance, keep=3000)
    assert sorted(map(tuple, found.matches.tolist())) == placed
    assert not placed or found.cost == cost


def test_planted_bug_the_links_that_must_not_be_there_are_forgotten():
    """In a triangle with a tail, a path of three fits where the triangle is, unless its missing link counts."""
    graph = Graph.of_edges([0, 1, 0, 2, 4, 5, 4, 5], [1, 2, 2, 3, 5, 6, 7, 8], nodes=9)
    path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    degrees = np.array([2, 3, 2])
    right, wrong = exhaustive(graph, path, degrees)[1], exhaustive(graph, path, degrees, non_edges=False)[1]
    assert right != wrong
    assert sorted(map(tuple, recover(graph, path, degrees).matches.tolist())) == right


def test_an_account_without_an_earlier_neighbour_is_refused():
    with pytest.raises(InvalidInput, match="spanning tree"):
        parents_of(np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]], dtype=bool))


def test_a_search_that_is_stopped_is_not_called_unique(monkeypatch):
    graph = random_graph(30, 0.3, 1)
    internal, degrees = pattern_in(graph, 1, 4)
    monkeypatch.setattr(recovery, "MOST_TREE_NODES", 2)
    assert not recover(graph, internal, degrees).unique


def test_neighbours_are_read_by_the_accounts_that_they_are_linked_to():
    graph = Graph.of_edges([0, 0, 1, 2, 2], [1, 2, 2, 3, 4], nodes=5)
    assert linked_subsets(graph, np.array([0, 1])) == {2: (0, 1)}
    assert edges_between(graph, (2, None, 3, 4)) == {(0, 2), (0, 3)}


def test_a_negative_tolerance_is_refused():
    with pytest.raises(InvalidInput, match="0 or more"):
        Tolerance(degree=-1)
