"""Expressions of a question to terms and conditions with a meaning and a range, in a scope of names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

from tacit.errors import NotAllowed, Refused, WrongType
from tacit.query.binding import terms
from tacit.query.binding.comparisons import as_number, clamped, compare, constant_term, those_that_can_be
from tacit.query.binding.patterns import pattern_condition, pattern_text
from tacit.query.binding.scope import Declared, Scope
from tacit.query.functions import FUNCTIONS
from tacit.query.intervals.aggregates import WRITTEN
from tacit.query.language.bounds import ENDS, PER_GROUP
from tacit.query.language.syntax import Apply, At, Constant, Exists, Expression, InQuery, Name, Scalar, Star
from tacit.query.plan import (
    Among,
    CategoryType,
    Column,
    Compare,
    Condition,
    Either,
    IsNull,
    Literal,
    Negation,
    Row,
    Term,
    TextColumn,
    Truth,
)
from tacit.query.planning import Extent
from tacit.query.question import Call


def pair_call(function: str, one: Term, other: Term) -> Call:
    """The aggregate of two numbers, each NULL where one of them is."""
    left, right = terms.number_node(one), terms.number_node(other)
    if left == right:
        return Call(function, one, other=other)
    return Call(function, replace(one, node=_where(left, right)), other=replace(other, node=_where(right, left)))


def model_call(function: str, columns: Sequence[Term], number: Fraction | None) -> Call:
    """A part of a linear model of the first column on the others, each NULL where one of them is."""
    nodes = [terms.number_node(column) for column in columns]
    rows = []
    for column, node in zip(columns, nodes, strict=True):
        for other in nodes:
            node = _where(node, other) if other is not node else node
        rows.append(replace(column, node=node))
    return Call(function, rows[0], number, others=tuple(rows[1:]))


def _where(row: Row, other: Row) -> Row:
    """A row that is NULL where another is."""
    return terms.choose([(IsNull(other), Literal(None))], row) if other.nullable else row


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
            raise at_place(refusal, expression.at) from None
        return found

    def condition(self, expression: Expression) -> Condition:
        """Something true, false or unknown of a row."""
        try:
            found = self._condition(expression)
            self.extent.check(found)
        except Refused as refusal:
            raise at_place(refusal, expression.at) from None
        return found

    def _term(self, expression: Expression) -> Term:
        if isinstance(expression, Name):
            return self.scope.term(expression)
        if isinstance(expression, Constant):
            return constant_term(expression.value)
        if isinstance(expression, Star):
            raise NotAllowed("* is supported in COUNT(*) only", remedy="write COUNT(*)")
        if isinstance(expression, Scalar):
            raise NotAllowed(
                "a sub-query as a value can stand beside released numbers only: here it would be one number of everybody's rows",
                remedy="use it in SELECT, HAVING or ORDER BY outside aggregates, or write its released number here",
            )
        if isinstance(expression, Exists | InQuery):
            raise NotAllowed(
                "a sub-query is answered only as a condition of its own in WHERE, joined with AND",
                remedy="write WHERE ... AND EXISTS (...), or WHERE ... AND id IN (SELECT ...)",
            )
        if expression.function in CONDITIONS:
            return terms.truth_value(self._condition(expression))
        if expression.function in WRITTEN:
            raise NotAllowed("an aggregate is not allowed here", remedy="aggregates belong to SELECT, HAVING and ORDER BY")
        if expression.function == "grouping":
            raise NotAllowed("GROUPING is not allowed here", remedy="use it in SELECT, HAVING or ORDER BY, outside aggregates")
        if expression.function == "over":
            raise NotAllowed(
                "a window over private rows would compare the rows of all people",
                remedy="use windows on released numbers, such as RANK() OVER (ORDER BY COUNT(*) DESC), or group by the unit first",
            )
        check_place(expression)
        if expression.function == "case":
            return self._case(expression.arguments)
        if expression.function == "clamped":
            return self._clamped(*expression.arguments)
        function = FUNCTIONS.get(expression.function)
        if function is None:
            raise NotAllowed(f"{expression.function.upper()} is not supported", remedy="see: tacit reference sql")
        return function.rows([self.term(argument) for argument in expression.arguments], expression.arguments)

    def _case(self, arguments: tuple[Expression, ...]) -> Term:
        pairs = zip(arguments[0:-1:2], arguments[1:-1:2], strict=True)
        return terms.cases([(self.condition(test), self.term(result)) for test, result in pairs], self.term(arguments[-1]))

    def _clamped(self, value: Expression, *bounds: Expression) -> Term:
        """A number or a date between two constants, which may not be wider than its own range, or that range with 0."""
        term, (low, high) = self.term(value), (self.term(bound) for bound in bounds)
        if not all(isinstance(bound.node, Literal) and bound.node.value is not None for bound in (low, high)):
            raise WrongType("the bounds of a contribution must be constants", remedy="write (0, 100)")
        if isinstance(term.node, TextColumn) or isinstance(as_number(term).type, CategoryType):
            raise WrongType(f"bounds of a contribution need a number, not {terms.word(term.type)}", remedy="count it instead")
        return clamped(as_number(term), low, high)

    def _condition(self, expression: Expression) -> Condition:
        bind = CONDITIONS.get(expression.function) if isinstance(expression, Apply) else None
        if bind is None or not isinstance(expression, Apply):
            return terms.holds(self.term(expression))
        return bind(self, expression)

    def _and(self, expression: Apply) -> Condition:
        return terms.all_of([self.condition(part) for part in expression.arguments])

    def _or(self, expression: Apply) -> Condition:
        return Either(tuple(self.condition(part) for part in expression.arguments))

    def _not(self, expression: Apply) -> Condition:
        return Negation(self.condition(expression.arguments[0]))

    def _comparison(self, expression: Apply) -> Condition:
        left, right = (self.term(part) for part in expression.arguments)
        return compare(expression.function, left, right)

    def _between(self, expression: Apply) -> Condition:
        value, low, high = (self.term(part) for part in expression.arguments)
        return terms.all_of([compare(">=", value, low), compare("<=", value, high)])

    def _of_form(self, expression: Apply) -> Condition:
        value, pattern = expression.arguments
        return pattern_condition(expression.function, self.term(value), pattern_text(pattern, expression.function))

    def _is(self, expression: Apply) -> Condition:
        condition = self.condition(expression.arguments[0])
        wanted = condition if expression.function == "is_true" else Negation(condition)
        return Compare("=", terms.choose([(wanted, Literal(1))], Literal(0)), Literal(1))

    def _in(self, expression: Apply) -> Condition:
        term, *values = (self.term(part) for part in expression.arguments)
        if not all(isinstance(value.node, Literal) for value in values):
            raise NotAllowed("IN requires a list of constants or a sub-query", remedy="write the values out")
        return _any_of(those_that_can_be([partial(compare, "=", term, value) for value in values]))

    def _is_null(self, expression: Apply) -> Condition:
        (tested,) = expression.arguments
        if isinstance(tested, Name):
            held = self.scope.find(tested)[1]
            if isinstance(held, Declared) and held.column.kind == "presence":
                return IsNull(Column(held.number, held.column.name.lower(), 0, 0, True))
        term = self.term(tested)
        return IsNull(term.node) if term.nullable else Truth(False)


OF_ANSWERS = {
    **dict.fromkeys(PER_GROUP.values(), "contributions per group are bounded in the question itself, not in a sub-query"),
    **dict.fromkeys(ENDS, "DP_INTERVAL_LOW and DP_INTERVAL_HIGH are items of SELECT by themselves"),
}
"""What stands among the columns of the answer alone."""
ELSEWHERE = {
    **dict.fromkeys(PER_GROUP.values(), "group by the unit there, and clamp in the question around it"),
    **dict.fromkeys(ENDS, "write SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) FROM ..."),
}


def check_place(expression: Apply) -> None:
    """Refuses what stands among the columns of the answer alone, anywhere else."""
    if expression.function in OF_ANSWERS:
        raise NotAllowed(OF_ANSWERS[expression.function], remedy=ELSEWHERE[expression.function], at=expression.at)


CONDITIONS: Mapping[str, Callable[[Binder, Apply], Condition]] = {
    "and": Binder._and,
    "or": Binder._or,
    "not": Binder._not,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), Binder._comparison),
    "in": Binder._in,
    "between": Binder._between,
    **dict.fromkeys(("like", "ilike", "starts_with", "ends_with", "contains", "regexp_matches", "regexp_like"), Binder._of_form),
    "is_null": Binder._is_null,
    "is_true": Binder._is,
    "is_false": Binder._is,
}


def _any_of(parts: Sequence[Condition]) -> Condition:
    """Any of these equalities: one list where all compare the same number with a constant, so that plans stay short."""
    numbers = [part for part in parts if isinstance(part, Compare) and isinstance(part.right, Literal)]
    if len(numbers) < len(parts) or len({part.left for part in numbers}) > 1:
        return Either(tuple(parts))
    return Among(numbers[0].left, tuple(part.right.value for part in numbers))  # type: ignore[union-attr, misc]  # no NULL among them


def at_place(refusal: Refused, at: At) -> Refused:
    """The refusal with its place in the question, if it has none."""
    return refusal if refusal.at or at is None else type(refusal)(refusal.message, remedy=refusal.remedy, at=at)


def has_aggregate(expression: Expression) -> bool:
    if not isinstance(expression, Apply):
        return isinstance(expression, InQuery) and has_aggregate(expression.value)
    return expression.function in WRITTEN or any(has_aggregate(argument) for argument in expression.arguments)


def is_column(name: Name, scope: Scope) -> bool:
    """Whether some table of the question has such a column."""
    return any(name.parts[-1].lower() in source.names for source in scope.sources)
