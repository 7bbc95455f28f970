"""A grouping that is being changed: the group of each node, and the edges between groups in a hash table.

The arrays are few, because the compiler takes its time for each of them in every function that reads the state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit.publish.graphs.compiled import compiled, inner
from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.supernodes.blocks import blocks_of
from tacit.publish.graphs.supernodes.start import kinds

PLAIN = 8192  # most groups for which the edges of blocks are a plain table (128 MB), which is faster than a hash table
EMPTY = -1
PLACE, KIND, RANK, ORDER = range(4)  # columns of `nodes`
OURS, THEIRS, LISTED = range(3)  # columns of `scratch`
FREE, USED, TOUCHED, BITS, OPEN, ACTIVE, STACK = range(7)  # places in `counts`


class State(NamedTuple):
    """Arrays that the compiled loops read and write. A free group has size 0."""

    offsets: Any
    targets: Any
    group: Any  # of every node
    nodes: Any  # of every node: its place in its group, its kind, and its rank by degree; the node of every rank
    groups: Any  # of every group: its size, then its members
    plain: Any  # edges of the blocks of all pairs of groups, in both orders, or nothing
    table: Any  # or hashed pairs, each with its edges in the lowest bits
    logs: Any  # of factorials
    scratch: Any  # of every group: edges of the first node of a proposal, of the second; then the groups in which one is not 0
    counts: Any  # free groups; keys in the table; listed groups; bits of edges in a hash table, 0 if it is plain; groups that are
    # not settled; nodes in them, whose ranks come first; and then the free groups

    @property
    def size(self) -> Any:
        """The sizes of all groups."""
        return self.groups[:, 0]

    @property
    def members(self) -> Any:
        """The members of every group, in its first `size` places."""
        return self.groups[:, 1:]


def state_of(graph: Graph, groups: Integers, most: int, slots: int, settled: int | None = None) -> State:
    """The state of a grouping into at most `slots` groups of at most `most` nodes; those from number `settled` on do not change."""
    size = np.zeros(slots, np.int64)
    size[: int(groups.max()) + 1] = np.bincount(groups)
    nodes, held, order = (
        np.zeros((graph.nodes, 4), np.int32),
        np.zeros((slots, most + 1), np.int32),
        np.argsort(groups, kind="stable"),
    )
    nodes[order, PLACE] = np.arange(graph.nodes) - np.repeat(np.cumsum(size) - size, size)
    held[groups[order], 1 + nodes[order, PLACE]] = order
    held[:, 0] = size
    fixed = groups >= (slots if settled is None else settled)
    nodes[:, KIND], nodes[:, ORDER] = kinds(graph), np.lexsort((-graph.degrees, fixed))
    nodes[nodes[:, ORDER], RANK] = np.arange(graph.nodes)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most * most + 1)))])
    free = np.flatnonzero(size == 0)[::-1]
    blocks, hashed = blocks_of(graph, groups), slots > PLAIN or most * most >= 1 << 16
    plain = np.zeros((1, 1) if hashed else (slots, slots), np.uint16)
    table = np.full(_room(len(blocks.edges)) if hashed else 1, EMPTY, np.int64)
    counts = np.zeros(STACK + slots, np.int64)
    counts[FREE], counts[BITS], counts[STACK : STACK + len(free)] = len(free), int(most * most).bit_length() if hashed else 0, free
    counts[OPEN], counts[ACTIVE] = slots if settled is None else settled, int((~fixed).sum())
    scratch = np.zeros((slots, 3), np.int32)
    made = State(graph.offsets, graph.targets, groups.astype(np.int32), nodes, held, plain, table, logs, scratch, counts)
    _fill(made, blocks.ones, blocks.twos, blocks.edges)
    return made


def is_crowded(state: State) -> bool:
    """Whether the hash table is more than half full, so that it should be made anew."""
    return bool(state.counts[BITS]) and 2 * int(state.counts[USED]) > len(state.table)


def remade(state: State) -> State:
    """The same state with a hash table that holds only blocks with edges, and has room."""
    bits = int(state.counts[BITS])
    held = state.table[state.table != EMPTY]
    held = held[held & (1 << bits) - 1 > 0]
    made = state._replace(table=np.full(_room(len(held)), EMPTY, np.int64))
    made.counts[USED] = 0
    ones, twos = np.divmod(held >> bits, len(state.groups))
    _fill(made, ones, twos, held & (1 << bits) - 1)
    return made


def _room(blocks: int) -> int:
    """Small enough for a cache of the processor, and a quarter full."""
    return 1 << max(10, int(4 * blocks).bit_length())


@inner
def _place_of(state: Any, key: Any) -> Any:
    """Where a block stands in the hash table, or would stand."""
    mask, bits = len(state.table) - 1, state.counts[BITS]
    place = (key * 0x9E3779B97F4A7C1) >> 20 & mask
    while state.table[place] >> bits != key and state.table[place] != EMPTY:
        place = place + 1 & mask
    return place


@compiled
def edges_of(state: Any, one: Any, two: Any) -> Any:
    """The number of edges of a block."""
    if state.counts[BITS] == 0:
        return np.int64(state.plain[one, two])
    width = np.int64(len(state.groups))
    key = one * width + two if one < two else two * width + one
    held = state.table[_place_of(state, key)]
    return held & (1 << state.counts[BITS]) - 1 if held != EMPTY else 0


@inner
def put(state: Any, one: Any, two: Any, edges: Any) -> None:
    """Set the number of edges of a block."""
    if state.counts[BITS] == 0:
        state.plain[one, two] = edges
        state.plain[two, one] = edges
        return
    width = np.int64(len(state.groups))
    key = one * width + two if one < two else two * width + one
    place = _place_of(state, key)
    state.counts[USED] += state.table[place] == EMPTY
    state.table[place] = key << state.counts[BITS] | edges


@compiled
def _fill(state: Any, ones: Any, twos: Any, edges: Any) -> None:
    for each in range(len(ones)):
        put(state, ones[each], twos[each], edges[each])


@inner
def move(state: Any, node: Any, group: Any) -> None:
    """Put a node into another group; the blocks are the caller's task."""
    left, place = state.group[node], state.nodes[node, PLACE]
    last = state.groups[left, state.groups[left, 0]]
    state.groups[left, 0] -= 1
    state.groups[left, 1 + place] = last
    state.nodes[last, PLACE] = place
    state.group[node] = group
    state.nodes[node, PLACE] = state.groups[group, 0]
    state.groups[group, 0] += 1
    state.groups[group, state.groups[group, 0]] = node
