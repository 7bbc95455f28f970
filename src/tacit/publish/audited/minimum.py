"""MIN over real values, equal ones allowed: MAX of the negated values, see maximum.md."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.publish.audited.auditor import bounds_text, check_aggregate, check_bounds
from tacit.publish.audited.maximum import Ground, MaxAuditor, Maxima
from tacit.publish.audited.question import Decision, Number, Question, number_text


@dataclass(frozen=True, slots=True)
class MinAuditor:
    """Refuses a MIN that could determine somebody's value.

    >>> from tacit.publish.audited.question import question
    >>> auditor = MinAuditor()
    >>> known = auditor.learn(auditor.begin(3), question("min", [0, 1, 2]), 4)
    >>> print(auditor.decide(known, question("min", [0, 1])).reason)
    if the answer were above 4, only row 3 could have the 4 of question 1
    """

    lower: float | None = None
    upper: float | None = None
    name = "min"
    aggregates = frozenset({"min"})

    def __post_init__(self) -> None:
        check_bounds(self.lower, self.upper)

    @property
    def facts(self) -> str:
        """What the auditor takes everybody to know, in words."""
        return bounds_text(self.lower, self.upper)

    @property
    def negated(self) -> MaxAuditor:
        """The auditor of the negated values."""
        return MaxAuditor(_negative(self.upper), _negative(self.lower))

    def begin(self, people: int) -> Maxima:
        """What is known before anything was asked."""
        return self.negated.begin(people)

    def decide(self, state: Maxima, question: Question) -> Decision:
        """Whether the question is answered, and why, from the history alone."""
        ground = self.negated.ground(state, check_aggregate(self, question))
        return Decision(False, _reason(ground)) if ground else Decision(True, "no possible answer determines a value")

    def learn(self, state: Maxima, question: Question, answer: Number) -> Maxima:
        """What is known after the answer."""
        return self.negated.learn(state, question, -answer)

    def determined(self, state: Maxima) -> dict[int, float]:
        """The rows whose values the answers determine."""
        return {row: -value for row, value in self.negated.determined(state).items()}

    def possible(self, state: Maxima, question: Question) -> tuple[float, ...]:
        """Answers that the history allows, as for MAX."""
        return tuple(sorted(-answer for answer in self.negated.possible(state, question)))

    def summary(self, state: Maxima) -> str:
        """What the history has used up, in words."""
        return self.negated.summary(state)


def _negative(bound: float | None) -> float | None:
    return None if bound is None else -bound


def _reason(ground: Ground) -> str:
    value = number_text(-ground.value)
    if ground.kind == "last":
        return f"if the answer were above {value}, only row {ground.row + 1} could have the {value} of question {ground.past + 1}"
    if ground.kind == "bound":
        return f"everybody knows that no value is above {value}: as the answer, it would be the value of every row"
    condition = "" if ground.value == -float("inf") else f"if it were below {value}, "
    return f"{condition}the answer would be the value of row {ground.row + 1}"
