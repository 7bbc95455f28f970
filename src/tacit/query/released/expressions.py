"""Expressions over released numbers: SELECT, HAVING, QUALIFY and ORDER BY over aggregates, keys and constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import partial

from tacit.errors import NotAllowed, RangeTooLarge, Refused, WrongType
from tacit.privacy.catalog import day_number
from tacit.query.binding import terms
from tacit.query.binding.binder import at_place, check_place
from tacit.query.binding.comparisons import not_declared, those_that_can_be
from tacit.query.functions import FUNCTIONS
from tacit.query.intervals.aggregates import CHOICES, WRITTEN
from tacit.query.intervals.linear_models import MODEL
from tacit.query.language.syntax import Apply, Constant, Expression, Item, Name, Scalar
from tacit.query.plan import BooleanType, CategoryType, DateType, NumberType, Type
from tacit.query.question import (
    Arithmetic,
    Chosen,
    Coalesced,
    Day,
    Extreme,
    Fitted,
    Fixed,
    KeyValue,
    Mapped,
    NullIf,
    Number,
    Out,
    Power,
    Result,
    Rounded,
    Test,
    Window,
)
from tacit.query.released.calls import Asked, not_alone
from tacit.query.released.windows import window

# --- kinds of constants and keys: a number, a date, a text or a truth --------------------------------------------------------


def constant_out(value: Fraction | str | bool | date | None) -> Out:
    """A constant of a question."""
    match value:
        case Fraction():
            return Number(value)
        case date():
            return Day(day_number(value))
        case _:
            return Fixed(value)


def kind_of(meaning: Type) -> str:
    """The kind of a key; "value" if it has values of several kinds."""
    match meaning:
        case CategoryType(values):
            kinds = {terms.kind_and_value(value)[0] for value in values}
            return kinds.pop() if len(kinds) == 1 else "value"
        case DateType():
            return "date"
        case BooleanType():
            return "truth"
        case NumberType():
            return "number"
        case _:
            return "text"


def as_day(text: Out) -> Out:
    """A constant text beside a date, read as one."""
    try:
        return Day(day_number(date.fromisoformat(str(text.value if isinstance(text, Fixed) else ""))))
    except ValueError:
        raise WrongType("invalid date: expected a text such as '2020-12-31'", remedy="write DATE '2020-12-31'") from None


# --- expressions and conditions ----------------------------------------------------------------------------------------------


MOST_MADE = 10_000  # expressions that are read for one question, where a part that is named twice is read twice


@dataclass
class Results:
    """Reads expressions over released numbers; the aggregates in them are collected by `asked`.

    `aliases` are the names of SELECT that may stand for what they name; `windows` says whether windows may be used here.
    """

    asked: Asked
    aliases: Mapping[str, Expression] = field(default_factory=dict)
    windows: bool = True
    made: list[int] = field(default_factory=lambda: [0])

    def with_names(self, items: Sequence[Item], windows: bool = True) -> Results:
        """The same, where the names of SELECT may be used."""
        names = {item.name.lower(): item.expression for item in reversed(items) if item.name}
        return replace(self, aliases=names, windows=windows)

    def alone(self) -> Results:
        """The same inside a window, where no other may stand."""
        return replace(self, windows=False)

    def out(self, expression: Expression) -> Out:
        """An expression over released numbers, keys and constants."""
        self.made[0] += 1
        if self.made[0] > MOST_MADE:
            raise RangeTooLarge("the expressions are too large", remedy="ask for less at once", at=expression.at)
        if isinstance(expression, Constant):
            return constant_out(expression.value)
        if isinstance(expression, Apply) and expression.function in CHOICES:
            raise not_alone(expression.at)
        if isinstance(expression, Apply) and expression.function in WRITTEN:
            return self.asked.result(self.asked.call(expression))
        if isinstance(expression, Apply) and expression.function == MODEL:
            raise NotAllowed(
                "LINREG must be an item of SELECT by itself: it stands for several columns",
                remedy="use LINREG_SLOPE(1, y, x1, x2), LINREG_INTERCEPT(y, x1, x2) or LINREG_R2(y, x1, x2)",
                at=expression.at,
            )
        if isinstance(expression, Scalar):
            return self.asked.beside(expression)
        if isinstance(expression, Apply) and expression.function == "grouping":
            return self.asked.grouping(expression)
        if isinstance(expression, Apply) and expression.function == "over":
            return window(self, expression)
        if isinstance(expression, Apply):
            check_place(expression)
        if (key := self.key(expression)) is not None:
            return key
        if isinstance(expression, Name) and len(expression.parts) == 1 and expression.parts[0].lower() in self.aliases:
            return replace(self, aliases={}).out(self.aliases[expression.parts[0].lower()])
        read = OUTS.get(expression.function) if isinstance(expression, Apply) else None
        if read is not None and isinstance(expression, Apply):
            return read(self, expression)
        if isinstance(expression, Apply) and expression.function in TESTS:
            return self.test(expression)
        raise NotAllowed(
            "every expression must be an aggregate, a column of GROUP BY, a constant, or made of them",
            remedy="add it to GROUP BY, or aggregate it",
            at=expression.at,
        )

    def key(self, expression: Expression) -> KeyValue | Fixed | None:
        """The key that an expression equals; None if it does not equal one, or can only be read on released numbers."""
        if not isinstance(expression, Apply) or expression.function not in {*OUTS, *TESTS}:
            return self.asked.key(expression)
        try:
            return self.asked.key(expression)
        except Refused:
            return None

    # --- numbers ---

    def negative(self, expression: Apply) -> Out:
        """The number with the other sign."""
        number = self.number(expression.arguments[0])
        return Number(-number.value) if isinstance(number, Number) else Arithmetic("-", Number(Fraction(0)), number)

    def same_number(self, expression: Apply) -> Out:
        """The number as it is: a cast to a fractional type changes nothing."""
        return self.number(expression.arguments[0])

    def round_number(self, expression: Apply) -> Out:
        """The number, rounded to decimals."""
        return Rounded(self.number(expression.arguments[0]), self.decimals(expression))

    def decimal(self, expression: Apply) -> Out:
        """The number with a limit of digits; NULL where it has more before the point."""
        value, precision, scale = (self.number(part) for part in expression.arguments)
        assert isinstance(precision, Number) and isinstance(scale, Number)  # noqa: S101, PT018  # as it was read
        return Fitted(Rounded(value, int(scale.value)), 10 ** int(precision.value - scale.value))

    def map_number(self, expression: Apply) -> Out:
        """A function of one number."""
        return Mapped(expression.function, self.number(expression.arguments[0]))

    def power(self, expression: Apply) -> Out:
        """A number to a power."""
        base, exponent = (self.number(part) for part in expression.arguments)
        return Power(base, exponent)

    def arithmetic(self, expression: Apply) -> Out:
        """Two numbers, or the days between two dates."""
        left, right = (self.out(argument) for argument in expression.arguments)
        if expression.function != "-" or {self.kind(left), self.kind(right)} != {"date"}:
            for side, argument in zip((left, right), expression.arguments, strict=True):
                self.check_number(side, argument)
        return Arithmetic(expression.function, left, right)  # type: ignore[arg-type]

    def number(self, expression: Expression) -> Out:
        """An expression that is a number, or NULL."""
        out = self.out(expression)
        self.check_number(out, expression)
        return out

    def check_number(self, out: Out, expression: Expression) -> None:
        if self.kind(out) not in ("number", "null"):
            raise WrongType(f"arithmetic requires numbers, not a {self.kind(out)}", at=expression.at)

    def decimals(self, expression: Apply) -> int:
        if len(expression.arguments) == 1:
            return 0
        value = terms.constant_of(self.asked.binder.term(expression.arguments[1]))
        if value is not None and value.denominator == 1 and abs(value) <= 12:
            return int(value)
        raise WrongType("the decimals of ROUND must be an integer from -12 to 12", at=expression.at)

    # --- of several, one ---

    def case(self, expression: Apply) -> Out:
        """CASE: every value of one kind."""
        *parts, last = expression.arguments
        tests = [self.test(test) for test in parts[::2]]
        *values, otherwise = self.alike([*parts[1::2], last], expression)
        return Chosen(tuple(zip(tests, values, strict=True)), otherwise)

    def coalesce(self, expression: Apply) -> Out:
        """COALESCE."""
        return Coalesced(self.alike(expression.arguments, expression))

    def extreme(self, expression: Apply) -> Out:
        """LEAST and GREATEST, of numbers or of dates."""
        parts = self.alike(expression.arguments, expression)
        if {self.kind(part) for part in parts} - {"number", "date", "null"}:
            raise WrongType(f"{expression.function.upper()} of results requires numbers or dates", at=expression.at)
        return Extreme(expression.function, parts)

    def null_if(self, expression: Apply) -> Out:
        """NULLIF."""
        test = self.comparison(Apply("=", expression.arguments, expression.at))
        return NullIf(test.parts[0], test)

    def alike(self, expressions: Sequence[Expression], at: Apply) -> tuple[Out, ...]:
        """Expressions of one kind; NULL is of any."""
        outs = tuple(self.out(part) for part in expressions)
        kinds = {self.kind(out) for out in outs} - {"null"}
        if len(kinds) > 1:
            raise WrongType(f"the values of {at.function.upper()} are of several kinds: {', '.join(sorted(kinds))}", at=at.at)
        return outs

    # --- what they are ---

    def kind(self, out: Out) -> str:
        """The kind of a result: a number, a date, a text, a truth or a NULL; "value" where a key has several of them."""
        match out:
            case Result():
                call = self.asked.calls[out.index]
                return call.name if call.name in CHOICES else "date" if call.is_date else "number"
            case KeyValue():
                return kind_of(self.asked.keys[out.index].term.type)
            case Fixed():
                return "null" if out.value is None else "truth" if isinstance(out.value, bool) else "text"
            case Day():
                return "date"
            case Test():
                return "truth"
            case NullIf():
                return self.kind(out.child)
            case Chosen():
                return self.one_kind([*(value for _, value in out.branches), out.otherwise])
            case Coalesced() | Extreme():
                return self.one_kind(out.parts)
            case Window(function="min" | "max" | "shift" | "first" | "last", child=child) if child is not None:
                return self.kind(child)
            case _:
                return "number"

    def one_kind(self, parts: Sequence[Out]) -> str:
        """The kind of those that are not NULL."""
        return next((kind for part in parts if (kind := self.kind(part)) != "null"), "null")

    # --- conditions ---

    def test(self, expression: Expression) -> Test:
        """A condition on released numbers and keys."""
        read = TESTS.get(expression.function) if isinstance(expression, Apply) else None
        if read is not None and isinstance(expression, Apply):
            return read(self, expression)
        out = self.out(expression)
        if isinstance(out, Test):
            return out
        if self.kind(out) in ("truth", "null"):
            return Test("=", (out, Fixed(True)))
        raise NotAllowed(
            "expected a condition on aggregates and keys", remedy="for example HAVING COUNT(*) > 100", at=expression.at
        )

    def logic(self, expression: Apply) -> Test:
        """Tests joined by AND or OR, or one under NOT, IS TRUE or IS FALSE."""
        return Test(expression.function, tuple(self.test(part) for part in expression.arguments))  # type: ignore[arg-type]

    def comparison(self, expression: Apply) -> Test:
        """One comparison."""
        return Test(expression.function, self.sides(expression))  # type: ignore[arg-type]

    def is_null(self, expression: Apply) -> Test:
        """IS NULL."""
        return Test("is_null", (self.out(expression.arguments[0]),))

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

    def sides(self, expression: Apply) -> tuple[Out, Out]:
        """The two sides of a comparison, of one kind; a text beside a date is read as one."""
        one, two = (self.out(part) for part in expression.arguments)
        for key, value in ((one, two), (two, one)):
            self.check_key(key, value, expression)
        kinds = (self.kind(one), self.kind(two))
        if set(kinds) == {"date", "text"}:
            one, two = (as_day(part) if kind == "text" else part for part, kind in zip((one, two), kinds, strict=True))
        elif kinds[0] != kinds[1] and not {*kinds} & {"value", "null"}:
            raise WrongType(f"a {kinds[0]} is compared with a {kinds[1]}", remedy="compare like with like", at=expression.at)
        return one, two

    def check_key(self, key: Out, value: Out, expression: Apply) -> None:
        """Refuses a key that is compared with a text that is not one of its declared values."""
        term = self.asked.keys[key.index].term if isinstance(key, KeyValue) else None
        text = value.value if isinstance(value, Fixed) else None
        if expression.function in ("=", "<>") and isinstance(text, str) and term and isinstance(term.type, CategoryType):
            declared = {each for each in term.type.values if isinstance(each, str)}
            if declared and text not in declared:
                raise at_place(not_declared(term, text), expression.at)


NODES: Mapping[type, Callable[[Results, Apply], Out]] = {  # by the node that a row of the table of functions names
    Arithmetic: Results.arithmetic,
    Mapped: Results.map_number,
    Extreme: Results.extreme,
    Rounded: Results.round_number,
    Power: Results.power,
    Coalesced: Results.coalesce,
    NullIf: Results.null_if,
}
OUTS: Mapping[str, Callable[[Results, Apply], Out]] = {
    **{name: NODES[row.out] for name, row in FUNCTIONS.items() if row.out is not None},
    "negate": Results.negative,
    "cast_number": Results.same_number,
    "cast_decimal": Results.decimal,
    "case": Results.case,
}
TESTS: Mapping[str, Callable[[Results, Apply], Test]] = {
    **dict.fromkeys(("and", "or", "not", "is_true", "is_false"), Results.logic),
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), Results.comparison),
    "between": Results.between,
    "in": Results.among,
    "is_null": Results.is_null,
}
