"""What a grouping publishes: the same structure, labels by group, and no more likely association than 1 / max(k, l)."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from chance import plausible_hits
from tacit.errors import LawViolated
from tacit.publish.graphs.bipartite import publishing
from tacit.publish.graphs.bipartite.examples import safe_example, unsafe_example
from tacit.publish.graphs.bipartite.publishing import as_published, group_safely
from tacit.publish.graphs.bipartite.queries import degree_histogram, distinct_right, edges_between
from tacit.publish.graphs.bipartite.two_sided import TwoSided

LEFT = np.array([*"AABBCDDEFFGH"])
RIGHT = np.array([1, 2, 1, 3, 4, 5, 6, 2, 7, 8, 3, 4])
PURCHASES = TwoSided.of_labels(LEFT, RIGHT)


def random_graph(seed):
    generator = np.random.default_rng(seed)
    return TwoSided.of_edges(generator.integers(0, 40, 60), generator.integers(0, 50, 60), (np.arange(40), np.arange(50)))


@pytest.mark.parametrize("seed", range(5))
def test_the_structure_is_exact_and_no_association_is_likelier_than_promised(seed):
    graph = random_graph(seed)
    published = group_safely(graph, k=3, l=4)
    assert published.likeliest <= Fraction(1, 4)
    for side, histogram in zip((graph.left, graph.right), degree_histogram(published), strict=True):
        assert histogram.tolist() == np.bincount(side.degrees).tolist()
    assert edges_between(published).low == graph.edges


def test_likelihoods_are_those_of_all_labellings():
    """On the safe example, every way to give labels to nodes is listed: A and product 1 are together in half of them."""
    published, together, ways = safe_example(), 0, 0
    for left in permutations([0, 1]):
        for right in permutations([0, 1]):
            ways += 1
            edges = set(zip(published.ones.tolist(), published.twos.tolist(), strict=True))
            place = published.left.labels.tolist().index("A"), published.right.labels.tolist().index("1")
            together += (left[place[0]], right[place[1]]) in edges
    assert Fraction(together, ways) == Fraction(1, 2) == published.likeliest
    assert unsafe_example().likeliest == 1


def test_the_order_of_nodes_in_a_group_is_secret():
    """The place of A in its group of 4 is uniform: each of 400 draws falls on a place with p = 1/4."""
    graph = TwoSided.of_labels([*"AAABCD"], [1, 2, 3, 4, 5, 6])
    seen = Counter(int(np.argmax(np.bincount(as_published(graph, np.zeros(4, int), np.arange(6)).ones))) for _ in range(400))
    assert set(seen) == {0, 1, 2, 3}
    assert plausible_hits(list(seen.values()), 400, 1 / 4)


@pytest.mark.parametrize("modulus", [2, 3, 5])
def test_bounds_hold_the_true_count(modulus):
    for seed in range(8):
        graph = random_graph(seed)
        published, (one, two) = group_safely(graph, k=3, l=3), graph.ends()
        left, right = (lambda label: label % modulus == 0), (lambda label: label % modulus == 1)
        ones, twos = one % modulus == 0, two % modulus == 1
        cases = [(edges_between(published, left), ones), (edges_between(published, None, right), twos)]
        cases.append((edges_between(published, left, right), ones & twos))
        for found, true in cases:
            assert found.low <= true.sum() <= found.high
            assert found.low - 1e-9 <= found.expected <= found.high + 1e-9


def test_expected_values_are_means_over_labellings():
    """Groups {A, C}, {B, D} and products alike: with A and 1 chosen, 1 of 4 labellings puts both on an edge twice over."""
    found = edges_between(safe_example(), lambda label: label == "A", lambda label: label == "1")
    assert (found.expected, found.low, found.high) == (0.5, 0, 1)
    alone = edges_between(safe_example(), lambda label: label == "A")
    assert (alone.expected, alone.low, alone.high) == (1.5, 1, 2)


def test_unsafe_groupings_have_bounds_that_do_not_need_a_matching():
    found = edges_between(unsafe_example(), lambda label: label == "A", lambda label: label in "12")
    assert found.low <= 2 <= found.high


def test_distinct_counts_are_sampled():
    published = group_safely(PURCHASES, k=2, l=1)
    mean, low, high = distinct_right(published, lambda label: label in "AB", draws=50)
    assert low <= mean <= high <= 8
    everyone = distinct_right(published, lambda label: True, draws=2)
    assert everyone == (8.0, 8, 8)


def test_knowledge_weakens_the_promise():
    published = group_safely(random_graph(0), k=3, l=5)
    assert published.with_knowledge(0) == (Fraction(1, 5), Fraction(1, 5))
    assert published.with_knowledge(1) == (Fraction(1, 4), Fraction(1, 2))
    assert published.with_knowledge(9) == (1, 1)


def test_an_unsafe_search_would_be_caught(monkeypatch):
    monkeypatch.setattr(publishing, "safe_groups", lambda side, others, k, seed: np.arange(len(side)) // k)
    with pytest.raises(LawViolated, match="unsafe"):
        group_safely(TwoSided.of_labels([*"AABBCD"], [1, 2, 1, 2, 3, 4]), k=2, l=2)


def test_what_is_written_names_no_association():
    made = group_safely(PURCHASES, k=2, l=2).to_dict()
    assert set(made) == {"left", "right", "edges", "differentially_private"}
    assert all(group["labels"] == sorted(group["labels"]) for group in made["left"] + made["right"])
