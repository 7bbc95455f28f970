"""k-degree anonymity: whatever the graph, the run ends and a checker of its own agrees; planted defects are caught."""

from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_graphs import WRONG, graphs
from tacit.errors import InvalidInput, LawViolated
from tacit.publish.graphs import k_degree as module
from tacit.publish.graphs.checking import check_k_degree
from tacit.publish.graphs.degree_sequence import anonymous_degrees
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.k_degree import k_degree, raise_lowest, supergraph, takers, with_deletions
from tacit.publish.graphs.rewiring import make_even, rewire

DATA = Path(__file__).parents[4] / "shared" / "data"


def random_graph(seed: int) -> Graph:
    random = np.random.default_rng(seed)
    nodes = int(random.integers(4, 40))
    edges = int(random.integers(0, 3 * nodes))
    hub = np.zeros(nodes // 2, dtype=np.int64)
    left = np.concatenate([random.integers(0, nodes, edges), hub])
    return Graph.of_edges(left, np.concatenate([random.integers(0, nodes, edges), random.integers(0, nodes, len(hub))]), nodes)


def pairs(graph: Graph) -> set[tuple[int, int]]:
    return set(zip(*(side.tolist() for side in graph.ends()), strict=True))


def anonymizes(way, graph: Graph, k: int, greedy: bool = False) -> bool:
    """Whether every degree occurs k times, and edges are only added where that is promised."""
    made, _ = way(graph, k, np.random.default_rng(1), greedy)
    grown = way is with_deletions or pairs(made) >= pairs(graph)
    return grown and min(Counter(made.degrees.tolist()).values()) >= k


@given(graphs(least=4, most=40, hub=True), st.sampled_from([supergraph, with_deletions]), st.booleans(), st.data())
def test_the_run_ends_and_every_degree_occurs_k_times(graph, way, greedy, data):
    assert anonymizes(way, graph, data.draw(st.integers(1, graph.nodes)), greedy)


def test_planted_ways_that_stop_early_or_lose_an_edge_are_seen():
    graph = random_graph(5)
    assert anonymizes(supergraph, graph, 4)
    assert not anonymizes(lambda graph, k, *how: supergraph(graph, k - 1, *how), graph, 4)
    assert not anonymizes(lambda graph, k, *_: (Graph.of_edges([], [], graph.nodes), {}), graph, 4)


def graph_of(source):
    ends = np.array(source.edges()).reshape(-1, 2)
    return Graph.of_edges(ends[:, 0], ends[:, 1], len(source))


@pytest.mark.parametrize("k", [2, 10, 50])
@pytest.mark.parametrize(
    "source",
    [
        nx.gnp_random_graph(300, 0.5, seed=1),  # dense: many degrees, few people of each
        nx.gnp_random_graph(300, 0.05, seed=1),
        nx.powerlaw_cluster_graph(350, 8, 0.8, seed=1),  # hubs that know each other
        nx.relaxed_caveman_graph(30, 10, 0.2, seed=1),
        nx.barabasi_albert_graph(300, 5, seed=1),
    ],
    ids=["dense", "sparse", "clustered", "caves", "hubs"],
)
def test_edges_added_are_close_to_what_the_degrees_need(source, k):
    graph = graph_of(source)
    made, work = supergraph(graph, k, np.random.default_rng(1))
    assert min(Counter(made.degrees.tolist()).values()) >= k
    assert made.edges - graph.edges <= 1.15 * work["least_edges"] + 1


def test_a_planted_search_that_only_probes_is_far_from_what_the_degrees_need(monkeypatch):
    monkeypatch.setattr(module, "takers", lambda *_: None)
    graph = graph_of(nx.gnp_random_graph(300, 0.5, seed=1))
    made, work = supergraph(graph, 2, np.random.default_rng(1))
    assert made.edges - graph.edges > 1.15 * work["least_edges"] + 1


def take_well(found, level, lacking, k) -> bool:
    """Whether takers lack nothing themselves, take at least what is lacking, and leave degrees that are anonymous and possible."""
    degrees = level + found
    apart = (found[lacking > 0] == 0).all() and found.sum() >= lacking.sum()
    return bool(apart and degrees.max() < len(degrees) and min(Counter(degrees.tolist()).values()) >= k)


@given(graphs(least=6, most=60), st.integers(1, 5), st.data())
def test_takers_keep_degrees_anonymous_and_take_what_is_lacking(graph, k, data):
    level, lacking = anonymous_degrees(graph.degrees, k), np.zeros(graph.nodes, np.int64)
    for node in data.draw(st.lists(st.integers(0, graph.nodes - 1), min_size=1, max_size=2)):
        lacking[node] += data.draw(st.integers(1, 2 * graph.nodes - 1))
    found = takers(graph, level, lacking, k, np.random.default_rng(1))
    assert found is None or take_well(found, level, lacking, k)


def test_planted_takers_are_seen():
    """Too little, by who lacks it, one person alone, and more than a graph has."""
    level, lacking = np.array([3, 3, 1, 1, 1, 1]), np.array([2, 0, 0, 0, 0, 0])
    assert take_well(np.array([0, 0, 1, 1, 0, 0]), level, lacking, 2)
    for planted in ([0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0], [0, 0, 5, 5, 0, 0]):
        assert not take_well(np.array(planted), level, lacking, 2)


def test_a_star_without_takers_forces_probing_and_ends_at_the_complete_graph_at_worst(monkeypatch):
    monkeypatch.setattr(module, "takers", lambda *_: None)
    star = Graph.of_edges([0] * 9, range(1, 10), nodes=10)
    for k in range(2, 11):
        made, work = supergraph(star, k, np.random.default_rng(1))
        assert min(Counter(made.degrees.tolist()).values()) >= k
        assert work["probing_rounds"] > 0 or made.edges == 45


def test_an_odd_sum_is_mended():
    """Three people of whom two are connected: with k = 3 the only answers are the triangle and no edge at all."""
    made, work = supergraph(Graph.of_edges([0], [1], nodes=3), 3, np.random.default_rng(1))
    assert (made.edges, work["probing_rounds"] > 0) == (3, True)


def test_the_lowest_are_raised_and_nobody_beyond_the_complete_graph():
    degrees = np.array([3, 0, 1, 3])
    raise_lowest(degrees, 3, np.random.default_rng(1))
    assert degrees.tolist() == [3, 1, 2, 3]


def test_rewiring_gives_the_wanted_degrees_or_says_that_it_cannot():
    """Half of these graphs are a hub with little else, where swaps can run out; most must succeed nevertheless."""
    done = 0
    for seed in range(40):
        graph, random = random_graph(seed), np.random.default_rng(seed)
        wanted = np.clip(graph.degrees + random.integers(-2, 3, graph.nodes), 0, graph.nodes - 1)
        wanted[0] -= wanted.sum() % 2 if wanted[0] else -(wanted.sum() % 2)
        made = rewire(graph, wanted, random)
        assert made is None or made.degrees.tolist() == wanted.tolist()
        done += made is not None
    assert done >= 30


def stays_anonymous(found, k) -> bool:
    return found.sum() % 2 == 0 and min(Counter(found.tolist()).values()) >= k


@given(
    st.integers(1, 4).flatmap(
        lambda k: st.tuples(st.just(k), st.lists(st.tuples(st.integers(0, 8), st.integers(k, 3 * k)), min_size=1, max_size=4))
    )
)
def test_an_even_sum_stays_anonymous(case):
    k, groups = case
    assert stays_anonymous(make_even(np.repeat(*np.transpose(groups)), k), k)


def test_planted_sums_that_stay_odd_or_are_mended_by_one_person_are_seen():
    odd = np.array([3, 3, 3, 2, 2])
    assert stays_anonymous(make_even(odd, 2), 2)
    assert not stays_anonymous(odd, 2)
    assert not stays_anonymous(np.array([4, 3, 3, 2, 2]), 2)


def test_the_same_seed_gives_the_same_graph_and_another_gives_other_names():
    graph = random_graph(5)
    one, two, three = (k_degree(graph, 3, seed=seed).graph for seed in (1, 1, 2))
    assert one.targets.tolist() == two.targets.tolist() != three.targets.tolist()


@pytest.mark.parametrize("k", [0, 7])
def test_a_k_that_cannot_be_met_is_refused(k):
    with pytest.raises(InvalidInput, match="k must be"):
        k_degree(Graph.of_edges([0], [1], nodes=6), k)


@pytest.mark.parametrize(("left", "right", "words"), WRONG)
def test_the_checker_sees_what_is_wrong(left, right, words):
    with pytest.raises(LawViolated, match=words):
        check_k_degree(left, right, 3, 2)


def test_the_checker_misses_no_edge():
    check_k_degree([0, 1, 2], [1, 2, 0], 3, 3, kept=(np.array([0]), np.array([2])))
    with pytest.raises(LawViolated, match="missing"):
        check_k_degree([0, 2], [1, 3], 4, 4, kept=(np.array([0]), np.array([2])))


def test_a_planted_defect_is_caught_before_anything_is_returned(monkeypatch):
    """Degrees that are anonymous in the vector but not in the graph: the last edge is forgotten."""
    whole = module.build
    monkeypatch.setattr(module, "build", lambda left, right, nodes: whole(left[:-1], right[:-1], nodes))
    graph = random_graph(3)
    with pytest.raises(LawViolated):
        k_degree(graph, graph.nodes, seed=1)


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the Enron graph")
def test_enron_at_k_10_needs_few_edges_and_stays_open_to_neighbour_degrees():
    made = k_degree(DATA / "email-enron" / "edges.tsv.gz", 10, seed=1)
    assert made.utility.edges_added / made.utility.edges_before <= 0.026
    assert made.candidates[0].smallest >= 10
    assert made.candidates[1].alone > 10_000
    assert made.to_dict()["differentially_private"] is False
