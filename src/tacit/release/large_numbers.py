"""Released sums and counts that doubles cannot represent: exact decimals, with ends rounded outward.

A sum is released as a whole number of public steps and published unchanged. Up to 2^53 steps, a double represents every one of
them; beyond, it would be rounded. So a column with such a number contains `Decimal`s in all rows (counts: integers).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.mechanisms.noise.grid import DOUBLE_LIMIT
from tacit.privacy.rounding import decimal_near
from tacit.query.plan import Call
from tacit.query.price.aggregates import moments_of, weights_of
from tacit.query.price.price import Quote
from tacit.release.noisy import Integers, Noisy, half_width

Ends = tuple[Any, Any, Any]
Exact = tuple[list[Fraction], list[Fraction], list[Fraction]]


def large_numbers(call: Call, quote: Quote, noisy: Noisy, missed: Fraction) -> Ends | None:
    """Value, low and high of an aggregate in every group, exactly; None if doubles suffice, or if it is not a plain sum."""
    weights = weights_of(call, quote.question.calls)
    if weights is None:
        return None
    moments = [quote.question.group.moments.index(moment) for moment in moments_of(call, quote.question.calls)]
    released = [noisy.sums[place][1] if place in noisy.sums else noisy.units for place in moments]
    if not any(map(_is_large, released)):
        return None
    each = missed / len(moments)  # one statement holds the sum elsewhere; here the ends of its parts do
    parts = [_scaled(_part(place, quote, noisy, each), weight) for place, weight in zip(moments, weights, strict=True)]
    value, low, high = (_added([part[at] for part in parts]) for at in range(3))
    if call.name in ("count", "units", "distinct"):
        return [int(number) for number in value], [number.__floor__() for number in low], [number.__ceil__() for number in high]
    near = zip((value, low, high), (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING), strict=True)
    decimals: list[list[Decimal]] = [[decimal_near(number, direction) for number in numbers] for numbers, direction in near]
    return decimals[0], decimals[1], decimals[2]


def _added(parts: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    return [sum(numbers, start=Fraction(0)) for numbers in zip(*parts, strict=True)]


def _is_large(numbers: Integers | None) -> bool:
    if numbers is None or not len(numbers):
        return False
    return bool(max(abs(int(np.max(numbers))), abs(int(np.min(numbers)))) > DOUBLE_LIMIT)


def _part(place: int, quote: Quote, noisy: Noisy, missed: Fraction) -> Exact:
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


def _scaled(part: Exact, weight: Fraction) -> Sequence[Sequence[Fraction]]:
    """Every number times a constant; a negative constant swaps the ends."""
    value, low, high = ([number * weight for number in numbers] for numbers in part)
    return (value, low, high) if weight >= 0 else (value, high, low)
