"""The protocol of a simulatable auditor: three functions of the history, the question and public facts. None of them receives data.

An auditor is a frozen value that holds public facts only (bounds, a prior). The history is summed up in a separate state, made by
`begin` and `learn` and by nothing else, so that a decision is a function of the questions and the answers given: an analyst could
compute it, and a refusal tells nothing (simulatable.md). The states are never changed in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from tacit.errors import InvalidInput, LawViolated
from tacit.publish.audited.question import Decision, Number, Question

State = TypeVar("State")


class Auditor(Protocol[State]):
    """Decides without seeing data."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""

    @property
    def facts(self) -> str:
        """The public facts that it assumes, in words; a history made under other facts is another history."""

    @property
    def aggregates(self) -> frozenset[str]:
        """The aggregates that it decides: a subset of max, min and sum."""

    def begin(self, people: int) -> State:
        """The state before any answer."""

    def decide(self, state: State, question: Question) -> Decision:
        """Whether the question will be answered."""

    def learn(self, state: State, question: Question, answer: Number) -> State:
        """The state after one more answer."""

    def summary(self, state: State) -> str:
        """One sentence on the answers given and the room that is left."""


Transcript = Iterable[tuple[Question, Number | None]]


def replayed(auditor: Auditor[State], people: int, transcript: Transcript) -> list[Decision]:
    """The decisions recomputed without data, from the questions and the answers given (None: refused).

    >>> from tacit.publish.audited.maximum import MaxAuditor
    >>> from tacit.publish.audited.question import question
    >>> asked = [(question("max", range(5)), 10), (question("max", range(4)), None)]
    >>> [decision.answered for decision in replayed(MaxAuditor(), 5, asked)]
    [True, False]
    """
    state, decisions = auditor.begin(people), []
    for question, answer in transcript:
        decisions.append(auditor.decide(state, question))
        if answer is not None:
            state = auditor.learn(state, question, answer)
    return decisions


def check_simulatable(auditor: Auditor[State], people: int, transcript: Sequence[tuple[Question, Number | None]]) -> None:
    """Raises `LawViolated` unless `replayed`, which has no data, gives the decisions that were taken over the data."""
    for number, (decision, (question, answer)) in enumerate(zip(replayed(auditor, people, transcript), transcript, strict=True)):
        if decision.answered != (answer is not None):
            did = "was answered" if answer is not None else "was refused"
            raise LawViolated("simulatable", f"question {number + 1} ({question}) {did}, which the previous answers do not explain")


def check_aggregate(auditor: Auditor[State], question: Question) -> Question:
    """The question; raises if its aggregate is not one that this auditor decides."""
    if question.aggregate not in auditor.aggregates:
        allowed = " and ".join(sorted(name.upper() for name in auditor.aggregates))
        raise InvalidInput(f"the auditor {auditor.name} supports {allowed}, not {question.aggregate.upper()}")
    return question


def bounds_text(lower: float | None, upper: float | None) -> str:
    """Public bounds in words.

    >>> bounds_text(None, None), bounds_text(0.0, None)
    ('any real values', 'values of at least 0.0')
    """
    if lower is None and upper is None:
        return "any real values"
    words = [f"at least {lower}"] * (lower is not None) + [f"at most {upper}"] * (upper is not None)
    return "values of " + " and ".join(words)


def check_bounds(lower: float | None, upper: float | None) -> None:
    """Raises unless the lower bound is below the upper one."""
    if lower is not None and upper is not None and not lower < upper:
        raise InvalidInput(f"lower must be below upper: {lower} is not below {upper}")


def far_below(level: float) -> float:
    """A number below a level, for floats of every size: they have gaps, so that subtracting 1 may change nothing.

    >>> far_below(3.0), far_below(1e300) < 1e300
    (0.0, True)
    """
    return level - max(1.0, abs(level))


def far_above(level: float) -> float:
    """A number above a level."""
    return level + max(1.0, abs(level))
