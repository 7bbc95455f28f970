"""Questions, decisions and replies: the values that pass between an analyst, an auditor and the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput

Aggregate = Literal["max", "min", "sum"]
Rows = NDArray[np.int64]
Number = int | float
NAMED = 6  # rows and questions that a sentence names before it says how many more there are


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """An aggregate over people whose membership is public: `members` are their rows, from 0, ascending, each once."""

    aggregate: Aggregate
    members: Rows
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"{self.aggregate.upper()} over {rows_text(self.members)}"


def question(aggregate: Aggregate, members: Iterable[int], text: str = "") -> Question:
    """The question over these rows.

    >>> print(question("max", [3, 0, 3]))
    MAX over rows 1, 4
    """
    rows = np.unique(np.asarray(list(members) if not isinstance(members, np.ndarray) else members, dtype=np.int64))
    if rows.size == 0 or rows[0] < 0:
        raise InvalidInput("a query must be about at least one row; rows are numbered from 0")
    return Question(aggregate, rows, text)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a question will be answered, and why: words made from the history and the question alone."""

    answered: bool
    reason: str
    known: bool = False  # the answer follows from earlier answers, so that it adds nothing


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """An exact answer. It is not a differentially private release: an analyst who knows the other values can subtract them."""

    differentially_private: ClassVar[bool] = False
    question: str
    answer: Number
    reason: str
    entry: int | None  # its place in the history; None where the answer is a public fact

    def __str__(self) -> str:
        return f"{number_text(self.answer)}  (exact; not differentially private)"


@dataclass(frozen=True, slots=True)
class Denial:
    """A refusal. It reveals nothing if the decision did not depend on the data; see simulatable.md."""

    differentially_private: ClassVar[bool] = False
    question: str
    reason: str
    entry: int | None

    def __str__(self) -> str:
        return f"refused: {self.reason}"


Reply = ExactAnswer | Denial


def number_text(number: Number) -> str:
    """A number the way people write it: whole ones without a point.

    >>> number_text(10.0), number_text(0.1)
    ('10', '0.1')
    """
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(number)


def rows_text(rows: Iterable[int]) -> str:
    """Rows as a sentence names them, counted from 1.

    >>> rows_text([4]), rows_text(range(9))
    ('row 5', 'rows 1, 2, 3, 4, 5, 6 and 3 more')
    """
    return _list_text("row", [int(row) + 1 for row in rows])


def questions_text(numbers: Iterable[int]) -> str:
    """Past questions as a sentence names them, counted from 1.

    >>> questions_text([0, 2])
    'questions 1, 3'
    """
    return _list_text("question", [number + 1 for number in numbers])


def _list_text(noun: str, numbers: list[int]) -> str:
    more = f" and {len(numbers) - NAMED:,} more" if len(numbers) > NAMED else ""
    return f"{noun}{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:NAMED]))}{more}"
