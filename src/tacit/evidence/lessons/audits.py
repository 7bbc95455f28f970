"""Two auditors at work on a few typed values: one looks at the answer before it refuses, the other does not.

Questions ask for the maximum, the minimum or the lower median of some of the values. An answer is refused if it would determine a
value exactly (Kenthapadi, Mishra and Nissim 2005). Which answers do is found by trying every database up to its order relative to
the answers given: each value is one of these answers, or lies below, between or above them, and no more than that decides what a
maximum, a minimum or a median is. The values may be equal, and any number is possible.

>>> found = audited("max", [3, 7, 2, 8, 10], [[1, 2, 3, 4, 5], [1, 2, 3, 4]])
>>> found[1].looks, found[1].disclosed, found[1].simulatable, found[1].reveals
('refused', {5: Fraction(10, 1)}, 'refused', {})
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.evidence.lessons.blackboard import Example
from tacit.privacy.rounding import Number, as_text, exact

MOST_VALUES, MOST_QUESTIONS = 6, 3  # 7^6 databases for the last answer
PLACES: Mapping[str, Callable[[int], int]] = {"max": lambda size: size, "min": lambda _: 1, "median": lambda size: (size + 1) // 2}
REFUSED = "refused"
Worlds = NDArray[np.int8]  # a database in each row: 2 k + 1 is answer k, an even number lies between two answers
Asked = tuple[tuple[int, ...], Fraction]


@dataclass(frozen=True, slots=True)
class Audit:
    """One question: its answer, what each auditor replies, and the values that a refusal discloses.

    `unsafe` says which answers would have determined values: a number, or an interval between the answers so far.
    """

    rows: tuple[int, ...]
    answer: Fraction
    looks: str
    disclosed: Mapping[int, Fraction]
    simulatable: str
    reveals: Mapping[int, Fraction]
    unsafe: tuple[str, ...]


def audited(statistic: str, values: Sequence[Number], questions: Sequence[Sequence[int]]) -> list[Audit]:
    """Every question at both auditors, each with a history of its own; rows are numbered from 1."""
    data, asked = _checked(statistic, values, questions)
    peeking: list[Asked] = []
    blind: list[Asked] = []
    found = []
    for rows in asked:
        answer = _statistic(statistic, [data[row - 1] for row in rows])
        unsafe = _unsafe(statistic, len(data), peeking, rows)
        refuses = any(_has(each, answer) for each in unsafe)
        disclosed = _common([_determined(statistic, len(data), peeking, rows, pair) for pair in unsafe]) if refuses else {}
        forbidden = _unsafe(statistic, len(data), blind, rows)
        possible = list(_candidates(blind))
        whatever = _common([_determined(statistic, len(data), blind, rows, each) for each in possible]) if forbidden else {}
        found.append(
            Audit(
                tuple(rows),
                answer,
                REFUSED if refuses else as_text(answer),
                disclosed,
                REFUSED if forbidden else as_text(answer),
                whatever,
                tuple(map(_words, forbidden)),
            )
        )
        if not refuses:
            peeking.append((tuple(rows), answer))
        if not forbidden:
            blind.append((tuple(rows), answer))
    return found


def _checked(
    statistic: str, values: Sequence[Number], questions: Sequence[Sequence[int]]
) -> tuple[list[Fraction], list[tuple[int, ...]]]:
    if statistic not in PLACES:
        raise InvalidInput(f"unknown statistic {statistic[:40]!r}; expected one of {', '.join(PLACES)}")
    data = [exact(value, "a value") for value in values]
    if not 2 <= len(data) <= MOST_VALUES:
        raise InvalidInput(
            f"expected 2 to {MOST_VALUES} values, not {len(data)}; give for example values=3,7,2,8,10", argument="values"
        )
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        raise InvalidInput(
            f"expected 1 to {MOST_QUESTIONS} questions, not {len(questions)}; ask for example 1-5 and 1-4", argument="ask"
        )
    asked = [tuple(sorted(set(rows))) for rows in questions]
    if any(not rows or rows[0] < 1 or rows[-1] > len(data) for rows in asked):
        raise InvalidInput(f"a question names rows from 1 to {len(data)}; ask for example 1-{len(data)}", argument="ask")
    return data, asked


def _statistic(statistic: str, numbers: Sequence[Any]) -> Any:
    return sorted(numbers)[PLACES[statistic](len(numbers)) - 1]


# --- every database, up to its order -----------------------------------------------------------------------------------------

Candidate = tuple[Fraction | None, Fraction | None]  # an answer (twice), or an interval without its ends; None is infinite


def _candidates(history: Sequence[Asked]) -> Iterator[Candidate]:
    """The answers so far, and the intervals between them."""
    known = sorted({answer for _, answer in history})
    ends: list[Fraction | None] = [None, *known, None]
    yield from pairwise(ends)
    yield from ((answer, answer) for answer in known)


def _is_number(candidate: Candidate) -> bool:
    return candidate[0] is not None and candidate[0] == candidate[1]


def _has(candidate: Candidate, answer: Fraction) -> bool:
    low, high = candidate
    return answer == low if _is_number(candidate) else (low is None or low < answer) and (high is None or answer < high)


def _representative(candidate: Candidate) -> Fraction:
    low, high = candidate
    if low is None:
        return Fraction(0) if high is None else high - 1
    return low + 1 if high is None else (low + high) / 2


Determined = dict[int, Fraction | None]  # None: the answer itself, of which only an interval is given


def _worlds(statistic: str, size: int, history: Sequence[Asked]) -> tuple[Worlds, list[Fraction]]:
    """Every database that agrees with the answers, by its order relative to them."""
    answers = sorted({answer for _, answer in history})
    points = 2 * len(answers) + 1
    every = np.indices((points,) * size, dtype=np.int8).reshape(size, -1).T
    for rows, answer in history:
        ordered = np.sort(every[:, [row - 1 for row in rows]], axis=1)
        every = every[ordered[:, PLACES[statistic](len(rows)) - 1] == 2 * answers.index(answer) + 1]
    return every, answers


def _determined(
    statistic: str, size: int, history: Sequence[Asked], rows: tuple[int, ...], candidate: Candidate
) -> Determined | None:
    """The values that all databases share which agree with the answers and this one; None if there is no such database."""
    new = _representative(candidate)
    worlds, answers = _worlds(statistic, size, [*history, (rows, new)])
    if not len(worlds):
        return None
    same = (worlds == worlds[0]).all(axis=0) & (worlds[0] % 2 == 1)
    shared = {int(at) + 1: answers[int(worlds[0][at]) // 2] for at in np.flatnonzero(same)}
    return {row: None if value == new and not _is_number(candidate) else value for row, value in shared.items()}


def _unsafe(statistic: str, size: int, history: Sequence[Asked], rows: tuple[int, ...]) -> list[Candidate]:
    """The answers that would determine a value that the history does not."""
    return [each for each in _candidates(history) if _determined(statistic, size, history, rows, each)]


def _common(found: Sequence[Determined | None]) -> dict[int, Fraction]:
    """The values that hold under every one of several possible answers."""
    possible: list[Determined] = [each for each in found if each is not None]
    first, *others = possible or [{}]
    return {row: value for row, value in first.items() if value is not None and all(other.get(row) == value for other in others)}


def _words(candidate: Candidate) -> str:
    low, high = candidate
    if low == high and low is not None:
        return f"of {as_text(low)}"
    if low is None:
        return "of any number" if high is None else f"below {as_text(high)}"
    return f"above {as_text(low)}" if high is None else f"between {as_text(low)} and {as_text(high)}"


# --- in words ----------------------------------------------------------------------------------------------------------------


def audit(statistic: str, values: Sequence[Number], questions: Sequence[Sequence[int]]) -> Example:
    """The same in plain words: each question, the refusal of the auditor that looks with its leak, and the other's refusal."""
    found = audited(statistic, values, questions)
    lines = [f"Values: {', '.join(f'x{at} = {as_text(exact(value))}' for at, value in enumerate(values, start=1))}."]
    for each in found:
        asked = f"{statistic.upper()}({', '.join(f'x{row}' for row in each.rows)})"
        lines.append(f"{asked} is {as_text(each.answer)}.")
        if each.looks == REFUSED:
            leak = ", ".join(f"x{row} = {as_text(value)}" for row, value in each.disclosed.items())
            why = (
                f"The refusal discloses {leak}: every answer that is refused leads there."
                if leak
                else "The refusal discloses no value."
            )
            lines.append(f"  looks at the answer: refused. {why}")
        else:
            lines.append(f"  looks at the answer: {each.looks}")
        if each.simulatable == REFUSED:
            leak = ", ".join(f"x{row} = {as_text(value)}" for row, value in each.reveals.items()) or "nothing"
            which = " or ".join(each.unsafe)
            lines.append(
                f"  simulatable: refused, whatever the data: an answer {which} would determine a value. It discloses {leak}."
            )
        else:
            lines.append(f"  simulatable: {each.simulatable}")
    figures = [
        {
            "rows": list(each.rows),
            "answer": as_text(each.answer),
            "looks": each.looks,
            "disclosed": {f"x{row}": as_text(value) for row, value in each.disclosed.items()},
            "simulatable": each.simulatable,
            "unsafe": list(each.unsafe),
        }
        for each in found
    ]
    return Example(tuple(lines), {"statistic": statistic, "questions": figures})
