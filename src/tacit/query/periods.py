"""The periods that a plan reads, by the catalog alone, and a check that its rows keep them apart (accounting/periods.md).

Every scan of a table with periods gets those that conditions on its period column leave, else every one that has begun:
what is read is what is charged. Rows are of three kinds:

    dated   each has a period, and those of (a person, a period) follow from that person's rows of that period alone
    plain   they depend on tables without periods alone
    mixed   rows of a table without periods that others were looked up for in one with periods: of each period's rows of a person,
            taking them away moves as many rows as the person has here, and all in one direction

Whatever would move a person's rows of one period because of those of another is refused, with the line to add.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal, NoReturn

from tacit.data.ownership import code_name
from tacit.errors import NeverTrue, NotAllowed, TooMuchWork
from tacit.privacy.catalog import Table, day_number, day_of
from tacit.privacy.periods import Calendar, Per, Runs, both, count, each, merged, named, runs_of
from tacit.query.excluded import Made, conjuncts, possible_in, stored_in, values_at
from tacit.query.plan import (
    Bound,
    Column,
    Compare,
    Condition,
    Group,
    Join,
    PerUnit,
    PublicRows,
    Row,
    Rows,
    Scan,
    Semi,
    Union,
    UnitJoin,
    Where,
)
from tacit.query.question import Question
from tacit.query.trees import below

MOST_RUNS = 100  # of periods that one scan reads: each is a part of the engine's SQL
TRUNCATED = ("day", "week", "month", "quarter", "year")  # calendars that SQL has a word for
Kind = Literal["dated", "plain", "mixed"]


@dataclass(frozen=True, slots=True)
class Day:
    """The period column of a scan, its table, and what a period is."""

    column: Column
    table: Table
    calendar: Calendar

    @property
    def words(self) -> str:
        """The expression that an analyst writes for the period of a row."""
        name = f"{self.table.name}.{self.column.name}"
        return f"DATE_TRUNC('{self.calendar.kind}', {name})" if self.calendar.kind in TRUNCATED[1:] else name


@dataclass(frozen=True, slots=True)
class Dated:
    """Rows with the periods they can be of: their kind, the period columns in them, and the keys of sub-queries (`made`)."""

    rows: Rows
    kind: Kind = "plain"
    runs: Runs = ()
    days: tuple[Day, ...] = ()
    made: Made = field(default_factory=dict)


def in_periods(question: Question, per: Per) -> Question:
    """The question with the periods of every scan; raises if it would not keep them apart, or reads what no budget covers."""
    beside = tuple(_dated_part(part, per) for part in question.beside)
    under = tuple(replace(_dated_part(part, per), beside=beside) for part in question.below)
    return replace(_dated_part(question, per), beside=beside, below=under)


def _dated_part(question: Question, per: Per) -> Question:
    group = question.group
    plain = next((step.table for step in below(group) if isinstance(step, Scan) and step.table.per is None), None)
    if plain is not None and per.lifetime is None:
        raise NotAllowed(
            f"{plain.name} has no period, so no budget of a period covers its rows",
            remedy="ask the data owner to declare lifetime in [budget], or ask a table with a period",
        )
    found = _dated(group.child, (), {})
    if found.kind == "mixed" and group.per_group is not None:
        raise NotAllowed(
            "rows that are looked up in several periods cannot be limited in each group",
            remedy="ask the rows with periods themselves",
        )
    return replace(question, group=replace(group, child=found.rows))


def charged(question: Question) -> Runs:
    """The periods that a question reads, in any of its parts: those that it is charged to."""
    return merged(
        run for part in question.parts for step in below(part.group) if isinstance(step, Bound) for run in step.periods or ()
    )


def periods_of_group(group: Group) -> tuple[int, int]:
    """How many times the rows of a person and period a whole person has in a group's rows: in all groups, and in one of them.

    One group holds rows of one period where keys determine it.
    """
    found = _dated(group.child, (), {})
    if found.kind != "dated":
        return 1, 1
    most = max(1, count(found.runs))
    keys = [key.term.node for key in group.keys]
    return most, 1 if _determined(keys, found) else most  # type: ignore[arg-type]  # private text determines nothing


# --- a tree of steps, from the top down --------------------------------------------------------------------------------------


def _dated(relation: Rows, tests: Sequence[Condition], made: Made) -> Dated:
    """A relation in which only rows that meet the tests count."""
    match relation:
        case Bound():
            return _scanned(relation, tests, made)
        case Where():
            inside = _dated(relation.child, (*conjuncts(relation.condition), *tests), made)  # type: ignore[arg-type]
            return replace(inside, rows=replace(relation, child=inside.rows))
        case Join():
            inside = _dated(relation.child, tests, made)
            return replace(inside, rows=replace(relation, child=inside.rows))
        case UnitJoin():
            return _joined(relation, tests, made)
        case Semi():
            return _looked_up(relation, tests, made)
        case PerUnit():
            return _per_unit(relation, tests, made)
        case Union():
            return _stacked(relation, tests, made)
        case _:
            raise TypeError(f"{type(relation).__name__} has no periods without a row limit")


def _scanned(relation: Bound, tests: Sequence[Condition], made: Made) -> Dated:
    table = relation.child.table
    if table.per is None:
        return Dated(relation)
    dated = table.period_of or table
    stored = dated.columns[dated.period or ""]
    low, high = (int(bound) for bound in stored.bounds or (0, 0))
    day = Day(Column(relation.child.source, stored.name, low, high, False), table, table.per.calendar)
    begun = table.per.begun or (day.calendar.number(day_of(low)), day.calendar.number(day_of(high)))
    runs = relation.periods
    if runs is None:
        inside = both((begun,), ((day.calendar.number(day_of(low)), day.calendar.number(day_of(high))),))
        numbers = list(each(inside))
        spans = [
            (max(low, day_number(day.calendar.first_day(at))), min(high, day_number(day.calendar.last_day(at)))) for at in numbers
        ]
        possible = possible_in(day.column, spans, tests, made) if table.period else [True] * len(numbers)
        runs = runs_of(at for at, kept in zip(numbers, possible, strict=True) if kept)
    return _narrowed(Dated(relation, "dated", runs, (day,) if table.period else ()), runs)


def _narrowed(found: Dated, runs: Runs) -> Dated:
    """The same rows, of these periods alone."""
    if not runs:
        calendar = found.days[0].calendar if found.days else Calendar("month")
        table = found.days[0].table if found.days else None
        begun = None if table is None or table.per is None or table.per.begun is None else named((table.per.begun,), calendar)
        raise NeverTrue(
            "no period that has begun meets the conditions of the question",
            remedy=f"ask about periods that have begun: {begun}" if begun else "ask about periods that have begun",
        )
    if len(runs) > MOST_RUNS:
        raise TooMuchWork(
            f"the conditions leave {len(runs)} separate runs of periods: the limit is {MOST_RUNS}",
            remedy="ask about consecutive periods",
        )
    return replace(found, rows=_only(found.rows, runs), runs=runs)


def _only(relation: Rows, runs: Runs) -> Rows:
    """The relation with every dated scan in it narrowed to these periods: its rows are of one period each, in all its parts."""
    match relation:
        case Bound():
            if relation.child.table.per is None:
                return relation
            return replace(relation, periods=runs if relation.periods is None else both(relation.periods, runs))
        case UnitJoin():
            return replace(relation, child=_only(relation.child, runs), other=_only(relation.other, runs))
        case Semi():
            other = relation.other if _is_public(relation.other) else _only(relation.other, runs)  # type: ignore[arg-type]
            return replace(relation, child=_only(relation.child, runs), other=other)
        case Union():
            return replace(relation, parts=tuple((_only(part, runs), values) for part, values in relation.parts))
        case Where() | Join() | PerUnit():
            return replace(relation, child=_only(relation.child, runs))  # type: ignore[arg-type]
        case _:
            return relation


def _is_public(relation: Rows | PublicRows) -> bool:
    return not any(isinstance(step, Scan) for step in below(relation))


def _joined(relation: UnitJoin, tests: Sequence[Condition], made: Made) -> Dated:
    left = _dated(relation.child, tests, made)
    right = _dated(relation.other, tests if relation.kind == "inner" else (), made)
    _no_mixed(left, right)
    both_made = {**left.made, **right.made}
    if left.kind == right.kind == "dated":
        equal = [*relation.pairs, *(_sides(tests) if relation.kind == "inner" else ())]
        if not _same_period(left, right, equal):
            _refuse_periods(left, right, "the join of", "AND", "ON")
        runs = both(left.runs, right.runs) if relation.kind == "inner" else left.runs
        left, right = (_narrowed(left, runs) if relation.kind == "inner" else left), _within(right, runs)
    elif relation.kind == "left" and right.kind == "dated":
        raise NotAllowed(
            f"a LEFT JOIN keeps rows of {_tables(left)}, which have no period, whatever is in one of {_tables(right)}",
            remedy=f"begin FROM with {_tables(right)}, or write JOIN",
        )
    dated = left if left.kind == "dated" else right
    rows = replace(relation, child=left.rows, other=right.rows)
    return Dated(rows, dated.kind, dated.runs, (*left.days, *right.days), both_made)


def _within(found: Dated, runs: Runs) -> Dated:
    """The right side of a join, or what is looked up: periods that the left side does not have match nothing, and are not read."""
    inside = both(found.runs, runs)
    return _narrowed(found, inside) if inside else found


def _looked_up(relation: Semi, tests: Sequence[Condition], made: Made) -> Dated:
    found = _dated(relation.child, tests, made)
    if _is_public(relation.other):
        return replace(found, rows=replace(relation, child=found.rows))
    other = _dated(relation.other, (), made)  # type: ignore[arg-type]  # it is private
    if other.kind == "mixed" or (found.kind == "mixed" and other.kind != "plain"):
        _no_mixed(other, found)
    if found.kind == other.kind == "dated":
        if not _same_period(found, other, relation.pairs):
            _refuse_periods(found, other, "the sub-query over", "AND", "the WHERE of the sub-query")
        runs = found.runs if relation.negated else both(found.runs, other.runs)
        found, other = _narrowed(found, runs), _within(other, runs)
    kind: Kind = "mixed" if found.kind != "dated" and other.kind == "dated" else found.kind
    return replace(found, rows=replace(relation, child=found.rows, other=other.rows), kind=kind)


def _per_unit(relation: PerUnit, tests: Sequence[Condition], made: Made) -> Dated:
    """One row for each person and period, where the text says so, or where only one period is read."""
    outside = () if relation.most is not None else tests  # a test of groups must not decide which of them come first
    keys = {(relation.source, name): row for name, row in relation.keys}
    found = _dated(relation.child, outside, made | keys)
    if found.kind == "mixed":
        raise NotAllowed(
            "rows that are looked up in several periods cannot be grouped by person: the rows of one period would change a total",
            remedy="group the rows that have periods",
        )
    if found.kind == "dated" and count(found.runs) > 1 and not _determined([row for _, row in relation.keys], found):
        day = found.days[0] if found.days else None
        line = f"by {_period_column(found) if day is None else day.words}"
        raise NotAllowed(
            "a row per person over several periods changes when the rows of one of them go, and the budget is one of each",
            remedy=f"group the sub-query {line} too, or ask about one {_calendar(found).word}",
        )
    return replace(found, rows=replace(relation, child=found.rows), made=found.made | keys)


def _stacked(relation: Union, tests: Sequence[Condition], made: Made) -> Dated:
    parts = []
    for rows, values in relation.parts:
        columns = {(relation.source, name): value for name, value in zip(relation.names, values, strict=True)}
        parts.append(_dated(rows, tests, made | columns))
    kinds = {part.kind for part in parts}
    if len(kinds) > 1 or kinds == {"mixed"}:
        raise NotAllowed("UNION ALL of rows with and without periods is not supported", remedy="ask them in two questions")
    stacked = tuple((part.rows, values) for part, (_, values) in zip(parts, relation.parts, strict=True))
    return Dated(replace(relation, parts=stacked), parts[0].kind, merged(run for part in parts for run in part.runs))


def _no_mixed(*sides: Dated) -> None:
    if any(side.kind == "mixed" for side in sides):
        raise NotAllowed(
            "rows that were looked up in several periods cannot be joined or looked up again: one period would move the rest",
            remedy="begin FROM with a table that has periods",
        )


def _refuse_periods(left: Dated, right: Dated, what: str, word: str, where: str) -> NoReturn:
    """The refusal of rows that are put together over several periods, with the line to add."""
    if not left.days or not right.days:
        led = next((f"{table.name} with {dated.name}" for table, dated in (*_led(left), *_led(right))), None)
        raise NotAllowed(
            f"{what} {_tables(left)} and {_tables(right)} must be on the same period, and no period column is left to compare",
            remedy=f"join {led} along the reference first, and compare its period column"
            if led
            else "join before UNION ALL, or keep the period column",
        )
    one, other = left.days[0], right.days[0]
    raise NotAllowed(
        f"{what} {_tables(left)} and {_tables(right)} must be on the same {one.calendar.word}: the budget is one of each",
        remedy=f"add to {where}: {word} {one.words} = {other.words}",
    )


def _tables(found: Dated) -> str:
    return " and ".join(dict.fromkeys(step.table.name for step in below(found.rows) if isinstance(step, Scan)))


def _led(dated: Dated) -> Iterator[tuple[Table, Table]]:
    """The tables whose rows have the periods of others, each with that other one."""
    return ((table, table.period_of) for table in _tables_of(dated).values() if table.period_of is not None)


def _period_column(dated: Dated) -> str:
    """The words for a key by which rows can be grouped: the one that leads to their period, if they have no column of their own."""
    keys = (f"{table.name}.{table.unit.column}" for table, _ in _led(dated) if table.unit is not None)
    return next(keys, "the period column")


def _calendar(found: Dated) -> Calendar:
    return next(step.table.per.calendar for step in below(found.rows) if isinstance(step, Scan) and step.table.per is not None)


# --- what rows say of their period -------------------------------------------------------------------------------------------


def _sides(tests: Sequence[Condition]) -> Iterator[tuple[Row, Row]]:
    """The equalities that every row meets, in both orders."""
    for test in tests:
        if isinstance(test, Compare) and test.operator == "=":
            yield test.left, test.right
            yield test.right, test.left


def _same_period(left: Dated, right: Dated, equal: Sequence[tuple[Row, Row]]) -> bool:
    """Whether rows that agree in all pairs are of one period, by the calendar alone; or whether only one period is read."""
    if count(merged((*left.runs, *right.runs))) == 1 or _along_reference(left, right, equal):
        return True
    return any(_agree(one, other, equal, {**left.made, **right.made}) for one in left.days for other in right.days)


def _along_reference(left: Dated, right: Dated, equal: Sequence[tuple[Row, Row]]) -> bool:
    """Whether rows meet by a key that leads those of one side to their period: then it is the period of the other side, too.

    The key is looked up in one table. The other side's row is either in that table, or led through it by the same value.
    """
    mine, theirs = _tables_of(left), _tables_of(right)
    for one, other in equal:
        pairs = product(stored_in(one, left.made), stored_in(other, right.made))
        if any(a in mine and b in theirs and (_leads(mine[a], name) or _leads(theirs[b], far)) for (a, name), (b, far) in pairs):
            return True
    return False


def _tables_of(dated: Dated) -> dict[int, Table]:
    """The private tables that are scanned, by the numbers of their sources."""
    return {step.source: step.table for step in below(dated.rows) if isinstance(step, Scan)}


def _leads(table: Table, code: str) -> bool:
    """Whether a stored code is of the key by which the rows of a table are led to the row whose period they have."""
    return table.period_of is not None and table.unit is not None and code == code_name(table.unit.column)


def _agree(one: Day, other: Day, equal: Sequence[tuple[Row, Row]], made: Made) -> bool:
    """Whether equal values of some expressions of two days are always those of one period."""
    tables: list[tuple[list[int | None], list[int | None]]] = []
    for left, right in equal:
        mine, theirs = _values(left, one, made), _values(right, other, made)
        if mine is not None and theirs is not None:
            tables.append((mine, theirs))
    if not tables:
        return False
    period: dict[tuple[int | None, ...], int] = {}
    for day, side in ((one, 0), (other, 1)):
        for at, key in zip(_periods(day), zip(*(pair[side] for pair in tables), strict=True), strict=True):
            if None not in key and period.setdefault(key, at) != at and _is_shared(key, tables):
                return False
    return True


def _is_shared(key: tuple[int | None, ...], tables: Sequence[tuple[list[int | None], list[int | None]]]) -> bool:
    """Whether both sides can have the values of a key: others never meet."""
    return all(value in mine and value in theirs for value, (mine, theirs) in zip(key, tables, strict=True))


def _determined(nodes: Sequence[Row], found: Dated) -> bool:
    """Whether some expressions of a row together tell its period: by the calendar, or one is the key that leads to it."""
    tables = _tables_of(found)
    leading = (
        source in tables and _leads(tables[source], name)
        for node in nodes
        if hasattr(node, "low")
        for source, name in stored_in(node, found.made)
    )
    return any(leading) or any(_tells(nodes, day, found.made) for day in found.days)


def _tells(nodes: Sequence[Row], day: Day, made: Made) -> bool:
    values = [table for node in nodes if (table := _values(node, day, made)) is not None]
    if not values:
        return False
    period: dict[tuple[int | None, ...], int] = {}
    return all(period.setdefault(key, at) == at for at, key in zip(_periods(day), zip(*values, strict=True), strict=True))


def _values(node: object, day: Day, made: Made) -> list[int | None] | None:
    """The values of an expression on every day of a column; None if it has other columns."""
    if not hasattr(node, "low") or not _names(node, day, made):
        return None
    points = [(at,) for at in range(day.column.low, day.column.high + 1)]
    return values_at(node, [day.column], points, made)  # type: ignore[arg-type]  # a text has no low


def _names(node: object, day: Day, made: Made) -> bool:
    """Whether an expression is of that one column."""
    return stored_in(node, made) == {(day.column.source, day.column.name)}  # type: ignore[arg-type]


def _periods(day: Day) -> list[int]:
    return [day.calendar.number(day_of(at)) for at in range(day.column.low, day.column.high + 1)]
