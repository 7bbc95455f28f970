"""Comparisons, patterns and constants: what meets in a condition is brought to one meaning first."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any, TypeVar
from unicodedata import normalize

from tacit.errors import NeverTrue, NotAllowed, WrongType
from tacit.privacy.catalog import day_number, day_of
from tacit.privacy.rounding import as_text
from tacit.query.binding import terms
from tacit.query.language.date_formats import day_in
from tacit.query.plan import (
    BooleanType,
    CategoryType,
    Compare,
    Condition,
    DateType,
    Literal,
    Negation,
    NumberType,
    Row,
    Term,
    TextColumn,
    TextIs,
    TextLike,
    Truth,
    Type,
)


def constant_term(value: Fraction | str | bool | date | None) -> Term:
    """A constant of the question as a term."""
    match value:
        case bool():
            return Term(Literal(int(value)), BooleanType())
        case Fraction():
            return terms.constant(value)
        case str():
            return Term(Literal(0), CategoryType((normalize("NFC", value),)))
        case date():
            return Term(Literal(day_number(value)), DateType())
        case _:
            return Term(Literal(None), NumberType(Fraction(1)))


def text_constant(term: Term) -> str | None:
    """The text of a constant; None if it is not a text constant."""
    if isinstance(term.node, Literal) and isinstance(term.type, CategoryType) and len(term.type.values) == 1:
        value = term.type.values[0]
        return value if isinstance(value, str) else None
    return None


_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
_POSITIVE = {"<>": "="}
Made = TypeVar("Made")
MOST_TOLD, LONGEST_TOLD = 20, 60  # values that a message lists, and characters of one
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def compare(symbol: str, left: Term, right: Term) -> Condition:
    """left symbol right, whatever the two are."""
    if isinstance(left.node, Literal) and not isinstance(right.node, Literal):
        return compare(_MIRRORED[symbol], right, left)
    if Literal(None) in (left.node, right.node):
        return Truth(None)
    if isinstance(left.type, DateType) and text_constant(right) is not None:
        right = constant_term(_day(text_constant(right) or ""))
    if isinstance(left.node, TextColumn):
        return _text_compared(symbol, left.node, text_constant(right))
    if isinstance(left.type, CategoryType) and isinstance(right.node, Literal):
        return _category_compared(symbol, left, constant_value(right))
    if isinstance(left.type, BooleanType) and isinstance(right.type, BooleanType | NumberType):
        left, right = as_number(left), as_number(right)
    if isinstance(left.type, CategoryType) and symbol not in ("=", "<>"):
        raise WrongType("categories can be compared with = and <> only", remedy="compare each with a constant")
    return terms.compare(symbol, left, right)


def constant_value(term: Term) -> terms.Constant:
    """The text, truth or number that a constant is."""
    if isinstance(term.node, Literal) and term.node.value is not None:
        match term.type:
            case CategoryType(values):
                return values[term.node.value]
            case BooleanType():
                return bool(term.node.value)
            case NumberType(step):
                return term.node.value * step
    raise WrongType("expected a constant: a text, a number, TRUE or FALSE", remedy="write the value out")


def _category_compared(symbol: str, term: Term, value: terms.Constant) -> Condition:
    assert isinstance(term.type, CategoryType)  # noqa: S101  # the caller has looked
    alike = [each for each in term.type.values if terms.kind_and_value(each)[0] == terms.kind_and_value(value)[0]]
    if not alike:
        raise WrongType("the constant does not have the type of the declared values", remedy="compare like with like")
    if symbol in ("=", "<>") and value not in alike:
        raise not_declared(term, value)
    condition = terms.among(term, [each for each in alike if _ORDERED[_POSITIVE.get(symbol, symbol)](each, value)])
    return condition if symbol not in _POSITIVE else Negation(condition)


def not_declared(term: Term, value: terms.Constant) -> NeverTrue:
    """The refusal of a value that a category does not have, with the nearest that it has."""
    values = term.type.values if isinstance(term.type, CategoryType) else ()
    return NeverTrue(f"{_quote(value)} is not a declared value", remedy=_nearest(value, values))


def those_that_can_be(makers: Sequence[Callable[[], Made]]) -> list[Made]:
    """The results for a list of values, without values that no row can have; refused if none is left."""
    conditions, never = [], None
    for make in makers:
        try:
            conditions.append(make())
        except NeverTrue as refusal:
            never = never or refusal
    if never is not None and not conditions:
        raise never
    return conditions


def _nearest(value: terms.Constant, values: Sequence[terms.Constant]) -> str:
    texts = {text.lower(): text for text in values if isinstance(text, str)}
    close = difflib.get_close_matches(value.lower(), texts, n=1) if isinstance(value, str) else []
    if close:
        return f"did you mean {_quote(texts[close[0]])}?"
    return f"declared are: {', '.join(map(_quote, values[:MOST_TOLD]))}" + (", ..." if values[MOST_TOLD:] else "")


def _quote(value: terms.Constant) -> str:
    return repr(value[:LONGEST_TOLD]) if isinstance(value, str) else as_text(value) if isinstance(value, Fraction) else str(value)


def _text_compared(symbol: str, node: TextColumn, text: str | None) -> Condition:
    if text is None or symbol not in ("=", "<>"):
        raise WrongType("private text can be compared with text constants by = and <> only", remedy="use = or LIKE")
    condition = TextIs(node, (text,))
    return condition if symbol == "=" else Negation(condition)


def _day(text: str) -> date:
    if (day := day_in(text)) is None:
        raise WrongType("invalid date: expected a text such as '2020-12-31'", remedy="write DATE '2020-12-31'")
    return day


def like(term: Term, pattern: str, ignore_case: bool) -> Condition:
    """LIKE: on public values it is decided here; on private text the engine gets the constant pattern."""
    if "\\" in pattern:
        raise NotAllowed("a backslash in a LIKE pattern is not supported: engines disagree on its meaning", remedy="leave it out")
    if isinstance(term.node, TextColumn):
        if ignore_case:
            raise NotAllowed("ILIKE on private text is not supported", remedy="use LIKE")
        return TextLike(term.node, pattern)
    if not isinstance(term.type, CategoryType):
        raise WrongType(f"LIKE is for text, not for {terms.word(term.type)}", remedy="compare it with <, = or BETWEEN")
    fold: Callable[[str], str] = str.lower if ignore_case else str
    hits = [value for value in term.type.values if isinstance(value, str) and matches(fold(value), fold(pattern))]
    return terms.among(term, hits)


def matches(text: str, pattern: str) -> bool:
    """Whether a text matches a LIKE pattern, in time proportional to the product of the two lengths.

    >>> matches("cardiology", "card%gy"), matches("cardiology", "_ard"), matches("", "%")
    (True, False, True)
    """
    reachable = {0}
    for symbol in pattern:
        if symbol == "%":
            reachable = set(range(min(reachable, default=len(text) + 1), len(text) + 1))
        else:
            reachable = {i + 1 for i in reachable if i < len(text) and symbol in ("_", text[i])}
    return len(text) in reachable


def as_number(term: Term) -> Term:
    """Conditions count as 0 and 1; numbers are themselves."""
    if isinstance(term.type, BooleanType):
        return Term(term.node, NumberType(Fraction(1)))
    if isinstance(term.type, CategoryType) and set(map(type, term.type.values)) == {bool}:
        table = [int(value) for value in term.type.values]
        return Term(terms.lookup(term, table), NumberType(Fraction(1)))
    if isinstance(term.type, CategoryType) and set(map(type, term.type.values)) == {int}:
        table = [int(value) for value in term.type.values]
        terms.checked(min(table), max(table))
        return Term(terms.lookup(term, table), NumberType(Fraction(1)), points=tuple(sorted(table)))
    return term


def clamped(term: Term, low: Term, high: Term) -> Term:
    """The term between two constants, NULL where it is NULL; refused where they are outside its range, and 0.

    Bounds that cut nothing off leave the term as it is.
    """
    (value, least, meaning), (_, most, _) = terms.on_one_step(term, low), terms.on_one_step(term, high)
    if isinstance(meaning, NumberType):
        step = terms.common_step(terms.number_step(term), terms.common_step(terms.number_step(low), terms.number_step(high)))
        value, least, most = (terms.on_step(each, step) for each in (term, low, high))
        meaning = NumberType(step)
    if least.low > most.low:
        raise WrongType("the lower bound of a contribution is above the upper one", remedy="write (low, high)")
    zero = 0 if isinstance(meaning, NumberType) else value.low
    if least.low < min(value.low, zero) or most.low > max(value.high, zero):
        raise NotAllowed(
            f"the bounds are wider than what the catalog allows, {_between(value, meaning)}",
            remedy="narrow them; wider ones have to be declared",
        )
    if least.low <= value.low and value.high <= most.low:
        return term
    branches: list[tuple[Condition, Row]] = [(Compare("<", value, least), least)] if least.low > value.low else []
    branches += [(Compare("<", most, value), most)] if most.low < value.high else []
    kept = terms.choose(branches, value)
    ends = [min(max(end, least.low), most.low) for end in (value.low, value.high)]
    return Term(replace(kept, low=ends[0], high=ends[1]), meaning)


def _between(value: Row, meaning: Type) -> str:
    if isinstance(meaning, DateType):
        return f"{day_of(value.low)} to {day_of(value.high)}"
    step = meaning.step if isinstance(meaning, NumberType) else Fraction(1)
    return f"{as_text(value.low * step)} to {as_text(value.high * step)}"
