"""The textbook examples of auditing, and its cost in refusals.

The textbook examples: the MAX that a refusal discloses, and the triangle of sums.

The cost: how many random questions are answered before the first refusal, by auditor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.choice import bernoulli, uniform_integer
from tacit.publish.audited.auditor import Auditor
from tacit.publish.audited.data import Data, Private
from tacit.publish.audited.desk import Desk
from tacit.publish.audited.maximum import MaxAuditor
from tacit.publish.audited.named import auditor_named
from tacit.publish.audited.question import Aggregate, Denial, Question, Reply, number_text, question
from tacit.publish.audited.sums import SumAuditor
from tacit.publish.audited.value_based import PeekingDesk, leak_report

MAX_VALUES = (3, 7, 2, 8, 10)
SUM_VALUES = (20, 30, 50)


@dataclass(frozen=True, slots=True)
class Turn:
    """One question at one desk: the reply, and the conclusion that an analyst draws from it."""

    auditor: str
    question: str
    reply: Reply
    concludes: str = ""


def max_example() -> list[Turn]:
    """MAX(x1..x5) and then MAX(x1..x4), at the value-based desk and at the simulatable one, with x5 the largest and without.

    >>> [turn.concludes for turn in max_example() if turn.concludes]
    ['x5 = 10']
    """
    turns = []
    for values in (MAX_VALUES, (3, 7, 2, 10, 10)):
        turns += _value_based_turns(values) + _simulatable_turns(
            MaxAuditor(), values, [question("max", rows) for rows in (range(5), range(4))]
        )
    return turns


def sum_triangle() -> list[Turn]:
    """x1 + x2 and x2 + x3 are answered, x1 + x3 is not: with it each value would be half of a sum and a difference.

    >>> [not isinstance(turn.reply, Denial) for turn in sum_triangle()]
    [True, True, False, True]
    """
    sides = [question("sum", rows) for rows in ([0, 1], [1, 2], [0, 2], [0, 1])]
    return _simulatable_turns(SumAuditor(), SUM_VALUES, sides)


def _value_based_turns(values: tuple[int, ...]) -> list[Turn]:
    desk, turns = PeekingDesk(values), []
    for asked in (question("max", range(5)), question("max", range(4))):
        leak = leak_report(desk.rule, desk.state, asked)
        reply = desk.put(asked)
        disclosed = [f"x{row + 1} = {number_text(value)}" for row, value in leak.gives_away.items()]
        turns.append(Turn("value-based", _question_text(asked), reply, ", ".join(disclosed) if isinstance(reply, Denial) else ""))
    return turns


def _simulatable_turns(auditor: Auditor[Any], values: tuple[int, ...], questions: list[Question]) -> list[Turn]:
    desk = Desk(Data(Private(np.array(values)), "x", {}), auditor)
    return [Turn("simulatable", _question_text(asked), desk.put(asked)) for asked in questions]


def _question_text(asked: Question) -> str:
    rows = [f"x{row + 1}" for row in asked.members.tolist()]
    return f"{asked.aggregate.upper()}({', '.join(rows)})"


# --- the cost of auditing ----------------------------------------------------------------------------------------------------


HALF = Fraction(1, 2)
COMPARED: Mapping[str, tuple[float | None, float | None]] = {
    "sum": (None, None), "probabilistic-max": (0, 1), "max-min": (None, None), "max": (None, None), "min": (None, None),
    "max-min-duplicates": (None, None),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Utility:
    """For each auditor, over several runs, the questions answered before the first refusal."""

    people: int
    answered: Mapping[str, tuple[int, ...]]

    def rows(self) -> list[tuple[str, int, float, int]]:
        """Auditor, fewest, median and most."""
        return [(name, min(counts), median(counts), max(counts)) for name, counts in self.answered.items()]

    def chart(self, path: str | Path | None = None) -> Any:
        """An Altair chart of all runs, with the median of each auditor; saved if a path is given."""
        from tacit.chart import COLOURS, charting, save

        alt = charting()
        points = [{"auditor": name, "answered": count} for name, counts in self.answered.items() for count in counts]
        base = alt.Chart(alt.InlineData(values=points)).encode(y=alt.Y("auditor:N", title=None, sort=list(self.answered)))
        scale = alt.Scale(type="symlog")
        dots = base.mark_circle(color=COLOURS[1], opacity=0.35, size=40).encode(
            x=alt.X("answered:Q", scale=scale, title="random questions answered before the first refusal")
        )
        middle = base.mark_tick(color=COLOURS[2], thickness=3, size=18).encode(x=alt.X("median(answered):Q", scale=scale))
        title = alt.TitleParams(f"What auditing costs, {self.people} rows, each question about half of them", anchor="start")
        return save((dots + middle).properties(title=title, width=480, height=200), path)


def utility(people: int = 100, runs: int = 10) -> Iterator[tuple[str, tuple[int, ...]]]:
    """For each auditor in turn: random values, random halves of the rows, asked until the first refusal.

    >>> dict(utility(people=12, runs=2)).keys() == COMPARED.keys()
    True
    """
    if people < 2 or runs < 1:
        raise InvalidInput("people must be at least 2 and runs at least 1", argument="people")
    for name, bounds in COMPARED.items():
        yield name, tuple(_until_refused(auditor_named(name, *bounds), people) for _ in range(runs))


def _until_refused(auditor: Auditor[Any], people: int) -> int:
    """Questions answered before the first refusal; twice as many as rows end it too."""
    values, state = Private(_uniform(people)), auditor.begin(people)
    kinds: list[Aggregate] = sorted(auditor.aggregates)  # type: ignore[arg-type]
    for count in range(2 * people):
        rows = np.flatnonzero(bernoulli(HALF, people))
        asked = question(kinds[uniform_integer(len(kinds))], rows if rows.size else range(people))
        if not auditor.decide(state, asked).answered:
            return count
        state = auditor.learn(state, asked, values.answer(asked))
    return 2 * people


def _uniform(size: int) -> NDArray[np.float64]:
    """Numbers spread evenly between 0 and 1."""
    return (bits.random_words(size) >> np.uint64(11)).astype(np.float64) / 2**53
