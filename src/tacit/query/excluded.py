"""Groups that WHERE excludes by the catalog alone: values of a public key that no stored row can have under it are left out.

The stored values of the columns of a key are divided into boxes. In a box every expression lies between two ends, and a condition
can be true, false or unknown, by the declared ranges; a box in which WHERE cannot be true goes, and one that is not decided is
halved, down to single values. It errs to one side: a value stays unless no row can have it (excluded.md). No price needs that to be
right, since a row of a group that is not listed counts nowhere (stability.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import NeverTrue
from tacit.privacy.catalog import LARGEST
from tacit.query.named_parts import Stairs, stairs
from tacit.query.plan import (
    Add,
    All,
    Among,
    Choose,
    Column,
    Compare,
    Condition,
    Either,
    IsNull,
    Join,
    Key,
    Literal,
    Lookup,
    Multiply,
    Negation,
    PerUnit,
    Quotient,
    Relation,
    Row,
    Semi,
    TextColumn,
    TextIs,
    TextLike,
    Truth,
    UnitJoin,
    Where,
)
from tacit.query.question import Question, pause, private, size
from tacit.query.trees import Node, parts_of

MOST_STEPS = 10**7  # ends that are computed for a key in all parts: about a fifth of a second; beyond it, all groups stay
OVERHEAD = 500  # ends that cost as much as a step of numpy itself
AT_ONCE = 2**20  # ends that are held at a time
MOST_LISTED = 10**5  # values of a key that a plan lists one by one

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]
Made = dict[tuple[int, str], Row]
Ordered = dict[int, Node | Stairs]
Found = tuple[Numbers, Numbers, bool]


def excluded(question: Question) -> Question:
    """The query without the values of public keys that no row can have; raises if a key has none left."""
    if private(question):
        return question
    tests, made = _conditions_of(question.group.child)
    most = MOST_STEPS // (question.among * question.questions)  # the same in all parts, so that grouping sets agree on a key
    keys = tuple(_key_left(key, tests, made, most) for key in question.group.keys) if tests else question.group.keys
    return replace(question, group=replace(question.group, keys=keys))


def _conditions_of(relation: Relation) -> tuple[list[Condition], Made]:
    """The conditions that every row of a relation meets, and the keys of sub-queries, which are made of rows below."""
    match relation:
        case Where():
            tests, made = _conditions_of(relation.child)
            return [*conjuncts(relation.condition), *tests], made
        case PerUnit():
            tests, made = _conditions_of(relation.child)
            return tests, made | {(relation.source, name): row for name, row in relation.keys}
        case UnitJoin(kind="inner"):
            (tests, made), (others, more) = _conditions_of(relation.child), _conditions_of(relation.other)
            return tests + others, made | more
        case Join() | UnitJoin() | Semi():  # on the right of a left join a row may be missing, whatever it would meet
            return _conditions_of(relation.child)
        case _:
            return [], {}


def conjuncts(condition: Condition) -> Iterable[Condition]:
    """The parts that a condition demands, each by itself."""
    if not isinstance(condition, All):
        return [condition]
    return [each for part in condition.parts for each in conjuncts(part)]


def _key_left(key: Key, tests: Sequence[Condition], made: Made, most: int) -> Key:
    """The key with the values that a row can have if all tests are true; the key itself if that is all of them, or not found."""
    valued = _inside_first(key.term.node, made)
    own = _last_values(valued, made)
    tests = [test for test in tests if own.keys() & _last_values(_inside_first(test, made), made).keys()]
    if not tests:
        return key
    tested = _inside_first(All(tuple(tests)), made)
    stored = {name: last for name, last in _last_values(valued | tested, made).items() if name in own}
    values = _possible(stored, tested, valued, made, most)
    listed = None if values is None else _key_values(key, *values)
    if listed == ():
        raise NeverTrue(
            f"no row can meet the conditions: they exclude every value of {key.name[:60]}",
            remedy="compare with a value that can occur",
        )
    return key if listed is None or len(listed) == size(key) else replace(key, kept=listed)


_Name = tuple[int, str, int, int]


def _last_values(nodes: Ordered, made: Made) -> dict[_Name, int]:
    """The stored columns among some nodes, with their last value: NULL stands one above the largest number."""
    columns: dict[_Name, int] = {}
    for node in nodes.values():
        if isinstance(node, Column) and (node.source, node.name) not in made:
            columns[_name(node)] = max(columns.get(_name(node), node.high), node.high + node.nullable)
    return columns


def stored_in(node: Node, made: Made) -> set[tuple[int, str]]:
    """The stored columns that an expression is of, by source and name."""
    return {name[:2] for name in _last_values(_inside_first(node, made), made)}


def _name(column: Column) -> _Name:
    return column.source, column.name, column.low, column.high


def _inside_first(whole: Node, made: Made) -> Ordered:
    """A node and everything inside it, by identity, each once and after what it is made of; a calendar is stairs."""
    order: Ordered = {}
    waiting = [whole]
    while waiting:
        node = waiting[-1]
        computed = stairs(node) or node
        inside = [part for part in _made_of(computed, made) if id(part) not in order]
        waiting.extend(inside)
        if not inside:
            order[id(waiting.pop())] = computed
    return order


def _made_of(node: Node | Stairs, made: Made) -> Iterable[Node]:
    if isinstance(node, Column) and (node.source, node.name) in made:
        return [made[node.source, node.name]]
    return parts_of(node)


def _possible(stored: dict[_Name, int], tested: Ordered, valued: Ordered, made: Made, most: int) -> Found | None:
    """Ranges of numbers in which every possible value of a key lies, and whether it can be NULL; None beyond `most` steps."""
    lows = np.array([[low] for _, _, low, _ in stored], dtype=np.int64)
    highs = np.array([[last] for last in stored.values()], dtype=np.int64)
    nodes, null, steps = 2 * len(tested) + len(valued), False, 0
    ends: list[tuple[Numbers, Numbers]] = []
    while lows.size:
        pause()
        here = slice(max(1, AT_ONCE // nodes))
        now, rest = (lows[:, here], highs[:, here]), (lows[:, here.stop :], highs[:, here.stop :])
        steps += nodes * (now[0].shape[1] + OVERHEAD)
        if steps > most:
            return None
        alive = Boxes.over(stored, *now, made).last(tested).true
        low, high = now[0][:, alive], now[1][:, alive]
        value, at_corner = Boxes.over(stored, low, high, made).last(valued), Boxes.over(stored, low, low, made).last(tested).true
        single = ~value.known | ((value.low == value.high) & ~value.null)
        done = (low == high).all(axis=0) | (single & at_corner)
        null |= bool(value.null[done].any())
        ends.append((value.low[done & value.known], value.high[done & value.known]))
        halves = _halve(low[:, ~done], high[:, ~done])
        lows, highs = np.hstack([halves[0], rest[0]]), np.hstack([halves[1], rest[1]])
    return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends]), null


def _halve(lows: Numbers, highs: Numbers) -> tuple[Numbers, Numbers]:
    """Boxes cut in two across their longest side."""
    side = np.argmax(highs - lows, axis=0), np.arange(lows.shape[1])
    middle = (lows[side] + highs[side]) // 2
    below, above = highs.copy(), lows.copy()
    below[side], above[side] = middle, middle + 1
    return np.hstack([lows, above]), np.hstack([below, highs])


def _key_values(key: Key, lows: Numbers, highs: Numbers, null: bool) -> tuple[int | None, ...] | None:
    """The values of a key in some ranges, in order, NULL last; None if they are too many to be listed."""
    ranges = np.unique(np.stack([lows, highs]), axis=1)
    if int((ranges[1] - ranges[0]).sum()) + ranges.shape[1] > MOST_LISTED:
        return None
    values = np.unique([value for low, high in ranges.T.tolist() for value in range(low, high + 1)]).astype(np.int64)
    if key.term.points:
        values = values[np.isin(values, key.term.points)]
    return (*values.tolist(), None) if null and key.term.nullable else tuple(values.tolist())


def decided(condition: Condition, points: Mapping[tuple[int, str], Numbers]) -> Truths | None:
    """Where a condition is true for stored values of its columns, NULL one above the largest; None if they do not decide it.

    Every point is a box of one value for each column. A condition of other columns, or one that a box leaves open, is not decided.
    """
    ordered = _inside_first(condition, {})
    stored = _last_values(ordered, {})
    if not stored or any(name[:2] not in points for name in stored):
        return None
    at = np.stack([points[name[:2]] for name in stored])
    outcome: Outcome = Boxes.over(stored, at, at, {}).last(ordered)
    return None if (outcome.true & (outcome.false | outcome.unknown)).any() else outcome.true


# --- ends of expressions, in many boxes at once ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ends:
    """In each box: the ends of a number, whether it can be known, and whether it can be NULL."""

    low: Numbers
    high: Numbers
    known: Truths
    null: Truths


@dataclass(frozen=True, slots=True)
class Outcome:
    """In each box: whether a condition can be true, false, and unknown."""

    true: Truths
    false: Truths
    unknown: Truths


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of stored values, by column, and the ends of every node that has been computed over them."""

    size: int
    columns: dict[_Name, tuple[Numbers, Numbers]]
    made: Made
    found: dict[int, Any] = field(default_factory=dict)

    @classmethod
    def over(cls, stored: Iterable[_Name], lows: Numbers, highs: Numbers, made: Made) -> Boxes:
        """The boxes between corners, which have one line for each stored column."""
        return cls(lows.shape[1], dict(zip(stored, zip(lows, highs, strict=True), strict=True)), made)

    def last(self, nodes: Ordered) -> Any:
        """The ends of the last of some nodes; each comes after its own parts."""
        for place, node in nodes.items():
            ends = ends_of(node, self)
            self.found[place] = self._inside(node, ends) if isinstance(ends, Ends) else ends
        return ends

    def __getitem__(self, node: Any) -> Any:
        return self.found[id(node)]

    def all(self, value: Any) -> Any:
        """The same in every box."""
        return np.full(self.size, value)

    def anywhere(self, node: Any) -> Ends:
        """The declared range of a number."""
        return Ends(self.all(node.low), self.all(node.high), self.all(True), self.all(node.nullable))

    def _inside(self, node: Any, ends: Ends) -> Ends:
        """Ends within the range of a node, which may be known better than by its parts."""
        if isinstance(node, Column | TextColumn | Literal):
            return ends
        low, high = (np.clip(end, node.low, node.high) for end in (ends.low, ends.high))
        return Ends(low, high, ends.known, ends.null & node.nullable)


@singledispatch
def ends_of(node: Any, boxes: Boxes) -> Ends | Outcome:
    """The ends of a number, or the outcomes of a condition; of what is not computed here, the declared ones."""
    return boxes.anywhere(node)


@ends_of.register
def _(node: TextColumn, boxes: Boxes) -> Ends:
    return Ends(boxes.all(0), boxes.all(0), boxes.all(True), boxes.all(node.nullable))


@ends_of.register
def _(node: Column, boxes: Boxes) -> Ends:
    if (node.source, node.name) in boxes.made:
        ends: Ends = boxes[boxes.made[node.source, node.name]]
        return ends
    if _name(node) not in boxes.columns:
        return boxes.anywhere(node)
    low, high = boxes.columns[_name(node)]
    return Ends(np.minimum(low, node.high), np.minimum(high, node.high), low <= node.high, high > node.high)


@ends_of.register
def _(node: Literal, boxes: Boxes) -> Ends:
    """A constant beyond every row is only known to be beyond."""
    value = node.value or 0
    low, high = (value, value) if abs(value) < LARGEST else (LARGEST, 2**62) if value > 0 else (-(2**62), -LARGEST)
    return Ends(boxes.all(low), boxes.all(high), boxes.all(not node.nullable), boxes.all(node.nullable))


@ends_of.register
def _(node: Add, boxes: Boxes) -> Ends:
    left, right = boxes[node.left], boxes[node.right]
    return Ends(left.low + right.low, left.high + right.high, left.known & right.known, left.null | right.null)


@ends_of.register
def _(node: Multiply, boxes: Boxes) -> Ends:
    left, right = boxes[node.left], boxes[node.right]
    corners = [one * other for one in (left.low, left.high) for other in (right.low, right.high)]
    return Ends(reduce(np.minimum, corners), reduce(np.maximum, corners), left.known & right.known, left.null | right.null)


@ends_of.register
def _(node: Quotient, boxes: Boxes) -> Ends:
    child: Ends = boxes[node.child]
    return replace(child, low=child.low // node.divisor, high=child.high // node.divisor)


@ends_of.register
def _(node: Choose, boxes: Boxes) -> Ends:
    low, high = boxes.all(node.high), boxes.all(node.low)
    sure, null, reached = boxes.all(False), boxes.all(False), boxes.all(True)
    outcomes = [*(boxes[test] for test, _ in node.branches), Outcome(reached, sure, sure)]
    for test, row in zip(outcomes, [*(row for _, row in node.branches), node.otherwise], strict=True):
        value, taken = boxes[row], reached & test.true
        number = taken & value.known
        low = np.where(number, np.minimum(low, value.low), low)
        high = np.where(number, np.maximum(high, value.high), high)
        sure, null, reached = sure | number, null | (taken & value.null), reached & (test.false | test.unknown)
    return Ends(low, high, sure, null)


@ends_of.register
def _(node: Lookup, boxes: Boxes) -> Ends:
    child = boxes[node.child]
    return _entries(node.table, child, child.low, child.high)


@ends_of.register
def _(node: Stairs, boxes: Boxes) -> Ends:
    child = boxes[node.row]
    first, last = (np.searchsorted(np.array(node.borders), end, "right") for end in (child.low, child.high))
    return _entries(node.values, child, first, last)


def _entries(table: Sequence[int | None], child: Ends, first: Numbers, last: Numbers) -> Ends:
    """One entry of a table, or those between two places if it rises, or any of it."""
    missing, images = np.array([image is None for image in table]), np.array([image or 0 for image in table], dtype=np.int64)
    rises = not missing.any() and bool((np.diff(images) >= 0).all())
    one = first == last
    low, high = images[first], images[last]
    if not rises:
        low, high = np.where(one, low, images.min()), np.where(one, high, images.max())
    gone = np.where(one, missing[first], missing.any())
    return Ends(low, high, child.known & ~(one & gone), child.null | (child.known & gone))


@ends_of.register
def _(node: Compare, boxes: Boxes) -> Outcome:
    left, right = boxes[node.left], boxes[node.right]
    sure = left.known & right.known
    match node.operator:
        case "<":
            true, false = left.low < right.high, left.high >= right.low
        case "<=":
            true, false = left.low <= right.high, left.high > right.low
        case _:
            true = (left.low <= right.high) & (right.low <= left.high)
            false = (left.low != left.high) | (right.low != right.high) | (left.low != right.low)
    return Outcome(sure & true, sure & false, left.null | right.null)


@ends_of.register
def _(node: Among, boxes: Boxes) -> Outcome:
    child = boxes[node.child]
    values = np.array(sorted({min(max(value, -LARGEST), LARGEST) for value in node.values}), dtype=np.int64)
    inside = np.searchsorted(values, child.high, "right") - np.searchsorted(values, child.low)
    return Outcome(child.known & (inside > 0), child.known & (inside <= child.high - child.low), child.null)


@ends_of.register
def _(node: IsNull, boxes: Boxes) -> Outcome:
    child = boxes[node.child]
    return Outcome(child.null, child.known, boxes.all(False))


@ends_of.register
def _(node: All, boxes: Boxes) -> Outcome:
    parts: list[Outcome] = [boxes[part] for part in node.parts]
    return reduce(_both, parts)


@ends_of.register
def _(node: Either, boxes: Boxes) -> Outcome:
    return _not(reduce(_both, (_not(boxes[part]) for part in node.parts)))


@ends_of.register
def _(node: Negation, boxes: Boxes) -> Outcome:
    return _not(boxes[node.part])


@ends_of.register
def _(node: Truth, boxes: Boxes) -> Outcome:
    return Outcome(boxes.all(node.value is True), boxes.all(node.value is False), boxes.all(node.value is None))


@ends_of.register(TextIs)
@ends_of.register(TextLike)
def _(node: TextIs | TextLike, boxes: Boxes) -> Outcome:
    """Of private text nothing is declared."""
    return Outcome(boxes.all(True), boxes.all(True), boxes.all(node.child.nullable))


def _both(one: Outcome, other: Outcome) -> Outcome:
    """AND: unknown if none is false, and one is unknown."""
    unknown = (one.unknown & (other.true | other.unknown)) | (other.unknown & one.true)
    return Outcome(one.true & other.true, one.false | other.false, unknown)


def _not(outcome: Outcome) -> Outcome:
    return Outcome(outcome.false, outcome.true, outcome.unknown)


def possible_in(column: Column, ranges: Sequence[tuple[int, int]], tests: Sequence[Condition], made: Made) -> list[bool]:
    """For each range of a column's values whether a row in it may meet all tests; it errs to the side of True."""
    tests = [test for test in tests if (column.source, column.name) in stored_in(test, made)]
    if not tests or not ranges:
        return [True] * len(ranges)
    tested = _inside_first(All(tuple(tests)), made)
    whole = _may_meet(column, np.array(ranges, dtype=np.int64).T, tested, made)
    if len(tested) * sum(high - low + 1 for (low, high), may in zip(ranges, whole, strict=True) if may) > MOST_STEPS:
        return list(map(bool, whole))
    points = [value for (low, high), may in zip(ranges, whole, strict=True) if may for value in range(low, high + 1)]
    single = _may_meet(column, np.array([points, points], dtype=np.int64), tested, made)
    met = np.array(points, dtype=np.int64)[single]
    starts = np.searchsorted(met, [low for low, _ in ranges], "left")
    ends = np.searchsorted(met, [high for _, high in ranges], "right")
    return [bool(each) for each in whole & (starts < ends)]


def _may_meet(column: Column, ends: Numbers, tested: Ordered, made: Made) -> Truths:
    """For each range between two rows of ends whether the last of some nodes may be true in it."""
    outcome: Outcome = Boxes.over([_name(column)], ends[:1], ends[1:], made).last(tested)
    return outcome.true


# --- values at single points -------------------------------------------------------------------------------------------------


def values_at(
    node: Row, columns: Sequence[Column], points: Sequence[Sequence[int | None]], made: Made | None = None
) -> list[int | None] | None:
    """The values of an expression at given values of its columns; None if they do not follow from those alone.

    `made` are the keys of sub-queries that it may name, each with what it is made of.
    """
    if not points:
        return []
    corners = np.array([[column.high + 1 if value is None else value for column, value in zip(columns, point, strict=True)]
                        for point in points], dtype=np.int64).reshape(len(points), len(columns)).T  # fmt: skip
    ends: Ends = Boxes.over(list(map(_name, columns)), corners, corners, made or {}).last(_inside_first(node, made or {}))
    if not bool((ends.null | (ends.low == ends.high)).all()) or bool((ends.null & ends.known).any()):
        return None
    return [None if null else int(low) for null, low in zip(ends.null.tolist(), ends.low.tolist(), strict=True)]
