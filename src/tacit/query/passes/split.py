"""Aggregates to moments: the engine computes each exact integer once, and it is paid for once."""

from __future__ import annotations

from dataclasses import replace

from tacit.query.groups import private
from tacit.query.intervals.aggregates import moments_of
from tacit.query.plan import Moment, Question


def split(question: Question) -> Question:
    """The query with the moments that its calls need, each once, in the order of first use."""
    needed: dict[Moment, None] = {}
    for call in question.calls:
        needed.update(dict.fromkeys(moments_of(call, question.calls)))
    if private(question):
        needed[Moment("units")] = None  # the threshold of private keys reads it
    return replace(question, group=replace(question.group, moments=tuple(needed)))
