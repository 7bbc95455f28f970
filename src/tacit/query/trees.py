"""Frozen values as trees: their fields, the nodes in a node, the steps below a step of a plan, and the one text of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from itertools import chain, count
from typing import Any

from tacit.privacy.catalog import Table
from tacit.query.plan import (
    Condition,
    Group,
    Join,
    PerUnit,
    PublicScan,
    Relation,
    Row,
    Scan,
    Semi,
    TextColumn,
    Union,
    UnitJoin,
    Where,
)


def each_once(names: Sequence[str]) -> list[str]:
    """Names of columns, a second one of the same name with its number.

    >>> each_once(["ward", "ward", "kind"])
    ['ward', 'ward_2', 'kind']
    """
    found: list[str] = []
    for wanted in names:
        found.append(next(name for name in chain([wanted], (f"{wanted}_{at}" for at in count(2))) if name not in found))
    return found


_FIELDS: dict[type, Sequence[str] | None] = {}
_COMPARED: dict[type, tuple[Sequence[str], Mapping[str, Any]] | None] = {}


def fields_of(value: object) -> Sequence[str] | None:
    """The names of the fields of an instance of a dataclass; None for any other value.

    >>> from tacit.query.price.quote import Request
    >>> fields_of(Request())[:2], fields_of(Request), fields_of("a text")
    (('epsilon', 'delta'), None, None)
    """
    kind = type(value)
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
    return _FIELDS[kind]


# --- the nodes of an expression, and the expressions and steps of a plan -----------------------------------------------------


Node = Row | Condition | TextColumn
_LEAVES = frozenset({int, str, bool, float, Fraction, type(None)})  # a node also holds these, besides nodes and lists


def parts_of(node: object) -> Iterator[Node]:
    """The nodes directly inside a node."""
    values = node if isinstance(node, tuple) else (getattr(node, name) for name in node.__slots__)  # type: ignore[attr-defined]
    for value in values:
        if type(value) in _LEAVES:
            continue
        if fields_of(value) is not None:
            yield value  # only nodes are held by nodes
        elif isinstance(value, tuple) and value and not isinstance(value[0], int | str):
            yield from parts_of(value)


def nodes_of(node: Node) -> Iterator[Node]:
    """A node and everything inside it, each once."""
    seen: dict[int, Node] = {}
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            waiting.extend(parts_of(one))
    yield from seen.values()


def expressions_of(relation: Relation) -> Iterator[Node]:
    """Every expression that a plan computes for rows."""
    for step in below(relation):
        match step:
            case Group():
                yield from (key.term.node for key in step.keys)
                yield from dict.fromkeys(node for moment in step.moments for node in moment.parts)
            case Where():
                yield step.condition
            case Join():
                yield step.left
                if step.condition is not None:
                    yield step.condition
            case UnitJoin() | Semi():
                yield from (node for pair in step.pairs for node in pair)
            case PerUnit():
                yield from (node for _, node in step.keys)
                yield from (total.value for total in step.totals if total.value is not None)
            case Union():
                yield from (node for _, values in step.parts for node in values)


def below(relation: Relation) -> Iterator[Relation]:
    """A step of a plan and all those below it, from the top down."""
    yield relation
    for child in children(relation):
        yield from below(child)


def children(relation: Relation) -> tuple[Relation, ...]:
    """The relations directly below a step of a plan, in order."""
    match relation:
        case Scan() | PublicScan():
            return ()
        case UnitJoin() | Semi():
            return (relation.child, relation.other)
        case Union():
            return tuple(part for part, _ in relation.parts)
        case _:
            return (relation.child,)


# --- one text for two values that mean the same: names of outputs, lines and paths are not part of it ------------------------


OF_A_TABLE = ("name", "max_rows", "max_rows_per_group", "min_people")  # a plan reads these; the data has a version


def canonical_text(value: Any) -> str:
    """A value of frozen parts as text: types and fields by name, numbers exact.

    >>> canonical_text((1, Fraction(1, 3), "a, b", None))
    "(1, 1/3, 'a, b', None)"
    """
    if isinstance(value, Table):
        return f"Table({', '.join(f'{name}={canonical_text(getattr(value, name))}' for name in OF_A_TABLE)})"
    if (compared := _compared_fields(type(value))) is not None:
        names, unsaid = compared
        if unsaid:  # answers from before there were others stay the same
            names = [name for name in names if name not in unsaid or getattr(value, name) != unsaid[name]]
        parts = ", ".join(f"{name}={canonical_text(getattr(value, name))}" for name in names)
        return f"{type(value).__name__}({parts})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {canonical_text(value[key])}' for key in sorted(value))}}}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(canonical_text, value))})"
    return str(value) if isinstance(value, Fraction) else repr(value)


def _compared_fields(kind: type) -> tuple[Sequence[str], Mapping[str, Any]] | None:
    """The fields that make two values of a class differ, and the defaults of those that are left out where they have them."""
    if kind not in _COMPARED:
        compared = [field for field in fields(kind) if field.compare] if is_dataclass(kind) else None
        unsaid = {field.name: field.default for field in compared or () if field.metadata.get("unsaid")}
        _COMPARED[kind] = None if compared is None else (tuple(field.name for field in compared), unsaid)
    return _COMPARED[kind]
