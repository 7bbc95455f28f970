"""Auditors: the time of a decision with a long history, and the number of answered queries: `python -m benchmarks auditing`.

No maintained query auditor was found for comparison; for SUM, the same decisions with fractions are timed on a smaller table.
Histories are made by asking random queries and learning the answers. `FULL=1` adds more sizes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.tables import best_seconds, machine, markdown, write_table
from tacit.publish.audited.auditor import Auditor
from tacit.publish.audited.examples import Utility, utility
from tacit.publish.audited.max_min import MaxMinAuditor
from tacit.publish.audited.maximum import MaxAuditor
from tacit.publish.audited.question import Question, question
from tacit.publish.audited.sums import SumAuditor

FULL = os.environ.get("FULL") == "1"
PAST = 1000
Row = tuple[str, ...]


class History:
    """A table of random values, and an auditor that has answered `past` random queries about it."""

    def __init__(self, auditor: Auditor[Any], values: np.ndarray, size: int, past: int, seed: int = 1) -> None:
        self.auditor, self.values, self.size = auditor, values, size
        self.generator = np.random.default_rng(seed)
        self.state, self.asked = auditor.begin(len(values)), list[Question]()
        for _ in range(50 * past):
            if len(self.asked) == past:
                break
            self._answer(self.random())
        assert len(self.asked) == past, f"only {len(self.asked)} queries were answered"

    def random(self) -> Question:
        kinds = sorted(self.auditor.aggregates)
        kind = kinds[self.generator.integers(len(kinds))]
        return question(kind, self.generator.choice(len(self.values), self.size, replace=False))

    def _answer(self, asked: Question) -> None:
        if self.auditor.decide(self.state, asked).answered:
            answer = float(getattr(np, asked.aggregate)(self.values[asked.members]))
            self.state = self.auditor.learn(self.state, asked, answer)
            self.asked.append(asked)

    def seconds(self, questions: list[Question]) -> float:
        """The slowest of the queries, each at its best of several runs."""
        return max(best_seconds(lambda: self.auditor.decide(self.state, asked), 7) for asked in questions)  # noqa: B023

    def learning(self) -> str:
        """The time to learn one more answer."""
        asked = next(each for each in iter(self.random, None) if self.auditor.decide(self.state, each).answered)
        answer = float(getattr(np, asked.aggregate)(self.values[asked.members]))
        return f"{best_seconds(lambda: self.auditor.learn(self.state, asked, answer), 7) * 1e3:.1f} ms"


def maxima() -> Iterator[Row]:
    people, size = 10**6, 10**4
    shapes: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
        "all answers differ": lambda generator: generator.random(people),
        "many equal answers": lambda generator: generator.integers(0, 20_000, people).astype(float),
    }
    for name, values in shapes.items():
        history = History(MaxAuditor(), values(np.random.default_rng(2)), size, PAST)
        slow = history.seconds([*(history.random() for _ in range(5)), history.asked[500]])
        yield "MAX", f"{people:,} rows, sets of {size:,}, {name}", f"{PAST:,}", f"{slow * 1e3:.1f} ms", "50 ms", history.learning()


def crowded() -> Iterator[Row]:
    """The worst case for MAX: all queries are about nearly the same rows and have one answer, so that each is examined."""
    people, size = 10**6, 10**4
    rows = np.arange(0, people, people // (size + 1))[: size + 1]
    auditor = MaxAuditor()
    state = auditor.begin(people)
    for number in range(PAST):
        state = auditor.learn(state, question("max", np.delete(rows, 7 * number)), 5.0)
    asked = question("max", rows)
    taken, learning = (
        best_seconds(work, 7) for work in (lambda: auditor.decide(state, asked), lambda: auditor.learn(state, asked, 5.0))
    )
    name = f"{people:,} rows, sets of {size:,}, nearly equal sets"
    yield "MAX", name, f"{PAST:,}", f"{taken * 1e3:.1f} ms", "50 ms", f"{learning * 1e3:.1f} ms"


def sums() -> Iterator[Row]:
    for people, past in ((2000, PAST), (4000, 2000))[: 2 if FULL else 1]:
        history = History(SumAuditor(), np.random.default_rng(3).random(people), people // 2, past)
        known = history.asked[past // 2]
        other = np.setdiff1d(np.arange(people), known.members)[:1]
        kinds = {
            "a new query": [history.random() for _ in range(5)],
            "an implied query": [known],
            "a refused query": [question("sum", np.append(known.members, other))],
        }
        for name, questions in kinds.items():
            goal = "20 ms" if people == 2000 else "-"
            taken = f"{history.seconds(questions) * 1e3:.1f} ms"
            yield "SUM", f"{people:,} rows, sets of {people // 2:,}, {name}", f"{past:,}", taken, goal, history.learning()


def both() -> Iterator[Row]:
    people, size, past = 10**5, 1000, 200
    history = History(MaxMinAuditor(), np.random.default_rng(4).permutation(people).astype(float), size, past)
    slow = history.seconds([history.random() for _ in range(5)])
    yield (
        "MAX and MIN",
        f"{people:,} rows, sets of {size:,}, values differ",
        f"{past:,}",
        f"{slow * 1e3:.1f} ms",
        "-",
        history.learning(),
    )


def fractions() -> Iterator[Row]:
    """The same decision with reduced rows of fractions, as in a textbook: 60 rows are enough to see."""
    people, past = 60, 50
    history = History(SumAuditor(), np.random.default_rng(5).random(people), people // 2, past)
    asked = history.random()
    rows = [np.isin(np.arange(people), one.members) for one in (*history.asked, asked)]
    slow, ours = best_seconds(lambda: _reduced(rows), 2), history.seconds([asked])
    name = f"{people} rows, {past} past; all rows reduced in fractions"
    yield "SUM", name, f"{past}", f"{ours * 1e3:.2f} ms, fractions {slow * 1e3:.0f} ms", "-", history.learning()


def _reduced(rows: list[np.ndarray]) -> int:
    table, found = [[Fraction(int(cell)) for cell in row] for row in rows], 0
    for column in range(len(table[0])):
        pivot = next((at for at in range(found, len(table)) if table[at][column]), None)
        if pivot is None:
            continue
        table[found], table[pivot] = table[pivot], [*table[found]]
        top = [cell / table[found][column] for cell in table[found]]
        table = [
            row if at == found else [cell - row[column] * first for cell, first in zip(row, top, strict=True)]
            for at, row in enumerate(table)
        ]
        table[found], found = top, found + 1
    return found


def run() -> None:
    """Measures, prints and writes the tables."""
    rows = [*maxima(), *crowded(), *sums(), *both(), *fractions()]
    header = ("auditor", "table and query", "past answers", "slowest decision", "goal", "learning an answer")
    costs = Utility(100, dict(utility(100, 20)))
    answered = [(name, str(least), f"{middle:g}", str(most)) for name, least, middle, most in costs.rows()]
    counts = markdown(("auditor", "fewest", "median", "most"), answered)
    note = f"{machine()} Each decision is the best of 7 runs."
    told = "Random halves of 100 rows, queried until the first refusal, 20 runs:"
    write_table("auditing", "\n\n".join([note, markdown(header, rows), told, counts]))


if __name__ == "__main__":
    run()
