"""The most characters of SQL that a question becomes, and the most steps that planning it takes; by the plan alone (work.md).

Planning is all that is done before an engine reads a row: the SQL is made, read again, bound and optimized. Nothing is compiled
here, so that a process without an engine knows the same limit, and what is above it never takes the time that it would take. Every
number is an upper bound for every engine; a test compares them with what compile.py writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.query.named_parts import NAMED, WHOLE, in_list, named, quoted_length
from tacit.query.plan import (
    Bound,
    Column,
    Group,
    Join,
    Moment,
    PerUnit,
    PublicScan,
    Relation,
    Row,
    Scan,
    Semi,
    TextColumn,
    Union,
    UnitJoin,
    Where,
)
from tacit.query.question import Question
from tacit.query.size_limit import Extent, below, expressions_of, nodes_of

SELECT = 60  # characters of a query beside its columns and expressions
SELECTS = {Bound: 1, Where: 1, Join: 3, UnitJoin: 4, Semi: 3, PerUnit: 2, Union: 1}  # queries that a step is written as, at most
GROUPED, NUMBERED = 2, 2  # the same of groups, and of their rows where those are numbered
TABLE = 60  # of a table beside its name
MADE = 48  # of a column that is made: its name twice, and its table
TOTAL = 480  # of a total of a unit's rows beside its value
SUMS = {"rows": 80, "units": 100, "distinct": 100, "sum": 420, "centred": 420, "squares": 2_400, "products": 4_000, "list": 0}
"""The characters of a moment beside its value."""

STATEMENT = 3 * 10**7  # steps of planning, whatever is written: 30 milliseconds
CHARACTER, LISTED = 40_000, 12_000  # steps of a character, and of one in the list of a lookup (work.md)
PART = 30_000  # steps of a part of an expression that is written out for the text of a plan, by which SQL is cached
MOST_CHARACTERS = 2 * 10**6
MOST_PLANNING = 2 * 10**10
STEPS_PER_SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Size:
    """The most characters of SQL, how many of them are in lists of lookups, the number of statements, and parts written out.

    >>> Size(100, 10, 1) + Size(20, 0, 1)
    Size(characters=120, listed=10, statements=2, parts=0)
    """

    characters: int = 0
    listed: int = 0
    statements: int = 0
    parts: int = 0

    def __add__(self, other: Size) -> Size:
        statements, parts = self.statements + other.statements, self.parts + other.parts
        return Size(self.characters + other.characters, self.listed + other.listed, statements, parts)

    @property
    def steps(self) -> int:
        """The most steps of planning."""
        written = CHARACTER * (self.characters - self.listed) + LISTED * self.listed
        return STATEMENT * self.statements + written + PART * self.parts


def size_of(question: Question) -> Size:
    """The size of a question: of all statements of all its parts."""
    return sum((size_of_group(part.group) for part in question.parts), start=Size())


def size_of_group(group: Group) -> Size:
    """The size of one part of a question: of all its statements, and of the text of its plan."""
    return sum(statements(group), start=Size(parts=Extent().parts(*expressions_of(group))))


def statements(group: Group) -> Iterable[Size]:
    """The size of each statement of a plan: that of its sums, and one for each list."""
    written = _Written(_width(group))
    rows = written.relation(group.child)
    if group.per_group is not None or group.keys:
        rows += written.expressions([key.term.node for key in group.keys])
    queries = GROUPED + (NUMBERED if group.per_group is not None else 0)
    rows += Size(queries * (SELECT + written.width + MADE * len(group.keys)), statements=1)
    summed = [moment for moment in group.moments if moment.kind != "list"]
    if summed:
        yield rows + written.sums(summed)
    for moment in group.moments:
        if moment.kind == "list":
            yield (
                rows + (written.expressions([moment.value, moment.value]) if moment.value is not None else Size()) + Size(4 * MADE)
            )


@dataclass(frozen=True, slots=True)
class _Written:
    """Counts the SQL of a plan whose queries each list columns of at most `width` characters."""

    width: int

    def relation(self, relation: Relation) -> Size:
        """All steps of a relation."""
        return sum(map(self._step, below(relation)), start=Size())

    def sums(self, moments: Sequence[Moment]) -> Size:
        """The sums of moments, and their values."""
        values = list(dict.fromkeys(node for moment in moments for node in moment.parts))
        made = sum(SUMS[moment.kind] for moment in moments) + MADE * len(values)
        return self.expressions(values) + Size(made)

    def expressions(self, nodes: Sequence[Any]) -> Size:
        """Expressions over the same rows; each level of names is a query."""
        found = named(nodes)
        return Size(found.characters + len(found.levels) * (SELECT + self.width), found.listed)

    def _side(self, nodes: Sequence[Row]) -> Size:
        """The expressions that a join compares on one side; a lookup in a list becomes a column of a sub-query first."""
        listed = any(in_list(part) for node in nodes for part in nodes_of(node))
        return self.expressions(nodes) + (Size(SELECT + self.width + MADE * len(nodes)) if listed else Size())

    def _step(self, step: Relation) -> Size:
        query = Size(SELECT + self.width)
        queries = sum([query] * SELECTS.get(type(step), 0), start=Size())
        match step:
            case Where():
                return queries + self.expressions([step.condition])
            case Join():
                tested = self.expressions([step.condition]) if step.condition is not None else Size()
                return queries + Size(TABLE + len(step.table.name)) + self._side([step.left]) + tested
            case UnitJoin() | Semi():
                sides = [self._side([pair[side] for pair in step.pairs]) for side in (0, 1)]
                return queries + sum(sides, start=Size(MADE * (1 + len(step.pairs))))
            case PerUnit():
                values = [total.value for total in step.totals if total.value is not None]
                made = (TOTAL + MADE) * len(step.totals) + (MADE + WHOLE) * len(step.keys)
                return queries + self.expressions([*(node for _, node in step.keys), *values]) + Size(made)
            case Union():
                parts = [self.expressions(values) + query for _, values in step.parts]
                return sum(parts, start=queries + Size((MADE + WHOLE) * len(step.names) * len(step.parts)))
            case Scan() | PublicScan():
                return Size(TABLE + len(step.table.name))
            case _:
                return queries


def _width(group: Group) -> int:
    """Characters of all columns that a query of a plan can pass on, each with its table and another name."""
    nodes = (node for whole in expressions_of(group) for node in nodes_of(whole))
    names = {(node.source, node.name) for node in nodes if isinstance(node, Column | TextColumn)}
    for step in below(group):
        match step:
            case Join():
                names.add((step.source, step.right))
            case PerUnit():
                names |= {(step.source, name) for name in (*(key for key, _ in step.keys), *(total.name for total in step.totals))}
                names |= {(-step.source, total.name) for total in step.totals}
            case Union():
                names |= {(step.source, name) for name in step.names}
            case UnitJoin():
                names.add((step.here, "here"))
            case Bound():
                names.add((step.child.source, "tacit_rank"))
            case _:
                pass
    return 2 * NAMED + sum(24 + 2 * quoted_length(name) for _, name in names)
