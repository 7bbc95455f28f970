"""k-neighbourhood anonymity: whatever the graph, the run ends and the checker agrees; planted defects are caught."""

import networkx as nx
import numpy as np
import pytest

from small_graphs import WRONG
from tacit.errors import InvalidInput, LawViolated
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.neighbourhoods import classes as classes_module
from tacit.publish.graphs.neighbourhoods import limits, rotating
from tacit.publish.graphs.neighbourhoods.anonymize import Growth
from tacit.publish.graphs.neighbourhoods.checker import check_k_neighbourhood, class_sizes
from tacit.publish.graphs.neighbourhoods.classes import Classes
from tacit.publish.graphs.neighbourhoods.code import TooDense
from tacit.publish.graphs.neighbourhoods.filling import Filling
from tacit.publish.graphs.neighbourhoods.limits import addition, grow
from tacit.publish.graphs.neighbourhoods.rotating import Turn, turn_edges


def graph_of(source):
    ends = np.array(source.edges()).reshape(-1, 2)
    return Graph.of_edges(ends[:, 0], ends[:, 1], len(source))


def made_of(graph, k, only=None, labels=None, most=200):
    """The grown graph, checked."""
    added = addition(graph, k, only, [labels], most)
    left, right = graph.ends()
    new = added.edges
    made = Graph.of_edges(np.concatenate([left, new[:, 0]]), np.concatenate([right, new[:, 1]]), graph.nodes)
    assert (added.rounds or 0) <= len(new) == made.edges - graph.edges
    check_k_neighbourhood(*made.ends(), made.nodes, k, only, kept=graph.ends(), labels=labels)
    return made


@pytest.mark.parametrize("seed", range(30))
def test_the_run_ends_and_everybody_has_k_minus_1_others_alike(seed):
    random = np.random.default_rng(seed)
    nodes, k = int(random.integers(6, 41)), int(random.integers(1, 6))
    made_of(graph_of(nx.gnm_random_graph(nodes, int(random.integers(0, 3 * nodes)), seed=seed)), k)


@pytest.mark.parametrize(
    "source",
    [
        nx.star_graph(150),
        nx.disjoint_union_all([nx.star_graph(each) for each in (5, 9, 17, 33, 65)]),
        nx.disjoint_union_all([nx.complete_graph(each) for each in range(3, 12)]),
        nx.path_graph(300),
        nx.barabasi_albert_graph(1000, 2, seed=1),  # hubs
        nx.powerlaw_cluster_graph(400, 2, 0.3, seed=1),  # hubs and triangles
        nx.relaxed_caveman_graph(60, 6, 0.15, seed=1),  # clusters
        nx.gnm_random_graph(2000, 3000, seed=1),
    ],
)
def test_hubs_cliques_and_clusters_of_hundreds_of_people(source):
    graph = graph_of(source)
    made = made_of(graph, 2)
    assert made.edges < 2.1 * graph.edges  # not a flood


def test_a_power_law_graph_of_thousands_at_k_5():
    random = np.random.default_rng(1)
    weights = (1 - random.random(4000)) ** -0.5
    chosen = random.choice(4000, size=(2, 4000), p=weights / weights.sum())
    graph = Graph.of_edges(*chosen, nodes=4000)
    assert graph.degrees.max() > 40
    assert made_of(graph, 5).edges < 2 * graph.edges


@pytest.mark.parametrize("source", [nx.star_graph(6), nx.path_graph(7), nx.lollipop_graph(4, 3)])
def test_at_k_equal_to_the_number_of_people_all_are_alike_at_worst_in_the_complete_graph(source):
    made = made_of(graph_of(source), 7)
    assert class_sizes(*made.ends(), 7).tolist() == [7] * 7
    assert source.degree(0) != 6 or made.edges == 21  # whoever knows all makes all know all


@pytest.mark.parametrize("seed", range(3))
def test_a_growth_without_end_ends_with_turns(seed):
    """Thirty people of whom nearly all differ: half of the missing edges do not do. The graph is turned in rows of ten."""
    graph = graph_of(nx.gnp_random_graph(30, 0.25, seed=seed))
    with pytest.raises(TooDense):
        grow(graph, 10)
    assert made_of(graph, 10).edges < 30 * 29 // 2
    assert made_of(graph, 16).edges == 30 * 29 // 2, "more than half of the people: all are twins"


# --- turns: an answer for every graph ----------------------------------------------------------------------------------------


def dense_graph(seed):
    """A complete graph without a few edges, or one in which half of all pairs are linked, or communities, or any graph at all."""
    random = np.random.default_rng(seed)
    nodes = int(random.integers(4, 26))
    if seed % 4 == 0:
        source = nx.complete_graph(nodes)
        source.remove_edges_from(random.permutation(np.array(source.edges()))[: int(random.integers(1, nodes))].tolist())
        return graph_of(source)
    if seed % 4 == 1:
        return graph_of(nx.gnp_random_graph(nodes, 0.5, seed=seed))
    if seed % 4 == 2:
        return graph_of(nx.random_partition_graph([5] * int(random.integers(1, 6)), 0.9, 0.05, seed=seed))
    return graph_of(nx.gnp_random_graph(nodes, float(random.random()), seed=seed))


@pytest.mark.parametrize("seed", range(80))
def test_no_dense_graph_is_refused(seed):
    graph, random = dense_graph(seed), np.random.default_rng(seed)
    made_of(graph, int(random.integers(2, max(3, graph.nodes // 2))), most=int(random.integers(1, 30)))


def with_turns(graph, k, labels=None, only=None):
    """The turned graph, checked."""
    new = turn_edges(graph, k, labels)
    left, right = graph.ends()
    made = Graph.of_edges(np.concatenate([left, new[:, 0]]), np.concatenate([right, new[:, 1]]), graph.nodes)
    assert made.edges == graph.edges + len(new)
    check_k_neighbourhood(*made.ends(), made.nodes, k, only, kept=graph.ends(), labels=labels)
    return made


@pytest.mark.parametrize("seed", range(60))
def test_turns_make_rows_alike_at_the_stated_cost(seed):
    graph, random = dense_graph(seed), np.random.default_rng(seed)
    k = int(random.integers(1, graph.nodes + 1))
    made = with_turns(graph, k)
    twins = 0 if graph.nodes % k == 0 else k + graph.nodes % k
    still = int(np.sort(graph.degrees)[:twins].sum())  # at least as many edges as twins have
    assert made.edges <= k * graph.edges + still * k * twins + twins * (twins - 1) // 2
    assert class_sizes(*made.ends(), made.nodes).min() >= k


@pytest.mark.parametrize("seed", range(40))
def test_turns_keep_labels_apart_and_leave_rare_ones_alone(seed):
    """Of three labels one may have a single person, who is not to be protected."""
    graph, random = dense_graph(seed), np.random.default_rng(seed)
    labels = random.permutation(np.arange(graph.nodes) % 2)
    labels[0] = 2
    k = int(random.integers(1, max(2, int(np.bincount(labels)[:2].min()) + 1)))
    with_turns(graph, k, labels.tolist(), only=np.flatnonzero(labels < 2).tolist() if k > 1 else None)


def test_a_planted_turn_that_is_left_out_is_caught_by_the_checker(monkeypatch):
    true = Turn._turn_edges
    monkeypatch.setattr(Turn, "_turn_edges", lambda self, *edges: true(self, *edges).reshape(-1, 4, 2)[:, :3].reshape(-1, 2))
    with pytest.raises(LawViolated):
        with_turns(graph_of(nx.gnp_random_graph(24, 0.4, seed=1)), 4)


def test_planted_twins_who_are_joined_to_a_part_of_a_row_are_caught_by_the_checker(monkeypatch):
    true = rotating._all_pairs
    monkeypatch.setattr(rotating, "_all_pairs", lambda some, others: true(some, others)[: -len(others) // 2])
    with pytest.raises(LawViolated):
        with_turns(graph_of(nx.gnp_random_graph(23, 0.2, seed=1)), 4)


def test_too_much_work_ends_the_growth_and_depends_on_the_graph_alone(monkeypatch):
    graph = graph_of(nx.powerlaw_cluster_graph(200, 3, 0.5, seed=1))
    monkeypatch.setattr(classes_module, "WORK", 0)
    monkeypatch.setattr(classes_module, "LEAST", 20_000)
    with pytest.raises(TooDense, match="20,000 steps"):
        grow(graph, 3)
    made_of(graph, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        lambda: nx.gnm_random_graph(10_000, 100_000, seed=1),
        lambda: nx.barabasi_albert_graph(10_000, 10, seed=1),
        lambda: nx.random_partition_graph([50] * 200, 0.4, 0.0001, seed=1),
    ],
)
def test_ten_thousand_people_with_a_hundred_thousand_edges(source):
    graph = graph_of(source())
    assert made_of(graph, 5).edges <= 5 * graph.edges


@pytest.mark.parametrize(
    "source", [nx.barabasi_albert_graph(200, 8, seed=1), nx.random_partition_graph([25] * 8, 0.4, 0.001, seed=1)]
)
def test_hundreds_of_people_with_a_thousand_edges(source):
    graph = graph_of(source)
    assert with_turns(graph, 5).edges <= 5 * graph.edges


def test_a_growth_without_end_of_a_larger_graph_is_refused_with_numbers(monkeypatch):
    monkeypatch.setattr(limits, "GROWTH", 0)
    stars = nx.disjoint_union_all([nx.star_graph(each) for each in (5, 9, 17, 33, 65, 100)])
    with pytest.raises(InvalidInput, match="added to 229, 4 people") as refused:
        grow(graph_of(stars), 2)
    assert "--only" in str(refused.value)
    assert "k-degree" in str(refused.value)


def test_a_graph_that_is_too_dense_is_refused_with_numbers():
    """Of twelve people in a ring of chords, each has eight contacts who are connected with each other."""
    graph = graph_of(nx.circulant_graph(12, [1, 2, 3, 4]))
    assert grow(graph, 2, most=8).classes.added == []
    with pytest.raises(InvalidInput, match="8 contacts of one person") as refused:
        grow(graph, 2, most=5)
    assert "the limit is 5, and 12 of the people" in str(refused.value)


def test_somebody_too_large_who_is_not_to_be_protected_stands_aside():
    """The hub's 30 contacts form a cycle; the others are to be protected, and do not meet it."""
    wheel = nx.disjoint_union(nx.wheel_graph(31), nx.star_graph(3))
    made = made_of(graph_of(wheel), 2, only=[31], most=20)
    assert made.edges <= wheel.number_of_edges() + 4


def test_chosen_people_are_protected_with_fewer_edges():
    """Two hubs, with five and with twelve contacts; the small one is to be protected, and the other stays alone."""
    graph = graph_of(nx.disjoint_union(nx.star_graph(5), nx.star_graph(12)))
    made, whole = made_of(graph, 2, [0]), made_of(graph, 2)
    sizes = class_sizes(*made.ends(), made.nodes)
    assert sizes[0] >= 2 > sizes[6]
    assert made.edges < whole.edges
    with pytest.raises(LawViolated, match="only 1"):
        check_k_neighbourhood(*made.ends(), made.nodes, 2)


@pytest.mark.parametrize("seed", range(12))
def test_labels_match_in_the_grown_graph(seed):
    random = np.random.default_rng(seed)
    graph = graph_of(nx.gnm_random_graph(40, int(random.integers(20, 60)), seed=seed))
    labels = random.permutation([0, 1, 2, 2] * 10).tolist()
    made = made_of(graph, 3, labels=labels)
    assert made.edges >= made_of(graph, 3).edges or made.edges > graph.edges


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_forgotten_ripple_is_caught_by_the_checker(monkeypatch, forgotten):
    """Two paths of three, of which one is closed: its middle now looks like its ends, and the other middle is alone.

    The planted defect takes a new edge to change the neighbourhoods of its two ends, but not of their common contacts. The growth
    then believes that everybody is settled; the checker does not.
    """
    if forgotten:
        monkeypatch.setattr(Classes, "people_near", lambda self, left, right: {left, right})
    classes = Classes(Graph.of_edges([0, 1, 3, 4], [1, 2, 4, 5], nodes=6))
    classes.add(0, 2)
    classes.renew()
    alone = [min(members) for members in classes.alike.values() if len(members) == 1]
    assert alone == ([] if forgotten else [4])
    with pytest.raises(LawViolated, match="only 1 of the people"):
        check_k_neighbourhood([0, 1, 3, 4, 0], [1, 2, 4, 5, 2], 6, 2)


def test_a_class_that_is_one_short_is_caught(monkeypatch):
    """The planted defect counts a class of k - 1 as large enough."""
    true = Growth._reopen

    def one_short(self, keys):
        self.k -= 1
        true(self, keys)
        self.k += 1

    monkeypatch.setattr(Growth, "_reopen", one_short)
    with pytest.raises(LawViolated, match="only 2 of the people"):
        made_of(graph_of(nx.disjoint_union_all([nx.star_graph(each) for each in (5, 5, 9, 17)])), 3)


def test_a_round_that_fills_nothing_still_adds_an_edge(monkeypatch):
    """So that the run ends whatever the filling does."""
    monkeypatch.setattr(Filling, "run", lambda self, target: None)
    assert made_of(graph_of(nx.path_graph(5)), 5).edges == 10


def test_an_edge_changes_exactly_the_ends_and_the_common_contacts():
    classes = Classes(graph_of(nx.gnm_random_graph(20, 60, seed=4)))
    before = [
        sorted(map(sorted, (classes.rows[name] & classes.rows[person] for name in classes.rows[person]))) for person in range(20)
    ]
    pairs = ((a, b) for a in range(20) for b in range(a) if b not in classes.rows[a])
    left, right = next(pair for pair in pairs if classes.rows[pair[0]] & classes.rows[pair[1]])
    classes.add(left, right)
    after = [
        sorted(map(sorted, (classes.rows[name] & classes.rows[person] for name in classes.rows[person]))) for person in range(20)
    ]
    changed = {person for person in range(20) if before[person] != after[person]}
    assert changed == classes.people_near(left, right)
    assert len(changed) > 2


@pytest.mark.parametrize(("left", "right", "words"), WRONG)
def test_the_checker_sees_what_is_wrong(left, right, words):
    with pytest.raises(LawViolated, match=words):
        check_k_neighbourhood(left, right, 3, 2)


def test_the_checker_misses_no_edge_and_no_label():
    with pytest.raises(LawViolated, match="missing"):
        check_k_neighbourhood([0, 2], [1, 3], 4, 4, kept=(np.array([0]), np.array([2])))
    check_k_neighbourhood([0, 2], [1, 3], 4, 2, labels=[0, 1, 0, 1])
    with pytest.raises(LawViolated, match="only 1"):
        check_k_neighbourhood([0, 2], [1, 3], 4, 2, labels=[0, 1, 0, 2])
