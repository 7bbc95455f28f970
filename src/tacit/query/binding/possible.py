"""Whether a condition can hold at all, by the declared ranges alone: one that never can is refused before it is paid for.

The answer errs to one side: `can_be` is False only where no prepared row could make the condition so, whatever the data holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tacit.errors import NeverTrue
from tacit.privacy import catalog
from tacit.privacy.rounding import as_text
from tacit.query.binding.binder import Binder
from tacit.query.binding.scope import Declared, Scope
from tacit.query.binding.ties import conjuncts, names_in
from tacit.query.language.syntax import Expression
from tacit.query.plan import (
    All,
    Among,
    Choose,
    Compare,
    Condition,
    Either,
    IsNull,
    Literal,
    Negation,
    Row,
    Truth,
)


def can_be(condition: Condition, wanted: bool = True) -> bool:
    """Whether some row could make the condition true (or false, if that is wanted).

    >>> from tacit.query.plan import Column
    >>> age = Column(0, "age", 0, 110, nullable=True)
    >>> can_be(Compare("<", Literal(500), age)), can_be(Compare("<", Literal(50), age))
    (False, True)
    """
    match condition:
        case Truth():
            return condition.value is wanted
        case Negation():
            return can_be(condition.part, not wanted)
        case All() | Either():
            joint = isinstance(condition, All) == wanted  # all parts at once, or one of them
            each = [can_be(part, wanted) for part in condition.parts]
            return all(each) and _together(condition.parts, wanted) if joint else any(each)
        case IsNull():
            return condition.child.nullable if wanted else condition.child != Literal(None)
        case Compare():
            return _compares(condition, wanted)
        case Among():
            return _meets(condition.child, condition.values, wanted)
        case _:
            return True  # of private text nothing is declared


def always_null(row: Row) -> bool:
    """Whether a value is NULL in every row: a CASE none of whose conditions can hold, without ELSE."""
    if isinstance(row, Choose):
        reached = [value for condition, value in row.branches if can_be(condition)]
        return all(map(always_null, [*reached, row.otherwise]))
    return row == Literal(None)


def _compares(condition: Compare, wanted: bool) -> bool:
    left, right = condition.left, condition.right
    if Literal(None) in (left, right):
        return False
    match condition.operator:
        case "<":
            return left.low < right.high if wanted else left.high >= right.low
        case "<=":
            return left.low <= right.high if wanted else left.high > right.low
        case _:
            if wanted:
                return left.low <= right.high and right.low <= left.high
            return not left.low == left.high == right.low == right.high


def _meets(child: Row, values: Sequence[int], wanted: bool) -> bool:
    inside = {value for value in values if child.low <= value <= child.high}
    return bool(inside) if wanted else len(inside) < child.high - child.low + 1


# --- several conditions on the same number at once ---------------------------------------------------------------------------


@dataclass
class _Left:
    """What conditions leave of the range of one number."""

    low: int
    high: int
    allowed: set[int] | None = None
    excluded: set[int] = field(default_factory=set)

    def is_empty(self) -> bool:
        if self.allowed is not None:
            return not any(self.low <= value <= self.high and value not in self.excluded for value in self.allowed)
        inside = sum(self.low <= value <= self.high for value in self.excluded)
        return self.high - self.low + 1 <= inside


def _together(parts: Sequence[Condition], wanted: bool) -> bool:
    """Whether all of these could be so at once, as far as each compares one number with constants."""
    left: dict[Row, _Left] = {}
    for condition, is_so in _flat(parts, wanted):
        found = _constraint(condition, is_so)
        if found is None:
            continue
        child, low, high, values, is_in = found
        rest = left.setdefault(child, _Left(child.low, child.high))
        rest.low, rest.high = max(rest.low, low), min(rest.high, high)
        if values is not None and is_in:
            rest.allowed = set(values) if rest.allowed is None else rest.allowed & set(values)
        elif values is not None:
            rest.excluded |= set(values)
    return not any(rest.is_empty() for rest in left.values())


def _flat(parts: Sequence[Condition], wanted: bool) -> Iterator[tuple[Condition, bool]]:
    """The conditions that must be true (or false) together, without the ANDs (or ORs) and NOTs around them."""
    for part in parts:
        if isinstance(part, Negation):
            yield from _flat((part.part,), not wanted)
        elif isinstance(part, All if wanted else Either):
            yield from _flat(part.parts, wanted)
        else:
            yield part, wanted


_Constraint = tuple[Row, int, int, tuple[int, ...] | None, bool]


def _constraint(condition: Condition, wanted: bool) -> _Constraint | None:
    """A number, the range that it must lie in, and the values that it must (or must not) have; None for other conditions."""
    if isinstance(condition, Among):
        return condition.child, condition.child.low, condition.child.high, condition.values, wanted
    if not isinstance(condition, Compare):
        return None
    for child, other, mirrored in ((condition.left, condition.right, False), (condition.right, condition.left, True)):
        if isinstance(other, Literal) and other.value is not None and not isinstance(child, Literal):
            return _against(condition.operator, child, other.value, mirrored, wanted)
    return None


def _against(operator: str, child: Row, value: int, mirrored: bool, wanted: bool) -> _Constraint:
    """child operator value, or value operator child if mirrored, or the opposite where it must be false."""
    if operator == "=":
        return child, child.low, child.high, (value,), wanted
    strict, at_least = (operator == "<") == wanted, mirrored == wanted
    border = value + (strict if at_least else -strict)
    return (child, border, child.high, None, True) if at_least else (child, child.low, border, None, True)


# --- a condition of WHERE that some row can meet -----------------------------------------------------------------------------


def possible(written: Expression, binder: Binder) -> Condition:
    """The condition of WHERE; refused where the catalog alone decides that no row can meet it, at the part that says so."""
    for part in conjuncts(written):
        found = binder.condition(part)
        if not can_be(found):
            raise _never(part, found, binder.scope)
    whole = binder.condition(written)
    if not can_be(whole):
        remedy = "check the borders of each"
        raise NeverTrue("the conditions exclude each other: no row can meet all of them", remedy=remedy, at=written.at)
    return whole


def _never(written: Expression, found: Condition, scope: Scope) -> NeverTrue:
    if found == Truth(None):
        return NeverTrue("a comparison with NULL is never true", remedy="use IS NULL or IS NOT NULL", at=written.at)
    held = (scope.find(name)[1] for name in names_in(written))
    columns = dict.fromkeys(each.column for each in held if isinstance(each, Declared))
    declared = ", ".join(f"{column.name} is {words}" for column in columns if (words := declared_range(column)))
    what = "the condition is never true" + (f": {declared}" if declared else "")
    return NeverTrue(what, remedy="compare with a value that can occur", at=written.at)


def declared_range(column: catalog.Column) -> str:
    """What is declared of a column's values, in words; nothing where their values are private."""
    if column.kind == "category":
        return f"one of {', '.join(map(repr, column.domain[:20]))}" + (", ..." if column.domain[20:] else "")
    if column.bounds is None or column.step is None:
        return ""
    if column.kind == "date":
        return f"from {catalog.day_of(int(column.bounds[0]))} to {catalog.day_of(int(column.bounds[1]))}"
    steps = f" in steps of {as_text(column.step)}" if column.step != 1 else ""
    return f"from {as_text(column.bounds[0])} to {as_text(column.bounds[1])}{steps}"
