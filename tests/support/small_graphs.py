"""Small random graphs, and the search for a pattern in them by trying every way to place it."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import strategies as st

from tacit.publish.graphs.graph import Graph


def random_graph(nodes: int, share: float, seed: int) -> Graph:
    """Every pair linked with the same probability."""
    left, right = np.triu_indices(nodes, 1)
    kept = np.random.default_rng(seed).random(len(left)) < share
    return Graph.of_edges(left[kept], right[kept], nodes)


@st.composite
def graphs(draw: st.DrawFn, least: int = 2, most: int = 24, hub: bool = False) -> Graph:
    """Any graph of few edges; with a hub, node 0 is linked to some others."""
    nodes = draw(st.integers(least, most))
    node = st.integers(0, nodes - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=3 * nodes))
    edges += [(0, other) for other in draw(st.lists(node, max_size=nodes // 2))] if hub else []
    return Graph.of_edges([one for one, _ in edges], [other for _, other in edges], nodes)


def exhaustive(graph, internal, degrees, degree=0, links=0, non_edges=True):
    """The best placements of a pattern and their cost; `non_edges=False` is a search that forgets links that must not be there."""
    accounts, best, found = len(internal), None, []
    for placed in permutations(range(graph.nodes), accounts):
        apart = [abs(int(graph.degrees[node]) - int(degrees[place])) for place, node in enumerate(placed)]
        if max(apart) > degree:
            continue
        there = np.array([[graph.has_edge(one, two) for two in placed] for one in placed])
        wrong = np.triu(there != internal if non_edges else internal & ~there).sum()
        reached = all((there & internal)[place, :place].any() for place in range(1, accounts))
        if wrong > links or not reached:
            continue
        cost = sum(apart) + int(wrong)
        if best is None or cost < best:
            best, found = cost, []
        if cost == best:
            found.append(placed)
    return best, sorted(found)


WRONG = [  # edges of three people that no checker for groups of two may pass, and what it says of them
    ([0, 1], [1, 2], "only 1 of the people"),
    ([0, 1, 2, 0], [1, 2, 0, 1], "repeated"),
    ([0, 1, 2, 1], [1, 2, 0, 1], "their own neighbour"),
    ([0, 1, 2], [1, 2, 3], "nobody"),
]
