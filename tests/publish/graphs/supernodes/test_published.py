"""What a grouping publishes: counts that hold, a check that sees what does not, and graphs drawn from them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from chance import plausible_hits
from tacit.errors import InvalidInput, LawViolated
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.supernodes.blocks import blocks_of
from tacit.publish.graphs.supernodes.published import problems_of, publish
from tacit.publish.graphs.supernodes.worlds import estimated, sampled

PATH = Graph.of_edges([0, 1, 2], [1, 2, 3], nodes=4)


@pytest.mark.parametrize(("groups", "worlds"), [([0, 0, 1, 1], 4), ([0, 1, 0, 1], 4), ([0, 1, 1, 0], 6)])
def test_a_path_of_four_has_so_many_worlds(groups, worlds):
    blocks = blocks_of(PATH, np.array(groups))
    assert blocks.worlds() == worlds
    assert blocks.log_worlds == pytest.approx(np.log(worlds))


def test_sampled_graphs_are_uniform_over_all_worlds():
    """6 worlds, 3,000 draws: each has 500 expected."""
    made = publish(PATH, np.array([0, 1, 1, 0]), k=2)
    seen = Counter(tuple(map(tuple, np.stack(sampled(made, seed).ends(), 1).tolist())) for seed in range(3000))
    assert len(seen) == 6
    assert plausible_hits(list(seen.values()), 3000, 1 / 6)


def test_a_sampled_graph_has_the_published_counts():
    generator = np.random.default_rng(0)
    graph = Graph.of_edges(generator.integers(0, 50, 300), generator.integers(0, 50, 300), nodes=50)
    made = publish(graph, np.arange(50) % 7, k=5)
    again = blocks_of(sampled(made, 4), np.repeat(np.arange(7), made.blocks.sizes))
    assert again.edges.tolist() == made.blocks.edges.tolist()
    assert estimated(made, lambda drawn: drawn.edges, draws=3).mean == graph.edges


def test_blocks_that_give_edges_away_are_reported():
    made = publish(PATH, np.array([0, 0, 1, 1]), k=2)
    assert (made.full, made.empty) == (2, 0)
    assert "2 blocks have every possible edge" in made.warnings()[0]
    other = publish(PATH, np.array([0, 1, 0, 1]), k=2)
    assert (other.full, other.empty) == (0, 2)
    assert "2 of 2 groups have no edge inside" in other.warnings()[0]
    apart = publish(Graph.of_edges([0, 2], [1, 3], nodes=4), np.array([0, 0, 1, 1]), k=2)
    assert "1 pairs of groups have no edge between them" in apart.warnings()[-1]


def test_the_order_of_the_groups_is_that_of_their_numbers():
    star = Graph.of_edges([3, 3, 3, 3], [0, 1, 2, 4], nodes=5)
    one = publish(star, np.array([0, 0, 1, 1, 0]), k=2)
    two = publish(star, np.array([1, 1, 0, 0, 1]), k=2)
    assert one.to_dict() == two.to_dict()


@pytest.mark.parametrize("planted", ["small", "nodes", "edges", "cells"])
def test_the_check_sees_what_is_wrong(planted):
    made = publish(PATH, np.array([0, 0, 1, 1]), k=2)
    blocks = made.blocks
    wrong = {
        "small": replace(made, k=3),
        "nodes": replace(made, blocks=replace(blocks, sizes=blocks.sizes + 1)),
        "edges": replace(made, blocks=replace(blocks, edges=blocks.edges + np.array([0, 1, 0]))),
        "cells": replace(made, blocks=replace(blocks, edges=np.array([2, 1, 0]))),
    }[planted]
    assert problems_of(made, PATH) == []
    assert problems_of(wrong, PATH)


def test_a_grouping_below_k_is_not_published():
    with pytest.raises(LawViolated, match="fewer than 3 nodes"):
        publish(PATH, np.array([0, 0, 1, 1]), k=3)
    with pytest.raises(InvalidInput, match="k must be from 2"):
        publish(PATH, np.array([0, 0, 1, 1]), k=1)
