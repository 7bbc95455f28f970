"""Degree sequences: the dynamic program against every division, greedy against it, and graphs of every graphical sequence."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.publish.graphs.degree_sequence import anonymous_degrees, is_graphical
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.realizing import added_edges, construct, serve_by_swaps


def every_division(nodes: int, k: int) -> list[list[int]]:
    """Every way to cut a row of nodes into parts of at least k, as the ends of the parts."""
    cuts = [[*some, nodes] for size in range(nodes // k) for some in combinations(range(k, nodes - k + 1), size)]
    return [ends for ends in cuts if all(two - one >= k for one, two in zip([0, *ends], ends, strict=False))]


def cheapest(degrees: list[int], k: int, delete: bool) -> int:
    """The least cost over all divisions, groups of any size, by the definition of the cost."""
    ordered = sorted(degrees, reverse=True)
    parts = [[ordered[one:two] for one, two in zip([0, *ends], ends, strict=False)] for ends in every_division(len(ordered), k)]
    level = np.median if delete else max
    return int(min(sum(abs(int(level(part)) - each) for part in parts for each in part) for parts in parts))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("delete", [False, True])
def test_no_division_is_cheaper(seed, delete):
    random = np.random.default_rng(seed)
    k = int(random.integers(1, 5))
    degrees = random.integers(0, 12, int(random.integers(k, 13))).tolist()
    found = anonymous_degrees(degrees, k, delete=delete)
    assert min(Counter(found.tolist()).values()) >= k
    assert int(np.abs(found - degrees).sum()) == cheapest(degrees, k, delete)
    assert delete or (found >= degrees).all()


@pytest.mark.parametrize("seed", range(20))
def test_no_division_is_cheaper_when_the_highest_degrees_weigh_more(seed):
    random = np.random.default_rng(seed)
    k, heavy = int(random.integers(1, 4)), (int(random.integers(0, 6)), int(random.integers(1, 9)))
    degrees = np.sort(random.integers(0, 12, int(random.integers(k, 12))))[::-1]
    weights = np.where(np.arange(len(degrees)) < heavy[0], heavy[1], 1)
    found = anonymous_degrees(degrees, k, heavy=heavy)
    divisions = (np.repeat(degrees[[0, *ends[:-1]]], np.diff([0, *ends])) for ends in every_division(len(degrees), k))
    assert int((weights * (found - degrees)).sum()) == min(int((weights * (each - degrees)).sum()) for each in divisions)


@pytest.mark.parametrize("seed", range(40))
def test_greedy_is_anonymous_and_not_cheaper_than_the_optimum(seed):
    random = np.random.default_rng(seed)
    k = int(random.integers(1, 8))
    degrees = np.minimum(random.zipf(1.8, int(random.integers(k, 300))), 500)
    greedy, best = anonymous_degrees(degrees, k, greedy=True), anonymous_degrees(degrees, k)
    assert min(Counter(greedy.tolist()).values()) >= k
    assert (greedy >= degrees).all()
    assert best.sum() <= greedy.sum()


def test_the_vectors_of_the_specification():
    assert anonymous_degrees([5, 5, 3, 3, 2, 2], 2).tolist() == [5, 5, 3, 3, 2, 2]
    assert anonymous_degrees([4, 3, 3, 2, 2], 2).sum() - 14 == 2


@pytest.mark.parametrize("k", [0, -1, 6])
def test_a_k_that_cannot_be_met_is_refused(k):
    with pytest.raises(InvalidInput, match="k must be"):
        anonymous_degrees([1, 2, 3, 2, 1], k)


def erdos_gallai(degrees: list[int]) -> bool:
    """The inequalities as they are written."""
    ordered = sorted(degrees, reverse=True)
    holds = (
        sum(ordered[:size]) <= size * (size - 1) + sum(min(size, each) for each in ordered[size:])
        for size in range(1, len(ordered) + 1)
    )
    return sum(ordered) % 2 == 0 and all(holds)


@pytest.mark.parametrize("seed", range(200))
def test_a_graphical_sequence_is_realized_and_no_other(seed):
    random = np.random.default_rng(seed)
    nodes = int(random.integers(1, 9))
    degrees = random.integers(0, nodes, nodes)
    left, right, done = construct(degrees.copy(), random.permutation(nodes))
    assert done == is_graphical(degrees) == erdos_gallai(degrees.tolist())
    if done:
        assert Graph.of_edges(left, right, nodes).degrees.tolist() == degrees.tolist()
        assert (left != right).all()


@pytest.mark.parametrize("seed", range(60))
def test_added_edges_are_new_and_serve_as_they_say(seed):
    random = np.random.default_rng(seed)
    nodes = int(random.integers(2, 25))
    graph = Graph.of_edges(random.integers(0, nodes, 30), random.integers(0, nodes, 30), nodes)
    need = random.integers(0, 5, nodes)
    left, right, lacking = added_edges(graph.offsets, graph.targets, need.copy(), random.permutation(nodes))
    assert not any(graph.has_edge(one, two) for one, two in zip(left.tolist(), right.tolist(), strict=True))
    more = Graph.of_edges(left, right, nodes)
    assert more.edges == len(left)
    assert (more.degrees + lacking == need).all()


def test_a_graph_made_complete_lacks_nothing():
    graph = Graph.of_edges([0, 0, 3], [1, 2, 4], nodes=6)
    need = 5 - graph.degrees
    left, _, lacking = added_edges(graph.offsets, graph.targets, need.copy(), np.arange(6))
    assert (len(left), lacking.sum()) == (12, 0)


@pytest.mark.parametrize("seed", range(60))
def test_swaps_serve_more_nodes_with_edges_that_are_new(seed):
    random = np.random.default_rng(seed)
    nodes = int(random.integers(4, 25))
    graph = Graph.of_edges(random.integers(0, nodes, 30), random.integers(0, nodes, 30), nodes)
    left, right, lacking = added_edges(graph.offsets, graph.targets, random.integers(0, 6, nodes), random.permutation(nodes))
    if not len(left):
        return
    units = random.permutation(np.repeat(np.arange(nodes), lacking))
    ends, rest = serve_by_swaps(graph.offsets, graph.targets, np.stack([left, right]).astype(np.int64), units, 1)
    more = Graph.of_edges(ends[0], ends[1], nodes)
    assert more.edges == ends.shape[1], "no loop, and none twice"
    assert not any(graph.has_edge(one, two) for one, two in ends.T.tolist())
    before, served = np.bincount(np.concatenate([left, right]), minlength=nodes), lacking - np.bincount(rest, minlength=nodes)
    assert (more.degrees == before + served).all()
    assert served.min() >= 0


def test_a_swap_serves_two_nodes_that_know_each_other():
    """0 and 1 are joined already, and 2 and 3 have been joined: 0 and 1 are put between them."""
    graph = Graph.of_edges([0], [1], nodes=4)
    ends, rest = serve_by_swaps(graph.offsets, graph.targets, np.array([[2], [3]]), np.array([0, 1]), 1)
    assert (len(rest), sorted(map(sorted, ends.T.tolist()))) in [(0, [[0, 2], [1, 3]]), (0, [[0, 3], [1, 2]])]
