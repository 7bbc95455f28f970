"""Simulated annealing over groupings: proposals that raise log|W| by c are accepted with probability exp(-c / temperature).

A temperature is in units of log|W|. It falls, and with it the acceptance of worse groupings. Most proposals are swaps (search.py);
now and then a node moves, a group is split in two, or two are merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.supernodes.blocks import blocks_of
from tacit.publish.graphs.supernodes.search import run_batch
from tacit.publish.graphs.supernodes.start import best_start, by_degree
from tacit.publish.graphs.supernodes.state import is_crowded, remade, state_of

PER_NODE = 400  # proposals, at which the start no longer matters
BATCHES = 400
WIDEST = 3  # size of the largest group, as a multiple of k
WARM, COLD = 4.0, 0.3  # the first and the last temperature
FROZEN = 0.0002  # the search ends when fewer proposals are accepted
Told = Callable[[float], None] | None


@dataclass(frozen=True, slots=True, eq=False)
class Annealed:
    """The best grouping that was seen, its log|W|, and that of groups of similar degree."""

    groups: Integers
    log_worlds: float
    start: float
    proposals: int


def anneal(graph: Graph, k: int, seed: int = 0, per_node: int = PER_NODE, told: Told = None) -> Annealed:
    """A grouping with groups of at least k nodes and few worlds. `per_node` is the number of proposals for every node."""
    similar = by_degree(graph, k)
    count, first = int(similar.max()) + 1, blocks_of(graph, similar).log_worlds
    if count < 2 or not graph.edges or per_node < 1:
        return Annealed(similar, first, first, 0)
    start = best_start(graph, k)
    best = total = start.log_worlds
    kept, most = start.groups, max(WIDEST * k, int(np.bincount(start.groups).max()))
    state = state_of(graph, kept, most, count, start.open)
    random = np.array([np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] | 1], np.uint64)
    batch, done = max(per_node * graph.nodes // BATCHES, 1), 0
    for each in range(BATCHES):
        temperature = WARM * (COLD / WARM) ** (each / (BATCHES - 1))
        made, accepted = 0, 0
        while made < batch:
            if is_crowded(state):
                state = remade(state)
            run, taken, change = run_batch(state, random, min(batch - made, 4096), k, temperature)
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
