"""Annealing: what a proposal is said to change is what it changes, groups stay at k, and the best grouping is kept."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.publish.graphs.edge_list import read_network
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.supernodes import annealing, proposals, state
from tacit.publish.graphs.supernodes.annealing import annealed, by_degree
from tacit.publish.graphs.supernodes.blocks import blocks_of

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
    ("_own_blocks", "state.theirs[one] - adjacent", "state.theirs[one] + adjacent"),
    ("_own_blocks", "- state.theirs[two] + state.ours[two]", "+ state.theirs[two] - state.ours[two]"),
    ("swap_change", "edges + less", "edges - less"),
]


@pytest.mark.parametrize(("name", "right", "wrong"), PLANTED)
def test_a_wrong_sign_is_seen(name, right, wrong):
    source = inspect.getsource(getattr(proposals, name).py_func).replace("@compiled\n", "")
    assert right in source
    names = vars(proposals) | {key: getattr(value, "py_func", value) for key, value in vars(proposals).items()}
    exec(inspect.getsource(proposals.swap_change.py_func).replace("@compiled\n", ""), names)  # noqa: S102
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


def run(graph, groups, k, count, temperature, slots=4):
    held = state.state_of(graph, groups, most=9, slots=slots)
    order = np.arange(graph.nodes)
    _, _, change = annealing.run_batch(held, order, order, np.array([7], np.uint64), (count, k, temperature))
    return held, change


@settings(max_examples=30)
@given(graphs, st.permutations(list(range(12))), st.sampled_from([0.01, 1.0, 100.0]), st.booleans())
def test_running_totals_blocks_and_members_stay_right(pairs, order, temperature, hashed):
    graph, groups = graph_of(pairs), np.array(order) // 3
    held, change = run(graph, groups, 2, 300, temperature, slots=1100 if hashed else 6)
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
    return int((held.table[held.table != state.EMPTY] & ((1 << held.bits) - 1 if held.bits else -1)).sum())


def test_a_table_that_is_made_anew_holds_the_same_blocks():
    generator = np.random.default_rng(1)
    graph = Graph.of_edges(generator.integers(0, 2200, 6000), generator.integers(0, 2200, 6000), nodes=2200)
    held = state.state_of(graph, by_degree(graph, 2), most=6, slots=1100)
    assert held.bits, "the table is hashed"
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
        held, order = state.state_of(graph, by_degree(graph, 5), most=15, slots=12), np.arange(60)
        results.append(annealing.run_batch(held, order, order, np.array([7], np.uint64), (20_000, 5, temperature)))
    accepted = [result[1] for result in results]
    assert accepted[0] > accepted[1] > accepted[2]
    assert annealing.COLD < annealing.WARM


def test_the_same_seed_finds_the_same_grouping_and_groups_hold_k():
    generator = np.random.default_rng(3)
    graph = Graph.of_edges(generator.integers(0, 103, 400), generator.integers(0, 103, 400), nodes=103)
    one, two = annealed(graph, 4, seed=5, per_node=50), annealed(graph, 4, seed=5, per_node=50)
    assert one.groups.tolist() == two.groups.tolist()
    assert np.bincount(one.groups).min() >= 4
    assert one.log_worlds == pytest.approx(blocks_of(graph, one.groups).log_worlds)
    assert one.log_worlds < one.start


def test_graphs_too_small_to_regroup_stay_as_they_are():
    assert annealed(Graph.of_edges([0], [1], nodes=3), 2).groups.tolist() == [0, 0, 0]
    assert annealed(Graph.of_edges([], [], nodes=8), 2).proposals == 0


@pytest.mark.skipif(not EU_CORE.exists(), reason="the data set is not here")
def test_eu_core_falls_to_what_long_runs_found():
    found = annealed(read_network(EU_CORE).graph, 5, per_node=200)
    assert found.log_worlds <= 26_700
