"""Row expressions as engines are given them: parts with a name, and trees of comparisons as lists.

A quotient of two columns writes its divisor twice and is itself written three times, where it is clipped; a logarithm writes its
argument fourteen times. Written out, `cost / LOG10(GREATEST(cost, 1))` was 816,000 characters. Here every part that is used again,
and is longer than a name, becomes a column of a query below, parts before those that are made of them. It is decided by the plan
alone, so that the number of characters is known before anything is paid for (planning.py); engines/rows.py writes the parts that
are named here, on every engine.

Stairs are a tree of comparisons of one row with constants, as the calendar has them, read back as borders and values. An engine
that runs columns of rows by the thousand visits every branch of such a tree for each of them: the quarters of 125 years take more
than a microsecond for a row. In lists with an index, by a bucket of rows in which at most one border lies, it is three lookups.
Compiled (engines/rows.py) and priced (planning.py) by the same function.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tacit.query.plan import (
    Add,
    All,
    Among,
    Choose,
    Code,
    Column,
    Compare,
    Condition,
    Either,
    IsNull,
    Literal,
    Logarithm,
    Lookup,
    Multiply,
    Negation,
    Quotient,
    Ratio,
    Root,
    Row,
    TextColumn,
    TextIs,
    TextLike,
    Truth,
)
from tacit.query.trees import parts_of

# --- stairs: comparisons of one row with constants, as borders and values ----------------------------------------------------


FEWEST = 8  # borders: a smaller tree is as fast
SPARSEST = 8  # buckets for each border: borders that are crowded in one place stay a tree


@dataclass(frozen=True, slots=True)
class Stairs:
    """A row, the borders at which its value changes, in order, and the values between them: one more than borders.

    >>> Stairs(Literal(0), (10, 20, 31), (1, 2, 3, 4)).buckets(0, 40)
    Buckets(power=3, first=(1, 1, 2, 3, 4, 4), then=(1, 2, 3, 4, 4, 4), borders=(8, 10, 20, 31, 40, 48))
    """

    row: Row
    borders: tuple[int, ...]
    values: tuple[int | None, ...]

    @property
    def low(self) -> int:
        return min((value for value in self.values if value is not None), default=0)

    @property
    def high(self) -> int:
        return max((value for value in self.values if value is not None), default=0)

    @property
    def nullable(self) -> bool:
        return self.row.nullable or None in self.values

    def buckets(self, low: int, high: int) -> Buckets:
        """For each bucket of the range, the value up to its border, the one from there on, and the border, less `low`."""
        power = self._power(low, high)
        starts = range(low, high + 1, 2**power)
        before = [bisect_left(self.borders, start) for start in starts]
        inside = [at < len(self.borders) and self.borders[at] < start + 2**power for at, start in zip(before, starts, strict=True)]
        places = list(zip(before, inside, starts, strict=True))
        borders = tuple(self.borders[at] - low if has else start + 2**power - low for at, has, start in places)
        return Buckets(
            power, tuple(self.values[at] for at in before), tuple(self.values[at + has] for at, has, _ in places), borders
        )

    def count(self, low: int, high: int) -> int:
        """How many buckets there are."""
        return ((high - low) >> self._power(low, high)) + 1

    def _power(self, low: int, high: int) -> int:
        """A bucket is the largest power of two that is at most the distance of two borders."""
        return min((right - left for left, right in pairwise(self.borders)), default=high - low + 1).bit_length() - 1


@dataclass(frozen=True, slots=True)
class Buckets:
    """2^power numbers each: the value of those below the border, and of the others."""

    power: int
    first: tuple[int | None, ...]
    then: tuple[int | None, ...]
    borders: tuple[int, ...]


def stairs(node: object) -> Stairs | None:
    """The stairs that a tree is, if its borders are many and even enough for lists to be faster; None for any other node."""
    if not isinstance(node, Choose) or (row := _compared_row(node)) is None:
        return None
    read = _read(node, row)
    if read is None or len(read[0]) < FEWEST or any(left >= right for left, right in pairwise(read[0])):
        return None
    whole = Stairs(row, *read)
    return whole if whole.count(row.low, row.high) <= SPARSEST * len(whole.borders) else None


def _read(node: Row, row: Row) -> tuple[tuple[int, ...], tuple[int | None, ...]] | None:
    """Borders and values of a tree whose every branch compares `row`."""
    if isinstance(node, Literal):
        return (), (node.value,)
    if not isinstance(node, Choose) or _compared_row(node) != row:
        return None
    (test, lower), (_, upper) = node.branches
    one, other = _read(lower, row), _read(upper, row)
    if one is None or other is None or not isinstance(test, Compare) or not isinstance(test.right, Literal):
        return None
    assert test.right.value is not None  # noqa: S101  # by _compared_row
    return (*one[0], test.right.value, *other[0]), (*one[1], *other[1])


def _compared_row(node: Choose) -> Row | None:
    """The row of CASE WHEN row < border THEN ... WHEN border <= row THEN ... END; None for any other choice."""
    match node:
        case Choose(
            branches=(
                (Compare(operator="<", left=row, right=Literal(value=border)), _),
                (Compare(operator="<=", left=Literal(value=again), right=same), _),
            ),
            otherwise=Literal(value=None),
        ) if border is not None and border == again and row == same:
            return row
    return None


# --- parts that get a name ---------------------------------------------------------------------------------------------------


LONGEST_BRANCHES = 32  # images of a lookup that is written as a CASE
SMALL = 2_000  # characters of expressions that are written as they are
WORTH = 80  # characters of a part for which a name is shorter
NAMED = 32  # of the name of a part, with its table
NAME = "tacit_part_"  # no column of a catalog begins with tacit_
WHOLE, DOUBLE = 28, 44  # of a constant beside its digits, and of a double
LIST = 400  # of a list beside its numbers and its place


# --- what an engine computes in several steps ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """A part that has a name: a column of the query below."""

    name: str
    low: int = 0
    high: int = 0
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Divided:
    """floor(above times / below), NULL where below is 0."""

    above: Row
    below: Row
    times: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Clipped:
    """A value that rounding may have moved beyond an end of its range."""

    child: Any
    low: int
    high: int
    nullable: bool


@dataclass(frozen=True, slots=True)
class Tangent:
    """(u - 1) / (u + 1), with u the 2^10-th root of the child."""

    child: Row


@dataclass(frozen=True, slots=True)
class Steps:
    """The logarithm of the child in units, by the series of twice artanh of its tangent; floored."""

    tangent: Any
    child: Row
    base: str
    step: Fraction
    unit: Fraction
    up: tuple[int, ...]
    down: tuple[int, ...]


Node = Row | Condition | TextColumn | Part | Divided | Clipped | Tangent | Steps | Stairs


def in_steps(node: Any) -> Any:
    """A node as the engine computes it: a quotient is divided and clipped, a logarithm has a series, a calendar has stairs."""
    if isinstance(node, Ratio):
        divided = Divided(node.above, node.below, node.times, node.low, node.high)
        return Clipped(divided, node.low, node.high, node.nullable)
    if isinstance(node, Logarithm):
        steps = Steps(Tangent(node.child), node.child, node.base, node.step, node.unit, node.up, node.down)
        return Clipped(steps, node.low, node.high, node.nullable)
    return stairs(node) or node


def in_list(node: object) -> bool:
    """Whether a node is looked up in a list: by its code, or as stairs."""
    return len(node.table) > LONGEST_BRANCHES if isinstance(node, Lookup) else isinstance(in_steps(node), Stairs)


# --- characters ----------------------------------------------------------------------------------------------------------------


def _digits(*numbers: int | None) -> int:
    return max((4 if number is None else len(str(number)) for number in numbers), default=0)


def _constants(count: int, digits: int) -> int:
    return count * (digits + 2)


def quoted_length(name: str) -> int:
    """The characters of a name in quotes, which are doubled inside it."""
    return len(name) + name.count('"') + name.count("`")


def _column(node: Any) -> int:
    return 18 + quoted_length(node.name) + (WHOLE + _digits(node.low) + 5 if getattr(node, "low", 0) else 0)


def _images(node: Lookup) -> int:
    return len(set(node.table))


def _in_lists(node: Any) -> int:
    """The characters of the list of a long table, and of the three lists of stairs."""
    if isinstance(node, Stairs):
        digits = _digits(*node.values, node.row.high - node.row.low)
        return 3 * _constants(node.count(node.row.low, node.row.high), digits)
    return _constants(len(node.table), _digits(node.low, node.high)) if in_list(node) else 0


def _looked_up(node: Lookup) -> int:
    """A long table is one list; of a short one each image is a branch, with the codes that have it."""
    if listed := _in_lists(node):
        return LIST + listed
    return 40 + _images(node) * (24 + WHOLE + _digits(node.low, node.high)) + _constants(len(node.table), 2)


OWN: Mapping[type, Callable[[Any], int]] = {
    Part: lambda node: NAMED,
    Column: _column,
    Code: _column,
    TextColumn: _column,
    Literal: lambda node: WHOLE + _digits(node.value),
    Add: lambda node: 8,
    Multiply: lambda node: 8,
    Quotient: lambda node: 80 + 3 * (WHOLE + _digits(node.divisor, node.child.low)),
    Divided: lambda node: 220 + WHOLE + _digits(node.times),
    Clipped: lambda node: 60 + 4 * (WHOLE + _digits(node.low, node.high)),
    Choose: lambda node: 20 + 24 * len(node.branches),
    Lookup: _looked_up,
    Stairs: lambda node: 3 * LIST + 8 * (WHOLE + _digits(node.row.low)) + _in_lists(node),
    Root: lambda node: 60,
    Tangent: lambda node: 300 + 2 * DOUBLE,
    Steps: lambda node: 300 + 9 * DOUBLE + _constants(len(node.up) + len(node.down), _digits(*node.up, *node.down)),
    Compare: lambda node: 10,
    Among: lambda node: 12 + _constants(len(node.values), _digits(*node.values)),
    IsNull: lambda node: 14,
    All: lambda node: 12 * len(node.parts),
    Either: lambda node: 12 * len(node.parts),
    Negation: lambda node: 10,
    Truth: lambda node: 24,
    TextIs: lambda node: 12 + sum(2 * len(text) + 4 for text in node.texts),
    TextLike: lambda node: 60 + 12 * len(node.pattern),
}
"""The most characters of a node beside those of what it is made of, on every engine; parentheses around it included."""


def uses_of(node: Any) -> tuple[int, ...]:
    """How often each part directly inside a node is written for it (compile.py)."""
    match node:
        case Divided():
            return (1, 2)
        case Clipped():
            return (3,)
        case Tangent():
            return (2,)
        case Steps():
            return (7, 2)
        case Lookup() if in_list(node):
            return (3,)
        case Stairs():
            return (8,)
        case Lookup():
            return (max(1, _images(node)),)
        case _:
            return tuple(1 for _ in parts_of(node))


INSIDE: Mapping[type, tuple[str, ...]] = {
    Add: ("left", "right"),
    Multiply: ("left", "right"),
    Quotient: ("child",),
    Divided: ("above", "below"),
    Clipped: ("child",),
    Choose: ("branches", "otherwise"),
    Lookup: ("child",),
    Stairs: ("row",),
    Root: ("child",),
    Tangent: ("child",),
    Steps: ("tangent", "child"),
    Compare: ("left", "right"),
    Among: ("child",),
    IsNull: ("child",),
    All: ("parts",),
    Either: ("parts",),
    Negation: ("part",),
    TextIs: ("child",),
    TextLike: ("child",),
}
"""The fields that hold nodes, in the order of `parts_of`."""


# --- names ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Level:
    """A query that gives names to parts, and passes on those of earlier levels that are still needed."""

    parts: tuple[tuple[str, Any], ...]
    kept: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """Expressions with names in them, and the levels that give the names, the lowest first.

    `characters` has those of all parts and expressions, and of the names that levels pass on; those in lists of lookups are also
    in `listed`.
    """

    nodes: tuple[Any, ...]
    levels: tuple[Level, ...]
    characters: int
    listed: int = 0


def named(nodes: Sequence[Any], mark: str = "") -> Named:
    """Expressions in which each part that is used again, and is worth it, has a name; unchanged if they are small.

    A node that is given twice is used twice. Names begin with `mark`, so that those of both sides of a join differ.
    """
    parts = _Parts()
    roots = [parts.number(node) for node in nodes]
    written = sum(parts.written[root] for root in roots)
    if written <= SMALL:
        return Named(tuple(nodes), (), written)
    return parts.with_names(roots, mark)


@dataclass(slots=True)
class _Parts:
    """The distinct parts of expressions by number, children first: a part of the same form has the same number."""

    nodes: list[Any] = field(default_factory=list)
    inside: list[list[tuple[int, int]]] = field(default_factory=list)  # number and uses
    written: list[int] = field(default_factory=list)  # characters where nothing has a name
    _forms: dict[Any, int] = field(default_factory=dict)
    _read: dict[int, tuple[Any, int]] = field(default_factory=dict)

    def number(self, given: Any) -> int:
        """The number of a node; each object is read once."""
        if (known := self._read.get(id(given))) is not None:
            return known[1]
        node = in_steps(given)
        inside = [self.number(part) for part in parts_of(node)]
        number = self._forms.setdefault(_form(node, inside), len(self.nodes))
        if number == len(self.nodes):
            uses = uses_of(node)
            self.nodes.append(node)
            self.inside.append(list(zip(inside, uses, strict=True)))
            self.written.append(OWN[type(node)](node) + sum(use * self.written[part] for part, use in self.inside[number]))
        self._read[id(given)] = (given, number)  # which keeps it, so that no other has its id
        return number

    def with_names(self, roots: Sequence[int], mark: str) -> Named:
        """The expressions of these numbers, with names."""
        uses = self._uses(roots)
        names, level, made = dict[int, Part](), list[int](), list[Any]()
        inline: list[int] = []  # characters where named parts are names
        for number, node in enumerate(self.nodes):
            inside = self.inside[number]
            inline.append(OWN[type(node)](node) + sum(use * (NAMED if part in names else inline[part]) for part, use in inside))
            made.append(_replace(node, iter([names.get(part, made[part]) for part, _ in inside])))
            level.append(max((level[part] + (part in names) for part, _ in inside), default=0))
            if uses[number] > 1 and inline[number] > WORTH and inside:
                names[number] = _part(f"{NAME}{mark}{len(names)}", node)
        levels = self._levels(names, level, made, roots)
        characters = sum(inline[number] + NAMED for number in names) + NAMED * sum(len(each.kept) for each in levels)
        characters += sum(NAMED if root in names else inline[root] for root in roots)
        listed = sum(_in_lists(node) for node in self.nodes if isinstance(node, Lookup | Stairs))
        return Named(tuple(names.get(root, made[root]) for root in roots), tuple(levels), characters, listed)

    def _uses(self, roots: Sequence[int]) -> list[int]:
        uses = [0] * len(self.nodes)
        for part, use in [*((root, 1) for root in roots), *(each for inside in self.inside for each in inside)]:
            uses[part] += use
        return uses

    def _levels(self, names: Mapping[int, Part], level: Sequence[int], made: Sequence[Any], roots: Sequence[int]) -> list[Level]:
        """The named parts by level; each is passed on up to the last level below one that reads it."""
        most = 1 + max((level[number] for number in names), default=-1)
        read = [0] * len(self.nodes)  # the last level that reads a part
        for root in roots:
            read[root] = most
        for number in reversed(range(len(self.nodes))):
            by = level[number] if number in names else read[number]
            for part, _ in self.inside[number]:
                read[part] = max(read[part], by)
        parts: list[list[tuple[str, Any]]] = [[] for _ in range(most)]
        kept: list[list[str]] = [[] for _ in range(most)]
        for number, named_part in names.items():
            parts[level[number]].append((named_part.name, made[number]))
            for later in range(level[number] + 1, read[number]):
                kept[later].append(named_part.name)
        return [Level(tuple(new), tuple(old)) for new, old in zip(parts, kept, strict=True)]


def _part(name: str, node: Any) -> Part:
    """A name for a node; a condition and a double have no range."""
    return Part(name, getattr(node, "low", 0), getattr(node, "high", 0), getattr(node, "nullable", True))


def _form(node: Any, inside: Sequence[int]) -> tuple[Any, ...]:
    """The identity of a node: its type, the numbers of its parts, and all else that it holds."""
    nodes = INSIDE.get(type(node), ())
    return (type(node), tuple(inside), *(getattr(node, name) for name in node.__slots__ if name not in nodes))


def _replace(node: Any, parts: Iterator[Any]) -> Any:
    """A node with other parts in it, in the order of `parts_of`."""
    changed = {name: _fill(getattr(node, name), parts) for name in INSIDE.get(type(node), ())}
    return replace(node, **changed) if changed else node


def _fill(value: Any, parts: Iterator[Any]) -> Any:
    return tuple(_fill(each, parts) for each in value) if isinstance(value, tuple) else next(parts)
