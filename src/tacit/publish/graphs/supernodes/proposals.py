"""Changes of a grouping: what a swap would add to log|W|, without making it, and what a move, a split or a merge adds.

A swap of u and v leaves all sizes as they are: only the blocks of their two groups with groups of their neighbours change, and no
other is looked at. The others change sizes, so all blocks of the groups are counted anew before and after.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.supernodes.state import TOUCHED, edges_of, moved, put


@compiled
def swap_change(state: Any, first: Any, second: Any) -> Any:
    """What exchanging two nodes of different groups would add to log|W|; their edges stay in the scratch arrays."""
    one, two = state.group[first], state.group[second]
    adjacent = _counted(state, first, state.ours, second)
    _counted(state, second, state.theirs, first)
    change = 0.0
    for each in range(state.counts[TOUCHED]):
        other = state.listed[each]
        less = state.ours[other] - state.theirs[other]
        if other != one and other != two and less != 0:
            edges, cells = edges_of(state, one, other), state.size[one] * state.size[other]
            change += _log_ratio(state.logs, cells, edges, edges - less)
            edges, cells = edges_of(state, two, other), state.size[two] * state.size[other]
            change += _log_ratio(state.logs, cells, edges, edges + less)
    inside, across, within = _own_blocks(state, one, two, adjacent)
    for group, edges in ((one, inside), (two, within)):
        cells = state.size[group] * (state.size[group] - 1) // 2
        change += _log_ratio(state.logs, cells, edges_of(state, group, group), edges)
    cells = state.size[one] * state.size[two]
    return change + _log_ratio(state.logs, cells, edges_of(state, one, two), across)


@compiled
def swap(state: Any, first: Any, second: Any) -> None:
    """Exchange the two nodes whose edges the scratch arrays hold."""
    one, two = state.group[first], state.group[second]
    adjacent = np.int64(0)
    for each in range(state.offsets[first], state.offsets[first + 1]):
        adjacent += state.targets[each] == second
    inside, across, within = _own_blocks(state, one, two, adjacent)
    for each in range(state.counts[TOUCHED]):
        other = state.listed[each]
        less = state.ours[other] - state.theirs[other]
        if other != one and other != two and less != 0:
            put(state, one, other, edges_of(state, one, other) - less)
            put(state, two, other, edges_of(state, two, other) + less)
    put(state, one, one, inside)
    put(state, two, two, within)
    put(state, one, two, across)
    moved(state, first, two)
    moved(state, second, one)


@compiled
def forget(state: Any) -> None:
    """Clear the scratch arrays."""
    for each in range(state.counts[TOUCHED]):
        state.ours[state.listed[each]] = 0
        state.theirs[state.listed[each]] = 0
    state.counts[TOUCHED] = 0


@compiled
def _own_blocks(state: Any, one: Any, two: Any, adjacent: Any) -> Any:
    """Edges inside the first group, between both, and inside the second, after the swap. Their sum does not change."""
    before = edges_of(state, one, one), edges_of(state, one, two), edges_of(state, two, two)
    inside = before[0] - state.ours[one] + state.theirs[one] - adjacent
    within = before[2] - state.theirs[two] + state.ours[two] - adjacent
    return inside, before[0] + before[1] + before[2] - inside - within, within


@compiled
def _counted(state: Any, node: Any, edges: Any, other: Any) -> Any:
    """Count the edges of a node by group; whether one leads to the other node."""
    adjacent = 0
    for each in range(state.offsets[node], state.offsets[node + 1]):
        group = state.group[state.targets[each]]
        if state.ours[group] == 0 and state.theirs[group] == 0:
            state.listed[state.counts[TOUCHED]] = group
            state.counts[TOUCHED] += 1
        edges[group] += 1
        adjacent += state.targets[each] == other
    return adjacent


@compiled
def _log_ratio(logs: Any, cells: Any, before: Any, after: Any) -> Any:
    """log C(cells, after) - log C(cells, before)."""
    return logs[before] + logs[cells - before] - logs[after] - logs[cells - after]


@compiled
def share(state: Any, one: Any, two: Any, writing: Any) -> Any:
    """The share of two groups in log|W|; their blocks are set to what their members have (1) or to 0 (0)."""
    return _group(state, one, two, writing) + _group(state, two, one, writing)


@compiled
def _group(state: Any, group: Any, counted: Any, writing: Any) -> Any:
    """The blocks of a group, counted from the edges of its members, written (1) or erased (0); their share without `counted`.

    The block of both is counted with the group of the smaller number alone.
    """
    share, size = 0.0, state.size[group]
    for each in range(size):
        _counted(state, np.int64(state.members[group, each]), state.ours, np.int64(-1))
    for each in range(state.counts[TOUCHED]):
        other = state.listed[each]
        edges, cells = state.ours[other], size * state.size[other]
        if other == group:
            edges, cells = edges // 2, size * (size - 1) // 2
        put(state, group, other, writing * edges)
        if other != counted or group < counted:
            share += state.logs[cells] - state.logs[edges] - state.logs[cells - edges]
    forget(state)
    return share
