"""What is made of released numbers: arithmetic on them in SELECT and ORDER BY, and conditions on them in HAVING."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import partial

from tacit.errors import NotAllowed, WrongType
from tacit.privacy.catalog import Value
from tacit.query.binding import terms
from tacit.query.binding.binder import AGGREGATES, placed
from tacit.query.binding.comparisons import those_that_can_be, undeclared
from tacit.query.binding.select_list import Asked
from tacit.query.language.syntax import Apply, Constant, Expression, Scalar
from tacit.query.plan import BooleanType, CategoryType, DateType, NumberType, Type
from tacit.query.results import Arithmetic, Fixed, KeyValue, Number, Out, Result, Rounded, Test


@dataclass(frozen=True, slots=True)
class Results:
    """Reads expressions over released numbers; the aggregates in them are collected by `asked`."""

    asked: Asked

    def out(self, expression: Expression) -> Out:
        """An expression over released numbers and keys."""
        if isinstance(expression, Apply) and expression.function in AGGREGATES:
            return self.asked.result(self.asked.call(expression))
        if isinstance(expression, Scalar):
            return self.asked.beside(expression)
        if isinstance(expression, Apply) and expression.function == "grouping":
            return self.asked.grouping(expression)
        if (key := self.asked.key(expression)) is not None:
            return key
        if isinstance(expression, Constant) and isinstance(expression.value, Fraction):
            return Number(expression.value)
        if isinstance(expression, Constant) and not isinstance(expression.value, date | Fraction):
            return Fixed(expression.value)
        read = OUTS.get(expression.function) if isinstance(expression, Apply) else None
        if read is not None and isinstance(expression, Apply):
            return read(self, expression)
        raise NotAllowed(
            "every expression must be an aggregate, a column of GROUP BY, or arithmetic on them",
            remedy="add it to GROUP BY, or aggregate it",
            at=expression.at,
        )

    def negative(self, expression: Apply) -> Out:
        """The number with the other sign."""
        return Arithmetic("-", Number(Fraction(0)), self.number(expression.arguments[0]))

    def same_number(self, expression: Apply) -> Out:
        """The number as it is: a cast to a fractional type changes nothing."""
        return self.number(expression.arguments[0])

    def rounded(self, expression: Apply) -> Out:
        """The number, rounded to decimals."""
        return Rounded(self.number(expression.arguments[0]), self.decimals(expression))

    def arithmetic(self, expression: Apply) -> Out:
        """Two numbers, or the days between two dates."""
        left, right = (self.out(argument) for argument in expression.arguments)
        if expression.function != "-" or {self.kind(left), self.kind(right)} != {"date"}:
            left, right = (self.number(argument) for argument in expression.arguments)
        return Arithmetic(expression.function, left, right)  # type: ignore[arg-type]

    def number(self, expression: Expression) -> Out:
        found = self.out(expression)
        if self.kind(found) not in ("number", "null"):
            raise WrongType(f"arithmetic requires numbers, not a {self.kind(found)}", at=expression.at)
        return found

    def kind(self, out: Out) -> str:
        """What a result is: a number, a date, a text or a truth; "value" where a key has several of them."""
        if isinstance(out, Fixed):
            return "null" if out.value is None else terms.typed(out.value)[0]
        if isinstance(out, Result):
            return "date" if self.asked.calls[out.index].is_date else "number"
        return _kind(self.asked.keys[out.index].term.type) if isinstance(out, KeyValue) else "number"

    def decimals(self, expression: Apply) -> int:
        if len(expression.arguments) == 1:
            return 0
        value = terms.constant_of(self.asked.binder.term(expression.arguments[1]))
        if value is not None and value.denominator == 1 and abs(value) <= 12:
            return int(value)
        raise WrongType("the decimals of ROUND must be an integer from -12 to 12", at=expression.at)

    # --- HAVING ---

    def test(self, expression: Expression) -> Test:
        """A condition of HAVING on released numbers and keys."""
        read = TESTS.get(expression.function) if isinstance(expression, Apply) else None
        if read is not None and isinstance(expression, Apply):
            return read(self, expression)
        raise NotAllowed(
            "HAVING compares aggregates and keys with constants", remedy="for example HAVING COUNT(*) > 100", at=expression.at
        )

    def joined(self, expression: Apply) -> Test:
        """Tests joined by AND or OR, or one under NOT."""
        return Test(expression.function, tuple(self.test(part) for part in expression.arguments))  # type: ignore[arg-type]

    def comparison(self, expression: Apply) -> Test:
        """One comparison."""
        return Test(expression.function, self.sides(expression))  # type: ignore[arg-type]

    def between(self, expression: Apply) -> Test:
        """BETWEEN, as two comparisons."""
        value, low, high = expression.arguments
        ends = (Apply(">=", (value, low), expression.at), Apply("<=", (value, high), expression.at))
        return Test("and", tuple(map(self.test, ends)))

    def among(self, expression: Apply) -> Test:
        """IN, as equalities with those of the values that can occur."""
        value, *options = expression.arguments
        equal = [partial(self.test, Apply("=", (value, option), expression.at)) for option in options]
        return Test("or", tuple(those_that_can_be(equal)))

    def sides(self, expression: Apply) -> tuple[Out | Value | None, ...]:
        """The two sides of a comparison, of one kind; a text beside a date is read as one."""
        (one, first), (two, second) = (self.side(part) for part in expression.arguments)
        for key, value in ((one, two), (two, one)):
            self.check_key(key, value, expression)
        if {first, second} == {"date", "text"}:
            one, two = (_day(part) if isinstance(part, str) else part for part in (one, two))
        elif first != second and not {first, second} & {"value", "null"}:
            raise WrongType(f"a {first} is compared with a {second}", remedy="compare like with like", at=expression.at)
        return one, two

    def check_key(self, key: object, value: object, expression: Apply) -> None:
        """Refuses a key that is compared with a text which is none of its declared values."""
        term = self.asked.keys[key.index].term if isinstance(key, KeyValue) else None
        if expression.function in ("=", "<>") and isinstance(value, str) and term and isinstance(term.type, CategoryType):
            known = {each for each in term.type.values if isinstance(each, str)}
            if known and value not in known:
                raise placed(undeclared(term, value), expression.at)

    def side(self, expression: Expression) -> tuple[Out | Value | None, str]:
        """One side of a comparison and its kind; dates are compared as 2020-12-31."""
        if isinstance(expression, Constant) and not isinstance(expression.value, Fraction):
            match expression.value:
                case None:
                    return None, "null"
                case date():
                    return expression.value.isoformat(), "date"
                case value:
                    return value, terms.typed(value)[0]
        out = self.out(expression)
        return out, self.kind(out)


OUTS: Mapping[str, Callable[[Results, Apply], Out]] = {
    **dict.fromkeys(("+", "-", "*", "/"), Results.arithmetic),
    "negate": Results.negative,
    "cast_number": Results.same_number,
    "round": Results.rounded,
    "cast_integer": Results.rounded,
}
TESTS: Mapping[str, Callable[[Results, Apply], Test]] = {
    **dict.fromkeys(("and", "or", "not"), Results.joined),
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), Results.comparison),
    "between": Results.between,
    "in": Results.among,
}


def _kind(meaning: Type) -> str:
    match meaning:
        case CategoryType(values):
            kinds = {terms.typed(value)[0] for value in values}
            return kinds.pop() if len(kinds) == 1 else "value"
        case DateType():
            return "date"
        case BooleanType():
            return "truth"
        case NumberType():
            return "number"
        case _:
            return "text"


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise WrongType("invalid date: expected a text such as '2020-12-31'", remedy="write DATE '2020-12-31'") from None
