"""k-degree anonymity (Liu and Terzi 2008): every degree that occurs in the published graph occurs at least k times.

Degrees are chosen first, then edges. Where hubs miss more edges than they have possible partners, more edges are needed than half
the sum of the missing degrees (least_edges.md); of a few vectors, the one that needs the fewest edges is taken. Nodes that miss
most are joined first, swaps repair some of the rest, and nodes that still lack edges are joined to people of low degree, one more
edge each, such that every degree still occurs at least k times. In a small or dense graph no person may be free. Then *probing*
raises some of the lowest degrees by one and chooses again. It raises as many as were lacking, in every second round one more, and
after a few rounds at least twice as many as in the last. So parity cannot trap it, and it ends: at the latest when all degrees are
n - 1, which the complete graph has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.candidates import candidates
from tacit.publish.graphs.checking import check_k_degree
from tacit.publish.graphs.degree_sequence import anonymous_degrees
from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.least_edges import edges_for
from tacit.publish.graphs.measures import utility
from tacit.publish.graphs.network import Told, network_of
from tacit.publish.graphs.published import Published, generator, rename
from tacit.publish.graphs.realizing import added_edges, serve_by_swaps
from tacit.publish.graphs.rewiring import make_even, rewire
from tacit.publish.graphs.rows import build

HEAVY = (3, 64)  # how many times the nodes that decide the number of edges count in the choice of degrees
STAGES = 12  # in which lacking edges are joined to people of low degree, before probing
PATIENT = 8  # rounds of probing that raise as many degrees as edges were lacking; the number then doubles in each round


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
    out = rename(after, random)
    check_k_degree(*out.ends(), out.nodes, k)
    return Published(out, network, "k-degree", claim, k, now, then, use, work)


def _silent(what: str, share: float) -> None:
    """Shows no progress."""


def supergraph(graph: Graph, k: int, random: np.random.Generator, greedy: bool = False) -> tuple[Graph, dict[str, Any]]:
    """A graph with all edges of the given one whose degrees are k-anonymous, and how much probing it took.

    `least_edges` is the number of edges that the degrees first chosen need at least, whoever is joined to whom.
    """
    raised, rounds, step, least = graph.degrees.copy(), 0, 0, 0
    while True:
        need, bound = _choose_need(graph, raised, k, greedy)
        least = least or bound
        made, short = _join(graph, need, k, random)
        if made is not None:
            over = int(made.degrees.sum() - graph.degrees.sum() - need.sum()) + int((raised - graph.degrees).sum())
            return made, {"probing_rounds": rounds, "raised": over, "least_edges": least}
        rounds += 1
        step = short if rounds <= PATIENT else max(short, 2 * step)
        raise_lowest(raised, step + (rounds + 1) % 2, random)  # of both parities in turn


def _choose_need(graph: Graph, raised: Integers, k: int, greedy: bool) -> tuple[Integers, int]:
    """The edges that every node needs, and a lower bound on the edges to add: of a few vectors, the one with the lowest bound."""
    need = anonymous_degrees(raised, k, greedy=greedy) - graph.degrees
    least, size = edges_for(graph, need)
    if greedy or 2 * least <= need.sum() + 1:
        return need, least
    for heavy in ((first, times) for first in (size, 2 * size) for times in HEAVY):
        other = anonymous_degrees(raised, k, heavy=heavy) - graph.degrees
        bound, _ = edges_for(graph, other)
        if bound < least:
            need, least = other, bound
    return need, least


def _join(graph: Graph, need: Integers, k: int, random: np.random.Generator) -> tuple[Graph | None, int]:
    """The graph with edges for every need, or None if no node was free for some; and how many were lacking at first."""
    now, level, short = graph, graph.degrees + need, 0
    ends = np.empty((2, 0), np.int64)
    for stage in range(STAGES):
        left, right, lacking = added_edges(now.offsets, now.targets, need.copy(), random.permutation(graph.nodes))
        ends = np.concatenate([ends, np.stack([left, right])], axis=1)
        units = random.permutation(np.repeat(np.arange(graph.nodes), lacking))
        if len(units) > 1 and ends.shape[1]:
            ends, units = serve_by_swaps(graph.offsets, graph.targets, ends, units, int(random.integers(1, ends.shape[1] + 1)))
        one, two = graph.ends()
        now = build(np.concatenate([one, ends[0]]), np.concatenate([two, ends[1]]), graph.nodes).graph
        short = short if stage else len(units)
        if not len(units):
            return now, short
        need = np.bincount(units, minlength=graph.nodes)
        more = takers(now, level, need, k, random)
        if more is None:
            return None, short
        need, level = need + more, level + more
    return None, short


def takers(graph: Graph, level: Integers, lacking: Integers, k: int, random: np.random.Generator) -> Integers | None:
    """How many edges more each node can take, so that at least as many are taken as are lacking; None if there is no way.

    `level` are the degrees when nothing is lacking any more; they stay k-anonymous. The lowest take first, and among those of one
    degree the ones who know fewest of the nodes that lack edges.
    """
    near = np.zeros(graph.nodes, np.int64)
    for node in np.flatnonzero(lacking).tolist():
        near[graph.neighbours(node)] += lacking[node]
    free, taken, left = lacking == 0, np.zeros(graph.nodes, np.int64), int(lacking.sum())
    while left > 0:
        values, kinds, counts = np.unique(level + taken, return_inverse=True, return_counts=True)
        able = np.bincount(kinds[free], minlength=len(values)) * (values < graph.nodes - 1)
        moves = _moves(values, counts, able, left, k)
        if not moves.any():
            return None
        order = np.lexsort((random.random(graph.nodes), near, taken, ~free, kinds))
        within = np.arange(graph.nodes) - np.repeat(np.cumsum(counts) - counts, counts)
        taken[order[within < moves[kinds[order]]]] += 1
        left -= int(moves.sum())
    return taken


def _moves(values: Integers, counts: Integers, able: Integers, left: int, k: int) -> Integers:
    """How many nodes of each degree get one edge more, such that every degree still occurs k times or not at all.

    Some go to the next degree if people have it, or k or more found it. Failing that, all of a degree go: those of the lowest that
    are not too many, otherwise those of whom fewest are too many, by an even number, who can be joined to each other.
    """
    moves, spare = np.zeros(len(values), np.int64), np.minimum(able, counts - k)
    next_to = np.append(values[1:] == values[:-1] + 1, False)
    for place in np.flatnonzero(np.where(next_to, spare >= 1, spare >= k)):
        if next_to[place] or left >= k:
            moves[place] = min(int(spare[place]), left)
            left -= int(moves[place])
    if moves.any():
        return moves
    whole = np.flatnonzero((able == counts) & (counts > 0))
    for place in whole:
        if counts[place] <= left:
            moves[place] = counts[place]
            left -= int(counts[place])
    if moves.any():
        return moves
    ways = [(int(counts[place]), int(place)) for place in whole]
    ways += [(size, int(place)) for place in np.flatnonzero(spare > k) for size in (k, k + 1)]
    if ways:
        size, where = min(ways, key=lambda way: ((way[0] - left) % 2, way))
        moves[where] = size
    return moves


def raise_lowest(degrees: Integers, count: int, random: np.random.Generator) -> None:
    """Raise `count` of the lowest degrees by one, in place, ties at random; none beyond that of a complete graph."""
    nodes = len(degrees)
    room = np.flatnonzero(degrees < nodes - 1)
    chosen = room[np.lexsort((random.random(len(room)), degrees[room]))[:count]]
    degrees[chosen] += 1


def with_deletions(graph: Graph, k: int, random: np.random.Generator, greedy: bool = False) -> tuple[Graph, dict[str, Any]]:
    """A graph whose degrees are k-anonymous, by adding, deleting and moving edges; close to the median degrees of the groups."""
    wanted = anonymous_degrees(graph.degrees, k, greedy=greedy, delete=not greedy)
    made = rewire(graph, make_even(wanted, k), random)
    if made is None:  # too dense or too small to move edges about
        return supergraph(graph, k, random, greedy)
    return made, {"probing_rounds": 0, "raised": 0, "least_edges": 0}
