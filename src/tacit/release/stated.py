"""The ends of an output that one statement about several released numbers holds: from these numbers and the laws of their noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.accounting.weighted import Draws, weighted_error
from tacit.query.plan import Call, Moment
from tacit.query.price.aggregates import moments_of
from tacit.query.price.error_bars import Band, Floats
from tacit.query.price.pairs import row_of, spread, step_of
from tacit.query.price.price import Quote
from tacit.query.price.ratios import ROUNDING, Ends, Quotient, Released, mean_ends, ratio_ends
from tacit.query.price.regressions import correlation_ends, intercept_ends, slope_ends
from tacit.query.price.spreads import covariance_ends, variance_ends
from tacit.query.price.statements import COVARIANCES, REGRESSIONS, Linear, Ratio, declared
from tacit.release.noisy import Noisy, noises_of


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """The released sums of one part of a question; each statement about them may miss with the chance `missed`."""

    quote: Quote
    noisy: Noisy
    missed: Fraction

    def released(self, moment: Moment) -> Released:
        """A released sum in every group, with its noise."""
        part, values = self.noisy.sums[self.quote.question.group.moments.index(moment)]
        mechanism, count = noises_of(part)
        return Released(np.asarray(values, dtype=np.float64), Draws(mechanism.name, mechanism.scale, count))

    # --- sums and ratios ---

    def linear(self, form: Linear, made: Band) -> Band:
        """A weighted sum, by the law of the weighted sum of the noises."""
        value, rounding = self._added(form)
        parts = [(self.released(moment).noise, float(weight)) for moment, weight in form.weights]
        parts.sort(key=lambda part: part[0].scale, reverse=True)
        width = weighted_error([noise for noise, _ in parts], np.array([[weight for _, weight in parts]]), self.missed)[0]
        return _around(made.value, value - width - rounding, value + width + rounding)

    def _added(self, form: Linear) -> Ends:
        """The released value, and a bound on what doubles lose."""
        parts = [float(weight) * self.released(moment).value for moment, weight in form.weights]
        value = np.sum(parts, axis=0) + float(form.constant)
        return value, ROUNDING * np.sum(np.abs(parts), axis=0) * any(
            self.released(moment).noise.scale for moment, _ in form.weights
        )

    def ratio(self, form: Ratio, made: Band) -> Band:
        """A ratio of two such sums."""
        divided = sorted(form.below.weights, key=lambda part: self.released(part[0]).noise.scale)
        moments = list(dict.fromkeys(moment for moment, _ in (divided[0], *form.above.weights, *divided[1:])))[::-1]
        above, below = (tuple(float(dict(part.weights).get(each, 0)) for each in moments) for part in (form.above, form.below))
        noise = Quotient(tuple(self.released(moment).noise for moment in moments), above, below)
        low, high = ratio_ends(self._added(form.above)[0], self._added(form.below)[0], noise, self.missed)
        return _around(made.value, low, high)

    # --- means, variances, covariances ---

    def moments(self, call: Call, made: Band) -> Band:
        """A mean, a variance, a deviation, a covariance or a regression, within its declared range."""
        sums = [self.released(moment) for moment in moments_of(call, self.quote.question.calls)]
        least, most = declared(call)
        if call.name == "avg":
            low, high = self._mean(call, sums)
        elif call.name in COVARIANCES:
            ends = covariance_ends(sums, (spread(call.over), spread(call.other)), call.name == "covar_samp", self.missed)
            low, high = (end * (step_of(call.over) * step_of(call.other) / 4) for end in ends)
        elif call.name in REGRESSIONS:
            return _around(made.value, *_regression(call, sums, self.missed))
        else:
            ends = variance_ends(sums, spread(call.over), call.name.endswith("samp"), self.missed)
            low, high = (end * (step_of(call.over) ** 2 / 4) for end in ends)
            if call.name.startswith("stddev"):
                low, high = np.sqrt(low), np.sqrt(high)
        spare = 1e-15 * max(abs(least), abs(most))
        return _around(made.value, np.maximum(low - spare, least), np.minimum(high + spare, most))

    def _mean(self, call: Call, sums: list[Released]) -> Ends:
        rows, summed = sums
        node, step = row_of(call.over), step_of(call.over)
        if call.together is not None:
            low, high = mean_ends(summed, rows, (float(node.low), float(node.high)), self.missed)
            return low * step, high * step
        most = spread(call.over)
        low, high = mean_ends(summed, rows, (-most, most), self.missed)
        return (low + (node.low + node.high)) * (step / 2), (high + (node.low + node.high)) * (step / 2)


def _regression(call: Call, sums: list[Released], missed: Fraction) -> Ends:
    """A correlation, a slope or an intercept, in the units of the answer."""
    spreads, node = (spread(call.over), spread(call.other)), row_of(call.other)
    if call.name == "corr":
        return correlation_ends(sums, spreads, missed)
    if call.name == "regr_slope":
        low, high = slope_ends(sums, spreads, missed)
        factor = step_of(call.over) / step_of(call.other)
        return _outward(low * factor, high * factor)
    low, high = intercept_ends(sums, spreads, float(node.low + node.high), missed)
    shift = row_of(call.over).low + row_of(call.over).high
    return _outward((low + shift) * (step_of(call.over) / 2), (high + shift) * (step_of(call.over) / 2))


def _outward(low: Floats, high: Floats) -> Ends:
    """What doubles lose, added on both sides."""
    return low - 1e-15 * np.abs(low), high + 1e-15 * np.abs(high)


def _around(value: Floats, low: Floats, high: Floats) -> Band:
    """The ends, with the released value between them."""
    known = np.isfinite(value)
    return Band(value, np.where(known, np.fmin(low, value), low), np.where(known, np.fmax(high, value), high))
