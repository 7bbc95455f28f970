"""Conditions on texts by their form: LIKE, prefixes, and regular expressions, decided on the declared values."""

from __future__ import annotations

from collections.abc import Callable
from unicodedata import normalize

from tacit.errors import NotAllowed, WrongType
from tacit.query.binding import terms
from tacit.query.binding.comparisons import like
from tacit.query.binding.regular import matching
from tacit.query.language.syntax import Constant, Expression
from tacit.query.plan import CategoryType, Condition, Term, TextColumn, TextLike

PARTS: dict[str, tuple[str, Callable[[str, str], bool]]] = {
    "starts_with": ("{}%", str.startswith),
    "ends_with": ("%{}", str.endswith),
    "contains": ("%{}%", str.__contains__),
}


def pattern_text(expression: Expression, function: str) -> str:
    """The constant text that is looked for, composed as stored texts are."""
    if isinstance(expression, Constant) and isinstance(expression.value, str):
        return normalize("NFC", expression.value)
    raise NotAllowed(f"{function.upper()} requires a constant pattern", remedy="write the pattern as text")


def found(function: str, term: Term, pattern: str) -> Condition:
    """The condition that a text has a form; `function` is one of PARTS, like, ilike, regexp_matches or regexp_like."""
    if function in ("like", "ilike"):
        return like(term, pattern, function == "ilike")
    if function in PARTS:
        return _part(function, term, pattern)
    return _matched(function, term, pattern)


def _part(function: str, term: Term, text: str) -> Condition:
    form, holds = PARTS[function]
    if isinstance(term.node, TextColumn):
        if any(symbol in text for symbol in "%_\\"):
            raise NotAllowed(f"{function.upper()} on private text cannot look for %, _ or a backslash", remedy="leave the sign out")
        return TextLike(term.node, form.format(text))
    return terms.among(term, [value for value in _values(term, function) if holds(value, text)])


def _matched(function: str, term: Term, pattern: str) -> Condition:
    """A part of the text matches; REGEXP_LIKE and RLIKE, which some dialects match with the whole, only where it is the same."""
    if isinstance(term.node, TextColumn):
        raise NotAllowed("a regular expression on private text is not supported", remedy="use LIKE, or declare the column's values")
    values = _values(term, function)
    hits = matching(values, pattern)
    if function == "regexp_like" and hits != matching(values, rf"\A(?:{pattern})\z"):
        raise NotAllowed(
            "REGEXP_LIKE fits two readings here: some dialects match a part of the text, others the whole",
            remedy=f"write x ~ '{pattern[:60]}' for a part, or x ~ '^({pattern[:60]})$' for the whole",
        )
    return terms.among(term, hits)


def _values(term: Term, function: str) -> list[str]:
    if not isinstance(term.type, CategoryType):
        raise WrongType(
            f"{function.upper()} is for text, not for {terms.word(term.type)}", remedy="compare it with <, = or BETWEEN"
        )
    return [value for value in term.type.values if isinstance(value, str)]
