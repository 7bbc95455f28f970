"""Sub-queries that are a value: questions of their own beside the one that uses their numbers, each asked and paid for once."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from tacit.errors import NotAllowed
from tacit.query.binding.binder import Binder
from tacit.query.binding.relations import Built, Relations
from tacit.query.binding.results import Results
from tacit.query.binding.select_list import Asked
from tacit.query.language.syntax import Apply, Query, Scalar, Select, Star
from tacit.query.language.writer import unplaced_query
from tacit.query.plan import Group, PublicScan, Question
from tacit.query.results import Beside, Number, Out, Output


@dataclass
class Scalars:
    """Collects the sub-queries of one question; two that say the same are one."""

    relations: Relations
    questions: list[Question] = field(default_factory=list)
    known: dict[Query, Out] = field(default_factory=dict)

    def of(self, written: Scalar) -> Out:
        """The number of a sub-query: of the i-th question beside, or a constant where its table is public."""
        query = written.query
        if not isinstance(query, Select) or len(query.items) != 1 or not _is_plain(query):
            raise NotAllowed(
                "a sub-query as a value has one aggregate and one row",
                remedy="write (SELECT COUNT(*) FROM ... WHERE ...), without GROUP BY, HAVING, ORDER BY and LIMIT",
                at=written.at,
            )
        said = unplaced_query(query)
        if said not in self.known:
            self.relations.count_query(written.at)
            built = self.relations.of(query)
            self.known[said] = self._public(query, built) if built.public else self._private(query, built)
        return self.known[said]

    def _private(self, query: Select, built: Built) -> Out:
        asked = Asked(Binder(built.scope), ())
        results = Results(asked)
        expression = query.items[0].expression
        out = results.out(expression)
        if not asked.calls or results.kind(out) != "number":
            raise NotAllowed(
                "a sub-query as a value must be a number made of aggregates", remedy="for example COUNT(*)", at=expression.at
            )
        assert not isinstance(built.rows, PublicScan)  # noqa: S101  # the caller has looked
        self.questions.append(Question(Group(built.rows, (), ()), tuple(asked.calls), (Output("value", out),)))
        return Beside(len(self.questions) - 1)

    def _public(self, query: Select, built: Built) -> Number:
        """The number of rows of a public table is public; more of it is read where it is."""
        expression = query.items[0].expression
        counted = isinstance(expression, Apply) and expression.function == "count" and isinstance(expression.arguments[0], Star)
        if not counted or not isinstance(built.rows, PublicScan):
            raise NotAllowed(
                f"{query.table.alias} is public: of a public table a sub-query as a value counts all rows",
                remedy="write COUNT(*) without WHERE, or the number itself",
                at=expression.at,
            )
        return Number(Fraction(built.rows.size))


def _is_plain(query: Select) -> bool:
    """Whether a query has neither groups nor an order of its own."""
    return (
        not (query.group_by or query.sets or query.having or query.order_by or query.distinct or query.offset)
        and query.limit is None
    )
