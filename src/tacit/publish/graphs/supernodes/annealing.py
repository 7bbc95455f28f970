"""Simulated annealing over groupings: proposals that raise log|W| by c are accepted with probability exp(-c / temperature).

The search starts from groups that share neighbours, as recursive bisection finds them, or from groups of similar degree if these
have fewer worlds. The temperature falls, and with it the acceptance of worse groupings. Most proposals are swaps; now and then a
node moves, a group is split in two, or two are merged. A node is mostly proposed for the group of a node that shares a neighbour
with it, and has not many more neighbours or fewer; of the shared neighbours, those with few neighbours tell most. The others are
swapped with a node of about the same degree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp
from operator import itemgetter
from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.supernodes.bisection import bisected
from tacit.publish.graphs.supernodes.blocks import blocks_of
from tacit.publish.graphs.supernodes.proposals import forget, share, swap, swap_change
from tacit.publish.graphs.supernodes.state import FREE, USED, State, crowded, moved, remade, state_of

PER_NODE = 400  # proposals, at which the start no longer matters
BATCHES = 400
WIDEST = 3  # the largest group is so many times k
OTHERS = 0.02  # share of proposals that change sizes
WARM, COLD = 0.15, 0.002  # the first and the last temperature, over the mean change of a random proposal
FROZEN = 0.0002  # the search ends when fewer proposals are accepted
SHARED = 0.95  # share of proposals with a node that shares a neighbour
PICKS = 1  # further neighbours that are looked at, for the one with the fewest neighbours, who tells most
TRIES, APART = 4, 3  # such nodes that are looked at until one has at most so many times more neighbours, or fewer
NEAR = 64  # how far apart in the order of degrees two nodes of about the same degree may be
Told = Callable[[float], None] | None


@dataclass(frozen=True, slots=True, eq=False)
class Annealed:
    """The best grouping that was seen, its log|W|, and that of groups of similar degree."""

    groups: Integers
    log_worlds: float
    start: float
    proposals: int


def by_degree(graph: Graph, k: int) -> Integers:
    """Groups of k nodes in the order of degrees; what remains joins the last one."""
    groups = np.empty(graph.nodes, np.int64)
    count = max(graph.nodes // k, 1)
    groups[np.argsort(-graph.degrees, kind="stable")] = np.minimum(np.arange(graph.nodes) // k, count - 1)
    return groups


def annealed(graph: Graph, k: int, seed: int = 0, per_node: int = PER_NODE, told: Told = None) -> Annealed:
    """A grouping with groups of at least k nodes and few worlds. `per_node` is the number of proposals for every node."""
    similar = by_degree(graph, k)
    count, most = int(similar.max()) + 1, max(WIDEST * k, int(np.bincount(similar).max()))
    first = blocks_of(graph, similar).log_worlds
    if count < 2 or not graph.edges or per_node < 1:
        return Annealed(similar, first, first, 0)
    total, start = min(((blocks_of(graph, each).log_worlds, each) for each in (similar, bisected(graph, k))), key=itemgetter(0))
    best, kept = total, start
    state, order = state_of(graph, start, most, count), np.argsort(-graph.degrees, kind="stable")
    rank = np.empty(graph.nodes, np.int64)
    rank[order] = np.arange(graph.nodes)
    random = np.array([np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] | 1], np.uint64)
    scale = mean_change(state, order, rank, random)
    batch, done = max(per_node * graph.nodes // BATCHES, 1), 0
    for each in range(BATCHES):
        temperature = scale * WARM * (COLD / WARM) ** (each / (BATCHES - 1))
        made, accepted = 0, 0
        while made < batch:
            if crowded(state):
                state = remade(state)
            run, taken, change = run_batch(state, order, rank, random, (min(batch - made, 4096), k, temperature))
            made, accepted, total = made + run, accepted + taken, total + change
        done += made
        if total < best:
            best, kept = total, state.group.copy()
        if told is not None:
            told((each + 1) / BATCHES)
        if accepted < FROZEN * made:
            break
    groups = np.unique(kept, return_inverse=True)[1].astype(np.int64)
    return Annealed(groups, best, first, done)


def mean_change(state: State, order: Integers, rank: Integers, random: Any) -> float:
    """The mean absolute change of 1,000 random swaps, none of which is made."""
    found = []
    for _ in range(1000):
        first = int(_drawn(random) * len(order))
        second = _partner(state, order, rank, random, first)
        if state.group[first] != state.group[second]:
            found.append(abs(swap_change(state, first, second)))
            forget(state)
    return max(float(sum(found)) / max(len(found), 1), 1e-6)


@compiled
def _drawn(random: Any) -> Any:
    """A random number from 0 to 1 (xorshift64*)."""
    held = random[0]
    held ^= held >> np.uint64(12)
    held ^= held << np.uint64(25)
    held ^= held >> np.uint64(27)
    random[0] = held
    return float((held * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@compiled
def _partner(state: Any, order: Any, rank: Any, random: Any, node: Any) -> Any:
    """A node whose place may suit this one: a member of the group of a second neighbour, or one of about the same degree."""
    degree, chosen = state.offsets[node + 1] - state.offsets[node], _drawn(random)
    if chosen < SHARED and degree > 0:
        for _ in range(TRIES):
            middle = state.targets[state.offsets[node] + int(_drawn(random) * degree)]
            for _ in range(PICKS):
                second = state.targets[state.offsets[node] + int(_drawn(random) * degree)]
                if state.offsets[second + 1] - state.offsets[second] < state.offsets[middle + 1] - state.offsets[middle]:
                    middle = second
            begin, end = state.offsets[middle], state.offsets[middle + 1]
            other = state.targets[begin + int(_drawn(random) * (end - begin))]
            group = state.group[other]
            found = int(state.members[group, int(_drawn(random) * state.size[group])])
            its = state.offsets[found + 1] - state.offsets[found]
            if its <= APART * degree + 1 and degree <= APART * its + 1:
                return found
    place = rank[node] + int((_drawn(random) * 2 - 1) * NEAR)
    return int(order[min(max(place, 0), len(order) - 1)])


@compiled
def run_batch(state: Any, order: Any, rank: Any, random: Any, terms: Any) -> Any:
    """At most terms[0] proposals; ends early if the table fills up. Returns how many, how many were accepted, and their change."""
    proposals, k, temperature = terms
    total, accepted, done = 0.0, 0, 0
    while done < proposals:
        done += 1
        first = int(_drawn(random) * len(order))
        second = _partner(state, order, rank, random, first)
        if _drawn(random) < OTHERS:
            change = _resized(state, random, (first, second, k, temperature))
            accepted += change != 0.0
            total += change
        elif state.group[first] != state.group[second]:
            change = swap_change(state, first, second)
            if change <= 0 or _drawn(random) < exp(-change / temperature):
                swap(state, first, second)
                accepted += 1
                total += change
            forget(state)
        if state.bits > 0 and 4 * state.counts[USED] > 3 * len(state.table):
            break
    return done, accepted, total


@compiled
def _resized(state: Any, random: Any, terms: Any) -> Any:
    """A move of `first` to the group of `second`, a merge of both groups, or a split of the first; the change, 0 if refused."""
    first, second, k, temperature = terms
    one, two, chosen = state.group[first], state.group[second], _drawn(random)
    most = state.members.shape[1]
    if chosen < 0.8:
        possible = one != two and state.size[one] > k and state.size[two] < most
        count = 1
    elif chosen < 0.9:
        possible = one != two and state.size[one] + state.size[two] <= most
        count = state.size[one]
    else:
        possible = state.size[one] >= 2 * k and state.counts[FREE] > 0
        count = k + int(_drawn(random) * (state.size[one] - 2 * k + 1))
        two = state.free[state.counts[FREE] - 1] if possible else two
    if not possible:
        return 0.0
    before = share(state, one, two, 0)
    if count == 1:
        moved(state, first, two)
    else:
        for _ in range(count):
            moved(state, np.int64(state.members[one, int(_drawn(random) * state.size[one])]), two)
    change = share(state, one, two, 1) - before
    if change <= 0 or _drawn(random) < exp(-change / temperature):
        if 0.8 <= chosen < 0.9:  # a merge frees a group
            state.free[state.counts[FREE]] = one
            state.counts[FREE] += 1
        elif chosen >= 0.9:
            state.counts[FREE] -= 1
        return change if change != 0.0 else 1e-300
    share(state, one, two, 0)
    for _ in range(count):
        moved(state, np.int64(state.members[two, state.size[two] - 1]), one)
    share(state, one, two, 1)
    return 0.0
