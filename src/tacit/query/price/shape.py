"""The shape of a question, which decides its noise, price and explanation: its plan, except which rows WHERE keeps.

Every row of a unit may pass a condition, so no sensitivity follows from one, except that equal columns join (stability.md); what
a condition costs in work is checked of the plan itself (`price.check`). So questions that differ in the constants of WHERE, and
have the same groups, have one price, which is found once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tacit.accounting.events import Event
from tacit.query.plan import All, Bound, Truth, Where
from tacit.query.price.explain import explained
from tacit.query.price.explanation import Explanation
from tacit.query.price.quote import Quote
from tacit.query.price.stability import joining
from tacit.query.question import Question
from tacit.query.trees import below

ANY = Truth(True)  # stands for every condition
MOST_KEPT = 8  # explanations of one shape: an analyst may assume any size of a group


def shape_of(question: Question) -> Question:
    """The question with a WHERE that keeps every row in the place of its own, equal columns apart; one of several parts as it is.

    Its quotes are for pricing and explaining alone: an engine is given those of the question itself. A question that reads periods
    is its own shape: its conditions say which rows are of the same period, and so what a whole person pays.
    """
    group, rows = question.group, question.group.child
    dated = any(isinstance(step, Bound) and step.periods is not None for step in below(group))
    if question.beside or question.below or not isinstance(rows, Where) or dated:
        return question
    joined = joining(rows.condition)
    return replace(question, group=replace(group, child=replace(rows, condition=All(joined) if joined else ANY)))


@dataclass(frozen=True, slots=True)
class Shaped:
    """The quotes of a shape, with their events and, once it was asked for, the explanation of each."""

    quotes: tuple[Quote, ...]
    events: tuple[Event, ...]
    _explanations: dict[tuple[int, int | None], Explanation] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, quotes: Sequence[Quote]) -> Shaped:
        """The quotes with their events."""
        return cls(tuple(quotes), events_of(quotes))

    def explained(self, quote: Quote, left: str, takes: tuple[str, ...], group_rows: int | None = None) -> Explanation:
        """The explanation of one of the quotes; what remains of the budget is said anew each time."""
        place = next(place for place, each in enumerate(self.quotes) if each is quote)
        explanation = self._explanations.get((place, group_rows))
        if explanation is None:
            explanation = explained(quote, group_rows=group_rows)
            if len(self._explanations) < MOST_KEPT:
                self._explanations[place, group_rows] = explanation
        return replace(explanation, left=left, takes=takes)


def events_of(quotes: Sequence[Quote]) -> tuple[Event, ...]:
    """The event of each quote."""
    return tuple(quote.event for quote in quotes)
