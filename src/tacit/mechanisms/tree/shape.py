"""A tree of counts over a public grid: its shape, its noise and what it costs. Proof in tree.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.accounting.composition import loss
from tacit.accounting.events import Batch
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.tree.margins import margins, variances
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours

LEAST_BRANCHES, MOST_BRANCHES = 4, 256  # of several levels: with 2 or 3 there are more levels, and each has little of epsilon
MOST_LEVELS = 16
USUALLY = 1.8  # deviations by which a value that is read from a tree misses its rank at most, 19 times of 20


@dataclass(frozen=True, slots=True)
class Tree:
    """The points 0, 1, ..., points - 1, divided `levels` times into `branches` cells each, and a noisy count for each cell.

    A row is in one cell of each level, so that each level has its part of epsilon. One unit has at most `max_rows` rows.

    >>> tree = Tree(points=1000, branches=10, levels=3, epsilon=Fraction(1))
    >>> print(tree.loss, tree.noise.scale)
    pure epsilon 1 (add or remove one row) 3
    """

    points: int
    branches: int
    levels: int
    epsilon: Fraction
    max_rows: int = 1
    neighbours: Neighbours = ADD_REMOVE

    @property
    def sensitivity(self) -> int:
        """By how much one unit changes the counts of a level in total: rows that go count, and those that come."""
        return self.max_rows * (2 if self.neighbours.size_is_public else 1)

    @property
    def noise(self) -> Laplace:
        """The noise of the counts of a level."""
        return Laplace(self.sensitivity, self.epsilon / self.levels, 1, self.sensitivity, True, self.neighbours)

    @property
    def event(self) -> Batch:
        """The event that the ledger records for one release: one for each level, read or not."""
        return Batch((self.noise.event,) * self.levels)

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def half_width(self, share: Fraction, missed: Fraction) -> float:
        """How many ranks the ends of an interval are expected to be from the quantile: a forecast."""
        path, bound = self._usual(share)
        return float(margins(self.branches, path, share, each_test(share, missed, self.levels), self.noise.scale)[bound])

    def error(self, share: Fraction) -> float:
        """How many ranks the value is expected to be from the quantile at 95 % confidence: a forecast."""
        return float(self.noise.scale) * USUALLY * self._deviation(share)

    def _deviation(self, share: Fraction) -> float:
        path, bound = self._usual(share)
        return math.sqrt(float(variances(self.branches, path, share)[bound]))

    def _usual(self, share: Fraction) -> tuple[tuple[int, ...], int]:
        """A cell, and a bound in it, whose margin is near the mean over all: on the side of the grid where the share is."""
        quarter = self.branches // 4
        place = quarter if 2 * share <= 1 else self.branches - 1 - quarter
        return (place,) * (self.levels - 1), min(max(place - 1, 0), self.branches - 2)


def each_test(share: Fraction, missed: Fraction, levels: int) -> Fraction:
    """The chance with which each test may miss: there is one for each level and each end that is not certain."""
    return missed / (levels * (1 if share in (0, 1) else 2))


@lru_cache(maxsize=64)
def fitting(points: int, epsilon: Fraction, max_rows: int, neighbours: Neighbours) -> Tree:
    """The tree whose interval of the median is expected to be narrowest."""
    shapes = {(least_branches(points, levels), levels) for levels in range(1, MOST_LEVELS + 1)}
    trees = [Tree(points, branches, levels, epsilon, max_rows, neighbours) for branches, levels in sorted(shapes)]
    allowed = [tree for tree in trees if tree.levels == 1 or tree.branches >= LEAST_BRANCHES]
    allowed = [tree for tree in allowed if tree.branches <= MOST_BRANCHES]
    return min(allowed, key=lambda tree: tree.half_width(Fraction(1, 2), Fraction(1, 20)))


def least_branches(points: int, levels: int) -> int:
    """The least number of branches, from 2, that reaches all points.

    >>> least_branches(1000, 3), least_branches(1001, 3)
    (10, 11)
    """
    branches: int = max(2, round(float(points) ** (1 / levels)) - 1)
    while math.prod([branches] * levels) < points:
        branches += 1
    return branches
