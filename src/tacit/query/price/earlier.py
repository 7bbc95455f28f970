"""How the rows of a unit were counted before joins cost the same in any order, and counts of a unit were priced together.

No price follows from it: it is for the keys of answers that were kept then. A question whose plan was another by these rules is
looked for under that plan, too, so that whoever paid for its answer has it back, and is not charged for another
(`offers.older_keys`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from math import prod

from tacit.errors import TacitError, TooMuchWork
from tacit.privacy.catalog import Catalog
from tacit.query.binding.scope import PublicFacts
from tacit.query.language.syntax import Select
from tacit.query.passes import Counting, declared_together, rewrite
from tacit.query.plan import Bound, Group, Join, PerUnit, Relation, Semi, Union, UnitJoin, Where
from tacit.query.price.stability import is_private, tables_of
from tacit.query.question import Question


def earlier_plan(select: Select, catalog: Catalog, public: PublicFacts) -> Question | None:
    """The plan of a question as it was; None if it was refused."""
    try:
        return rewrite(select, catalog, public, Counting(_rows_of, _copies, _limited, declared_together))
    except TacitError:
        return None


@singledispatch
def _rows_of(relation: Relation) -> int:
    """The rows of a unit as multiplied from step to step, in the order of the query."""
    raise TypeError(f"{type(relation).__name__} has no stability without a row limit")


@_rows_of.register
def _(relation: Bound) -> int:
    return relation.max_rows


@_rows_of.register(Group)
@_rows_of.register(Where)
def _(relation: Group | Where) -> int:
    return _rows_of(relation.child)


@_rows_of.register
def _(relation: Semi) -> int:
    _ = _rows_of(relation.other) if is_private(relation.other) else 0
    return _rows_of(relation.child)


@_rows_of.register
def _(relation: Join) -> int:
    return _few(relation, _rows_of(relation.child) * relation.fan_out)


@_rows_of.register
def _(relation: UnitJoin) -> int:
    left, right = _rows_of(relation.child), _rows_of(relation.other)
    return _few(relation, left * max(min(right, 1) if relation.once else right, 1))


@_rows_of.register
def _(relation: PerUnit) -> int:
    return min(_rows_of(relation.child), prod(node.high - node.low + 1 + node.nullable for _, node in relation.keys))


@_rows_of.register
def _(relation: Union) -> int:
    return _few(relation, sum(_rows_of(part) for part, _ in relation.parts))


def _few(relation: Relation, rows: int) -> int:
    if rows > min(table.most_joined_rows for table in tables_of(relation)):
        raise TooMuchWork("the question was refused before", remedy="ask it as it is now")
    return rows


def _copies(relation: Relation, source: int) -> int | None:
    match relation:
        case PerUnit() | Union():
            return 1 if relation.source == source else None
        case Where() | Semi():
            return _copies(relation.child, source)
        case Join():
            inside = _copies(relation.child, source)
            return None if inside is None else inside * relation.fan_out
        case UnitJoin():
            left, right = _copies(relation.child, source), _copies(relation.other, source)
            if left is not None:
                return left * (1 if relation.once else max(1, _rows_of(relation.other)))
            return None if right is None else right * _rows_of(relation.child)
        case _:
            return None


def _limited(group: Group) -> Group:
    """The limit of the first table, if nothing that is joined to it adds a row."""
    step: Relation = group.child
    while isinstance(step, Join | UnitJoin | Semi | Where):
        if isinstance(step, UnitJoin) and not step.once and not _has_one_row(step.other):
            return group
        step = step.child
    if not group.keys or not isinstance(step, Bound) or step.child.table.rows_per_group >= step.child.table.max_rows:
        return group
    return replace(group, per_group=step.child.table.max_rows_per_group)


def _has_one_row(relation: Relation) -> bool:
    while isinstance(relation, Where):
        relation = relation.child
    return isinstance(relation, Bound) and relation.max_rows == 1
