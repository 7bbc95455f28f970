"""The aggregates of a sub-query that groups by the unit: numbers of one unit, whose ranges follow from the row limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal as Choice

from tacit.errors import NotAllowed, RangeTooLarge, WrongType
from tacit.query.binding import terms
from tacit.query.binding.binder import AGGREGATES, Binder
from tacit.query.binding.comparisons import as_number
from tacit.query.binding.curves import public_step
from tacit.query.binding.naming import plain
from tacit.query.binding.scope import identifies
from tacit.query.language.syntax import Apply, At, Expression, Name, Star
from tacit.query.plan import BooleanType, CategoryType, Column, DateType, NumberType, Row, Term, TextColumn, Total, Type

COARSEST = 40  # powers of ten that a mean's step may be coarser
WHOLE = NumberType(Fraction(1))
Kind = Choice["rows", "sum", "least", "largest", "mean", "distinct"]


@dataclass(frozen=True, slots=True)
class Made:
    """A total as the engine makes it, the column that holds it, and what its integers mean: `low` plus so many steps."""

    total: Total
    column: Column
    type: Type
    low: Fraction = Fraction(0)

    @property
    def term(self) -> Term:
        """The column as a term of the sub-query's rows."""
        held = Term(self.column, self.type)
        return terms.add(held, terms.constant(self.low)) if self.low else held

    def named(self, name: str) -> Made:
        """The same under a name."""
        return replace(self, total=replace(self.total, name=name), column=replace(self.column, name=name))


@dataclass
class Totals:
    """Collects the aggregates of a grouped sub-query as columns of its rows, each once."""

    binder: Binder
    rows: int
    source: int
    keys: Mapping[object, tuple[str, Term]]
    found: dict[Total, Made] = field(default_factory=dict)

    def written(self, expression: Expression) -> Expression:
        """The expression over the rows of the sub-query: aggregates and keys are names of its columns."""
        if (key := self.keys.get(plain(expression, self.binder.scope))) is not None:
            return Name((key[0],), expression.at)
        if isinstance(expression, Apply) and expression.function in AGGREGATES:
            return Name((self.total(expression),), expression.at)
        if isinstance(expression, Apply):
            return replace(expression, arguments=tuple(map(self.written, expression.arguments)))
        if isinstance(expression, Name):
            if self.binder.scope.identity(expression) is not None:
                raise identifies(expression)
            raise NotAllowed(
                f"{'.'.join(expression.parts)[:120]} must be in GROUP BY of the sub-query, or inside an aggregate",
                remedy="add it to GROUP BY, or aggregate it",
                at=expression.at,
            )
        return expression

    def total(self, expression: Apply) -> str:
        """The name of the column that holds an aggregate."""
        made = self._made(expression)
        return self.found.setdefault(made.total, made.named(f"total {len(self.found)}")).column.name

    def _made(self, expression: Apply) -> Made:
        function, (argument, *_) = expression.function, expression.arguments
        if function == "count" and isinstance(argument, Star):
            return self._column(Total("", "rows", None, 1), self.rows, False)
        if function not in TOTALS:
            raise NotAllowed(
                f"{function.upper()} is not supported per unit",
                remedy="use COUNT, SUM, AVG, MIN or MAX in the sub-query",
                at=expression.at,
            )
        return TOTALS[function](self, self.binder.term(argument), expression.at)

    def _column(self, total: Total, high: int, nullable: bool, meaning: Type = WHOLE) -> Made:
        terms.checked(total.low, high)
        return Made(total, Column(self.source, "", total.low, high, nullable), meaning)

    def count(self, term: Term, at: At) -> Made:
        if not term.nullable:
            return self._column(Total("", "rows", None, 1), self.rows, False)
        return self._column(Total("", "rows", _row(term, at), 0), self.rows, False)

    def distinct(self, term: Term, at: At) -> Made:
        node = _row(term, at)
        most = min(self.rows, len(term.points) if term.points else node.high - node.low + 1)
        return self._column(Total("", "distinct", node, 0 if term.nullable else 1), most, False)

    def sum(self, term: Term, at: At) -> Made:
        """At most `rows` values of [a, b]: from rows min(a, 0) to rows max(b, 0), and never more in absolute value together."""
        number = _number(term, "SUM", at)
        node, rows = terms.number_node(number), self.rows
        low, high = min(node.low, rows * node.low), max(node.high, rows * node.high)
        made = self._column(Total("", "sum", node, low), high, node.nullable, number.type)
        return replace(made, column=replace(made.column, together=rows * max(abs(node.low), abs(node.high))))

    def least(self, term: Term, at: At) -> Made:
        return self._extreme(term, at, "least")

    def largest(self, term: Term, at: At) -> Made:
        return self._extreme(term, at, "largest")

    def _extreme(self, term: Term, at: At, kind: Kind) -> Made:
        if isinstance(term.type, CategoryType | BooleanType):
            term = _number(term, "MIN and MAX", at)
        node = _row(term, at)
        return self._column(Total("", kind, node, node.low), node.high, node.nullable, term.type)

    def mean(self, term: Term, at: At) -> Made:
        """The floor of the mean on a public step: the finest power of ten with at most 2^20 steps in the range.

        A coarser one where integers would leave 2^53; refused where that does not help, as with a step of thirteen digits.
        """
        number = _number(term, "AVG", at)
        node, step = terms.number_node(number), terms.number_step(number)
        spread, public = node.high - node.low, public_step((node.high - node.low) * step)
        for coarser in range(COARSEST):
            ratio = step / (public * 10**coarser)
            if max(ratio.numerator * spread * self.rows, ratio.denominator * self.rows) < 2**53:
                total = Total("", "mean", node, 0, ratio.numerator, ratio.denominator)
                made = self._column(total, int(spread * ratio), node.nullable, NumberType(public * 10**coarser))
                return replace(made, low=node.low * step)
        raise RangeTooLarge(
            "AVG per unit exceeds 2^53 steps, the limit of exact arithmetic", remedy="declare a step with fewer digits", at=at
        )


TOTALS = {
    "count": Totals.count,
    "count_distinct": Totals.distinct,
    "sum": Totals.sum,
    "avg": Totals.mean,
    "min": Totals.least,
    "max": Totals.largest,
}


def _row(term: Term, at: At) -> Row:
    if isinstance(term.node, TextColumn):
        raise WrongType("private text cannot be aggregated per unit", remedy="declare the column's values, or count rows", at=at)
    return term.node


def _number(term: Term, word: str, at: At) -> Term:
    _row(term, at)
    if isinstance(term.type, CategoryType | DateType):
        raise WrongType(f"{word} needs a number, not {terms.word(term.type)}", remedy="count it instead", at=at)
    return as_number(term)
