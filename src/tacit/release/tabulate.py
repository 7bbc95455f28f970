"""From released numbers to an answer: HAVING, windows, QUALIFY, ORDER BY, LIMIT. All of it works on what is public already.

An interval covers the noise only. It does not cover rows beyond `max_rows`, values clamped to their bounds, or rows that are left
out: how many there are would be private. So every answer lists the limits that shaped it, from the plan and the catalog alone.
Answers from public tables and the catalog are exact; they cost nothing, and no ledger has an entry of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.privacy import catalog
from tacit.privacy.catalog import Table, day_of
from tacit.privacy.rounding import as_text
from tacit.query import plan
from tacit.query.intervals.aggregates import CHOICES, finish_call, row_of, shown_at_most
from tacit.query.intervals.bands import Band, Cells, Noisy, Numbers, Words, certain
from tacit.query.intervals.columns import Columns, band_of, cells_of, missed_in
from tacit.query.intervals.forms import large_numbers, written
from tacit.query.intervals.misses import DECLARED, chooses, declared, is_exact, of_quantiles
from tacit.query.intervals.windows import ascending
from tacit.query.plan import Scan
from tacit.query.price.header import kind_of, stacked_kind
from tacit.query.price.price import Quote
from tacit.query.price.quote import Request, candidates
from tacit.query.question import End, KeyValue, Out, Output, Question, Result, key_value, private
from tacit.query.trees import below
from tacit.release.answer import CHOSEN, END, MODE, NO_INTERVAL, NOT_SHOWN, PUBLIC, TEXT, Answer, Column, Receipt
from tacit.release.tidy import Totals

if TYPE_CHECKING:
    from tacit.privacy.catalog import Catalog
    from tacit.query.binding.scope import PublicFacts
    from tacit.query.language.syntax import Select

Parts = Sequence[tuple[Quote, Noisy]]


def answer(quote: Quote, noisy: Noisy, receipt: Receipt, notes: Sequence[str] = ()) -> Answer:
    """The answer to a question: outputs, then HAVING, QUALIFY, ORDER BY and LIMIT, all on released values."""
    parts = list(zip((quote, *quote.below), (noisy, *noisy.below), strict=True))
    rows = kept_rows(parts)
    columns = tuple(_stack(place, parts, rows) for place in range(len(quote.question.outputs)))
    told = [
        *notes,
        *dict.fromkeys(text for part in parts for text in _cut(*part)),
        *not_shown(parts),
        *([CHOSEN] if any(chooses(part.question) for part, _ in parts) else []),
        *([TEXT] if any(column.kind == "text" for column in columns) else []),
        *([MODE] if any(column.kind in CHOICES for column in columns) else []),
        *([NO_INTERVAL] if any(column.is_number and not column.has_interval for column in columns) else []),
    ]
    whole = Answer(columns, quote.request.confidence, receipt, quote.request.simultaneous, tuple(told), shaping(quote))
    return replace(whole, totals=totals_of(parts, rows))


def _cut(quote: Quote, noisy: Noisy) -> list[str]:
    most = shown_at_most(quote.question)
    largest = [f"only the {most:,} groups with the largest noisy numbers of people are shown"]
    return largest if quote.keys and len(noisy.groups) == most else []


def _stack(place: int, parts: Parts, rows: Sequence[tuple[int, int]]) -> Column:
    """A column of the answer, from the rows of all parts in their order."""
    kept: list[list[int]] = [[] for _ in parts]
    for part, at in rows:
        kept[part].append(at)
    pairs = zip(parts, kept, strict=True)
    made = [_column(quote.question.outputs[place], quote, noisy, own) for (quote, noisy), own in pairs]
    if len(made) == 1:
        return made[0]
    taken = [iter(range(len(column.values))) for column in made]
    order = [(part, next(taken[part])) for part, _ in rows]
    kind = stacked_kind(column.kind for column in made)
    values = tuple(made[part].values[at] for part, at in order)
    if any(column.low is None or column.high is None for column in made):
        return Column(made[0].name, kind, values)
    lows, highs = [column.low or () for column in made], [column.high or () for column in made]
    low, high = (tuple(ends[part][at] for part, at in order) for ends in (lows, highs))
    return Column(made[0].name, kind, values, low, high, made[0].bounds if len({column.bounds for column in made}) == 1 else None)


def _column(output: Output, quote: Quote, noisy: Noisy, kept: Sequence[int]) -> Column:
    if isinstance(output.value, KeyValue):
        key = quote.question.group.keys[output.value.index]
        stored = [noisy.groups[at][output.value.index] for at in kept]
        meaning = {value: key_value(key.term, value) for value in set(stored)}
        return Column(output.name, "key", tuple(meaning[value] for value in stored))
    if isinstance(output.value, End):
        column = _column(quote.question.outputs[output.value.place], quote, noisy, kept)
        ends = column.low if output.value.side == "low" else column.high
        return Column(output.name, END, ends if ends is not None else (None,) * len(kept))
    call = quote.question.calls[output.value.index] if isinstance(output.value, Result) else None
    if call is not None and call.over is not None and call.name in CHOICES:
        values = [key_value(call.over, value) for value in candidates(call)]
        return Column(output.name, call.name, tuple(values[int(noisy.ranks[call][0][at])] for at in kept))
    if call and (exact := large_numbers(call, quote, noisy, missed_in(output.value, quote, noisy))) is not None:
        return Column(output.name, call.name, *(tuple(numbers[at] for at in kept) for numbers in exact))
    return _computed_column(output, quote, noisy, kept, call.name if call else "expression")


def _computed_column(output: Output, quote: Quote, noisy: Noisy, kept: Sequence[int], kind: str) -> Column:
    """A number with its ends; or a text, or what keys and constants alone decide, without."""
    cells, exact = cells_of(output.value, quote, noisy), is_exact(output.value, quote.question)
    if isinstance(cells, Words):
        return Column(output.name, PUBLIC if exact else "text", tuple(cells.values[at] for at in kept))
    places = np.asarray(kept, dtype=np.int64)
    numbers = (cells.value, cells.low, cells.high)
    value, low, high = (tuple(written(each[places], output.value, quote.question)) for each in numbers)
    if exact:
        return Column(output.name, PUBLIC, value)
    if not quote.request.interval and of_quantiles(output.value, quote.question, [each.question for each in quote.beside]):
        return Column(output.name, kind, value)
    return Column(output.name, kind, value, low, high, _range(output.value, quote))


def _range(out: Out, quote: Quote) -> tuple[Any, Any] | None:
    """The range of an aggregate whatever the data, by the declared bounds; None for a quantile whose interval is never less."""
    if not isinstance(out, Result):
        return None
    call = quote.question.calls[out.index]
    if call.name in DECLARED:
        return declared(call)
    if not any(rank.call == call and isinstance(rank.mechanism, QuantileWithInterval | FromTree) for rank in quote.ranks):
        return None
    ends = np.array([row_of(call.over).low, row_of(call.over).high], dtype=np.float64)
    least, most = written(finish_call(call, quote.question.calls, (Band(ends, ends, ends),)).value, out, quote.question)
    return least, most


def kept_rows(parts: Parts) -> list[tuple[int, int]]:
    """The rows that are shown, in their order: for each its part, and the place of its group there."""
    question = parts[0][0].question
    rows: list[tuple[int, int]] = []
    sorts: list[list[Cells]] = [[] for _ in question.order]
    for number, (quote, noisy) in enumerate(parts):
        columns = Columns(quote, noisy, 1 - quote.request.confidence)
        held = columns.members.inside
        if quote.question.qualify is not None:
            held = held & (columns.test(quote.question.qualify).value == 1)
        places = np.flatnonzero(held)
        rows += [(number, int(place)) for place in places]
        for cells, order in zip(sorts, quote.question.order, strict=True):
            cells.append(_at(columns.sortable(order.by), places))
    if sorts:
        keys = [ascending(_join_cells(cells), order.descending) for cells, order in zip(sorts, question.order, strict=True)]
        rows = [rows[at] for at in np.lexsort([*reversed(keys)])]
    end = None if question.limit is None else question.offset + question.limit
    return rows[question.offset : end]


def _at(cells: Cells, places: NDArray[np.int64]) -> Cells:
    return cells.at(places) if isinstance(cells, Numbers) else Words(tuple(cells.values[at] for at in places), cells.certain)


def _join_cells(parts: Sequence[Cells]) -> Cells:
    """The cells of all parts, one below the other, to sort by."""
    numbers = [part for part in parts if isinstance(part, Numbers)]
    if len(parts) == 1:
        return parts[0]
    if len(numbers) == len(parts):
        return certain(np.concatenate([part.value for part in numbers]))
    values = [part.values if isinstance(part, Words) else part.value.tolist() for part in parts]
    return Words(tuple(None if each != each else each for part in values for each in part), certain=False)  # NaN is NULL


def labels_of(question: Question) -> list[tuple[tuple[Any, str], ...]]:
    """The declared labels of each output that is a key of one labelled column, in all parts of the question alike."""
    return [_labels(question, place) for place in range(len(question.outputs))]


def _labels(question: Question, place: int) -> tuple[tuple[Any, str], ...]:
    parts = {_labels_of_part(part, part.outputs[place].value) for part in question.shown}
    return parts.pop() if len(parts) == 1 else ()


def _labels_of_part(question: Question, out: Out) -> tuple[tuple[Any, str], ...]:
    if not isinstance(out, KeyValue):
        return ()
    node = question.group.keys[out.index].term.node
    tables = {step.source: step.table for step in below(question.group) if isinstance(step, Scan)}
    if not isinstance(node, plan.Column) or node.source not in tables:
        return ()
    column = _columns(tables[node.source]).get(node.name)
    return () if column is None else column.labels


# --- which rows are totals of others: from the question and its public groups alone ------------------------------------------


ADDED = frozenset({"count", "sum"})


def totals_of(parts: Parts, rows: Sequence[tuple[int, int]]) -> Totals | None:
    """The totals of ROLLUP, CUBE and GROUPING SETS over public keys, if all rows are shown and one set refines all others."""
    questions = [quote.question for quote, _ in parts]
    columns = tuple(place for place in range(len(questions[0].outputs)) if _is_added(questions, place))
    if len(parts) < 2 or not columns or any(map(_chooses, questions)):
        return None
    if any(each.group.child != questions[0].group.child for each in questions):
        return None  # not over the same rows
    keys = [{key.term for key in question.group.keys} for question in questions]
    finest = max(range(len(parts)), key=lambda at: len(keys[at]))
    if not all(each < keys[finest] for at, each in enumerate(keys) if at != finest):
        return None
    place_of = {row: place for place, row in enumerate(rows)}
    groups = parts[finest][1].groups
    margins = tuple(_margin(parts, at, finest, place_of) for at in range(len(parts)) if at != finest)
    return Totals(tuple(place_of[finest, at] for at in range(len(groups))), margins, columns)


def _margin(parts: Parts, at: int, finest: int, place_of: dict[tuple[int, int], int]) -> tuple[int, ...]:
    """For every group of the finest set, the row of its total in another one."""
    terms = [key.term for key in parts[finest][0].question.group.keys]
    kept = [terms.index(key.term) for key in parts[at][0].question.group.keys]
    totals = {group: place_of[at, place] for place, group in enumerate(parts[at][1].groups)}
    return tuple(totals[tuple(group[place] for place in kept)] for group in parts[finest][1].groups)


def _chooses(question: Question) -> bool:
    cut = question.limit is not None or question.offset > 0
    return private(question) or question.having is not None or question.qualify is not None or cut


def _is_added(questions: Sequence[Question], place: int) -> bool:
    """Whether a column is the same count or sum in all parts."""
    outs = [(question, question.outputs[place].value) for question in questions]
    calls = {question.calls[out.index] if isinstance(out, Result) else None for question, out in outs}
    call = calls.pop()
    return not calls and call is not None and call.name in ADDED


# --- what a margin counts and no shown group does, from released numbers alone -----------------------------------------------


COUNTED = frozenset({"count", "sum"})


def not_shown(parts: Sequence[tuple[Quote, Noisy]]) -> Iterator[str]:
    """For every grouping set with private keys: how much of each count and sum its shown groups leave out, by the next margin.

    Columns have numbers here and not names: an answer is kept, and repeated under the names of another question.
    """
    for quote, noisy in parts:
        margin = _next(quote.question, parts)
        if quote.keys is None or margin is None:
            continue
        for place, output in enumerate(quote.question.outputs, start=1):
            if isinstance(output.value, Result) and quote.question.calls[output.value.index].name in COUNTED:
                whole, shown = (float(np.sum(band_of(output.value, *part).value)) for part in (margin, (quote, noisy)))
                told = f"{NOT_SHOWN}{place}, grouped by {_keys(quote.question)}: {whole - shown:,.6g}"
                yield f"{told} (the margin {_margin_text(margin[0].question)}, less the groups that are shown)"


def _keys(question: Question) -> str:
    number = len(question.group.keys)
    return "1 key" if number == 1 else f"{number} keys"


def _margin_text(question: Question) -> str:
    return f"by {_keys(question)}" if question.group.keys else "of all rows"


def _next(question: Question, parts: Sequence[tuple[Quote, Noisy]]) -> tuple[Quote, Noisy] | None:
    """The margin over the same rows with the most of a question's keys, and not all; a public one before a private one."""
    keys = {key.term for key in question.group.keys}
    coarser = [
        part
        for part in parts
        if part[0].question.group.child == question.group.child and {key.term for key in part[0].question.group.keys} < keys
    ]
    public = [part for part in coarser if part[0].keys is None]
    return max(public or coarser, key=lambda part: len(part[0].question.group.keys), default=None)


# --- how the declared limits shape the numbers, in a few words ---------------------------------------------------------------


def shaping(quote: Quote) -> tuple[str, ...]:
    """The limits that shaped an answer: of rows, of values, of rows that are left out, and of groups that are shown."""
    return tuple(dict.fromkeys(text for part in quote.parts for text in _of_part(part)))


def _of_part(quote: Quote) -> tuple[str, ...]:
    tables = {step.source: step.table for step in below(quote.question.group) if isinstance(step, Scan)}
    asked = {(tables[source].name, name) for source, name in _asked_columns(quote.question) if source in tables}
    named = {table.name: table for table in tables.values()}
    columns = [column for table in named.values() for name, column in _columns(table).items() if (table.name, name) in asked]
    return (
        *(text for table in named.values() for text in _of_rows(quote.question, table, len(named) > 1)),
        *(text for column in columns for text in _of_values(column)),
        *(text for table in named.values() for text in _left_out(table, len(named) > 1)),
        *([f"groups below a noisy number of {quote.keys.threshold:,} units are not shown"] if quote.keys else []),
    )


def _columns(table: Table) -> Mapping[str, catalog.Column]:
    return {column.name.lower(): column for column in table.columns.values()}


def _asked_columns(question: Question) -> set[tuple[int, str]]:
    """The columns that a query reads, each with its source."""
    columns: set[tuple[int, str]] = set()
    seen: set[int] = set()
    waiting: list[object] = [question.group]
    while waiting:
        node = waiting.pop()
        if isinstance(node, plan.Column | plan.TextColumn):
            columns.add((node.source, node.name))
        if isinstance(node, Table) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, tuple):
            waiting += [part for part in node if isinstance(part, tuple) or is_dataclass(part)]
        elif is_dataclass(node):
            waiting += [
                value for field in fields(node) if is_dataclass(value := getattr(node, field.name)) or isinstance(value, tuple)
            ]
    return columns


def _of_rows(question: Question, table: Table, several: bool) -> Iterator[str]:
    unit = table.unit.column if table.unit else table.key
    if unit is not None:
        grouped = question.group.per_group if table.max_rows_per_group == question.group.per_group else None
        rows = f"{_rows_text(table.max_rows)} of {table.name}" if several else _rows_text(table.max_rows)
        yield f"at most {rows} per {unit}" + (f", {grouped} in a group" if grouped else "")


def _rows_text(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _of_values(column: catalog.Column) -> Iterator[str]:
    """The treatment of values that are not as declared, if their rows stay."""
    if column.bounds is not None and column.outside != "drop":
        step = f", in steps of {as_text(column.step)}" if column.step not in (None, Fraction(1)) else ""
        said = (
            f"{column.name} limited to {_range_text(column)}"
            if column.outside == "clamp"
            else f"{column.name} outside {_range_text(column)} is NULL"
        )
        yield f"{said}{step}"
    if column.unknown == "other":
        yield f"unknown {column.name} counts as other"
    if column.nulls not in ("keep", "drop"):
        yield f"missing {column.name} counts as {_end(column, column.nulls)}"


def _left_out(table: Table, several: bool) -> Iterator[str]:
    """Every column whose values drop rows, used in the query or not: the rows are missing either way."""
    columns = table.columns.values()
    missing = [column.name for column in columns if column.nulls == "drop" and column.kind != "key"]
    owner = [table.unit.column] if table.unit and table.no_unit == "drop" else []
    parts = [
        f"without {', '.join([*owner, *missing])}" if owner or missing else "",
        *(
            f"with {column.name} outside {_range_text(column)}"
            for column in columns
            if column.bounds is not None and column.outside == "drop"
        ),
        *(f"with unknown {column.name}" for column in columns if column.kind == "category" and column.unknown == "drop"),
    ]
    if any(parts):
        yield f"rows{f' of {table.name}' if several else ''} left out: {'; '.join(filter(None, parts))}"


def _range_text(column: catalog.Column) -> str:
    low, high = column.bounds or (Fraction(0), Fraction(0))
    return f"{_end(column, low)}..{_end(column, high)}"


def _end(column: catalog.Column, value: object) -> str:
    """A declared value in its usual notation."""
    if not isinstance(value, Fraction):
        return str(value)
    if column.kind == "date":
        return day_of(int(value)).isoformat()
    return f"{int(value):,}" if value.denominator == 1 else as_text(value)


# --- without a ledger entry --------------------------------------------------------------------------------------------------


def free_answer(columns: Iterable[tuple[str, tuple[Any, ...]]]) -> Answer:
    """The answer of price 0 without an entry."""
    named = tuple(Column(name, PUBLIC, values) for name, values in columns)
    return Answer(named, Fraction(1), Receipt(Fraction(0), Fraction(0)))


def answer_without_rows(asked: Select, wanted: Request, catalog: Catalog, public: PublicFacts) -> Answer:
    """The columns of a question, or of rows, that asks for none of them (LIMIT 0)."""
    from tacit.query.no_rows import columns_of_rows, plan_without_rows

    if (columns := columns_of_rows(asked, catalog, public)) is not None:
        return empty_columns([(each.name, each.kind) for each in columns], wanted)
    return without_rows(plan_without_rows(asked, catalog, public), wanted)


def without_rows(question: Question, asked: Request) -> Answer:
    """The answer to a question that asks for no row (LIMIT 0): the columns that any answer to it has, of price 0."""
    kinds = [[_empty(output, part, asked.interval) for output in part.outputs] for part in question.shown]
    columns = tuple(_empty_below(list(each)) for each in zip(*kinds, strict=True))
    return Answer(columns, asked.confidence, Receipt(Fraction(0), Fraction(0)), asked.simultaneous)


def empty_columns(columns: Iterable[tuple[str, str]], asked: Request) -> Answer:
    """The answer of price 0 with columns of these names and kinds, for rows that are asked for by LIMIT 0."""
    empty = tuple(Column(name, kind, ()) for name, kind in columns)
    return Answer(empty, asked.confidence, Receipt(Fraction(0), Fraction(0)), asked.simultaneous)


def _empty(output: Output, question: Question, interval: bool) -> Column:
    """A column without a value, of the kind that it has in any answer (query/price/header.py)."""
    kind = kind_of(output.value, question)
    if kind in ("key", PUBLIC, "text", END, *CHOICES):
        return Column(output.name, kind, ())
    if not interval and of_quantiles(output.value, question, question.beside):
        return Column(output.name, kind, ())
    call = question.calls[output.value.index] if isinstance(output.value, Result) else None
    return Column(output.name, kind, (), (), (), declared(call) if call and call.name in DECLARED else None)


def _empty_below(parts: list[Column]) -> Column:
    """One column of those that stand below each other (UNION ALL)."""
    kind = stacked_kind(column.kind for column in parts)
    if len({column.kind for column in parts}) == 1:
        return parts[0]
    ends = None if any(column.low is None for column in parts) else ()
    return Column(parts[0].name, kind, (), ends, ends)
