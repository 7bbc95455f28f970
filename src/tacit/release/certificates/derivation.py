"""The derivation of stability and sensitivity, step by step, as plain values: rule, inputs, conclusion.

Each rule has a section of a proof page (`PROOFS`). The steps say what `query/price/stability.py` concludes; whoever checks a
certificate derives them again from plan and facts, by code of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from tacit.query.plan import Bound, Join, Moment, PerUnit, Relation, Semi, Union, UnitJoin, Where
from tacit.query.price.quote import Quote
from tacit.query.price.stability import (
    Joined,
    Member,
    Reach,
    entries_moved,
    l1_sensitivity,
    l2_sensitivity,
    largest_move,
    row_range,
    rows_of,
)
from tacit.query.question import Question, cells_of, private, size

Step = dict[str, Any]
STABILITY = "query/price/stability.md"
PROOFS: Mapping[str, str] = {
    "row-limit": f"{STABILITY}, section 1",
    "one-row-per-key": f"{STABILITY}, section 2",
    "stacked-rows": f"{STABILITY}, section 2",
    "joined-rows": f"{STABILITY}, section 2a",
    "rows-beside": f"{STABILITY}, section 2a",
    "reach": f"{STABILITY}, sections 3 and 8",
    "sensitivity": f"{STABILITY}, sections 3 and 8",
    "marginal": "publish/synthetic/rows/marginals.md",
    "rounds": "publish/synthetic/rows/rounds.md",
    "second-moments": "publish/trained/classifier.md",
    "gradient": "publish/trained/classifier.md",
    "resampled-rows": "publish/synthetic/rows/contingency.md",
    "resampled-map": "mechanisms/dirichlet/dirichlet.md",
    "stated-for-graphs": "publish/graphs/private/private.md",
}
"""The rules of derivations, each with the section that proves it."""


def derivation(quote: Quote) -> list[Step]:
    """All steps of all parts of a question, in an order in which every step uses earlier ones alone."""
    return [step for at, part in enumerate(quote.parts) for step in _of_part(at, part)]


def _of_part(at: int, quote: Quote) -> Iterator[Step]:
    group, place = quote.question.group, f"/parts/{at}/group"
    yield from _rows(group.child, f"{place}/child")
    yield _reach(place, quote.question, quote.reach)
    for index, moment in enumerate(group.moments):
        if moment.kind != "list":
            yield _sensitivity(f"{place}/moments/{index}", moment, quote.reach)


# --- rows --------------------------------------------------------------------------------------------------------------------


def _rows(relation: Relation, at: str) -> Iterator[Step]:
    """The steps to the most rows that one unit has at a step of the plan."""
    match relation:
        case Bound():
            yield _step(
                "row-limit", at, {"table": relation.child.table.name, "max_rows": relation.max_rows}, rows=relation.max_rows
            )
        case PerUnit():
            yield from _rows(relation.child, f"{at}/child")
            combinations = prod(node.high - node.low + 1 + node.nullable for _, node in relation.keys)
            kept = {} if relation.most is None else {"most": relation.most}
            inputs = {"rows": rows_of(relation.child), "combinations": combinations} | kept
            yield _step("one-row-per-key", at, inputs, rows=rows_of(relation))
        case Union():
            for number, (part, _) in enumerate(relation.parts):
                yield from _rows(part, f"{at}/parts/{number}/0")
            yield _step("stacked-rows", at, {"rows": [rows_of(part) for part, _ in relation.parts]}, rows=rows_of(relation))
        case _:
            yield from _joined(relation, at)


def _joined(relation: Relation, at: str, beside: UnitJoin | None = None) -> Iterator[Step]:
    """A tree of joins and filters: those of its members first, then the order in which their rows are counted.

    The right side of a left join is counted `beside` one row of its left side, and at least once.
    """
    joined, places = Joined.of(relation), dict[frozenset[int], str]()
    for sources, place, member, join in _members(relation, at):
        yield from _joined(member, place, join) if join is not None else _rows(member, place)
        places[sources] = place
    counted = joined.counted(beside)
    order = [_counted(member, factor, places) for member, factor in counted]
    rows = joined.fan_out * prod(factor for _, factor in counted)
    rule, least = ("joined-rows", rows) if beside is None else ("rows-beside", max(1, rows))
    yield _step(rule, at, {"order": order, "fan_out": joined.fan_out}, rows=least)


def _counted(member: Member, factor: int, places: Mapping[frozenset[int], str]) -> dict[str, Any]:
    because = "beside" if member.after is not None else "rows" if factor == member.rows else "determined"
    return {"member": places[member.sources], "factor": factor, "because": because}


def _members(relation: Relation, at: str) -> Iterator[tuple[frozenset[int], str, Relation, UnitJoin | None]]:
    """The members of a tree of joins, as `Joined.of` makes them: sources, place, relation, and the left join of a right side."""
    match relation:
        case Where() | Semi() | Join():
            yield from _members(relation.child, f"{at}/child")
        case UnitJoin():
            yield from _members(relation.child, f"{at}/child")
            if relation.kind == "inner":
                yield from _members(relation.other, f"{at}/other")
            else:
                right = Joined.of(relation.other)
                sources = frozenset[int]().union(*(each.sources for each in right.members))
                yield sources, f"{at}/other", relation.other, relation
        case Bound():
            yield frozenset({relation.child.source}), at, relation, None
        case PerUnit() | Union():
            yield frozenset({relation.source}), at, relation, None


# --- groups and sums ---------------------------------------------------------------------------------------------------------


def _reach(at: str, question: Question, touched: Reach) -> Step:
    """How many rows and groups one unit has; the number of groups is a private one where keys are."""
    cells = None if private(question) else cells_of(question)
    sizes = [None if private(question) else size(key) for key in question.group.keys]
    inputs = {"rows": touched.rows, "keys": sizes, "cells": cells, "per_group": question.group.per_group}
    inputs |= {"change": touched.change, "rows_are_public": touched.fixed}
    gives = {"rows": touched.rows, "groups": touched.groups, "per_group": touched.per_group, "several": touched.several}
    return _step("reach", at, inputs, **gives, l1=touched.l1, l2_squared=touched.l2_squared, units=touched.units_l1)


def _sensitivity(at: str, moment: Moment, touched: Reach) -> Step:
    low, high = row_range(moment, touched.fixed)
    inputs = {"kind": moment.kind, "low": low, "high": high, "together": moment.together}
    norms = {"l1": l1_sensitivity(moment, touched), "l2": str(l2_sensitivity(moment, touched))}
    return _step("sensitivity", at, inputs, **norms, entries=entries_moved(moment, touched), largest=largest_move(moment, touched))


def _step(rule: str, at: str, inputs: Mapping[str, Any], **gives: Any) -> Step:
    return {"rule": rule, "proof": PROOFS[rule], "at": at, "inputs": dict(inputs), "gives": gives}
