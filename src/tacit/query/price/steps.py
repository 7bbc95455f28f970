"""The most steps of one core that a row expression takes, by a table of what every part of it costs for one row (work.md).

`Work` adds steps up, and says how many of them one core does if a cluster shares them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any

from tacit.privacy.catalog import MOST_CORES, MOST_PARTS, PARTS_PER_CORE, Table
from tacit.query.named_parts import in_list, stairs
from tacit.query.plan import (
    Add,
    All,
    Among,
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
    Multiply,
    Negation,
    PerUnit,
    PublicScan,
    Quotient,
    Ratio,
    Relation,
    Root,
    Scan,
    TextColumn,
    TextIs,
    TextLike,
    Truth,
    Union,
)
from tacit.query.size_limit import Node, below, expressions_of, nodes_of, parts_of, written_out

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

    Of the steps, the driver of a cluster does `alone`, and `task` are those of the largest task of each stage. What tasks have
    added up is added up again there: `gathered` are further steps of one task, `moved` those of all parts of a shuffle. The
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
        """The most steps until all is done on so many cores; never more than on one (work.md, by Graham 1966).

        >>> Work(steps=1000, alone=100).on(1), Work(steps=1000, alone=100).on(9), Work(steps=1000, task=1000).on(9)
        (1000, 450, 1000)
        """
        largest = self.task + self.gathered + Fraction(2 * self.moved, min(PARTS_PER_CORE * cores, MOST_PARTS))
        shared = Fraction(max(0, self.steps - self.alone - self.task) + self.moved, cores)
        return min(self.steps, self.alone + LAUNCH * self.tasks + ceil(SLOWER * (largest + shared)))

    def cores_for(self, most: int) -> int | None:
        """The least number of cores on which at most so many steps are done; None if none that can be declared is enough.

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
        each, _, chosen = self._measured(node)
        return each + CHOSEN * chosen

    def _measured(self, node: Node) -> tuple[int, int, int]:
        """The steps of a row on its way through an expression, how many parts that has, and how many are results of a CASE."""
        if id(node) not in self.measured:
            self.measured[id(node)] = (node, *self._measure(node))
        return self.measured[id(node)][1:]

    def _measure(self, node: Node) -> tuple[int, int, int]:
        """For a choice, every condition and the most expensive result: a row gets one of them."""
        if (found := stairs(node)) is not None:
            each, size, chosen = self._measured(found.row)
            return CLIMBED + each, 1 + size, chosen
        own = OWN[type(node)](node, self._longest(getattr(node, "child", None)))
        if isinstance(node, Choose):
            tests = [self._measured(test) for test, _ in node.branches]
            results = [self._measured(result) for result in (*(result for _, result in node.branches), node.otherwise)]
            sizes, chosen = sum(size for _, size, _ in results), sum(inside for *_, inside in tests)
            each = sum(steps for steps, *_ in tests) + max(steps for steps, *_ in results)
            return own + each, 1 + sizes + sum(size for _, size, _ in tests), sizes + chosen
        parts, times = [self._measured(part) for part in parts_of(node)], written_out(node)
        each, size, chosen = (times * sum(column) for column in zip(*parts, strict=True)) if parts else (0, 0, 0)
        return own + each, 1 + size, chosen

    def _longest(self, node: object) -> int:
        return self.tables[node.source].columns[node.name].longest if isinstance(node, TextColumn) else NUMBER
