"""The events that ran: frozen records, kept apart from their costs.

An event holds the parameters that a proof needs, and nothing private. Its meaning never changes: a ledger of today must be
readable in ten years, so a new mechanism, or a better theorem with other parameters, is a new event. The costs are in
`composition.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Neighbours


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Discrete Laplace noise of `scale` on a vector of l1 sensitivity `sensitivity`, both in grid units."""

    sensitivity: Fraction
    scale: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Discrete Gaussian noise of parameter `scale` on a vector of l2 sensitivity `sensitivity`, both in grid units.

    `delta` is the weight of what the sampler truncates, summed over the vector.
    """

    sensitivity: Fraction
    scale: Fraction
    delta: Fraction = Fraction(0)
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class GaussianNoiseOne:
    """Discrete Gaussian noise on one number of integer sensitivity, stated as the (epsilon, delta) of its own sums."""

    sensitivity: Fraction
    scale: Fraction
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class ExponentialChoice:
    """One candidate drawn with weight exp(epsilon utility / (2 sensitivity)), or a tighter exponent proved at the mechanism.

    It is priced as pure, like every choice with an epsilon alone; the mechanisms of tacit record a `BoundedRangeChoice`.
    """

    epsilon: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class BoundedRangeChoice:
    """One candidate drawn by the exponential mechanism: for two neighbours all log-ratios lie in one interval of length epsilon.

    Its weights are exp(epsilon utility / spread), where a neighbour changes the utilities by numbers that are at most `spread`
    apart. That is pure epsilon, and costs a fourth of the rho of other pure events.
    """

    epsilon: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class NoisyMax:
    """The index of the largest of several numbers with noise."""

    epsilon: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class AboveThreshold:
    """The sparse vector technique: a noisy threshold, and at most `positives` answers above it."""

    epsilon_threshold: Fraction
    epsilon_answers: Fraction
    positives: int
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class RandomizedAnswer:
    """One person's own answer through a channel whose largest log-ratio is `epsilon`."""

    epsilon: Fraction
    neighbours: Neighbours = CHANGE_ONE


@dataclass(frozen=True, slots=True)
class SmoothNoise:
    """Noise scaled to smooth sensitivity: pure with heavy tails (delta 0), approximate with Laplace tails."""

    epsilon: Fraction
    delta: Fraction
    alpha: Fraction
    beta: Fraction
    gamma: Fraction | None
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class ThresholdedKeys:
    """The keys whose noisy number of units reaches a threshold, with those noisy numbers."""

    epsilon: Fraction
    delta: Fraction
    max_groups: int
    threshold: int
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class GaussianKeys:
    """The keys whose number of units with discrete Gaussian noise of `scale` reaches a threshold, with those noisy numbers.

    One unit moves the numbers by `sensitivity` in l2; `delta` is at least the chance that a group shows that it alone is in.
    """

    sensitivity: Fraction
    scale: Fraction
    delta: Fraction
    max_groups: int
    threshold: int
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class Resampling:
    """Synthetic records drawn from an urn of real and fake ones: pure where delta is 0.

    A probabilistic claim (ratio r, delta) is recorded as epsilon = ln r and delta: only that survives what is done with the output.
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours = CHANGE_ONE


@dataclass(frozen=True, slots=True)
class Batch:
    """Events fixed in advance and run on the same people: a question with several aggregates."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class CalibratedGaussian:
    """Discrete Gaussian noise on one vector or several of the same people, (epsilon, delta) together by the curve of its law.

    All three numbers are charged: epsilon, the rho of `events`, and delta, which is that of the curve at epsilon; beside it the
    deltas of the events, those of thresholds among them.
    """

    events: tuple[Event, ...]
    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class AdaptiveRounds:
    """Mechanisms on the same people whose budgets follow from what was released before: their costs add up to at most these.

    A filter inside the event refuses a part that would exceed a total, on every path (composition.md, section 6). `epsilon` is None
    where a part has no pure epsilon.
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction
    neighbours: Neighbours = ADD_REMOVE


@dataclass(frozen=True, slots=True)
class Parallel:
    """Events on disjoint parts, where one person is in at most one part."""

    events: tuple[Event, ...]


Event = (
    LaplaceNoise
    | GaussianNoise
    | GaussianNoiseOne
    | ExponentialChoice
    | BoundedRangeChoice
    | NoisyMax
    | AboveThreshold
    | RandomizedAnswer
    | SmoothNoise
    | ThresholdedKeys
    | GaussianKeys
    | Resampling
    | Batch
    | CalibratedGaussian
    | AdaptiveRounds
    | Parallel
)
