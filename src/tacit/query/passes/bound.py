"""The row limit of a unit, put right above the scan: sound under every filter and join that follows."""

from __future__ import annotations

from dataclasses import replace

from tacit.query.plan import Bound, Join, Question, Scan, Where


def bound(question: Question) -> Question:
    """The question with its scan limited to the declared rows of a unit, and to those in one group where that is declared."""
    group = question.group
    table = _scan(group.child).table
    per_group = table.max_rows_per_group if table.rows_per_group < table.max_rows else None
    limited = replace(group, child=_limited(group.child), per_group=per_group if group.keys else None)
    return replace(question, group=limited)


def _limited(relation: Scan | Bound | Join | Where) -> Bound | Join | Where:
    if isinstance(relation, Scan):
        return Bound(relation, relation.table.max_rows)
    if isinstance(relation, Bound):
        return relation
    if isinstance(relation, Join):
        inner = _limited(relation.child)
        return replace(relation, child=inner)  # type: ignore[arg-type]  # a Where never lies under a Join
    inner = _limited(relation.child)
    return replace(relation, child=inner)  # type: ignore[arg-type]


def _scan(relation: Scan | Bound | Join | Where) -> Scan:
    return relation if isinstance(relation, Scan) else _scan(relation.child)
