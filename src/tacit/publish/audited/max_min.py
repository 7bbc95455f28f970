"""MAX and MIN together: simulatable auditors where values differ, and where they may be equal.

MAX and MIN together over real values that all differ: the exact simulatable auditor. Claim and proof are in max_min.md.

The answers put row j between  l_j  and  u_j.  Since values differ, exactly one row has each answered value v, and it is in every
set that was answered v: these rows, if v is within their bounds, are the class of v. A row is in two classes at most, that of u_j
and that of l_j. While a class has one row, that row is determined, and leaves its other class (singleton elimination); a class
left empty shows that the answers cannot be. If none is left with one row, nothing is determined.

MAX and MIN together where values may be equal: a sound simulatable rule. Claim and proof are in max_min_duplicates.md.

To decide whether answers of both kinds determine a value is NP-hard if values may be equal. The rule answers only if, for every
answer that may come, rows can be shared out so that each past MAX has two rows of its own that may hold it and each past MIN two:
then any one of them can be let go, every value can be moved, and nothing is determined. Where no such share is found it refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.rounding import counted
from tacit.publish.audited.auditor import bounds_text, check_aggregate, check_bounds, far_above, far_below
from tacit.publish.audited.question import Decision, Number, Question, Rows, number_text

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """The state of answers to MAX and MIN over values that all differ."""

    lower: Floats
    upper: Floats
    in_lower: Flags  # whether a row is in the class of its lower end, and of its upper end
    in_upper: Flags
    levels: Floats  # the answers, ascending, each once
    counts: Counts  # rows in the class of each level
    totals: Counts  # the sum of these rows, which names the last one when one is left
    answers: int

    def mirror(self) -> Ranges:
        """The same state for the negated values, for which MIN is MAX."""
        turned = (-self.levels[::-1], self.counts[::-1], self.totals[::-1])
        return Ranges(-self.upper, -self.lower, self.in_upper, self.in_lower, *turned, self.answers)

    def level(self, value: float) -> int | None:
        """The place of an answered value among the levels."""
        at = int(np.searchsorted(self.levels, value))
        return at if at < len(self.levels) and self.levels[at] == value else None


class Asked:
    """MAX over `members` on top of the state: the changes that each answer would make, computed for all answers at once."""

    def __init__(self, state: Ranges, members: Rows) -> None:
        self.state, self.members = state, members
        self.inside = np.zeros(len(state.upper), dtype=np.bool_)
        self.inside[members] = True
        held = members[state.in_upper[members]]
        places, size = np.searchsorted(state.levels, state.upper[held]), len(state.levels)
        self.taken = np.bincount(places, minlength=size)
        self.taken_totals = state.totals - _sums(places, held, size)
        self.left = state.counts - self.taken
        self.least = max(state.levels[self.left == 0].max(initial=-np.inf), state.lower[members].max())
        self.most = float(state.upper[members].max())
        self.alone = state.levels[self.left == 1].max(initial=-np.inf)

    def disclosure(self) -> tuple[float, int, float] | None:
        """A possible answer, a row that it would determine, and the value; None if no answer does."""
        for answer in self._answers():
            if (case := self._case(answer)) and (disclosed := case.first_disclosure()):
                return answer, *disclosed
        return None

    def _answers(self) -> Iterator[float]:
        """One answer of every kind that is possible: the levels, the ends, and one between each two."""
        ends = {float(end) for end in (self.least, self.most) if np.isfinite(end)}
        levels = sorted(ends | set(self.state.levels.tolist())) or [0.0]
        middles = [low + (high - low) / 2 for low, high in pairwise(levels)]
        for answer in (far_below(levels[0]), *middles, far_above(levels[-1]), *levels):
            if self.least <= answer <= self.most:
                yield answer

    def _case(self, answer: float) -> Case | None:
        """The classes under an answer; None if it cannot be, or if no class is down to one row."""
        size, total = self._class(answer)
        if size == 0 or not (size == 1 or answer < self.alone):
            return None
        changed = np.flatnonzero((self.taken > 0) & (self.state.levels > answer)).tolist()
        sizes = {float(self.state.levels[at]): int(self.left[at]) for at in changed}
        totals = {float(self.state.levels[at]): int(self.taken_totals[at]) for at in changed}
        return Case(self, answer, sizes | {answer: size}, totals | {answer: total})

    def _class(self, answer: float) -> tuple[int, int]:
        """How many rows may have the answer, and their sum."""
        state, members = self.state, self.members
        forced = members[state.lower[members] == answer]
        at = state.level(answer)
        if forced.size:
            fits = forced.size == 1 and (at is None or state.in_lower[forced[0]])
            return int(fits), int(forced[0])
        if at is None:
            may = members[state.upper[members] >= answer]
            return may.size, int(may.sum())
        return int(self.taken[at]), int(state.totals[at] - self.taken_totals[at])


@dataclass(slots=True)
class Case:
    """The classes as they would be if the answer were `answer`; `sizes` and `totals` are of those that it changes."""

    asked: Asked
    answer: float
    sizes: dict[float, int]
    totals: dict[float, int]
    first: tuple[int, float] | None = field(default=None)

    def first_disclosure(self) -> tuple[int, float] | None:
        """The first row that is determined, with its value, by singleton elimination; None if the answer cannot be."""
        single = [level for level, size in self.sizes.items() if size == 1]
        while single:
            level = single.pop()
            row = self.totals[level]
            self.first = self.first or (row, level)
            for other in self._classes(row):
                if other != level:
                    self._remove(row, other)
                    single += [other] * (self.sizes[other] == 1)
                    if self.sizes[other] == 0:
                        return None
        return self.first

    def _remove(self, row: int, level: float) -> None:
        state = self.asked.state
        at = state.level(level)
        if level not in self.sizes and at is not None:
            self.sizes[level], self.totals[level] = int(state.counts[at]), int(state.totals[at])
        self.sizes[level] -= 1
        self.totals[level] -= row

    def _classes(self, row: int) -> Iterator[float]:
        """The levels in whose class the row is, under the answer."""
        state, inside = self.asked.state, self.asked.inside[row]
        upper, lower = float(state.upper[row]), float(state.lower[row])
        if inside and upper >= self.answer and state.level(self.answer) is None:
            yield self.answer
        elif state.in_upper[row] and (upper < self.answer or (upper == self.answer if inside else upper != self.answer)):
            yield upper
        if state.in_lower[row] and (inside or lower != self.answer):
            yield lower


@dataclass(frozen=True, slots=True)
class MaxMinAuditor:
    """Refuses a MAX or a MIN that could determine a person's value, where it is public that all values differ.

    >>> from tacit.publish.audited.question import question
    >>> auditor = MaxMinAuditor()
    >>> known = auditor.learn(auditor.begin(4), question("max", [0, 1, 2]), 9)
    >>> print(auditor.decide(known, question("max", [1, 2, 3])).reason)
    if the answer were 0, row 1 would have to be 9
    >>> auditor.decide(known, question("min", [0, 1, 2])).answered
    True
    """

    lower: float | None = None
    upper: float | None = None
    name = "max-min"
    aggregates = frozenset({"max", "min"})

    def __post_init__(self) -> None:
        check_bounds(self.lower, self.upper)

    @property
    def facts(self) -> str:
        """The facts that the auditor assumes to be public, in words."""
        return f"{bounds_text(self.lower, self.upper)}, all distinct"

    def begin(self, people: int) -> Ranges:
        """The state before any answer."""
        low, high = (-np.inf if self.lower is None else self.lower), (np.inf if self.upper is None else self.upper)
        no_rows, no_levels = np.zeros(people, dtype=np.bool_), np.empty(0, dtype=np.int64)
        return Ranges(np.full(people, low), np.full(people, high), no_rows, no_rows, np.empty(0), no_levels, no_levels, 0)

    def decide(self, state: Ranges, question: Question) -> Decision:
        """Whether the question is answered, and why, from the history alone."""
        if check_aggregate(self, question).members.size == 1:
            return Decision(False, f"the answer would be the value of row {question.members[0] + 1}")
        sign = 1 if question.aggregate == "max" else -1
        disclosure = Asked(state if sign == 1 else state.mirror(), question.members).disclosure()
        if disclosure is None:
            return Decision(True, "no possible answer determines a value")
        answer, row, value = number_text(sign * disclosure[0]), disclosure[1] + 1, number_text(sign * disclosure[2])
        return Decision(False, f"if the answer were {answer}, row {row} would have to be {value}")

    def learn(self, state: Ranges, question: Question, answer: Number) -> Ranges:
        """The state after the answer."""
        if question.aggregate == "min":
            return _learn(state.mirror(), question.members, -float(answer)).mirror()
        return _learn(state, question.members, float(answer))

    def summary(self, state: Ranges) -> str:
        """The number of answers and of values that they disclosed, in words."""
        small = int(np.count_nonzero(state.counts == 2))
        levels = f"{counted(len(state.levels), 'value')} known to be somebody's, {small:,} of them one of two"
        return f"{counted(state.answers, 'answer')}; {levels}"


def _learn(state: Ranges, members: Rows, answer: float) -> Ranges:
    """The state after the answer to MAX over the members."""
    inside = np.zeros(len(state.upper), dtype=np.bool_)
    inside[members] = True
    lowered, is_new = inside & (state.upper > answer), state.level(answer) is None
    in_upper = state.in_upper & ~lowered & (inside | (state.upper != answer))
    in_lower = state.in_lower & (inside | (state.lower != answer))
    upper = np.where(lowered, answer, state.upper)
    if is_new:
        in_upper |= inside & (upper == answer)
    levels = np.unique(np.append(state.levels, answer))
    counts, totals = _classes_of(levels, (upper, in_upper), (state.lower, in_lower))
    return Ranges(state.lower, upper, in_lower, in_upper, levels, counts, totals, state.answers + 1)


def _classes_of(levels: Floats, *sides: tuple[Floats, Flags]) -> tuple[Counts, Counts]:
    """How many rows each class has, and the sum of these rows; a row between equal ends is one row."""
    counts, totals = np.zeros(len(levels), dtype=np.int64), np.zeros(len(levels), dtype=np.int64)
    (upper, in_upper), (lower, in_lower) = sides
    for ends, held in ((upper, in_upper), (lower, in_lower & ~(in_upper & (upper == lower)))):
        rows = np.flatnonzero(held)
        places = np.searchsorted(levels, ends[rows])
        counts += np.bincount(places, minlength=len(levels))
        totals += _sums(places, rows, len(levels))
    return counts, totals


def _sums(places: Counts, rows: Rows, size: int) -> Counts:
    """The sum of the rows at each place, exact: floats hold whole numbers to 2^53."""
    sums: Counts = np.bincount(places, weights=rows, minlength=size).astype(np.int64)
    return sums


# --- mAX and MIN together where values may be equal --------------------------------------------------------------------------


Past = tuple[tuple[Rows, float], ...]
ENOUGH = 2  # rows of its own for each past answer: one may be let go


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The state of answers to MAX and MIN: bounds of each row's value, and the questions of each kind with their answers."""

    lower: Floats
    upper: Floats
    maxima: Past
    minima: Past

    def mirror(self) -> Sides:
        """The same state for the negated values."""
        maxima, minima = (tuple((rows, -answer) for rows, answer in past) for past in (self.maxima, self.minima))
        return Sides(-self.upper, -self.lower, minima, maxima)


@dataclass(frozen=True, slots=True)
class MaxMinDuplicatesAuditor:
    """Refuses a MAX or a MIN unless a simple sufficient rule shows that no answer can determine a value; it refuses too often.

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
        """The bounds that the auditor assumes to be public, in words."""
        return bounds_text(self.lower, self.upper)

    def begin(self, people: int) -> Sides:
        """The state before any answer."""
        low, high = (-np.inf if self.lower is None else self.lower), (np.inf if self.upper is None else self.upper)
        return Sides(np.full(people, low), np.full(people, high), (), ())

    def decide(self, state: Sides, question: Question) -> Decision:
        """Whether the question is answered, and why, from the history alone."""
        sign = 1 if check_aggregate(self, question).aggregate == "max" else -1
        view = state if sign == 1 else state.mirror()
        for answer in _answers(view, question.members):
            after = _learn_with_equals(view, question.members, answer)
            sets = _holders(after.maxima, after.upper), _holders(after.minima, after.lower)
            impossible = any(rows.size == 0 for rows in sets[0])
            if not impossible and ((after.lower == after.upper).any() or not _shared_out(*sets, len(after.upper))):
                return Decision(False, f"an answer of {number_text(sign * answer)} might determine a value")
        return Decision(True, "whatever the answer, every value has an alternative")

    def learn(self, state: Sides, question: Question, answer: Number) -> Sides:
        """The state after the answer."""
        if question.aggregate == "min":
            return _learn_with_equals(state.mirror(), question.members, -float(answer)).mirror()
        return _learn_with_equals(state, question.members, float(answer))

    def summary(self, state: Sides) -> str:
        """The number of answers of each kind, in words."""
        return f"{counted(len(state.maxima), 'answer')} to MAX and {len(state.minima):,} to MIN"


def _learn_with_equals(state: Sides, members: Rows, answer: float) -> Sides:
    upper = state.upper.copy()
    upper[members] = np.minimum(upper[members], answer)
    return Sides(state.lower, upper, (*state.maxima, (members, answer)), state.minima)


def _answers(state: Sides, members: Rows) -> Iterator[float]:
    """One answer of every kind that MAX over the members may have."""
    least, most = float(state.lower[members].max()), float(state.upper[members].max())
    places = {answer for _, answer in (*state.maxima, *state.minima)} | {end for end in (least, most) if np.isfinite(end)}
    levels = sorted(places) or [0.0]
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
