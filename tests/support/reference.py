"""What a plan means, written again in plain Python: rows, conditions with three truths, relations and moments, by brute force."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from tacit.query.plan import (
    Add,
    All,
    Among,
    Bound,
    Choose,
    Column,
    Compare,
    Either,
    Group,
    IsNull,
    Join,
    Literal,
    Logarithm,
    Lookup,
    Moment,
    Multiply,
    Negation,
    Quotient,
    Ratio,
    Root,
    TextColumn,
    TextIs,
    TextLike,
    Truth,
    Where,
)

Row = Mapping[str, Any]  # a row as it is stored: "0.age" for the private table, "1.site" for the first joined one
Tables = Mapping[str, Sequence[Mapping[str, Any]]]


def value(node: Any, row: Row) -> int | None:
    """The integer of a row expression; it must lie in the range that the plan states, and be NULL only where it says so."""
    found = _value(node, row)
    if found is None:
        assert node.nullable, node
    else:
        assert node.low <= found <= node.high, (node, found)
    return found


def _value(node: Any, row: Row) -> int | None:
    match node:
        case Literal():
            return node.value
        case Column():
            stored = row[f"{node.source}.{node.name}"]
            return None if stored is None else stored + node.low
        case Add() | Multiply():
            left, right = value(node.left, row), value(node.right, row)
            if left is None or right is None:
                return None
            return left + right if isinstance(node, Add) else left * right
        case Quotient():
            child = value(node.child, row)
            return None if child is None else child // node.divisor
        case Ratio():
            above, below = value(node.above, row), value(node.below, row)
            if above is None or not below:
                return None
            return min(max(math.floor(float(above * node.times) / float(below)), node.low), node.high)
        case Choose():
            for condition, result in node.branches:
                if truth(condition, row):
                    return value(result, row)
            return value(node.otherwise, row)
        case Root():
            child = value(node.child, row)
            return None if child is None else math.isqrt(child)
        case Logarithm():
            child = value(node.child, row)
            return None if child is None else floor_log(child * node.step, node.base, node.unit)
        case Lookup():
            child = value(node.child, row)
            return None if child is None else node.table[child]
    raise AssertionError(f"no meaning for {node}")


def floor_log(x: Fraction, base: str, unit: Fraction) -> int:
    """floor(log x / unit) by sixty digits; powers of ten, which are borders themselves, by their digits."""
    with localcontext(prec=60):
        of_x = Decimal(x.numerator).ln() - Decimal(x.denominator).ln()
        steps = of_x / (Decimal(10).ln() if base == "10" else 1) * unit.denominator / unit.numerator
        nearest = steps.to_integral_value()
        return int(nearest) if abs(steps - nearest) < Decimal("1e-45") else math.floor(steps)


def truth(condition: Any, row: Row) -> bool | None:
    """Whether a condition holds; None where it is unknown."""
    match condition:
        case Compare():
            left, right = value(condition.left, row), value(condition.right, row)
            if left is None or right is None:
                return None
            return {"<": left < right, "<=": left <= right, "=": left == right}[condition.operator]
        case Among():
            child = value(condition.child, row)
            return None if child is None else child in condition.values
        case IsNull():
            return (text(condition.child, row) if isinstance(condition.child, TextColumn) else value(condition.child, row)) is None
        case All():
            return _all([truth(part, row) for part in condition.parts])
        case Either():
            return _not(_all([_not(truth(part, row)) for part in condition.parts]))
        case Negation():
            return _not(truth(condition.part, row))
        case Truth():
            return condition.value
        case TextIs():
            found = text(condition.child, row)
            return None if found is None else found in condition.texts
        case TextLike():
            found = text(condition.child, row)
            return None if found is None else like(found, condition.pattern)
    raise AssertionError(f"no meaning for {condition}")


def text(node: TextColumn, row: Row) -> str | None:
    found = row[f"{node.source}.{node.name}"]
    assert found is not None or node.nullable
    return found


def like(text: str, pattern: str) -> bool:
    """LIKE through a regular expression."""
    parts = {"%": ".*", "_": "."}
    return re.fullmatch("".join(parts.get(symbol, re.escape(symbol)) for symbol in pattern), text, re.DOTALL) is not None


def _all(parts: list[bool | None]) -> bool | None:
    return False if False in parts else None if None in parts else True


def _not(held: bool | None) -> bool | None:
    return None if held is None else not held


# --- relations and moments ---------------------------------------------------------------------------------------------------


def rows(relation: Any, tables: Tables) -> list[dict[str, Any]]:
    """The rows of a relation, each with its "unit" and its "order" among the unit's."""
    match relation:
        case Bound():
            stored = tables[relation.child.table.name]
            return [_named(row) for row in stored if row["tacit_rank"] < relation.max_rows]
        case Join():
            return [joined for row in rows(relation.child, tables) for joined in _joined(relation, row, tables)]
        case Where():
            return [row for row in rows(relation.child, tables) if truth(relation.condition, row)]
    raise AssertionError(f"no meaning for {relation}")


def _named(row: Mapping[str, Any]) -> dict[str, Any]:
    own = {f"0.{name}": stored for name, stored in row.items() if not name.startswith("tacit_")}
    return {**own, "unit": row["tacit_unit"], "order": (row["tacit_rank"],)}


def _joined(join: Join, row: Row, tables: Tables) -> Iterator[dict[str, Any]]:
    source, wanted = _depth(join), value(join.left, row)
    matching = [other for other in tables[join.table.name] if wanted is not None and other[join.right] == wanted]
    assert len(matching) <= join.fan_out
    missing = [dict.fromkeys(tables[join.table.name][0])] if join.kind == "left" and not matching else []
    for other in [*matching, *missing]:
        own = {f"{source}.{name}": stored for name, stored in other.items()}
        yield {**row, **own, "order": (*row["order"], *((stored is None, stored or 0) for stored in other.values()))}


def _depth(relation: Any) -> int:
    return 1 + _depth(relation.child) if isinstance(relation, Join) else 0


def groups(group: Group, tables: Tables) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """The rows of every group that has some, with the limit of a unit's rows in one group."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in sorted(rows(group.child, tables), key=lambda row: (row["unit"], row["order"])):
        key = tuple(_key(part.term.node, row) for part in group.keys)
        members = found.setdefault(key, [])
        if group.per_group is None or sum(member["unit"] == row["unit"] for member in members) < group.per_group:
            members.append(row)
    return found


def _key(node: Any, row: Row) -> Any:
    return text(node, row) if isinstance(node, TextColumn) else value(node, row)


def moment(asked: Moment, members: Sequence[Row]) -> Any:
    """One exact integer of a group (for a list: how many rows have each value, from its low end), from its definition."""
    if asked.kind == "units":
        return len({row["unit"] for row in members})
    if asked.text is not None:
        return len({found for row in members if (found := text(asked.text, row)) is not None})
    if asked.value is None:
        return len(members)
    known = [found for row in members if (found := value(asked.value, row)) is not None]
    low, high = asked.value.low, asked.value.high
    match asked.kind:
        case "rows":
            return len(known)
        case "products":
            assert asked.other is not None
            ends = asked.other.low + asked.other.high
            pairs = [(value(asked.value, row), value(asked.other, row)) for row in members]
            assert all((one is None) == (other is None) for one, other in pairs)
            return sum((2 * one - (low + high)) * (2 * other - ends) for one, other in pairs if one is not None)
        case "distinct":
            return len(set(known))
        case "sum":
            return sum(known)
        case "centred":
            return sum(2 * found - (low + high) for found in known)
        case "squares":
            return sum(2 * (2 * found - (low + high)) ** 2 - (high - low) ** 2 for found in known)
    return {found - low: known.count(found) for found in sorted(set(known))}
