"""The rule of each column's interval, from the quote and the released values; one sum with noise of its own has a short check."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tacit.accounting.calibrate import discrete_laplace_error, gaussian_error
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.running import Running
from tacit.query.intervals.aggregates import moments_of, weights_of
from tacit.query.intervals.bands import Sum
from tacit.query.intervals.misses import chooses, missed_by
from tacit.query.price.quote import Quote
from tacit.query.question import Output, Result, cells_of, private
from tacit.release.answer import Column

NEAR = Fraction(1, 2**40)  # of the largest number: what rounding to doubles may move
EXACT, STATED, NONE, LAW = "exact", "as-stated", "none", "law-of-noise"


def intervals_json(quote: Quote, columns: Sequence[Column], mechanisms: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One object for each column of the answer, or of all answers to a list."""
    pairs = zip(quote.question.headed, columns, strict=True)
    return [{"column": place, **_rule(output, column, quote, mechanisms)} for place, (output, column) in enumerate(pairs)]


def _rule(output: Output, column: Column, quote: Quote, mechanisms: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if column.is_key:
        return {"rule": EXACT}
    if not column.has_interval:
        return {"rule": NONE}
    return _law(output, column, quote, mechanisms) or {"rule": STATED}


def _law(output: Output, column: Column, quote: Quote, mechanisms: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The law of one noise; None where the ends follow from more than that."""
    question = quote.question
    if len(question.parts) > 1:
        return None
    together = quote.request.simultaneous or chooses(question)
    part, weight = _sum_of(output, quote) or (None, Fraction(0))
    if part is None or isinstance(part.mechanism, Running) or (together and private(question)):
        return None
    missed = missed_by(output.value, question, quote.request, 1 if private(question) else cells_of(question))
    steps = gaussian_error if isinstance(part.mechanism, Gaussian) else discrete_laplace_error
    half = weight * steps(part.mechanism.scale, missed)
    if not _fits(column, half):
        return None
    place = next(
        at for at, one in enumerate(mechanisms) if (one["part"], one["releases"], one.get("moment")) == (0, "moment", part.place)
    )
    counted = int((1 - quote.request.confidence) / missed)
    return {
        "rule": LAW, "mechanism": place, "weight": str(weight), "together": counted, "missed": str(missed), "half_width": str(half),
    }  # fmt: skip


def _sum_of(output: Output, quote: Quote) -> tuple[Sum, Fraction] | None:
    """The one released sum that an output is, and the weight that it is taken times."""
    if not isinstance(output.value, Result):
        return None
    call = quote.question.calls[output.value.index]
    moments, weights = moments_of(call, quote.question.calls), weights_of(call, quote.question.calls)
    if weights is None or len(moments) != 1:
        return None
    return next(((part, weights[0]) for part in quote.sums if part.moment == moments[0]), None)


def _fits(column: Column, half: Fraction) -> bool:
    """Whether all ends are so far from their values, up to the rounding of doubles."""
    rows, width = zip(column.values, column.low or (), column.high or (), strict=True), float(half)
    return all(_near(value, low, half, width) and _near(high, value, half, width) for value, low, high in rows)


def _near(upper: Any, lower: Any, half: Fraction, width: float) -> bool:
    if isinstance(upper, float) and isinstance(lower, float):  # doubles are off by 2^-51 of the largest at most
        return abs(upper - lower - width) <= float(NEAR) / 2 * max(abs(upper), abs(lower), width)
    if isinstance(upper, int) and isinstance(lower, int) and half.denominator == 1:
        return upper - lower == half.numerator
    if not all(isinstance(each, int | float | Decimal) for each in (upper, lower)):
        return False
    above, below = Fraction(upper), Fraction(lower)
    return abs(above - below - half) <= NEAR * max(abs(above), abs(below), half)
