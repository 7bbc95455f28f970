"""The worst-case work of a query: the most that answering it can take, whatever the tables contain (work.md).

It follows from the plan, the catalog and the sizes of public tables alone. Every private table has as many rows as it may have,
every row passes every filter and matches as often as it can in every join, nothing is skipped, and every text is as long as it may
be. So a refusal for too much work reveals nothing about the data, and no data can make an accepted query take longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from math import prod

from tacit.data.store import FILE_ROWS
from tacit.errors import TooMuchWork
from tacit.privacy.catalog import COPIED_ROWS, MOST_PARTS, Catalog, Table
from tacit.query.intervals.aggregates import CHOICES, drawn_in_groups, shown_at_most
from tacit.query.plan import Bound, Group, Join, Moment, PerUnit, PublicScan, Relation, Row, Semi, Union, UnitJoin, Where
from tacit.query.planning import MOST_CHARACTERS, MOST_PLANNING, Expressions, Size, Work, size_of, size_of_group
from tacit.query.price.quote import candidates
from tacit.query.price.stability import Joined, check_joined_rows, rows_of, tables_of
from tacit.query.question import Question, Window, nodes, private, size

MOST_STEPS = 5 * 10**10  # of one core, each about a nanosecond, and on the safe side (work.md)
MOST_BYTES = 8 * 10**9
SORTED = 8  # columns that a window over released numbers counts as

PROBE, BUILD, EMIT = 20, 200, 10  # a row that is looked up in a join, a row of its public table, a row that comes out
INTO_GROUP = ((10**4, 20), (10**5, 60), (10**6, 400))  # a row that is added to its group, by how many groups there are at most
INTO_MANY = 500  # and where there are more than a processor's cache holds
PARTS = {
    "rows": 1,
    "units": 1,
    "sum": 3,
    "centred": 3,
    "squares": 12,
    "products": 16,
    "list": 1,
    "distinct": 1,
}  # sums that the engine makes of a moment
PART, UNIT, UNIT_OF_MANY = 4, 200, 1000  # a row in one of them; a row whose unit, or value, is counted once in its group
NUMBERED = 500  # a row that is numbered within its unit and group
GROUP, OWN_GROUP, VALUE = 500, 8000, 1000  # a group that the engine returns, one of private keys, and a value of a quantile's list
QUANTILE, NOISE, CELL = 2 * 10**6, 500, 2000  # a drawn quantile or mode, a noisy number, and a cell of the answer
CANDIDATE = 500  # a value among which a mode is chosen
ENTRY = 3500  # a value of a list in which rows are looked up, which each statement makes once

LOWEST, HIGHEST = 50, 102_400  # milliseconds: the first rung of the ladder, and the last; each is twice the one before it
BESIDE = 40 * 10**6  # steps beside the worst work: the ledger, messages to the engine, and the text of the answer

TASK_ROWS = 4 * FILE_ROWS  # of one task of a cluster: Spark puts at most 4 files together (work.md)
FEW_GROUPS = 10**4  # which may all be in one part of a shuffle; more are spread evenly but for a factor of two

ROW_BYTES, UNIT_BYTES, GROUP_BYTES, VALUE_BYTES, CELL_BYTES = 24, 50, 200, 300, 200
OWN_GROUP_BYTES = 600  # a group of private keys, in the engine and after it


@dataclass(frozen=True, slots=True)
class Flow:
    """How many rows leave a step of the plan, the work up to there, and the most rows that one task of a cluster has of them.

    Without `task`, that may be all of them: rows that were brought together by what they hold.
    """

    rows: int
    work: Work
    task: int | None = None

    @property
    def largest(self) -> int:
        """The most rows in one task."""
        return self.rows if self.task is None else min(self.rows, self.task)

    def each(self, steps: int) -> Work:
        """The steps for each row that leaves."""
        return Work(steps=self.rows * steps, task=self.largest * steps)


def _by_task(steps: int) -> Work:
    """Steps that a cluster may leave to one task."""
    return Work(steps=steps, task=steps)


def _by_driver(steps: int) -> Work:
    """Steps of the process that asks."""
    return Work(steps=steps, alone=steps)


def _shuffle_work(times: int = 1) -> Work:
    """The tasks of a shuffle, one for each of its parts."""
    return Work(tasks=times * MOST_PARTS)


def _added_up(rows: Flow, groups: int, steps: int) -> Work:
    """The sums of each task for each of its groups, by as many tasks as a shuffle has parts.

    A hash of public codes spreads them. Few groups may all be in one part.
    """
    by = _files(rows.rows) if rows.task is not None else max(_files(rows.rows), MOST_PARTS)
    moved = steps * min(rows.rows, groups * by)
    return _shuffle_work() + (Work(gathered=moved) if groups <= FEW_GROUPS else Work(moved=moved))


def afford(question: Question, cores: int | None = None) -> None:
    """Refuses a question whose worst work is above the limits; before it is paid for.

    `cores` are those that the catalog declares of a cluster; None without a cluster.
    """
    _refuse_long(size_of(question))
    for part in question.parts:
        check_joined_rows(part.group)
    tables = (table for part in question.parts for table in tables_of(part.group))
    _refuse_above_limits(worst(question), max(tables, key=lambda table: table.most_rows), cores)


def affordable(question: Question, cores: int | None = None) -> bool:
    """Whether the worst work of a question is within the limits."""
    try:
        afford(question, cores)
    except TooMuchWork:
        return False
    return True


def afford_counts(table: Table, keys: Sequence[Row], together: int, cores: int | None = None) -> None:
    """Refuses counts of a table's rows by some of these keys, at most `together` of them at once, of up to 100,000 groups."""
    expressions = Expressions({0: table}, frozenset())
    dearest = sorted(map(expressions.steps, keys), reverse=True)[:together]
    each = expressions.read(0) + sum(2 + steps for steps in dearest) + _into_group(10**5) + PART
    rows = Flow(table.most_rows, Work(2 * table.most_rows), TASK_ROWS)
    added = _added_up(rows, 10**5, _into_group(10**5) + PART)
    _refuse_above_limits(rows.work + rows.each(each) + added + _launch_work(rows.rows), table, cores)


def afford_sums(group: Group, table: Table, cores: int | None = None) -> None:
    """Refuses one statement of sums over all rows of a table, without keys, that is not part of a question."""
    _refuse_long(size_of_group(group))
    expressions = Expressions.of(group)
    rows = flow(group.child, expressions)
    values = dict.fromkeys(node for moment in group.moments for node in moment.parts)
    parts = PART * sum(PARTS[moment.kind] for moment in group.moments)
    each = rows.each(_into_group(1) + parts + sum(expressions.steps(value) for value in values))
    work = rows.work + each + _added_up(rows, 1, _into_group(1) + parts) + _by_driver(ENTRY * expressions.entries)
    _refuse_above_limits(work + _planning_work(size_of_group(group)), table, cores)


def _refuse_long(size: Size) -> None:
    """Refuses a question whose SQL is too long, or takes too long to plan: for planning, a store has no rows."""
    if size.characters > MOST_CHARACTERS or size.steps > MOST_PLANNING:
        seconds = f"{_large(size.steps, 10**9)} seconds of one core, where {MOST_PLANNING // 10**9} are allowed"
        raise TooMuchWork(
            f"the question becomes up to {size.characters:,} characters of SQL, where {MOST_CHARACTERS:,} are allowed"
            if size.characters > MOST_CHARACTERS
            else f"planning the question takes up to {seconds}",
            remedy="ask for less at once: fewer aggregates, shorter expressions or lists",
        )


def _refuse_above_limits(work: Work, table: Table, cores: int | None) -> None:
    over = _over(work, cores or 1)
    if over:
        declared = "declared as rows_at_most" if table.rows_at_most else "assumed, since rows_at_most is not declared"
        ask = "" if table.rows_at_most else f"have rows_at_most declared for {table.name}, or "
        raise TooMuchWork(
            f"the worst case takes {over}, with {table.most_rows:,} rows of {table.name} ({declared})",
            remedy=f"{ask}{_more_cores(work, cores)}ask for less at once: fewer joins, groups, aggregates or shorter patterns",
        )


def _over(work: Work, cores: int) -> str:
    if (steps := work.on(cores)) > MOST_STEPS:
        where = "of one core" if cores == 1 else f"on {cores:,} cores"
        return f"{_large(steps, 10**9)} seconds {where}, where {MOST_STEPS // 10**9} are allowed"
    return f"{_large(work.bytes, 10**9)} GB of memory, where {MOST_BYTES // 10**9} are allowed" if work.bytes > MOST_BYTES else ""


def _more_cores(work: Work, cores: int | None) -> str:
    """The number of cores with which a cluster would be enough, if there is a cluster and such a number."""
    enough = work.cores_for(MOST_STEPS)
    if cores is None or enough is None or work.bytes > MOST_BYTES:
        return ""
    return f"have [store] cores = {enough} declared if the cluster has that many, or "


def _large(amount: int, unit: int) -> str:
    return f"{-(-amount // unit):,}" if amount < 10**15 * unit else "more than 10^15"


def rung_of(question: Question, catalog: Catalog) -> int:
    """The milliseconds from the grant of an engine to the reply, where a server hides its clock: a rung of a public ladder.

    It follows from the worst work and from the declared pace of the machine; no measured time of a question enters.
    """
    return rung_above(worst(question).on(catalog.cores or 1), catalog.pace)


def rung_above(steps: int, pace: Fraction) -> int:
    """The least rung of at least the time of `steps`, and of what is beside them, at a pace; the last one for all that is above.

    >>> [rung_above(steps, Fraction(1)) for steps in (0, 10**7 + 1, 3 * 10**8, 10**15)]
    [50, 100, 400, 102400]
    """
    milliseconds = (steps + BESIDE) * pace / 10**6
    rung = LOWEST
    while rung < milliseconds and rung < HIGHEST:
        rung *= 2
    return rung


def worst(question: Question) -> Work:
    """The most work that a question can be: that of all its parts, which run one by one, and of planning them."""
    return sum(map(_of_part, question.parts), start=_planning_work(size_of(question)))


def _planning_work(size: Size) -> Work:
    """Planning is done by the process that asks, and by the driver of a cluster."""
    return _by_driver(size.steps)


def _of_part(question: Question) -> Work:
    group = question.group
    expressions = Expressions.of(group)
    rows = _rank_work(group, flow(group.child, expressions), expressions)
    summed = [moment for moment in group.moments if moment.kind != "list"]
    listed = [moment for moment in group.moments if moment.kind == "list"]
    work = _sum_work(question, rows, summed, expressions) if summed else Work()
    for moment in listed:
        work += _list_work(question, rows, moment, expressions)
    work += _by_driver(ENTRY * expressions.entries * (bool(summed) + len(listed)))
    return work + _answer_work(question, rows.rows)


# --- the engine --------------------------------------------------------------------------------------------------------------


@singledispatch
def flow(relation: Relation, expressions: Expressions) -> Flow:
    """The most rows that leave a step, and the most work up to there."""
    raise TypeError(f"the work of {type(relation).__name__} is not known without a row limit")


@flow.register
def _(relation: Bound, expressions: Expressions) -> Flow:
    """Every row of the declared size is read and passes the limit."""
    rows = Flow(relation.child.table.most_rows, Work(2 * relation.child.table.most_rows), TASK_ROWS)
    return replace(rows, work=rows.work + rows.each(expressions.read(relation.child.source)) + _launch_work(rows.rows))


def _launch_work(rows: int) -> Work:
    """The work of the driver of a cluster for the tasks that read a table."""
    return Work(tasks=_files(rows))


def _files(rows: int) -> int:
    """The files of a table; a task of its own may read each."""
    return -(-rows // FILE_ROWS)


@flow.register
def _(relation: PublicScan, expressions: Expressions) -> Flow:
    return Flow(relation.size, Work(relation.size) + _by_task(relation.size * expressions.read(relation.source)))


@flow.register
def _(relation: Join, expressions: Expressions) -> Flow:
    """Both sides are read whole, whatever the other contains, and every row matches as often as it can.

    A public table with a copy on every executor leaves rows where they are; else they move to those of the same key.
    """
    before = flow(relation.child, expressions)
    looking = before if relation.size <= COPIED_ROWS else replace(before, task=None)
    rows = Flow(before.rows * relation.fan_out, before.work, relation.fan_out * looking.largest)
    each = expressions.steps(relation.condition) if relation.condition is not None else 0
    work = looking.each(PROBE + expressions.steps(relation.left)) + _by_task(relation.size * (BUILD + each)) + rows.each(EMIT)
    work += _shuffle_work(0 if relation.size <= COPIED_ROWS else 2)
    held = relation.size * (ROW_BYTES + 8 * relation.width)
    read = (3 if relation.condition is not None else 2) * relation.size
    return replace(rows, work=before.work + work + Work(read + rows.rows, bytes=held))


@flow.register
def _(relation: UnitJoin, expressions: Expressions) -> Flow:
    """Every row matches all rows of its unit on the other side, or its only match; the other side is held."""
    before, other = replace(flow(relation.child, expressions), task=None), flow(relation.other, expressions)
    found = before.rows * (1 if relation.once else max(1, rows_of(relation.other)))
    of_other = other.rows * rows_of(relation.child) + (before.rows if relation.kind == "left" else 0)
    rows = min(found, of_other, *_by_tables(relation))
    return Flow(rows, _looked_up(relation, before, other, Flow(rows, Work()), expressions))


def _by_tables(relation: UnitJoin) -> Iterator[int]:
    """The rows of a join by each of its tables: every row that comes out has a part there, left joins' right sides apart."""
    joined = Joined.of(relation)
    for each in joined.members:
        if each.table is not None:
            yield each.table.most_rows * joined.rows(*each.sources)


@flow.register
def _(relation: Semi, expressions: Expressions) -> Flow:
    """No row is lost; the other side is held."""
    before, other = flow(relation.child, expressions), flow(relation.other, expressions)
    before = before if _has_copies(relation.other) else replace(before, task=None)
    return replace(before, work=_looked_up(relation, before, other, before, expressions))


def _has_copies(relation: Relation) -> bool:
    """Whether every executor has a copy: of a public table that is not too large, and of what a filter leaves of it."""
    while isinstance(relation, Where):
        relation = relation.child
    return isinstance(relation, PublicScan) and relation.size <= COPIED_ROWS


def _looked_up(relation: UnitJoin | Semi, before: Flow, other: Flow, rows: Flow, expressions: Expressions) -> Work:
    left = sum(expressions.steps(near) for near, _ in relation.pairs)
    right = sum(expressions.steps(far) for _, far in relation.pairs)
    work = before.each(PROBE + left) + _by_task(other.rows * (BUILD + right)) + rows.each(EMIT) + _shuffle_work(2)
    held = other.rows * (ROW_BYTES + expressions.held(relation.other))
    return before.work + other.work + work + Work(rows.rows + before.rows + 2 * other.rows, bytes=held)


@flow.register
def _(relation: PerUnit, expressions: Expressions) -> Flow:
    """Every row may be all of its unit, so there are as many groups as rows."""
    before = flow(relation.child, expressions)
    values = [node for _, node in relation.keys] + [total.value for total in relation.totals if total.value is not None]
    each = INTO_MANY + PART * 2 * max(1, len(relation.totals)) + sum(map(expressions.steps, values))
    each += UNIT_OF_MANY * sum(total.kind == "distinct" for total in relation.totals)
    held = before.rows * (GROUP_BYTES + 16 * (len(relation.keys) + 2 * len(relation.totals)))
    made = Flow(before.rows, before.work + Work(4 * before.rows, bytes=held) + _by_task(before.rows * each) + _shuffle_work())
    return made if relation.most is None else _first_groups_work(made, expressions)


def _first_groups_work(made: Flow, expressions: Expressions) -> Flow:
    """Where the groups of a unit are limited, the rows of all groups are held and sorted; none is left out."""
    numbered = Work(2 * made.rows, bytes=made.rows * expressions.width)
    return replace(made, work=made.work + numbered + _by_task(made.rows * (NUMBERED + 2 * expressions.width)) + _shuffle_work())


@flow.register
def _(relation: Union, expressions: Expressions) -> Flow:
    """A task has rows of one part."""
    parts = [flow(part, expressions) for part, _ in relation.parts]
    rows = sum(part.rows for part in parts)
    made = [part.each(EMIT + sum(map(expressions.steps, values))) for part, (_, values) in zip(parts, relation.parts, strict=True)]
    work = sum((part.work for part in parts), sum(made, Work(2 * rows)))
    return Flow(rows, work, max((part.largest for part in parts), default=0))


@flow.register
def _(relation: Where, expressions: Expressions) -> Flow:
    """Every row passes."""
    before = flow(relation.child, expressions)
    return replace(before, work=before.work + Work(before.rows) + before.each(expressions.steps(relation.condition)))


def _rank_work(group: Group, before: Flow, expressions: Expressions) -> Flow:
    """Where a unit's rows in one group are limited, rows are held and sorted; none is left out."""
    keyed = before.work + before.each(sum(expressions.steps(key.term.node) for key in group.keys))
    if group.per_group is None:
        return replace(before, work=keyed)
    numbered = Work(2 * before.rows, bytes=before.rows * expressions.width)
    return Flow(before.rows, keyed + numbered + _by_task(before.rows * (NUMBERED + 2 * expressions.width)) + _shuffle_work())


def _sum_work(question: Question, rows: Flow, moments: list[Moment], expressions: Expressions) -> Work:
    """One row for each group, with the parts of every moment.

    Each task adds up its own rows before any of them moves, unless it may have as many groups as rows, or units to tell apart.
    """
    groups, held = _groups(question, rows.rows), _key_bytes(question, expressions)
    into = _into_group(groups)
    values = dict.fromkeys(node for moment in moments for node in moment.parts)
    parts = sum(PARTS[moment.kind] for moment in moments)
    each = into + (2 * held if private(question) else 0) + PART * parts + sum(expressions.steps(value) for value in values)
    returned, bytes_of_one = (OWN_GROUP, OWN_GROUP_BYTES + 3 * held) if private(question) else (GROUP, GROUP_BYTES + held)
    told_apart = {moment.text or moment.value for moment in moments if moment.kind in ("units", "distinct")}
    spread = not (told_apart or private(question)) and groups <= FILE_ROWS
    moved = rows if spread else replace(rows, task=None)
    work = moved.each(each) + _by_driver(groups * returned) + Work(groups, bytes=groups * (bytes_of_one + 16 * parts))
    work += _added_up(rows, groups, into + PART * parts) if spread else _shuffle_work(1 + len(told_apart))
    for once in told_apart:
        size = expressions.bytes_of(once) if once is not None else 0
        each = (UNIT_OF_MANY if into == INTO_MANY else UNIT) + 2 * size
        work += moved.each(each) + Work(rows.rows + 3 * groups, bytes=rows.rows * (UNIT_BYTES + size + held))
    return rows.work + work


def _list_work(question: Question, rows: Flow, moment: Moment, expressions: Expressions) -> Work:
    """One row for each group and value: at most every row, and at most every value that there can be.

    Each task counts its own rows before any of them moves, unless it may have as many values as rows.
    """
    node = moment.value
    points = node.high - node.low + 1 if node is not None else 1
    values = min(rows.rows, points * (rows.rows if private(question) else _groups(question, rows.rows)))
    each = _into_group(values) + (expressions.steps(node) if node is not None else 0)
    held = _key_bytes(question, expressions)
    returned = values * VALUE + (rows.rows * OWN_GROUP if private(question) else 0)
    spread = not private(question) and values <= FILE_ROWS
    counted = rows if spread else replace(rows, task=None)
    work = counted.each(each) + _by_driver(returned) + (_added_up(rows, values, _into_group(values)) if spread else _shuffle_work())
    return rows.work + work + Work(rows.rows + 2 * values, bytes=values * (VALUE_BYTES + held))


def _into_group(groups: int) -> int:
    return next((steps for most, steps in INTO_GROUP if groups <= most), INTO_MANY)


def _groups(question: Question, rows: int) -> int:
    """The most groups that have a row; of private keys, every row may have its own."""
    return rows if private(question) else min(rows, _cells(question))


def _cells(question: Question) -> int:
    return prod(size(key) for key in question.group.keys)


def _key_bytes(question: Question, expressions: Expressions) -> int:
    return sum(expressions.bytes_of(key.term.node) for key in question.group.keys)


# --- after the engine --------------------------------------------------------------------------------------------------------


def _answer_work(question: Question, rows: int) -> Work:
    """Noise on every cell, then the columns of the answer, HAVING and ORDER BY, for every group that can be shown."""
    shown = min(rows, shown_at_most(question)) if private(question) else _cells(question)
    chosen = sum(len(candidates(call)) for call in question.calls if call.name in CHOICES)
    parts = [*(output.value for output in question.outputs), *(order.by for order in question.order)]
    tests = [test for test in (question.having, question.qualify) if test is not None]
    columns = sum(map(_parts_of, [*parts, *tests]))
    drawn = QUANTILE * drawn_in_groups(question) + CANDIDATE * chosen
    steps = shown * (NOISE * len(question.group.moments) + drawn + CELL * columns)
    return _by_driver(steps) + Work(bytes=shown * CELL_BYTES * (len(question.group.keys) + columns))


def _parts_of(part: object) -> int:
    """How many columns of numbers are made for an output or a test, its own included; a window sorts its rows."""
    return sum(SORTED if isinstance(node, Window) else 1 for node in nodes(part))
