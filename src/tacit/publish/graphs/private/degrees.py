"""The degree sequence under edge differential privacy: discrete noise on the sorted degrees, then isotonic regression.

Hay, Li, Miklau and Jensen 2009. One edge changes two degrees by 1, and sorting brings no two sequences further apart, so the l1
sensitivity is 2 (private.md). The regression after the noise is free: it averages over people of the same degree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.laplace import Laplace
from tacit.privacy.rounding import Number
from tacit.privacy.sealed import Sealed
from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.private.relations import EDGE, public_nodes

SENSITIVITY = 2


@dataclass(frozen=True, slots=True)
class DegreeSequence:
    """The degrees of a public number of people, largest first.

    >>> print(DegreeSequence(nodes=4, epsilon=1).mechanism.loss)
    pure epsilon 1 (add or remove one edge)
    """

    nodes: int
    epsilon: Number

    def __post_init__(self) -> None:
        public_nodes(self.nodes)

    @property
    def mechanism(self) -> Laplace:
        """The noise on the sorted degrees."""
        return Laplace(SENSITIVITY, self.epsilon, step=1, dimension=self.nodes, on_grid=True, neighbours=EDGE)

    def exact(self, graph: Graph) -> Sealed[Integers]:
        """The sorted degrees of exactly `nodes` people: zeros are added, or the least are left out, whatever the file names."""
        return Sealed(sorted_degrees(graph, self.nodes))

    def release(self, graph: Graph) -> Integers:
        """Degrees that never rise, whole and from 0 to nodes - 1."""
        return fit_degrees(np.atleast_1d(np.asarray(self.mechanism.release_units(self.exact(graph)), dtype=np.float64)))


def sorted_degrees(graph: Graph, nodes: int) -> Integers:
    """The degrees, largest first, of `nodes` people.

    >>> sorted_degrees(Graph.of_edges([0, 1], [1, 2], nodes=3), 4).tolist()
    [2, 1, 1, 0]
    """
    degrees = np.sort(graph.degrees)[::-1][:nodes]
    return np.concatenate([degrees, np.zeros(nodes - len(degrees), np.int64)])


def fit_degrees(noisy: NDArray[np.float64]) -> Integers:
    """The nearest sequence that never rises, rounded and clipped to degrees that people can have."""
    from scipy.optimize import isotonic_regression

    nearest = isotonic_regression(noisy, increasing=False).x
    degrees: Integers = np.clip(np.rint(nearest), 0, len(noisy) - 1).astype(np.int64)
    return degrees


def distribution(degrees: Integers) -> Integers:
    """How many people have degree 0, 1, 2, ...: post-processing of a released sequence, which costs nothing more."""
    return np.bincount(degrees)
