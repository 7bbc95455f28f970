"""The exponential adversary: whoever answers all subset counts within alpha has given all but 4 alpha rows away.

Dinur and Nissim (2003), Theorem 1. Among all 2^n candidates, keep those whose every subset count lies within alpha of the
answer. The truth is among them; and any other one, c, is near it: the rows where c has a one and the truth a zero are a subset,
so that both counts of it lie within alpha of one answer, and differ by 2 alpha at most; likewise for the rows the other way
round. Answers that are wrong by n/40 at most therefore give 9/10 of the rows away. The bound is reached: see `between`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, lines, told

Answers = NDArray[np.float64]
MOST_PEOPLE = 14  # 2^14 candidates times 2^14 questions
BLOCK = 2**22


@dataclass(frozen=True, slots=True)
class Consistent:
    """How many candidates agree with all answers, by their distance from the truth."""

    people: int
    alpha: float
    by_distance: tuple[int, ...]

    @property
    def candidates(self) -> int:
        return sum(self.by_distance)

    @property
    def farthest(self) -> int:
        """The largest distance of a consistent candidate from the truth."""
        return max(distance for distance, count in enumerate(self.by_distance) if count)

    @property
    def bound(self) -> int:
        """What the theorem allows: 4 alpha, in whole rows."""
        return min(self.people, floor(4 * self.alpha))

    @property
    def recovered(self) -> float:
        """The share of rows that any consistent candidate, the worst too, has right."""
        return 1 - self.farthest / self.people

    @property
    def predicted(self) -> float:
        """The share that the theorem promises the adversary."""
        return 1 - self.bound / self.people

    def summary(self) -> str:
        """The result in one sentence."""
        return (
            f"All {2**self.people:,} subset counts of {self.people} people, each within {self.alpha:g}: {self.candidates:,} of "
            f"{2**self.people:,} candidates agree with them, none of them wrong in more than {self.farthest} rows "
            f"(the theorem allows {self.bound})."
        )

    def to_dict(self) -> dict[str, Any]:
        return told(
            people=self.people,
            alpha=self.alpha,
            candidates=self.candidates,
            farthest=self.farthest,
            bound=self.bound,
            recovered=self.recovered,
            predicted=self.predicted,
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """Consistent candidates by their distance from the truth, saved if a path is given."""
        rows = [{"x": distance, "y": count, "series": "consistent"} for distance, count in enumerate(self.by_distance)]
        rows += [{"x": 4 * self.alpha, "y": count, "series": "4 alpha"} for count in (0, max(self.by_distance))]
        return lines(rows, Axes("rows that a candidate has wrong", "candidates"), "Who agrees with all answers", path)


def exponential_adversary(truth: ArrayLike, alpha: float, answers: Answers | None = None, seed: int = 0) -> Consistent:
    """Weed all candidates out that disagree with an answer by more than `alpha`.

    `answers` are those to all subsets, by their binary number; without them each count gets noise uniform in [-alpha, alpha],
    drawn from a seeded generator (it stands for somebody's answers, not for tacit's).

    >>> found = exponential_adversary([1, 0, 1, 1, 0, 0, 1, 0], alpha=1)
    >>> found.farthest <= found.bound == 4
    True
    """
    bits = np.asarray(truth).astype(np.int64)
    if not 1 <= len(bits) <= MOST_PEOPLE:
        raise InvalidInput(f"the exponential adversary takes 1 to {MOST_PEOPLE} people, not {len(bits)}: it tries 2^n candidates")
    if answers is None:
        answers = counts(bits) + np.random.default_rng(seed).uniform(-alpha, alpha, 2 ** len(bits))
    distance = np.zeros(len(bits) + 1, dtype=np.int64)
    for block, candidates in _consistent(len(bits), answers, alpha):
        wrong = (block[candidates] != bits).sum(axis=1)
        distance += np.bincount(wrong, minlength=len(bits) + 1)
    return Consistent(len(bits), float(alpha), tuple(distance.tolist()))


def between(truth: ArrayLike, other: ArrayLike) -> Answers:
    """Answers half way between two candidates: both agree with them, so that nobody can tell which is true.

    Where the other has `2 alpha` ones less and `2 alpha` more, no answer is off by more than alpha, and 4 alpha rows are wrong:

    >>> truth, other = [1, 1, 0, 0, 0, 1], [0, 0, 1, 1, 0, 1]
    >>> exponential_adversary(truth, alpha=1, answers=between(truth, other)).farthest
    4
    """
    return (counts(np.asarray(truth)) + counts(np.asarray(other))) / 2


def counts(bits: ArrayLike) -> Answers:
    """The exact counts over all subsets; the subset of number s has the people whose binary digit in s is one."""
    known = np.asarray(bits, dtype=np.float64)
    return np.asarray(_digits(np.arange(2 ** len(known)), len(known)) @ known, dtype=np.float64)


def _consistent(people: int, answers: Answers, alpha: float) -> Any:
    subsets = _digits(np.arange(2**people), people).T.astype(np.float32)
    slack = alpha + 1e-9  # of sums of halves in floats
    rows = max(1, BLOCK >> people)
    for start in range(0, 2**people, rows):
        block = _digits(np.arange(start, min(start + rows, 2**people)), people)
        yield block, (np.abs(block.astype(np.float32) @ subsets - answers) <= slack).all(axis=1)


def _digits(numbers: Any, width: int) -> Any:
    return numbers[:, None] >> np.arange(width) & 1
