"""A question: all that was asked, its groups and the meaning of their keys, and the nodes that are made of released numbers.

Every released number is a double or NULL. A division by zero, the root of a negative number and a number too large for a double are
NULL, never an error. A `Test` is true, false or unknown. The work on a question pauses here too: whoever runs it may let others go
first between two steps, and no price depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN
from fractions import Fraction
from itertools import accumulate, pairwise
from math import prod
from typing import Any
from typing import Literal as Choice

from tacit.privacy.catalog import day_of
from tacit.privacy.rounding import decimal_near
from tacit.query.plan import UNSAID, BooleanType, CategoryType, DateType, Group, Key, NumberType, Term, TextColumn
from tacit.query.trees import canonical_text, fields_of

# --- released numbers and all that is made of them, which is free and total --------------------------------------------------


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
    """A function of one number, by its name in the table of functions."""

    function: str
    child: Out


@dataclass(frozen=True, slots=True)
class Power:
    """base to the exponent; NULL where that is not a number."""

    base: Out
    exponent: Out


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or greatest of several numbers; those that are NULL do not count."""

    function: str
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


@dataclass(frozen=True, slots=True)
class End:
    """An end of the interval of another column of the answer, by its place; released with that column, without an interval."""

    place: int
    side: Choice["low", "high"]


Constant = Number | Fixed | Day
Computed = Arithmetic | Rounded | Mapped | Power | Extreme | Coalesced | NullIf | Fitted | Chosen | Test | Window
Out = KeyValue | Result | Beside | End | Constant | Computed


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


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate as it was asked: its name, what it is over, the share of a quantile, and the second of two columns.

    Of a part of a linear model, `over` is y, `others` are the regressors, and the share is the number of that of a slope.
    """

    name: str
    over: Term | None = None
    share: Fraction | None = None
    together: int | None = None
    other: Term | None = None
    others: tuple[Term, ...] = ()

    @property
    def is_date(self) -> bool:
        """Whether the value is a date: a quantile of dates is one, a count of dates is a number."""
        return self.name == "quantile" and self.over is not None and isinstance(self.over.type, DateType)


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that was asked. All that comes after `group` works on released values and costs nothing.

    A question may have several parts, each with a group and calls of its own. Those in `beside` have no keys and one output,
    which every part may use. The rows of those in `below` stand below its own: they have as many outputs and orders, and the
    limit of the first is that of all. `among` is the number of parts that have rows.

    The plan of a list has the parts of all its questions, `listed` says how many of those with rows each question has, and
    `questions` how many questions there are; then every part has an order, a limit and an `among` of its own question.
    """

    group: Group
    calls: tuple[Call, ...]
    outputs: tuple[Output, ...]
    having: Test | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    qualify: Test | None = None
    beside: tuple[Question, ...] = field(default=(), metadata=UNSAID)
    below: tuple[Question, ...] = field(default=(), metadata=UNSAID)
    among: int = field(default=1, metadata=UNSAID)
    listed: tuple[int, ...] = field(default=(), metadata=UNSAID)
    questions: int = field(default=1, metadata=UNSAID)

    @property
    def shown(self) -> tuple[Question, ...]:
        """The parts that have rows in the answer, in order."""
        return self, *self.below

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Of each question of a list, the first of its parts among those with rows, and the end; of one by itself, all."""
        return tuple(pairwise(accumulate(self.listed or (len(self.shown),), initial=0)))

    @property
    def headed(self) -> tuple[Output, ...]:
        """The columns of the answer; of a list, those of all answers in their order."""
        return tuple(output for start, _ in self.spans for output in self.shown[start].outputs)

    @property
    def parts(self) -> tuple[Question, ...]:
        """All parts; each is measured and paid for."""
        return self, *self.beside, *self.below


# --- the text of a plan: two questions with the same text are the same --------------------------------------------------------


def canonical_plan(question: Question) -> str:
    """The text of a plan, the same for all questions that mean the same; whatever they call their columns."""
    return canonical_text(without_names(question))


def without_names(question: Question) -> Question:
    outputs = tuple(replace(output, name="") for output in question.outputs)
    keys = tuple(replace(key, name="") for key in question.group.keys)
    beside, below = (tuple(map(without_names, parts)) for parts in (question.beside, question.below))
    return replace(question, outputs=outputs, group=replace(question.group, keys=keys), beside=beside, below=below)


# --- groups: whether they are public, how many there are, and what their keys mean -------------------------------------------


MOST_CELLS = 10**7
DISTINCT = 2**52  # up to this many steps from zero, no two multiples of a step have the same nearest double


def private(question: Question) -> bool:
    """Whether the existence of a group is private, so that it is shown only through a threshold."""
    for key in question.group.keys:  # noqa: SIM110  # asked some thirty times of each question, and twice as fast as any()
        if isinstance(key.term.node, TextColumn):
            return True
    return False


def domain(key: Key) -> tuple[int | None, ...]:
    """The possible integers of a public key, in order, NULL last."""
    if key.kept is not None:
        return key.kept
    points = values_of(key.term)
    return (*points, None) if points and key.term.nullable else points


def values_of(term: Term) -> tuple[int, ...]:
    """The possible integers of an expression, in order, without NULL; of private text none are known."""
    node = term.node
    if isinstance(node, TextColumn):
        return ()
    return term.points or tuple(range(node.low, node.high + 1))


def key_value(term: Term, stored: Any) -> Any:
    """The value of a key's integer."""
    if stored is None or isinstance(stored, str):
        return stored
    match term.type:
        case NumberType(step):
            exact = stored * step
            if exact.denominator == 1:
                return int(exact)
            return float(exact) if abs(stored) <= DISTINCT else decimal_near(exact, ROUND_HALF_EVEN)
        case CategoryType(values):
            return values[stored]
        case DateType():
            return day_of(stored).isoformat()
        case BooleanType():
            return bool(stored)
        case _:
            return str(stored)


def size(key: Key) -> int:
    """How many values a key can have; private text counts 1."""
    if key.kept is not None:
        return len(key.kept)
    node = key.term.node
    if isinstance(node, TextColumn):
        return 1
    points = len(key.term.points) if key.term.points else node.high - node.low + 1
    return points + node.nullable


def cells_of(question: Question) -> int:
    """How many groups there are with public keys."""
    return prod(size(key) for key in question.group.keys)


# --- where long work on a question lets others go first ----------------------------------------------------------------------


_PAUSE: ContextVar[Callable[[], None] | None] = ContextVar("what this thread does between two steps", default=None)


def pause() -> None:
    """Between two steps of long work: what `pausing` was given, if anything."""
    if (between := _PAUSE.get()) is not None:
        between()


@contextmanager
def pausing(between: Callable[[], None]) -> Iterator[None]:
    """Call `between` at every pause of the work inside."""
    before = _PAUSE.set(between)
    try:
        yield
    finally:
        _PAUSE.reset(before)


WORKED: ContextVar[list[int]] = ContextVar("the work on the patterns of this question")


@contextmanager
def one_question() -> Iterator[None]:
    """All patterns inside share one limit of work."""
    before = WORKED.set([0])
    try:
        yield
    finally:
        WORKED.reset(before)
