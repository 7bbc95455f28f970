"""SUM where bounds of the values are public, or where values are 0 or 1: the questions that can still be answered
(bounded_sums.md).

A public bound is a trap: the largest possible sum puts a person at the bound. So the exact rule for bounded reals answers
only sums that follow from earlier answers. For zeros and ones the decision is coNP-hard in general; it is made by
listing databases where few rows are connected, and by the same rule where many are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import counted
from tacit.publish.audited.auditor import bounds_text, check_bounds
from tacit.publish.audited.question import Decision, Number, Question, Rows, number_text
from tacit.publish.audited.sums import SumAuditor, Sums

FEW = 16  # most connected rows for which every database of zeros and ones is listed


@dataclass(frozen=True, slots=True)
class BoundedSumAuditor:
    """Refuses every SUM that does not follow from earlier ones, because a bound is public; no auditor can answer more.

    >>> from tacit.publish.audited.question import question
    >>> auditor = BoundedSumAuditor(lower=0, upper=100)
    >>> print(auditor.decide(auditor.begin(50), question("sum", range(50))).reason)
    everybody knows values of at least 0 and at most 100: the smallest or largest possible sum would determine a value
    """

    lower: float | None = None
    upper: float | None = None
    name = "sum"
    aggregates = frozenset({"sum"})

    def __post_init__(self) -> None:
        if self.lower is None and self.upper is None:
            raise InvalidInput("at least one bound is required; give lower=, upper= or both, or use SumAuditor")
        check_bounds(self.lower, self.upper)

    @property
    def facts(self) -> str:
        """The bounds that the auditor assumes to be public, in words."""
        return bounds_text(self.lower, self.upper)

    def begin(self, people: int) -> Sums:
        """The state before any answer."""
        return SumAuditor().begin(people)

    def decide(self, state: Sums, question: Question) -> Decision:
        """Whether the question is answered, and why, from the history alone."""
        decision = SumAuditor().decide(state, question)
        if decision.known:
            return decision
        return Decision(False, f"everybody knows {self.facts}: the smallest or largest possible sum would determine a value")

    def learn(self, state: Sums, question: Question, answer: Number) -> Sums:
        """The state after the answer."""
        return SumAuditor().learn(state, question, answer)

    def summary(self, state: Sums) -> str:
        """The number of answers, in words."""
        return f"{counted(state.answers, 'answer')}; with a known bound, only queries that follow from them are answered"


@dataclass(frozen=True, slots=True, eq=False)
class Ones:
    """The state of answers to sums of zeros and ones: the space of the questions, and the questions with their answers."""

    sums: Sums
    past: tuple[tuple[Rows, int], ...]

    def together(self, members: Rows) -> tuple[Rows, list[tuple[Rows, int]]]:
        """The rows connected to the members through past questions, and these questions."""
        rows, met = members, list[tuple[Rows, int]]()
        while True:
            more = [(asked, answer) for asked, answer in self.past if np.isin(asked, rows).any()]
            if len(more) == len(met):
                return rows, met
            met, rows = more, np.unique(np.concatenate([rows, *(asked for asked, _ in more)]))


@dataclass(frozen=True, slots=True)
class BooleanSumAuditor:
    """Refuses a SUM of zeros and ones unless it follows, or unless listing shows that no answer determines a value.

    >>> from tacit.publish.audited.question import question
    >>> auditor = BooleanSumAuditor()
    >>> print(auditor.decide(auditor.begin(50), question("sum", range(10))).reason)
    if the answer were 0, everybody would know the value of row 1
    """

    name = "boolean-sum"
    aggregates = frozenset({"sum"})
    facts = "values that are 0 or 1"

    def begin(self, people: int) -> Ones:
        """The state before any answer."""
        return Ones(SumAuditor().begin(people), ())

    def decide(self, state: Ones, question: Question) -> Decision:
        """Whether the question is answered, and why, from the history alone."""
        decision = SumAuditor().decide(state.sums, question)
        if decision.known:
            return decision
        rows, past = state.together(question.members)
        if rows.size > FEW:
            return Decision(
                False,
                f"{rows.size:,} rows are connected: that many are not checked, so only what follows from the answers is answered",
            )
        leak = _disclosure(_databases(rows, past), rows, question.members)
        if leak is None:
            return Decision(True, "no possible answer determines a value")
        return Decision(False, f"if the answer were {number_text(leak[0])}, everybody would know the value of row {leak[1] + 1}")

    def learn(self, state: Ones, question: Question, answer: Number) -> Ones:
        """The state after the answer."""
        sums = SumAuditor().learn(state.sums, question, answer)
        return replace(state, sums=sums, past=(*state.past, (question.members, int(answer))))

    def summary(self, state: Ones) -> str:
        """The number of answers, in words."""
        return counted(len(state.past), "answer")


def _databases(rows: Rows, past: list[tuple[Rows, int]]) -> NDArray[np.int8]:
    """Every database of zeros and ones over the rows that agrees with past answers, a line each."""
    numbers = np.arange(1 << rows.size)
    databases = ((numbers[:, None] >> np.arange(rows.size)) & 1).astype(np.int8)
    for asked, answer in past:
        databases = databases[databases[:, np.searchsorted(rows, asked)].sum(axis=1) == answer]
    return databases


def _disclosure(databases: NDArray[np.int8], rows: Rows, members: Rows) -> tuple[int, int] | None:
    """A possible answer, and a row whose value it would determine; None without one."""
    answers = databases[:, np.searchsorted(rows, members)].sum(axis=1)
    for answer in np.unique(answers).tolist():
        fitting = databases[answers == answer]
        constant = np.flatnonzero((fitting == fitting[0]).all(axis=0))
        if constant.size:
            return answer, int(rows[constant[0]])
    return None
