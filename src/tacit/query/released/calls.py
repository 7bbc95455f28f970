"""The calls of aggregates that a question asks of its groups; expressions.py reads what is made of their released results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from tacit.errors import NeverTrue, NotAllowed, RangeTooLarge, WrongType
from tacit.query import plan
from tacit.query.binding import terms
from tacit.query.binding.binder import Binder, has_aggregate, is_column, model_call, pair_call
from tacit.query.binding.comparisons import as_number
from tacit.query.binding.conditions import always_null
from tacit.query.binding.scope import Declared, Identity, Source
from tacit.query.intervals.aggregates import CHOICES, PAIRS, SHARES, WRITTEN
from tacit.query.intervals.linear_models import MODEL_PARTS
from tacit.query.language.bounds import AGGREGATE
from tacit.query.language.syntax import Apply, At, Constant, Expression, Name, Scalar, Select, Star
from tacit.query.plan import BooleanType, CategoryType, DateType, IsNull, Key, Literal, NumberType, Term, TextColumn
from tacit.query.question import Call, Fixed, KeyValue, Number, Out, Result

MOST_VALUES = 10_000  # among which a mode is chosen


@dataclass
class Asked:
    """Collects the calls of aggregates, each once, while expressions over groups are read.

    `absent` are the keys of other grouping sets, which are NULL here. `scalar` reads a sub-query that is a value.
    """

    binder: Binder
    keys: tuple[Key, ...]
    absent: tuple[Key, ...] = ()
    scalar: Callable[[Scalar], Out] | None = None
    calls: list[Call] = field(default_factory=list)

    def key(self, expression: Expression) -> KeyValue | Fixed | None:
        """The key that an expression is, or NULL if that is in another grouping set; None for any other expression."""
        keys = (*self.keys, *self.absent)
        if not keys or is_released(expression) or isinstance(expression, Constant):
            return None
        if isinstance(expression, Name) and not is_column(expression, self.binder.scope):
            place = next((i for i, key in enumerate(keys) if key.name.lower() == expression.parts[-1].lower()), None)
        else:
            term = self.binder.term(expression)
            place = next((index for index, key in enumerate(keys) if key.term == term), None)
        if place is None:
            return None
        return KeyValue(place) if place < len(self.keys) else Fixed(None)

    def beside(self, expression: Scalar) -> Out:
        """The number of a sub-query that is a value."""
        if self.scalar is None:
            raise NotAllowed(
                "a sub-query cannot hold another one as a value", remedy="put both beside each other", at=expression.at
            )
        return self.scalar(expression)

    def grouping(self, expression: Apply) -> Number:
        """GROUPING(a, b): one bit for each key, the last one lowest: 1 where rows of all its values are put together."""
        keys = [self.key(argument) for argument in expression.arguments]
        if None in keys:
            raise NotAllowed("GROUPING takes columns of GROUP BY", remedy="name one of them", at=expression.at)
        return Number(Fraction(sum(isinstance(each, Fixed) << place for place, each in enumerate(reversed(keys)))))

    def result(self, call: Call) -> Result:
        if call not in self.calls:
            self.calls.append(call)
        return Result(self.calls.index(call))

    def call(self, expression: Apply) -> Call:
        """The aggregate that is asked for."""
        function, arguments = expression.function, expression.arguments
        if function == "count_distinct":
            return self.distinct(expression)
        if function in PAIRS:
            return self.pair(expression)
        if function in MODEL_PARTS:
            return self.model(expression)
        if function in CHOICES:
            return self.choice(expression)
        if function == "count" and isinstance(arguments[0], Star):
            return Call("count")
        if function == "count" and (present := self.present(arguments[0])) is not None:
            return present
        term = as_number(self.binder.term(arguments[0]))
        self.check_possible(expression, term)
        if function == "count":
            return Call("count", _presence(term)) if term.nullable else Call("count")
        if isinstance(term.type, CategoryType) or isinstance(term.node, TextColumn):
            raise WrongType(
                f"{function.upper()} needs a number, not {terms.word(term.type)}", remedy="count it instead", at=expression.at
            )
        self.check_constant(expression, term)
        self.check_range(expression, term)
        if function == "quantile" or function in SHARES:
            return Call("quantile", term, self.share(expression))
        if isinstance(term.type, DateType | BooleanType):
            raise WrongType(f"{function.upper()} needs a number, not {terms.word(term.type)}", at=expression.at)
        return Call(function, term)

    def pair(self, expression: Apply) -> Call:
        """An aggregate of two numbers together."""
        both = [as_number(self.binder.term(argument)) for argument in expression.arguments]
        for term in both:
            self.check_possible(expression, term)
            if not isinstance(term.type, NumberType) or isinstance(term.node, TextColumn):
                raise WrongType(f"{_call_text(expression)} needs two numbers, not {terms.word(term.type)}", at=expression.at)
            self.check_constant(expression, term)
            self.check_range(expression, term)
        return pair_call(expression.function, *both)

    def model(self, expression: Apply) -> Call:
        """A coefficient or R2 of a linear model of one number on others, all different."""
        arguments, number = list(expression.arguments), None
        if expression.function == "linreg_slope":
            number = terms.constant_of(self.binder.term(arguments.pop(0)))
            if number is None or number.denominator != 1 or not 1 <= number < len(arguments):
                what = f"LINREG_SLOPE begins with the number of a regressor, from 1 to {len(arguments) - 1}"
                raise WrongType(what, remedy="write LINREG_SLOPE(1, y, x1, x2) for x1", at=expression.at)
        columns = [as_number(self.binder.term(argument)) for argument in arguments]
        for term in columns:
            self.check_possible(expression, term)
            if not isinstance(term.type, NumberType) or isinstance(term.node, TextColumn):
                raise WrongType(f"{_call_text(expression)} needs numbers, not {terms.word(term.type)}", at=expression.at)
            self.check_constant(expression, term)
            self.check_range(expression, term)
        if len({terms.number_node(term) for term in columns}) < len(columns):
            what = f"{_call_text(expression)} of a column and itself has no solution, or one that does not depend on the data"
            raise NotAllowed(what, remedy="name each column once", at=expression.at)
        return model_call(expression.function, columns, number)

    def choice(self, expression: Apply) -> Call:
        """The most frequent of the values that an expression can have by the catalog."""
        term = self.binder.term(expression.arguments[0])
        if isinstance(term.node, TextColumn):
            raise WrongType(
                "MODE needs declared values, not private text",
                remedy="group by it instead",
                at=expression.at,
            )
        self.check_possible(expression, term)
        self.check_constant(expression, term)
        self.check_range(expression, term)
        values = len(term.points) if term.points else term.node.high - term.node.low + 1
        if values > MOST_VALUES:
            raise RangeTooLarge(
                f"MODE would choose among {values:,} possible values: the limit is {MOST_VALUES:,}",
                remedy="use coarser values, for example MODE(FLOOR(x / 10) * 10)",
                at=expression.at,
            )
        return Call(expression.function, term)

    def check_possible(self, expression: Apply, term: Term) -> None:
        """Refuses an aggregate that no row can have a part in."""
        if not isinstance(term.node, TextColumn) and always_null(term.node):
            raise NeverTrue(
                f"{_call_text(expression)} covers no possible row: its condition is never true",
                remedy="compare with values that are declared",
                at=expression.at,
            )

    def check_constant(self, expression: Apply, term: Term) -> None:
        """Refuses an aggregate of a constant."""
        if isinstance(term.node, Literal):
            what = f"{_call_text(expression)} of a constant does not depend on the data"
            raise NotAllowed(what, remedy="use COUNT(*)", at=expression.at)

    def check_range(self, expression: Apply, term: Term) -> None:
        """Refuses an aggregate whose value is known: of one possible value, and a sum of nothing but zeros."""
        node = term.node
        if isinstance(node, TextColumn) or node.low < node.high or (expression.function == "sum" and node.low):
            return
        what = "is always 0" if expression.function == "sum" else "has one possible value"
        raise NotAllowed(
            f"{expression.function.upper()} of an expression that {what} does not depend on the data",
            remedy="use COUNT to see how many rows have a value",
            at=expression.at,
        )

    def present(self, argument: Expression) -> Call | None:
        """COUNT of a column with declared presence alone, or that names the unit or a key."""
        if not isinstance(argument, Name):
            return None
        if (named := self.binder.scope.named(argument)) is not None:
            return self.rows_with(*named)
        held = self.binder.scope.find(argument)[1]
        if isinstance(held, Declared) and held.column.kind == "presence":
            column = plan.Column(held.number, held.column.name.lower(), 0, 0, True)
            return Call("count", Term(column, NumberType(Fraction(1))))
        return None

    def rows_with(self, source: Source, identity: Identity) -> Call | None:
        """COUNT of the unit or of a key: the rows in which it is not NULL; None where the store does not tell."""
        if identity.node is not None:
            return Call("count", Term(identity.node, NumberType(Fraction(1))))
        if source.table is not None and source.table.no_unit == "own":
            return None
        if not source.optional:
            return Call("count")
        if source.here is None:
            return None
        return Call("count", Term(terms.choose([(source.here, Literal(0))], Literal(None)), NumberType(Fraction(1))))

    def distinct(self, expression: Apply) -> Call:
        """COUNT(DISTINCT x): of units where x identifies the unit, else of different values."""
        argument = expression.arguments[0]
        if len(expression.arguments) > 1:
            raise NotAllowed(
                "COUNT(DISTINCT ...) of several columns is not supported", remedy="count one expression", at=expression.at
            )
        if isinstance(argument, Name) and self.is_unit(argument):
            return Call("units")
        term = self.binder.term(argument)
        self.check_possible(expression, term)
        self.check_constant(expression, term)
        return Call("distinct", term)

    def is_unit(self, name: Name) -> bool:
        """Whether a name is that of the unit itself, in a source that has a row of it wherever there is a row at all."""
        holder = self.binder.scope.identity(name)
        return holder is not None and holder[1].space is None and not holder[0].optional

    def share(self, expression: Apply) -> Fraction:
        if expression.function in SHARES:
            return SHARES[expression.function]
        value = terms.constant_of(self.binder.term(expression.arguments[1])) if len(expression.arguments) == 2 else None
        if value is None or not 0 <= value <= 1:
            raise WrongType("a quantile requires a constant from 0 to 1", remedy="write PERCENTILE_CONT(0.5)", at=expression.at)
        return value


def not_alone(at: At) -> NotAllowed:
    """The refusal of a chosen value in an expression: it is not a number to compute or sort with."""
    return NotAllowed(
        "MODE must be an item of SELECT by itself: it is a chosen value, not a number with an interval",
        remedy="leave it out of expressions, HAVING, QUALIFY and ORDER BY",
        at=at,
    )


def is_released(expression: Expression) -> bool:
    """Whether an expression holds an aggregate, a sub-query that is a value, or GROUPING."""
    if isinstance(expression, Apply):
        own = expression.function in WRITTEN or expression.function == "grouping"
        return own or any(map(is_released, expression.arguments))
    return isinstance(expression, Scalar) or has_aggregate(expression)


def over_groups(select: Select) -> tuple[Expression, ...]:
    """The expressions of a question in which released numbers may stand."""
    tests = [test for test in (select.having, select.qualify) if test is not None]
    return (*(item.expression for item in select.items), *tests, *(order.expression for order in select.order_by))


def is_bounded(expression: Expression) -> bool:
    """Whether an aggregate in it bounds what one unit adds to a group."""
    return isinstance(expression, Apply) and (expression.function in AGGREGATE or any(map(is_bounded, expression.arguments)))


def _call_text(call: Apply) -> str:
    return call.function.upper().replace("_DISTINCT", "(DISTINCT ...)")


def _presence(term: Term) -> Term:
    """Private text as a constant that is NULL where the text is; other terms stay as they are."""
    if not isinstance(term.node, TextColumn):
        return term
    return Term(terms.choose([(IsNull(term.node), Literal(None))], Literal(0)), NumberType(Fraction(1)))
