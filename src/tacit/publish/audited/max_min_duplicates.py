"""MAX and MIN together where values may be equal: a sound simulatable rule. Claim and proof are in max_min_duplicates.md.

Whether answers of both kinds determine a value is NP-hard to say if values may be equal. The rule answers only if, for every answer
that may come, rows can be shared out so that each past MAX has two rows of its own that may hold it and each past MIN two: then
any one of them can be let go, every value can be moved, and nothing is determined. Where no such share is found it refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.rounding import counted
from tacit.publish.audited.auditor import bounds_text, check_aggregate, check_bounds, far_above, far_below
from tacit.publish.audited.question import Decision, Number, Question, Rows, number_text

Floats = NDArray[np.float64]
Past = tuple[tuple[Rows, float], ...]
ENOUGH = 2  # rows of its own for each past answer: one may be let go


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """What answers say: ends of each row's range, and the questions of each kind with their answers."""

    lower: Floats
    upper: Floats
    maxima: Past
    minima: Past

    def mirrored(self) -> Sides:
        """The same knowledge about the negated values."""
        maxima, minima = (tuple((rows, -answer) for rows, answer in past) for past in (self.maxima, self.minima))
        return Sides(-self.upper, -self.lower, minima, maxima)


@dataclass(frozen=True, slots=True)
class MaxMinDuplicatesAuditor:
    """Refuses a MAX or a MIN unless it is plain that no answer can determine a value; refuses more than it would have to.

    >>> from tacit.publish.audited.question import question
    >>> auditor = MaxMinDuplicatesAuditor()
    >>> known = auditor.learn(auditor.begin(6), question("max", [0, 1, 2]), 9)
    >>> auditor.decide(known, question("min", [3, 4, 5])).answered
    True
    >>> print(auditor.decide(known, question("min", [0, 1, 2])).reason)
    an answer of 9 might determine a value
    """

    lower: float | None = None
    upper: float | None = None
    name = "max-min-duplicates"
    aggregates = frozenset({"max", "min"})

    def __post_init__(self) -> None:
        check_bounds(self.lower, self.upper)

    @property
    def facts(self) -> str:
        """What the auditor takes everybody to know, in words."""
        return bounds_text(self.lower, self.upper)

    def begin(self, people: int) -> Sides:
        """What is known before anything was asked."""
        low, high = (-np.inf if self.lower is None else self.lower), (np.inf if self.upper is None else self.upper)
        return Sides(np.full(people, low), np.full(people, high), (), ())

    def decide(self, state: Sides, question: Question) -> Decision:
        """Whether the question is answered, and why, from the history alone."""
        sign = 1 if check_aggregate(self, question).aggregate == "max" else -1
        view = state if sign == 1 else state.mirrored()
        for answer in _answers(view, question.members):
            after = _learn(view, question.members, answer)
            sets = _holders(after.maxima, after.upper), _holders(after.minima, after.lower)
            impossible = any(rows.size == 0 for rows in sets[0])
            if not impossible and ((after.lower == after.upper).any() or not _shared_out(*sets, len(after.upper))):
                return Decision(False, f"an answer of {number_text(sign * answer)} might determine a value")
        return Decision(True, "whatever the answer, every value has an alternative")

    def learn(self, state: Sides, question: Question, answer: Number) -> Sides:
        """What is known after the answer."""
        if question.aggregate == "min":
            return _learn(state.mirrored(), question.members, -float(answer)).mirrored()
        return _learn(state, question.members, float(answer))

    def summary(self, state: Sides) -> str:
        """What the history has used up, in words."""
        return f"{counted(len(state.maxima), 'answer')} to MAX and {len(state.minima):,} to MIN"


def _learn(state: Sides, members: Rows, answer: float) -> Sides:
    upper = state.upper.copy()
    upper[members] = np.minimum(upper[members], answer)
    return Sides(state.lower, upper, (*state.maxima, (members, answer)), state.minima)


def _answers(state: Sides, members: Rows) -> Iterator[float]:
    """One answer of every kind that MAX over the members may have."""
    least, most = float(state.lower[members].max()), float(state.upper[members].max())
    known = {answer for _, answer in (*state.maxima, *state.minima)} | {end for end in (least, most) if np.isfinite(end)}
    levels = sorted(known) or [0.0]
    middles = [low + (high - low) / 2 for low, high in pairwise(levels)]
    for answer in (*levels, *middles, far_below(levels[0]), far_above(levels[-1])):
        if least <= answer <= most:
            yield answer


def _holders(past: Past, ends: Floats) -> list[Rows]:
    """For each past answer the rows that may hold it."""
    return [rows[ends[rows] == answer] for rows, answer in past]


def _shared_out(high: list[Rows], low: list[Rows], people: int) -> bool:
    """Whether a greedy share gives each set ENOUGH rows, where a row serves the high sets or the low ones, not both."""
    wanted = np.zeros((2, people), dtype=np.bool_)
    for side, sets in enumerate((high, low)):
        for rows in sets:
            wanted[side, rows] = True
    contested, owner = wanted[0] & wanted[1], np.full(people, -1)
    tasks = sorted([(rows, 0) for rows in high] + [(rows, 1) for rows in low], key=lambda task: task[0].size)
    for rows, side in tasks:
        missing = ENOUGH - int(np.count_nonzero(~contested[rows] | (owner[rows] == side)))
        free = rows[contested[rows] & (owner[rows] == -1)]
        if missing > free.size:
            return False
        owner[free[: max(0, missing)]] = side
    return True
