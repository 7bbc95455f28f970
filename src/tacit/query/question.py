"""A question and its groups: everything that was asked, which groups an answer has, and what their keys mean."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN
from fractions import Fraction
from math import prod
from typing import Any

from tacit.privacy.catalog import day_of
from tacit.privacy.rounding import decimal_near
from tacit.query.plan import BooleanType, CategoryType, DateType, Group, Key, NumberType, Term, TextColumn
from tacit.query.released.numbers import Order, Output, Test


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate as it was asked: its name, what it is over, the share of a quantile, and the second of two columns."""

    name: str
    over: Term | None = None
    share: Fraction | None = None
    together: int | None = None
    other: Term | None = None

    @property
    def is_date(self) -> bool:
        """Whether the value is a date: a quantile of dates is one, a count of dates is a number."""
        return self.name == "quantile" and self.over is not None and isinstance(self.over.type, DateType)


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that was asked. What comes after `group` works on released values and costs nothing.

    A question may have several parts, each with a group and calls of its own. Those in `beside` have no keys and one output,
    which every part may use. The rows of those in `below` stand below its own: they have as many outputs and orders, and the
    limit of the first is that of all. `among` is the number of parts that have rows.
    """

    group: Group
    calls: tuple[Call, ...]
    outputs: tuple[Output, ...]
    having: Test | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    qualify: Test | None = None
    beside: tuple[Question, ...] = ()
    below: tuple[Question, ...] = ()
    among: int = 1

    @property
    def shown(self) -> tuple[Question, ...]:
        """The parts that have rows in the answer, in order."""
        return self, *self.below

    @property
    def parts(self) -> tuple[Question, ...]:
        """All parts, each of which is measured and paid for."""
        return self, *self.beside, *self.below


# --- groups: whether they are public, how many there are, and what their keys mean -------------------------------------------


MOST_CELLS = 10**7
DISTINCT = 2**52  # up to this many steps from zero, no two multiples of a step have the same nearest double
MOST_QUANTILES = 10**5  # each is drawn separately, in about a millisecond
MOST_SHOWN, MOST_SHOWN_QUANTILES = 10**5, 10**4  # of private keys


def private(question: Question) -> bool:
    """Whether the existence of a group is private, so that it is shown only through a threshold."""
    for key in question.group.keys:  # noqa: SIM110  # asked some thirty times of each question, and twice as fast as any()
        if isinstance(key.term.node, TextColumn):
            return True
    return False


def shown_at_most(question: Question) -> int:
    """The maximum number of groups with private keys in an answer: those with the largest noisy numbers of units."""
    drawn = drawn_in_groups(question)
    return max(1, MOST_SHOWN_QUANTILES // drawn) if drawn else MOST_SHOWN


def drawn_in_groups(question: Question) -> int:
    """How many aggregates are drawn group by group: quantiles and modes."""
    return sum(call.name in ("quantile", "mode") for call in question.calls)


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
