"""The degree histogram, and the numbers of edges and of stars, under node differential privacy, by a projection that adds edges.

Day, Li and Lyu 2016: start without edges, walk the edges in an order that depends on their two ends alone, and add an edge if
both ends still have fewer than theta. One person changes the histogram by at most 2 theta + 1 (private.md). Removing edges in a
fixed order until all degrees fit is not stable, and neither is an order by degree or by position in the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from math import comb
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.noise import bits
from tacit.privacy.rounding import Number
from tacit.privacy.sealed import Sealed
from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.private.relations import NODE

MOST_THETA = 100_000
MOST_POINTS = 5  # edges of a star: its noise grows as theta to that power


@dataclass(frozen=True, slots=True)
class DegreeHistogram:
    """How many people have degree 1, 2, ..., theta after a projection to at most theta edges each; theta is public.

    Degree 0 is not released: a person without edges is in no edge list, and the last edge of a person may be that of another.

    >>> mechanism = DegreeHistogram(theta=3, epsilon=1).mechanism
    >>> print(mechanism.sensitivity, mechanism.loss, sep="; ")
    7; pure epsilon 1 (add or remove one node)
    """

    theta: int
    epsilon: Number

    def __post_init__(self) -> None:
        _check_theta(self.theta)

    @property
    def mechanism(self) -> Laplace:
        """The noise on the numbers of people with degree 1 to theta."""
        return Laplace(2 * self.theta + 1, self.epsilon, step=1, dimension=self.theta, on_grid=True, neighbours=NODE)

    def exact(self, graph: Graph, names: Any, key: bytes) -> Sealed[Integers]:
        """The histogram of the projection, without degree 0."""
        return Sealed(projected_histogram(graph, names, self.theta, key)[1:])

    def release(self, graph: Graph, names: Any) -> Integers:
        """Whole numbers of at least 0; the key of the order is drawn afresh."""
        noisy = self.mechanism.release_units(self.exact(graph, names, bits.random_bytes(16)))
        return np.maximum(np.atleast_1d(np.asarray(noisy, dtype=np.int64)), 0)


@dataclass(frozen=True, slots=True)
class CutCount:
    """The number of stars with `points` edges after the same projection: of edges if it is 1, of pairs of edges at a person if 2.

    A person with d edges is the center of C(d, points) stars. Theta is public.

    >>> CutCount(theta=10, points=1, epsilon=1).mechanism.sensitivity, CutCount(theta=10, points=2, epsilon=1).mechanism.sensitivity
    (Fraction(10, 1), Fraction(135, 1))
    """

    theta: int
    points: int
    epsilon: Number

    def __post_init__(self) -> None:
        _check_theta(self.theta)
        if isinstance(self.points, bool) or not isinstance(self.points, int) or not 1 <= self.points <= MOST_POINTS:
            raise InvalidInput(f"a star has 1 to {MOST_POINTS} edges, not {self.points!r}; give for example 2", argument="points")

    @property
    def sensitivity(self) -> int:
        """The most that one person moves: theta edges, or (points + 1) C(theta, points) stars."""
        return self.theta if self.points == 1 else max(1, (self.points + 1) * comb(self.theta, self.points))

    @property
    def mechanism(self) -> Laplace:
        """The noise on the number."""
        return Laplace(self.sensitivity, self.epsilon, step=1, on_grid=True, neighbours=NODE)

    def exact(self, graph: Graph, names: Any, key: bytes) -> Sealed[int]:
        """The number in the projection."""
        return Sealed(stars_in(projected_histogram(graph, names, self.theta, key), self.points))

    def release(self, graph: Graph, names: Any) -> int:
        """A whole number of at least 0; the key of the order is drawn afresh."""
        return max(int(self.mechanism.release_units(self.exact(graph, names, bits.random_bytes(16)))), 0)


def stars_in(histogram: Any, points: int) -> int:
    """The number of stars with `points` edges, from the number of people with each degree; an edge is counted once.

    >>> stars_in([0, 3, 0, 1], 1), stars_in([0, 3, 0, 1], 2)
    (3, 3)
    """
    ends = sum(int(people) * comb(degree, points) for degree, people in enumerate(histogram))
    return ends // 2 if points == 1 else ends


def _check_theta(theta: int) -> None:
    if isinstance(theta, bool) or not isinstance(theta, int) or not 1 <= theta <= MOST_THETA:
        raise InvalidInput(
            f"theta must be a whole number from 1 to {MOST_THETA:,}, chosen without the data; give for example 20", argument="theta"
        )


def projected_histogram(graph: Graph, names: Any, theta: int, key: bytes) -> Integers:
    """How many people have degree 0, 1, ..., theta after the projection.

    >>> star = Graph.of_edges([0, 0, 0], [1, 2, 3], nodes=4)
    >>> projected_histogram(star, np.arange(4), 2, b"key").tolist()
    [1, 2, 1]
    """
    left, right = graph.ends()
    order = edge_order(left, right, names, key)
    return np.bincount(degrees_after_projection(left[order], right[order], theta, graph.nodes), minlength=theta + 1)


def edge_order(left: Integers, right: Integers, names: Any, key: bytes) -> Integers:
    """The order of the edges: by a keyed hash of both names; equal hashes in the order of names.

    It compares two edges by their own ends alone, so that the edges of a graph without some person come in the same order.
    Names are ascending, so the places of names are compared instead of names.
    """
    hashes = np.frombuffer(b"".join(_hash(name, key) for name in names), dtype=np.uint64)
    with np.errstate(over="ignore"):
        one, two = hashes[left], hashes[right]
        mixed = (one + two) * np.uint64(0x9E3779B97F4A7C15) ^ (one ^ two)
    return np.lexsort((right, left, mixed))


def _hash(name: Any, key: bytes) -> bytes:
    return blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()


@compiled
def degrees_after_projection(left: Any, right: Any, theta: Any, nodes: Any) -> Any:
    """The degrees after edges are added in order, each if both ends have fewer than theta."""
    degrees = np.zeros(nodes, np.int64)
    for edge in range(len(left)):
        if degrees[left[edge]] < theta and degrees[right[edge]] < theta:
            degrees[left[edge]] += 1
            degrees[right[edge]] += 1
    return degrees
