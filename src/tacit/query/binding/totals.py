"""The aggregates of a sub-query that groups by the unit: numbers of one unit, whose ranges follow from the row limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal as Choice

from tacit.errors import NotAllowed, WrongType
from tacit.query.binding import terms
from tacit.query.binding.binder import AGGREGATES, Binder
from tacit.query.binding.comparisons import as_number
from tacit.query.binding.naming import plain
from tacit.query.binding.scope import identifies
from tacit.query.language.syntax import Apply, At, Expression, Name, Star
from tacit.query.plan import BooleanType, CategoryType, Column, DateType, NumberType, Row, Term, TextColumn, Total

FINEST = 2**20  # steps in the range of a mean whose step is not declared
Kind = Choice["rows", "sum", "least", "largest", "mean", "distinct"]


@dataclass
class Totals:
    """Collects the aggregates of a grouped sub-query as columns of its rows."""

    binder: Binder
    rows: int
    source: int
    keys: Mapping[object, tuple[str, Term]]
    found: dict[Total, Term] = field(default_factory=dict)

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
        total, term = self._made(expression)
        for known in self.found:
            if replace(known, name="") == total:
                return known.name
        named = replace(total, name=f"total {len(self.found)}")
        node = term.node
        assert isinstance(node, Column)  # noqa: S101
        self.found[named] = replace(term, node=replace(node, name=named.name))
        return named.name

    def _made(self, expression: Apply) -> tuple[Total, Term]:
        function, (argument, *_) = expression.function, expression.arguments
        if function == "count" and isinstance(argument, Star):
            return self._column(Total("", "rows", None, 1), self.rows, False, NumberType(Fraction(1)))
        if function not in TOTALS:
            raise NotAllowed(
                f"{function.upper()} is not supported per unit",
                remedy="use COUNT, SUM, AVG, MIN or MAX in the sub-query",
                at=expression.at,
            )
        return TOTALS[function](self, self.binder.term(argument), expression.at)

    def _column(self, total: Total, high: int, nullable: bool, meaning: object) -> tuple[Total, Term]:
        terms.checked(total.low, high)
        return total, Term(Column(self.source, "", total.low, high, nullable), meaning)  # type: ignore[arg-type]

    def count(self, term: Term, at: At) -> tuple[Total, Term]:
        if not term.nullable:
            return self._column(Total("", "rows", None, 1), self.rows, False, NumberType(Fraction(1)))
        return self._column(Total("", "rows", _row(term, at), 0), self.rows, False, NumberType(Fraction(1)))

    def distinct(self, term: Term, at: At) -> tuple[Total, Term]:
        node = _row(term, at)
        most = min(self.rows, len(term.points) if term.points else node.high - node.low + 1)
        return self._column(Total("", "distinct", node, 0 if term.nullable else 1), most, False, NumberType(Fraction(1)))

    def sum(self, term: Term, at: At) -> tuple[Total, Term]:
        """At most `rows` values of [a, b]: from rows min(a, 0) to rows max(b, 0), and never more in absolute value together."""
        number = _number(term, "SUM", at)
        node, rows = terms.number_node(number), self.rows
        low, high = min(node.low, rows * node.low), max(node.high, rows * node.high)
        total, found = self._column(Total("", "sum", node, low), high, node.nullable, number.type)
        together = rows * max(abs(node.low), abs(node.high))
        assert isinstance(found.node, Column)  # noqa: S101
        return total, replace(found, node=replace(found.node, together=together))

    def least(self, term: Term, at: At) -> tuple[Total, Term]:
        return self._extreme(term, at, "least")

    def largest(self, term: Term, at: At) -> tuple[Total, Term]:
        return self._extreme(term, at, "largest")

    def _extreme(self, term: Term, at: At, kind: Kind) -> tuple[Total, Term]:
        if isinstance(term.type, CategoryType | BooleanType):
            term = _number(term, "MIN and MAX", at)
        node = _row(term, at)
        return self._column(Total("", kind, node, node.low), node.high, node.nullable, term.type)

    def mean(self, term: Term, at: At) -> tuple[Total, Term]:
        """The floor of the mean on a public step: the finest power of ten with at most 2^20 steps in the range."""
        number = _number(term, "AVG", at)
        node, step = terms.number_node(number), terms.number_step(number)
        spread = node.high - node.low
        public = _public_step(spread * step)
        while (step / public).numerator * spread * self.rows >= 2**53:
            public *= 10
        times, divisor = (step / public).numerator, (step / public).denominator
        total, found = self._column(
            Total("", "mean", node, 0, times, divisor), spread * times // divisor, node.nullable, NumberType(public)
        )
        return total, replace(found, type=Mean(public, node.low * step))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Mean:
    """The meaning of a mean while it is made: steps from the low end of what it is the mean of."""

    step: Fraction
    low: Fraction


TOTALS = {
    "count": Totals.count,
    "count_distinct": Totals.distinct,
    "sum": Totals.sum,
    "avg": Totals.mean,
    "min": Totals.least,
    "max": Totals.largest,
}


def _public_step(spread: Fraction) -> Fraction:
    """The finest power of ten with at most 2^20 steps in a range."""
    step = Fraction(1)
    while spread / step > FINEST:
        step *= 10
    while spread and spread * 10 / step <= FINEST:
        step /= 10
    return step


def _row(term: Term, at: At) -> Row:
    if isinstance(term.node, TextColumn):
        raise WrongType("private text cannot be aggregated per unit", remedy="declare the column's values, or count rows", at=at)
    return term.node


def _number(term: Term, word: str, at: At) -> Term:
    _row(term, at)
    if isinstance(term.type, CategoryType | DateType):
        raise WrongType(f"{word} needs a number, not {terms.word(term.type)}", remedy="count it instead", at=at)
    return as_number(term)


def meant(term: Term) -> Term:
    """A total as a term; a mean is moved to where its range begins."""
    if not isinstance(term.type, Mean):
        return term
    return terms.add(Term(term.node, NumberType(term.type.step)), terms.constant(term.type.low))
