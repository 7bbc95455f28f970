"""How the numbers of a column are written: as dates, as whole numbers, or as they are."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from tacit.privacy.catalog import day_of
from tacit.query.plan import DateType, NumberType, Question
from tacit.query.price.error_bars import Floats
from tacit.query.results import (
    Arithmetic,
    Day,
    Fixed,
    KeyValue,
    Mapped,
    Number,
    Out,
    Result,
    Rounded,
    Window,
    alternatives,
)

Plain = TypeVar("Plain")


def written(numbers: Floats, out: Out, question: Question) -> list[float | None] | list[int | None] | list[str | None]:
    """The numbers of an output as an answer has them; None for a missing one."""
    if is_date(out, question):
        return dates(numbers)
    return counts(numbers) if is_whole(out, question) else plain(numbers)


def is_date(out: Out, question: Question) -> bool:
    """Whether an output is a date."""
    match out:
        case Result():
            return question.calls[out.index].is_date
        case KeyValue():
            return isinstance(question.group.keys[out.index].term.type, DateType)
        case Window(function="sum" | "avg" | "count" | "rank" | "dense_rank" | "row_number"):
            return False
        case _:
            return isinstance(out, Day) or any(is_date(each, question) for each in alternatives(out))


def is_whole(out: Out, question: Question) -> bool:
    """Whether an output is a whole number, whatever was released."""
    match out:
        case Result():
            return question.calls[out.index].name in ("count", "units", "distinct")
        case KeyValue():
            meaning = question.group.keys[out.index].term.type
            return isinstance(meaning, NumberType) and meaning.step.denominator == 1
        case Number():
            return out.value.denominator == 1
        case Rounded():
            return out.decimals <= 0
        case Mapped():
            return out.function in ("floor", "ceil", "sign")
        case Arithmetic():
            return out.operator != "/" and is_whole(out.left, question) and is_whole(out.right, question)
        case Window(function="count" | "rank" | "dense_rank" | "row_number"):
            return True
        case Window(function="avg"):
            return False
        case _:
            parts = [part for part in alternatives(out) if not isinstance(part, Fixed)]
            return bool(parts) and all(is_whole(part, question) for part in parts)


def plain(numbers: Floats) -> list[float | None]:
    """Plain numbers; None for a missing one. Zero has no sign."""
    return _where_finite(numbers, (numbers + 0.0).tolist())


def counts(numbers: Floats) -> list[int | None]:
    """Whole numbers, however large."""
    known = np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0)
    short = bool((np.abs(known) < 2.0**62).all())
    return _where_finite(numbers, known.astype(np.int64).tolist() if short else [int(number) for number in known.tolist()])


def dates(numbers: Floats) -> list[str | None]:
    """Days as dates; None beyond the years that a date has."""
    return [None if day is None or not -719162 <= day <= 2932896 else day_of(day).isoformat() for day in counts(numbers)]


def _where_finite(numbers: Floats, values: list[Plain]) -> list[Plain | None]:
    finite = np.isfinite(numbers)
    if finite.all():
        return list(values)
    return [value if known else None for value, known in zip(values, finite.tolist(), strict=True)]
