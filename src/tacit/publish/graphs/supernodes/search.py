"""The loop of the annealing: a node is proposed for a group, and exchanged with a member of it.

A node is mostly proposed for the group of a node that shares a neighbour with it, and has not many more neighbours or fewer; of the
shared neighbours, those with few neighbours tell most. The others are proposed for the group of a node of about the same degree.

The change of an exchange grows with the degrees of its nodes. While it is hot, nodes with few neighbours would be everywhere alike,
so only the others are proposed; when it is cold, nodes with many neighbours hardly move, so they are proposed less often.

First, the node alone is weighed. An exchange costs at least what both nodes cost alone, because log C(n, d) is concave in d (apart
from edges between the two groups). So if an exchange is accepted up to a cost of c, one of both nodes costs at most c / 2, and the
exchange can be found from that one. Only then are the members of the group tried, except those with the same neighbours, with which
an exchange changes nothing.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled, inner
from tacit.publish.graphs.supernodes.proposals import alone, count_edges, forget, share, swap, swap_change
from tacit.publish.graphs.supernodes.state import ACTIVE, BITS, FREE, KIND, OPEN, ORDER, OURS, RANK, STACK, USED, move

OTHERS = 0.005  # share of proposals that change sizes
SHARED = 0.95  # share of proposals with a node that shares a neighbour
TRIES, APART = 4, 3  # draws of such a node until one has a similar number of neighbours, up to this factor
LOW, HIGH = 2, 64  # neighbours over the temperature that a node needs to be proposed; those with more are proposed less often
NEAR = 64  # how far apart in the order of degrees two nodes of about the same degree may be


@inner
def _random_share(random: Any) -> Any:
    """A random number from 0 to 1 (xorshift64*)."""
    held = random[0]
    held ^= held >> np.uint64(12)
    held ^= held << np.uint64(25)
    held ^= held >> np.uint64(27)
    random[0] = held
    return float((held * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@inner
def _alike(state: Any, one: Any, two: Any) -> Any:
    """Whether neither of two nodes has many more neighbours."""
    first, second = state.offsets[one + 1] - state.offsets[one], state.offsets[two + 1] - state.offsets[two]
    return first <= APART * second + 1 and second <= APART * first + 1


@inner
def _suitable_group(state: Any, random: Any, node: Any) -> Any:
    """The group of a second neighbour, or that of a node of about the same degree."""
    offsets, begin = state.offsets, state.offsets[node]
    degree = offsets[node + 1] - begin
    if degree > 0 and _random_share(random) < SHARED:
        for _ in range(TRIES):
            middle = state.targets[begin + int(_random_share(random) * degree)]
            rival = state.targets[begin + int(_random_share(random) * degree)]
            if offsets[rival + 1] - offsets[rival] < offsets[middle + 1] - offsets[middle]:
                middle = rival
            other = state.targets[offsets[middle] + int(_random_share(random) * (offsets[middle + 1] - offsets[middle]))]
            if other != node and _alike(state, node, np.int64(other)):
                return np.int64(state.group[other])
    place = state.nodes[node, RANK] + int((_random_share(random) * 2 - 1) * NEAR)
    return np.int64(state.group[state.nodes[min(max(place, 0), state.counts[ACTIVE] - 1), ORDER]])


@inner
def _reach(state: Any, degree: Any) -> Any:
    """How many nodes have at least `degree` neighbours, by bisection of the order of degrees; all of them if none has."""
    low, high = np.int64(0), np.int64(state.counts[ACTIVE])
    while low < high:
        middle = (low + high) // 2
        node = state.nodes[middle, ORDER]
        if state.offsets[node + 1] - state.offsets[node] >= degree:
            low = middle + 1
        else:
            high = middle
    return low if low > 0 else np.int64(state.counts[ACTIVE])


@compiled
def run_batch(state: Any, random: Any, proposals: Any, k: Any, temperature: Any) -> Any:
    """Makes at most `proposals` proposals; ends early if the table fills up. Returns the number made, the number accepted, and
    their change.
    """
    total, accepted, done, offsets, reach = 0.0, 0, 0, state.offsets, _reach(state, LOW * temperature)
    while done < proposals and (state.counts[BITS] == 0 or 4 * state.counts[USED] <= 3 * len(state.table)):
        done += 1
        node = np.int64(state.nodes[np.int64(_random_share(random) * reach), ORDER])
        if (offsets[node + 1] - offsets[node]) * _random_share(random) > HIGH * temperature:
            continue
        group = _suitable_group(state, random, node)
        if group >= state.counts[OPEN]:
            continue
        limit = -temperature * log(1.0 - _random_share(random))
        if _random_share(random) < OTHERS:
            change = _resize(state, random, (node, group, k, limit))
        else:
            change = _exchange(state, random, (node, group, limit))
        accepted += change != 0.0
        total += change
    return done, accepted, total


@inner
def _exchange(state: Any, random: Any, terms: Any) -> Any:
    """Exchange a node with a member of another group, if that adds at most `limit`; returns the change, or 0."""
    node, group, limit = terms
    own, size = np.int64(state.group[node]), np.int64(state.groups[group, 0])
    if own == group:
        return 0.0
    count_edges(state, node, OURS)
    cost = alone(state, own, group)
    forget(state)
    if cost > limit / 2:
        return 0.0
    begin = np.int64(_random_share(random) * size)
    for each in range(begin, begin + size):
        member = np.int64(state.groups[group, 1 + (each if each < size else each - size)])
        if state.nodes[member, KIND] == state.nodes[node, KIND] or not _alike(state, node, member):
            continue
        count_edges(state, member, OURS)
        both = cost + alone(state, group, own)
        forget(state)
        if both <= limit:
            change = swap_change(state, node, member)
            if change <= limit:
                swap(state, node, member)
                forget(state)
                return change
            forget(state)
    return 0.0


@inner
def _resize(state: Any, random: Any, terms: Any) -> Any:
    """A move of a node to a group, a merge of both groups, or a split of one, if that adds at most `limit`; the change, or 0."""
    first, two, k, limit = terms
    one, chosen, most = np.int64(state.group[first]), _random_share(random), state.groups.shape[1] - 1
    sizes = np.int64(state.groups[one, 0]), np.int64(state.groups[two, 0])
    if chosen < 0.8:
        possible, count = one != two and sizes[0] > k and sizes[1] < most, np.int64(1)
    elif chosen < 0.9:
        possible, count = one != two and sizes[0] + sizes[1] <= most, sizes[0]
    else:
        possible, count = sizes[0] >= 2 * k and state.counts[FREE] > 0, k + np.int64(_random_share(random) * (sizes[0] - 2 * k + 1))
        two = state.counts[STACK + state.counts[FREE] - 1] if possible else two
    if not possible:
        return 0.0
    before = share(state, one, two, np.int64(0))
    if count == 1:
        move(state, first, two)
    else:
        for _ in range(count):
            move(state, np.int64(state.groups[one, 1 + np.int64(_random_share(random) * state.groups[one, 0])]), two)
    change = share(state, one, two, np.int64(1)) - before
    if change <= limit:
        if 0.8 <= chosen < 0.9:  # a merge frees a group
            state.counts[STACK + state.counts[FREE]] = one
            state.counts[FREE] += 1
        elif chosen >= 0.9:
            state.counts[FREE] -= 1
        return change if change != 0.0 else 1e-300
    share(state, one, two, np.int64(0))
    for _ in range(count):
        move(state, np.int64(state.groups[two, state.groups[two, 0]]), one)
    share(state, one, two, np.int64(1))
    return 0.0
