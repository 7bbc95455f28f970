"""The textbook examples: the MAX that a refusal discloses, and the triangle of sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.publish.audited.auditor import Auditor
from tacit.publish.audited.data import Data, Private
from tacit.publish.audited.desk import Desk
from tacit.publish.audited.maximum import MaxAuditor
from tacit.publish.audited.question import Denial, Question, Reply, number_text, question
from tacit.publish.audited.sums import SumAuditor
from tacit.publish.audited.value_based import PeekingDesk, leak_report

MAX_VALUES = (3, 7, 2, 8, 10)
SUM_VALUES = (20, 30, 50)


@dataclass(frozen=True, slots=True)
class Turn:
    """One question at one desk: what was said, and what an analyst makes of it."""

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
        turns += _peeked(values) + _decided(MaxAuditor(), values, [question("max", rows) for rows in (range(5), range(4))])
    return turns


def sum_triangle() -> list[Turn]:
    """x1 + x2 and x2 + x3 are answered, x1 + x3 is not: with it each value would be half of a sum and a difference.

    >>> [not isinstance(turn.reply, Denial) for turn in sum_triangle()]
    [True, True, False, True]
    """
    sides = [question("sum", rows) for rows in ([0, 1], [1, 2], [0, 2], [0, 1])]
    return _decided(SumAuditor(), SUM_VALUES, sides)


def _peeked(values: tuple[int, ...]) -> list[Turn]:
    desk, turns = PeekingDesk(values), []
    for asked in (question("max", range(5)), question("max", range(4))):
        leak = leak_report(desk.rule, desk.state, asked)
        reply = desk.put(asked)
        known = [f"x{row + 1} = {number_text(value)}" for row, value in leak.gives_away.items()]
        turns.append(Turn("value-based", _named(asked), reply, ", ".join(known) if isinstance(reply, Denial) else ""))
    return turns


def _decided(auditor: Auditor[Any], values: tuple[int, ...], questions: list[Question]) -> list[Turn]:
    desk = Desk(Data(Private(np.array(values)), "x", {}), auditor)
    return [Turn("simulatable", _named(asked), desk.put(asked)) for asked in questions]


def _named(asked: Question) -> str:
    rows = [f"x{row + 1}" for row in asked.members.tolist()]
    return f"{asked.aggregate.upper()}({', '.join(rows)})"
