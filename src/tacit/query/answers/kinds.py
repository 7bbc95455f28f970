"""SELECT from an answer: which parts of a statement are questions of their own, by the plan and the catalog alone.

A query in parentheses or in WITH is one of four things (answers.md has the rules and why no other reading is possible):

public    every table in it is public, or it lists declared values
rows      rows of private tables, each of one unit: it filters, renames, joins on the unit, or groups by the unit
question  it aggregates rows of several units: by itself a question, which is released with noise and paid for
answers   it selects from questions: work on released numbers, which costs nothing more
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tacit.errors import NotAllowed, Refused
from tacit.privacy.catalog import Catalog
from tacit.query.binding.binder import has_aggregate
from tacit.query.binding.relations import Relations
from tacit.query.binding.scope import PublicFacts, keys_of, of_group
from tacit.query.free import declared_values, public_tables, sources_of
from tacit.query.intervals.aggregates import WRITTEN
from tacit.query.language.syntax import Apply, At, Expression, From, Name, Nested, Query, Select, UnionAll
from tacit.query.price.stability import rows_of

PUBLIC, ROWS, QUESTION, ANSWERS = "public", "rows", "question", "answers"


class Kinds:
    """Tells what the queries of a statement are."""

    def __init__(self, catalog: Catalog, public: PublicFacts) -> None:
        self.catalog, self.public = catalog, public
        self._known: dict[int, tuple[Query, str]] = {}  # a name of WITH is one query, however often it is used

    def of(self, query: Query) -> str:
        """The kind of a query."""
        if id(query) not in self._known:
            self._known[id(query)] = query, self._of(query)
        return self._known[id(query)][1]

    def _of(self, query: Query) -> str:
        if public_tables(query, self.catalog) is not None:
            return PUBLIC
        if isinstance(query, UnionAll):
            return self._of_union(query)
        sources = sources_of(query)
        kinds = [(source, self.of_source(source)) for source in sources]
        answers = [source for source, kind in kinds if kind in (QUESTION, ANSWERS)]
        if not answers and sources:
            return self._of_rows(query)
        if rows := [source for source, kind in kinds if kind == ROWS]:
            raise mixed(rows[0], answers[0].at)
        return ANSWERS

    def of_source(self, source: From | Nested) -> str:
        """The kind of an item of FROM."""
        if isinstance(source, Nested):
            return self.of(source.query)
        return ROWS if public_tables(source, self.catalog) is None else PUBLIC

    def _of_union(self, query: UnionAll) -> str:
        kinds = {self.of(part) for part in query.parts}
        if kinds == {QUESTION}:
            return QUESTION
        if kinds & {QUESTION, ANSWERS}:
            raise NotAllowed(
                "UNION ALL puts questions below each other, not an answer and other rows",
                remedy="give each part its aggregates, or select from one of them",
                at=query.at,
            )
        return ROWS

    def _of_rows(self, query: Select) -> str:
        """A query over private rows: a question if it puts rows of several units together."""
        if declared_values(query, self.catalog) is not None:
            return PUBLIC
        if query.having is None and not query.group_by and not any(has_aggregate(item.expression) for item in query.items):
            return ROWS
        return ROWS if self._keeps_the_unit(query) else QUESTION

    def _keeps_the_unit(self, query: Select) -> bool:
        """Whether a unit, or a key that leads to one, is among the keys of GROUP BY: then each row is of one unit."""
        if not query.group_by:
            return False
        try:
            scope = Relations(self.catalog, self.public, rows_of).of(replace(query, where=None)).scope
            for each in keys_of(query.group_by, query.items, has_aggregate):
                expression, _ = of_group(each, query.items, scope)
                if isinstance(expression, Name) and scope.identity(expression) is not None:
                    return True
        except Refused:
            return True  # whatever is wrong with it is said where its rows are read
        return False


def mixed(source: From | Nested, at: At) -> NotAllowed:
    """The refusal of released numbers beside private rows."""
    name = source.alias[:60]
    return NotAllowed(
        f"released numbers cannot be joined with the private rows of {name!r}: noise would meet rows of people one by one",
        remedy="put the aggregate of those rows into a sub-query of its own, or join public tables only",
        at=source.at or at,
    )


def is_grouped(expression: Expression) -> bool:
    """Whether an expression over released rows aggregates them; a window by itself does not."""
    if not isinstance(expression, Apply):
        return False
    if expression.function == "over":
        call, *rest = expression.arguments
        return any(map(is_grouped, (*(call.arguments if isinstance(call, Apply) else ()), *rest)))
    return expression.function in WRITTEN or any(map(is_grouped, expression.arguments))


def as_select(query: Query) -> Select:
    """A question in parentheses as a statement: parts of UNION ALL stand below the first."""
    if isinstance(query, Select):
        return query
    first, *others = _flat(query)
    return replace(first, below=tuple(others))


def _flat(query: Query) -> Iterator[Select]:
    if isinstance(query, UnionAll):
        for part in query.parts:
            yield from _flat(part)
    else:
        yield query
