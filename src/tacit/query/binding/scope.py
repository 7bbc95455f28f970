"""Where names are looked up: the columns of the tables of a question, as terms."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tacit.errors import NoBounds, NotAllowed, UnknownName
from tacit.privacy import catalog
from tacit.privacy.catalog import Table
from tacit.privacy.rounding import as_text
from tacit.query.binding import terms
from tacit.query.language.syntax import At, Name
from tacit.query.plan import (
    CategoryType,
    Column,
    DateType,
    NumberType,
    Term,
    TextColumn,
    TextType,
    Type,
)


class PublicFacts(Protocol):
    """What is known of the public tables, from their contents."""

    def columns(self, table: str) -> Mapping[str, catalog.Column]:
        """Every column of a public table, declared or found."""

    def fan_out(self, table: str, column: str) -> int:
        """The most rows of a public table that share one value of a column."""

    def size(self, table: str) -> int:
        """How many rows a public table has."""


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


def declared_range(column: catalog.Column) -> str:
    """What is declared of a column's values, in words; nothing where their values are private."""
    if column.kind == "category":
        return f"one of {', '.join(map(repr, column.domain[:20]))}" + (", ..." if column.domain[20:] else "")
    if column.bounds is None or column.step is None:
        return ""
    if column.kind == "date":
        return f"from {catalog.day_of(int(column.bounds[0]))} to {catalog.day_of(int(column.bounds[1]))}"
    steps = f" in steps of {as_text(column.step)}" if column.step != 1 else ""
    return f"from {as_text(column.bounds[0])} to {as_text(column.bounds[1])}{steps}"


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
