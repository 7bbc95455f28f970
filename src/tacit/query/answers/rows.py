"""The rows of a SELECT from answers: values as SQL has them, and the range of the exact ones, from released numbers alone.

No row, no text and no number here can fail: what has no value is NULL, and where nothing is known of the exact number its ends are
open. The work was bounded when the statement was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from tacit.mechanisms.mechanism import Additive
from tacit.privacy.catalog import day_number
from tacit.query.answers.aggregates import AGGREGATED, Grouped
from tacit.query.answers.plan import Aggregate, Answered, Field, Level, Listed, Met, Stage
from tacit.query.intervals.bands import (
    Band,
    Cells,
    Flags,
    Floats,
    Noisy,
    Numbers,
    Words,
    certain,
    half_width_of_sum,
    listed,
    settle,
)
from tacit.query.intervals.columns import Columns
from tacit.query.intervals.forms import counts, dates, plain
from tacit.query.intervals.ranges import Places
from tacit.query.intervals.windows import ascending, window_ends
from tacit.query.price.quote import Request
from tacit.query.question import Call, KeyValue, Out, Question, Result, Window, pause

MOST_LAWS = 64  # different numbers of rows for which the law of a sum is computed; of more, a simpler bound is


@dataclass(frozen=True, slots=True)
class Law:
    """The noise of an output that is a sum: its mechanism, the draws in one number, and the size of a step."""

    mechanism: Additive
    draws: int
    unit: float


class Answers(Protocol):
    """The released answers to the questions of a statement."""

    def size(self, question: int) -> int: ...
    def values(self, question: int, output: int) -> Sequence[Any]: ...
    def cells(self, question: int, output: int, missed: Fraction) -> Cells: ...
    def law(self, question: int, output: int) -> Law | None: ...


# --- columns of rows ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A column: its cells, the plain values of an exact one, and the row of the answer from which each comes (-1: none)."""

    cells: Cells
    values: tuple[Any, ...] | None = None
    rows: Places | None = None

    def at(self, places: Places) -> Held:
        """The column of other rows; at -1 it is NULL."""
        gone = places < 0
        safe = np.where(gone, 0, places)
        values = None if self.values is None else tuple(None if at < 0 else self.values[at] for at in places.tolist())
        rows = None if self.rows is None else (np.where(gone, -1, self.rows[safe]) if len(self.rows) else np.full(len(places), -1))
        return Held(_cells_at(self.cells, safe, gone), values, rows)


def _cells_at(cells: Cells, safe: Places, gone: Flags) -> Cells:
    if isinstance(cells, Words):
        given = cells.values
        return Words(
            tuple(None if lost else given[at] for at, lost in zip(safe.tolist(), gone.tolist(), strict=True)), cells.certain
        )
    if not len(cells.value):
        return certain(np.full(len(safe), np.nan))
    value, low, high = (np.where(gone, np.nan, each[safe]) for each in (cells.value, cells.low, cells.high))
    return Numbers(value, low, high, cells.null[safe] | gone)


def exact_cells(values: Sequence[Any], kind: str | None) -> Cells:
    """Plain values as cells: numbers, and dates as days, are numbers."""
    if kind == "date":
        return certain(np.array([np.nan if each is None else float(_day(each)) for each in values], dtype=np.float64))
    if kind in ("integer", "number", None) and all(each is None or not isinstance(each, str) for each in values):
        return certain(np.array([np.nan if each is None else float(each) for each in values], dtype=np.float64))
    return Words(tuple(values), certain=True)


def _day(text: str) -> int:
    from datetime import date

    return day_number(date.fromisoformat(text))


def plain_values(cells: Cells, kind: str | None) -> tuple[Any, ...]:
    """Cells as plain values of an answer."""
    if isinstance(cells, Words):
        return cells.values
    return tuple(numbers_of(cells.value, kind))


def numbers_of(numbers: Floats, kind: str | None) -> Sequence[Any]:
    """Numbers as an answer has them, by the type of their column."""
    return dates(numbers) if kind == "date" else counts(numbers) if kind == "integer" else plain(numbers)


def unknown_ends(numbers: Numbers) -> Numbers:
    """Numbers of whose exact ones nothing is known."""
    size = len(numbers.value)
    return Numbers(numbers.value, np.full(size, -np.inf), np.full(size, np.inf), np.ones(size, dtype=np.bool_))


# --- what is computed for the rows of a stage --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    """The question that stands for the rows of a stage, as intervals read it."""

    question: Question
    request: Request = field(default_factory=Request)
    keys: None = None
    beside: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Over(Columns):
    """Computes expressions over the rows of a stage: its keys and calls are the columns that it holds."""

    stage: Stage | None = None
    held: tuple[Held, ...] = ()
    answers: Answers | None = None

    @classmethod
    def of_stage(cls, stage: Stage, held: Sequence[Held], size: int, answers: Answers, missed: Fraction) -> Over:
        """The rows with their columns."""
        exact = {node.index: each.values or () for each, node in zip(held, stage.nodes, strict=True) if isinstance(node, KeyValue)}
        groups = tuple(zip(*(exact[index] for index in sorted(exact)), strict=True)) if exact else ((),) * size
        return cls(Standing(stage.question), Noisy(groups, {}, {}), missed, [], stage, tuple(held), answers)

    @property
    def _stage(self) -> Stage:
        assert self.stage is not None  # noqa: S101  # as `of_stage` makes it
        return self.stage

    def column(self, node: KeyValue | Result) -> Held:
        """The column that a node names."""
        return self.held[self._stage.nodes.index(node)]

    def key(self, index: int) -> Cells:
        return self.column(KeyValue(index)).cells

    def sortable(self, out: Out) -> Cells:
        if not isinstance(out, KeyValue):
            return self.of(out)
        return Words(self.column(out).values or (), certain=True)

    def result(self, call: Call) -> Numbers:
        cells = self.column(Result(self.quote.question.calls.index(call))).cells
        assert isinstance(cells, Numbers)  # noqa: S101  # a text is shown only
        return cells

    def of(self, out: Out) -> Cells:
        pause()
        if isinstance(out, Result | KeyValue):
            return self.column(out).cells
        if not isinstance(out, Window):
            return Columns.of(self, out)
        if out in self._stage.linear:
            return self._sum_of_partitions(out)
        made = window_ends(self, out)
        return unknown_ends(made) if self._stage.unsure else made

    def _sum_of_partitions(self, window: Window) -> Numbers:
        """SUM or AVG of one column over partitions, by the law of the sum of its noise."""
        assert isinstance(window.child, Result)  # noqa: S101  # as the plan says
        partition = _codes([tuple(group[key.index] for key in window.partition) for group in self.noisy.groups])
        summed = self.summed(window.child, partition, int(partition.max(initial=-1)) + 1, window.function == "avg")
        made = summed.at(partition)
        outside = ~self.members.inside
        value, low, high = (np.where(outside, np.nan, each) for each in (made.value, made.low, made.high))
        return Numbers(value, low, high, made.null | outside)

    def summed(self, child: Result, groups: Places, number: int, mean: bool) -> Numbers:
        """The sums of a column over groups of rows; each row of an answer must be in a group once, else nothing is known."""
        assert self.answers is not None  # noqa: S101
        held = self.column(child)
        shows = self._stage.fields[self._stage.nodes.index(child)].shows
        law = None if shows is None else self.answers.law(*shows)
        cells, rows = self.result(self.quote.question.calls[child.index]), held.rows
        there = self.members.inside & ~np.isnan(cells.value)
        places = groups[there]
        value = np.bincount(places, cells.value[there], minlength=number).astype(np.float64)
        count = np.bincount(places, minlength=number).astype(np.int64)
        single = rows is not None and len(np.unique(np.stack([places, rows[there]]), axis=1).T) == len(places)
        if law is None or not single:
            width = np.full(number, np.inf)
        else:
            sizes, which = np.unique(count, return_inverse=True)
            by_law = len(sizes) <= MOST_LAWS
            widths = [law.unit * half_width_of_sum(law.mechanism, law.draws * int(each), self.missed, by_law) for each in sizes]
            width = np.array(widths)[which]
        gone = count == 0
        divisor = np.maximum(count, 1).astype(np.float64) if mean else np.ones(number)
        value, width = np.where(gone, np.nan, value / divisor), width / divisor
        with np.errstate(all="ignore"):
            band = Band(value, np.where(gone, np.nan, value - width), np.where(gone, np.nan, value + width))
        return settle(band, gone, gone)


def _codes(values: Sequence[object]) -> Places:
    """Whole numbers that are equal where the values are, in the order of their first appearance."""
    codes: dict[object, int] = {}
    return np.array([codes.setdefault(value, len(codes)) for value in values], dtype=np.int64)


# --- rows of FROM ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of one length."""

    size: int
    held: tuple[Held, ...]

    def at(self, places: Places) -> Table:
        """Other rows of it."""
        return Table(len(places), tuple(each.at(places) for each in self.held))


def _source(rows: Answered | Listed | Level, answers: Answers, missed: Fraction) -> Table:
    """The rows of an item of FROM."""
    if isinstance(rows, Level):
        return rows_of(rows, answers, missed)
    if isinstance(rows, Listed):
        columns = zip(rows.columns, rows.fields, strict=True)
        return Table(rows.most, tuple(Held(exact_cells(values, each.type), tuple(values)) for (_, values), each in columns))
    size = answers.size(rows.question)
    own = np.arange(size, dtype=np.int64)
    return Table(size, tuple(_answered(rows.question, at, each, answers, missed, own) for at, each in enumerate(rows.fields)))


def _answered(question: int, at: int, each: Field, answers: Answers, missed: Fraction, own: Places) -> Held:
    values = tuple(answers.values(question, at))
    if each.exact:
        return Held(exact_cells(values, each.type), values, own)
    if each.alone:
        return Held(Words(values, certain=False), values, own)
    return Held(answers.cells(question, at, missed), None, own)


def _meet(before: Table, met: Met, own: Table) -> Table:
    """The rows before, each with the rows of the next item that it meets."""
    if met.kind == "value":
        places = np.zeros(before.size, dtype=np.int64) if own.size else np.full(before.size, -1, dtype=np.int64)
        return Table(before.size, (*before.held, *(each.at(places) for each in own.held)))
    left, right = _pairs(before, met, own)
    both = (*(each.at(left) for each in before.held), *(each.at(right) for each in own.held))
    return Table(len(left), both)


def _pairs(before: Table, met: Met, own: Table) -> tuple[Places, Places]:
    """The places of the rows that meet, before and own; -1 where a left join finds none."""
    if not met.equal:
        return np.repeat(np.arange(before.size), own.size), np.tile(np.arange(own.size), before.size)
    found: dict[tuple[Any, ...], list[int]] = {}
    for place, values in enumerate(_tuples(own, [mine for _, mine in met.equal])):
        if None not in values:
            found.setdefault(values, []).append(place)
    left: list[int] = []
    right: list[int] = []
    for place, values in enumerate(_tuples(before, [theirs for theirs, _ in met.equal])):
        matches = found.get(values, [-1] if met.kind == "left" else [])
        left += [place] * len(matches)
        right += matches
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)


def _tuples(table: Table, places: Sequence[int]) -> list[tuple[Any, ...]]:
    """The exact values of some columns, row by row; numbers of all types are equal where their doubles are."""
    columns = [listed(table.held[place].cells) for place in places]
    return list(zip(*columns, strict=True))


def _stage_rows(stage: Stage, first: Table | None, answers: Answers, missed: Fraction) -> Table:
    """The rows of a stage, with the columns that it makes of exact ones."""
    table = Table(1, ()) if first is None else first
    for number, each in enumerate(stage.met):
        own = _source(each.rows, answers, missed)
        table = own if number == 0 and first is None else _meet(table, each, own)
    return _with_values(stage, table, answers, missed)


def _with_values(stage: Stage, table: Table, answers: Answers, missed: Fraction) -> Table:
    """The same with the values of sub-queries and derived columns, in the order in which the plan has them."""
    held = list(table.held)
    for each, made in zip(stage.fields[len(held) :], stage.made, strict=True):
        if isinstance(made, Met):
            (found_once,) = _meet(Table(table.size, ()), made, _source(made.rows, answers, missed)).held
            held.append(_as_field(found_once, each))
        else:
            rows = zip(*(held[place].values or () for place in made.of), strict=True)
            found = tuple(made.values.get(row) for row in rows)
            held.append(Held(exact_cells(found, each.type), found))
    return Table(table.size, tuple(held))


def _as_field(held: Held, each: Field) -> Held:
    """A value as its column says: one that is exact where it was found is not, if released numbers chose its row."""
    if each.exact or held.values is None or not each.unknown:
        return held
    return (
        Held(unknown_ends(held.cells))
        if isinstance(held.cells, Numbers)
        else replace(held, cells=Words(held.values, certain=False))
    )


# --- groups ------------------------------------------------------------------------------------------------------------------


def _groups(level: Level, over: Over, size: int) -> Table:
    """One row for each group, with its keys and aggregates."""
    question, members = over.quote.question, over.members
    outputs = [over.of(output.value) for output in question.outputs]
    keys = [plain_values(each, level.shown.fields[at].type) for at, each in enumerate(outputs[: level.keys])]
    inside = np.flatnonzero(members.inside)
    if level.keys:
        named = list(zip(*keys, strict=True))
        order: dict[tuple[Any, ...], int] = {}
        for place in inside.tolist():
            order.setdefault(named[place], place)
        numbers = {name: number for number, name in enumerate(order)}
        codes = np.array([numbers.get(name, -1) for name in named], dtype=np.int64)
        firsts, count = np.array(list(order.values()), dtype=np.int64), len(order)
    else:
        codes, firsts, count = np.zeros(size, dtype=np.int64), np.zeros(0, dtype=np.int64), 1
    held = []
    for at in range(level.keys):
        cells, values = _cells_at(outputs[at], firsts, np.zeros(count, dtype=np.bool_)), keys[at]
        if isinstance(level.shown.nodes[at], Result) and isinstance(cells, Numbers):
            cells = unknown_ends(cells)
        held.append(Held(cells, tuple(values[first] for first in firsts)))
    for aggregate, each in zip(level.aggregates or (), level.shown.fields[level.keys :], strict=False):
        cells = _aggregated(aggregate, over, outputs, codes, count)
        held.append(Held(cells, plain_values(cells, each.type) if each.exact else None))
    return Table(count, tuple(held))


def _aggregated(aggregate: Aggregate, over: Over, outputs: Sequence[Cells], codes: Places, count: int) -> Cells:
    """An aggregate over the rows of every group."""
    out = None if aggregate.of is None else over.quote.question.outputs[aggregate.of].value
    if aggregate.linear and isinstance(out, Result):
        return over.summed(out, codes, count, aggregate.function == "avg")
    cells = certain(np.ones(len(codes))) if aggregate.of is None else outputs[aggregate.of]
    made = AGGREGATED[aggregate.function](Grouped(cells, codes, count, over.members))
    return unknown_ends(made) if aggregate.unknown else made


# --- a level -----------------------------------------------------------------------------------------------------------------


def rows_of(level: Level, answers: Answers, missed: Fraction, wanted: Sequence[int] | None = None) -> Table:
    """The rows of a level, each released number within its ends except with a chance of `missed`.

    With `wanted`, the columns at those places only.
    """
    pause()
    table = _stage_rows(level.rows, None, answers, missed)
    over = Over.of_stage(level.rows, table.held, table.size, answers, missed)
    if level.aggregates is not None:
        table = _with_values(level.shown, _groups(level, over, table.size), answers, missed)
        over = Over.of_stage(level.shown, table.held, table.size, answers, missed)
    kept = _kept(over)
    places = range(len(level.fields)) if wanted is None else wanted
    return Table(len(kept), tuple(_output(level, at, over, kept) for at in places))


def _output(level: Level, at: int, over: Over, kept: Places) -> Held:
    out, each = over.quote.question.outputs[at].value, level.fields[at]
    if isinstance(out, KeyValue | Result):
        return over.column(out).at(kept)
    cells = over.of(out)
    if each.unknown and isinstance(cells, Numbers):
        cells = unknown_ends(cells)
    held = Held(cells).at(kept)
    return replace(held, values=plain_values(held.cells, each.type)) if each.exact or each.alone else held


def _kept(over: Over) -> Places:
    """The rows that are shown, in their order."""
    question = over.quote.question
    held = over.members.inside
    if question.qualify is not None:
        held = held & (over.test(question.qualify).value == 1)
    rows = np.flatnonzero(held)
    if question.order:
        keys = [ascending(over.sortable(order.by), order.descending)[rows] for order in question.order]
        rows = rows[np.lexsort([*reversed(keys)])]
    end = None if question.limit is None else question.offset + question.limit
    return np.asarray(rows[question.offset : end], dtype=np.int64)
