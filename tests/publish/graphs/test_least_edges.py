"""Bounds on the edges to add, against every supergraph of small graphs; planted bounds are too high for some of them."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from tacit.publish.graphs import least_edges
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.least_edges import edges_for, edges_for_any

NODES = 6
PAIRS = list(combinations(range(NODES), 2))
CODES = np.arange(1 << len(PAIRS))
EDGES = (CODES[:, None] >> np.arange(len(PAIRS))) & 1
DEGREES = EDGES @ np.array([[node in pair for node in range(NODES)] for pair in PAIRS]).astype(int)
RAREST = np.array([min(Counter(row).values()) for row in DEGREES.tolist()])  # how often the rarest degree occurs


def graphs(seed=1, count=60):
    """Random graphs of six people, as codes: a bit for each pair."""
    random = np.random.default_rng(seed)
    shares = random.uniform(0.1, 0.7, count)
    return [int(((random.random(len(PAIRS)) < share) << np.arange(len(PAIRS))).sum()) for share in shares]


def graph_at(code):
    chosen = [pair for place, pair in enumerate(PAIRS) if code >> place & 1]
    left, right = zip(*chosen, strict=True) if chosen else ((), ())
    return Graph.of_edges(left, right, NODES)


def too_high():
    """How often a bound is above the number of edges of some supergraph: with its own degrees, and with any anonymous ones."""
    own, whole, sharp = 0, 0, 0
    for code in graphs():
        graph = graph_at(code)
        above = CODES[CODES & code == code]
        added = EDGES[above].sum(axis=1) - graph.edges
        for place in range(0, len(above), 7):
            own += edges_for(graph, DEGREES[above[place]] - graph.degrees)[0] > added[place]
        for k in (2, 3, 6):
            least = added[RAREST[above] >= k].min()
            bound = edges_for_any(graph, k, range(1, NODES + 1))
            whole, sharp = whole + (bound > least), sharp + (bound == least)
    return own, whole, sharp


def test_no_supergraph_has_fewer_edges_than_the_bounds():
    own, whole, sharp = too_high()
    assert (own, whole) == (0, 0)
    assert sharp >= 60  # of 180 bounds


@pytest.mark.parametrize("planted", ["free pairs", "inside"])
def test_planted_bounds_are_above_some_supergraph(monkeypatch, planted):
    if planted == "free pairs":
        monkeypatch.setattr(least_edges, "_largest_excess", lambda offsets, targets, need, order: (need.sum(), len(need)))
        assert too_high()[0] > 0
    else:
        true = least_edges._most_touched
        monkeypatch.setattr(least_edges, "_most_touched", lambda graph, ranks, size, part: true(graph, ranks, size, part) - part)
        assert too_high()[1] > 0


def test_hubs_that_are_joined_need_partners_elsewhere():
    """Two people who know each other and need three each: six edges, not three. Apart, five."""
    need = np.array([3, 3, 0, 0, 0, 0])
    assert edges_for(Graph.of_edges([0], [1], 6), need) == (6, 2)
    assert edges_for(Graph.of_edges([], [], 6), need) == (5, 2)
