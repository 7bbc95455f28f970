"""The planted attack from beginning to end, in random graphs: found, read, and what stops it."""

from __future__ import annotations

import numpy as np
import pytest

from small_graphs import random_graph
from tacit.errors import InvalidInput
from tacit.evidence.attacks.graphs.planted import SuccessCurve, aims, attack, points, points_of
from tacit.evidence.attacks.graphs.planting import disturb, k_neighbourhood, plant, relabel, simple_plan, sized_groups, walk_plan
from tacit.evidence.attacks.graphs.power_law import power_law
from tacit.evidence.attacks.graphs.recovery import Tolerance
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.neighbourhoods.checker import check_k_neighbourhood
from tacit.publish.graphs.supernodes.annealing import anneal
from tacit.publish.graphs.supernodes.blocks import blocks_of


@pytest.fixture(scope="module")
def network() -> Graph:
    return power_law(4000, 30_000, seed=1)


def edge_set(graph: Graph) -> set[tuple[int, int]]:
    left, right = graph.ends()
    return set(zip(left.tolist(), right.tolist(), strict=True))


def test_planting_adds_the_plan_and_nothing_else():
    graph = random_graph(80, 0.1, 2)
    plan = walk_plan(80, 6, np.arange(5), 3, (4, 8))
    planted = plant(graph, plan)
    added = {
        (person, 80 + account) for person, subset in zip(plan.targets.tolist(), plan.subsets, strict=True) for account in subset
    }
    added |= {(person, 80 + account) for account, row in enumerate(plan.strangers) for person in row}
    added |= {(80 + one, 80 + two) for one, two in np.argwhere(np.triu(plan.internal)).tolist()}
    assert edge_set(planted) == edge_set(graph) | added
    assert all((np.diff(planted.neighbours(node)) > 0).all() for node in range(planted.nodes))
    assert (planted.degrees[80:] == plan.degrees).all()


def test_relabelling_is_the_same_graph():
    graph = random_graph(60, 0.1, 4)
    published = relabel(graph, seed=5)
    label = published.label_of.tolist()
    assert {tuple(sorted((label[one], label[two]))) for one, two in edge_set(graph)} == edge_set(published.graph)
    assert all((np.diff(published.graph.neighbours(node)) > 0).all() for node in range(60))
    assert label != list(range(60))


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_disturbing_removes_and_adds_as_many(share):
    graph = random_graph(60, 0.1, 4)
    changed = edge_set(disturb(graph, share, seed=1))
    many = round(share * graph.edges)
    assert len(edge_set(graph) - changed) == len(changed - edge_set(graph)) == many


def test_accounts_of_few_links_are_found_after_k_neighbourhood_anonymity():
    """Each neighbourhood is shared by two people, and an exact search finds nothing; a tolerant one reads all targets."""
    graph = power_law(1500, 1800, seed=3)
    plan = walk_plan(graph.nodes, 7, aims(graph, 10, 3), 3, (8, 14))
    planted = plant(graph, plan)
    made = k_neighbourhood(planted, 2)
    assert edge_set(planted) < edge_set(made)
    check_k_neighbourhood(*made.ends(), made.nodes, 2)
    read = [attack(graph, plan, 3, Tolerance(each, each), lambda _: made).read for each in (0, 4)]
    assert read == [0, 10]


def test_disturbing_takes_a_share():
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        disturb(random_graph(10, 0.5, 1), 1.5)


def numbers(graph: Graph, groups: np.ndarray) -> list[list[int]]:
    blocks = blocks_of(graph, groups)
    return np.stack([blocks.ones, blocks.twos, blocks.edges]).tolist()


def test_a_graph_drawn_from_groups_keeps_everybody_in_their_group():
    """The numbers of the published blocks are those of the drawn graph, node by node; its edges are others."""
    graph = power_law(120, 500, seed=2)
    drawn, groups = sized_groups(graph, 4, seed=3), anneal(graph, 4, 3).groups
    assert numbers(graph, groups) == numbers(drawn, groups)
    assert not np.array_equal(drawn.targets, graph.targets)
    others = np.random.default_rng(1).permutation(groups)
    assert numbers(drawn, others) != numbers(graph, others), "people in wrong groups are seen"


@pytest.mark.parametrize("k", [0, 1, 121])
def test_groups_have_two_nodes_at_least(k):
    with pytest.raises(InvalidInput, match="k must be from 2"):
        sized_groups(power_law(120, 500, seed=2), k)


@pytest.mark.parametrize("seed", range(5))
def test_ten_accounts_find_themselves_and_all_targets(network, seed):
    found = attack(network, walk_plan(network.nodes, 10, aims(network, 50, seed), seed), seed)
    assert found.succeeded
    assert (found.read, found.pairs) == (50, 1225)
    assert found.linked >= 10  # half of the targets are contacts of the other half
    assert "one match" in found.summary()
    assert "more than 23 accounts" in found.summary()


def test_the_simple_form_reads_its_targets(network):
    found = attack(network, simple_plan(network.nodes, aims(network, 12, 1), 1), 1)
    assert found.succeeded
    assert found.sizes.targets == 12


def test_noise_stops_the_exact_search_and_not_the_tolerant_one(network):
    plan = walk_plan(network.nodes, 10, aims(network, 30, 1), 1)

    def changed(planted: Graph) -> Graph:
        return disturb(planted, 0.02, 2)

    exact, tolerant = attack(network, plan, 1, change=changed), attack(network, plan, 1, Tolerance(3, 3), changed)
    assert (exact.matches, exact.read) == (0, 0)
    assert "no match" in exact.summary()
    assert tolerant.unique
    assert tolerant.right
    assert tolerant.read >= 20
    assert tolerant.misread == 0


def test_the_same_seed_gives_the_same_attack(network):
    one, two = (attack(network, walk_plan(network.nodes, 8, aims(network, 9, 4), 4), 4) for _ in range(2))
    assert one.drawn == two.drawn
    assert one.tree == two.tree


def test_a_power_law_has_hubs_and_about_its_edges():
    graph = power_law(20_000, 200_000, seed=3)
    assert 0.97 * 200_000 <= graph.edges <= 200_000
    degrees = np.sort(graph.degrees)[::-1]
    assert degrees[0] > 20 * np.median(degrees)
    expected = (2 * 200_000) ** 0.5  # the largest expected degree, where few links are drawn twice
    assert 0.7 * expected < degrees[0] < 1.2 * expected
    for nodes, edges in ((1, 1), (10, 40), (10, 0)):
        with pytest.raises(InvalidInput, match="cannot draw"):
            power_law(nodes, edges)


def test_the_curve_has_a_point_for_each_form_and_number(network, tmp_path):
    found = attack(network, walk_plan(network.nodes, 10, aims(network, 5, 1), 1), 1)
    curve = SuccessCurve(found, tuple(points_of(network, 1, seed=1)))
    assert len(curve.points) == points()
    assert all(point.found == 1 for point in curve.points if point.accounts >= 9)
    assert "20 to 60 links" in curve.summary()
    assert len(curve.to_dict()["curve"]) == points()
    for each, name in ((curve, "curve.svg"), (found, "drawing.svg")):
        each.chart(str(tmp_path / name))
        assert (tmp_path / name).read_text().startswith("<svg")
