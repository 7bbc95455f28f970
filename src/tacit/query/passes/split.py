"""Aggregates to moments: each exact integer is asked of the engine once, and paid for once."""

from __future__ import annotations

from dataclasses import replace

from tacit.query.groups import private
from tacit.query.plan import Moment, Question
from tacit.query.price.aggregates import moments_of


def split(question: Question) -> Question:
    """The question with the moments that its calls need, each once, in the order in which they are first needed."""
    needed: dict[Moment, None] = {}
    for call in question.calls:
        needed.update(dict.fromkeys(moments_of(call, question.calls)))
    if private(question):
        needed[Moment("units")] = None  # what the threshold of private keys looks at
    return replace(question, group=replace(question.group, moments=tuple(needed)))
