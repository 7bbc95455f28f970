"""The plan is small enough to be written out for an engine."""

from __future__ import annotations

from tacit.query.plan import Question
from tacit.query.size_limit import Extent, expressions_of


def fit(question: Question) -> Question:
    """The query itself; raises if its expressions are too large together."""
    Extent().check(*expressions_of(question.group))
    return question
