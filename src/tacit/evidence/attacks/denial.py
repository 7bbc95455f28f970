"""Refusals disclose values if the auditor looks at the answer: the attack on a value-based auditor.

The auditor refuses a MAX exactly when the answer would determine a value. The analyst asks for the largest of a small group, and
then for the largest of the group without one row. If that is refused, then for every answer that would have been refused the row
left out is the only one that can have the first answer: so it has it. One refusal, one value, and no question was about one
row alone (Kenthapadi, Mishra and Nissim 2005; the remedy is theirs too). A simulatable auditor refuses the same question whatever
the data is, and the same reasoning ends with nothing.

The values of the demonstration are drawn from a seeded generator on purpose: they are invented.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.publish.audited.data import Data, Private
from tacit.publish.audited.desk import Desk
from tacit.publish.audited.maximum import MaxAuditor, Maxima
from tacit.publish.audited.question import ExactAnswer, Question, Reply, question
from tacit.publish.audited.value_based import PeekingDesk, leak_report

SMALLEST = 3  # of two rows, one left out, the other would be asked about alone: refused in any case


class Answering(Protocol):
    """The desk under attack: it answers or refuses."""

    def put(self, question: Question) -> Reply:
        """The reply to a question."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of the attack on one desk; `named` are the values that the analyst is sure of."""

    asked: int
    refused: int
    named: dict[int, float]
    wrong: int


@dataclass(frozen=True, slots=True)
class DenialAttack:
    """The same questions at a value-based desk and at a simulatable one."""

    people: int
    group: int
    value_based: Outcome
    simulatable: Outcome

    def summary(self) -> str:
        """The result in two sentences."""
        peeking, other = self.value_based, self.simulatable
        return (
            f"The value-based auditor refused {peeking.refused:,} of {peeking.asked:,} questions, and these refusals disclose "
            f"{len(peeking.named):,} of {self.people:,} values, {peeking.wrong} of them wrong. "
            f"The simulatable auditor refused {other.refused:,} of {other.asked:,}, which disclose {len(other.named)}."
        )

    def chart(self, path: str | None = None) -> Any:
        """An Altair chart of the disclosed values; saved if a path is given."""
        from tacit.chart import COLOURS, charting, save

        alt = charting()
        rows: list[dict[str, Any]] = [
            {"auditor": "value-based", "share": len(self.value_based.named) / self.people},
            {"auditor": "simulatable", "share": len(self.simulatable.named) / self.people},
        ]
        share = alt.Y("share:Q", title="values disclosed by refusals").axis(format="%")
        chart = alt.Chart(alt.InlineData(values=rows), title="A refusal that depends on the data is an answer")
        return save(chart.mark_bar(color=COLOURS[1]).encode(x=alt.X("auditor:N", title=None, sort=None), y=share), path)


def denial(values: Sequence[float] | NDArray[Any], group: int = SMALLEST) -> DenialAttack:
    """Ask for the largest of every group, then of every group without one row, at both desks; conclude from the refusals.

    >>> found = denial([3, 7, 2, 8, 10], group=5)
    >>> found.value_based.named, found.simulatable.named
    ({4: 10.0}, {})
    """
    data = np.asarray(values, dtype=np.float64)
    if not SMALLEST <= group <= data.size:
        raise InvalidInput(f"a group must have at least {SMALLEST} rows, and at most all of them ({data.size})")
    peeking = _attack(PeekingDesk(data), data, group, looks=True)
    simulatable = _attack(Desk(Data(Private(data), "x", {}), MaxAuditor()), data, group, looks=False)
    return DenialAttack(data.size, group, peeking, simulatable)


def example_values(people: int, seed: int = 1) -> NDArray[np.float64]:
    """Fictional values to attack, in cents."""
    return np.round(np.random.default_rng(seed).lognormal(8, 0.5, people), 2)


def _attack(desk: Answering, data: NDArray[np.float64], group: int, looks: bool) -> Outcome:
    named: dict[int, float] = {}
    asked = refused = 0
    for start in range(0, data.size - group + 1, group):
        for disclosed in _on_group(desk, np.arange(start, start + group), looks):
            asked, refused = asked + 1, refused + (disclosed is not None)
            named |= disclosed or {}
    return Outcome(asked, refused, named, sum(bool(data[row] != value) for row, value in named.items()))


def _on_group(desk: Answering, rows: NDArray[np.int64], looks: bool) -> Iterator[dict[int, float] | None]:
    """For each question about a group: None if it was answered, else the values that the refusal discloses."""
    rule = MaxAuditor()
    state = rule.begin(len(rows))
    for left_out in (None, *range(len(rows))):
        members = [place for place in range(len(rows)) if place != left_out]
        here = question("max", members)
        reply = desk.put(question("max", rows[members]))
        if isinstance(reply, ExactAnswer):
            state = rule.learn(state, here, reply.answer)
            yield None
        else:
            away = leak_report(rule, state, here).gives_away if looks else _whatever_the_answer(rule, state, here)
            yield {int(rows[place]): value for place, value in away.items()}


def _whatever_the_answer(rule: MaxAuditor, state: Maxima, here: Question) -> dict[int, float]:
    """The values that hold under every possible answer: the disclosure of a refusal that does not depend on the answer."""
    values = [set(rule.determined_values(rule.learn(state, here, answer)).items()) for answer in rule.possible(state, here)]
    return dict(set.intersection(*values))
