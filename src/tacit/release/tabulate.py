"""From released numbers to an answer: outputs, then HAVING, ORDER BY and LIMIT. All of it works on what is public already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from tacit.privacy.catalog import day_of
from tacit.query.groups import key_value, shown_at_most
from tacit.query.price.error_bars import Floats
from tacit.query.price.price import Quote
from tacit.query.price.shaping import shaping
from tacit.query.results import Fixed, KeyValue, Number, Out, Output, Result, Test
from tacit.release.answer import Answer, Column, Receipt
from tacit.release.intervals import band_of, missed_in
from tacit.release.large_numbers import large_numbers
from tacit.release.noisy import Noisy
from tacit.release.not_shown import not_shown

Plain = TypeVar("Plain")


def answer(quote: Quote, noisy: Noisy, receipt: Receipt, notes: Sequence[str] = ()) -> Answer:
    """The answer to a question: outputs, then HAVING, ORDER BY and LIMIT, all on released values."""
    parts = list(zip((quote, *quote.below), (noisy, *noisy.below), strict=True))
    rows = _kept(parts)
    columns = tuple(_stacked(place, parts, rows) for place in range(len(quote.question.outputs)))
    cut = [text for part, numbers in parts for text in _cut(part, numbers)]
    told = (*notes, *dict.fromkeys(cut), *not_shown(parts))
    return Answer(columns, quote.request.confidence, receipt, quote.request.simultaneous, told, shaping(quote))


def _cut(quote: Quote, noisy: Noisy) -> list[str]:
    most = shown_at_most(quote.question)
    largest = [f"only the {most:,} groups with the largest noisy numbers of people are shown"]
    return largest if quote.keys and len(noisy.groups) == most else []


def _stacked(place: int, parts: Sequence[tuple[Quote, Noisy]], rows: Sequence[tuple[int, int]]) -> Column:
    """A column of the answer, from the rows of all parts in their order."""
    made = [
        _column(quote.question.outputs[place], quote, noisy, [at for part, at in rows if part == number])
        for number, (quote, noisy) in enumerate(parts)
    ]
    if len(made) == 1:
        return made[0]
    taken = [iter(range(len(column.values))) for column in made]
    order = [(part, next(taken[part])) for part, _ in rows]
    values = tuple(made[part].values[at] for part, at in order)
    if any(column.low is None or column.high is None for column in made):
        return Column(made[0].name, "key", values)
    lows, highs = [column.low or () for column in made], [column.high or () for column in made]
    kinds = {column.kind for column in made}
    low, high = (tuple(ends[part][at] for part, at in order) for ends in (lows, highs))
    return Column(made[0].name, kinds.pop() if len(kinds) == 1 else "expression", values, low, high)


def _column(output: Output, quote: Quote, noisy: Noisy, kept: Sequence[int]) -> Column:
    if isinstance(output.value, Fixed):
        return Column(output.name, "key", (output.value.value,) * len(kept))
    if isinstance(output.value, Number):
        return Column(output.name, "key", (_plain_number(output.value.value),) * len(kept))
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


def _plain_number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


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


def _kept(parts: Sequence[tuple[Quote, Noisy]]) -> list[tuple[int, int]]:
    """The rows that are shown, in their order: for each its part, and the place of its group there."""
    question = parts[0][0].question
    rows: list[tuple[int, int]] = []
    for number, (quote, noisy) in enumerate(parts):
        having = quote.question.having
        held = _held(having, quote, noisy) if having is not None else None
        rows += [(number, at) for at in range(len(noisy.groups)) if held is None or held[at]]
    for place, order in reversed(list(enumerate(question.order))):
        values = [_plain(quote.question.order[place].by, quote, noisy) for quote, noisy in parts]
        keys = {row: _sortable(values[row[0]][row[1]], order.descending) for row in rows}
        rows.sort(key=keys.__getitem__, reverse=order.descending)
    end = None if question.limit is None else question.offset + question.limit
    return rows[question.offset : end]


def _sortable(value: Any, descending: bool) -> tuple[bool, bool, Any]:
    """NULL last in either direction; numbers before text, where a key has both."""
    return (_missing(value) != descending, isinstance(value, str), 0 if _missing(value) else value)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))


def _plain(out: Out, quote: Quote, noisy: Noisy) -> list[Any]:
    """The values of an output, for comparisons."""
    if isinstance(out, Fixed):
        return [out.value] * len(noisy.groups)
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
