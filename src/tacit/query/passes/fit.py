"""The plan is small enough to be written out for an engine."""

from __future__ import annotations

from collections.abc import Iterator

from tacit.query.extent import Extent, Node
from tacit.query.plan import Group, Join, Question, Relation, Scan, Where


def fit(question: Question) -> Question:
    """The question itself, refused where its expressions are too large together."""
    Extent().check(*_expressions(question.group))
    return question


def _expressions(relation: Relation) -> Iterator[Node]:
    match relation:
        case Group():
            yield from (key.term.node for key in relation.keys)
            yield from {moment.value: None for moment in relation.moments if moment.value is not None}
        case Where():
            yield relation.condition
        case Join():
            yield relation.left
    if not isinstance(relation, Scan):
        yield from _expressions(relation.child)
