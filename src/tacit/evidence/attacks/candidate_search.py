"""All candidates that agree with the answers, without trying 2^n of them: person by person, as in a search with backtracking.

Alive are partial candidates for the first k people. For person k + 1 each becomes two; then questions are asked that rule some of
them out. Two candidates of which one has more than 2 alpha ones where the other has none cannot both agree with the answer about
these rows, since it is within alpha of one count: the question about the rows in which they differ rules out at least one. So
after each person all that are alive differ by at most 2 alpha rows either way. The truth agrees with every answer and stays, so
all others are within 4 alpha of it: for a small alpha these are some hundreds, and not 2^n.

That is the proof of Dinur and Nissim (2003), Theorem 1, run as a program. It asks some thousands of the 2^n questions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.evidence.attacks.subset_answers import SLACK, Answers, Rows

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

    >>> from tacit.evidence.attacks.subset_answers import HalfWay
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
        alive, asked = _agreeing(alive, guesses, answers), asked + GUESSES
        while len(questions := _telling_apart(alive, answers.alpha)):
            alive, asked = _agreeing(alive, questions, answers), asked + len(questions)
        if len(alive) > MOST_ALIVE:
            raise InvalidInput(
                f"more than {MOST_ALIVE:,} candidates agree with the answers about {person + 1} people; "
                "use fewer people or a smaller alpha, for example n=40 and alpha=1"
            )
    return Searched(alive, asked)


def _agreeing(candidates: Candidates, questions: Rows, answers: Answers) -> Candidates:
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
