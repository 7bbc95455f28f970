"""From released numbers to an answer: HAVING, windows, QUALIFY, ORDER BY, LIMIT. All of it works on what is public already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.query.groups import key_value, shown_at_most
from tacit.query.price.misses import chooses, is_exact
from tacit.query.price.price import Quote
from tacit.query.price.shaping import shaping
from tacit.query.results import KeyValue, Output, Result
from tacit.release.answer import CHOSEN, PUBLIC, TEXT, Answer, Column, Receipt
from tacit.release.cells import Words
from tacit.release.forms import written
from tacit.release.intervals import Columns, cells_of, missed_in
from tacit.release.large_numbers import large_numbers
from tacit.release.noisy import Noisy
from tacit.release.windows import ascending


def answer(quote: Quote, noisy: Noisy, receipt: Receipt, notes: Sequence[str] = ()) -> Answer:
    """The answer to a question: outputs, then HAVING, QUALIFY, ORDER BY and LIMIT, all on released values."""
    kept = _kept(quote, noisy)
    columns = tuple(_column(output, quote, noisy, kept) for output in quote.question.outputs)
    most = shown_at_most(quote.question)
    largest = [f"only the {most:,} groups with the largest noisy numbers of people are shown"]
    told = [
        *notes,
        *(largest if quote.keys and len(noisy.groups) == most else []),
        *([CHOSEN] if chooses(quote.question) else []),
        *([TEXT] if any(column.kind == "text" for column in columns) else []),
    ]
    return Answer(columns, quote.request.confidence, receipt, quote.request.simultaneous, tuple(told), shaping(quote))


def _column(output: Output, quote: Quote, noisy: Noisy, kept: Sequence[int]) -> Column:
    if isinstance(output.value, KeyValue):
        key = quote.question.group.keys[output.value.index]
        stored = [noisy.groups[at][output.value.index] for at in kept]
        meaning = {value: key_value(key.term, value) for value in set(stored)}
        return Column(output.name, "key", tuple(meaning[value] for value in stored))
    call = quote.question.calls[output.value.index] if isinstance(output.value, Result) else None
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
    return Column(output.name, PUBLIC, value) if known else Column(output.name, kind, value, low, high)


def _kept(quote: Quote, noisy: Noisy) -> list[int]:
    """The places of the groups that are shown, in their order."""
    question = quote.question
    columns = Columns(quote, noisy, 1 - quote.request.confidence)
    held = columns.members.inside
    if question.qualify is not None:
        held = held & (columns.test(question.qualify).value == 1)
    places = np.flatnonzero(held)
    sorts = [ascending(columns.sortable(order.by), order.descending)[places] for order in question.order]
    if sorts:
        places = places[np.lexsort([*reversed(sorts)])]
    end = None if question.limit is None else question.offset + question.limit
    return [int(place) for place in places[question.offset : end]]
