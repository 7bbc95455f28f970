"""A safe grouping of one side of a bipartite graph: groups of at least k nodes that share no neighbour.

Cormode, Srivastava, Yu and Zhang 2008. Finding one is NP-hard. A node with d neighbours on this side needs d groups, so that k is
at most n / d for the largest d: this bound is looked at first, and a grouping beyond it is refused without a search. The search is
greedy: each node goes into the first open group in which it shares no neighbour. Nodes of groups that stay open at the end go into
finished groups, if need be after one node of such a group has moved to another. Where that fails, other orders are tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.bipartite.two_sided import Side
from tacit.publish.graphs.graph import Integers

ORDERS = 5  # tried before the search gives up: by degree, as given, then at random


@dataclass(frozen=True, slots=True)
class Bound:
    """The node with the most neighbours on a side: no safe grouping of that side has groups of more than `largest` nodes each."""

    label: str
    degree: int
    nodes: int

    @property
    def largest(self) -> int:
        """The largest k that the bound allows; all nodes, if no two share a neighbour."""
        return self.nodes // max(self.degree, 1)

    def __str__(self) -> str:
        return f"{self.label} has {self.degree:,} neighbours, so groups of {self.nodes:,} nodes have k <= {self.largest:,}"


def counting_bound(side: Side, others: Side) -> Bound:
    """The bound for the groups of `side`, from the largest degree on the other side."""
    if not len(others):
        return Bound("no node", 0, len(side))
    most = int(np.argmax(others.degrees))
    return Bound(str(others.labels[most]), int(others.degrees[most]), len(side))


def require_possible(side: Side, others: Side, k: int) -> Bound:
    """The counting bound for groups of k nodes; refuses a size beyond it, before any search."""
    if k < 1:
        raise InvalidInput(f"the size of a group must be at least 1, not {k}")
    bound = counting_bound(side, others)
    if k > 1 and k > bound.largest:
        lower = f"lower the size to {bound.largest}" if bound.largest > 1 else "leave this side ungrouped, with size 1"
        raise InvalidInput(f"no safe grouping with groups of {k} exists: {bound}; {lower}")
    return bound


def safe_groups(side: Side, others: Side, k: int, seed: int = 0) -> Integers:
    """The group of every node of `side`, for a safe grouping with groups of at least k nodes."""
    bound = require_possible(side, others, k)
    if k == 1 or not len(side):
        return np.arange(len(side))
    rows, other_rows, left = side.rows(), others.rows(), 0
    for order in _orders(side, seed):
        search = _Search(rows, other_rows, k)
        left = search.run(order)
        if not left:
            return search.groups()
    raise InvalidInput(
        f"no safe grouping with groups of {k} was found: the last of {ORDERS} orders left {left:,} of {len(side):,} nodes without "
        f"a group; the bound is {bound.largest}, and a smaller size is easier to meet"
    )


def _orders(side: Side, seed: int) -> list[list[int]]:
    generator = np.random.default_rng(seed)
    drawn = [generator.permutation(len(side)).tolist() for _ in range(ORDERS - 2)]
    return [np.argsort(-side.degrees, kind="stable").tolist(), list(range(len(side))), *drawn]


class _Search:
    """One greedy pass; `_near[w]` holds the open groups that touch w, so that it stays small however many groups there are."""

    def __init__(self, rows: list[list[int]], others: list[list[int]], k: int) -> None:
        self._rows, self._others, self._k = rows, others, k
        self._near: list[set[int]] = [set() for _ in others]
        self._members: list[set[int]] = []
        self._place = [-1] * len(rows)

    def run(self, order: list[int]) -> int:
        """Group all nodes; returns how many are left over."""
        waiting: dict[int, None] = {}  # the open groups, oldest first
        for node in order:
            taken: set[int] = set().union(*map(self._near.__getitem__, self._rows[node]))
            chosen = next((group for group in waiting if group not in taken), None)
            if chosen is None:
                chosen = len(self._members)
                self._members.append(set())
                waiting[chosen] = None
            self._put(node, chosen)
            if len(self._members[chosen]) == self._k:
                del waiting[chosen]
                self._close(chosen)
            else:
                for other in self._rows[node]:
                    self._near[other].add(chosen)
        loose = [node for group in waiting for node in sorted(self._members[group])]
        for node in loose:
            self._take(node)
        return sum(not (self._insert(node) or self._exchange(node)) for node in loose)

    def groups(self) -> Integers:
        """The group of every node, numbered without gaps."""
        return np.unique(np.array(self._place), return_inverse=True)[1].astype(np.int64)

    def _put(self, node: int, group: int) -> None:
        self._members[group].add(node)
        self._place[node] = group

    def _take(self, node: int) -> None:
        self._members[self._place[node]].remove(node)
        self._place[node] = -1

    def _close(self, group: int) -> None:
        for member in self._members[group]:
            for other in self._rows[member]:
                self._near[other].discard(group)

    def _conflicts(self, node: int) -> dict[int, set[int]]:
        """The groups with nodes that share a neighbour with this one, and those nodes."""
        conflicts: dict[int, set[int]] = {}
        for other in self._rows[node]:
            for member in self._others[other]:
                if self._place[member] >= 0 and member != node:
                    conflicts.setdefault(self._place[member], set()).add(member)
        return conflicts

    def _insert(self, node: int) -> bool:
        """Put a node into a finished group, the smallest that stays safe."""
        taken = self._conflicts(node)
        free = [group for group, members in enumerate(self._members) if len(members) >= self._k and group not in taken]
        if free:
            self._put(node, min(free, key=lambda group: (len(self._members[group]), group)))
        return bool(free)

    def _exchange(self, node: int) -> bool:
        """Put a node in the place of the only one of a group that conflicts with it, which then goes elsewhere."""
        for group, blocking in self._conflicts(node).items():
            if len(blocking) != 1 or len(self._members[group]) < self._k:
                continue
            moved = blocking.pop()
            self._take(moved)
            self._put(node, group)
            if self._insert(moved):
                return True
            self._take(node)
            self._put(moved, group)
        return False
