"""The size of a question by its plan alone: parts written out, characters of SQL, steps of planning, and steps of a row (work.md).

ABS(x) uses x three times, so ABS(ABS(ABS(...))) grows threefold with each step while the plan, which shares its parts, stays small.
Without a limit, a short query would keep the planner or the engine busy forever. Planning is all that is done before an engine
reads a row: the SQL is made, read again, bound and optimized. Nothing is compiled here, so that a process without an engine has the
same limit, and whatever is above it never takes the time that it would take. Every number is an upper bound for every engine; a
test compares them with what compile.py writes. `Work` adds steps up, and gives those of one core if a cluster shares them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any

from tacit.errors import RangeTooLarge
from tacit.privacy.catalog import MOST_CORES, MOST_PARTS, PARTS_PER_CORE, Table
from tacit.query.named_parts import NAMED, WHOLE, in_list, named, quoted_length, stairs
from tacit.query.plan import (
    Add,
    All,
    Among,
    Bound,
    Choose,
    Code,
    Column,
    Compare,
    Either,
    Group,
    IsNull,
    Join,
    Literal,
    Logarithm,
    Lookup,
    Moment,
    Multiply,
    Negation,
    PerUnit,
    PublicScan,
    Quotient,
    Ratio,
    Relation,
    Root,
    Row,
    Scan,
    Semi,
    TextColumn,
    TextIs,
    TextLike,
    Truth,
    Union,
    UnitJoin,
    Where,
)
from tacit.query.question import Question
from tacit.query.trees import Node, below, expressions_of, nodes_of, parts_of

# --- parts: the size of an expression, where a part that is used twice is written twice --------------------------------------


MOST_WRITTEN = 10_000
SLOW_PATTERN = 10  # parts for each character of a pattern with _: an engine's time grows with its length times that of the text
DEEPEST = 250
SERIES = 250  # parts of a logarithm beside its argument: roots, and the products of its series
USES = {Logarithm: 16, Ratio: 8}  # of an argument: in a series, or where a NULL is kept apart and the result clipped (compile.py)


@dataclass(frozen=True, slots=True)
class Extent:
    """Adds up the size of what is written out. A measured part is remembered by identity, not by content."""

    measured: dict[int, tuple[Node, int, int]] = field(default_factory=dict, repr=False)

    def check(self, *nodes: Node) -> None:
        """Raises if the expressions are too large together, or if one is too deep."""
        sizes = [self._of(node) for node in nodes]
        if sum(parts for parts, _ in sizes) > MOST_WRITTEN or any(depth > DEEPEST for _, depth in sizes):
            raise RangeTooLarge("the expressions are too large", remedy="ask for less at once")

    def parts(self, *nodes: Node) -> int:
        """How many parts the expressions have together."""
        return sum(self._of(node)[0] for node in nodes)

    def _of(self, node: Node) -> tuple[int, int]:
        """How many parts, and how deep."""
        measure = self.measured.get(id(node))
        if measure is None:
            inner = [self._of(part) for part in parts_of(node)]
            parts, depth = 1 + _list_parts(node), 1
            if inner:
                parts += written_out(node) * sum(size for size, _ in inner)
                depth += max(deep for _, deep in inner)
            measure = self.measured[id(node)] = (node, parts, depth)
        return measure[1:]


def written_out(node: object) -> int:
    """How often what a node holds is written out for it: a logarithm is a series, and uses its argument again and again."""
    return USES.get(type(node), 1)


def _list_parts(node: Node) -> int:
    """Constants in lists are short: sixteen count as one."""
    if isinstance(node, TextLike) and "_" in node.pattern:
        return SLOW_PATTERN * len(node.pattern)
    parts = SERIES if isinstance(node, Logarithm) else 0
    for name in node.__slots__:
        value = getattr(node, name)
        if isinstance(value, tuple):
            parts += len(value) // 16
    return parts


# --- characters of SQL, and steps of planning --------------------------------------------------------------------------------


SELECT = 60  # characters of a query beside its columns and expressions
SELECTS = {Bound: 1, Where: 1, Join: 3, UnitJoin: 4, Semi: 3, PerUnit: 2, Union: 1}  # queries that a step is written as, at most
GROUPED, NUMBERED = 2, 2  # the same of groups, and of their rows where those are numbered
TABLE = 60  # of a table beside its name
MADE = 48  # of a column that is made: its name twice, and its table
PERIODS = 120  # of the periods of a table, and of each run of them: two comparisons
TOTAL = 480  # of a total of a unit's rows beside its value
SUMS = {"rows": 80, "units": 100, "distinct": 100, "sum": 420, "centred": 420, "squares": 2_400, "products": 4_000, "list": 0}
"""The characters of a moment beside its value."""

STATEMENT = 3 * 10**7  # steps of planning, whatever is written: 30 milliseconds
CHARACTER, CHARACTER_LISTED = 40_000, 12_000  # steps of a character, and of one in the list of a lookup (work.md)
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
        written = CHARACTER * (self.characters - self.listed) + CHARACTER_LISTED * self.listed
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
        parts = named(nodes)
        return Size(parts.characters + len(parts.levels) * (SELECT + self.width), parts.listed)

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
                if step.most is not None:
                    ranked = sum(isinstance(each, Scan) for each in below(step))
                    queries += sum([query] * NUMBERED, start=Size((TOTAL + MADE) * (ranked + len(step.keys) + 1)))
                return queries + self.expressions([*(node for _, node in step.keys), *values]) + Size(made)
            case Union():
                parts = [self.expressions(values) + query for _, values in step.parts]
                return sum(parts, start=queries + Size((MADE + WHOLE) * len(step.names) * len(step.parts)))
            case Scan() | PublicScan():
                return Size(TABLE + len(step.table.name))
            case Bound() if step.periods is not None:
                return queries + query + Size(PERIODS * (1 + len(step.periods)))
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
                names |= {
                    (step.child.source, "tacit_rank"),
                    *([] if step.periods is None else [(step.child.source, "tacit_period")]),
                }
            case _:
                pass
    return 2 * NAMED + sum(24 + 2 * quoted_length(name) for _, name in names)


# --- steps of a row, by a table of the price of every part of an expression --------------------------------------------------


NUMBER = 8  # bytes
HELD = 32  # bytes of a number in a row that is held and sorted
ALWAYS = 5  # numbers of such a row in addition to the columns that are read: its unit, rank, position and keys
LISTED = 30  # an index of a list; of a long list, a place that no cache holds
CLIMBED = 120  # three lists, by a bucket (stairs.py)
CHOSEN = 1  # a part of what a CASE chooses between: an engine takes rows by the thousand, and visits all results for each thousand


SLOWER = Fraction(7, 2)  # seconds of a core on a cluster, for each second of the model: measured (work.md)
LAUNCH = 2 * 10**6  # a task, for the driver: 2 milliseconds


@dataclass(frozen=True, slots=True)
class Work:
    """Rows that operators read, join, filter, sort and group; steps of one core; bytes held at once.

    Of the steps, the driver of a cluster does `alone`, and `task` are those of the largest task of each stage. The sums of
    tasks are added up again there: `gathered` are further steps of one task, `moved` those of all parts of a shuffle. The
    driver starts `tasks`.

    >>> Work(10, 200) + Work(1, 30, 8)
    Work(rows=11, steps=230, bytes=8, alone=0, task=0, gathered=0, moved=0, tasks=0)
    """

    rows: int = 0
    steps: int = 0
    bytes: int = 0
    alone: int = 0
    task: int = 0
    gathered: int = 0
    moved: int = 0
    tasks: int = 0

    def __add__(self, other: Work) -> Work:
        alone, task, gathered = self.alone + other.alone, self.task + other.task, self.gathered + other.gathered
        shared = (alone, task, gathered, self.moved + other.moved, self.tasks + other.tasks)
        return Work(self.rows + other.rows, self.steps + other.steps, self.bytes + other.bytes, *shared)

    def on(self, cores: int) -> int:
        """The most steps until all is done on a number of cores; never more than on one (work.md, by Graham 1966).

        >>> Work(steps=1000, alone=100).on(1), Work(steps=1000, alone=100).on(9), Work(steps=1000, task=1000).on(9)
        (1000, 450, 1000)
        """
        largest = self.task + self.gathered + Fraction(2 * self.moved, min(PARTS_PER_CORE * cores, MOST_PARTS))
        shared = Fraction(max(0, self.steps - self.alone - self.task) + self.moved, cores)
        return min(self.steps, self.alone + LAUNCH * self.tasks + ceil(SLOWER * (largest + shared)))

    def cores_for(self, most: int) -> int | None:
        """The least number of cores on which at most `most` steps are done; None if none that can be declared is enough.

        >>> Work(steps=1000, alone=100).cores_for(450), Work(steps=1000, alone=100).cores_for(100)
        (9, None)
        """
        found = bisect_left(range(1, MOST_CORES + 1), -most, key=lambda cores: -self.on(cores)) + 1
        return found if found <= MOST_CORES else None


def _like(node: TextLike, longest: int) -> int:
    """A fixed prefix is compared once; anything else is tried at every position of the text, in the worst case to its end."""
    fixed = not set("%_") & set(node.pattern.removesuffix("%"))
    length = len(node.pattern.encode())
    return 8 + length if fixed else 8 + 3 * length * longest


def _lookup(node: Lookup, _: int) -> int:
    return LISTED + len(node.table) // 2000 if in_list(node) else 5 * len(node.table)


OWN: Mapping[type, Callable[[Any, int], int]] = {
    Column: lambda node, _: 2,
    Code: lambda node, _: 2,
    TextColumn: lambda node, _: 2,
    Literal: lambda node, _: 1,
    Add: lambda node, _: 3,
    Multiply: lambda node, _: 3,
    Quotient: lambda node, _: 10,
    Ratio: lambda node, _: 25,
    Choose: lambda node, _: 5 * len(node.branches),
    Lookup: _lookup,
    Root: lambda node, _: 20,
    Logarithm: lambda node, _: 600 + (len(node.up) + len(node.down)) // 2,
    Compare: lambda node, _: 3,
    Among: lambda node, _: 5 + len(node.values) // 2,
    IsNull: lambda node, _: 2,
    All: lambda node, _: 2 * len(node.parts),
    Either: lambda node, _: 2 * len(node.parts),
    Negation: lambda node, _: 2,
    Truth: lambda node, _: 1,
    TextIs: lambda node, longest: sum(10 + min(longest, len(text.encode())) // 4 for text in node.texts),
    TextLike: _like,
}
"""The steps of each kind of part, without those of its arguments; the number is the most bytes of the text that it reads."""


@dataclass(frozen=True, slots=True)
class Expressions:
    """The expressions of a plan: which columns they read, the entries of their lists, and the steps of each for one row."""

    tables: Mapping[int, Table]
    columns: frozenset[Column | TextColumn]
    joined: int = 0
    entries: int = 0
    measured: dict[int, tuple[Node, int, int, int]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, group: Group) -> Expressions:
        """The expressions of a plan; `joined` counts the columns of its public tables."""
        steps = [step for step in below(group) if isinstance(step, Scan | PublicScan | Join)]
        nodes = [node for whole in expressions_of(group) for node in nodes_of(whole)]
        columns = frozenset(node for node in nodes if isinstance(node, Column | TextColumn))
        joined = sum(step.width for step in steps if isinstance(step, Join))
        entries = sum(len(node.table) for node in nodes if isinstance(node, Lookup) and in_list(node))
        return cls({step.source: step.table for step in steps}, columns, joined, entries)

    def read(self, source: int) -> int:
        """Steps to read the columns of one row of a table, and its rank."""
        own = [column for column in self.columns if column.source == source]
        return 5 + sum(2 + self.bytes_of(column) // 2 for column in own if isinstance(column, TextColumn)) + 2 * len(own)

    @property
    def width(self) -> int:
        """Bytes of a row that is held: its unit and rank, every column that is read, and every column of public tables."""
        own = sum(self.bytes_of(column) for column in self.columns)
        return HELD * (ALWAYS + self.joined) + HELD // NUMBER * own

    def held(self, relation: Relation) -> int:
        """Bytes of a row of a relation that is held for a join: its unit and the columns that are read."""
        sources = {step.source for step in below(relation) if isinstance(step, Scan | PublicScan | Join | PerUnit | Union)}
        return NUMBER + sum(self.bytes_of(column) for column in self.columns if column.source in sources)

    def bytes_of(self, node: Node) -> int:
        """The most bytes of a value."""
        return self._longest(node) if isinstance(node, TextColumn) else NUMBER

    def steps(self, node: Node) -> int:
        """The most steps of an expression for one row; a part that is used twice is computed twice."""
        each, _, chosen = self._measure_once(node)
        return each + CHOSEN * chosen

    def _measure_once(self, node: Node) -> tuple[int, int, int]:
        """The steps of a row on its way through an expression, how many parts that has, and how many are results of a CASE."""
        if id(node) not in self.measured:
            self.measured[id(node)] = (node, *self._measure(node))
        return self.measured[id(node)][1:]

    def _measure(self, node: Node) -> tuple[int, int, int]:
        """For a choice, every condition and the most expensive result: a row gets one of them."""
        if (found := stairs(node)) is not None:
            each, size, chosen = self._measure_once(found.row)
            return CLIMBED + each, 1 + size, chosen
        own = OWN[type(node)](node, self._longest(getattr(node, "child", None)))
        if isinstance(node, Choose):
            tests = [self._measure_once(test) for test, _ in node.branches]
            results = [self._measure_once(result) for result in (*(result for _, result in node.branches), node.otherwise)]
            sizes, chosen = sum(size for _, size, _ in results), sum(inside for *_, inside in tests)
            each = sum(steps for steps, *_ in tests) + max(steps for steps, *_ in results)
            return own + each, 1 + sizes + sum(size for _, size, _ in tests), sizes + chosen
        parts, times = [self._measure_once(part) for part in parts_of(node)], written_out(node)
        each, size, chosen = (times * sum(column) for column in zip(*parts, strict=True)) if parts else (0, 0, 0)
        return own + each, 1 + size, chosen

    def _longest(self, node: object) -> int:
        return self.tables[node.source].columns[node.name].longest if isinstance(node, TextColumn) else NUMBER
