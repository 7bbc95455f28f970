"""The shape of a question, which decides its noise, price and explanation: its plan, except which rows WHERE keeps.

Every row of a unit may pass a condition, so no sensitivity follows from one (stability.md); what a condition costs in work is
checked of the plan itself (`price.check`). So questions that differ in the constants of WHERE, and have the same groups, have one
price, which is found once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tacit.accounting.events import Event
from tacit.query.plan import Truth, Where
from tacit.query.price.explain import Explanation, explained
from tacit.query.price.quote import Quote
from tacit.query.question import Question

ANY = Truth(True)  # stands for every condition


def shape_of(question: Question) -> Question:
    """The question with a WHERE that keeps every row in the place of its own; one of several parts as it is.

    Its quotes are for pricing and explaining alone: an engine is given those of the question itself.
    """
    group, rows = question.group, question.group.child
    if question.beside or question.below or not isinstance(rows, Where):
        return question
    return replace(question, group=replace(group, child=replace(rows, condition=ANY)))


@dataclass(frozen=True, slots=True)
class Shaped:
    """The quotes of a shape, with their events and, once it was asked for, the explanation of each."""

    quotes: tuple[Quote, ...]
    events: tuple[Event, ...]
    _explanations: dict[int, Explanation] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, quotes: Sequence[Quote]) -> Shaped:
        """The quotes with their events."""
        return cls(tuple(quotes), events_of(quotes))

    def explained(self, quote: Quote, left: str, takes: tuple[str, ...]) -> Explanation:
        """The explanation of one of the quotes; what remains of the budget is said anew each time."""
        place = next(place for place, each in enumerate(self.quotes) if each is quote)
        if place not in self._explanations:
            self._explanations[place] = explained(quote)
        return replace(self._explanations[place], left=left, takes=takes)


def events_of(quotes: Sequence[Quote]) -> tuple[Event, ...]:
    """The event of each quote."""
    return tuple(quote.event for quote in quotes)
