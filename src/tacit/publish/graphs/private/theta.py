"""Theta of the node-private degree histogram, bought: the projection that loses little and needs little noise.

A small theta cuts people off, a large one needs more noise. The people who are full in the projection to theta, and may have been
cut off, move by at most theta + 1 with one person (private.md, Theorem 4). Candidates with different sensitivities are compared by
the generalized exponential mechanism (Raskhodnikova and Smith 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Any

import numpy as np

from tacit.accounting.events import Batch, LaplaceNoise
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.noise import bits
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number
from tacit.privacy.sealed import Sealed
from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.private.histogram import DegreeHistogram, degrees_after_projection, edge_order
from tacit.publish.graphs.private.relations import NODE

THETAS = tuple(2**power for power in range(11))  # 1 to 1,024, public
SHARE = Fraction(1, 4)  # of epsilon, for the choice; the rest is for the histogram
MISSED = 20  # one over the probability that the choice is worse than claimed


@dataclass(frozen=True, slots=True)
class BoughtHistogram:
    """A degree histogram whose theta is bought first, for one epsilon.

    The ledger's event does not depend on the graph: a choice, and noise of scale 1 / rest on the histogram over its
    sensitivity, whatever theta is chosen.

    >>> from tacit.accounting.composition import loss
    >>> print(loss(BoughtHistogram(epsilon=1).event))
    pure epsilon 1 (add or remove one node)
    """

    epsilon: Number

    @property
    def choice(self) -> ThetaChoice:
        """The choice of theta, for its share of epsilon."""
        whole = positive_budget(self.epsilon)
        return ThetaChoice(whole * SHARE, whole * (1 - SHARE))

    @property
    def event(self) -> Batch:
        """The event that the ledger records for both together."""
        rest = positive_budget(self.choice.rest)
        return Batch((self.choice.mechanism.event, LaplaceNoise(Fraction(1), 1 / rest, NODE)))

    def release(self, graph: Graph, names: Any) -> tuple[DegreeHistogram, Integers]:
        """The histogram's terms with the chosen theta, and its noisy numbers."""
        made = DegreeHistogram(self.choice.release(graph, names), self.choice.rest)
        return made, made.release(graph, names)


@dataclass(frozen=True, slots=True)
class ThetaChoice:
    """One of the candidates, for a histogram with `rest` of epsilon.

    >>> print(ThetaChoice(epsilon=1, rest=3).mechanism.loss)
    pure epsilon 1 (add or remove one node)
    """

    epsilon: Number
    rest: Number
    candidates: tuple[int, ...] = THETAS

    @property
    def mechanism(self) -> Exponential:
        """The choice among the candidates by scores of sensitivity 1."""
        return Exponential(1, self.epsilon, self.candidates, NODE)

    def exact(self, graph: Graph, names: Any, key: bytes) -> Sealed[list[Fraction]]:
        """The score of each candidate."""
        return Sealed(self.scores([full_people(graph, names, theta, key) for theta in self.candidates]))

    def scores(self, full: list[int]) -> list[Fraction]:
        """Scores of sensitivity 1 from how many people are full at each candidate; at most 0, and 0 for the best."""
        epsilon, rest = positive_budget(self.epsilon), positive_budget(self.rest)
        margin = Fraction(2 * ceil(log(MISSED * len(self.candidates)))) / epsilon
        spread = [2 * (theta + 1) for theta in self.candidates]
        errors = [
            2 * people + Fraction(theta * (2 * theta + 1)) / rest + margin * width
            for people, theta, width in zip(full, self.candidates, spread, strict=True)
        ]
        both = list(zip(errors, spread, strict=True))
        return [-max((mine - other) / (width + beside) for other, beside in both) for mine, width in both]

    def release(self, graph: Graph, names: Any) -> int:
        """The chosen theta; the key of the order is drawn afresh."""
        return int(self.mechanism.release(self.exact(graph, names, bits.random_bytes(16))))


def full_people(graph: Graph, names: Any, theta: int, key: bytes) -> int:
    """How many people have theta edges in the projection.

    >>> full_people(Graph.of_edges([0, 0, 0], [1, 2, 3], nodes=4), np.arange(4), 2, b"key")
    1
    """
    left, right = graph.ends()
    order = edge_order(left, right, names, key)
    return int(np.count_nonzero(degrees_after_projection(left[order], right[order], theta, graph.nodes) == theta))
