"""The plan of a SELECT from answers: questions, public tables, and levels of rows that are made of both (answers.md).

A level stands as a question of released numbers would: its exact columns are keys, and its columns with noise are calls. So all
that is read and computed for released numbers is read and computed here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any
from typing import Literal as Choice

from tacit.query.free import Columns
from tacit.query.language.syntax import Select
from tacit.query.plan import BooleanType, Column, DateType, NumberType, Term, TextColumn, TextType, Type
from tacit.query.price.header import PUBLIC, Heading
from tacit.query.question import Call, KeyValue, Number, Out, Question, Result, Window
from tacit.query.trees import fields_of

# --- the released numbers that a column is made of ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Draw:
    """An output of a question: in one row of a source, by its numbers from the outside in, or in every row (None)."""

    question: int
    output: int
    source: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """One statement about the sum of an output of a question over several rows."""

    question: int
    output: int
    place: int


Draws = frozenset[Draw | Total]
NO_DRAWS: Draws = frozenset()


def everywhere(draws: Draws) -> Draws:
    """The same numbers in every row."""
    return frozenset(Draw(each.question, each.output) for each in draws)


# --- columns -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """A column of rows that are public or released.

    `term` is what expressions read, and `draws` are the released numbers behind it; one that is exact has none. `shows` is the
    output of a question that it shows unchanged. One that is `alone` is a chosen value, or a text made from noisy numbers: it can
    be shown, and nothing made of it. One that is `unknown` has no interval.
    """

    name: str
    type: str | None
    nullable: bool
    term: Term
    exact: bool = True
    draws: Draws = NO_DRAWS
    shows: tuple[int, int] | None = None
    alone: bool = False
    unknown: bool = False
    heading: Heading | None = None  # of the output that it shows

    @property
    def shown(self) -> Heading:
        """The column of the answer."""
        if self.heading is not None and self.shows is not None:
            return replace(self.heading, name=self.name, nullable=self.nullable)
        kind = PUBLIC if self.exact else "text" if self.alone or self.type in ("text", "boolean") else "expression"
        return Heading(self.name, kind, self.type, self.nullable)


TYPES: Mapping[str | None, Type] = {
    "integer": NumberType(Fraction(1)), "number": NumberType(Fraction(1, 10**6)), "date": DateType(), "boolean": BooleanType(),
    "text": TextType(), None: NumberType(Fraction(1)),
}  # fmt: skip


def standing(place: int, name: str, kind: str | None) -> Term:
    """A term for values that are known later."""
    return Term(Column(place, name, 0, 1, True), TYPES[kind])


def call_of(each: Field, place: int) -> Call:
    """The call that stands for a column with noise: one that no law of its own is known of."""
    return Call("quantile", standing(place, each.name, "date" if each.type == "date" else "integer"), Fraction(1, 2))


def read_as(each: Field, place: int) -> Term:
    """The term of a column under its number."""
    node = each.term.node
    low, high = (0, 1) if isinstance(node, TextColumn) else (node.low, node.high)
    return Term(Column(place, each.name.lower(), low, high, True), each.term.type, each.term.points)


# --- rows --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answered:
    """The rows of the answer to a question of the statement."""

    question: int
    fields: tuple[Field, ...]
    most: int
    chosen: bool
    sorted: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """The rows of a query of public tables."""

    columns: Columns
    fields: tuple[Field, ...]
    chosen: bool = False
    sorted: bool = False

    @property
    def most(self) -> int:
        """How many there are."""
        return len(self.columns[0][1]) if self.columns else 0


@dataclass(frozen=True, slots=True)
class Met:
    """An item of FROM: its rows, how they meet those before, and the exact columns (before, own) that are equal.

    A "value" is one row at most, which every row meets.
    """

    rows: Answered | Listed | Level
    kind: Choice["inner", "left", "value"]
    equal: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Derived:
    """An exact column that is made of other exact ones, by the list of all their values."""

    of: tuple[int, ...]
    values: Mapping[tuple[Any, ...], Any] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Stage:
    """Rows with their columns, and what is computed for each. `nodes` says which key or call each column is.

    The condition on rows is HAVING of the `question` that stands for them. Over `unsure` rows, which released numbers have chosen,
    nothing is known of what the exact numbers would give to a window. A window in `linear` adds up numbers whose noise has a law.
    """

    met: tuple[Met, ...]
    fields: tuple[Field, ...]
    nodes: tuple[KeyValue | Result, ...]
    made: tuple[Derived | Met, ...]  # of the last fields: exact expressions, and sub-queries that are values
    question: Question
    unsure: bool = False
    linear: frozenset[Window] = frozenset()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over the rows of a group: of an output of the rows, or of the rows themselves (None)."""

    function: str
    of: int | None
    linear: bool
    unknown: bool


@dataclass(frozen=True, slots=True)
class Level:
    """One SELECT: its rows, their groups if there are any, and what is shown.

    The first `keys` outputs of the rows are the keys of the groups; without `aggregates`, the rows themselves are shown.
    `chosen` says that released numbers decide which rows there are, and `sorted` that they decide their order.
    """

    rows: Stage
    shown: Stage
    fields: tuple[Field, ...]
    keys: int = 0
    aggregates: tuple[Aggregate, ...] | None = None
    most: int = 0
    chosen: bool = False
    sorted: bool = False


@dataclass(frozen=True, slots=True)
class Derivation:
    """A statement that selects from answers: its questions with their plans, each asked once, and what is shown of them."""

    questions: tuple[Select, ...]
    plans: tuple[Question, ...]
    level: Level

    @property
    def header(self) -> tuple[Heading, ...]:
        """The columns of the answer."""
        return tuple(each.shown for each in self.level.fields)


# --- outputs with the types of their columns ---------------------------------------------------------------------------------


def typed(out: Out, fields: tuple[Field, ...], nodes: tuple[KeyValue | Result, ...]) -> Out:
    """An output in which whole numbers with noise are constants, so that its type is found as that of any other output."""
    whole = {node for node, each in zip(nodes, fields, strict=True) if isinstance(node, Result) and each.type == "integer"}
    made: Out = _with_constants(out, whole)
    return made


def _with_constants(node: Any, whole: set[Result]) -> Any:
    if isinstance(node, tuple):
        return tuple(_with_constants(each, whole) for each in node)
    names = fields_of(node)
    if names is None:
        return node
    if isinstance(node, Result):
        return Number(Fraction(0)) if node in whole else node
    return type(node)(**{name: _with_constants(getattr(node, name), whole) for name in names})
