"""Compiled loops of the attacks on graphs: the search for a pattern, knowledge of a person, graphs made at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.refining import mix


@compiled
def are_linked(offsets: Any, targets: Any, one: Any, two: Any) -> Any:
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
    nodes, place = np.empty(many, np.int64), 0
    for node in range(len(offsets) - 1):
        if lowest <= offsets[node + 1] - offsets[node] <= highest:
            nodes[place] = node
            place += 1
    return nodes


@compiled
def misses(offsets: Any, targets: Any, pattern: Any, match: Any, depth: Any, node: Any) -> Any:
    """How many links to the accounts found so far a node has too many or too few; more than all if it is one of them."""
    wrong = 0
    for earlier in range(depth):
        if match[earlier] == node:
            return len(match) + 1
        wrong += are_linked(offsets, targets, match[earlier], node) != pattern[earlier, depth]
    return wrong


@compiled
def reached_before(offsets: Any, targets: Any, match: Any, parents: Any, way: Any, node: Any) -> Any:
    """Whether an earlier parent leads to the node as well, so that it was tried already."""
    before = 0
    for earlier in range(way):
        before += are_linked(offsets, targets, match[parents[earlier]], node)
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
    best, matches, seen, depth = np.int64(2**60), 0, 0, 0
    roots = of_degree(offsets, wanted[0] - slack[0], wanted[0] + slack[0])
    while True:
        if depth == 0:
            if cursor[0] == len(roots):
                return matches, best, seen, 1
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
            return matches, best, seen, 0
        match[depth] = node
        if depth + 1 < accounts:
            depth += 1
            cost[depth], wrong[depth], way[depth] = price, amiss, 0
            cursor[depth] = offsets[match[parents[depth, 0]]]
            continue
        if price + amiss < best:
            best, matches = price + amiss, 0
        leaves[matches] = match
        matches += 1
        if matches == len(leaves) and best == 0:
            return matches, best, seen, 1
        matches = min(matches, len(leaves) - 1)


# --- the loops of an attacker's knowledge of a person ----------------------------------------------------------------------


@compiled
def inside_rows(offsets: Any, targets: Any, node: Any, place_of: Any, begin: Any, inside: Any) -> Any:
    """The rows of the graph between the neighbours of a node, by their places in its row; how many entries they have.

    `place_of` has a place for every neighbour and -1 elsewhere; `begin` and `inside` are filled.
    """
    many = 0
    for place in range(offsets[node + 1] - offsets[node]):
        begin[place] = many
        other = targets[offsets[node] + place]
        for step in range(offsets[other], offsets[other + 1]):
            if place_of[targets[step]] >= 0:
                inside[many] = place_of[targets[step]]
                many += 1
    begin[offsets[node + 1] - offsets[node]] = many
    return many


@compiled
def neighbourhood_colours(offsets: Any, targets: Any, rounds: Any) -> Any:
    """For every node a hash of the graph between its neighbours, after rounds of refinement inside it.

    Isomorphic neighbourhoods have equal hashes; different ones mostly have different hashes.
    """
    nodes, widest, room = len(offsets) - 1, 0, 0
    for node in range(nodes):
        around = 0
        for place in range(offsets[node], offsets[node + 1]):
            around += min(offsets[targets[place] + 1] - offsets[targets[place]], offsets[node + 1] - offsets[node])
        widest, room = max(widest, offsets[node + 1] - offsets[node]), max(room, around)
    place_of, begin, inside = np.full(nodes, -1, np.int64), np.zeros(widest + 1, np.int64), np.zeros(room + 1, np.int64)
    colours, fresh, hashes = np.zeros(widest, np.uint64), np.zeros(widest, np.uint64), np.zeros(nodes, np.uint64)
    for node in range(nodes):
        size = offsets[node + 1] - offsets[node]
        for place in range(size):
            place_of[targets[offsets[node] + place]] = place
        inside_rows(offsets, targets, node, place_of, begin, inside)
        for place in range(size):
            place_of[targets[offsets[node] + place]] = -1
            colours[place] = mix(np.uint64(begin[place + 1] - begin[place]))
        for _ in range(rounds):
            for place in range(size):
                total = np.uint64(0)
                for step in range(begin[place], begin[place + 1]):
                    total += mix(colours[inside[step]])
                fresh[place] = mix(mix(colours[place]) + np.uint64(3) * mix(total))
            colours[:size] = fresh[:size]
        whole = mix(np.uint64(size))
        for place in range(size):
            whole += mix(colours[place])
        hashes[node] = mix(whole)
    return hashes


@compiled
def distances(offsets: Any, targets: Any, start: Any, most: Any) -> Any:
    """The distance of every node from one, up to `most`; most + 1 beyond."""
    nodes = len(offsets) - 1
    steps, queue = np.full(nodes, most + 1, np.int64), np.empty(nodes, np.int64)
    steps[start], queue[0], head, tail = 0, start, 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        if steps[node] == most:
            break
        for place in range(offsets[node], offsets[node + 1]):
            other = targets[place]
            if steps[other] > most:
                steps[other] = steps[node] + 1
                queue[tail] = other
                tail += 1
    return steps


@compiled
def contains(offsets: Any, targets: Any, root: Any, pattern: Any, parents: Any, most: Any) -> Any:
    """Whether the known edges fit around a node: 1 if so, 0 if not, 2 if the search is stopped after `most` steps."""
    size, steps, depth = len(pattern), 0, 1
    match, cursor = np.zeros(size, np.int64), np.zeros(size, np.int64)
    match[0], cursor[1] = root, offsets[root]
    while depth > 0:
        parent = match[parents[depth]]
        if cursor[depth] == offsets[parent + 1]:
            depth -= 1
            continue
        node = np.int64(targets[cursor[depth]])
        cursor[depth] += 1
        steps += 1
        if steps > most:
            return 2
        fits = True
        for earlier in range(depth):
            missing = pattern[earlier, depth] and not are_linked(offsets, targets, match[earlier], node)
            if match[earlier] == node or missing:
                fits = False
                break
        if not fits:
            continue
        match[depth] = node
        depth += 1
        if depth == size:
            return 1
        cursor[depth] = offsets[match[parents[depth]]]
    return 0


@compiled
def count_containing(offsets: Any, targets: Any, pattern: Any, parents: Any, most: Any) -> Any:
    """The number of nodes around which the known edges fit, those counted where the search was stopped."""
    needed, count = pattern[0].sum(), 0
    for node in range(len(offsets) - 1):
        if offsets[node + 1] - offsets[node] >= needed:
            count += contains(offsets, targets, node, pattern, parents, most) != 0
    return count


# --- loops that make graphs --------------------------------------------------------------------------------------------------


@compiled
def relabel_rows(offsets: Any, targets: Any, label_of: Any, node_of: Any) -> Any:
    """The rows of a graph under new labels. Labels are visited in ascending order, so every row comes out sorted."""
    nodes = len(offsets) - 1
    made, rows = np.zeros(nodes + 1, np.int64), np.empty_like(targets)
    for label in range(nodes):
        made[label + 1] = made[label] + offsets[node_of[label] + 1] - offsets[node_of[label]]
    cursor = made[:-1].copy()
    for label in range(nodes):
        for place in range(offsets[node_of[label]], offsets[node_of[label] + 1]):
            other = label_of[targets[place]]
            rows[cursor[other]] = label
            cursor[other] += 1
    return made, rows


@compiled
def partners(nodes: Any, links: Any, first: Any, last: Any, power: Any, seed: Any) -> Any:
    """For every link one end: node i with a probability proportional to (i + shift) ** (1 / power - 1).

    The end is the inverse of the distribution at a uniform number: (first + u (last - first)) ** power, less the shift.
    """
    shift, ends = first**power, np.empty(links, np.int32)
    for place in range(links):
        uniform = np.float64(mix(np.uint64(seed) + np.uint64(place)) >> np.uint64(11)) * 2.0**-53
        node = np.int64((first + uniform * (last - first)) ** power - shift)
        ends[place] = min(max(node, 0), nodes - 1)
    return ends
