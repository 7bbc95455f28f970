"""A grouping that is being changed: who is in which group, and the edges between groups in a hash table of our own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.supernodes.blocks import blocks_of

PLAIN = 1 << 20  # blocks of at most so many pairs of groups are a plain table, which is faster than hashing
EMPTY = -1
FREE, USED, TOUCHED = range(3)  # places in `counts`: free groups, keys in the table, groups in `listed`


class State(NamedTuple):
    """Arrays that the compiled loops read and write. A free group has size 0."""

    offsets: Any
    targets: Any
    group: Any  # of every node
    place: Any  # of every node among the members of its group
    members: Any  # of every group, in its first `size` places
    size: Any
    table: Any  # edges of blocks: a plain table of all pairs of groups, or hashed pairs, each with its edges in the lowest bits
    bits: Any  # how many bits the edges have in a hash table; 0 if the table is plain
    logs: Any  # of factorials
    free: Any
    counts: Any
    ours: Any  # scratch: for every group, edges of the first node of a proposal, or of a group
    theirs: Any  # scratch: the same for the second
    listed: Any  # scratch: the groups in which one of both is not 0


def state_of(graph: Graph, groups: Integers, most: int, slots: int) -> State:
    """The state of a grouping into at most `slots` groups of at most `most` nodes."""
    size = np.zeros(slots, np.int64)
    size[: int(groups.max()) + 1] = np.bincount(groups)
    members, place = np.zeros((slots, most), np.int32), np.zeros(graph.nodes, np.int64)
    order = np.argsort(groups, kind="stable")
    place[order] = np.arange(graph.nodes) - np.repeat(np.cumsum(size) - size, size)
    members[groups[order], place[order]] = order
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most * most + 1)))])
    free = np.flatnonzero(size == 0)[::-1].copy()
    counts = np.array([len(free), 0, 0], np.int64)
    room = np.concatenate([free, np.zeros(slots - len(free), np.int64)])
    plain = slots * slots <= PLAIN
    table = np.zeros(slots * slots, np.int64) if plain else np.full(_room(graph.edges), EMPTY, np.int64)
    bits = 0 if plain else int(most * most).bit_length()
    scratch = [np.zeros(slots, np.int64) for _ in range(3)]
    made = State(graph.offsets, graph.targets, groups.copy(), place, members, size, table, bits, logs, room, counts, *scratch)
    blocks = blocks_of(graph, groups)
    _fill(made, blocks.ones, blocks.twos, blocks.edges)
    return made


def crowded(state: State) -> bool:
    """Whether the hash table is more than half full, so that it should be made anew."""
    return state.bits > 0 and 2 * int(state.counts[USED]) > len(state.table)


def remade(state: State) -> State:
    """The same state with a hash table that holds only blocks with edges, and has room."""
    held = state.table[state.table != EMPTY]
    edges = held & (1 << state.bits) - 1
    made = state._replace(table=np.full(_room(len(state.targets) // 2), EMPTY, np.int64))
    made.counts[USED] = 0
    ones, twos = np.divmod(held[edges > 0] >> state.bits, len(state.size))
    _fill(made, ones, twos, edges[edges > 0])
    return made


def _room(blocks: int) -> int:
    return 1 << max(10, int(4 * blocks).bit_length())


@compiled
def _found(state: Any, key: Any) -> Any:
    """Where a block stands in the hash table, or would stand."""
    mask = len(state.table) - 1
    found = (key * 0x9E3779B97F4A7C1) >> 20 & mask
    while state.table[found] >> state.bits != key and state.table[found] != EMPTY:
        found = found + 1 & mask
    return found


@compiled
def edges_of(state: Any, one: Any, two: Any) -> Any:
    """The number of edges of a block."""
    width = len(state.size)
    key = one * width + two if one < two else two * width + one
    if state.bits == 0:
        return state.table[key]
    held = state.table[_found(state, key)]
    return held & (1 << state.bits) - 1 if held != EMPTY else 0


@compiled
def put(state: Any, one: Any, two: Any, edges: Any) -> None:
    """Set the number of edges of a block."""
    width = len(state.size)
    key = one * width + two if one < two else two * width + one
    if state.bits == 0:
        state.table[key] = edges
        return
    found = _found(state, key)
    state.counts[USED] += state.table[found] == EMPTY
    state.table[found] = key << state.bits | edges


@compiled
def _fill(state: Any, ones: Any, twos: Any, edges: Any) -> None:
    for each in range(len(ones)):
        put(state, ones[each], twos[each], edges[each])


@compiled
def moved(state: Any, node: Any, group: Any) -> None:
    """Put a node into another group; the blocks are the caller's task."""
    left, place = state.group[node], state.place[node]
    state.size[left] -= 1
    last = state.members[left, state.size[left]]
    state.members[left, place] = last
    state.place[last] = place
    state.group[node] = group
    state.place[node] = state.size[group]
    state.members[group, state.size[group]] = node
    state.size[group] += 1
