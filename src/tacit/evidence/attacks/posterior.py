"""What an adversary believes before and after a release: Bayes' rule on exact laws.

The adversary has candidates for the data, a prior over them, and knows the mechanism. After an outcome o the odds of candidate a
over b are the prior odds times P(o | a) / P(o | b). Differential privacy is the claim that this factor is between e^-epsilon and
e^epsilon for all neighbours a and b, whatever the prior and whatever else is known (Dwork, McSherry, Nissim and Smith 2006;
Kasiviswanathan and Smith 2014). Here it is computed, not measured: from laws listed outcome by outcome, in 50 digits.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import permutations
from math import exp
from pathlib import Path
from typing import Any, Protocol

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, lines, plain, told
from tacit.privacy.law import ARITHMETIC, Law, worst_log_ratio
from tacit.privacy.rounding import Number, exact

SHOWN = 1e-6


class Lawful(Protocol):
    """A mechanism whose law can be listed."""

    def law(self, value: Any) -> Law:
        """The law of the output for an exact value."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Beliefs before, and after each outcome (in the order of `outcomes`, with their chances); and how far odds can move."""

    prior: Mapping[Hashable, float]
    outcomes: tuple[Hashable, ...]
    after: Mapping[Hashable, tuple[float, ...]]
    chances: tuple[float, ...]
    log_odds: float
    missing: float

    @property
    def largest(self) -> Mapping[Hashable, float]:
        """For each candidate, the strongest belief that any outcome leads to."""
        return {name: max(beliefs) for name, beliefs in self.after.items()}

    def summary(self) -> str:
        """Beliefs before and at most after, and the largest loss."""
        moved = ", ".join(f"{name} from {self.prior[name]:.3f} to at most {most:.3f}" for name, most in self.largest.items())
        factor = "without limit" if self.log_odds == float("inf") else f"e^{self.log_odds:.4g} = {exp(self.log_odds):.4g} at most"
        return f"Belief in {moved}.\nThe odds of two candidates move by a factor of {factor}."

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        return told(prior=self.prior, largest=self.largest, log_odds=self.log_odds, missing=self.missing)

    def chart(self, path: str | Path | None = None) -> Any:
        """The belief in each candidate against the outcome: numbers only, and such as come about once in a million."""
        numbers = [
            (place, value)
            for place, value in enumerate(self.outcomes)
            if isinstance(value, int | float) and self.chances[place] >= SHOWN
        ]
        if not numbers:
            raise InvalidInput("a chart requires numeric outcomes; read `after` instead")
        ordered = sorted(numbers, key=lambda pair: pair[1])
        rows = [
            {"x": value, "y": beliefs[place], "series": str(name)}
            for name, beliefs in self.after.items()
            for place, value in ordered
        ]
        return lines(plain(rows), Axes("what was released", "belief after it", share=True), "Before and after", path)


def posterior(laws: Mapping[Hashable, Law], prior: Mapping[Hashable, Number] | None = None) -> Posterior:
    """Beliefs after every listed outcome, from the law of the release under each candidate. Without a prior, all are as likely.

    An outcome that a law may have among what it does not list is left out; `missing` bounds how likely that is.

    >>> coin = {"ill": Law({1: Decimal("0.75"), 0: Decimal("0.25")}), "well": Law({1: Decimal("0.25"), 0: Decimal("0.75")})}
    >>> found = posterior(coin, {"ill": "0.1", "well": "0.9"})
    >>> print(found.summary())
    Belief in ill from 0.100 to at most 0.250, well from 0.900 to at most 0.964.
    The odds of two candidates move by a factor of e^1.099 = 3 at most.
    """
    weights = {name: exact(1 if prior is None else prior[name], "prior") for name in laws}
    whole = sum(weights.values())
    if len(laws) < 2 or whole <= 0 or min(weights.values()) < 0:
        raise InvalidInput("a prior must give each of two or more candidates a weight of at least 0, not all 0")
    beliefs = {name: ARITHMETIC.divide(Decimal(w.numerator), Decimal(w.denominator)) for name, w in weights.items()}
    listed = dict.fromkeys(outcome for law in laws.values() for outcome in law.probabilities)
    outcomes = tuple(
        outcome for outcome in listed if all(law.missing == 0 or outcome in law.probabilities for law in laws.values())
    )
    joint = {
        name: [ARITHMETIC.multiply(beliefs[name], law.probabilities.get(outcome, Decimal(0))) for outcome in outcomes]
        for name, law in laws.items()
    }
    chances = tuple(float(sum(weighed, Decimal(0))) / float(whole) for weighed in zip(*joint.values(), strict=True))
    totals = [sum(weighed, Decimal(0)) or Decimal(1) for weighed in zip(*joint.values(), strict=True)]
    after = {name: tuple(float(part / total) for part, total in zip(parts, totals, strict=True)) for name, parts in joint.items()}
    worst = max(worst_log_ratio(one, other) for one, other in permutations(laws.values(), 2))
    missing = max(law.missing for law in laws.values())
    return Posterior(
        {name: float(w / whole) for name, w in weights.items()}, outcomes, after, chances, float(worst), float(missing)
    )


def posterior_of(mechanism: Lawful, values: Mapping[Hashable, Any], prior: Mapping[Hashable, Number] | None = None) -> Posterior:
    """The same for a mechanism and the exact value that each candidate would have it release.

    >>> from tacit.mechanisms.laplace import Laplace
    >>> found = posterior_of(Laplace(sensitivity=1, epsilon=1, step=1, on_grid=True), {"in": 11, "out": 10})
    >>> round(found.log_odds, 10), round(found.largest["in"], 4)
    (1.0, 0.7311)
    """
    return posterior({name: mechanism.law(value) for name, value in values.items()}, prior)
