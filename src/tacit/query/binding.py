"""Names and functions of a question to terms with a meaning and a range, against what the catalog declares."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any, Protocol
from unicodedata import normalize

from tacit.errors import NoBounds, NotAllowed, Refused, UnknownName, WrongType
from tacit.privacy import catalog
from tacit.privacy.catalog import Table, Value, day_number
from tacit.query import dates, terms
from tacit.query.extent import Extent
from tacit.query.plan import (
    Among,
    BooleanType,
    CategoryType,
    Column,
    Compare,
    Condition,
    DateType,
    Either,
    IsNull,
    Literal,
    Negation,
    NumberType,
    Term,
    TextColumn,
    TextIs,
    TextLike,
    TextType,
    Truth,
    Type,
)
from tacit.query.surface import Apply, At, Constant, Expression, Name, Star

AGGREGATES = frozenset(
    "count count_distinct sum avg min max median quantile var_pop var_samp stddev_pop stddev_samp".split()  # noqa: SIM905
)
CONDITIONS = frozenset("and or not = <> < <= > >= in between like ilike is_null is_true is_false".split())  # noqa: SIM905


class PublicFacts(Protocol):
    """What is known of the public tables, from their contents."""

    def columns(self, table: str) -> Mapping[str, catalog.Column]:
        """Every column of a public table, declared or found."""

    def fan_out(self, table: str, column: str) -> int:
        """The most rows of a public table that share one value of a column."""


@dataclass(frozen=True, slots=True)
class Source:
    """A table of the question, under the name by which columns call it; `using` is the column that it shares with the others."""

    alias: str
    table: Table
    columns: Mapping[str, catalog.Column]
    optional: bool = False
    using: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where names are looked up: the private table first, then the public ones in their order."""

    sources: tuple[Source, ...]

    def find(self, name: Name) -> tuple[int, catalog.Column]:
        """The source and the column that a name means; unique, or refused."""
        wanted = name.parts[-1].lower()
        sources = [
            (index, source)
            for index, source in enumerate(self.sources)
            if len(name.parts) == 1 or source.alias.lower() == name.parts[0].lower()
        ]
        if not sources:
            raise UnknownName(
                f"no table {name.parts[0][:60]!r} in the question", remedy=_nearest(name.parts[0], self._aliases()), at=name.at
            )
        found = [(index, source.columns[wanted]) for index, source in sources if wanted in source.columns]
        if not found:
            known = [column.name for _, source in sources for column in source.columns.values()]
            raise UnknownName(f"no column {name.parts[-1][:60]!r} is declared", remedy=_nearest(name.parts[-1], known), at=name.at)
        if len(found) > 1 and len(name.parts) == 1:
            found = [(index, column) for index, column in found if self.sources[index].using != wanted]
        if len(found) > 1:
            raise UnknownName(f"the column {wanted[:60]!r} is in several tables", remedy="write table.column", at=name.at)
        return found[0]

    def _aliases(self) -> list[str]:
        return [source.alias for source in self.sources]

    def term(self, name: Name) -> Term:
        """The term of a column."""
        index, column = self.find(name)
        source = self.sources[index]
        nullable = column.nullable or source.optional
        key = column.name.lower()
        if column.kind == "text":
            return Term(TextColumn(index, key, nullable), TextType())
        if column.kind == "key":
            raise NotAllowed(
                f"{source.alias}.{column.name} identifies a person", remedy="use it in COUNT(DISTINCT ...) only", at=name.at
            )
        if column.kind == "presence":
            raise _no_bounds(source, column, name.at)
        return column_term(index, column, nullable)


def column_term(index: int, column: catalog.Column, nullable: bool) -> Term:
    """A declared column as a term: its stored offset, moved to the multiples of its step."""
    if column.kind == "category" or column.bounds is None or column.step is None:
        return Term(Column(index, column.name.lower(), 0, max(column.points - 1, 0), nullable), CategoryType(column.domain))
    meaning: Type = DateType() if column.kind == "date" else NumberType(column.step)
    low = column.bounds[0] / column.step
    if low.denominator == 1:
        terms.checked(int(low), int(low) + column.points - 1)
        return Term(Column(index, column.name.lower(), int(low), int(low) + column.points - 1, nullable), meaning)
    offset = Term(Column(index, column.name.lower(), 0, column.points - 1, nullable), meaning)
    return terms.add(offset, terms.constant(column.bounds[0]))


def _no_bounds(source: Source, column: catalog.Column, at: At) -> NoBounds:
    return NoBounds(
        f"{source.table.name}.{column.name} has neither bounds nor values, so nothing finite is known of it",
        remedy=f"declare them in tacit.toml, for example: {column.name} = {{ bounds = [0, 100] }}",
        at=at,
    )


def _nearest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name.lower(), [word.lower() for word in known], n=1)
    spelled = next((word for word in known if close and word.lower() == close[0]), None)
    if spelled:
        return f"did you mean {spelled}?"
    return f"declared are: {', '.join(sorted(known)[:20])}" if known else "nothing is declared there"


# --- expressions -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds expressions in a scope. A refusal gets the place of the innermost expression that caused it."""

    scope: Scope
    extent: Extent = field(default_factory=Extent)

    def term(self, expression: Expression) -> Term:
        """A value of a row."""
        try:
            found = self._term(expression)
            self.extent.check(found.node)
        except Refused as refusal:
            raise _placed(refusal, expression.at) from None
        return found

    def condition(self, expression: Expression) -> Condition:
        """Something true, false or unknown of a row."""
        try:
            found = self._condition(expression)
            self.extent.check(found)
        except Refused as refusal:
            raise _placed(refusal, expression.at) from None
        return found

    def _term(self, expression: Expression) -> Term:
        if isinstance(expression, Name):
            return self.scope.term(expression)
        if isinstance(expression, Constant):
            return constant_term(expression.value)
        if isinstance(expression, Star):
            raise NotAllowed("the star belongs to COUNT(*)", remedy="write COUNT(*)")
        if expression.function in CONDITIONS:
            return terms.truth_value(self._condition(expression))
        if expression.function in AGGREGATES:
            raise NotAllowed("an aggregate cannot stand here", remedy="aggregates belong to SELECT, HAVING and ORDER BY")
        if expression.function == "case":
            return self._case(expression.arguments)
        function = FUNCTIONS.get(expression.function)
        if function is None:
            raise NotAllowed(
                f"{expression.function.upper()} is not answered here", remedy="see the reference for what may be asked"
            )
        return function([self.term(argument) for argument in expression.arguments], expression.arguments)

    def _case(self, arguments: tuple[Expression, ...]) -> Term:
        pairs = zip(arguments[0:-1:2], arguments[1:-1:2], strict=True)
        return terms.cases([(self.condition(test), self.term(result)) for test, result in pairs], self.term(arguments[-1]))

    def _condition(self, expression: Expression) -> Condition:
        if not isinstance(expression, Apply) or expression.function not in CONDITIONS:
            return terms.holds(self.term(expression))
        arguments = expression.arguments
        match expression.function:
            case "and":
                return terms.all_of([self.condition(part) for part in arguments])
            case "or":
                return Either(tuple(self.condition(part) for part in arguments))
            case "not":
                return Negation(self.condition(arguments[0]))
            case "in":
                return self._in(self.term(arguments[0]), arguments[1:])
            case "between":
                value, low, high = (self.term(part) for part in arguments)
                return terms.all_of([compared(">=", value, low), compared("<=", value, high)])
            case "like" | "ilike":
                return like(self.term(arguments[0]), _text(arguments[1]), expression.function == "ilike")
            case "is_null":
                return self._is_null(arguments[0])
            case "is_true" | "is_false":
                found = self.condition(arguments[0])
                wanted = found if expression.function == "is_true" else Negation(found)
                return Compare("=", terms.choose([(wanted, Literal(1))], Literal(0)), Literal(1))
            case symbol:
                return compared(symbol, self.term(arguments[0]), self.term(arguments[1]))

    def _in(self, term: Term, options: Sequence[Expression]) -> Condition:
        values = [self.term(option) for option in options]
        if not all(isinstance(value.node, Literal) for value in values):
            raise NotAllowed("IN is answered with a list of constants", remedy="write the values out")
        return _any_of([compared("=", term, value) for value in values])

    def _is_null(self, expression: Expression) -> Condition:
        if isinstance(expression, Name):
            index, column = self.scope.find(expression)
            if column.kind == "presence":
                return IsNull(Column(index, column.name.lower(), 0, 0, True))
        term = self.term(expression)
        return IsNull(term.node) if term.nullable else Truth(False)


def _any_of(parts: Sequence[Condition]) -> Condition:
    """Any of these equalities: one list where all compare the same number with a constant, so that plans stay short."""
    numbers = [part for part in parts if isinstance(part, Compare) and isinstance(part.right, Literal)]
    if len(numbers) < len(parts) or len({part.left for part in numbers}) > 1:
        return Either(tuple(parts))
    return Among(numbers[0].left, tuple(part.right.value for part in numbers))  # type: ignore[union-attr, misc]  # no NULL among them


def _placed(refusal: Refused, at: At) -> Refused:
    return refusal if refusal.at or at is None else type(refusal)(refusal.message, remedy=refusal.remedy, at=at)


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
    """The text of a constant; None where it is no text constant."""
    if isinstance(term.node, Literal) and isinstance(term.type, CategoryType) and len(term.type.values) == 1:
        value = term.type.values[0]
        return value if isinstance(value, str) else None
    return None


_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
_POSITIVE = {"<>": "="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def compared(symbol: str, left: Term, right: Term) -> Condition:
    """left symbol right, whatever the two are."""
    if isinstance(left.node, Literal) and not isinstance(right.node, Literal):
        return compared(_MIRRORED[symbol], right, left)
    if Literal(None) in (left.node, right.node):
        return Truth(None)
    if isinstance(left.type, DateType) and text_constant(right) is not None:
        right = constant_term(_day(text_constant(right) or ""))
    if isinstance(left.node, TextColumn):
        return _text_compared(symbol, left.node, text_constant(right))
    if isinstance(left.type, CategoryType) and isinstance(right.node, Literal):
        return _category_compared(symbol, left, _constant_value(right))
    if isinstance(left.type, BooleanType) and isinstance(right.type, BooleanType | NumberType):
        left, right = as_number(left), as_number(right)
    if isinstance(left.type, CategoryType) and symbol not in ("=", "<>"):
        raise WrongType("two categories can be compared with = and <> only", remedy="compare each with a constant")
    return terms.compare(symbol, left, right)


def _constant_value(term: Term) -> terms.Constant:
    """The text, truth or number that a constant is."""
    if isinstance(term.node, Literal) and term.node.value is not None:
        match term.type:
            case CategoryType(values):
                return values[term.node.value]
            case BooleanType():
                return bool(term.node.value)
            case NumberType(step):
                return term.node.value * step
    raise WrongType("a constant is needed here: a text, a number or a truth", remedy="write the value out")


def _category_compared(symbol: str, term: Term, value: terms.Constant) -> Condition:
    assert isinstance(term.type, CategoryType)  # noqa: S101  # the caller has looked
    alike = [known for known in term.type.values if terms.typed(known)[0] == terms.typed(value)[0]]
    if not alike:
        raise WrongType("the values of the category are of another kind than the constant", remedy="compare like with like")
    found = terms.among(term, [known for known in alike if _ORDERED[_POSITIVE.get(symbol, symbol)](known, value)])
    return found if symbol not in _POSITIVE else Negation(found)


def _text_compared(symbol: str, node: TextColumn, text: str | None) -> Condition:
    if text is None or symbol not in ("=", "<>"):
        raise WrongType("private text can be compared with a text constant by = and <> only", remedy="use = or LIKE")
    found = TextIs(node, (text,))
    return found if symbol == "=" else Negation(found)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise WrongType("a date is compared with a text that is no date", remedy="write DATE '2020-12-31'") from None


def _text(expression: Expression) -> str:
    if isinstance(expression, Constant) and isinstance(expression.value, str):
        return normalize("NFC", expression.value)
    raise NotAllowed("LIKE is answered with a constant pattern", remedy="write the pattern as text")


def like(term: Term, pattern: str, ignore_case: bool) -> Condition:
    """LIKE: on public values it is decided here; on private text the engine gets the constant pattern."""
    if "\\" in pattern:
        raise NotAllowed("a backslash in a pattern means different things to different engines", remedy="leave it out")
    if isinstance(term.node, TextColumn):
        if ignore_case:
            raise NotAllowed("ILIKE on private text is not answered", remedy="use LIKE")
        return TextLike(term.node, pattern)
    if not isinstance(term.type, CategoryType):
        raise WrongType(f"LIKE is for text, not for {terms.word(term.type)}", remedy="compare it with <, = or BETWEEN")
    fold: Callable[[str], str] = str.casefold if ignore_case else str
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


# --- functions of terms ------------------------------------------------------------------------------------------------------

Function = Callable[[Sequence[Term], Sequence[Expression]], Term]


def _numbers(function: Callable[..., Term], count: int) -> Function:
    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        _expect(given, count, count)
        return function(*(as_number(term) for term in given))

    return apply


def _expect(given: Sequence[Term], least: int, most: int) -> None:
    if not least <= len(given) <= most:
        raise WrongType(f"the function takes {least if least == most else f'{least} to {most}'} arguments, not {len(given)}")


def _add(given: Sequence[Term], written: Sequence[Expression]) -> Term:
    return _shift(given, written, 1)


def _subtract(given: Sequence[Term], written: Sequence[Expression]) -> Term:
    _expect(given, 2, 2)
    left, right = given
    if isinstance(left.type, DateType) and isinstance(right.type, DateType):
        days = terms.plus(dates.date_node(left), terms.times(dates.date_node(right), Literal(-1)))
        return Term(days, NumberType(Fraction(1)))
    return _shift(given, written, -1)


def _shift(given: Sequence[Term], written: Sequence[Expression], direction: int) -> Term:
    """A number plus or minus a number, or a date plus or minus days."""
    _expect(given, 2, 2)
    left, right = given
    if isinstance(left.type, DateType):
        days = terms.constant_of(right)
        if days is None or days.denominator != 1:
            raise WrongType("a date is moved by a whole, constant number of days", remedy="write day + INTERVAL 7 DAY")
        return dates.checked(Term(terms.plus(dates.date_node(left), Literal(direction * int(days))), DateType()))
    left, right = as_number(left), as_number(right)
    return terms.add(left, right) if direction > 0 else terms.subtract(left, right)


def _interval(_: Sequence[Term], written: Sequence[Expression]) -> Term:
    count, unit = (part.value if isinstance(part, Constant) else None for part in written)
    days = {"day": 1, "week": 7}.get(str(unit))
    if days is None or not isinstance(count, Fraction):
        raise NotAllowed("an interval is a constant number of days or weeks", remedy="write INTERVAL 7 DAY")
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
        raise WrongType(f"a whole constant from {low} to {high} is needed here")
    return int(value)


def _bucket(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 4, 4)
    low, high = terms.constant_of(given[1]), terms.constant_of(given[2])
    if low is None or high is None or low >= high:
        raise WrongType("WIDTH_BUCKET takes a number, two constants (the lower first) and a count", remedy="swap the two")
    return terms.width_bucket(as_number(given[0]), low, high, _whole(given[3], 1, 100_000))


def _nullif(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 2, 2)
    empty = Term(Literal(None), given[0].type)
    return terms.cases([(compared("=", *given), empty)], given[0])


def _coalesce(given: Sequence[Term], _: Sequence[Expression]) -> Term:
    _expect(given, 1, 50)
    return terms.first_known(given)


def _extreme(symbol: str) -> Function:
    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        _expect(given, 1, 50)
        if symbol == "<":
            return terms.extreme(given, lambda left, right: Compare("<=", left, right))
        return terms.extreme(given, lambda left, right: Compare("<=", right, left))

    return apply


def _of_values(function: Callable[..., Value]) -> Function:
    """A function of public text, decided value by value; further arguments are constants."""

    def apply(given: Sequence[Term], _: Sequence[Expression]) -> Term:
        term, rest = given[0], [_constant_value(extra) for extra in given[1:]]
        if not isinstance(term.type, CategoryType) or not all(isinstance(value, str) for value in term.type.values):
            raise WrongType("text functions are for columns with declared values", remedy="declare the column's values")
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
        raise WrongType(f"SUBSTRING takes whole numbers of at least {least}", remedy="count characters from 1")
    return int(number)


def _concat(text: str, more: terms.Constant) -> str:
    if not isinstance(more, str):
        raise WrongType("|| joins text with text", remedy="write the number in quotes")
    return f"{text}{more}"


def _truncate(given: Sequence[Term], written: Sequence[Expression]) -> Term:
    unit = written[0].value if isinstance(written[0], Constant) else None
    if unit not in dates.TRUNCATIONS:
        raise NotAllowed("DATE_TRUNC takes 'year', 'quarter', 'month', 'week' or 'day'")
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
            raise WrongType(f"a cast to {name} of {terms.word(given[0].type)} is not answered here")
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
    "width_bucket": _bucket,
    "nullif": _nullif,
    "coalesce": _coalesce,
    "least": _extreme("<"),
    "greatest": _extreme(">"),
    "interval": _interval,
    "lower": _of_values(str.lower),
    "upper": _of_values(str.upper),
    "trim": _of_values(str.strip),
    "length": _of_values(len),
    "substring": _of_values(_substring),
    "concat": _of_values(_concat),
    "date_trunc": _truncate,
    **{name: _part(name) for name in dates.PARTS},
    "cast_integer": _numbers(terms.rounded, 1),
    "cast_number": _cast_number,
    "cast_date": _cast_same(DateType, "DATE"),
    "cast_text": _cast_same(CategoryType, "TEXT"),
    "cast_boolean": _cast_same(BooleanType, "BOOLEAN"),
}
