"""The groups of an answer: whether they are public, how many there are, and what their keys mean."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN
from math import prod
from typing import Any

from tacit.privacy.catalog import day_of
from tacit.privacy.rounding import decimal_near
from tacit.query.plan import BooleanType, CategoryType, DateType, Key, NumberType, Question, Term, TextColumn

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
