"""MAX, or MIN, over real values, equal ones allowed: the exact simulatable auditors (maximum.md).

MAX over real values, equal ones allowed: the exact simulatable auditor. Claim and proof are in maximum.md.

The answers a_1, ..., a_t give row j the bound  u_j = min{a_i : j in Q_i},  and say of each question that some row of
E_i = {j in Q_i : u_j = a_i}  has the value a_i. A row is determined if it is alone in an E_i. A new question Q is refused if some
answer that the history allows would leave a row alone: one number per past question decides it, how many of E_i are outside Q.
Most often a few rows of E_i, which are cached, show that it is two or more; only where they do not is the question gone through.

MIN over real values, equal ones allowed: MAX of the negated values, see maximum.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.rounding import counted
from tacit.publish.audited.auditor import bounds_text, check_aggregate, check_bounds, far_above, far_below
from tacit.publish.audited.question import Decision, Number, Question, Rows, number_text

Floats = NDArray[np.float64]
AT_HAND = 8  # extremes kept at hand of each past question
NO_ROW = -1


@dataclass(frozen=True, slots=True, eq=False)
class Maxima:
    """The state of answers to MAX: an upper bound for each row, and the questions with their answers."""

    bounds: Floats
    questions: tuple[Rows, ...]
    answers: Floats
    at_hand: NDArray[np.int64]  # some of each E_i, a line for each question; NO_ROW where there are fewer

    def extremes(self, number: int) -> Rows:
        """E_i: the rows that may hold the answer to a past question."""
        members = self.questions[number]
        rows: Rows = members[self.bounds[members] == self.answers[number]]
        return rows

    def whole(self) -> NDArray[np.bool_]:
        """The questions whose extremes are all cached: those with few, since extremes are lost and never won."""
        whole: NDArray[np.bool_] = self.at_hand[:, -1] == NO_ROW
        return whole

    def outside(self, members: Rows) -> NDArray[np.int64]:
        """How many of each E_i are not among `members`: 0, 1, or 2 for two and more."""
        fitting = (self.at_hand != NO_ROW) & (self.bounds[self.at_hand] == self.answers[:, None])
        fitting &= ~_among(self.at_hand, members)
        counts: NDArray[np.int64] = np.minimum(fitting.sum(axis=1), 2)
        inside = np.zeros(len(self.bounds), dtype=np.bool_)
        inside[members] = True
        for number in np.flatnonzero((counts < 2) & ~self.whole()).tolist():
            others = self.questions[number][~inside[self.questions[number]]]
            counts[number] = min(2, int(np.count_nonzero(self.bounds[others] == self.answers[number])))
        return counts


@dataclass(frozen=True, slots=True)
class Ground:
    """The reason of a refusal: an answer, and the row whose value it would disclose."""

    kind: Literal["last", "highest", "bound"]
    row: int
    value: float
    past: int = -1


@dataclass(frozen=True, slots=True)
class MaxAuditor:
    """Refuses a MAX that could determine a person's value; `lower` and `upper` are public bounds, ends included.

    >>> from tacit.publish.audited.question import question
    >>> auditor = MaxAuditor()
    >>> known = auditor.learn(auditor.begin(5), question("max", range(5)), 10)
    >>> print(auditor.decide(known, question("max", range(4))).reason)
    if the answer were below 10, only row 5 could have the 10 of question 1
    """

    lower: float | None = None
    upper: float | None = None
    name = "max"
    aggregates = frozenset({"max"})

    def __post_init__(self) -> None:
        check_bounds(self.lower, self.upper)

    @property
    def facts(self) -> str:
        """The bounds that the auditor assumes to be public, in words."""
        return bounds_text(self.lower, self.upper)

    def begin(self, people: int) -> Maxima:
        """The state before any answer."""
        bounds = np.full(people, np.inf if self.upper is None else self.upper)
        return Maxima(bounds, (), np.empty(0), np.empty((0, AT_HAND), dtype=np.int64))

    def decide(self, state: Maxima, question: Question) -> Decision:
        """Whether the question is answered, and why, from the history alone."""
        ground = self.ground(state, check_aggregate(self, question))
        return Decision(False, _reason(ground)) if ground else Decision(True, "no possible answer determines a value")

    def ground(self, state: Maxima, question: Question) -> Ground | None:
        """The reason to refuse, or None, by the rule of maximum.md."""
        outside = state.outside(question.members)
        least = max(state.answers[outside == 0], default=-np.inf)
        last = np.flatnonzero((outside == 1) & (state.answers > least))
        if last.size:
            number = int(last[np.argmax(state.answers[last])])
            row = np.setdiff1d(state.extremes(number), question.members)[0]
            return Ground("last", int(row), float(state.answers[number]), number)
        bounds = state.bounds[question.members]
        highest = question.members[bounds == bounds.max()]
        if highest.size == 1:
            below = max(least, bounds[bounds < bounds.max()].max(initial=-np.inf))
            return Ground("highest", int(highest[0]), float(below))
        if self.lower is not None and least == -np.inf:
            return Ground("bound", int(question.members[0]), self.lower)
        return None

    def learn(self, state: Maxima, question: Question, answer: Number) -> Maxima:
        """The state after the answer."""
        bounds = state.bounds.copy()
        bounds[question.members] = np.minimum(bounds[question.members], float(answer))
        at_hand = np.concatenate([state.at_hand, np.zeros((1, AT_HAND), dtype=np.int64)])
        learnt = Maxima(bounds, (*state.questions, question.members), np.append(state.answers, float(answer)), at_hand)
        stale = ((bounds[at_hand] == learnt.answers[:, None]).sum(axis=1) < AT_HAND // 2) & ~learnt.whole()
        for number in {*np.flatnonzero(stale).tolist(), len(state.answers)}:
            at_hand[number] = _spread(learnt.extremes(number))
        return learnt

    def determined_values(self, state: Maxima) -> dict[int, float]:
        """The rows whose values the answers determine; an auditor's own histories determine none."""
        alone = {number: state.extremes(number) for number in range(len(state.answers))}
        values = {int(rows[0]): float(state.answers[number]) for number, rows in alone.items() if rows.size == 1}
        if self.lower is not None:
            values |= {int(row): self.lower for row in np.flatnonzero(state.bounds == self.lower)}
        return values

    def possible(self, state: Maxima, question: Question) -> tuple[float, ...]:
        """Answers that the history allows: each past one, and two from each interval between them, so that the conclusions which
        both share hold throughout it.
        """
        counts, bounds = state.outside(question.members), state.bounds[question.members]
        low, high = max(state.answers[counts == 0], default=-np.inf), bounds.max()
        ends = {float(level) for level in (*state.answers, *bounds) if np.isfinite(level)}
        levels = sorted(ends | {bound for bound in (self.lower, self.upper) if bound is not None})
        allowed = [a for a in (*levels, *_between(levels)) if low <= a <= high and (self.lower is None or a >= self.lower)]
        return tuple(sorted(allowed))

    def summary(self, state: Maxima) -> str:
        """The number of answers, and of rows with a bound, in words."""
        covered = int(np.count_nonzero(state.bounds < (np.inf if self.upper is None else self.upper)))
        return f"{counted(len(state.answers), 'answer')}; a bound is known for {covered:,} of {len(state.bounds):,} rows"


def _reason(ground: Ground) -> str:
    if ground.kind == "last":
        value = number_text(ground.value)
        return f"if the answer were below {value}, only row {ground.row + 1} could have the {value} of question {ground.past + 1}"
    if ground.kind == "bound":
        return (
            f"everybody knows that no value is below {number_text(ground.value)}: as the answer, it would be the value of every row"
        )
    return f"{_condition(ground)}the answer would be the value of row {ground.row + 1}"


def _condition(ground: Ground) -> str:
    return "" if ground.value == -np.inf else f"if it were above {number_text(ground.value)}, "


def _among(rows: NDArray[np.int64], members: Rows) -> NDArray[np.bool_]:
    """Whether each entry is a member, by bisection: the members may be few and the rows many."""
    places = np.minimum(np.searchsorted(members, rows), members.size - 1)
    is_member: NDArray[np.bool_] = members[places] == rows
    return is_member


def _spread(rows: Rows) -> NDArray[np.int64]:
    """A few of the rows, from all over them: one new question seldom holds them all."""
    chosen = rows[np.linspace(0, rows.size - 1, min(AT_HAND, rows.size)).astype(np.int64)]
    return np.concatenate([chosen, np.full(AT_HAND - chosen.size, NO_ROW)])


def _between(levels: list[float]) -> list[float]:
    """Two points of each open stretch that the levels leave."""
    if not levels:
        return [0.0, 1.0]
    inner = [low + (high - low) * share for low, high in pairwise(levels) for share in (1 / 3, 2 / 3)]
    below, above = far_below(levels[0]), far_above(levels[-1])
    return [far_below(below), below, *inner, above, far_above(above)]


# --- mIN over real values, equal ones allowed --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MinAuditor:
    """Refuses a MIN that could determine a person's value.

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
        """The bounds that the auditor assumes to be public, in words."""
        return bounds_text(self.lower, self.upper)

    @property
    def max_auditor(self) -> MaxAuditor:
        """The auditor of the negated values."""
        return MaxAuditor(_negative(self.upper), _negative(self.lower))

    def begin(self, people: int) -> Maxima:
        """The state before any answer."""
        return self.max_auditor.begin(people)

    def decide(self, state: Maxima, question: Question) -> Decision:
        """Whether the question is answered, and why, from the history alone."""
        ground = self.max_auditor.ground(state, check_aggregate(self, question))
        return Decision(False, _reason_of_minimum(ground)) if ground else Decision(True, "no possible answer determines a value")

    def learn(self, state: Maxima, question: Question, answer: Number) -> Maxima:
        """The state after the answer."""
        return self.max_auditor.learn(state, question, -answer)

    def determined_values(self, state: Maxima) -> dict[int, float]:
        """The rows whose values the answers determine."""
        return {row: -value for row, value in self.max_auditor.determined_values(state).items()}

    def possible(self, state: Maxima, question: Question) -> tuple[float, ...]:
        """Answers that the history allows, as for MAX."""
        return tuple(sorted(-answer for answer in self.max_auditor.possible(state, question)))

    def summary(self, state: Maxima) -> str:
        """The number of answers, and of rows with a bound, in words."""
        return self.max_auditor.summary(state)


def _negative(bound: float | None) -> float | None:
    return None if bound is None else -bound


def _reason_of_minimum(ground: Ground) -> str:
    value = number_text(-ground.value)
    if ground.kind == "last":
        return f"if the answer were above {value}, only row {ground.row + 1} could have the {value} of question {ground.past + 1}"
    if ground.kind == "bound":
        return f"everybody knows that no value is above {value}: as the answer, it would be the value of every row"
    condition = "" if ground.value == -float("inf") else f"if it were below {value}, "
    return f"{condition}the answer would be the value of row {ground.row + 1}"
