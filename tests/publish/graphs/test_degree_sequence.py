"""Degree sequences: the dynamic program against every division, greedy against it, and graphs of every graphical sequence."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_graphs import graphs
from tacit.errors import InvalidInput
from tacit.publish.graphs.degree_sequence import anonymous_degrees, is_graphical
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.realizing import added_edges, construct, serve_by_swaps


def every_division(nodes: int, k: int) -> list[list[int]]:
    """Every way to cut a row of nodes into parts of at least k, as the ends of the parts."""
    cuts = [[*some, nodes] for size in range(nodes // k) for some in combinations(range(k, nodes - k + 1), size)]
    return [ends for ends in cuts if all(two - one >= k for one, two in zip([0, *ends], ends, strict=False))]


@st.composite
def sequences(draw, largest_k=4, largest=11, longest=12):
    """Degrees in any order, and a k that they can be brought to."""
    k = draw(st.integers(1, largest_k))
    return draw(st.lists(st.integers(0, largest), min_size=k, max_size=longest)), k


def is_anonymous(degrees, k) -> bool:
    return min(Counter(degrees.tolist()).values()) >= k


def is_optimal(found, degrees, k, delete) -> bool:
    """Whether no division costs less by the definition of the cost, groups of any size at their median or their largest degree."""
    ordered = sorted(degrees, reverse=True)
    parts = [[ordered[one:two] for one, two in zip([0, *ends], ends, strict=False)] for ends in every_division(len(ordered), k)]
    costs = [sum(abs(part[len(part) // 2 if delete else 0] - each) for part in division for each in part) for division in parts]
    rises = delete or (found >= degrees).all()
    return bool(is_anonymous(found, k) and rises and np.abs(found - degrees).sum() == min(costs))


@given(sequences(), st.booleans())
def test_no_division_is_cheaper(sequence, delete):
    degrees, k = sequence
    assert is_optimal(anonymous_degrees(degrees, k, delete=delete), degrees, k, delete)


def test_planted_degrees_that_are_dearer_too_few_or_lower_are_seen():
    """All at the largest degree, groups of one less than k, and medians where edges are only added."""
    degrees, k = [9, 9, 5, 5, 4, 0], 3
    assert is_optimal(anonymous_degrees(degrees, k), degrees, k, delete=False)
    assert not is_optimal(np.full(6, 9), degrees, k, delete=False)
    assert not is_optimal(anonymous_degrees(degrees, k - 1), degrees, k, delete=False)
    assert not is_optimal(anonymous_degrees(degrees, k, delete=True), degrees, k, delete=False)
    assert not is_optimal(anonymous_degrees(degrees, k), degrees, k, delete=True)


def is_optimal_by_weight(found, degrees, k, heavy) -> bool:
    """Whether no division costs less where each of the `heavy[0]` highest degrees counts `heavy[1]` times; degrees fall."""
    weights = np.where(np.arange(len(degrees)) < heavy[0], heavy[1], 1)
    divisions = (np.repeat(degrees[[0, *ends[:-1]]], np.diff([0, *ends])) for ends in every_division(len(degrees), k))
    return int((weights * (found - degrees)).sum()) == min(int((weights * (each - degrees)).sum()) for each in divisions)


@given(sequences(largest_k=3, longest=11), st.tuples(st.integers(0, 5), st.integers(1, 8)))
def test_no_division_is_cheaper_when_the_highest_degrees_weigh_more(sequence, heavy):
    degrees, k = np.sort(sequence[0])[::-1], sequence[1]
    assert is_optimal_by_weight(anonymous_degrees(degrees, k, heavy=heavy), degrees, k, heavy)


def test_planted_weights_that_are_forgotten_are_seen():
    degrees, heavy = np.array([9, 8, 8, 5, 5]), (3, 8)
    assert is_optimal_by_weight(anonymous_degrees(degrees, 2, heavy=heavy), degrees, 2, heavy)
    assert not is_optimal_by_weight(anonymous_degrees(degrees, 2), degrees, 2, heavy)


@given(sequences(largest_k=7, largest=500, longest=300))
@settings(max_examples=40)
def test_greedy_is_anonymous_and_not_cheaper_than_the_optimum(sequence):
    degrees, k = sequence
    greedy, best = anonymous_degrees(degrees, k, greedy=True), anonymous_degrees(degrees, k)
    assert is_anonymous(greedy, k)
    assert (greedy >= degrees).all()
    assert best.sum() <= greedy.sum()


def test_planted_groups_that_are_too_small_are_not_anonymous():
    assert not is_anonymous(anonymous_degrees([9, 7, 5, 3, 1], 2, greedy=True), 3)


def test_the_vectors_of_the_specification():
    assert anonymous_degrees([5, 5, 3, 3, 2, 2], 2).tolist() == [5, 5, 3, 3, 2, 2]
    assert anonymous_degrees([4, 3, 3, 2, 2], 2).sum() - 14 == 2


def test_a_k_that_cannot_be_met_is_refused():
    for k in (0, -1, 6):
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


def is_realized(degrees, order, judge=is_graphical, construct=construct) -> bool:
    """Whether a graphical sequence becomes a simple graph of these degrees, and no other one does."""
    left, right, done = construct(degrees.copy(), order)
    if done != judge(degrees) or done != erdos_gallai(degrees.tolist()):
        return False
    return not done or bool((left != right).all() and (Graph.of_edges(left, right, len(degrees)).degrees == degrees).all())


@given(st.integers(1, 8).flatmap(lambda nodes: st.lists(st.integers(0, nodes - 1), min_size=nodes, max_size=nodes)), st.data())
@settings(max_examples=200)
def test_a_graphical_sequence_is_realized_and_no_other(degrees, data):
    order = np.array(data.draw(st.permutations(range(len(degrees)))))
    assert is_realized(np.array(degrees), order)


def test_planted_judges_and_graphs_are_seen():
    """An even sum taken for enough, a graph without its last edge, and one that is given up."""
    hubs, square = np.array([3, 3, 1, 1]), np.array([2, 2, 2, 2])
    assert is_realized(hubs, np.arange(4))
    assert is_realized(square, np.arange(4))
    assert not is_realized(hubs, np.arange(4), judge=lambda degrees: degrees.sum() % 2 == 0)

    def forgetful(degrees, order):
        left, right, done = construct(degrees, order)
        return left[:-1], right[:-1], done

    assert not is_realized(square, np.arange(4), construct=forgetful)
    assert not is_realized(square, np.arange(4), construct=lambda degrees, order: (*construct(degrees, order)[:2], False))


def is_new(graph, ends) -> bool:
    """Whether edges are no loops, come once each, and are not in the graph."""
    left, right = ends
    once = Graph.of_edges(left, right, graph.nodes).edges == len(left)
    return once and not any(graph.has_edge(one, two) for one, two in zip(left.tolist(), right.tolist(), strict=True))


@given(graphs(), st.data())
def test_added_edges_are_new_and_serve_as_they_say(graph, data):
    need = np.array(data.draw(st.lists(st.integers(0, 4), min_size=graph.nodes, max_size=graph.nodes)))
    order = np.array(data.draw(st.permutations(range(graph.nodes))))
    left, right, lacking = added_edges(graph.offsets, graph.targets, need.copy(), order)
    assert is_new(graph, (left, right))
    assert (np.bincount([*left, *right], minlength=graph.nodes) + lacking == need).all()


def test_planted_edges_that_are_old_double_or_loops_are_seen():
    path = Graph.of_edges([0, 1], [1, 2], nodes=4)
    assert is_new(path, np.array([[0, 0], [2, 3]]))
    for planted in ([[0, 1], [2, 0]], [[0, 2], [2, 0]], [[0, 3], [2, 3]]):
        assert not is_new(path, np.array(planted))


def test_a_graph_made_complete_lacks_nothing():
    graph = Graph.of_edges([0, 0, 3], [1, 2, 4], nodes=6)
    need = 5 - graph.degrees
    left, _, lacking = added_edges(graph.offsets, graph.targets, need.copy(), np.arange(6))
    assert (len(left), lacking.sum()) == (12, 0)


@given(graphs(least=4), st.data())
def test_swaps_serve_more_nodes_with_edges_that_are_new(graph, data):
    need = np.array(data.draw(st.lists(st.integers(0, 5), min_size=graph.nodes, max_size=graph.nodes)))
    left, right, lacking = added_edges(graph.offsets, graph.targets, need, np.arange(graph.nodes))
    if not len(left):
        return
    units = np.array(data.draw(st.permutations(np.repeat(np.arange(graph.nodes), lacking).tolist())), dtype=np.int64)
    ends, rest = serve_by_swaps(graph.offsets, graph.targets, np.stack([left, right]).astype(np.int64), units, 1)
    assert is_new(graph, ends)
    before = np.bincount([*left, *right], minlength=graph.nodes)
    served = lacking - np.bincount(rest, minlength=graph.nodes)
    assert (np.bincount(ends.reshape(-1), minlength=graph.nodes) == before + served).all()
    assert served.min() >= 0


def test_a_swap_serves_two_nodes_that_know_each_other():
    """0 and 1 are joined already, and 2 and 3 have been joined: 0 and 1 are put between them."""
    graph = Graph.of_edges([0], [1], nodes=4)
    ends, rest = serve_by_swaps(graph.offsets, graph.targets, np.array([[2], [3]]), np.array([0, 1]), 1)
    assert (len(rest), sorted(map(sorted, ends.T.tolist()))) in [(0, [[0, 2], [1, 3]]), (0, [[0, 3], [1, 2]])]
