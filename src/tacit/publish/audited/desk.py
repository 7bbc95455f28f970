"""The desk that answers or refuses: it decides without the data, reads it, writes the answer down, and only then shows it.

    text ──▶ rows (public) ──▶ auditor.decide(history, question) ──▶ the data ──▶ history ──▶ reply
                               no data within its reach                           durable

Several analysts may use one desk, and several desks one history: it counts the answers of all of them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.errors import NotAllowed
from tacit.publish.audited.auditor import Auditor
from tacit.publish.audited.data import Data
from tacit.publish.audited.history import History, Past
from tacit.publish.audited.predicate import select_rows
from tacit.publish.audited.question import Denial, ExactAnswer, Number, Question, Reply

AUDITED_AS = {"max": "max", "min": "min", "sum": "sum", "avg": "sum"}
MOST_VALUES = 12  # different values of a public column that the outlook goes through
MOST_LINES = 40


@dataclass(frozen=True, slots=True)
class Prospect:
    """The decision that one question would get now."""

    question: str
    rows: int
    outcome: str  # answered, refused, or known already


@dataclass(frozen=True, slots=True)
class Summary:
    """The answers given so far, and the questions that would still be answered: public, because it depends on the history alone."""

    differentially_private: ClassVar[bool] = False
    auditor: str
    facts: str
    answers: int
    refusals: int
    said: str
    outlook: tuple[Prospect, ...]


class Desk:
    """Exact answers or refusals over one table, by one simulatable auditor, with one durable history.

    >>> from tacit.publish.audited.data import Private
    >>> from tacit.publish.audited.maximum import MaxAuditor
    >>> people = Data(Private([3, 7, 2, 8, 10]), "x", {"person": np.arange(1, 6)})
    >>> desk = Desk(people, MaxAuditor())
    >>> print(desk.ask("MAX(x)"))
    10  (exact; not differentially private)
    >>> print(desk.ask("MAX(x) WHERE person <= 4"))
    refused: if the answer were below 10, only row 5 could have the 10 of question 1
    """

    def __init__(self, data: Data, auditor: Auditor[Any], history: History | None = None) -> None:
        self.data, self.auditor = data, auditor
        self.history = history or History(None, about(data, auditor))
        self._state, self._count, self._hash = auditor.begin(len(data)), 0, ""

    def catch_up(self) -> Iterator[Past]:
        """Learns the answers that other desks have added to the history, one by one."""
        with self.history.turn() as turn:
            yield from self._learn(turn.after(self._count, self._hash))

    def _learn(self, news: Iterable[Past]) -> Iterator[Past]:
        for past in news:
            self._state = self.auditor.learn(self._state, past.question, past.answer)
            self._count, self._hash = self._count + 1, past.hash
            yield past

    def ask(self, text: str) -> Reply:
        """The reply to a question in words; COUNT is answered always, because the rows of a question are public."""
        asked = select_rows(text, self.data.value, self.data.public, len(self.data))
        if asked.wanted == "count":
            return ExactAnswer(asked.text, len(asked.rows), "who is asked about is public", None)
        kind = AUDITED_AS[asked.wanted]
        if kind not in self.auditor.aggregates:
            raise NotAllowed(
                f"{asked.wanted.upper()} is not supported by this auditor: answering both kinds would escape the audit",
                remedy=f"ask for {' or '.join(sorted(name.upper() for name in self.auditor.aggregates))} or COUNT",
            )
        reply = self.put(Question(kind, asked.rows, asked.text))  # type: ignore[arg-type]
        if asked.wanted == "avg" and isinstance(reply, ExactAnswer):
            mean = self.data.values.mean(reply.answer, len(asked.rows))
            return ExactAnswer(reply.question, mean, reply.reason, reply.entry)
        return reply

    def put(self, question: Question) -> Reply:
        """The reply to a question over rows: decided before the data is touched, written before it is shown."""
        with self.history.turn() as turn:
            for _ in self._learn(turn.after(self._count, self._hash)):
                pass
            decision = self.auditor.decide(self._state, question)
            if not decision.answered:
                turn.append_refusal(self._count, question, decision.reason)
                return Denial(str(question), decision.reason, None)
            answer = self.data.values.answer(question)
            written = turn.append_answer(self._count, self._hash, question, answer)
        self._remember(question, answer, written)
        return ExactAnswer(str(question), answer, decision.reason, self._count)

    def _remember(self, question: Question, answer: Number, written: str) -> None:
        self._state = self.auditor.learn(self._state, question, answer)
        self._count, self._hash = self._count + 1, written

    def summary(self) -> Summary:
        """The answers given, and the decisions that questions about all rows and about each public group would get now."""
        said, facts = self.auditor.summary(self._state), self.auditor.facts
        return Summary(self.auditor.name, facts, self._count, self.history.refusals(), said, tuple(self._outlook()))

    def _outlook(self) -> Iterator[Prospect]:
        groups = [("everybody", np.arange(len(self.data))), *self._groups()]
        lines = [(name, rows, kind) for name, rows in groups for kind in sorted(self.auditor.aggregates)]
        for name, rows, kind in lines[:MOST_LINES]:
            decision = self.auditor.decide(self._state, Question(kind, rows))  # type: ignore[arg-type]
            outcome = "known already" if decision.known else "answered" if decision.answered else "refused"
            yield Prospect(f"{kind.upper()}({self.data.value}) of {name}", rows.size, outcome)

    def _groups(self) -> Iterator[tuple[str, Any]]:
        """Each value of each public column with the rows that have it; one row alone is never answered."""
        for name, column in self.data.public.items():
            values = sorted({value for value in column.tolist() if value is not None and value == value}, key=repr)
            if 1 < len(values) <= MOST_VALUES:
                groups = ((f"{name} = {value}", np.flatnonzero(column == value)) for value in values)
                yield from (group for group in groups if group[1].size > 1)


def about(data: Data, auditor: Auditor[Any]) -> dict[str, str]:
    """The auditor, facts and data that a history belongs to: under others it is of no use."""
    return {
        "auditor": auditor.name, "facts": auditor.facts, "column": data.value, "rows": str(len(data)), "data": data.fingerprint,
    }  # fmt: skip
