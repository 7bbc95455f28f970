"""Where names are looked up: the columns of the tables of a question, as terms."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol

from tacit.errors import NoBounds, NotAllowed, UnknownName
from tacit.privacy import catalog
from tacit.privacy.catalog import Table
from tacit.query.binding import terms
from tacit.query.language.syntax import (
    Apply,
    At,
    Constant,
    Expression,
    From,
    Item,
    Name,
    Nested,
    Scalar,
    Select,
    Star,
    unplaced_query,
)
from tacit.query.plan import (
    CategoryType,
    Column,
    Condition,
    DateType,
    Literal,
    NumberType,
    Term,
    TextColumn,
    TextType,
    Type,
)


def source_of(select: Select) -> From | Nested:
    """The table or sub-query of FROM; refused without one."""
    if select.table is None:
        at = select.items[0].expression.at if select.items else None
        raise NotAllowed("missing FROM: the question names no table", remedy="add FROM and a declared table", at=at)
    return select.table


class PublicFacts(Protocol):
    """Facts about the public tables, from their contents."""

    def columns(self, table: str) -> Mapping[str, catalog.Column]:
        """Every column of a public table, declared or found."""

    def fan_out(self, table: str, column: str) -> int:
        """The most rows of a public table that share one value of a column."""

    def size(self, table: str) -> int:
        """How many rows a public table has."""


Space = tuple[str, str] | None  # whose values a column holds: those of a key (table, column); None where it names the unit itself


@dataclass(frozen=True, slots=True)
class Identity:
    """A column that names a unit, or a key that leads to one: it can tie private tables together, and be counted, no more.

    `node` is the code of a key in the store. `unique`: a unit has at most one row with each value.
    """

    space: Space
    node: Column | None = None
    unique: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """A column of the catalog, in the source of a number."""

    number: int
    column: catalog.Column


@dataclass(frozen=True, slots=True)
class Source:
    """A table or sub-query of the question, under the name by which columns call it.

    `using` are columns that it shares with the sources before it. Of an `optional` one (the right side of a left join) a row may
    be missing; `here` is true where it is not.
    """

    alias: str
    columns: Mapping[str, Declared | Term]
    identities: Mapping[str, Identity] = field(default_factory=dict)
    table: Table | None = None
    optional: bool = False
    using: frozenset[str] = frozenset()
    here: Condition | None = None

    @property
    def names(self) -> frozenset[str]:
        """All names that it has, in lower case."""
        return frozenset(self.columns) | frozenset(self.identities)

    @property
    def unit_names(self) -> tuple[str, ...]:
        """The columns that name the unit itself."""
        return tuple(name for name, each in self.identities.items() if each.space is None)


def declared_columns(number: int, columns: Mapping[str, catalog.Column]) -> dict[str, Declared | Term]:
    """The columns of a table, by their names in lower case."""
    return {name.lower(): Declared(number, column) for name, column in columns.items()}


@dataclass(frozen=True, slots=True)
class Scope:
    """Where names are looked up: the sources of a question, in their order."""

    sources: tuple[Source, ...]

    def _source_named(self, name: Name) -> list[Source]:
        """The sources that a name can mean."""
        if len(name.parts) == 1:
            return list(self.sources)
        return [source for source in self.sources if source.alias.lower() == name.parts[0].lower()]

    def has(self, name: Name) -> bool:
        """Whether some source has such a column."""
        return any(name.parts[-1].lower() in source.names for source in self._source_named(name))

    def find(self, name: Name) -> tuple[Source, Declared | Term]:
        """The source and the column that a name means; unique, or refused."""
        wanted = name.parts[-1].lower()
        sources = self._source_named(name)
        if not sources:
            raise UnknownName(
                f"unknown table {name.parts[0][:60]!r} in the question", remedy=_nearest(name.parts[0], self._aliases()), at=name.at
            )
        holders = [source for source in sources if wanted in source.names]
        if not holders:
            words = [word for source in sources for word in _names_of(source)]
            remedy = _quoted(name.parts[-1], words) or _nearest(name.parts[-1], words)
            raise UnknownName(f"unknown column {name.parts[-1][:60]!r}", remedy=remedy, at=name.at)
        if len(holders) > 1 and len(name.parts) == 1:
            holders = [source for source in holders if wanted not in source.using]
        if len(holders) > 1:
            raise UnknownName(f"ambiguous column {wanted[:60]!r}: several tables have it", remedy="write table.column", at=name.at)
        column = holders[0].columns.get(wanted)
        if column is None:
            raise identifies(name)
        return holders[0], column

    def identity(self, name: Name) -> tuple[Source, Identity] | None:
        """The source and the identity that a name means; None where it means none, or could mean several.

        The unit of a row that a left join did not find is NULL, while the row still has its unit: that column is refused.
        """
        holder = self.named(name)
        if holder is not None and holder[0].optional and holder[1].space is None:
            raise self._may_be_missing(name)
        return holder

    def named(self, name: Name) -> tuple[Source, Identity] | None:
        """The same, also for what a left join may not have found."""
        wanted = name.parts[-1].lower()
        holders = [source for source in self._source_named(name) if wanted in source.names]
        if len(holders) > 1:
            holders = [source for source in holders if wanted not in source.using]
        if len(holders) != 1 or wanted not in holders[0].identities:
            return None
        return holders[0], holders[0].identities[wanted]

    def _may_be_missing(self, name: Name) -> NotAllowed:
        kept = (f"{each.alias}.{word}" for each in self.sources if not each.optional for word in each.unit_names)
        return NotAllowed(
            f"{'.'.join(name.parts)[:120]} is of the right side of a LEFT JOIN: it is NULL where a row has no match",
            remedy=f"use {next(kept, 'the unit of the left side')}",
            at=name.at,
        )

    def owner(self, name: Name) -> str | None:
        """The alias of the one source that a name without a table can mean."""
        wanted = name.parts[-1].lower()
        owners = [source for source in self.sources if wanted in source.names and wanted not in source.using]
        return owners[0].alias.lower() if len(owners) == 1 else None

    def _aliases(self) -> list[str]:
        return [source.alias for source in self.sources]

    def term(self, name: Name) -> Term:
        """The term of a column."""
        source, held = self.find(name)
        if isinstance(held, Term):
            return _optional(held, source)
        column = held.column
        nullable = column.nullable or source.optional
        if column.kind == "text":
            return Term(TextColumn(held.number, column.name.lower(), nullable), TextType())
        if column.kind == "key" or (column.kind == "presence" and name.parts[-1].lower() in source.identities):
            raise identifies(name)
        if column.kind == "presence":
            raise _no_bounds(source, column, name.at)
        return column_term(held.number, column, nullable)


def _optional(term: Term, source: Source) -> Term:
    """A term of a sub-query, NULL where a left join found no row of it."""
    if not source.optional:
        return term
    if isinstance(term.node, TextColumn | Column):
        return replace(term, node=replace(term.node, nullable=True))
    if source.here is None:
        return term
    return replace(term, node=terms.choose([(source.here, term.node)], Literal(None)))


def identifies(name: Name) -> NotAllowed:
    """The refusal of a column that names a person."""
    return NotAllowed(
        f"{'.'.join(name.parts)[:120]} identifies a privacy unit",
        remedy="use it to join private tables or in GROUP BY of a sub-query; to count rows, use COUNT(*)",
        at=name.at,
    )


def _names_of(source: Source) -> list[str]:
    return [held.column.name if isinstance(held, Declared) else word for word, held in source.columns.items()]


def column_term(index: int, column: catalog.Column, nullable: bool) -> Term:
    """A declared column as a term: its stored offset, moved to the multiples of its step."""
    if column.kind == "category" or column.bounds is None or column.step is None:
        return Term(Column(index, column.name.lower(), 0, max(column.points - 1, 0), nullable), CategoryType(column.domain))
    meaning: Type = DateType() if column.kind == "date" else NumberType(column.step)
    start, most = column.bounds[0] / column.step, column.points - 1
    if start.denominator == 1:
        low, high = int(start), int(start) + most
        terms.checked(low, high)
        return Term(Column(index, column.name.lower(), low, high, nullable), meaning)
    offset = Term(Column(index, column.name.lower(), 0, most, nullable), meaning)
    return terms.add(offset, terms.constant(column.bounds[0]))


def _no_bounds(source: Source, column: catalog.Column, at: At) -> NoBounds:
    return NoBounds(
        f"{source.alias}.{column.name} has neither bounds nor values, so nothing finite is known of it",
        remedy=f"declare them in tacit.toml, for example: {column.name} = {{ bounds = [0, 100] }}",
        at=at,
    )


PLAIN = r"[^\W\d]\w*"
IN_SCHEMA = rf"{PLAIN}(\.{PLAIN})?"  # a table, perhaps with its schema before it


def _quoted(name: str, words: Sequence[str]) -> str:
    """The hint to quote a name that SQL reads as a difference; empty if no column begins like that.

    >>> _quoted("hours", ["age", "hours-per-week"])
    'write names with other signs in double quotes: "hours-per-week"'
    """
    longer = [word for word in words if re.match(re.escape(name) + r"[^\w]", word, re.IGNORECASE)]
    return f"write names with other signs in double quotes: {spelled(longer[0])}" if longer else ""


def spelled(name: str, plain: str = PLAIN) -> str:
    """A name as a query spells it: in double quotes if it has signs that no plain name has."""
    return name if re.fullmatch(plain, name) else '"' + name.replace('"', '""') + '"'


def declared_names(names: Iterable[str], plain: str = PLAIN) -> str:
    """The remedy for a name that is not known: at most twenty declared ones, as a query spells them.

    >>> declared_names(["visits", "cases 2023"]), declared_names(["clinic.labs"], IN_SCHEMA)
    ('declared are: "cases 2023", visits', 'declared are: clinic.labs')
    """
    return f"declared are: {', '.join(spelled(name, plain) for name in sorted(names)[:20]) or 'none'}"


def _nearest(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name.lower(), [word.lower() for word in names], n=1)
    near = next((word for word in names if close and word.lower() == close[0]), None)
    if near:
        return f"did you mean {spelled(near)}?"
    return declared_names(names) if names else "nothing is declared there"


# --- names of columns, and the expression that GROUP BY means ----------------------------------------------------------------


WORDS = {
    "+": "plus", "-": "minus", "*": "times", "/": "per", "%": "modulo",
    "=": "is", "<>": "is_not", "<": "below", "<=": "up_to", ">": "above", ">=": "from",
}  # fmt: skip


def of_group(written: Expression, items: tuple[Item, ...], scope: Scope) -> tuple[Expression, str | None]:
    """GROUP BY may name a place in SELECT, or an alias that is not a column."""
    if isinstance(written, Constant) and isinstance(written.value, Fraction):
        place = written.value
        if place.denominator != 1 or not 1 <= place <= len(items):
            raise UnknownName(f"GROUP BY {place} is not a position in SELECT", remedy=f"use 1 to {len(items)}", at=written.at)
        item = items[int(place) - 1]
        return item.expression, item.name
    for item in items:
        alias = item.name and isinstance(written, Name) and plain(written) == (item.name.lower(),)
        if alias and isinstance(written, Name) and not scope.has(written):
            return item.expression, item.name
    named = next((item.name for item in items if item.name and plain(item.expression) == plain(written)), None)
    return written, named


def keys_of(written: tuple[Expression, ...], items: tuple[Item, ...], aggregates: Callable[[Expression], bool]) -> list[Expression]:
    """The expressions of GROUP BY; ALL is every item of SELECT without an aggregate."""
    if not any(isinstance(each, Star) for each in written):
        return list(written)
    return [item.expression for item in items if not isinstance(item.expression, Constant) and not aggregates(item.expression)]


def plain(expression: Expression, scope: Scope | None = None) -> object:
    """An expression without its places, to tell whether two say the same; in a scope, x and t.x may be the same column."""
    if isinstance(expression, Apply):
        return (expression.function, *(plain(argument, scope) for argument in expression.arguments))
    if isinstance(expression, Name):
        parts = tuple(part.lower() for part in expression.parts)
        owner = scope.owner(expression) if scope is not None and len(parts) == 1 else None
        return (owner, *parts) if owner is not None else parts
    if isinstance(expression, Scalar):
        return unplaced_query(expression.query)
    return expression.value if isinstance(expression, Constant) else "*"


def name_of(expression: Expression) -> str:
    """The name of a column of the answer if the question gives none."""
    if isinstance(expression, Name):
        return expression.parts[-1].lower()
    if isinstance(expression, Apply) and expression.function == "over":
        return name_of(expression.arguments[0])  # as in PostgreSQL: a window is called by its function
    if isinstance(expression, Apply):
        words = [name_of(argument) for argument in expression.arguments if not isinstance(argument, Constant | Star)]
        symbol = WORDS.get(expression.function)
        return f"_{symbol}_".join(words or [symbol]) if symbol else "_".join([expression.function, *words])
    return "value"
