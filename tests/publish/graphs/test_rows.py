"""Compressed rows by counting: the same graph as by sorting, with what was left out."""

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.rows import build


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_counting_builds_what_sorting_builds(seed, kind):
    random = np.random.default_rng(seed)
    nodes, edges = int(random.integers(1, 30)), int(random.integers(0, 200))
    left, right = random.integers(0, nodes, (2, edges)).astype(kind)
    found, expected = build(left, right, nodes), Graph.of_edges(left, right, nodes)
    assert found.graph.offsets.tolist() == expected.offsets.tolist()
    assert found.graph.targets.tolist() == expected.targets.tolist()
    assert found.graph.targets.dtype == np.int32
    arcs = {(int(one), int(two)) for one, two in zip(left, right, strict=True) if one != two}
    assert found.self_loops == int((left == right).sum())
    assert found.repeated == edges - found.self_loops - expected.edges
    assert found.both_directions == sum((two, one) in arcs for one, two in arcs) // 2


def test_no_edges_and_no_nodes():
    none = np.array([], dtype=np.int64)
    assert repr(build(none, none, 0).graph) == "Graph(nodes=0, edges=0)"
    assert build(none, none, 5).graph.degrees.tolist() == [0] * 5


def test_the_highest_numbers_fit():
    nodes = 2**20
    ends = np.array([0, nodes - 1]), np.array([nodes - 1, nodes - 2])
    assert build(*ends, nodes).graph.neighbours(nodes - 1).tolist() == [0, nodes - 2]


@pytest.mark.parametrize(("left", "right"), [([0], [5]), ([-1], [0]), ([0, 1], [1])])
def test_ends_that_are_not_nodes_are_refused(left, right):
    with pytest.raises(InvalidInput):
        build(np.array(left), np.array(right), 5)
