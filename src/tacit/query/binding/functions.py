"""The functions of a row, by name: from terms to a term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from tacit.errors import NotAllowed, WrongType
from tacit.privacy.catalog import Value
from tacit.query.binding import curves, dates, terms, texts
from tacit.query.binding.comparisons import as_number, compared, constant_value
from tacit.query.binding.naming import plain
from tacit.query.language.syntax import Apply, Constant, Expression
from tacit.query.plan import (
    BooleanType,
    CategoryType,
    DateType,
    Literal,
    NumberType,
    Term,
)

Function = Callable[[Sequence[Term], Sequence[Expression]], Term]


def _numbers(function: Callable[..., Term], count: int) -> Function:
    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        _expect(given, count, count)
        return function(*(as_number(term) for term in given))

    return apply


def _expect(given: Sequence[Term], least: int, most: int) -> None:
    if not least <= len(given) <= most:
        raise WrongType(f"expected {least if least == most else f'{least} to {most}'} arguments, not {len(given)}")


def _add(given: Sequence[Term], written: Sequence[Expression]) -> Term:
    return _shift(given, written, 1)


def _subtract(given: Sequence[Term], written: Sequence[Expression]) -> Term:
    _expect(given, 2, 2)
    left, right = given
    if (divisor := _rest_of(written)) is not None:
        return texts.tens_below(as_number(left), divisor)
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
        return dates.checked(Term(terms.plus(dates.date_node(left), Literal(direction * int(days))), DateType()))
    left, right = as_number(left), as_number(right)
    return terms.add(left, right) if direction > 0 else terms.subtract(left, right)


def _interval(_: Sequence[Term], written: Sequence[Expression]) -> Term:
    count, unit = (part.value if isinstance(part, Constant) else None for part in written)
    days = {"day": 1, "week": 7}.get(str(unit))
    if days is None or not isinstance(count, Fraction):
        raise NotAllowed("an interval must be a constant number of days or weeks", remedy="write INTERVAL 7 DAY")
    return terms.constant(count * days)


def _round(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 1, 2)
    return terms.rounded(as_number(given[0]), _whole(given[1], -6, 6) if len(given) == 2 else 0)


def _power(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 2, 2)
    return terms.power(as_number(given[0]), _whole(given[1], 1, 4))


def _whole(term: Term, low: int, high: int) -> int:
    value = terms.constant_of(term)
    if value is None or value.denominator != 1 or not low <= value <= high:
        raise WrongType(f"a whole constant from {low} to {high} is required here")
    return int(value)


def _bucket(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 4, 4)
    low, high = terms.constant_of(given[1]), terms.constant_of(given[2])
    if low is None or high is None or low >= high:
        raise WrongType("WIDTH_BUCKET requires a number, two constants (the lower first) and a count", remedy="swap the two")
    return terms.width_bucket(as_number(given[0]), low, high, _whole(given[3], 1, 100_000))


def _nullif(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 2, 2)
    empty = Term(Literal(None), given[0].type)
    return terms.cases([(compared("=", *given), empty)], given[0])


def _coalesce(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 1, 50)
    return terms.first_known(given)


def _extreme(greatest: bool) -> Function:
    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        _expect(given, 1, 50)
        return terms.extreme(given, greatest)

    return apply


def _of_values(function: Callable[..., Value]) -> Function:
    """A function of public text, decided value by value; further arguments are constants."""

    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        term, rest = given[0], [constant_value(extra) for extra in given[1:]]
        if not isinstance(term.type, CategoryType) or not all(isinstance(value, str) for value in term.type.values):
            raise WrongType("text functions require a column with declared values", remedy="declare the column's values")
        return relabelled(term, [function(value, *rest) for value in term.type.values])

    return apply


def relabelled(term: Term, images: Sequence[Value]) -> Term:
    """The term whose code stands for another value; numbers become numbers."""
    if all(isinstance(image, int) and not isinstance(image, bool) for image in images):
        table = [int(image) for image in images]
        return Term(terms.lookup(term, table), NumberType(Fraction(1)), points=tuple(sorted(set(table))))
    places = {image: code for code, image in enumerate(dict.fromkeys(images))}
    return Term(terms.lookup(term, [places[image] for image in images]), CategoryType(tuple(places)))


def _substring(text: str, start: terms.Constant, length: terms.Constant | None = None) -> str:
    begin = _counted(start, 1) - 1
    return text[begin:] if length is None else text[begin : begin + _counted(length, 0)]


def _counted(number: terms.Constant, least: int) -> int:
    if not isinstance(number, Fraction) or number.denominator != 1 or number < least:
        raise WrongType(f"SUBSTRING requires integers of at least {least}", remedy="count characters from 1")
    return int(number)


def _truncate(given: Sequence[Term], written: Sequence[Expression]) -> Term:
    unit = written[0].value if isinstance(written[0], Constant) else None
    if unit not in dates.TRUNCATIONS:
        raise NotAllowed("DATE_TRUNC requires one of 'year', 'quarter', 'month', 'week' or 'day'")
    return dates.truncated(str(unit), given[1])


def _part(name: str) -> Function:
    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        _expect(given, 1, 1)
        return dates.part(name, given[0])

    return apply


def _cast_number(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    term = as_number(given[0])
    terms.number_node(term)
    return term


def _cast_same(kind: type, name: str) -> Function:
    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        if not isinstance(given[0].type, kind):
            raise WrongType(f"a cast to {name} of {terms.word(given[0].type)} is not supported")
        return given[0]

    return apply


FUNCTIONS: dict[str, Function] = {
    "+": _add,
    "-": _subtract,
    "*": _numbers(terms.multiply, 2),
    "/": _numbers(terms.divide, 2),
    "%": _numbers(terms.modulo, 2),
    "negate": _numbers(terms.negate, 1),
    "abs": _numbers(terms.absolute, 1),
    "sign": _numbers(terms.sign, 1),
    "floor": _numbers(terms.floor, 1),
    "ceil": _numbers(terms.ceil, 1),
    "round": _round,
    "power": _power,
    "sqrt": _numbers(curves.root, 1),
    "ln": _numbers(curves.logarithm("e"), 1),
    "log10": _numbers(curves.logarithm("10"), 1),
    "exp": _numbers(curves.exponential, 1),
    "width_bucket": _bucket,
    "nullif": _nullif,
    "coalesce": _coalesce,
    "least": _extreme(greatest=False),
    "greatest": _extreme(greatest=True),
    "interval": _interval,
    "lower": _of_values(str.lower),
    "upper": _of_values(str.upper),
    "trim": _of_values(str.strip),
    "length": _of_values(len),
    "substring": _of_values(_substring),
    "concat": lambda given, _: texts.joined(given),
    "concat_all": lambda given, _: texts.joined_whole(given),
    "strftime": texts.strftime,
    "date_trunc": _truncate,
    **{name: _part(name) for name in dates.PARTS},
    "cast_integer": _numbers(terms.rounded, 1),
    "cast_number": _cast_number,
    "cast_date": _cast_same(DateType, "DATE"),
    "cast_text": lambda given, _: texts.as_text(given[0]),
    "cast_boolean": _cast_same(BooleanType, "BOOLEAN"),
}
