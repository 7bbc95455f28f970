"""Safe groupings: found, checked by a check that sees planted unsafety, and refused where counting shows that none exists."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.graphs.bipartite import grouping
from tacit.publish.graphs.bipartite.grouping import counting_bound, safe_groups
from tacit.publish.graphs.bipartite.publishing import as_published, group_safely
from tacit.publish.graphs.bipartite.safety import check
from tacit.publish.graphs.bipartite.two_sided import TwoSided

edges = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), min_size=1, max_size=30)


def two_sided(pairs):
    return TwoSided.of_edges(*zip(*pairs, strict=True), (np.arange(12), np.arange(12)))


def unsafe_by_definition(graph, groups):
    """Pairs of nodes of one group on the left that share a neighbour, by comparing all of them."""
    rows = [set(row) for row in graph.left.rows()]
    return sum(bool(rows[u] & rows[v]) for u, v in combinations(range(12), 2) if groups[u] == groups[v])


@given(edges, st.integers(2, 4))
def test_a_grouping_that_is_found_is_safe_by_the_definition(pairs, k):
    graph = two_sided(pairs)
    try:
        groups = safe_groups(graph.left, graph.right, k)
    except InvalidInput:
        return
    assert unsafe_by_definition(graph, groups) == 0
    assert np.bincount(groups).min() >= k


@given(edges, st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_the_check_agrees_with_the_definition(pairs, groups):
    graph = two_sided(pairs)
    found = check(graph, np.array(groups), np.arange(12))
    assert (found.shared_left == 0) == (unsafe_by_definition(graph, groups) == 0)
    assert found.smallest_left == min(groups.count(group) for group in set(groups))


@given(edges)
def test_no_grouping_beats_the_counting_bound(pairs):
    graph = two_sided(pairs)
    bound = counting_bound(graph.left, graph.right)
    assert bound.degree == max(map(len, graph.right.rows()))
    assert bound.largest == 12 // bound.degree


def test_beyond_the_bound_nothing_is_searched(monkeypatch):
    graph = TwoSided.of_labels(["a", "b", "c", "d", "e"], ["x", "x", "x", "y", "z"])
    monkeypatch.setattr(grouping, "_Search", None)
    with pytest.raises(InvalidInput, match="x has 3 neighbours") as refused:
        group_safely(graph, k=2, l=1)
    assert "k <= 1" in str(refused.value)


def test_both_bounds_are_looked_at_before_either_side_is_searched(monkeypatch):
    graph = TwoSided.of_labels(["hub"] * 3 + ["u", "v", "w", "x"], ["a", "b", "c", "d", "e", "f", "g"])
    monkeypatch.setattr(grouping, "_Search", None)
    with pytest.raises(InvalidInput, match="hub has 3 neighbours") as refused:
        group_safely(graph, k=2, l=3)
    assert "k <= 2" in str(refused.value)


def test_a_node_that_fits_nowhere_takes_the_place_of_one_that_does():
    """Nodes 0 and 1 are grouped, 2 and 3 too; 4 is left and conflicts with one of each group: an exchange must place it."""
    graph = TwoSided.of_edges([0, 4, 2, 4], [0, 0, 1, 1], (np.arange(6), np.arange(2)))
    groups = safe_groups(graph.left, graph.right, 2)
    assert check(graph, groups, np.arange(2)).passes(2, 1)


def test_a_search_that_fails_says_so_and_names_the_bound():
    pairs = [(u, w) for w, (u, v) in enumerate(combinations(range(4), 2)) for u in (u, v)]  # all pairs conflict
    graph = TwoSided.of_labels(*zip(*pairs, strict=True))
    with pytest.raises(InvalidInput, match="4 of 4 nodes"):
        safe_groups(graph.left, graph.right, 2)


@pytest.mark.parametrize(("size", "words"), [(0, "at least 1"), (9, "not possible on a side of 2 nodes")])
def test_sizes_that_make_no_sense_are_refused(size, words):
    with pytest.raises(InvalidInput, match=words):
        group_safely(TwoSided.of_labels(["a", "b"], [1, 2]), k=size, l=1)


def test_a_planted_unsafe_grouping_fails_the_check():
    graph = TwoSided.of_labels([*"AABB"], [1, 2, 1, 2])
    published = as_published(graph, np.array([0, 0]), np.array([0, 0]))
    assert not published.safety.passes(2, 2)
    assert published.likeliest == 1
