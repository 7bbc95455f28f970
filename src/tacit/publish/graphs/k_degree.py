"""k-degree anonymity (Liu and Terzi 2008): every degree that occurs in the published graph occurs at least k times.

Degrees are chosen first, at the least cost, then edges. If edges are only added, a graph with these degrees may not exist: a hub
may need more new neighbours than there are people who need one. Then *probing* raises some of the lowest degrees by one, where it
costs least utility, and chooses again. It raises as many as were lacking, in every second round one more, and after a few rounds
at least twice as many as in the last. So parity cannot trap it, and it ends: at the latest when all degrees are n - 1, which the
complete graph has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.candidates import candidates
from tacit.publish.graphs.checking import check_k_degree
from tacit.publish.graphs.degree_sequence import anonymous_degrees
from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.measures import utility
from tacit.publish.graphs.network import Told, network_of
from tacit.publish.graphs.published import Published, generator, renamed
from tacit.publish.graphs.realizing import added_edges
from tacit.publish.graphs.rewiring import made_even, rewired
from tacit.publish.graphs.rows import built

PATIENT = 8  # rounds of probing that raise only what was lacking; the number raised then doubles in each round


def k_degree(
    source: Any, k: int, *, greedy: bool = False, delete: bool = False, seed: int | None = None, told: Told = None
) -> Published:
    """The graph with edges added (or, with `delete`, added and deleted) until at least k people share every degree.

    >>> star = Graph.of_edges([0, 0, 0, 0, 1], [1, 2, 3, 4, 5], nodes=6)
    >>> made = k_degree(star, k=2, seed=1)
    >>> made.candidates[0].smallest >= 2, made.utility.edges_deleted, made.banner
    (True, 0, 'not differentially private')
    """
    network, random, tell = network_of(source), generator(seed), told or _silent
    before = network.graph
    tell("changing edges", 0.2)
    after, work = (with_deletions if delete else supergraph)(before, k, random, greedy)
    tell("checking the result", 0.4)
    check_k_degree(*after.ends(), after.nodes, k, None if delete else before.ends())
    claim = f"k-degree anonymity, k = {k:,}: at least {k:,} people share every degree"
    tell("looking for people who can still be found", 0.5)
    now, then, use = candidates(after), candidates(before), utility(before, after, random)
    out = renamed(after, random)
    check_k_degree(*out.ends(), out.nodes, k)
    return Published(out, network, "k-degree", claim, k, now, then, use, work)


def _silent(what: str, share: float) -> None:
    """Progress that nobody watches."""


def supergraph(graph: Graph, k: int, random: np.random.Generator, greedy: bool = False) -> tuple[Graph, dict[str, Any]]:
    """A graph with all edges of the given one whose degrees are k-anonymous, and how much probing it took."""
    raised, rounds, step = graph.degrees.copy(), 0, 0
    while True:
        need = anonymous_degrees(raised, k, greedy=greedy) - graph.degrees
        left, right, lacking = added_edges(graph.offsets, graph.targets, need.copy(), random.permutation(graph.nodes))
        short = int(lacking.sum())
        if not short:
            one, two = graph.ends()
            made = built(np.concatenate([one, left]), np.concatenate([two, right]), graph.nodes).graph
            return made, {"probing_rounds": rounds, "raised": int((raised - graph.degrees).sum())}
        rounds += 1
        step = short if rounds <= PATIENT else max(short, 2 * step)
        raise_lowest(raised, step + (rounds + 1) % 2, random)  # of both parities in turn


def raise_lowest(degrees: Integers, count: int, random: np.random.Generator) -> None:
    """Raise so many of the lowest degrees by one, in place, ties at random; none beyond that of a complete graph."""
    nodes = len(degrees)
    room = np.flatnonzero(degrees < nodes - 1)
    chosen = room[np.lexsort((random.random(len(room)), degrees[room]))[:count]]
    degrees[chosen] += 1


def with_deletions(graph: Graph, k: int, random: np.random.Generator, greedy: bool = False) -> tuple[Graph, dict[str, Any]]:
    """A graph whose degrees are k-anonymous, by adding, deleting and moving edges; close to the median degrees of the groups."""
    wanted = anonymous_degrees(graph.degrees, k, greedy=greedy, delete=not greedy)
    made = rewired(graph, made_even(wanted, k), random)
    if made is None:  # too dense or too small to move edges about
        return supergraph(graph, k, random, greedy)
    return made, {"probing_rounds": 0, "raised": 0}
