"""From released numbers to an answer: HAVING, windows, QUALIFY, ORDER BY, LIMIT. All of it works on what is public already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.quantile_interval import QuantileWithInterval
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.query.groups import key_value, shown_at_most
from tacit.query.price.aggregates import finished
from tacit.query.price.error_bars import Band
from tacit.query.price.misses import chooses, is_exact, of_quantiles
from tacit.query.price.modes import candidates
from tacit.query.price.pairs import row_of
from tacit.query.price.price import Quote
from tacit.query.price.shaping import shaping
from tacit.query.price.statements import DECLARED, declared
from tacit.query.results import KeyValue, Out, Output, Result
from tacit.release.answer import CHOSEN, MODE, NO_INTERVAL, PUBLIC, TEXT, Answer, Column, Receipt
from tacit.release.cells import Cells, Numbers, Words, certain
from tacit.release.forms import written
from tacit.release.intervals import Columns, cells_of, missed_in
from tacit.release.large_numbers import large_numbers
from tacit.release.noisy import Noisy
from tacit.release.not_shown import not_shown
from tacit.release.totals import totals_of
from tacit.release.windows import ascending

Parts = Sequence[tuple[Quote, Noisy]]


def answer(quote: Quote, noisy: Noisy, receipt: Receipt, notes: Sequence[str] = ()) -> Answer:
    """The answer to a question: outputs, then HAVING, QUALIFY, ORDER BY and LIMIT, all on released values."""
    parts = list(zip((quote, *quote.below), (noisy, *noisy.below), strict=True))
    rows = _kept(parts)
    columns = tuple(_stacked(place, parts, rows) for place in range(len(quote.question.outputs)))
    told = [
        *notes,
        *dict.fromkeys(text for part in parts for text in _cut(*part)),
        *not_shown(parts),
        *([CHOSEN] if any(chooses(part.question) for part, _ in parts) else []),
        *([TEXT] if any(column.kind == "text" for column in columns) else []),
        *([MODE] if any(column.kind == "mode" for column in columns) else []),
        *([NO_INTERVAL] if any(column.is_number and not column.has_interval for column in columns) else []),
    ]
    whole = Answer(columns, quote.request.confidence, receipt, quote.request.simultaneous, tuple(told), shaping(quote))
    return replace(whole, totals=totals_of(parts, rows))


def _cut(quote: Quote, noisy: Noisy) -> list[str]:
    most = shown_at_most(quote.question)
    largest = [f"only the {most:,} groups with the largest noisy numbers of people are shown"]
    return largest if quote.keys and len(noisy.groups) == most else []


def _stacked(place: int, parts: Parts, rows: Sequence[tuple[int, int]]) -> Column:
    """A column of the answer, from the rows of all parts in their order."""
    made = [
        _column(quote.question.outputs[place], quote, noisy, [at for part, at in rows if part == number])
        for number, (quote, noisy) in enumerate(parts)
    ]
    if len(made) == 1:
        return made[0]
    taken = [iter(range(len(column.values))) for column in made]
    order = [(part, next(taken[part])) for part, _ in rows]
    kinds = {column.kind for column in made}
    kind = kinds.pop() if len(kinds) == 1 else next((each for each in ("text", "key", PUBLIC) if each in kinds), "expression")
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
    call = quote.question.calls[output.value.index] if isinstance(output.value, Result) else None
    if call is not None and call.over is not None and call.name == "mode":
        values = [key_value(call.over, value) for value in candidates(call)]
        return Column(output.name, "mode", tuple(values[int(noisy.ranks[call][0][at])] for at in kept))
    if call and (exact := large_numbers(call, quote, noisy, missed_in(output.value, quote, noisy))) is not None:
        return Column(output.name, call.name, *(tuple(numbers[at] for at in kept) for numbers in exact))
    return _computed(output, quote, noisy, kept, call.name if call else "expression")


def _computed(output: Output, quote: Quote, noisy: Noisy, kept: Sequence[int], kind: str) -> Column:
    """A number with its ends; or a text, or what keys and constants alone decide, without."""
    cells, known = cells_of(output.value, quote, noisy), is_exact(output.value, quote.question)
    if isinstance(cells, Words):
        return Column(output.name, PUBLIC if known else "text", tuple(cells.values[at] for at in kept))
    places = np.asarray(kept, dtype=np.int64)
    numbers = (cells.value, cells.low, cells.high)
    value, low, high = (tuple(written(each[places], output.value, quote.question)) for each in numbers)
    if known:
        return Column(output.name, PUBLIC, value)
    if not quote.request.interval and of_quantiles(output.value, quote.question, [each.question for each in quote.beside]):
        return Column(output.name, kind, value)
    return Column(output.name, kind, value, low, high, _range(output.value, quote))


def _range(out: Out, quote: Quote) -> tuple[Any, Any] | None:
    """What an aggregate is whatever the data, by the declared bounds. A quantile whose interval is never less has no such range."""
    if not isinstance(out, Result):
        return None
    call = quote.question.calls[out.index]
    if call.name in DECLARED:
        return declared(call)
    if not any(rank.call == call and isinstance(rank.mechanism, QuantileWithInterval | FromTree) for rank in quote.ranks):
        return None
    ends = np.array([row_of(call.over).low, row_of(call.over).high], dtype=np.float64)
    least, most = written(finished(call, quote.question.calls, (Band(ends, ends, ends),)).value, out, quote.question)
    return least, most


def _kept(parts: Parts) -> list[tuple[int, int]]:
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
        keys = [ascending(_joined(cells), order.descending) for cells, order in zip(sorts, question.order, strict=True)]
        rows = [rows[at] for at in np.lexsort([*reversed(keys)])]
    end = None if question.limit is None else question.offset + question.limit
    return rows[question.offset : end]


def _at(cells: Cells, places: NDArray[np.int64]) -> Cells:
    return cells.at(places) if isinstance(cells, Numbers) else Words(tuple(cells.values[at] for at in places), cells.certain)


def _joined(parts: Sequence[Cells]) -> Cells:
    """The cells of all parts, one below the other, to sort by."""
    numbers = [part for part in parts if isinstance(part, Numbers)]
    if len(parts) == 1:
        return parts[0]
    if len(numbers) == len(parts):
        return certain(np.concatenate([part.value for part in numbers]))
    values = [part.values if isinstance(part, Words) else part.value.tolist() for part in parts]
    return Words(tuple(None if each != each else each for part in values for each in part), certain=False)  # NaN is NULL
