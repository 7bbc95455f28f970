"""Sensitivities on every small graph, from the definition; planted bugs are seen by the same search."""

from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from math import exp

import numpy as np
import pytest

from tacit.publish.graphs.degree_sequence import is_graphical
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.private.counting import smooth_bound, triangles_and_shared
from tacit.publish.graphs.private.degrees import SENSITIVITY, sorted_degrees
from tacit.publish.graphs.private.histogram import CutCount, DegreeHistogram, projected_histogram, stars_in
from tacit.publish.graphs.private.result import repaired_histogram
from tacit.publish.graphs.private.theta import ThetaChoice, full_people

PAIRS = list(combinations(range(5), 2))
EVERY = range(1 << len(PAIRS))
KEY = b"a key"


def graph_of(edges):
    left, right = zip(*edges, strict=True) if edges else ((), ())
    return Graph.of_edges(left, right, nodes=5)


@cache
def graph_at(code):
    return graph_of(chosen(code))


def chosen(code):
    return [pair for place, pair in enumerate(PAIRS) if code >> place & 1]


def worst_edge(measure):
    """The largest l1 distance of a measure over all pairs of graphs on five nodes that differ in one edge."""
    known = {code: np.asarray(measure(graph_at(code))) for code in EVERY}
    neighbours = ((code, code | 1 << place) for code in EVERY for place in range(len(PAIRS)) if not code >> place & 1)
    return max(float(np.abs(known[one] - known[two]).sum()) for one, two in neighbours)


def test_one_edge_moves_the_sorted_degrees_by_two():
    assert worst_edge(lambda graph: sorted_degrees(graph, 5)) == SENSITIVITY == 2
    assert worst_edge(lambda graph: sorted_degrees(graph, 3)) <= 2, "people beyond the public number are left out"
    assert worst_edge(lambda graph: sorted_degrees(graph, 9)) == 2


def test_a_planted_histogram_of_degrees_moves_by_four():
    """What somebody might release at sensitivity 2 instead: the counts of degrees, which one edge moves twice as far."""
    assert worst_edge(lambda graph: np.bincount(graph.degrees, minlength=5)) == 4


def test_one_edge_moves_edges_by_one_and_common_neighbours_by_one():
    assert worst_edge(lambda graph: [graph.edges]) == 1
    assert worst_edge(lambda graph: [triangles_and_shared(graph.offsets, graph.targets)[1]]) == 1


@pytest.mark.parametrize("beta", [0.05, 0.2, 1.0])
def test_the_bound_of_triangles_holds_and_is_smooth(beta):
    assert broken(lambda shared: float(smooth_bound(shared, Fraction(beta))), beta) == set()


def test_planted_bounds_of_triangles_are_seen():
    """The local sensitivity itself is not smooth, and a smooth bound that is too small does not bound."""
    assert broken(lambda shared: max(shared, 1), 0.2) == {"not smooth"}
    assert broken(lambda shared: 0.9 * float(smooth_bound(shared, Fraction(1))), 1.0) == {"too small"}


def broken(bound, beta):
    """How a bound from the largest number of common neighbours fails on some graph with five nodes and one of its neighbours."""
    known = {code: triangles_and_shared(graph_at(code).offsets, graph_at(code).targets) for code in EVERY}
    of, found = {shared: bound(shared) for _, shared in known.values()}, set()
    for code in EVERY:
        for place in range(len(PAIRS)):
            one, two = known[code], known[code ^ 1 << place]
            found |= {"too small"} if abs(one[0] - two[0]) > of[one[1]] else set()
            found |= {"not smooth"} if of[one[1]] > of[two[1]] * exp(beta) * (1 + 1e-12) else set()
    return found


def test_triangles_are_counted_as_by_hand():
    for code in range(0, 1 << 10, 7):
        edges = set(chosen(code))
        by_hand = sum({(a, b), (b, c), (a, c)} <= edges for a, b, c in combinations(range(5), 3))
        rows = [{u for pair in edges for u in pair if w in pair and u != w} for w in range(5)]
        shared = max(len(rows[u] & rows[v]) for u, v in PAIRS)
        graph = graph_of(sorted(edges))
        assert tuple(triangles_and_shared(graph.offsets, graph.targets)) == (by_hand, shared)


# --- one node ----------------------------------------------------------------------------------------------------------------


def without(graph, names, gone):
    """The graph and the names without one node; nodes are numbered anew, as a file without that person would number them."""
    kept = np.array([node for node in range(graph.nodes) if node != gone])
    place = np.full(graph.nodes, -1)
    place[kept] = np.arange(len(kept))
    left, right = graph.ends()
    stay = (left != gone) & (right != gone)
    return Graph.of_edges(place[left[stay]], place[right[stay]], nodes=len(kept)), names[kept]


def small_graphs():
    return [graph_at(code) for code in EVERY]


def larger_graphs():
    """Random graphs with ten nodes, sparse and dense."""
    generator = np.random.default_rng(5)
    sizes = generator.integers(5, 30, 150)
    return [Graph.of_edges(generator.integers(0, 10, size), generator.integers(0, 10, size), nodes=10) for size in sizes]


def worst_node(histogram, theta, graphs):
    """The largest l1 distance of a histogram over graphs and all their nodes that may go."""
    worst = 0
    for graph in graphs:
        names = np.arange(graph.nodes) ** 3 + 7
        whole = histogram(graph, names, theta)
        for gone in range(graph.nodes):
            worst = max(worst, int(np.abs(whole - histogram(*without(graph, names, gone), theta)).sum()))
    return worst


def released(graph, names, theta):
    return projected_histogram(graph, names, theta, KEY)


@pytest.mark.parametrize("theta", [1, 2, 3])
def test_one_node_moves_the_histogram_by_what_is_claimed(theta):
    claimed = int(DegreeHistogram(theta, 1).mechanism.sensitivity)
    assert claimed == 2 * theta + 1
    assert worst_node(released, theta, small_graphs()) <= claimed
    assert worst_node(released, theta, larger_graphs()) <= claimed


def test_the_claim_is_attained():
    """By a star whose centre goes: theta leaves fall from degree 1 to 0, and the centre leaves its own bin."""
    star = Graph.of_edges([0, 0], [1, 2], nodes=3)
    names = np.array(["a", "b", "c"])
    distance = np.abs(released(star, names, 2) - released(*without(star, names, 0), 2)).sum()
    assert distance == DegreeHistogram(2, 1).mechanism.sensitivity


def full(graph, names, theta):
    return np.array([full_people(graph, names, theta, KEY)])


@pytest.mark.parametrize("theta", [1, 2, 3])
def test_one_node_moves_the_full_people_by_what_is_claimed(theta):
    assert worst_node(full, theta, small_graphs()) <= theta + 1
    assert worst_node(full, theta, larger_graphs()) <= theta + 1


def worst_score(scores):
    """The largest change of the score of any candidate, over graphs and all their nodes that may go."""
    choice, worst = ThetaChoice(epsilon=1, rest=3, candidates=(1, 2, 4)), Fraction(0)
    for graph in larger_graphs():
        names = np.arange(graph.nodes) ** 3 + 7
        whole = scores(choice, graph, names)
        for gone in range(graph.nodes):
            less = scores(choice, *without(graph, names, gone))
            worst = max(worst, *(abs(one - two) for one, two in zip(whole, less, strict=True)))
    return worst


def compared(choice, graph, names):
    return choice.scores([full_people(graph, names, theta, KEY) for theta in choice.candidates])


def test_one_node_moves_the_scores_of_theta_by_one():
    assert 0 < worst_score(compared) <= 1


def test_planted_scores_of_theta_are_seen():
    """Errors over the smallest width, as if every candidate were as stable as the first one."""
    assert worst_score(lambda choice, *where: [-Fraction(full_people(*where, theta, KEY), 1) for theta in choice.candidates]) > 1


def removing(graph, names, theta):
    """Planted: edges are removed in a fixed order from people who have too many."""
    left, right = graph.ends()
    degrees = graph.degrees.copy()
    for one, two in zip(left.tolist(), right.tolist(), strict=True):
        if degrees[one] > theta or degrees[two] > theta:
            degrees[[one, two]] -= 1
    return np.bincount(np.minimum(degrees, theta), minlength=theta + 1)


def adding(order):
    """Planted: the right projection in a wrong order of edges."""

    def histogram(graph, names, theta):
        degrees, edges = np.zeros(graph.nodes, np.int64), list(zip(*(side.tolist() for side in graph.ends()), strict=True))
        for one, two in sorted(edges, key=lambda edge: order(graph, edge)):
            if degrees[one] < theta and degrees[two] < theta:
                degrees[[one, two]] += 1
        return np.bincount(degrees, minlength=theta + 1)

    return histogram


def by_degree(graph, edge):
    return -graph.degrees[edge[0]] * graph.degrees[edge[1]], edge


def by_place_from_the_end(graph, edge):
    return (edge[0] * 7 + edge[1] * 3 + graph.nodes * 5) % 11, edge


@pytest.mark.parametrize("planted", [removing, adding(by_degree), adding(by_place_from_the_end)])
def test_planted_projections_are_not_stable(planted):
    assert max(worst_node(planted, theta, larger_graphs()) - (2 * theta + 1) for theta in (1, 2)) > 0


def test_the_order_of_edges_forgets_everything_but_their_ends():
    from tacit.publish.graphs.private.histogram import edge_order

    names = np.array(["ann", "bob", "cyd", "dan", "eve"])
    graph = graph_of(PAIRS)

    def ordered(graph, names):
        left, right = graph.ends()
        return [(names[left[each]], names[right[each]]) for each in edge_order(left, right, names, KEY)]

    whole = ordered(graph, names)
    for gone in range(5):
        assert ordered(*without(graph, names, gone)) == [edge for edge in whole if names[gone] not in edge]
    assert {tuple(ordered(graph, names)[0]) for _ in range(3)} == {whole[0]}
    assert len({edge_order(*graph.ends(), names, bytes([key]))[0] for key in range(40)}) > 3, "the key rules the order"


def test_sorting_brings_no_two_sequences_further_apart():
    one, two = np.array([3, 1, 2]), np.array([3, 2, 1])
    distance = np.abs(np.sort(one) - np.sort(two)).sum()
    assert all(distance <= np.abs(one - two[list(order)]).sum() for order in permutations(range(3)))


def code_without(code, person):
    """The code of a graph without the edges of one person."""
    return sum(1 << place for place, pair in enumerate(PAIRS) if code >> place & 1 and person not in pair)


def worst_person(measure):
    known = {code: measure(code) for code in EVERY}
    return max(abs(known[code] - known[code_without(code, person)]) for code in EVERY for person in range(5))


@pytest.mark.parametrize("theta", [1, 2, 3])
@pytest.mark.parametrize("points", [1, 2, 3])
def test_one_node_moves_edges_and_stars_of_a_cut_graph_by_what_is_claimed(theta, points):
    def measure(code):
        return stars_in(projected_histogram(graph_at(code), np.arange(5), theta, KEY), points)

    moved, claimed = worst_person(measure), CutCount(theta, points, 1).sensitivity
    assert moved <= claimed
    if points == 1:
        assert moved == theta, "no smaller sensitivity would do"


def test_planted_counts_for_one_person_are_seen():
    """The edges of the graph as it is, which a person moves by all of theirs; and the stars of other people forgotten."""
    assert worst_person(lambda code: len(chosen(code))) == 4 > CutCount(2, 1, 1).sensitivity
    stars = worst_person(lambda code: stars_in(projected_histogram(graph_at(code), np.arange(5), 3, KEY), 2))
    assert stars > 3, "C(theta, 2), the stars of the person alone"
    assert stars <= CutCount(3, 2, 1).sensitivity


def test_a_repaired_histogram_is_that_of_a_graph():
    draw = np.random.default_rng(3)
    for _ in range(200):
        counts = draw.integers(0, 6, int(draw.integers(1, 7)))
        repaired = repaired_histogram(counts)
        degrees = np.repeat(np.arange(1, len(repaired) + 1), repaired)
        assert is_graphical(degrees)
    assert repaired_histogram(np.zeros(3, dtype=np.int64)).tolist() == [0, 0, 0]
