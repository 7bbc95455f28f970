"""Texts that are made of declared values: joined, written from numbers and dates; their possible values are listed in advance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from tacit.errors import NotAllowed, RangeTooLarge, WrongType
from tacit.privacy.catalog import day_of
from tacit.query.binding import dates, terms
from tacit.query.binding.comparisons import text_constant
from tacit.query.language.date_formats import written_as
from tacit.query.language.syntax import Constant, Expression
from tacit.query.plan import BooleanType, CategoryType, DateType, Literal, NumberType, Row, Term, TextColumn

NAMES = re.compile("%[bBaA]")  # a form with names of months or weekdays keeps the order of days, not of texts
MOST_TEXTS = 10_000  # values of a text that is put together; dates have their own limit


def texts_of(term: Term) -> tuple[str, ...] | None:
    """The texts that a category of texts has; None for anything else."""
    if not isinstance(term.type, CategoryType):
        return None
    found = tuple(value for value in term.type.values if isinstance(value, str))
    return found if len(found) == len(term.type.values) else None


def as_text(term: Term) -> Term:
    """The term as a text: categories, truths, whole numbers and dates, as PostgreSQL writes them."""
    if isinstance(term.node, TextColumn):
        raise WrongType("private text can be compared with constants only", remedy="declare the column's values in the catalog")
    if term.node == Literal(None) or texts_of(term) is not None:
        return term
    match term.type:
        case CategoryType(values):
            return _labelled(term, [str(value).lower() if isinstance(value, bool) else str(value) for value in values])
        case BooleanType():
            return _labelled(term, ["false", "true"])
        case DateType():
            return formatted(term, "%Y-%m-%d")
        case NumberType(step) if step.denominator == 1:
            return _from_zero(term, [str(number * step) for number in _range(term, MOST_TEXTS)])
    raise WrongType("a number with a fraction has no text here", remedy="round it first: CAST(ROUND(x) AS TEXT)")


def formatted(term: Term, form: str) -> Term:
    """A date as text, in a form of date_formats.py; one look-up by the day, whatever the form."""
    low, high = dates.known_days(term)
    found = [written_as(day_of(number), form) for number in range(low, high + 1)]
    return _from_zero(term, found, in_order=not NAMES.search(form))


def joined(given: Sequence[Term]) -> Term:
    """Texts one after the other; NULL where one of them is. The values are the combinations that the declared ones have."""
    if all(texts_of(term) is None for term in given):
        raise WrongType("|| concatenates texts: one side must be a text", remedy="write CAST(x AS TEXT)")
    whole, *rest = map(as_text, given)
    for term in rest:
        whole = _pair(whole, term)
    return whole


def joined_whole(given: Sequence[Term]) -> Term:
    """CONCAT, which leaves out a NULL in one dialect and becomes NULL in another: refused where one of its parts can be NULL."""
    if len(given) > 1 and any(term.nullable for term in given):
        raise NotAllowed(
            "CONCAT fits two readings here: dialects differ on a part that can be NULL",
            remedy="write a || b, which is NULL then, or COALESCE(a, '') || COALESCE(b, '')",
        )
    return joined(given) if len(given) > 1 else as_text(given[0])


def strftime(given: Sequence[Term], written: Sequence[Expression]) -> Term:
    """STRFTIME of a date; the reader has looked at the form."""
    form = written[1].value if len(written) == 2 and isinstance(written[1], Constant) else None
    if not isinstance(form, str):
        raise WrongType("STRFTIME requires a date and a constant format", remedy="write STRFTIME(day, '%Y-%m')")
    return formatted(given[0], form)


def _pair(left: Term, right: Term) -> Term:
    one, two = texts_of(left), texts_of(right)
    if one is None or two is None:  # a constant NULL
        return Term(Literal(None), CategoryType(("",)))
    if len(one) * len(two) > MOST_TEXTS:
        raise RangeTooLarge(
            f"the text has {len(one) * len(two):,} possible values: the limit is {MOST_TEXTS:,}",
            remedy="group by the columns one by one",
        )
    if (ending := text_constant(right)) is not None:
        return _labelled(left, [f"{text}{ending}" for text in one])
    if (beginning := text_constant(left)) is not None:
        return _labelled(right, [f"{beginning}{text}" for text in two])
    first, second = left.node, right.node
    if isinstance(first, TextColumn) or isinstance(second, TextColumn):
        raise WrongType("private text cannot be concatenated", remedy="declare the column's values in the catalog")
    place = terms.plus(terms.times(first, Literal(len(two))), second)
    combined = Term(place, CategoryType(tuple(range(len(one) * len(two)))))
    return _labelled(combined, [f"{start}{end}" for start in one for end in two])


def _from_zero(term: Term, texts: Sequence[str], in_order: bool = False) -> Term:
    """The text of a number or a date, given one for each value of its range."""
    node = terms.plus(_node(term), Literal(-_node(term).low))
    kept = None if term.points is None else {point - _node(term).low for point in term.points}
    return _labelled(Term(node, CategoryType(tuple(range(len(texts))))), texts, kept, in_order)


def _labelled(term: Term, texts: Sequence[str], kept: set[int] | None = None, in_order: bool = False) -> Term:
    """The term whose code stands for a text, each text once; `kept` are the codes that can occur."""
    used = dict.fromkeys(text for code, text in enumerate(texts) if kept is None or code in kept)
    values = tuple(sorted(used) if in_order else used)
    places = {text: code for code, text in enumerate(values)}
    return Term(terms.lookup(term, [places.get(text, 0) for text in texts]), CategoryType(values))


def _node(term: Term) -> Row:
    if isinstance(term.node, TextColumn):
        raise WrongType("a number is required here", remedy="use a column with bounds, or a constant")
    return term.node


def _range(term: Term, most: int) -> range:
    node = _node(term)
    if node.high - node.low >= most:
        raise RangeTooLarge(f"the number has more than {most:,} possible values", remedy="bin it first: FLOOR(x / 10) * 10")
    return range(node.low, node.high + 1)


def tens_below(left: Term, divisor: Fraction) -> Term:
    """x - x % n, which is FLOOR(x / n) * n: the same groups, whichever way it is written."""
    return terms.multiply(terms.floor(terms.divide(left, terms.constant(divisor))), terms.constant(divisor))
