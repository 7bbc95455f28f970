"""Changes of a grouping: the change of log|W| by a swap, computed without making it, and by a move, a split or a merge.

A swap of u and v leaves all sizes as they are: only the blocks of their two groups with groups of their neighbours change, and no
other is looked at. The others change sizes, so all blocks of the groups are counted anew before and after.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled, inner
from tacit.publish.graphs.supernodes.state import LISTED, OURS, PLACE, THEIRS, TOUCHED, edges_of, put


@compiled
def swap_change(state: Any, first: Any, second: Any) -> Any:
    """The change of log|W| if two nodes of different groups were exchanged; their edges stay in the scratch arrays."""
    count_edges(state, first, OURS)
    count_edges(state, second, THEIRS)
    one, two = np.int64(state.group[first]), np.int64(state.group[second])
    sizes, scratch, change = (np.int64(state.groups[one, 0]), np.int64(state.groups[two, 0])), state.scratch, 0.0
    for each in range(state.counts[TOUCHED]):
        other = np.int64(scratch[each, LISTED])
        less = scratch[other, OURS] - scratch[other, THEIRS]
        if other != one and other != two and less != 0:
            size = state.groups[other, 0]
            edges = edges_of(state, one, other)
            change += _log_ratio(state.logs, sizes[0] * size, edges, edges - less)
            edges = edges_of(state, two, other)
            change += _log_ratio(state.logs, sizes[1] * size, edges, edges + less)
    before, after = _own_blocks(state, first, second)
    change += _log_ratio(state.logs, sizes[0] * (sizes[0] - 1) // 2, before[0], after[0])
    change += _log_ratio(state.logs, sizes[1] * (sizes[1] - 1) // 2, before[2], after[2])
    return change + _log_ratio(state.logs, sizes[0] * sizes[1], before[1], after[1])


@inner
def swap(state: Any, first: Any, second: Any) -> None:
    """Exchange the two nodes whose edges the scratch arrays hold."""
    one, two, scratch = np.int64(state.group[first]), np.int64(state.group[second]), state.scratch
    _, after = _own_blocks(state, first, second)
    for each in range(state.counts[TOUCHED]):
        other = np.int64(scratch[each, LISTED])
        less = scratch[other, OURS] - scratch[other, THEIRS]
        if other != one and other != two and less != 0:
            put(state, one, other, edges_of(state, one, other) - less)
            put(state, two, other, edges_of(state, two, other) + less)
    put(state, one, one, after[0])
    put(state, one, two, after[1])
    put(state, two, two, after[2])
    places = state.nodes[first, PLACE], state.nodes[second, PLACE]
    state.group[first], state.group[second] = two, one
    state.nodes[first, PLACE], state.nodes[second, PLACE] = places[1], places[0]
    state.groups[one, 1 + places[0]], state.groups[two, 1 + places[1]] = second, first


@inner
def _own_blocks(state: Any, first: Any, second: Any) -> Any:
    """Edges inside the first group, between both, and inside the second, before and after the swap. Their sum does not change."""
    one, two, scratch = np.int64(state.group[first]), np.int64(state.group[second]), state.scratch
    adjacent = np.int64(0)
    if scratch[two, OURS] > 0 and scratch[one, THEIRS] > 0:
        for each in range(state.offsets[first], state.offsets[first + 1]):
            adjacent += state.targets[each] == second
    before = edges_of(state, one, one), edges_of(state, one, two), edges_of(state, two, two)
    inside = before[0] - scratch[one, OURS] + scratch[one, THEIRS] - adjacent
    within = before[2] - scratch[two, THEIRS] + scratch[two, OURS] - adjacent
    return before, (inside, before[0] + before[1] + before[2] - inside - within, within)


@inner
def forget(state: Any) -> None:
    """Clear the scratch arrays."""
    for each in range(state.counts[TOUCHED]):
        other = state.scratch[each, LISTED]
        state.scratch[other, OURS] = 0
        state.scratch[other, THEIRS] = 0
    state.counts[TOUCHED] = 0


@inner
def count_edges(state: Any, node: Any, side: Any) -> None:
    """Count the edges of a node by group, in one of two columns of the scratch array."""
    scratch, listed = state.scratch, state.counts[TOUCHED]
    for each in range(state.offsets[node], state.offsets[node + 1]):
        group = state.group[state.targets[each]]
        if scratch[group, OURS] == 0 and scratch[group, THEIRS] == 0:
            scratch[listed, LISTED] = group
            listed += 1
        scratch[group, side] += 1
    state.counts[TOUCHED] = listed


@inner
def _log_ratio(logs: Any, cells: Any, before: Any, after: Any) -> Any:
    """log C(cells, after) - log C(cells, before)."""
    return logs[before] + logs[cells - before] - logs[after] - logs[cells - after]


@inner
def alone(state: Any, one: Any, two: Any) -> Any:
    """The approximate change of log|W| if a node of group `one` with the edges in the scratch array were in group `two`.

    A block that would be more than full counts as full. No size changes, as if another node came back.
    """
    scratch, change = state.scratch, 0.0
    sizes = np.int64(state.groups[one, 0]), np.int64(state.groups[two, 0])
    for each in range(state.counts[TOUCHED]):
        other = np.int64(scratch[each, LISTED])
        if other != one and other != two:
            edges, size = edges_of(state, one, other), state.groups[other, 0]
            change += _log_ratio(state.logs, sizes[0] * size, edges, edges - scratch[other, OURS])
            edges = edges_of(state, two, other)
            change += _log_ratio(state.logs, sizes[1] * size, edges, min(edges + scratch[other, OURS], sizes[1] * size))
    edges = edges_of(state, one, one)
    change += _log_ratio(state.logs, sizes[0] * (sizes[0] - 1) // 2, edges, edges - scratch[one, OURS])
    edges, cells = edges_of(state, two, two), sizes[1] * (sizes[1] - 1) // 2
    change += _log_ratio(state.logs, cells, edges, min(edges + scratch[two, OURS], cells))
    edges, cells = edges_of(state, one, two), sizes[0] * sizes[1]
    return change + _log_ratio(state.logs, cells, edges, min(edges + scratch[one, OURS] - scratch[two, OURS], cells))


@inner
def share(state: Any, one: Any, two: Any, writing: Any) -> Any:
    """The share of two groups in log|W|; their blocks are set to what their members have (1) or to 0 (0)."""
    return _group(state, one, two, writing) + _group(state, two, one, writing)


@inner
def _group(state: Any, group: Any, excluded: Any, writing: Any) -> Any:
    """The blocks of a group, counted from the edges of its members, written (1) or erased (0); their share without `excluded`.

    The block of both is counted with the group of the smaller number alone.
    """
    share, size = 0.0, np.int64(state.groups[group, 0])
    for each in range(size):
        count_edges(state, np.int64(state.groups[group, 1 + each]), OURS)
    for each in range(state.counts[TOUCHED]):
        other = np.int64(state.scratch[each, LISTED])
        edges, cells = np.int64(state.scratch[other, OURS]), size * state.groups[other, 0]
        if other == group:
            edges, cells = edges // 2, size * (size - 1) // 2
        put(state, group, other, writing * edges)
        if other != excluded or group < excluded:
            share += state.logs[cells] - state.logs[edges] - state.logs[cells - edges]
    forget(state)
    return share
