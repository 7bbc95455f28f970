"""The table of aggregates: which exact integers each needs, and how its value and interval follow from their released forms.

A moment is an integer sum over a group (`plan.Moment`). Sums are centered if a count is released with them: with y = 2 value - (low
+ high), a row moves the sum of y by at most high - low, half of what the range would cost uncentered. With R the range of a column
in steps, a centered u lies in [-R, R] half steps; one row moves the sum of u v by at most R R' (query/price/stability.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal as Choice

import numpy as np

from tacit.query.intervals.bands import Band, divisor, population, sample_correction
from tacit.query.intervals.linear_models import MOST_REGRESSORS, model_moments, released_model
from tacit.query.language.syntax import ONE, TWO, Form
from tacit.query.plan import Literal, Moment, NumberType, Row, Term, TextColumn
from tacit.query.question import Call, Question

Finish = Callable[[Term | None, tuple[Band, ...]], Band]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The moments over a term, and the function of their released values, in the same order.

    `written` has the words for it in a question, each with its form. `weights` are the factors of the moments, if the value is a
    plain sum of them. `drawn` says whether a mechanism draws it group by group: a value by its rank, or a choice among the
    declared ones. `public` says whether public tables answer it.
    """

    moments: Callable[[Term | None], tuple[Moment, ...]]
    finish: Finish
    written: Mapping[str, Form] = field(default_factory=dict)
    weights: Callable[[Term | None], tuple[Fraction, ...]] | None = None
    drawn: Choice["rank", "choice"] | None = None
    public: bool = True


def moments_of(call: Call, beside: tuple[Call, ...]) -> tuple[Moment, ...]:
    """The moments that a call needs; a SUM next to an average of the same term is made from the average's."""
    if call.others:
        return model_moments(call)
    if call.other is not None:
        return moments_of_pair(call)
    moments = _aggregate(call, beside).moments(call.over)
    if call.together is None:
        return moments
    return tuple(replace(each, together=call.together) if each.kind == "sum" else each for each in moments)


def finish_call(call: Call, beside: tuple[Call, ...], moments: tuple[Band, ...]) -> Band:
    """The released value of a call, from the released moments."""
    if call.others:
        value = released_model(call, {moment: band.value for moment, band in zip(model_moments(call), moments, strict=True)})
        return Band(value, np.full_like(value, -np.inf), np.full_like(value, np.inf))
    return finished_pair(call, moments) if call.other is not None else _aggregate(call, beside).finish(call.over, moments)


def weights_of(call: Call, beside: tuple[Call, ...]) -> tuple[Fraction, ...] | None:
    """The exact factors of a call's moments, if its value is a plain sum of them: counts and sums."""
    weights = _aggregate(call, beside).weights if call.other is None and not call.others else None
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


def _listed(term: Term | None) -> tuple[Moment, ...]:
    return (Moment("list", _row(term)),)


# --- the value of the moments ------------------------------------------------------------------------------------------------


def _itself(_: Term | None, moments: tuple[Band, ...]) -> Band:
    return moments[0]


def _in_steps(term: Term | None, moments: tuple[Band, ...]) -> Band:
    step = _exact_step(term)
    return moments[0].scaled_by(float(step.numerator)).divided_by(float(step.denominator))


def _of_centred(term: Term | None) -> tuple[Fraction, ...]:
    half = _exact_step(term) / 2
    return half * (_row(term).low + _row(term).high), half


def _sum_centred(term: Term | None, moments: tuple[Band, ...]) -> Band:
    rows, centred = moments
    node = _row(term)
    return (centred + rows.scaled_by(node.low + node.high)).scaled_by(_step(term) / 2)


def _average(term: Term | None, moments: tuple[Band, ...]) -> Band:
    rows, centred = moments
    node, step = _row(term), _step(term)
    mean = (centred / divisor(rows)).shifted_by(node.low + node.high).scaled_by(step / 2)
    return mean.clamped_to(node.low * step, node.high * step)


def _plain_average(term: Term | None, moments: tuple[Band, ...]) -> Band:
    """The same from a sum that is not centered: of totals that one unit moves less together than one by one."""
    rows, summed = moments
    node, step = _row(term), _step(term)
    return (summed / divisor(rows)).scaled_by(step).clamped_to(node.low * step, node.high * step)


def _population(term: Term | None, moments: tuple[Band, ...]) -> Band:
    """The mean square less the square of the mean, from the centred sums."""
    rows, centred, squares = moments
    return population(float(_row(term).high - _row(term).low), rows, centred, squares).scaled_by(_step(term) ** 2 / 4)


def _sample(term: Term | None, moments: tuple[Band, ...]) -> Band:
    """The population variance times n / (n - 1)."""
    spread = float(_row(term).high - _row(term).low)
    return (_population(term, moments) * sample_correction(moments[0])).clamped_to(0.0, (_step(term) * spread) ** 2 / 2)


def _root_of(finish: Finish) -> Finish:
    return lambda term, moments: finish(term, moments).mapped_by(np.sqrt)


SHARES = {"min": Fraction(0), "max": Fraction(1), "median": Fraction(1, 2)}  # quantiles with a name of their own
COUNT = Form((), usage="write COUNT(*) or COUNT(column)")
QUANTILE = Form(("this", "quantile"), 2, 2, "write QUANTILE_CONT(column, 0.5)")
AGGREGATES: dict[str, Aggregate] = {
    "count": Aggregate(_count, _itself, {"count": COUNT}, lambda _: (Fraction(1),)),
    "units": Aggregate(lambda _: (Moment("units"),), _itself, weights=lambda _: (Fraction(1),)),
    "distinct": Aggregate(_distinct, _itself, {"count_distinct": Form((), 1, None)}, lambda _: (Fraction(1),)),
    "sum": Aggregate(lambda term: (Moment("sum", _row(term)),), _in_steps, {"sum": ONE}, lambda term: (_exact_step(term),)),
    "sum_centred": Aggregate(_mean, _sum_centred, weights=_of_centred),
    "avg": Aggregate(_mean, _average, {"avg": ONE}),
    "avg_plain": Aggregate(lambda term: (_rows(term), Moment("sum", _row(term))), _plain_average),
    "var_pop": Aggregate(_variance, _population, {"var_pop": ONE}),
    "var_samp": Aggregate(_variance, _sample, {"var_samp": ONE}),
    "stddev_pop": Aggregate(_variance, _root_of(_population), {"stddev_pop": ONE}),
    "stddev_samp": Aggregate(_variance, _root_of(_sample), {"stddev_samp": Form(also=("stddev",))}),
    "quantile": Aggregate(_listed, _in_steps, {"quantile": QUANTILE, **dict.fromkeys(SHARES, ONE)}, drawn="rank"),
    "mode": Aggregate(_listed, _itself, {"mode": ONE}, drawn="choice", public=False),
}
CENTRED = frozenset({"avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp"})
DRAWN = frozenset(name for name, row in AGGREGATES.items() if row.drawn)
CHOICES = frozenset(name for name, row in AGGREGATES.items() if row.drawn == "choice")
PUBLIC = frozenset(word for row in AGGREGATES.values() if row.public for word in row.written)
MOST_QUANTILES = 10**5  # each is drawn separately, in about a millisecond
MOST_SHOWN, MOST_SHOWN_QUANTILES = 10**5, 10**4  # of private keys


def shown_at_most(question: Question) -> int:
    """The maximum number of groups with private keys in an answer: those with the largest noisy numbers of units."""
    drawn = drawn_in_groups(question)
    return max(1, MOST_SHOWN_QUANTILES // drawn) if drawn else MOST_SHOWN


def drawn_in_groups(question: Question) -> int:
    """How many aggregates are drawn group by group: quantiles and modes."""
    return sum(call.name in DRAWN for call in question.calls)


# --- of two columns: from n and the sums of u, v, u v, u^2 and v^2, both centered --------------------------------------------


@dataclass(frozen=True, slots=True)
class Sums:
    """Released sums of two columns, and what they are of."""

    call: Call
    rows: Band
    one: Band
    other: Band
    product: Band
    squares: tuple[Band, ...]

    @property
    def covariance(self) -> Band:
        """E[u v] - E[u] E[v], in half steps of both; at most R R' in absolute value."""
        count, most = divisor(self.rows), spread(self.call.over) * spread(self.call.other)
        together = (self.product / count).clamped_to(-most, most)
        return (together - self.mean(self.call.over, self.one) * self.mean(self.call.other, self.other)).clamped_to(-most, most)

    def mean(self, term: Term | None, summed: Band) -> Band:
        """E[u], in half steps."""
        return (summed / divisor(self.rows)).clamped_to(-spread(term), spread(term))

    def variance(self, term: Term | None, summed: Band, squares: Band) -> Band:
        """E[u^2] - E[u]^2, in half steps."""
        return population(spread(term), self.rows, summed, squares)


FinishPair = Callable[[Sums], Band]


def moments_of_pair(call: Call) -> tuple[Moment, ...]:
    """The sums that an aggregate of two columns needs, in the order of `Sums`; squares last."""
    one, other = row_of(call.over), row_of(call.other)
    rows = Moment("rows", one) if one.nullable else Moment("rows")
    squares = {"corr": (one, other), "regr_slope": (other,), "regr_intercept": (other,)}.get(call.name, ())
    together = (rows, Moment("centred", one), Moment("centred", other), Moment("products", one, other=other))
    return (*together, *(Moment("squares", node) for node in squares))


def finished_pair(call: Call, bands: tuple[Band, ...]) -> Band:
    """The released value of an aggregate of two columns."""
    rows, one, other, product, *squares = bands
    return PAIRS[call.name](Sums(call, rows, one, other, product, tuple(squares)))


def spread(term: Term | None) -> float:
    """The range of a column in steps."""
    return float(row_of(term).high - row_of(term).low)


def row_of(term: Term | None) -> Row:
    """The expression of a term; a constant if it is not a number."""
    return Literal(0) if term is None or isinstance(term.node, TextColumn) else term.node


def step_of(term: Term | None) -> float:
    """The size of one step of a column."""
    return float(term.type.step) if term is not None and isinstance(term.type, NumberType) else 1.0


def _covariance(sums: Sums) -> Band:
    return sums.covariance.scaled_by(step_of(sums.call.over) * step_of(sums.call.other) / 4)


def _sample_covariance(sums: Sums) -> Band:
    return _covariance(sums) * sample_correction(sums.rows)


def _correlation(sums: Sums) -> Band:
    """The covariance by the root of the product of the variances: from -1 to 1, and NULL where one of them is 0."""
    call = sums.call
    variances = [
        sums.variance(term, summed, squares)
        for term, summed, squares in zip((call.over, call.other), (sums.one, sums.other), sums.squares, strict=True)
    ]
    return (sums.covariance / (variances[0] * variances[1]).mapped_by(np.sqrt)).clamped_to(-1.0, 1.0)


def _slope(sums: Sums) -> Band:
    """The covariance by the variance of the second column: how much the first grows with it."""
    within = sums.covariance / sums.variance(sums.call.other, sums.other, sums.squares[0])
    return within.scaled_by(step_of(sums.call.over) / step_of(sums.call.other))


def _intercept(sums: Sums) -> Band:
    """The mean of the first column less the slope times the mean of the second."""
    one, other = (
        sums.mean(term, summed).shifted_by(row_of(term).low + row_of(term).high).scaled_by(step_of(term) / 2)
        for term, summed in ((sums.call.over, sums.one), (sums.call.other, sums.other))
    )
    return one - _slope(sums) * other


PAIRS: dict[str, FinishPair] = {
    "covar_pop": _covariance,
    "covar_samp": _sample_covariance,
    "corr": _correlation,
    "regr_slope": _slope,
    "regr_intercept": _intercept,
}

MODELS = (
    ("linreg_intercept", 2, "write LINREG_INTERCEPT(y, x1, x2)"),
    ("linreg_r2", 2, "write LINREG_R2(y, x1, x2)"),
    ("linreg_slope", 3, "write LINREG_SLOPE(1, y, x1, x2), where 1 is x1"),
)

WRITTEN: Mapping[str, Form] = {
    **{word: form for row in AGGREGATES.values() for word, form in row.written.items()},
    **dict.fromkeys(PAIRS, TWO),
    **{word: Form((), least, least + MOST_REGRESSORS - 1, usage) for word, least, usage in MODELS},
}
"""The words of a question for an aggregate, each with its form."""
