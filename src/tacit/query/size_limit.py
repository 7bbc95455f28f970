"""The parts of a plan: the nodes in a node, the steps below a step, and how large all of them are when they are written out.

ABS(x) uses x three times, so ABS(ABS(ABS(...))) grows threefold with each step while the plan, which shares its parts, stays small.
Without a limit, a short query would keep the planner or the engine busy forever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction

from tacit.errors import RangeTooLarge
from tacit.query.plan import (
    Condition,
    Group,
    Join,
    Logarithm,
    PerUnit,
    PublicScan,
    Ratio,
    Relation,
    Row,
    Scan,
    Semi,
    TextColumn,
    TextLike,
    Union,
    UnitJoin,
    Where,
)

_FIELDS: dict[type, Sequence[str] | None] = {}
_COMPARED: dict[type, Sequence[str] | None] = {}


def fields_of(value: object) -> Sequence[str] | None:
    """The names of the fields of an instance of a dataclass; None for any other value.

    >>> from tacit.query.price.request import Request
    >>> fields_of(Request())[:2], fields_of(Request), fields_of("a text")
    (('epsilon', 'delta'), None, None)
    """
    kind = type(value)
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
    return _FIELDS[kind]


def compared_of(value: object) -> Sequence[str] | None:
    """The same without the fields that do not make two values differ."""
    kind = type(value)
    if kind not in _COMPARED:
        _COMPARED[kind] = tuple(field.name for field in fields(kind) if field.compare) if is_dataclass(kind) else None
    return _COMPARED[kind]


# --- how large an expression is for an engine, where a part that is used twice is written twice ------------------------------


MOST_PARTS = 10_000
SLOW_PATTERN = 10  # parts for each character of a pattern with _: an engine's time grows with its length times that of the text
DEEPEST = 250
SERIES = 250  # parts of a logarithm beside its argument: roots, and the products of its series
USES = {Logarithm: 16, Ratio: 8}  # of an argument: in a series, or where a NULL is kept apart and the result clipped (compile.py)
Node = Row | Condition | TextColumn
_LEAVES = frozenset({int, str, bool, float, Fraction, type(None)})  # what a node holds besides nodes and lists


@dataclass(frozen=True, slots=True)
class Extent:
    """Adds up the size of what is written out. A measured part is remembered by identity, not by content."""

    measured: dict[int, tuple[Node, int, int]] = field(default_factory=dict, repr=False)

    def check(self, *nodes: Node) -> None:
        """Raises if the expressions are too large together, or if one is too deep."""
        sizes = [self._of(node) for node in nodes]
        if sum(parts for parts, _ in sizes) > MOST_PARTS or any(depth > DEEPEST for _, depth in sizes):
            raise RangeTooLarge("the expressions are too large", remedy="ask for less at once")

    def parts(self, *nodes: Node) -> int:
        """How many parts the expressions have together."""
        return sum(self._of(node)[0] for node in nodes)

    def _of(self, node: Node) -> tuple[int, int]:
        """How many parts, and how deep."""
        known = self.measured.get(id(node))
        if known is None:
            inner = [self._of(part) for part in parts_of(node)]
            parts, depth = 1 + _listed(node), 1
            if inner:
                parts += written_out(node) * sum(size for size, _ in inner)
                depth += max(deep for _, deep in inner)
            known = self.measured[id(node)] = (node, parts, depth)
        return known[1:]


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


def written_out(node: object) -> int:
    """How often what a node holds is written out for it: a logarithm is a series, and uses its argument again and again."""
    return USES.get(type(node), 1)


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


def _listed(node: Node) -> int:
    """Constants in lists are short: sixteen count as one."""
    if isinstance(node, TextLike) and "_" in node.pattern:
        return SLOW_PATTERN * len(node.pattern)
    parts = SERIES if isinstance(node, Logarithm) else 0
    for name in node.__slots__:
        value = getattr(node, name)
        if isinstance(value, tuple):
            parts += len(value) // 16
    return parts
