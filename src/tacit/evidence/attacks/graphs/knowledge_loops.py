"""The loops of what an attacker can know of a person: the neighbourhood, the distance to hubs, a few edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.evidence.attacks.graphs.search_loops import linked
from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.refining import mixed


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
    colours, fresh, found = np.zeros(widest, np.uint64), np.zeros(widest, np.uint64), np.zeros(nodes, np.uint64)
    for node in range(nodes):
        size = offsets[node + 1] - offsets[node]
        for place in range(size):
            place_of[targets[offsets[node] + place]] = place
        inside_rows(offsets, targets, node, place_of, begin, inside)
        for place in range(size):
            place_of[targets[offsets[node] + place]] = -1
            colours[place] = mixed(np.uint64(begin[place + 1] - begin[place]))
        for _ in range(rounds):
            for place in range(size):
                total = np.uint64(0)
                for step in range(begin[place], begin[place + 1]):
                    total += mixed(colours[inside[step]])
                fresh[place] = mixed(mixed(colours[place]) + np.uint64(3) * mixed(total))
            colours[:size] = fresh[:size]
        whole = mixed(np.uint64(size))
        for place in range(size):
            whole += mixed(colours[place])
        found[node] = mixed(whole)
    return found


@compiled
def distances(offsets: Any, targets: Any, start: Any, most: Any) -> Any:
    """The distance of every node from one, up to `most`; most + 1 beyond."""
    nodes = len(offsets) - 1
    found, queue = np.full(nodes, most + 1, np.int64), np.empty(nodes, np.int64)
    found[start], queue[0], head, tail = 0, start, 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        if found[node] == most:
            break
        for place in range(offsets[node], offsets[node + 1]):
            other = targets[place]
            if found[other] > most:
                found[other] = found[node] + 1
                queue[tail] = other
                tail += 1
    return found


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
            missing = pattern[earlier, depth] and not linked(offsets, targets, match[earlier], node)
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
def containing(offsets: Any, targets: Any, pattern: Any, parents: Any, most: Any) -> Any:
    """The number of nodes around which the known edges fit, those counted where the search was stopped."""
    needed, found = pattern[0].sum(), 0
    for node in range(len(offsets) - 1):
        if offsets[node + 1] - offsets[node] >= needed:
            found += contains(offsets, targets, node, pattern, parents, most) != 0
    return found
