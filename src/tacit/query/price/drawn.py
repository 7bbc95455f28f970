"""The plan as a tree, with the most rows that one unit has at each step."""

from __future__ import annotations

from tacit.query.groups import size
from tacit.query.plan import (
    Bound,
    Column,
    Join,
    PerUnit,
    PublicScan,
    Question,
    Relation,
    Row,
    Scan,
    Semi,
    TextColumn,
    Union,
    UnitJoin,
)
from tacit.query.price.stability import is_private, rows_of
from tacit.query.size_limit import children, nodes_of


def tree(question: Question) -> list[str]:
    """The lines of the tree, from the groups down to the tables."""
    group = question.group
    keys = ", ".join(f"{key.name} ({'private' if isinstance(key.term.node, TextColumn) else size(key)})" for key in group.keys)
    return [f"group by {keys}" if keys else "all rows together", *_drawn(group.child, 1)]


def _drawn(relation: Relation, depth: int) -> list[str]:
    """A step and those below it, each with the most rows that one unit has there."""
    if isinstance(relation, Scan | PublicScan):
        return [f"{'  ' * depth}scan {relation.table.name}"]
    has = f": at most {rows_text(rows_of(relation))} per unit" if is_private(relation) and not isinstance(relation, Bound) else ""
    inner = [line for child in children(relation) for line in _drawn(child, depth + 1)]
    return [f"{'  ' * depth}{_step(relation)}{has}", *inner]


def _step(relation: Relation) -> str:
    match relation:
        case Bound():
            return f"keep at most {rows_text(relation.max_rows)} per unit"
        case Join():
            return f"{relation.kind} join {relation.table.name}, at most {_matches(relation.fan_out)} per row"
        case UnitJoin():
            on = "the unit and a key" if relation.pairs else "the unit"
            return f"{relation.kind} join on {on}" + (", at most 1 match per row" if relation.once else "")
        case Semi():
            where = "of the same unit" if is_private(relation.other) else "in a public table"
            return f"rows {'without' if relation.negated else 'with'} a match {where}"
        case PerUnit():
            return " and ".join(["one row per unit", *(words_of(node) for _, node in relation.keys)])
        case Union():
            return "union all"
        case _:
            return "where"


def _matches(count: int) -> str:
    return f"{count} match" if count == 1 else f"{count} matches"


def words_of(node: Row) -> str:
    """A column by its name, and an expression by the columns in it."""
    if isinstance(node, Column):
        return node.name.removeprefix("tacit_code ")
    named = dict.fromkeys(each.name for each in nodes_of(node) if isinstance(each, Column))
    return f"an expression of {', '.join(named)}" if named else "an expression"


def rows_text(count: int) -> str:
    """A number of rows in words."""
    return f"{count} row" if count == 1 else f"{count} rows"
