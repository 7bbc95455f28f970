"""Counts over a (k,l)-grouping: exact for the structure alone, expected values with bounds where labels are chosen.

Type 0 counts over the structure: exact. Type 1 chooses labels on one side, type 2 on both. Of the x labels of a group, a are
chosen, and each a of its nodes may be theirs. The bounds hold for every way to give labels to nodes, so that they hold for the true
one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.bipartite.publishing import Grouped, Groups
from tacit.publish.graphs.graph import Integers

Chosen = Callable[[Any], bool]
DRAWS = 100


@dataclass(frozen=True, slots=True)
class Bounded:
    """An expected value over all ways to give labels to nodes, and bounds that no way leaves."""

    expected: float
    low: int
    high: int

    @property
    def exact(self) -> bool:
        """Whether the bounds leave one value."""
        return self.low == self.high

    def __str__(self) -> str:
        return f"{self.low:,}" if self.exact else f"{self.expected:,.1f}, from {self.low:,} to {self.high:,}"


def edges_between(grouped: Grouped, left: Chosen | None = None, right: Chosen | None = None) -> Bounded:
    """The number of edges between chosen labels; None chooses all labels of a side, so that two Nones ask for the structure.

    >>> from tacit.publish.graphs.bipartite.two_sided import TwoSided
    >>> from tacit.publish.graphs.bipartite.publishing import group_safely
    >>> bought = group_safely(TwoSided.of_labels(["A", "B", "C", "D"], [1, 2, 3, 4]), k=2, l=2)
    >>> print(edges_between(bought), edges_between(bought, left=lambda name: name < "C"), sep="; ")
    4; 2
    """
    if left is None and right is None:
        total = len(grouped.ones)
        return Bounded(total, total, total)
    if right is None or left is None:
        return _one_sided(grouped, left, right)
    return _two_sided(grouped, left, right)


def degree_histogram(grouped: Grouped) -> tuple[Integers, Integers]:
    """How many nodes have 0, 1, 2, ... neighbours, on the left and on the right: structure alone, so exact."""
    ends = ((grouped.ones, grouped.left), (grouped.twos, grouped.right))
    one, two = (np.bincount(np.bincount(nodes, minlength=len(side.labels))) for nodes, side in ends)
    return one, two


def _one_sided(grouped: Grouped, left: Chosen | None, right: Chosen | None) -> Bounded:
    """In each group the chosen labels have the smallest degrees at worst, the largest at best, and average ones as expected."""
    side, nodes, chosen = (grouped.left, grouped.ones, left) if left is not None else (grouped.right, grouped.twos, right)
    assert chosen is not None  # noqa: S101  # the caller gives one of both
    counts, degrees = chosen_in(side, chosen), np.bincount(nodes, minlength=len(side.labels))
    ascending = degrees[np.lexsort((degrees, side.of_node))]
    totals = np.concatenate([[0], np.cumsum(ascending)])
    begin, end = side.offsets[:-1], side.offsets[1:]
    expected = (counts / side.sizes * (totals[end] - totals[begin])).sum()
    low, high = (totals[begin + counts] - totals[begin]).sum(), (totals[end] - totals[end - counts]).sum()
    return Bounded(float(expected), int(low), int(high))


def _two_sided(grouped: Grouped, left: Chosen, right: Chosen) -> Bounded:
    """In each pair of groups, of e edges at most min(a, b, e) and at least e - (x - a) - (y - b) are between chosen labels.

    That needs a matching, so that an unsafe grouping has only the bounds of each side. A sum of bounds is a bound, though not the
    tightest one: one way to give labels serves all pairs of a group.
    """
    one, two, edges = grouped.blocks()
    a, b = chosen_in(grouped.left, left)[one], chosen_in(grouped.right, right)[two]
    x, y = grouped.left.sizes[one], grouped.right.sizes[two]
    expected = float((edges * (a / x) * (b / y)).sum())
    sides = _one_sided(grouped, left, None), _one_sided(grouped, None, right)
    low, high = max(0, sides[0].low + sides[1].low - len(grouped.ones)), min(each.high for each in sides)
    if grouped.safety.shared_left or grouped.safety.shared_right:
        return Bounded(expected, low, high)
    matched = int(np.minimum(np.minimum(a, b), edges).sum())
    unmatched = int(np.maximum(edges - (x - a) - (y - b), 0).sum())
    return Bounded(expected, max(low, unmatched), min(high, matched))


def distinct_right(grouped: Grouped, left: Chosen, draws: int = DRAWS, seed: int = 0) -> tuple[float, int, int]:
    """How many different right nodes have a neighbour among the chosen left labels: the mean, least and most of random labellings.

    A labelling gives the labels of every group to its nodes uniformly. The extremes are those of the draws, not bounds.
    """
    if draws < 1:
        raise InvalidInput(f"draws must be at least 1, not {draws}", argument="draws")
    generator, side = np.random.default_rng(seed), grouped.left
    marked = _marks(side, left)
    counts = []
    for _ in range(draws):
        order = np.lexsort((generator.random(len(marked)), side.of_node))
        counts.append(len(np.unique(grouped.twos[marked[order][grouped.ones]])))
    return float(np.mean(counts)), min(counts), max(counts)


def chosen_in(side: Groups, chosen: Chosen) -> Integers:
    """How many labels of every group are chosen."""
    return np.bincount(side.of_node, weights=_marks(side, chosen), minlength=len(side)).astype(np.int64)


def _marks(side: Groups, chosen: Chosen) -> Any:
    return np.array([bool(chosen(label)) for label in side.labels.tolist()], dtype=np.bool_)
