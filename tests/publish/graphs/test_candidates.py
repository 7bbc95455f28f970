"""Candidate sets: refinement by hashes against refinement by the structures themselves."""

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tacit.publish.graphs.candidates import Candidates, candidate_sizes, candidates, colours_of, fixed_point, rounds_of
from tacit.publish.graphs.graph import Graph

DATA = Path(__file__).parents[4] / "shared" / "data"


def plain_round(graph: Graph, colours: list[object]) -> list[object]:
    """One round with whole structures, renamed to small numbers."""
    seen = [(colours[node], tuple(sorted(colours[each] for each in graph.neighbours(node)))) for node in range(graph.nodes)]
    names = {each: place for place, each in enumerate(sorted(set(seen)))}
    return [names[each] for each in seen]


@pytest.mark.parametrize("seed", range(20))
def test_hashes_part_the_nodes_as_structures_do(seed):
    random = np.random.default_rng(seed)
    nodes = int(random.integers(1, 40))
    edges = int(random.integers(0, 60))
    graph = Graph.of_edges(random.integers(0, nodes, edges), random.integers(0, nodes, edges), nodes)
    plain: list[object] = [0] * nodes
    for count in range(1, 5):
        plain = plain_round(graph, plain)
        sizes = Counter(plain)
        assert candidate_sizes(colours_of(graph, count)).tolist() == [sizes[each] for each in plain]


def test_equal_structures_have_equal_colours_in_two_graphs():
    random = np.random.default_rng(3)
    left, right, names = random.integers(0, 50, 90), random.integers(0, 50, 90), random.permutation(50)
    one, two = Graph.of_edges(left, right, 50), Graph.of_edges(names[left], names[right], 50)
    assert (colours_of(one, 3) == colours_of(two, 3)[names]).all()


def test_a_path_takes_half_its_length_to_the_fixed_point_and_a_limit_is_kept():
    path = Graph.of_edges(range(40), range(1, 41), nodes=41)
    colours, rounds = fixed_point(path)
    assert sorted(candidate_sizes(colours)) == [1] + [2] * 40
    assert rounds == 20
    assert len(list(rounds_of(path, most=7))) == 7


def test_a_regular_graph_gives_nobody_away():
    ring = Graph.of_edges(range(30), [(each + 1) % 30 for each in range(30)], nodes=30)
    assert [each.histogram() for each in candidates(ring)] == [{"1": 0, "2-4": 0, "5-10": 0, "11-20": 0, ">20": 30}] * 4


def test_bins_cover_every_size_once():
    sizes = np.array([1, 2, 4, 5, 10, 11, 20, 21, 1000])
    assert Candidates("H1", sizes).histogram() == {"1": 1, "2-4": 2, "5-10": 2, "11-20": 2, ">20": 2}


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the Enron graph")
def test_enron_has_127_people_alone_in_their_degree():
    lines = gzip.decompress((DATA / "email-enron" / "edges.tsv.gz").read_bytes())
    left, right = np.array(lines.split(), dtype=np.int64).reshape(-1, 2).T
    graph = Graph.of_edges(left, right, nodes=36_692)
    found = {each.knowledge: each.alone for each in candidates(graph)}
    assert found["H1"] == 127
    assert found["H1"] < found["H2"] < found["H3"] <= found["H*"]
