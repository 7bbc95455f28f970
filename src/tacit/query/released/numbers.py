"""Released numbers and all that is made of them: the nodes of SELECT, HAVING, QUALIFY and ORDER BY. All of it is free, and total.

Every number is a double or NULL. What has no value (a division by zero, the root of a negative number, a number too large for a
double) is NULL, never an error. A `Test` is true, false or unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal as Choice

from tacit.query.size_limit import fields_of


@dataclass(frozen=True, slots=True)
class KeyValue:
    """The value of the i-th key."""

    index: int


@dataclass(frozen=True, slots=True)
class Result:
    """The released value of the i-th call."""

    index: int


@dataclass(frozen=True, slots=True)
class Beside:
    """The one number of the i-th question beside this one, the same in every group."""

    index: int


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Fixed:
    """A constant text or truth, or NULL."""

    value: str | bool | None


@dataclass(frozen=True, slots=True)
class Day:
    """A constant date, in days since 1970-01-01."""

    number: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Division by zero gives NULL."""

    operator: Choice["+", "-", "*", "/"]
    left: Out
    right: Out


@dataclass(frozen=True, slots=True)
class Rounded:
    """Rounded to a number of decimals, halves away from zero."""

    child: Out
    decimals: int


@dataclass(frozen=True, slots=True)
class Mapped:
    """A function of one number."""

    function: Choice["abs", "sqrt", "ln", "log10", "exp", "floor", "ceil", "sign"]
    child: Out


@dataclass(frozen=True, slots=True)
class Power:
    """base to the exponent; NULL where that is not a number."""

    base: Out
    exponent: Out


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or greatest of several numbers; those that are NULL do not count."""

    function: Choice["least", "greatest"]
    parts: tuple[Out, ...]


@dataclass(frozen=True, slots=True)
class Coalesced:
    """The first of several that is not NULL."""

    parts: tuple[Out, ...]


@dataclass(frozen=True, slots=True)
class NullIf:
    """The child, NULL where the test is true."""

    child: Out
    test: Test


@dataclass(frozen=True, slots=True)
class Fitted:
    """The child, NULL where it is `limit` or more away from zero."""

    child: Out
    limit: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """The value of the first true test, else `otherwise` (CASE)."""

    branches: tuple[tuple[Test, Out], ...]
    otherwise: Out


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on released values; "is_null", "is_true" and "is_false" are never unknown."""

    operator: Choice["<", "<=", "=", "<>", ">=", ">", "and", "or", "not", "is_null", "is_true", "is_false"]
    parts: tuple[Out, ...]


@dataclass(frozen=True, slots=True)
class RowFrame:
    """A frame of rows around the current one: from `start` to `end` rows away, None for all of that side."""

    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """A function over rows of the answer: those with the same keys in `partition`, in an order, as far as the frame goes.

    Without a frame: all rows of the partition; with an order, those up to the current one and its peers. `child` is NULL's
    counterpart None in COUNT(*) and the ranks; `offset` and `otherwise` are those of LAG and LEAD.
    """

    function: Choice["sum", "avg", "min", "max", "count", "rank", "dense_rank", "row_number", "shift", "first", "last"]
    child: Out | None
    partition: tuple[KeyValue, ...] = ()
    order: tuple[Order, ...] = ()
    frame: RowFrame | None = None
    offset: int = 0
    otherwise: Out | None = None


Constant = Number | Fixed | Day
Computed = Arithmetic | Rounded | Mapped | Power | Extreme | Coalesced | NullIf | Fitted | Chosen | Test | Window
Out = KeyValue | Result | Beside | Constant | Computed


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer."""

    name: str
    value: Out


@dataclass(frozen=True, slots=True)
class Order:
    """A column of ORDER BY, of the answer or of a window; NULL comes last."""

    by: Out
    descending: bool = False


def inner(node: object) -> Iterator[object]:
    """The nodes that a node holds directly."""
    values = node if isinstance(node, tuple) else (getattr(node, name) for name in fields_of(node) or ())
    for value in values:
        if isinstance(value, tuple):
            yield from inner(value)
        elif fields_of(value) is not None:
            yield value


def nodes(node: object) -> Iterator[object]:
    """A node and all that it holds."""
    yield node
    for part in inner(node):
        yield from nodes(part)


def is_noisy(node: object) -> bool:
    """Whether a released number stands anywhere in it; what is made of keys and constants alone is exact."""
    return any(isinstance(each, Result | Beside) for each in nodes(node))


def alternatives(out: Out) -> list[Out]:
    """The parts whose kind an output has: one of them is its value."""
    match out:
        case Chosen():
            return [*(value for _, value in out.branches), out.otherwise]
        case Coalesced() | Extreme():
            return [*out.parts]
        case NullIf() | Fitted():
            return [out.child]
        case Window():
            return [each for each in (out.child, out.otherwise) if each is not None]
        case _:
            return []


def is_word(out: Out) -> bool:
    """Whether an output is a text or a truth; of keys nothing is said."""
    return isinstance(out, Test) or (isinstance(out, Fixed) and out.value is not None) or any(map(is_word, alternatives(out)))
