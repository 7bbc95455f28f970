"""LIMIT 0: the columns of an answer without an answer, by which programs learn names and types. Plan and catalog alone decide.

A question has the columns that any answer to it has. Rows of private tables are never returned, and their columns are what the
catalog declares: so a tool can describe a table, or a virtual table of rows, before it asks for aggregates.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.errors import NeverTrue, Refused
from tacit.privacy.catalog import Catalog
from tacit.query.answers.kinds import ROWS, Kinds
from tacit.query.binding.binder import Binder
from tacit.query.binding.relations import Relations
from tacit.query.binding.scope import Declared, Identity, PublicFacts, Scope, Source
from tacit.query.binding.subqueries import Held, columns_of
from tacit.query.language.syntax import Name, Query, Select, Star, UnionAll
from tacit.query.passes import rewrite
from tacit.query.price.header import PUBLIC, Heading, heading_of_term
from tacit.query.price.stability import rows_of
from tacit.query.question import Question, one_question
from tacit.query.trees import each_once


def plan_without_rows(select: Select, catalog: Catalog, public: PublicFacts) -> Question:
    """The plan of a question with LIMIT 0. Its columns are the same if the catalog decides that no row meets its WHERE."""
    try:
        return rewrite(select, catalog, public)
    except NeverTrue:
        if all(part.where is None for part in (select, *select.below)):
            raise
        return rewrite(_without_where(select), catalog, public)


def columns_of_rows(select: Select, catalog: Catalog, public: PublicFacts) -> tuple[Heading, ...] | None:
    """The columns of a SELECT of private rows; None for a question, which puts the rows of people together."""
    parts = _parts(select)
    if any(Kinds(catalog, public).of(part) != ROWS for part in parts):
        return None
    with one_question():
        try:
            columns = columns_of(Relations(catalog, public, rows_of), _below(parts))
        except NeverTrue:
            columns = columns_of(Relations(catalog, public, rows_of), _below(_parts(_without_where(select))))
    return tuple(_heading(name, held) for name, held in _named(columns, select))


def columns_of_public(select: Select, catalog: Catalog, public: PublicFacts) -> tuple[Heading, ...]:
    """The columns of rows of a public table, where no row tells their types; none of joins and aggregates over public tables."""
    try:
        with one_question():
            columns = columns_of(Relations(catalog, public, rows_of), _below(_parts(_without_where(select))))
    except Refused:
        return ()
    return tuple(replace(_heading(name, held), kind=PUBLIC) for name, held in _named(columns, select))


def _parts(select: Select) -> tuple[Select, ...]:
    """The parts of UNION ALL, without their order: which rows are the same ones, and how many, no column depends on."""
    first = replace(select, below=(), order_by=(), limit=None, offset=0)
    return tuple(replace(part, distinct=False) for part in (first, *select.below))


def _below(parts: tuple[Select, ...]) -> Query:
    return UnionAll(parts) if len(parts) > 1 else parts[0]


def _without_where(select: Select) -> Select:
    return replace(select, where=None, below=tuple(replace(part, where=None) for part in select.below))


def _named(columns: list[tuple[str, Held]], select: Select) -> list[tuple[str, Held]]:
    """The columns, under the names that SELECT gives them, each once."""
    spelled = [name for name, _ in columns]
    if not any(isinstance(item.expression, Star) for item in select.items):
        spelled = [item.name or name for item, name in zip(select.items, spelled, strict=True)]
    return list(zip(each_once(spelled), (held for _, held in columns), strict=True))


def _heading(name: str, held: Held) -> Heading:
    """A column by its declaration; keys, and columns that are declared as present alone, have no type."""
    if isinstance(held, Identity) or (isinstance(held, Declared) and held.column.kind == "presence"):
        return Heading(name, "key", None, True)
    if isinstance(held, Declared):
        held = Binder(Scope((Source("t", {"x": held}),))).term(Name(("x",)))
    return heading_of_term(name, held)
