"""The exponential adversary: answers to all subset counts within alpha, the search for candidates, and the disclosed rows.

The exponential adversary: answering all subset counts within alpha discloses all but 4 alpha rows.

Dinur and Nissim (2003), Theorem 1. Among all 2^n candidates, keep those whose every subset count lies within alpha of the
answer. The truth is among them; and any other one, c, is near it: the rows where c has a one and the truth a zero are a subset,
so that both counts of it lie within alpha of one answer, and differ by 2 alpha at most; likewise for the rows the other way
round. Answers that are wrong by n/40 at most therefore give 9/10 of the rows away: *blatant non-privacy*, an adversary who has all
but few rows right. The bound is reached by answers half way between the truth and another candidate (`HalfWay`).

Up to `MOST_LISTED` people all candidates are held against all answers; for more, a search finds those that agree.

All candidates that agree with the answers, without trying 2^n of them: person by person, as in a search with backtracking.

Alive are partial candidates for the first k people. For person k + 1 each becomes two; then questions are asked that rule some of
them out. Two candidates, one with more than 2 alpha ones where the other has none, cannot both agree with the answer about
these rows, since it is within alpha of one count: the question about the rows in which they differ rules out at least one. So
after each person all that are alive differ by at most 2 alpha rows either way. The truth agrees with every answer and stays, so
all others are within 4 alpha of it: for a small alpha these are some hundreds, and not 2^n.

That is the proof of Dinur and Nissim (2003), Theorem 1, run as a program. It asks some thousands of the 2^n questions.

Answers to every subset count of n people within alpha: with random errors, or with the errors that hide most.

There are 2^n answers. They are functions of the subset here, so that they need not be listed; a subset asked about
again gets the same answer. Seeded generators stand for other answerers, never for tacit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars, json_figures

Bits = NDArray[np.int64]
Rows = NDArray[np.int64]  # one subset in each row, a one for each of its people
Floats = NDArray[np.float64]
SLACK = 1e-9  # of sums of halves in floats


class Answers(Protocol):
    """The answers to all subset counts of some people, each within `alpha` of the truth."""

    @property
    def truth(self) -> Bits:
        """The secret bits."""

    @property
    def alpha(self) -> float:
        """The largest error of an answer."""

    def to(self, subsets: Rows) -> Floats:
        """The answer to each subset."""


@dataclass(frozen=True, slots=True, eq=False)
class RandomErrors:
    """Each count with an error of its own, uniform in [-alpha, alpha].

    >>> answers = RandomErrors(np.array([1, 0, 1]), alpha=1.0)
    >>> subset = np.array([[1, 0, 1]])
    >>> bool((answers.to(subset) == answers.to(subset)).all()), bool(abs(answers.to(subset)[0] - 2) <= 1)
    (True, True)
    """

    truth: Bits
    alpha: float
    seed: int = 0

    def to(self, subsets: Rows) -> Floats:
        """The answers to subsets, given as rows of zeros and ones."""
        return subsets @ self.truth + self.alpha * (2 * self._uniform(subsets) - 1)

    def _uniform(self, subsets: Rows) -> Floats:
        """A number in [0, 1) for each subset: its people's random words summed, and the sum mixed (splitmix64)."""
        words = np.random.default_rng([self.seed, 5]).integers(0, 2**64, subsets.shape[1], dtype=np.uint64, endpoint=False)
        mixed = subsets.astype(np.uint64) @ words
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return (mixed ^ (mixed >> np.uint64(31))).astype(np.float64) / 2.0**64


@dataclass(frozen=True, slots=True, eq=False)
class HalfWay:
    """Half way between the truth and another candidate: both agree with every answer, so they are indistinguishable.

    >>> answers = HalfWay.worst([1, 1, 0, 0, 0, 1], alpha=1)
    >>> answers.other.tolist(), int((answers.other != answers.truth).sum())
    ([0, 0, 1, 1, 0, 1], 4)
    """

    truth: Bits
    alpha: float
    other: Bits

    @classmethod
    def worst(cls, truth: ArrayLike, alpha: float) -> HalfWay:
        """The other has 2 alpha ones fewer and 2 alpha more (or as many as there are): no answer is off by more than alpha."""
        bits = np.asarray(truth).astype(np.int64)
        other, most = bits.copy(), floor(2 * alpha + SLACK)
        for value in (0, 1):
            other[np.flatnonzero(bits == value)[:most]] = 1 - value
        return cls(bits, float(alpha), other)

    def to(self, subsets: Rows) -> Floats:
        """The answers to subsets, given as rows of zeros and ones."""
        return np.asarray(subsets @ (self.truth + self.other) / 2, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Answers that were written down, by the binary number of the subset: person k is in it if its binary digit k is one."""

    truth: Bits
    alpha: float
    listed: Floats

    def to(self, subsets: Rows) -> Floats:
        """The answers to subsets, given as rows of zeros and ones."""
        return self.listed[subsets @ (1 << np.arange(subsets.shape[1]))]


def check_bits(truth: ArrayLike, alpha: float) -> Bits:
    """The bits to attack; raises unless alpha, an error, is at least 0."""
    bits = np.asarray(truth).astype(np.int64)
    if bits.ndim != 1 or not bits.size or not alpha >= 0:
        raise InvalidInput("bits must not be empty, and alpha must be at least 0", argument="bits")
    return bits


# --- all candidates that agree with the answers, without trying 2^n of them --------------------------------------------------


Candidates = NDArray[np.int64]  # one in each row
MOST_ALIVE = 3000
GUESSES = 64  # random subsets that are asked about with every new person


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """The candidates that agree with every answer that was asked for, and how many those were."""

    candidates: Candidates
    questions: int


def search(answers: Answers, seed: int = 0) -> Searched:
    """Search for all candidates; `seed` rules the random questions.

    >>> from tacit.evidence.attacks.exponential_adversary import HalfWay
    >>> found = search(HalfWay.worst([1, 1, 0, 0, 0, 1, 0, 1], alpha=1))
    >>> sorted((found.candidates != [1, 1, 0, 0, 0, 1, 0, 1]).sum(axis=1).tolist())
    [0, 2, 2, 2, 2, 4]
    """
    people, generator = len(answers.truth), np.random.default_rng([seed, 13])
    alive, asked = np.zeros((1, people), dtype=np.int64), 0
    for person in range(people):
        alive = np.concatenate([alive, alive + np.eye(1, people, person, dtype=np.int64)])
        guesses = generator.integers(0, 2, (GUESSES, people))
        guesses[:, person], guesses[:, person + 1 :] = 1, 0
        alive, asked = _candidates_within(alive, guesses, answers), asked + GUESSES
        while len(questions := _telling_apart(alive, answers.alpha)):
            alive, asked = _candidates_within(alive, questions, answers), asked + len(questions)
        if len(alive) > MOST_ALIVE:
            raise InvalidInput(
                f"more than {MOST_ALIVE:,} candidates agree with the answers about {person + 1} people; "
                "use fewer people or a smaller alpha, for example n=40 and alpha=1",
                argument=("n", "alpha"),
            )
    return Searched(alive, asked)


def _candidates_within(candidates: Candidates, questions: Rows, answers: Answers) -> Candidates:
    """Those within alpha of every answer."""
    errors = np.abs(candidates @ questions.T - answers.to(questions))
    return candidates[(errors <= answers.alpha + SLACK).all(axis=1)]


def _telling_apart(candidates: Candidates, alpha: float) -> Rows:
    """For each candidate that has too many ones where another has none: the rows of these ones, most of them first."""
    more = candidates @ (1 - candidates).T  # ones of the first where the second has none
    farthest = more.argmax(axis=1)
    far = np.flatnonzero(more[np.arange(len(candidates)), farthest] > 2 * alpha + SLACK)
    rows: Rows = np.unique(candidates[far] * (1 - candidates[farthest[far]]), axis=0)
    return rows


# --- the exponential adversary -----------------------------------------------------------------------------------------------


MOST_LISTED = 14  # 2^14 candidates times 2^14 questions
BLOCK = 2**22
NEARLY_ALL = 0.9  # share of the rows that n/40 gives away


@dataclass(frozen=True, slots=True)
class RuledOut:
    """A candidate that is too far from the truth, and the question that rules it out: these rows, its count, and the answer."""

    wrong: tuple[int, ...]
    question: tuple[int, ...]
    count: int
    answer: float

    def summary(self) -> str:
        """The example in one sentence."""
        return (
            f"A candidate that has {_row_list(self.wrong)} wrong is ruled out by the question about {_row_list(self.question)}: "
            f"it has {self.count} there, and the answer is {self.answer:.3g}."
        )


@dataclass(frozen=True, slots=True)
class Consistent:
    """How many candidates agree with the answers, by their distance from the truth; the worst of them, and one that does not."""

    people: int
    alpha: float
    by_distance: tuple[int, ...]
    questions: int
    wrong: tuple[int, ...] = ()
    ruled_out: RuledOut | None = None

    @property
    def candidates(self) -> int:
        """How many candidates agree with all answers."""
        return sum(self.by_distance)

    @property
    def farthest(self) -> int:
        """The largest distance of a consistent candidate from the truth."""
        return max(distance for distance, count in enumerate(self.by_distance) if count)

    @property
    def bound(self) -> int:
        """The distance that the theorem allows: 4 alpha, in whole rows."""
        return min(self.people, floor(4 * self.alpha + SLACK))

    @property
    def recovered(self) -> float:
        """The share of rows that any consistent candidate, the worst too, has right."""
        return 1 - self.farthest / self.people

    @property
    def predicted(self) -> float:
        """The share that the theorem promises the adversary."""
        return 1 - self.bound / self.people

    @property
    def blatant(self) -> bool:
        """Whether the theorem alone gives nine tenths of the rows away, whatever the answers within alpha are."""
        return self.predicted >= NEARLY_ALL - SLACK

    def summary(self) -> str:
        """The consistent candidates by rows that are wrong; the worst; one that does not agree; and the conclusion."""
        rows = "\n".join(f"  {wrong:>2} wrong: {count:,}" for wrong, count in enumerate(self.by_distance) if count)
        worst = f"The worst of them has {_row_list(self.wrong)} wrong." if self.wrong else "The only one is the true data."
        example = [] if self.ruled_out is None else [self.ruled_out.summary()]
        return "\n".join([self._head(), rows, worst, *example, self._verdict()])

    def _head(self) -> str:
        every = f"{2**self.people:,}" if self.people <= MOST_LISTED else f"2^{self.people}"
        asked = f"All {every}" if self.questions == 2**self.people else f"{self.questions:,} of {every}"
        return (
            f"{asked} subset counts of {self.people} people, each within {self.alpha:g}: {self.candidates:,} of {every} candidates "
            f"agree with them. Candidates by the number of wrong rows (the theorem allows {self.bound}):"
        )

    def _verdict(self) -> str:
        rows_right = f"Whichever candidate is chosen, at least {self.people - self.bound} of {self.people} rows are right"
        if self.blatant:
            return f"{rows_right}, {self.predicted:.0%}: blatant non-privacy."
        return f"{rows_right}, {self.predicted:.0%}. At alpha = n/40 it is nine tenths: blatant non-privacy."

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        example = self.ruled_out
        return json_figures(
            people=self.people,
            alpha=self.alpha,
            questions=self.questions,
            candidates=self.candidates,
            by_rows_wrong=self.by_distance[: self.farthest + 1],
            farthest=self.farthest,
            wrong=self.wrong,
            bound=self.bound,
            recovered=self.recovered,
            predicted=self.predicted,
            blatant_non_privacy=self.blatant,
            ruled_out=example
            and json_figures(wrong=example.wrong, question=example.question, count=example.count, answer=example.answer),
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """Consistent candidates by their distance from the truth, saved if a path is given."""
        shown = max(self.farthest, self.bound) + 2
        counts = [*self.by_distance, *(0,) * shown][:shown]
        rows = [{"x": str(wrong), "y": count, "series": "agree"} for wrong, count in enumerate(counts)]
        title = f"Candidates that agree with all answers (4 alpha: {self.bound} rows)"
        return bars(rows, Axes("wrong rows of a candidate", "candidates"), title, path)


def exponential_adversary(truth: ArrayLike, alpha: float, answers: ArrayLike | Answers | None = None, seed: int = 0) -> Consistent:
    """Keep the candidates that agree with every answer within `alpha`.

    `answers` may be any of those above, or a list for all subsets by their binary number; without them each count gets
    noise uniform in [-alpha, alpha].

    >>> result = exponential_adversary([1, 0, 1, 1, 0, 0, 1, 0], alpha=1)
    >>> result.farthest <= result.bound == 4
    True
    >>> worst = exponential_adversary([1, 0] * 20, 1, HalfWay.worst([1, 0] * 20, 1))
    >>> worst.by_distance[:5], worst.wrong, worst.blatant
    ((1, 0, 4, 0, 1), (1, 2, 3, 4), True)
    """
    bits = check_bits(truth, alpha)
    given = _read(bits, alpha, answers, seed)
    if len(bits) <= MOST_LISTED:
        kept, questions = np.concatenate(list(_consistent(given))), 2 ** len(bits)
    else:
        searched = search(given, seed)
        kept, questions = searched.candidates, searched.questions
    distances = (kept != bits).sum(axis=1)
    worst = kept[distances.argmax()] != bits
    counts = np.bincount(distances, minlength=len(bits) + 1)
    return Consistent(len(bits), float(alpha), tuple(counts.tolist()), questions, _places(worst), _example(given))


def between(truth: ArrayLike, other: ArrayLike) -> Floats:
    """All answers half way between two candidates, listed: both agree with them, so they are indistinguishable.

    Where the other has `2 alpha` ones less and `2 alpha` more, no answer is off by more than alpha, and 4 alpha rows are wrong:

    >>> truth, other = [1, 1, 0, 0, 0, 1], [0, 0, 1, 1, 0, 1]
    >>> exponential_adversary(truth, alpha=1, answers=between(truth, other)).farthest
    4
    """
    return (counts(np.asarray(truth)) + counts(np.asarray(other))) / 2


def counts(bits: ArrayLike) -> Floats:
    """The exact counts over all subsets; the subset of number s has the people whose binary digit in s is one."""
    values = np.asarray(bits, dtype=np.float64)
    return np.asarray(_digits(np.arange(2 ** len(values)), len(values)) @ values, dtype=np.float64)


def _read(bits: Bits, alpha: float, answers: ArrayLike | Answers | None, seed: int) -> Answers:
    if answers is None:
        return RandomErrors(bits, float(alpha), seed)
    if isinstance(answers, RandomErrors | HalfWay | Listed):
        return answers
    return Listed(bits, float(alpha), np.asarray(answers, dtype=np.float64))


def _consistent(answers: Answers) -> Iterator[Candidates]:
    people = len(answers.truth)
    subsets = _digits(np.arange(2**people), people)
    listed, columns, rows = answers.to(subsets), subsets.T.astype(np.float32), max(1, BLOCK >> people)
    for start in range(0, 2**people, rows):
        block = _digits(np.arange(start, min(start + rows, 2**people)), people)
        yield block[(np.abs(block.astype(np.float32) @ columns - listed) <= answers.alpha + SLACK).all(axis=1)]


def _example(answers: Answers) -> RuledOut | None:
    """The truth with more than 2 alpha rows changed one way, and 2 alpha rows the other way, if there are that many."""
    truth, most = answers.truth, floor(2 * answers.alpha + SLACK)
    for value in (0, 1):
        same, others = np.flatnonzero(truth == value)[: most + 1], np.flatnonzero(truth != value)[:most]
        if len(same) > most:
            candidate, question = truth.copy(), np.zeros((1, len(truth)), dtype=np.int64)
            candidate[same], candidate[others], question[0, same] = 1 - value, value, 1
            count, answer = int(question[0] @ candidate), float(answers.to(question)[0])
            if abs(count - answer) > answers.alpha + SLACK:
                return RuledOut(_places(candidate != truth), _places(question[0] == 1), count, answer)
    return None


def _places(rows: Any) -> tuple[int, ...]:
    """Rows as people count them, from 1."""
    return tuple((np.flatnonzero(rows) + 1).tolist())


def _row_list(rows: tuple[int, ...]) -> str:
    return f"row {rows[0]}" if len(rows) == 1 else f"rows {', '.join(map(str, rows[:-1]))} and {rows[-1]}"


def _digits(numbers: Any, width: int) -> Any:
    return numbers[:, None] >> np.arange(width) & 1
