"""The limits of a unit: every private table has its row limit below every other step, and a group has one if declared."""

from __future__ import annotations

from dataclasses import replace

from tacit.query.plan import Bound, Group, Join, PublicScan, Question, Relation, Scan, Semi, UnitJoin, Where
from tacit.query.size_limit import below


def bound(question: Question) -> Question:
    """The query with its rows in one group limited if that is declared; raises if a table has no limit of its own."""
    group = question.group
    limited = {id(step.child) for step in below(group) if isinstance(step, Bound)}
    if any(isinstance(step, Scan) and id(step) not in limited for step in below(group)):
        raise TypeError("a scan without a row limit has no stability; the binder puts one above it")
    return replace(question, group=replace(group, per_group=_per_group(group)))


def _per_group(group: Group) -> int | None:
    """The declared limit of the table that the rows come from, if a row of the query is a row of that table.

    Tables that are joined along a reference, or only tested, add no row. If rows multiply or are merged, the declared limit would
    mean something else, so no limit applies.
    """
    step: Relation = group.child
    while isinstance(step, Join | UnitJoin | Semi | Where):
        if isinstance(step, UnitJoin) and not step.once and not _one_row(step.other):
            return None
        step = step.child
    if not group.keys or not isinstance(step, Bound):
        return None
    table = step.child.table
    return table.max_rows_per_group if table.rows_per_group < table.max_rows else None


def _one_row(relation: Relation) -> bool:
    """Whether a unit has at most one row there."""
    while isinstance(relation, Where) and not isinstance(relation.child, PublicScan):
        relation = relation.child
    return isinstance(relation, Bound) and relation.max_rows == 1
