"""The columns of a level by name, and the groups over them: what expressions over released numbers may call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from tacit.errors import NotAllowed, WrongType
from tacit.query.answers.kinds import is_grouped
from tacit.query.answers.plan import (
    Aggregate,
    Answered,
    Derived,
    Draw,
    Draws,
    Field,
    Level,
    Listed,
    Met,
    Stage,
    Total,
    call_of,
    everywhere,
    read_as,
    standing,
    typed,
)
from tacit.query.binding.binder import Binder
from tacit.query.binding.conditions import names_in
from tacit.query.binding.scope import Scope, Source, name_of, plain
from tacit.query.excluded import MOST_LISTED, values_at
from tacit.query.intervals.aggregates import WRITTEN
from tacit.query.language.syntax import Apply, At, Expression, Name, Scalar, Star, unplaced_query
from tacit.query.plan import BooleanType, CategoryType, Column, DateType, Group, Key, NumberType, Term, TextColumn
from tacit.query.price.header import type_of, type_of_term
from tacit.query.question import (
    Call,
    KeyValue,
    Out,
    Question,
    Result,
    Test,
    Window,
    is_noisy,
    key_value,
    nodes,
    pause,
    values_of,
)
from tacit.query.released.calls import Asked
from tacit.query.released.expressions import OUTS, TESTS, Results

if TYPE_CHECKING:
    from tacit.query.answers.levels import Reading

LONGEST_NAME = 60
AGGREGATES = ("count", "sum", "avg", "min", "max", "count_distinct")
NOTHING: Any = None  # the relation of rows that no engine makes
Node = KeyValue | Result


class Named(Asked):
    """Columns by name: an exact one is a key, and one with noise is a result."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(Binder(Scope(())), ())
        self.reading = reading
        self.fields: list[Field] = []
        self.columns: list[Node] = []
        self.met: list[Met] = []
        self.made: list[Derived | Met] = []
        self.later: list[int] = []  # the columns that are made
        self.aliases: frozenset[str] = frozenset()
        self.words: dict[object, Node] = {}

    def add(self, each: Field) -> Node:
        """The node of a new column."""
        if each.exact:
            self.keys = (*self.keys, Key(each.name, each.term))
            node: Node = KeyValue(len(self.keys) - 1)
        else:
            self.calls.append(call_of(each, len(self.fields)))
            node = Result(len(self.calls) - 1)
        self.fields.append(each)
        self.columns.append(node)
        return node

    def add_source(self, alias: str, rows: Answered | Listed | Level, using: frozenset[str], at: At) -> None:
        """The columns of an item of FROM."""
        if any(source.alias.lower() == alias.lower() for source in self.binder.scope.sources):
            raise NotAllowed(f"duplicate table name {alias[:60]!r}", remedy="give one an alias", at=at)
        number, held = len(self.met), {}
        for each in rows.fields:
            drawn = _of_source(each.draws, number)
            held[each.name.lower()] = read_as(each, len(self.fields))
            self.add(replace(each, draws=drawn))
        if len(held) < len(rows.fields):
            raise NotAllowed("two columns of the sub-query have one name", remedy="give one a name with AS", at=at)
        self.binder = Binder(Scope((*self.binder.scope.sources, Source(alias, held, using=using))))

    def place(self, name: Name) -> int | None:
        """The column that a name means; None if it is an alias of SELECT alone."""
        scope = self.binder.scope
        if not scope.has(name) and len(name.parts) == 1 and name.parts[0].lower() in self.aliases:
            return None
        found = scope.find(name)[1]
        return found.node.source if isinstance(found, Term) and isinstance(found.node, Column) else None

    def key(self, expression: Expression) -> Any:
        """The column that an expression is; None for any other expression."""
        if (known := self.words.get(plain(expression, self.binder.scope))) is not None:
            return known
        if isinstance(expression, Name):
            place = self.place(expression)
            if place is not None and self.fields[place].alone:
                raise _only_shown(expression.at)
            return None if place is None else self.columns[place]
        if not isinstance(expression, Apply) or expression.function in {*OUTS, *TESTS, *WRITTEN, "over", "grouping"}:
            return None
        return self.made_of_exact(expression)

    def made_of_exact(self, expression: Apply) -> Node | None:
        """An expression of rows over exact columns, by the list of all their values."""
        names = list(names_in(expression))
        places = list(dict.fromkeys(place for name in names if (place := self.place(name)) is not None))
        if not places or len(places) < len({plain(name, self.binder.scope) for name in names}) or is_grouped(expression):
            return None
        if not all(self.fields[place].exact and _is_listed(self.fields[place].term) for place in places):
            raise NotAllowed(
                f"{expression.function.upper()} is supported here on columns with declared values only",
                remedy="use it inside the question",
                at=expression.at,
            )
        pause()
        term = self.binder.term(expression)
        columns = [read_as(self.fields[place], place) for place in places]
        self.made.append(Derived(tuple(places), _every_value(term, columns, expression)))
        self.later.append(len(self.fields))
        node = self.add(Field(name_of(expression)[:LONGEST_NAME], type_of_term(term), True, replace(term, points=None)))
        self.words[plain(expression, self.binder.scope)] = node
        return node

    def beside(self, expression: Scalar) -> Out:
        """A sub-query that is a value, inside an expression."""
        node = self.value(expression)
        if any(each.alone for each in self.fields_in(node)):
            raise _only_shown(expression.at)
        return node

    def value(self, expression: Scalar) -> Node:
        """A sub-query that is a value: one more column, with the same value in every row."""
        said = unplaced_query(expression.query)
        if said not in self.words:
            rows = self.reading.one_value(expression)
            self.made.append(Met(rows, "value"))
            self.later.append(len(self.fields))
            (each,) = rows.fields
            drawn = _of_source(each.draws, -len(self.made))
            self.words[said] = self.add(_chosen(each) if rows.chosen else replace(each, draws=drawn))
        return self.words[said]

    def grouping(self, expression: Apply) -> Any:
        """GROUPING belongs to the question."""
        raise NotAllowed("GROUPING is not supported over an answer", remedy="use it inside the question", at=expression.at)

    def call(self, expression: Apply) -> Call:
        """Aggregates belong to groups."""
        raise NotAllowed("an aggregate is not allowed here", remedy="aggregates belong to SELECT, HAVING and ORDER BY",
                         at=expression.at)  # fmt: skip

    def fields_in(self, node: object) -> list[Field]:
        """The columns with noise inside a node."""
        return [self.fields[self.columns.index(each)] for each in nodes(node) if isinstance(each, Result)]

    def draws_of(self, *parts: object) -> Draws:
        """The released numbers behind some nodes."""
        return frozenset(draw for part in parts for each in self.fields_in(part) for draw in each.draws)

    def type_of(self, out: Out) -> str | None:
        """The type of an output."""
        return type_of(typed(out, tuple(self.fields), tuple(self.columns)), self.question())

    def question(self, having: Test | None = None, **more: Any) -> Question:
        """The question that stands for the rows."""
        given = {"outputs": (), **more}
        return Question(Group(NOTHING, self.keys, ()), tuple(self.calls), having=having, **given)

    def stage(self, question: Question, unsure: bool, windows: Mapping[Window, Total]) -> Stage:
        """The rows with what is computed for each: the columns that are made stand last, wherever SELECT names them first."""
        order = [*(place for place in range(len(self.fields)) if place not in self.later), *self.later]
        fields, columns = tuple(self.fields[place] for place in order), tuple(self.columns[place] for place in order)
        return Stage(tuple(self.met), fields, columns, tuple(self.made), question, unsure, frozenset(windows))


class Grouped(Named):
    """The columns of groups: expressions of GROUP BY, and aggregates over the rows of a group."""

    def __init__(self, reading: Reading, rows: Results, below: Named, where: Test | None, unsure: bool) -> None:
        super().__init__(reading)
        self.rows, self.below, self.where, self.unsure = rows, below, where, unsure
        self.binder = below.binder
        self.arguments: list[Out] = []
        self.aggregates: list[Aggregate] = []
        self.asked: dict[Call, Node] = {}

    def add_key(self, expression: Expression, name: str) -> None:
        """A column for an expression of GROUP BY. Where noisy numbers decide the groups, nothing is known of the exact ones."""
        out = self.rows.out(expression)
        noisy, kind = is_noisy(out), self.below.type_of(out)
        self.unsure = self.unsure or noisy
        term = self.below.keys[out.index].term if isinstance(out, KeyValue) else standing(0, name, kind)
        self.arguments.append(out)
        made = Field(name, kind, True, term, not noisy, self.below.draws_of(out), unknown=noisy)
        self.words[plain(expression, self.binder.scope)] = self.add(made)

    def key(self, expression: Expression) -> Any:
        """The column of GROUP BY that an expression is."""
        return self.words.get(plain(expression, self.binder.scope))

    def call(self, expression: Apply) -> Call:
        """An aggregate over the rows of a group."""
        function = expression.function
        if function not in AGGREGATES or len(expression.arguments) != 1:
            raise NotAllowed(
                f"{function.upper()} of released numbers is not supported",
                remedy="use COUNT, SUM, AVG, MIN or MAX, or ask the question itself for it",
                at=expression.at,
            )
        (argument,) = expression.arguments
        of = None if isinstance(argument, Star) else (self.rows.number if function in ("sum", "avg") else self.rows.out)(argument)
        if of is not None and function in ("min", "max") and self.rows.kind(of) not in ("number", "date", "null"):
            raise WrongType(f"{function.upper()} here requires numbers or dates", at=expression.at)
        if of is not None and of not in self.arguments:
            self.arguments.append(of)
        place = None if of is None else self.arguments.index(of)
        call = Call(function, None if place is None else standing(place, "argument", None))
        if call not in self.asked:
            self.asked[call] = self._add(function, of, place)
        return call

    def _add(self, function: str, of: Out | None, place: int | None) -> Node:
        shown = self.below.fields[self.below.columns.index(of)] if isinstance(of, Result) else None
        chosen = self.unsure or is_noisy(self.where)
        unknown = self.unsure or any(each.unknown for each in self.below.fields_in((of, self.where)))
        added = None if shown is None or chosen or function not in ("sum", "avg") else self.reading.total(shown, self.below)
        self.aggregates.append(Aggregate(function, place, added is not None, unknown))
        draws = everywhere(self.below.draws_of(of, self.where)) if added is None else frozenset({added})
        counts = of is None or function.startswith("count")
        kind = "integer" if counts or of is None else "number" if function == "avg" else self.below.type_of(of)
        exact = not chosen and not is_noisy(of)
        return self.add(Field(function, kind, not counts, standing(0, function, kind), exact, draws, unknown=unknown and not exact))

    def result(self, call: Call) -> Any:
        """The column of an aggregate."""
        return self.asked[call]


def _only_shown(at: At) -> NotAllowed:
    return NotAllowed(
        "a chosen value, and a text made from noisy numbers, can be shown, and nothing made of it",
        remedy="select the column by itself",
        at=at,
    )


def _chosen(each: Field) -> Field:
    """A value of a row that released numbers chose: one with noise holds with those of all rows before the choice.

    An exact one would be another if the exact numbers chose, so it is no longer exact, and nothing is known of it.
    """
    if not each.exact:
        return replace(each, draws=everywhere(each.draws))
    alone = each.type not in ("integer", "number", "date")
    return replace(each, exact=False, term=standing(0, each.name, each.type), shows=None, alone=alone, unknown=True)


def _of_source(draws: Draws, number: int) -> Draws:
    """The same numbers, those of one row as the source with a number has them."""
    return frozenset(_within(each, number) for each in draws)


def _within(each: Draw | Total, number: int) -> Draw | Total:
    if not isinstance(each, Draw) or each.source is None:
        return each
    return replace(each, source=(number, *each.source))


def _is_listed(term: Term) -> bool:
    """Whether the values of a column are declared, and shown as they are."""
    if isinstance(term.node, TextColumn) or (isinstance(term.type, NumberType) and term.type.step.denominator != 1):
        return False
    return isinstance(term.type, CategoryType | BooleanType) or (
        isinstance(term.type, DateType | NumberType) and term.node.high - term.node.low > 1
    )


def _every_value(term: Term, columns: Sequence[Term], at: Apply) -> Mapping[tuple[Any, ...], Any]:
    """The value of an expression for all declared values of its columns."""
    refusal = NotAllowed("this expression is not supported over an answer", remedy="use it inside the question", at=at.at)
    nodes_of_columns = [each.node for each in columns if isinstance(each.node, Column)]
    if isinstance(term.node, TextColumn) or prod(node.high - node.low + 2 for node in nodes_of_columns) > MOST_LISTED:
        raise refusal
    points = list(product(*((*values_of(each), None) for each in columns)))
    found = values_at(term.node, nodes_of_columns, points)
    if found is None:
        raise refusal
    values = [tuple(key_value(each, value) for each, value in zip(columns, point, strict=True)) for point in points]
    return dict(zip(values, (key_value(term, each) for each in found), strict=True))
