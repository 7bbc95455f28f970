"""A lower bound on the real epsilon: exact where the output law can be listed, else from draws, with a stated confidence.

The bound can show that a claim is false. It never shows that one is true: a passed measurement is not a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import InvalidInput
from tacit.evidence.verify.claims import measured_both_ways
from tacit.evidence.verify.proportion import Floats, proportion_down, proportion_up
from tacit.evidence.verify.score import Draws, Score, read, scores
from tacit.mechanisms.mechanism import Listed, Mechanism
from tacit.privacy.law import Law
from tacit.privacy.loss import Approximate, probability
from tacit.privacy.rounding import Number, exact

Sampler = Callable[[int], Iterable[Any]]
THRESHOLDS = 200


@dataclass(frozen=True, slots=True)
class EpsilonBound:
    """The real epsilon (at `delta`) is at least `bound`, with `confidence`; `samples` counts the draws from each side."""

    bound: float
    exact: bool
    samples: int
    confidence: float
    delta: Fraction
    event: str

    def refutes(self, epsilon: Number) -> bool:
        """Whether a claim of `epsilon` (at this delta) is false; the 13th digit is left to the rounding of the bound."""
        return self.bound > float(exact(epsilon, "epsilon")) * (1 + 1e-12)

    def __str__(self) -> str:
        how = "exactly" if self.exact else f"at confidence {self.confidence:.10g} from {self.samples} draws a side"
        return f"epsilon >= {self.bound:.4f} {how} ({self.event})"


def epsilon(
    mechanism: Mechanism, value_a: Any, value_b: Any, samples: int = 100_000, confidence: float = 0.999, delta: Number = 0
) -> EpsilonBound:
    """A lower bound on the epsilon of `mechanism` between two neighbouring values: exact where it lists its law.

    Ding et al. 2018 and Bichsel et al. 2021 test mechanisms by draws in this way; see `epsilon_of_draws`.
    """
    if isinstance(mechanism, Listed):
        return epsilon_of_laws(mechanism.law(value_a), mechanism.law(value_b), delta)

    def sampler(value: Any) -> Sampler:
        return lambda count: [mechanism.release(value) for _ in range(count)]

    return epsilon_of_samplers(sampler(value_a), sampler(value_b), samples, confidence, delta)


def epsilon_of_laws(one: Law, other: Law, delta: Number = 0) -> EpsilonBound:
    """The epsilon between two listed laws, the larger of both orders; a lower bound where they list a window.

    >>> from decimal import Decimal
    >>> yes, no = Law({1: Decimal("0.75"), 0: Decimal("0.25")}), Law({1: Decimal("0.25"), 0: Decimal("0.75")})
    >>> print(epsilon_of_laws(yes, no))
    epsilon >= 1.0986 exactly (the worst event of the listed laws)
    """
    bound = measured_both_ways(Approximate(0, delta), one, other)
    return EpsilonBound(max(0.0, float(bound)), True, 0, 1.0, probability(delta), "the worst event of the listed laws")


def epsilon_of_samplers(
    sample_a: Sampler, sample_b: Sampler, samples: int = 100_000, confidence: float = 0.999, delta: Number = 0
) -> EpsilonBound:
    """A lower bound on the epsilon between two samplers, which return the requested number of outputs.

    >>> found = epsilon_of_samplers(lambda count: ["heads"] * count, lambda count: ["tails"] * count, samples=1000)
    >>> found.bound > 4, found.refutes(4)
    (True, True)
    """
    return epsilon_of_draws(read(sample_a(samples)), read(sample_b(samples)), confidence, delta)


def epsilon_of_draws(one: Draws, other: Draws, confidence: float = 0.999, delta: Number = 0) -> EpsilonBound:
    """One event is learnt on the first half of the draws and measured on the second, each side at (1 - confidence)/2.

    Scores are trained on the first quarter; the event, and which side it speaks for, are chosen on the second quarter.
    Both orders are tried there, so the second half tests one event once, and the confidence needs no correction.
    """
    if not 0 < confidence < 1:
        raise InvalidInput(
            f"confidence must be above 0 and below 1, not {confidence}; give for example confidence=0.999", argument="confidence"
        )
    count = min(len(one), len(other))
    if count < 8:
        raise InvalidInput(f"a lower bound requires at least 8 draws per side, not {count}; raise samples")
    share, error, quarter, half = float(probability(delta)), (1 - confidence) / 2, count // 4, count // 2
    trained = [side.part(0, quarter) for side in (one, other)]
    chosen = [side.part(quarter, half) for side in (one, other)]
    orders = [((0, 1), score) for score in scores(*trained)] + [((1, 0), score) for score in scores(*reversed(trained))]
    events = [(_best(score, chosen[i], chosen[j], share, error), (i, j), score) for (i, j), score in orders]
    (_, threshold), (likelier, rarer), score = max(events, key=lambda event: event[0])
    tested = [score.of(side.part(half, count)) >= threshold for side in (one, other)]
    bound = float(_bounds(tested[likelier].sum(), tested[rarer].sum(), count - half, share, error))
    return EpsilonBound(max(0.0, bound), False, count, confidence, probability(delta), score.event(threshold))


def _best(score: Score, likelier: Draws, rarer: Draws, delta: float, error: float) -> tuple[float, float]:
    """The largest bound that a threshold on `score` would give on these draws, and that threshold."""
    high, low = np.sort(score.of(likelier)), np.sort(score.of(rarer))
    seen = np.unique(np.concatenate([high, low]))
    thresholds = seen[np.unique(np.linspace(0, len(seen) - 1, THRESHOLDS).astype(np.int64))]
    reached = [len(side) - np.searchsorted(side, thresholds, "left") for side in (high, low)]
    bounds = _bounds(reached[0], reached[1], len(likelier), delta, error)
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(thresholds[best])


def _bounds(likelier: ArrayLike, rarer: ArrayLike, trials: int, delta: float, error: float) -> Floats:
    """ln((L - delta) / U), with L below the probability on the likelier side and U above it on the other."""
    low = np.maximum(proportion_down(likelier, trials, error) - delta, 0)
    with np.errstate(divide="ignore"):
        bounds: Floats = np.log(low / proportion_up(rarer, trials, error))
    return bounds
