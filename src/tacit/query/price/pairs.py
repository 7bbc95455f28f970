"""Covariance, correlation and regression from sums of two columns u and v, both centred: n, the sums of u, v, u v, u^2 and v^2.

With R the range of a column in steps, u lies in [-R, R] half steps; one row moves the sum of u v by at most R R' (stability.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.query.plan import Call, Literal, Moment, NumberType, Row, Term, TextColumn
from tacit.query.price.error_bars import Band, divisor, population, sample_correction


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
        together = (self.product / count).clamped(-most, most)
        return (together - self.mean(self.call.over, self.one) * self.mean(self.call.other, self.other)).clamped(-most, most)

    def mean(self, term: Term | None, summed: Band) -> Band:
        """E[u], in half steps."""
        return (summed / divisor(self.rows)).clamped(-spread(term), spread(term))

    def variance(self, term: Term | None, summed: Band, squares: Band) -> Band:
        """E[u^2] - E[u]^2, in half steps."""
        return population(spread(term), self.rows, summed, squares)


Finish = Callable[[Sums], Band]


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
    return FINISH[call.name](Sums(call, rows, one, other, product, tuple(squares)))


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
    return sums.covariance.scaled(step_of(sums.call.over) * step_of(sums.call.other) / 4)


def _sample(sums: Sums) -> Band:
    return _covariance(sums) * sample_correction(sums.rows)


def _correlation(sums: Sums) -> Band:
    """The covariance by the root of the product of the variances: from -1 to 1, and NULL where one of them is 0."""
    call = sums.call
    variances = [
        sums.variance(term, summed, squares)
        for term, summed, squares in zip((call.over, call.other), (sums.one, sums.other), sums.squares, strict=True)
    ]
    return (sums.covariance / (variances[0] * variances[1]).mapped(np.sqrt)).clamped(-1.0, 1.0)


def _slope(sums: Sums) -> Band:
    """The covariance by the variance of the second column: how much the first grows with it."""
    within = sums.covariance / sums.variance(sums.call.other, sums.other, sums.squares[0])
    return within.scaled(step_of(sums.call.over) / step_of(sums.call.other))


def _intercept(sums: Sums) -> Band:
    """The mean of the first column less the slope times the mean of the second."""
    one, other = (
        sums.mean(term, summed).shifted(row_of(term).low + row_of(term).high).scaled(step_of(term) / 2)
        for term, summed in ((sums.call.over, sums.one), (sums.call.other, sums.other))
    )
    return one - _slope(sums) * other


FINISH: dict[str, Finish] = {
    "covar_pop": _covariance,
    "covar_samp": _sample,
    "corr": _correlation,
    "regr_slope": _slope,
    "regr_intercept": _intercept,
}
