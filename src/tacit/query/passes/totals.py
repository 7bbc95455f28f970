"""Per-unit totals that one unit moves less together than one by one (stability.md)."""

from __future__ import annotations

from dataclasses import replace

from tacit.query.plan import Call, Column, Question
from tacit.query.price.stability import copies, rows_of


def totals(question: Question) -> Question:
    """The query with the maximum total of all rows of one unit, for each SUM and AVG over a per-unit total."""
    return replace(question, calls=tuple(_known(call, question) for call in question.calls))


def _known(call: Call, question: Question) -> Call:
    """The combined total is used if it is less than what the rows of a unit cost one by one; otherwise an average is centered."""
    node = call.over.node if call.over is not None else None
    if call.name not in ("sum", "avg") or not isinstance(node, Column) or node.together is None:
        return call
    rows, times = rows_of(question.group.child), copies(question.group.child, node.source)
    if times is None:
        return call
    apart = rows * max(abs(node.low), abs(node.high)) if call.name == "sum" else rows * (node.high - node.low) // 2
    return replace(call, together=times * node.together) if times * node.together < apart else call
