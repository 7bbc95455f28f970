"""From released numbers to an answer: outputs, then HAVING, ORDER BY and LIMIT. All of it works on what is public already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from tacit.privacy.catalog import day_of
from tacit.query.groups import key_value, shown_at_most
from tacit.query.price.error_bars import Floats
from tacit.query.price.price import Quote
from tacit.query.price.shaping import shaping
from tacit.query.results import KeyValue, Out, Output, Result, Test
from tacit.release.answer import Answer, Column, Receipt
from tacit.release.intervals import band_of, missed_in
from tacit.release.large_numbers import large_numbers
from tacit.release.noisy import Noisy

Plain = TypeVar("Plain")


def answer(quote: Quote, noisy: Noisy, receipt: Receipt, notes: Sequence[str] = ()) -> Answer:
    """The answer to a question: outputs, then HAVING, ORDER BY and LIMIT, all on released values."""
    kept = _kept(quote, noisy)
    columns = tuple(_column(output, quote, noisy, kept) for output in quote.question.outputs)
    most = shown_at_most(quote.question)
    largest = [f"only the {most:,} groups with the largest noisy numbers of people are shown"]
    cut = largest if quote.keys and len(noisy.groups) == most else []
    return Answer(columns, quote.request.confidence, receipt, quote.request.simultaneous, (*notes, *cut), shaping(quote))


def _column(output: Output, quote: Quote, noisy: Noisy, kept: Sequence[int]) -> Column:
    if isinstance(output.value, KeyValue):
        key = quote.question.group.keys[output.value.index]
        stored = [noisy.groups[at][output.value.index] for at in kept]
        meaning = {value: key_value(key.term, value) for value in set(stored)}
        return Column(output.name, "key", tuple(meaning[value] for value in stored))
    call = quote.question.calls[output.value.index] if isinstance(output.value, Result) else None
    kind = call.name if call else "expression"
    if call and (exact := large_numbers(call, quote, noisy, missed_in(output.value, quote, noisy))) is not None:
        return Column(output.name, kind, *(tuple(numbers[at] for at in kept) for numbers in exact))
    band = band_of(output.value, quote, noisy)
    form = _dates if call and call.is_date else (_counts if kind in ("count", "units") else _numbers)
    places = np.asarray(kept, dtype=np.int64)
    value, low, high = (tuple(form(numbers[places])) for numbers in (band.value, band.low, band.high))
    return Column(output.name, kind, value, low, high)


def _numbers(numbers: Floats) -> list[float | None]:
    """Plain numbers; None where there is none. Zero has no sign."""
    return _where_finite(numbers, (numbers + 0.0).tolist())


def _counts(numbers: Floats) -> list[int | None]:
    known = np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0)
    short = bool((np.abs(known) < 2.0**62).all())
    return _where_finite(numbers, known.astype(np.int64).tolist() if short else [int(number) for number in known.tolist()])


def _dates(numbers: Floats) -> list[str | None]:
    return [None if day is None else day_of(day).isoformat() for day in _counts(numbers)]


def _where_finite(numbers: Floats, plain: list[Plain]) -> list[Plain | None]:
    finite = np.isfinite(numbers)
    if finite.all():
        return list(plain)
    return [value if known else None for value, known in zip(plain, finite.tolist(), strict=True)]


def _kept(quote: Quote, noisy: Noisy) -> list[int]:
    """The places of the groups that are shown, in their order."""
    question, places = quote.question, list(range(len(noisy.groups)))
    if question.having is not None:
        held = _held(question.having, quote, noisy)
        places = [at for at in places if held[at]]
    for order in reversed(question.order):
        values = _plain(order.by, quote, noisy)
        places.sort(key=lambda at: _sortable(values[at], order.descending), reverse=order.descending)
    end = None if question.limit is None else question.offset + question.limit
    return places[question.offset : end]


def _sortable(value: Any, descending: bool) -> tuple[bool, bool, Any]:
    """NULL last in either direction; numbers before text, where a key has both."""
    return (_missing(value) != descending, isinstance(value, str), 0 if _missing(value) else value)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))


def _plain(out: Out, quote: Quote, noisy: Noisy) -> list[Any]:
    """The values of an output, for comparisons."""
    if isinstance(out, KeyValue):
        term = quote.question.group.keys[out.index].term
        return [key_value(term, group[out.index]) for group in noisy.groups]
    values = band_of(out, quote, noisy).value
    if isinstance(out, Result) and quote.question.calls[out.index].is_date:
        return list(_dates(values))
    return list(values.tolist())


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def _held(test: Test, quote: Quote, noisy: Noisy) -> list[bool | None]:
    """For each group whether a HAVING holds; None where it is unknown, as a comparison with NULL is."""
    if test.operator in ("and", "or", "not"):
        parts = [_held(part, quote, noisy) for part in test.parts if isinstance(part, Test)]
        if test.operator == "not":
            return [None if held is None else not held for held in parts[0]]
        return [_joined(held, decisive=test.operator == "or") for held in zip(*parts, strict=True)]
    left, right = (_side(part, quote, noisy) for part in test.parts)
    return [_compared(test.operator, one, two) for one, two in zip(left, right, strict=True)]


def _side(part: Any, quote: Quote, noisy: Noisy) -> list[Any]:
    if part is None or isinstance(part, str | bool | int):
        return [part] * len(noisy.groups)
    return _plain(part, quote, noisy)


def _joined(parts: Sequence[bool | None], decisive: bool) -> bool | None:
    """AND or OR: one decisive part decides; else one unknown part leaves the whole unknown."""
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive


def _compared(operator: str, one: Any, two: Any) -> bool | None:
    if _missing(one) or _missing(two):
        return None
    if isinstance(one, str) != isinstance(two, str):
        return operator == "<>"
    return bool(_COMPARISONS[operator](one, two))
