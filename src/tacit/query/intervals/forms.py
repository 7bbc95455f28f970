"""How the numbers of a column are written: as dates, as whole numbers, as exact decimals, or as they are.

A sum is released as a whole number of public steps and published unchanged. Up to 2^53 steps, a double represents every one of
them; beyond, it would be rounded. So a column with such a number contains `Decimal`s in all rows (counts: integers), and its ends
are rounded outward.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from tacit.mechanisms.noise.grid import DOUBLE_LIMIT
from tacit.privacy.catalog import day_of
from tacit.privacy.rounding import decimal_near
from tacit.query.functions import FUNCTIONS
from tacit.query.intervals.aggregates import moments_of, weights_of
from tacit.query.intervals.bands import Floats, Integers, Noisy, Priced, half_width
from tacit.query.plan import DateType, NumberType
from tacit.query.question import (
    Arithmetic,
    Call,
    Day,
    End,
    Fixed,
    KeyValue,
    Mapped,
    Number,
    Out,
    Question,
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
        case End():
            return is_date(question.outputs[out.place].value, question)
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
        case End():
            return is_whole(question.outputs[out.place].value, question)
        case Number():
            return out.value.denominator == 1
        case Rounded():
            return out.decimals <= 0
        case Mapped():
            return FUNCTIONS[out.function].whole
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
    filled = np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0)
    short = bool((np.abs(filled) < 2.0**62).all())
    return _where_finite(numbers, filled.astype(np.int64).tolist() if short else [int(number) for number in filled.tolist()])


def dates(numbers: Floats) -> list[str | None]:
    """Days as dates; None beyond the years that a date has."""
    return [None if day is None or not -719162 <= day <= 2932896 else day_of(day).isoformat() for day in counts(numbers)]


def _where_finite(numbers: Floats, values: list[Plain]) -> list[Plain | None]:
    finite = np.isfinite(numbers)
    if finite.all():
        return list(values)
    return [value if is_finite else None for value, is_finite in zip(values, finite.tolist(), strict=True)]


# --- sums and counts that doubles cannot represent ---------------------------------------------------------------------------


Ends = tuple[Any, Any, Any]
Exact = tuple[list[Fraction], list[Fraction], list[Fraction]]


def large_numbers(call: Call, quote: Priced, noisy: Noisy, missed: Fraction) -> Ends | None:
    """Value, low and high of an aggregate in every group, exactly; None if doubles suffice, or if it is not a plain sum."""
    weights = weights_of(call, quote.question.calls)
    if weights is None:
        return None
    moments = [quote.question.group.moments.index(moment) for moment in moments_of(call, quote.question.calls)]
    released = [noisy.sums[place][1] if place in noisy.sums else noisy.units for place in moments]
    if not any(map(_is_large, released)):
        return None
    each = missed / len(moments)  # one statement holds the sum elsewhere; here the ends of its parts do
    parts = [_times(_part(place, quote, noisy, each), weight) for place, weight in zip(moments, weights, strict=True)]
    value, low, high = (_sums_of([part[at] for part in parts]) for at in range(3))
    if call.name in ("count", "units", "distinct"):
        return [int(number) for number in value], [number.__floor__() for number in low], [number.__ceil__() for number in high]
    near = zip((value, low, high), (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING), strict=True)
    decimals: list[list[Decimal]] = [[decimal_near(number, direction) for number in numbers] for numbers, direction in near]
    return decimals[0], decimals[1], decimals[2]


def _sums_of(parts: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    return [sum(numbers, start=Fraction(0)) for numbers in zip(*parts, strict=True)]


def _is_large(numbers: Integers | None) -> bool:
    if numbers is None or not len(numbers):
        return False
    return bool(max(abs(int(np.max(numbers))), abs(int(np.min(numbers)))) > DOUBLE_LIMIT)


def _part(place: int, quote: Priced, noisy: Noisy, missed: Fraction) -> Exact:
    """One released moment with its ends, in its own integer units."""
    if place not in noisy.sums:
        assert quote.keys is not None  # noqa: S101  # only then are units not among the sums
        return _fractions(noisy.units), *map(_fractions, quote.keys.ends(noisy.units, 1 - missed))  # type: ignore[return-value]
    part, released = noisy.sums[place]
    width, values = half_width(part, missed), _fractions(released)
    below, above = Fraction(width.below), Fraction(width.above)
    return values, [value - below for value in values], [value + above for value in values]


def _fractions(numbers: Any) -> list[Fraction]:
    return [Fraction(int(number)) for number in numbers]


def _times(part: Exact, weight: Fraction) -> Sequence[Sequence[Fraction]]:
    """Every number times a constant; a negative constant swaps the ends."""
    value, low, high = ([number * weight for number in numbers] for numbers in part)
    return (value, low, high) if weight >= 0 else (value, high, low)
