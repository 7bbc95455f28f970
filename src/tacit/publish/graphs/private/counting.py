"""Numbers of edges and of triangles under edge differential privacy.

One edge changes the number of edges by 1. It changes the number of triangles by the common neighbours of its ends, which can be
many, so triangles get noise scaled to a smooth bound (private.md). The scale is private, so an interval cannot be computed from it:
part of epsilon buys a public bound on the scale, and the interval follows from that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb
from typing import Any

import numpy as np

from tacit.accounting.events import Batch
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.smooth.bound import SmoothBound
from tacit.mechanisms.smooth.noise import SmoothMechanism, read_grid, set_terms
from tacit.mechanisms.smooth.sensitivity import SLACK, smoothness
from tacit.privacy.loss import Neighbours, positive_budget
from tacit.privacy.rounding import Number, exp_up
from tacit.privacy.sealed import Sealed
from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.private.relations import EDGE, public_nodes

GAMMA = 4  # of the heavy tails, which are pure
BOUND = Fraction(2, 5)  # of epsilon, for the bound on the scale of triangles: less makes the interval wider
FAILURE = Fraction(2, 100)  # of the bound; the rest of 1 - confidence is for the noise


@dataclass(frozen=True, slots=True)
class EdgeCount:
    """The number of edges among a public number of people.

    >>> print(EdgeCount(nodes=10, epsilon="1/2").mechanism.loss)
    pure epsilon 0.5 (add or remove one edge)
    """

    nodes: int
    epsilon: Number

    def __post_init__(self) -> None:
        public_nodes(self.nodes)

    @property
    def mechanism(self) -> Laplace:
        """The noise: the sensitivity is 1."""
        return Laplace(1, self.epsilon, step=1, on_grid=True, neighbours=EDGE)

    def release(self, graph: Graph) -> int:
        """A number from 0 to that of all pairs."""
        noisy = int(self.mechanism.release_units(Sealed(graph.edges)))
        return min(max(noisy, 0), comb(self.nodes, 2))


@dataclass(frozen=True, slots=True)
class TriangleCount(SmoothMechanism):
    """The number of triangles among a public number of people, with noise of heavy tails scaled to a smooth bound.

    >>> print(TriangleCount(nodes=10, epsilon=1).loss)
    pure epsilon 1 (add or remove one edge)
    """

    nodes: int
    lower: Fraction
    upper: Fraction
    step: Fraction
    epsilon: Fraction
    delta: Fraction
    gamma: Fraction | None
    max_rows: int
    neighbours: Neighbours

    def __init__(self, nodes: int, epsilon: Number) -> None:
        object.__setattr__(self, "nodes", public_nodes(nodes))
        most = min(max(comb(nodes, 3), 1), 2**61)
        set_terms(self, read_grid(0, most, 1), (epsilon, 0, GAMMA), 1, EDGE)

    def statistic(self, rows: Any) -> tuple[Fraction, Fraction]:
        """The number of triangles and its smooth bound. Private."""
        triangles, shared = (int(each) for each in triangles_and_shared(rows.offsets, rows.targets))
        return Fraction(triangles), smooth_bound(shared, self.beta)

    @property
    def largest_bound(self) -> Fraction:
        """The largest smooth bound of a graph with this number of people: two have at most nodes - 2 common neighbours."""
        return smooth_bound(max(self.nodes - 2, 0), self.beta) * (1 + SLACK)

    def release(self, values: Any) -> int:
        """A number from 0 to that of all triples; `values` is a graph."""
        return self._noisy(self.grid, values)


@dataclass(frozen=True, slots=True)
class TriangleInterval:
    """The number of triangles with an interval, for one epsilon.

    >>> from tacit.accounting.composition import loss
    >>> print(loss(TriangleInterval(nodes=10, epsilon=1).event))
    pure epsilon 1 (add or remove one edge)
    """

    nodes: int
    epsilon: Number

    @property
    def count(self) -> TriangleCount:
        """The noisy number."""
        return TriangleCount(self.nodes, positive_budget(self.epsilon) * (1 - BOUND))

    @property
    def scale_bound(self) -> SmoothBound:
        """The bound on the scale of its noise."""
        return SmoothBound(self.count, positive_budget(self.epsilon) * BOUND, FAILURE)

    @property
    def event(self) -> Batch:
        """The event that the ledger records for both together."""
        return Batch((self.count.event, self.scale_bound.event))

    def release(self, graph: Graph, confidence: Fraction) -> tuple[int, int, int]:
        """The noisy number, and the ends of its interval; the graph is looked at once."""
        count = self.count
        answer, bound = count.statistic(graph)
        return self.around(count.noisy(count.grid, answer, bound), self.scale_bound.release_for(bound), confidence)

    def around(self, released: int, bound: float, confidence: Fraction) -> tuple[int, int, int]:
        """A released number with the ends of its interval, from the released bound and public terms alone."""
        within = ceil(self.count.half_width(bound, confidence + FAILURE))
        return released, max(released - within, 0), min(released + within, int(self.count.upper))


def smooth_bound(shared: int, beta: Fraction) -> Fraction:
    """max over s >= 0 of (shared + s) exp(-beta s): beta-smooth, as one edge changes `shared` by at most 1.

    The best s is next to 1/beta - shared; both whole numbers around it are looked at. At least 1, so that noise is never 0.

    >>> float(smooth_bound(3, Fraction(1, 10))), float(smooth_bound(100, Fraction(1, 10)))
    (4.9658..., 100.0)
    """
    rate = smoothness(beta)
    near = max(int(1 / rate) - shared, 0)
    values = [(shared + step) * exp_up(-rate * step) for step in {0, max(near - 1, 0), near, near + 1}]
    return max(Fraction(1), *values)


@compiled
def triangles_and_shared(offsets: Any, targets: Any) -> Any:
    """The number of triangles, and the most common neighbours that two people have, linked or not."""
    nodes = len(offsets) - 1
    common = np.zeros(nodes, np.int64)
    corners, most = 0, 0
    for node in range(nodes):
        for place in range(offsets[node], offsets[node + 1]):
            middle = targets[place]
            for other in targets[offsets[middle] : offsets[middle + 1]]:
                common[other] += 1
                if other != node and common[other] > most:
                    most = common[other]
        for place in range(offsets[node], offsets[node + 1]):
            corners += common[targets[place]]
        for place in range(offsets[node], offsets[node + 1]):
            middle = targets[place]
            for other in targets[offsets[middle] : offsets[middle + 1]]:
                common[other] = 0
    return corners // 6, most
