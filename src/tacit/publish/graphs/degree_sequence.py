"""Degree sequences in which every degree occurs at least k times, at the least cost, and which sequences are those of graphs.

Liu and Terzi (2008). Degrees are sorted in descending order and cut into groups of k to 2k - 1; longer groups need not be tried,
as each can be cut in two at no greater cost. If edges are only added, a group takes its largest degree; if edges may also be
deleted, its median, and the cost is the sum of the absolute differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.graph import Integers


def anonymous_degrees(
    degrees: Any, k: int, *, greedy: bool = False, delete: bool = False, heavy: tuple[int, int] = (0, 1)
) -> Integers:
    """For every node the degree that it gets: each occurs at least k times, and none is below the given one unless `delete`.

    `heavy` is the number of highest degrees with a larger weight in the cost, and that weight; for optimal degrees without
    `delete`.

    >>> anonymous_degrees([4, 3, 3, 2, 2], k=2).tolist()
    [4, 4, 4, 2, 2]
    >>> anonymous_degrees([4, 3, 3, 2, 2], k=2, delete=True).tolist()
    [3, 3, 3, 2, 2]
    """
    given = np.asarray(degrees, dtype=np.int64)
    if k < 1:
        raise InvalidInput("k must be at least 1", argument="k")
    if len(given) < k:
        raise InvalidInput(
            f"k must be at most the number of people: k is {k:,} and the graph has {len(given):,}; choose a smaller k", argument="k"
        )
    order = np.argsort(-given, kind="stable")
    sorted_degrees = given[order]
    weights = np.where(np.arange(len(given)) < heavy[0], heavy[1], 1)
    sums, mass = (np.concatenate([[0], np.cumsum(each)]) for each in (weights * sorted_degrees, weights))
    ends = greedy_groups(sorted_degrees, sums, mass, k) if greedy else optimal_groups(sorted_degrees, sums, mass, k, delete)
    chosen = np.empty_like(given)
    chosen[order] = _group_degrees(sorted_degrees, ends, delete)
    return chosen


def _group_degrees(degrees: Integers, ends: Integers, delete: bool) -> Integers:
    """The degree of each group, its largest or its median, at each of its members."""
    begins = np.concatenate([[0], ends[:-1]])
    places = (begins + ends - 1) // 2 if delete else begins
    return np.repeat(degrees[places], ends - begins)


@compiled
def _cost(degrees: Any, sums: Any, mass: Any, begin: Any, end: Any, delete: Any) -> Any:
    """The cost of giving one degree to all nodes from `begin` up to `end`; weights are all 1 with `delete`."""
    if not delete:
        return degrees[begin] * (mass[end] - mass[begin]) - (sums[end] - sums[begin])
    middle = (begin + end - 1) // 2
    above = sums[middle] - sums[begin] - degrees[middle] * (middle - begin)
    return above + degrees[middle] * (end - middle) - (sums[end] - sums[middle])


@compiled
def optimal_groups(degrees: Any, sums: Any, mass: Any, k: Any, delete: Any = False) -> Any:
    """The ends of the groups in the cheapest division, by dynamic programming in k steps per node.

    `mass` has the sums of the weights of the first nodes, `sums` those of weight times degree.
    """
    nodes = len(degrees)
    best, before = np.empty(nodes + 1, np.int64), np.zeros(nodes + 1, np.int64)
    for end in range(k, nodes + 1):
        best[end] = _cost(degrees, sums, mass, 0, end, delete) if end < 2 * k else np.int64(2**62)
        for begin in range(max(k, end - 2 * k + 1), end - k + 1):
            cost = best[begin] + _cost(degrees, sums, mass, begin, end, delete)
            if cost < best[end]:
                best[end], before[end] = cost, begin
    groups, end = 0, nodes
    while end > 0:
        groups, end = groups + 1, before[end]
    bounds, end = np.empty(groups, np.int64), nodes
    while end > 0:
        groups -= 1
        bounds[groups], end = end, before[end]
    return bounds


@compiled
def greedy_groups(degrees: Any, sums: Any, mass: Any, k: Any) -> Any:
    """The ends of the groups if each node joins the group before it unless a new group is cheaper; a short tail joins the last
    group.
    """
    nodes = len(degrees)
    bounds = np.empty(nodes // k + 1, np.int64)
    groups, begin, place = 0, 0, k
    while place + k <= nodes:
        merged = degrees[begin] - degrees[place]
        if place + k + 1 <= nodes:
            merged += _cost(degrees, sums, mass, place + 1, place + k + 1, False)
        if merged > _cost(degrees, sums, mass, place, place + k, False):
            bounds[groups], begin = place, place
            groups, place = groups + 1, place + k
        else:
            place += 1
    bounds[groups] = nodes
    return bounds[: groups + 1].copy()


def is_graphical(degrees: Any) -> bool:
    """Whether some graph has these degrees: their sum is even, and they satisfy the inequalities of Erdos and Gallai.

    >>> is_graphical([3, 3, 2, 2, 2]), is_graphical([3, 3, 1, 1]), is_graphical([1, 1, 1])
    (True, False, False)
    """
    sorted_degrees = np.sort(np.asarray(degrees, dtype=np.int64))[::-1]
    nodes = len(sorted_degrees)
    if not nodes:
        return True
    if sorted_degrees[-1] < 0 or sorted_degrees[0] >= nodes or sorted_degrees.sum() % 2:
        return False
    sums = np.concatenate([[0], np.cumsum(sorted_degrees)])
    size = np.arange(1, nodes + 1)
    at_least = np.maximum(nodes - np.searchsorted(sorted_degrees[::-1], size), size)  # number of nodes with degree >= size
    rest = size * (at_least - size) + sums[-1] - sums[at_least]
    return bool((sums[1:] <= size * (size - 1) + rest).all())
