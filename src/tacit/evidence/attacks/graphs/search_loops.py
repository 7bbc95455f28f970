"""The loops of the search for a pattern in a graph in compressed rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled


@compiled
def linked(offsets: Any, targets: Any, one: Any, two: Any) -> Any:
    """Whether two nodes are neighbours: binary search in the shorter row."""
    if offsets[one + 1] - offsets[one] > offsets[two + 1] - offsets[two]:
        one, two = two, one
    low, high = offsets[one], offsets[one + 1]
    while low < high:
        middle = (low + high) >> 1
        if targets[middle] < two:
            low = middle + 1
        else:
            high = middle
    return low < offsets[one + 1] and targets[low] == two


@compiled
def of_degree(offsets: Any, lowest: Any, highest: Any) -> Any:
    """The nodes with a degree in a range, ascending."""
    many = 0
    for node in range(len(offsets) - 1):
        many += lowest <= offsets[node + 1] - offsets[node] <= highest
    found, place = np.empty(many, np.int64), 0
    for node in range(len(offsets) - 1):
        if lowest <= offsets[node + 1] - offsets[node] <= highest:
            found[place] = node
            place += 1
    return found


@compiled
def misses(offsets: Any, targets: Any, pattern: Any, match: Any, depth: Any, node: Any) -> Any:
    """How many links to the accounts found so far a node has too many or too few; more than all if it is one of them."""
    wrong = 0
    for earlier in range(depth):
        if match[earlier] == node:
            return len(match) + 1
        wrong += linked(offsets, targets, match[earlier], node) != pattern[earlier, depth]
    return wrong


@compiled
def reached_before(offsets: Any, targets: Any, match: Any, parents: Any, way: Any, node: Any) -> Any:
    """Whether an earlier parent leads to the node as well, so that it was tried already."""
    before = 0
    for earlier in range(way):
        before += linked(offsets, targets, match[parents[earlier]], node)
    return before > 0


@compiled
def search(offsets: Any, targets: Any, wanted: Any, pattern: Any, parents: Any, slack: Any, leaves: Any, most: Any) -> Any:
    """Fills `leaves` with the best matches: (how many, their cost, tree nodes, 1 if the search ended).

    Depth first with a stack of its own. `parents[j]` lists the earlier accounts that account j is linked to, -1 behind them: the
    candidates for j are the neighbours of the first, or, if links may be wrong, of the others. `slack` is the largest difference
    in the degree of one account, and the largest number of wrong links in total. The cost is the sum of all these differences.
    """
    accounts = len(wanted)
    match, cost, wrong, way, cursor = np.zeros((5, accounts), np.int64)
    best, found, seen, depth = np.int64(2**60), 0, 0, 0
    roots = of_degree(offsets, wanted[0] - slack[0], wanted[0] + slack[0])
    while True:
        if depth == 0:
            if cursor[0] == len(roots):
                return found, best, seen, 1
            node = roots[cursor[0]]
        else:
            parent = match[parents[depth, way[depth]]]
            if cursor[depth] == offsets[parent + 1]:
                way[depth] += 1
                if way[depth] + wrong[depth] <= slack[1] and way[depth] < depth and parents[depth, way[depth]] >= 0:
                    cursor[depth] = offsets[match[parents[depth, way[depth]]]]
                else:
                    depth -= 1
                continue
            node = np.int64(targets[cursor[depth]])
        cursor[depth] += 1
        apart = abs(offsets[node + 1] - offsets[node] - wanted[depth])
        if apart > slack[0]:
            continue
        amiss = wrong[depth] + misses(offsets, targets, pattern, match, depth, node)
        price = cost[depth] + apart
        if amiss > slack[1] or price + amiss > best:
            continue
        if way[depth] > 0 and reached_before(offsets, targets, match, parents[depth], way[depth], node):
            continue
        seen += 1
        if seen > most:
            return found, best, seen, 0
        match[depth] = node
        if depth + 1 < accounts:
            depth += 1
            cost[depth], wrong[depth], way[depth] = price, amiss, 0
            cursor[depth] = offsets[match[parents[depth, 0]]]
            continue
        if price + amiss < best:
            best, found = price + amiss, 0
        leaves[found] = match
        found += 1
        if found == len(leaves) and best == 0:
            return found, best, seen, 1
        found = min(found, len(leaves) - 1)
