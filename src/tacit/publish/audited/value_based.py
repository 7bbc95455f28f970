"""The bad example: an auditor that looks at the true answer before it decides, so that its refusals disclose values
(value_based.md).

It refuses exactly when the answer would determine a value, which sounds right. But an analyst who knows the rule can compute which
possible answers would be refused. A refusal then says that the answer was one of those, and discloses everything that they have in
common. Simulatable auditors (auditor.py) cannot make this mistake: they are not given the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit.publish.audited.maximum import MaxAuditor, Maxima, MinAuditor
from tacit.publish.audited.question import Decision, Denial, ExactAnswer, Number, Question, Reply, number_text

Rule = MaxAuditor | MinAuditor
ANSWERS: dict[str, Callable[..., Number]] = {"max": np.max, "min": np.min}


@dataclass(frozen=True, slots=True)
class ValueBased:
    """Decides with the true answer in view. Never use it: its refusals depend on the data."""

    rule: Rule

    def decide(self, state: Maxima, question: Question, answer: Number) -> Decision:
        """Whether the question is answered; it looks at the answer, which is the mistake."""
        values = self.rule.determined_values(self.rule.learn(state, question, answer))
        return Decision(not values, "the answer would determine a value" if values else "the answer determines no value")


@dataclass(frozen=True, slots=True)
class Leak:
    """The disclosure of a refusal: the answers that the value-based auditor would refuse, and the values that all of them imply."""

    possible: tuple[float, ...]
    refused: tuple[float, ...]
    gives_away: dict[int, float]

    def __str__(self) -> str:
        if not self.gives_away:
            return "a refusal of this query discloses no value"
        named = ", ".join(f"x{row + 1} = {number_text(value)}" for row, value in sorted(self.gives_away.items()))
        return f"refused for {len(self.refused)} of {len(self.possible)} answers tried; a refusal discloses {named}"


def leak_report(rule: Rule, state: Maxima, question: Question) -> Leak:
    """The disclosure of a refusal, computed from the rule and the history alone, as an analyst can.

    >>> from tacit.publish.audited.question import question
    >>> rule = MaxAuditor()
    >>> known = rule.learn(rule.begin(5), question("max", range(5)), 10)
    >>> print(leak_report(rule, known, question("max", range(4))))
    refused for 2 of 3 answers tried; a refusal discloses x5 = 10
    """
    possible = rule.possible(state, question)
    values = {answer: rule.determined_values(rule.learn(state, question, answer)) for answer in possible}
    refused = tuple(answer for answer in possible if values[answer])
    common = set.intersection(*(set(values[answer].items()) for answer in refused)) if refused else set()
    return Leak(possible, refused, dict(common))


class PeekingDesk:
    """Answers or refuses by the value-based auditor, over values in memory; its history is all that an analyst sees."""

    def __init__(self, values: ArrayLike, rule: Rule | None = None) -> None:
        self._values = np.asarray(values, dtype=np.float64)
        self.rule = rule or MaxAuditor()
        self.state = self.rule.begin(len(self._values))

    def __repr__(self) -> str:
        return f"PeekingDesk({len(self._values)} rows, {self.rule.name})"

    def put(self, question: Question) -> Reply:
        """The reply to a question; the decision is made with the answer in view."""
        answer = float(ANSWERS[question.aggregate](self._values[question.members]))
        decision = ValueBased(self.rule).decide(self.state, question, answer)
        if not decision.answered:
            return Denial(str(question), decision.reason, None)
        self.state = self.rule.learn(self.state, question, answer)
        return ExactAnswer(str(question), answer, decision.reason, None)
