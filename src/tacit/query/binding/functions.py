"""Rules for functions of a row, from terms to a term; query/functions.py lists the functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from tacit.errors import NotAllowed, RangeTooLarge, WrongType
from tacit.privacy.catalog import Value, day_of
from tacit.query.binding import dates, terms
from tacit.query.binding.comparisons import as_number, compare, constant_value, text_constant
from tacit.query.binding.scope import plain
from tacit.query.language.date_formats import written_as
from tacit.query.language.syntax import Apply, Constant, Expression
from tacit.query.plan import BooleanType, CategoryType, DateType, Literal, NumberType, Row, Term, TextColumn

# --- texts made of declared values, which are listed in advance --------------------------------------------------------------


NAMES = re.compile("%[bBaA]")  # a form with names of months or weekdays keeps the order of days, not of texts
MOST_TEXTS = 10_000  # values of a text that is put together; dates have their own limit


def texts_of(term: Term) -> tuple[str, ...] | None:
    """The texts that a category of texts has; None for anything else."""
    if not isinstance(term.type, CategoryType):
        return None
    texts = tuple(value for value in term.type.values if isinstance(value, str))
    return texts if len(texts) == len(term.type.values) else None


def as_text(term: Term) -> Term:
    """The term as a text: categories, truths, whole numbers and dates, as PostgreSQL writes them."""
    if isinstance(term.node, TextColumn):
        raise WrongType("private text can be compared with constants only", remedy="declare the column's values in the catalog")
    if term.node == Literal(None) or texts_of(term) is not None:
        return term
    match term.type:
        case CategoryType(values):
            return _with_labels(term, [str(value).lower() if isinstance(value, bool) else str(value) for value in values])
        case BooleanType():
            return _with_labels(term, ["false", "true"])
        case DateType():
            return date_text(term, "%Y-%m-%d")
        case NumberType(step) if step.denominator == 1:
            return _from_zero(term, [str(number * step) for number in _range(term, MOST_TEXTS)])
    raise WrongType("a number with a fraction has no text here", remedy="round it first: CAST(ROUND(x) AS TEXT)")


def date_text(term: Term, form: str) -> Term:
    """A date as text, in a form of date_formats.py; one look-up by the day, whatever the form."""
    low, high = dates.known_days(term)
    texts = [written_as(day_of(number), form) for number in range(low, high + 1)]
    return _from_zero(term, texts, in_order=not NAMES.search(form))


def concatenate(given: Sequence[Term]) -> Term:
    """Texts one after the other; NULL where one of them is. The values are the combinations that the declared ones have."""
    if all(texts_of(term) is None for term in given):
        raise WrongType("|| concatenates texts: one side must be a text", remedy="write CAST(x AS TEXT)")
    whole, *rest = map(as_text, given)
    for term in rest:
        whole = _pair(whole, term)
    return whole


def joined_whole(given: Sequence[Term]) -> Term:
    """CONCAT as in PostgreSQL: a part that is NULL is empty. Its plan is that of COALESCE(a, '') || COALESCE(b, '').

    So no answer that was kept for a || b is one of it, unless no part can be NULL: then the two are the same.
    """
    parts = [_or_empty(as_text(term)) for term in given]
    return concatenate(parts) if len(parts) > 1 else parts[0]


def _or_empty(term: Term) -> Term:
    return terms.first_known([term, Term(Literal(0), CategoryType(("",)))]) if term.nullable else term


def strftime(given: Sequence[Term], written: Sequence[Expression]) -> Term:
    """STRFTIME of a date; the reader has looked at the form."""
    form = written[1].value if len(written) == 2 and isinstance(written[1], Constant) else None
    if not isinstance(form, str):
        raise WrongType("STRFTIME requires a date and a constant format", remedy="write STRFTIME(day, '%Y-%m')")
    return date_text(given[0], form)


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
        return _with_labels(left, [f"{text}{ending}" for text in one])
    if (beginning := text_constant(left)) is not None:
        return _with_labels(right, [f"{beginning}{text}" for text in two])
    first, second = left.node, right.node
    if isinstance(first, TextColumn) or isinstance(second, TextColumn):
        raise WrongType("private text cannot be concatenated", remedy="declare the column's values in the catalog")
    place = terms.plus(terms.times(first, Literal(len(two))), second)
    combined = Term(place, CategoryType(tuple(range(len(one) * len(two)))))
    return _with_labels(combined, [f"{start}{end}" for start in one for end in two])


def _from_zero(term: Term, texts: Sequence[str], in_order: bool = False) -> Term:
    """The text of a number or a date, given one for each value of its range."""
    node = terms.plus(_node(term), Literal(-_node(term).low))
    kept = None if term.points is None else {point - _node(term).low for point in term.points}
    return _with_labels(Term(node, CategoryType(tuple(range(len(texts))))), texts, kept, in_order)


def _with_labels(term: Term, texts: Sequence[str], kept: set[int] | None = None, in_order: bool = False) -> Term:
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


# --- rules: from the arguments, as terms and as written, to a term -----------------------------------------------------------


Rule = Callable[[Sequence[Term], Sequence[Expression]], Term]


def of_numbers(function: Callable[..., Term], count: int) -> Rule:
    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        _expect(given, count, count)
        return function(*(as_number(term) for term in given))

    return apply


def _expect(given: Sequence[Term], least: int, most: int) -> None:
    if not least <= len(given) <= most:
        raise WrongType(f"expected {least if least == most else f'{least} to {most}'} arguments, not {len(given)}")


def add(given: Sequence[Term], written: Sequence[Expression]) -> Term:
    return _shift(given, written, 1)


def subtract(given: Sequence[Term], written: Sequence[Expression]) -> Term:
    _expect(given, 2, 2)
    left, right = given
    if (divisor := _rest_of(written)) is not None:
        return tens_below(as_number(left), divisor)
    if isinstance(left.type, DateType) and isinstance(right.type, DateType):
        days = terms.plus(dates.date_node(left), terms.times(dates.date_node(right), Literal(-1)))
        return Term(days, NumberType(Fraction(1)))
    return _shift(given, written, -1)


def _rest_of(written: Sequence[Expression]) -> Fraction | None:
    """The n of x - x % n; None where something else is written."""
    left, right = written
    if isinstance(right, Apply) and right.function == "%" and plain(right.arguments[0]) == plain(left):
        divisor = right.arguments[1]
        return divisor.value if isinstance(divisor, Constant) and isinstance(divisor.value, Fraction) else None
    return None


def _shift(given: Sequence[Term], written: Sequence[Expression], direction: int) -> Term:
    """A number plus or minus a number, or a date plus or minus days."""
    _expect(given, 2, 2)
    left, right = given
    if isinstance(left.type, DateType):
        days = terms.constant_of(right)
        if days is None or days.denominator != 1:
            raise WrongType("a date can be shifted by a constant integer number of days only", remedy="write day + INTERVAL 7 DAY")
        return dates.check_calendar(Term(terms.plus(dates.date_node(left), Literal(direction * int(days))), DateType()))
    left, right = as_number(left), as_number(right)
    return terms.add(left, right) if direction > 0 else terms.subtract(left, right)


def interval(_: Sequence[Term], written: Sequence[Expression]) -> Term:
    count, unit = (part.value if isinstance(part, Constant) else None for part in written)
    days = {"day": 1, "week": 7}.get(str(unit))
    if days is None or not isinstance(count, Fraction):
        raise NotAllowed("an interval must be a constant number of days or weeks", remedy="write INTERVAL 7 DAY")
    return terms.constant(count * days)


def to_decimals(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 1, 2)
    return terms.rounded(as_number(given[0]), _whole(given[1], -6, 6) if len(given) == 2 else 0)


def power(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 2, 2)
    return terms.power(as_number(given[0]), _whole(given[1], 1, 4))


def _whole(term: Term, low: int, high: int) -> int:
    value = terms.constant_of(term)
    if value is None or value.denominator != 1 or not low <= value <= high:
        raise WrongType(f"a whole constant from {low} to {high} is required here")
    return int(value)


def bucket(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 4, 4)
    low, high = terms.constant_of(given[1]), terms.constant_of(given[2])
    if low is None or high is None or low >= high:
        raise WrongType("WIDTH_BUCKET requires a number, two constants (the lower first) and a count", remedy="swap the two")
    return terms.width_bucket(as_number(given[0]), low, high, _whole(given[3], 1, 100_000))


def null_if(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 2, 2)
    empty = Term(Literal(None), given[0].type)
    return terms.cases([(compare("=", *given), empty)], given[0])


def first_known(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 1, 50)
    return terms.first_known(given)


def extreme(greatest: bool) -> Rule:
    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        _expect(given, 1, 50)
        return terms.extreme(given, greatest)

    return apply


def of_values(function: Callable[..., Value]) -> Rule:
    """A function of public text, decided value by value; further arguments are constants."""

    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        term, rest = given[0], [constant_value(extra) for extra in given[1:]]
        if not isinstance(term.type, CategoryType) or not all(isinstance(value, str) for value in term.type.values):
            raise WrongType("text functions require a column with declared values", remedy="declare the column's values")
        return with_images(term, [function(value, *rest) for value in term.type.values])

    return apply


def with_images(term: Term, images: Sequence[Value]) -> Term:
    """The term whose code stands for another value; numbers become numbers."""
    if all(isinstance(image, int) and not isinstance(image, bool) for image in images):
        table = [int(image) for image in images]
        return Term(terms.lookup(term, table), NumberType(Fraction(1)), points=tuple(sorted(set(table))))
    places = {image: code for code, image in enumerate(dict.fromkeys(images))}
    return Term(terms.lookup(term, [places[image] for image in images]), CategoryType(tuple(places)))


def cut_text(text: str, start: terms.Constant, length: terms.Constant | None = None) -> str:
    begin = _count_of(start, 1) - 1
    return text[begin:] if length is None else text[begin : begin + _count_of(length, 0)]


def _count_of(number: terms.Constant, least: int) -> int:
    if not isinstance(number, Fraction) or number.denominator != 1 or number < least:
        raise WrongType(f"SUBSTRING requires integers of at least {least}", remedy="count characters from 1")
    return int(number)


def truncate(given: Sequence[Term], written: Sequence[Expression]) -> Term:
    unit = written[0].value if isinstance(written[0], Constant) else None
    if unit not in dates.TRUNCATIONS:
        raise NotAllowed("DATE_TRUNC requires one of 'year', 'quarter', 'month', 'week' or 'day'")
    return dates.truncate_to(str(unit), given[1])


def part(name: str) -> Rule:
    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        _expect(given, 1, 1)
        return dates.part(name, given[0])

    return apply


def cast_number(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    term = as_number(given[0])
    terms.number_node(term)
    return term


def cast_same(kind: type, name: str) -> Rule:
    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        if not isinstance(given[0].type, kind):
            raise WrongType(f"a cast to {name} of {terms.word(given[0].type)} is not supported")
        return given[0]

    return apply
