"""A plan and the catalog facts that its price uses, as plain values of JSON; docs/reference/certificate-format.md has the form.

A node is an object with its kind as `is` and its fields by their names. Counts and grid integers are integers, all other numbers
are texts of rationals, and a table is its name: what is declared of it stands once, among the facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.privacy.catalog import Column, Table
from tacit.query.plan import Column as StoredColumn
from tacit.query.plan import Join, PublicScan, Relation, Scan, TextColumn
from tacit.query.question import Question
from tacit.query.trees import below, expressions_of, nodes_of


@lru_cache(maxsize=256)
def _fields(kind: type) -> tuple[tuple[str, bool, Any], ...]:
    """The fields of a node: the name, whether it is left out where it has its default, and that default."""
    return tuple((each.name, bool(each.metadata.get("unsaid")), each.default) for each in fields(kind) if each.compare)


def plain(value: Any) -> Any:
    """A node, or a value in it, as plain JSON.

    >>> from tacit.query.plan import Literal, Multiply
    >>> plain(Multiply(Literal(2), Literal(None), 0, 2, True))["left"], plain(Fraction(1, 3)), plain(Fraction(4))
    ({'is': 'Literal', 'value': 2}, '1/3', '4')
    """
    kind: type = type(value)
    if kind in AS_THEY_ARE:
        return value
    if (write := WRITTEN.get(kind)) is not None:
        return write(value)
    node: dict[str, Any] = {"is": kind.__name__}
    for name, unsaid, default in _fields(kind):
        held = getattr(value, name)
        if not (unsaid and held == default):
            node[name] = plain(held)
    return node


AS_THEY_ARE = frozenset({type(None), bool, int, str})
WRITTEN: Mapping[type, Callable[[Any], Any]] = {
    Fraction: str,
    float: lambda value: {"is": "double", "value": repr(value)},
    tuple: lambda values: [plain(each) for each in values],
    Table: lambda table: table.name,
}
"""The values that are not nodes, by their type: how each is written."""


PARTS = ("group", "calls", "outputs", "having", "order", "limit", "offset", "qualify")


def plan_json(question: Question) -> dict[str, Any]:
    """All parts of a question: the first, those beside it, and those whose rows stand below; each is measured and paid for."""
    parts = [{name: plain(getattr(part, name)) for name in PARTS} for part in question.parts]
    listed = {"listed": list(question.listed)} if question.listed else {}
    return {"parts": parts, "beside": len(question.beside), "below": len(question.below), **listed}


# --- catalog facts -----------------------------------------------------------------------------------------------------------


def facts_json(question: Question) -> dict[str, Any]:
    """The declarations of the tables and columns that a plan reads; of public tables, their names."""
    steps = [step for part in question.parts for step in below(part.group)]
    scans = {step.source: step.table for step in steps if isinstance(step, Scan)}
    public = {step.table.name for step in steps if isinstance(step, Join | PublicScan)}
    used: dict[str, set[str]] = {table.name: set() for table in scans.values()}
    for part in question.parts:
        for source, name in _columns_of(part.group):
            if source in scans:
                used[scans[source].name].add(name)
    for table in scans.values():
        used[table.name] |= {table.period.lower()} if table.per is not None and table.period is not None else set()
    tables = {table.name: table_facts(table, used[table.name]) for table in scans.values()}
    return {"tables": tables | {name: {"public": True} for name in public - tables.keys()}}


def _columns_of(relation: Relation) -> Iterator[tuple[int, str]]:
    for expression in expressions_of(relation):
        for node in nodes_of(expression):
            if isinstance(node, StoredColumn | TextColumn):
                yield node.source, node.name


def table_facts(table: Table, used: set[str]) -> dict[str, Any]:
    """The declarations of a private table, and of the `used` columns."""
    owner = table.unit
    references = None if owner is None or owner.references is None else ".".join(owner.references)
    dated = {} if table.per is None or table.period is None else {"period": table.period.lower()}
    dated |= {} if table.per is None or table.period_of is None else {"period_of": table.period_of.name}
    return {
        **dated,
        "public": False,
        "unit": None if owner is None else {"column": owner.column, "references": references},
        "key": table.key,
        "max_rows": table.max_rows,
        "max_rows_per_group": table.max_rows_per_group,
        "max_joined_rows": table.most_joined_rows,
        "min_people": table.min_people,
        "columns": {name.lower(): _column(column) for name, column in table.columns.items() if name.lower() in used},
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "kind": column.kind,
        "bounds": None if column.bounds is None else [str(bound) for bound in column.bounds],
        "step": None if column.step is None else str(column.step),
        "points": column.points,
        "nullable": column.nullable,
    }
