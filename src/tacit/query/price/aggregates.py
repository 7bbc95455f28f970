"""The table of aggregates: which exact integers each needs, and how its value and interval follow from their released forms.

A moment is an integer sum over a group (`plan.Moment`). Sums are centered if a count is released with them: with y = 2 value - (low
+ high), a row moves the sum of y by at most high - low, half of what the range would cost uncentered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tacit.query.plan import Call, Literal, Moment, NumberType, Row, Term, TextColumn
from tacit.query.price.error_bars import Band, divisor, population, sample_correction
from tacit.query.price.pairs import finished_pair, moments_of_pair

Finish = Callable[[Term | None, tuple[Band, ...]], Band]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The moments over a term, and the function of their released values, in the same order.

    `weights` are the factors of the moments, if the value is a plain sum of them.
    """

    moments: Callable[[Term | None], tuple[Moment, ...]]
    finish: Finish
    weights: Callable[[Term | None], tuple[Fraction, ...]] | None = None


def moments_of(call: Call, beside: tuple[Call, ...]) -> tuple[Moment, ...]:
    """The moments that a call needs; a SUM next to an average of the same term is made from the average's."""
    if call.other is not None:
        return moments_of_pair(call)
    moments = _aggregate(call, beside).moments(call.over)
    if call.together is None:
        return moments
    return tuple(replace(each, together=call.together) if each.kind == "sum" else each for each in moments)


def finished(call: Call, beside: tuple[Call, ...], moments: tuple[Band, ...]) -> Band:
    """The released value of a call, from the released moments."""
    return finished_pair(call, moments) if call.other is not None else _aggregate(call, beside).finish(call.over, moments)


def weights_of(call: Call, beside: tuple[Call, ...]) -> tuple[Fraction, ...] | None:
    """The exact factors of a call's moments, if its value is a plain sum of them: counts and sums."""
    weights = _aggregate(call, beside).weights if call.other is None else None
    return weights(call.over) if weights else None


def _aggregate(call: Call, beside: tuple[Call, ...]) -> Aggregate:
    if call.name == "avg" and call.together is not None:
        return AGGREGATES["avg_plain"]
    if call.name != "sum" or call.together is not None:
        return AGGREGATES[call.name]
    centred = any(other.name in CENTRED and other.together is None and other.over == call.over for other in beside)
    return AGGREGATES["sum_centred" if centred else "sum"]


# --- the integers of a term --------------------------------------------------------------------------------------------------


def _row(term: Term | None) -> Row:
    if term is None or isinstance(term.node, TextColumn):
        return Literal(0)
    return term.node


def _exact_step(term: Term | None) -> Fraction:
    return term.type.step if term is not None and isinstance(term.type, NumberType) else Fraction(1)


def _step(term: Term | None) -> float:
    return float(_exact_step(term))


def _rows(term: Term | None) -> Moment:
    return Moment("rows", _row(term)) if term is not None and term.nullable else Moment("rows")


def _count(term: Term | None) -> tuple[Moment, ...]:
    return (_rows(term),)


def _distinct(term: Term | None) -> tuple[Moment, ...]:
    if term is not None and isinstance(term.node, TextColumn):
        return (Moment("distinct", text=term.node),)
    return (Moment("distinct", _row(term)),)


def _mean(term: Term | None) -> tuple[Moment, ...]:
    return (_rows(term), Moment("centred", _row(term)))


def _variance(term: Term | None) -> tuple[Moment, ...]:
    return (*_mean(term), Moment("squares", _row(term)))


# --- what to make of them ----------------------------------------------------------------------------------------------------


def _itself(_: Term | None, moments: tuple[Band, ...]) -> Band:
    return moments[0]


def _in_steps(term: Term | None, moments: tuple[Band, ...]) -> Band:
    step = _exact_step(term)
    return moments[0].scaled(float(step.numerator)).divided(float(step.denominator))


def _of_centred(term: Term | None) -> tuple[Fraction, ...]:
    half = _exact_step(term) / 2
    return half * (_row(term).low + _row(term).high), half


def _sum_centred(term: Term | None, moments: tuple[Band, ...]) -> Band:
    rows, centred = moments
    node = _row(term)
    return (centred + rows.scaled(node.low + node.high)).scaled(_step(term) / 2)


def _average(term: Term | None, moments: tuple[Band, ...]) -> Band:
    rows, centred = moments
    node, step = _row(term), _step(term)
    mean = (centred / divisor(rows)).shifted(node.low + node.high).scaled(step / 2)
    return mean.clamped(node.low * step, node.high * step)


def _plain_average(term: Term | None, moments: tuple[Band, ...]) -> Band:
    """The same from a sum that is not centered: of totals that one unit moves less together than one by one."""
    rows, summed = moments
    node, step = _row(term), _step(term)
    return (summed / divisor(rows)).scaled(step).clamped(node.low * step, node.high * step)


def _population(term: Term | None, moments: tuple[Band, ...]) -> Band:
    """The mean square less the square of the mean, from the centred sums."""
    rows, centred, squares = moments
    return population(float(_row(term).high - _row(term).low), rows, centred, squares).scaled(_step(term) ** 2 / 4)


def _sample(term: Term | None, moments: tuple[Band, ...]) -> Band:
    """The population variance times n / (n - 1)."""
    spread = float(_row(term).high - _row(term).low)
    return (_population(term, moments) * sample_correction(moments[0])).clamped(0.0, (_step(term) * spread) ** 2 / 2)


def _rooted(finish: Finish) -> Finish:
    return lambda term, moments: finish(term, moments).mapped(np.sqrt)


AGGREGATES: dict[str, Aggregate] = {
    "count": Aggregate(_count, _itself, lambda _: (Fraction(1),)),
    "units": Aggregate(lambda _: (Moment("units"),), _itself, lambda _: (Fraction(1),)),
    "distinct": Aggregate(_distinct, _itself, lambda _: (Fraction(1),)),
    "sum": Aggregate(lambda term: (Moment("sum", _row(term)),), _in_steps, lambda term: (_exact_step(term),)),
    "sum_centred": Aggregate(_mean, _sum_centred, _of_centred),
    "avg": Aggregate(_mean, _average),
    "avg_plain": Aggregate(lambda term: (_rows(term), Moment("sum", _row(term))), _plain_average),
    "var_pop": Aggregate(_variance, _population),
    "var_samp": Aggregate(_variance, _sample),
    "stddev_pop": Aggregate(_variance, _rooted(_population)),
    "stddev_samp": Aggregate(_variance, _rooted(_sample)),
    "quantile": Aggregate(lambda term: (Moment("list", _row(term)),), _in_steps),
    "mode": Aggregate(lambda term: (Moment("list", _row(term)),), _itself),
}
CENTRED = frozenset({"avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp"})
