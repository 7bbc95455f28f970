"""A prior that is wrong about everybody: "every graduate student has three arms". Any useful release corrects it.

Dalenius (1977) asked that a release change no belief about a person. Here an adversary believes that all of n people have a
property that none has. One private count of those who have it moves the belief about each of them nearly from one to zero, in
the data or not: the odds of the two worlds move by up to e^(n epsilon), since the worlds differ in n people. That is what
statistics are for. What one person's own row can move is a factor of e^epsilon, and that is the promise.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars, told
from tacit.evidence.attacks.posterior import posterior, posterior_of
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.law import Law
from tacit.privacy.loss import probability
from tacit.privacy.rounding import Number, exact

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
        return told(
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
    """Release the count of people with a property that nobody has, to an analyst who believes that all of them have it.

    >>> found = wrong_prior()
    >>> found.before, found.after_in < 1e-3, found.after_out < 1e-3, round(found.own_log_odds, 9)
    (0.99, True, True, 1.0)
    """
    budget, belief = exact(epsilon, "epsilon"), probability(exact(prior, "prior"))
    if people < 2 or budget * people > MOST_TOLD:
        raise InvalidInput(f"people must be at least 2, and epsilon times people at most {MOST_TOLD}")
    count = Laplace(sensitivity=1, epsilon=budget, step=1, on_grid=True)
    with_chad, without = (_believed(count, size, belief) for size in (people, people - 1))
    own = posterior_of(count, {"in": 1, "out": 0}).log_odds
    return WrongPrior(people, float(budget), float(belief), with_chad[0], without[0], with_chad[1], own)


def _believed(count: Laplace, people: int, belief: Number) -> tuple[float, float]:
    """The mean belief in `everybody` if the truth is that no one has it, and how far the odds of the two can move."""
    laws: dict[Hashable, Law] = {world: count.law(having, missing=MISSING) for world, having in ((EVERYBODY, people), (NOBODY, 0))}
    found = posterior(laws, {EVERYBODY: belief, NOBODY: 1 - exact(belief)})
    held = zip(found.outcomes, found.after[EVERYBODY], strict=True)
    return sum(float(laws[NOBODY].probabilities[outcome]) * part for outcome, part in held), found.log_odds
