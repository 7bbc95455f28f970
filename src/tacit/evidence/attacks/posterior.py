"""Beliefs of an adversary before and after a release, also with a wrong prior or with knowledge from elsewhere.

The beliefs of an adversary before and after a release: Bayes' rule on exact laws.

The adversary has candidates for the data, a prior over them, and knows the mechanism. After an outcome o the odds of candidate a
over b are the prior odds times P(o | a) / P(o | b). Differential privacy is the claim that this factor is between e^-epsilon and
e^epsilon for all neighbours a and b, whatever the prior and whatever else is known (Dwork, McSherry, Nissim and Smith 2006;
Kasiviswanathan and Smith 2014). Here it is computed, not measured: from laws listed outcome by outcome, in 50 digits.

A prior that is wrong about all people: "every graduate student has three arms". Any useful release corrects it.

Dalenius (1977) asked that a release change no belief about a person. Here an adversary believes that all of n people have a
property that none has. One private count of those who have it moves the belief about each of them nearly from one to zero, in
the data or not: the odds of the two worlds move by up to e^(n epsilon), since the worlds differ in n people. That is the purpose of
statistics. One person's own row can move the odds by a factor of e^epsilon only, and that is the promise.

Knowledge from elsewhere: "earns 10 less than the average". The average gives the salary away, in the data or not.

Dwork (2006): no useful release protects a person who is described relative to its statistics. The possible promise is that
taking part makes no difference. So the figure is not how well the value is guessed, but how much better with the person in the
data than without: in log odds, at most epsilon; computed from the exact laws of both releases.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from math import exp
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars, json_figures, lines, plain
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.law import ARITHMETIC, Law, worst_log_ratio
from tacit.privacy.loss import probability
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
        return json_figures(prior=self.prior, largest=self.largest, log_odds=self.log_odds, missing=self.missing)

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


# --- a prior that is wrong about all people -----------------------------------------------------------------------------------


EVERYBODY, NOBODY = "everybody", "nobody"
MOST_TOLD = 60  # epsilon times people: so far apart the laws of the two worlds are listed to where they overlap
MISSING = Fraction(1, 10**40)


@dataclass(frozen=True, slots=True)
class WrongPrior:
    """The belief that a person has the property: before, and on average after a count with and without that person."""

    people: int
    epsilon: float
    before: float
    after_in: float
    after_out: float
    log_odds: float
    own_log_odds: float

    @property
    def holds(self) -> bool:
        """Whether the person's own row moves odds by no more than was claimed."""
        return self.own_log_odds <= self.epsilon * (1 + 1e-12)

    def summary(self) -> str:
        """The result in four sentences."""
        return (
            f"An analyst believes, with probability {self.before:g}, that all {self.people} students have three arms. None has. "
            f"After a private count of the students with three arms, the belief about Chad is {self.after_in:.2g} on average if "
            f"he is in the data, and {self.after_out:.2g} if not.\n"
            f"The odds of the two worlds move by up to e^{self.log_odds:.4g}: a release that changes no belief about anybody "
            f"teaches nothing. Chad's own row moves odds by a factor of e^{self.own_log_odds:.4g} = "
            f"{exp(self.own_log_odds):.4g} at most; the claim is e^{self.epsilon:g}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        return json_figures(
            people=self.people,
            epsilon=self.epsilon,
            before=self.before,
            after_in=self.after_in,
            after_out=self.after_out,
            log_odds=self.log_odds,
            recovered=self.own_log_odds,
            predicted=self.epsilon,
            holds=self.holds,
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """The three beliefs."""
        shown = {"before": self.before, "after, Chad in the data": self.after_in, "after, Chad not in it": self.after_out}
        rows = [{"x": name, "y": value, "series": "belief that Chad has three arms"} for name, value in shown.items()]
        return bars(rows, Axes("", "belief", share=True), "A prior that is wrong about everybody", path)


def wrong_prior(people: int = 20, epsilon: Number = 1, prior: Number = "0.99") -> WrongPrior:
    """Release the count of people with a property that no person has, to an analyst who believes that all of them have it.

    >>> found = wrong_prior()
    >>> found.before, found.after_in < 1e-3, found.after_out < 1e-3, round(found.own_log_odds, 9)
    (0.99, True, True, 1.0)
    """
    budget, belief = exact(epsilon, "epsilon"), probability(exact(prior, "prior"))
    if people < 2 or budget * people > MOST_TOLD:
        raise InvalidInput(f"people must be at least 2, and epsilon times people at most {MOST_TOLD}", argument="people")
    count = Laplace(sensitivity=1, epsilon=budget, step=1, on_grid=True)
    with_chad, without = (_mean_belief(count, size, belief) for size in (people, people - 1))
    own = posterior_of(count, {"in": 1, "out": 0}).log_odds
    return WrongPrior(people, float(budget), float(belief), with_chad[0], without[0], with_chad[1], own)


def _mean_belief(count: Laplace, people: int, belief: Number) -> tuple[float, float]:
    """The mean belief that all people have it if in truth none has, and how far the odds of the two can move."""
    laws: dict[Hashable, Law] = {world: count.law(having, missing=MISSING) for world, having in ((EVERYBODY, people), (NOBODY, 0))}
    beliefs = posterior(laws, {EVERYBODY: belief, NOBODY: 1 - exact(belief)})
    held = zip(beliefs.outcomes, beliefs.after[EVERYBODY], strict=True)
    return sum(float(laws[NOBODY].probabilities[outcome]) * part for outcome, part in held), beliefs.log_odds


# --- knowledge from elsewhere ------------------------------------------------------------------------------------------------


RUNS = 400


@dataclass(frozen=True, slots=True)
class Auxiliary:
    """The mean error of the guess, with the person in the data and out of it, and the epsilon that the difference is worth."""

    people: int
    epsilon: float
    bounds: tuple[int, int]
    less: int
    prior_error: float
    error_in: float
    error_out: float
    log_odds: float
    of: str = "salary"

    @property
    def holds(self) -> bool:
        """Whether the difference is at most what was claimed."""
        return self.log_odds <= self.epsilon * (1 + 1e-12)

    @property
    def knowledge(self) -> str:
        """The attacker's knowledge about the person."""
        side = "above" if self.less < 0 else "below"
        return f"{abs(self.less):g} {side} the average" if self.less else "exactly average"

    def summary(self) -> str:
        """The result in three sentences."""
        low, high = self.bounds
        return (
            f"A {self.of} from {low} to {high} is guessed with an error of {self.prior_error:.3g} without the release. After a "
            f"private average of {self.people:,} people, the {self.of} of somebody who is known to be {self.knowledge} is guessed "
            f"with an error of {self.error_in:.3g} if they are in the data and {self.error_out:.3g} if not. The harm comes from "
            f"what was known before. Being in the data moves the log odds by {self.log_odds:.4g}; the claim is at most "
            f"{self.epsilon:g}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        return json_figures(
            of=self.of,
            known=self.knowledge,
            less=self.less,
            bounds=self.bounds,
            people=self.people,
            epsilon=self.epsilon,
            prior_error=self.prior_error,
            error_in=self.error_in,
            error_out=self.error_out,
            recovered=self.log_odds,
            predicted=self.epsilon,
            holds=self.holds,
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """The three errors."""
        errors = {"without the release": self.prior_error, "person in the data": self.error_in, "person not in it": self.error_out}
        rows = [{"x": name, "y": value, "series": "error of the guess"} for name, value in errors.items()]
        return bars(rows, Axes("", "error of the guess"), f"A {self.of} that is {self.knowledge}", path)


def auxiliary(
    values: Sequence[int], bounds: tuple[int, int], epsilon: Number = 1, less: int = 10, *, of: str = "salary"
) -> Auxiliary:
    """Release the average of `values`, with and without one person who is `less` below it, and guess that person's value.

    A sum (centred between the bounds) and a count, each with half of epsilon, are divided. Noise is tacit's own.

    >>> found = auxiliary([45, 55, 60, 40, 50] * 100, bounds=(0, 200), epsilon=1)
    >>> found.holds, found.error_in < 10 > found.error_out
    (True, True)
    >>> auxiliary([66, 70, 68, 72] * 100, bounds=(48, 96), less=-2, of="height").knowledge
    '2 above the average'
    """
    low, high = bounds
    value = round(float(np.mean(values))) - less if values else low - 1
    if min([value, *values]) < low or max([value, *values]) > high:
        raise InvalidInput(f"the values and the person's own value must lie within the bounds {low} and {high}")
    inside, outside = [*values, value], list(values)
    mechanisms, budget = _mechanisms(bounds, exact(epsilon, "epsilon")), float(exact(epsilon))
    errors = [_error(rows, bounds, mechanisms, value + less) for rows in (inside, outside)]
    prior = float(np.mean([abs(guess - value) for guess in range(low, high + 1)]))
    odds = _log_odds(inside, outside, bounds, mechanisms)
    return Auxiliary(len(outside), budget, bounds, less, prior, errors[0], errors[1], odds, of)


def _mechanisms(bounds: tuple[int, int], epsilon: Fraction) -> tuple[Laplace, Laplace]:
    half = Fraction(bounds[1] - bounds[0], 2)
    total = Laplace(sensitivity=half, epsilon=epsilon / 2, step=Fraction(1, 2), on_grid=True)
    return total, Laplace(sensitivity=1, epsilon=epsilon / 2, step=1, on_grid=True)


def _exactly(rows: Sequence[int], bounds: tuple[int, int]) -> tuple[Fraction, int]:
    middle = Fraction(sum(bounds), 2)
    return sum(rows) - middle * len(rows), len(rows)


def _error(rows: Sequence[int], bounds: tuple[int, int], mechanisms: tuple[Laplace, Laplace], average: float) -> float:
    """The error of the guess (the released average, less the known difference): that of the released average."""
    (total, count), (noisy_total, noisy_count) = _exactly(rows, bounds), mechanisms
    middle = sum(bounds) / 2
    guesses = [middle + float(noisy_total.release(total)) / max(1.0, float(noisy_count.release(count))) for _ in range(RUNS)]
    return float(np.mean(np.abs(np.array(guesses) - average)))


def _log_odds(inside: Sequence[int], outside: Sequence[int], bounds: tuple[int, int], mechanisms: tuple[Laplace, Laplace]) -> float:
    """The worst loss of both releases together, in either direction: they are independent, so that their worst cases add up."""
    loss = Decimal(0)
    for mechanism, one, other in zip(mechanisms, _exactly(inside, bounds), _exactly(outside, bounds), strict=True):
        laws = mechanism.law(one), mechanism.law(other)
        loss += max(worst_log_ratio(*laws), worst_log_ratio(*reversed(laws)))
    return float(loss)
