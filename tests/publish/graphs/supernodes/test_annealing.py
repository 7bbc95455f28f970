"""Annealing: what a proposal is said to change is what it changes, groups stay at k, and the best grouping is kept."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.publish.graphs.edge_list import read_network
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.supernodes import annealing, proposals, search, state
from tacit.publish.graphs.supernodes.annealing import anneal
from tacit.publish.graphs.supernodes.blocks import blocks_of
from tacit.publish.graphs.supernodes.start import by_degree

EU_CORE = Path(__file__).parents[4] / ".." / "shared" / "data" / "email-eu-core" / "edges.tsv.gz"
graphs = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40)


def graph_of(pairs):
    left, right = zip(*pairs, strict=True) if pairs else ((), ())
    return Graph.of_edges(left, right, nodes=12)


def change_of(graph, groups, first, second, change=proposals.swap_change):
    """The change that a swap is said to make, and the one that counting all blocks anew finds."""
    held = state.state_of(graph, groups, most=9, slots=4)
    said = change(held, first, second)
    swapped = groups.copy()
    swapped[[first, second]] = groups[[second, first]]
    return said, blocks_of(graph, swapped).log_worlds - blocks_of(graph, groups).log_worlds


@given(graphs, st.permutations(list(range(12))), st.integers(0, 11), st.integers(0, 11))
def test_the_change_of_a_swap_is_that_of_counting_anew(pairs, order, first, second):
    graph, groups = graph_of(pairs), np.array(order) // 3
    if groups[first] != groups[second]:
        said, true = change_of(graph, groups, first, second)
        assert said == pytest.approx(true, abs=1e-9)


PLANTED = [
    ("_own_blocks", "scratch[one, THEIRS] - adjacent", "scratch[one, THEIRS] + adjacent"),
    ("_own_blocks", "- scratch[two, THEIRS] + scratch[two, OURS]", "+ scratch[two, THEIRS] - scratch[two, OURS]"),
    ("swap_change", "edges + less", "edges - less"),
]


def source_of(function):
    return re.sub(r"@\w+\n", "", inspect.getsource(function.py_func))


def interpreted():
    """The names of the modules, whose functions are not compiled and call each other."""
    names = vars(state) | vars(proposals)
    for function in [value for value in names.values() if hasattr(value, "py_func")]:
        exec(source_of(function), names)  # noqa: S102
    return names


NAMES = interpreted()


@pytest.mark.parametrize(("name", "right", "wrong"), PLANTED)
def test_a_wrong_sign_is_seen(name, right, wrong):
    source, names = source_of(getattr(proposals, name)), interpreted()
    assert right in source
    exec(source.replace(right, wrong), names)  # noqa: S102
    generator, differing = np.random.default_rng(0), 0
    for _ in range(20):
        graph = graph_of(generator.integers(0, 12, (30, 2)).tolist())
        groups = generator.permutation(12) // 3
        first, second = int(np.argmax(groups == 0)), int(np.argmax(groups == 1))
        with np.errstate(all="ignore"):
            said, true = change_of(graph, groups, first, second, names["swap_change"])
        differing += abs(said - true) > 1e-9
    assert differing > 0


@given(graphs, st.permutations(list(range(12))), st.integers(0, 11), st.integers(0, 11))
def test_an_exchange_costs_at_least_what_both_nodes_cost_alone(pairs, order, first, second):
    graph, groups = graph_of(pairs), np.array(order) // 3
    one, two = int(groups[first]), int(groups[second])
    nearby = {one, two} & {int(groups[other]) for node in (first, second) for other in graph.neighbours(node)}
    if one == two or nearby:
        return
    held, costs = state.state_of(graph, groups, most=9, slots=4), []
    for node, here, there in ((first, one, two), (second, two, one)):
        NAMES["count_edges"](held, node, state.OURS)
        costs.append(NAMES["alone"](held, here, there))
        NAMES["forget"](held)
    assert sum(costs) <= change_of(graph, groups, first, second)[1] + 1e-9


def test_groups_without_room_exchange_their_nodes():
    generator = np.random.default_rng(4)
    graph, groups = Graph.of_edges(*generator.integers(0, 12, (2, 30)), nodes=12), np.arange(12) // 3
    held = state.state_of(graph, groups, most=3, slots=4)
    _, accepted, _ = search.run_batch(held, np.array([7], np.uint64), 500, 3, 10.0)
    assert accepted > 0
    assert sorted(held.members.ravel().tolist()) == list(range(12))
    assert held.group[held.members.ravel()].tolist() == np.repeat(np.arange(4), 3).tolist()


def run(graph, groups, k, count, temperature, slots=4):
    held = state.state_of(graph, groups, most=9, slots=slots)
    _, _, change = search.run_batch(held, np.array([7], np.uint64), count, k, temperature)
    return held, change


@settings(max_examples=30)
@given(graphs, st.permutations(list(range(12))), st.sampled_from([0.01, 1.0, 100.0]), st.booleans())
def test_running_totals_blocks_and_members_stay_right(pairs, order, temperature, hashed):
    graph, groups = graph_of(pairs), np.array(order) // 3
    held, change = run(graph, groups, 2, 300, temperature, slots=state.PLAIN + 1 if hashed else 6)
    assert bool(held.counts[state.BITS]) == hashed
    assert blocks_of(graph, groups).log_worlds + change == pytest.approx(blocks_of(graph, held.group).log_worlds, abs=1e-8)
    sizes = np.bincount(held.group, minlength=len(held.size))
    assert sizes.tolist() == held.size.tolist()
    assert set(sizes.tolist()) <= {0, *range(2, 10)}
    assert all(set(held.members[group, :size]) == set(np.flatnonzero(held.group == group)) for group, size in enumerate(sizes))
    blocks = blocks_of(graph, held.group)
    counted = {(one, two): edges for one, two, edges in zip(blocks.ones, blocks.twos, blocks.edges, strict=True)}
    assert edges_in(held) == graph.edges
    assert all(state.edges_of(held, *pair) == edges for pair, edges in counted.items())


def edges_in(held):
    """The sum over all blocks of the table."""
    if bits := int(held.counts[state.BITS]):
        return int((held.table[held.table != state.EMPTY] & (1 << bits) - 1).sum())
    assert (held.plain == held.plain.T).all()
    return int(np.triu(held.plain).sum())


def test_a_table_that_is_made_anew_holds_the_same_blocks():
    generator = np.random.default_rng(1)
    graph = Graph.of_edges(generator.integers(0, 2200, 6000), generator.integers(0, 2200, 6000), nodes=2200)
    held = state.state_of(graph, by_degree(graph, 2), most=6, slots=state.PLAIN + 1)
    assert held.counts[state.BITS], "the table is hashed"
    again = state.remade(held)
    assert edges_in(again) == graph.edges
    blocks = blocks_of(graph, held.group)
    pairs = zip(blocks.ones.tolist(), blocks.twos.tolist(), blocks.edges.tolist(), strict=True)
    assert all(state.edges_of(again, one, two) == edges for one, two, edges in pairs)


def test_worse_groupings_are_accepted_less_as_the_temperature_falls():
    generator = np.random.default_rng(2)
    graph = Graph.of_edges(generator.integers(0, 60, 300), generator.integers(0, 60, 300), nodes=60)
    results = []
    for temperature in (100.0, 1.0, 0.01):
        held = state.state_of(graph, by_degree(graph, 5), most=15, slots=12)
        results.append(search.run_batch(held, np.array([7], np.uint64), 20_000, 5, temperature))
    accepted = [result[1] for result in results]
    assert accepted[0] > accepted[1] > accepted[2]
    assert annealing.COLD < annealing.WARM


def test_the_same_seed_finds_the_same_grouping_and_groups_hold_k():
    generator = np.random.default_rng(3)
    graph = Graph.of_edges(generator.integers(0, 103, 400), generator.integers(0, 103, 400), nodes=103)
    one, two = anneal(graph, 4, seed=5, per_node=50), anneal(graph, 4, seed=5, per_node=50)
    assert one.groups.tolist() == two.groups.tolist()
    assert np.bincount(one.groups).min() >= 4
    assert one.log_worlds == pytest.approx(blocks_of(graph, one.groups).log_worlds)
    assert one.log_worlds < one.start


def test_graphs_too_small_to_regroup_stay_as_they_are():
    assert anneal(Graph.of_edges([0], [1], nodes=3), 2).groups.tolist() == [0, 0, 0]
    assert anneal(Graph.of_edges([], [], nodes=8), 2).proposals == 0


@pytest.mark.skipif(not EU_CORE.exists(), reason="the data set is not here")
def test_eu_core_falls_to_what_long_runs_found():
    found = anneal(read_network(EU_CORE).graph, 5, per_node=200)
    assert found.log_worlds <= 26_700
