"""The ends of correlations and regressions: of every candidate that the released sums do not contradict. Proof in regressions.md.

With exact means, the sum of products less the slope times the sum of squares is zero; so its released form is noise, and the slopes
for which that is within the reach of this noise are kept. A correlation likewise, by the ratio of both deviations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.weighted import Draws
from tacit.query.intervals.bands import Band, Floats
from tacit.query.intervals.ratios import ROUNDING, ROUNDS, Ends, Mean, Released, mean_of, shared_error, variance_ends

FOR_MEANS = Fraction(1, 10)  # of the chance of a miss: for the two means
FOR_DEVIATIONS = Fraction(1, 10)  # the same for the variances that a correlation or an intercept stands on
FOR_SLOPE = Fraction(1, 5)  # the same for the slope that an intercept stands on
FARTHER = (2.0, 32.0)  # times the released slope, from where on no candidate is looked for
NO_NOISE = Draws("Laplace", Fraction(0))


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The released sums of two columns in half steps, n and the sums of u, v and u v, with where both means lie."""

    rows: Released
    one: Released
    other: Released
    product: Released
    spreads: tuple[float, float]
    means: tuple[Mean, Mean]

    @property
    def means_known(self) -> tuple[Band, Band]:
        """Where the exact means lie, as bands around the released ones."""
        return _band(self.means[0].low, self.means[0].high), _band(self.means[1].low, self.means[1].high)

    @property
    def products(self) -> Band:
        """The sum of (u - m_u)(v - m_v) from released sums, for all means m_u and m_v between their ends."""
        one, other = self._off(0), self._off(1)
        around = self.product.value - self.one.value * self.means[1].released
        terms = np.abs(self.product.value) + np.abs(self.one.value * self.means[1].released)
        rounding = ROUNDING * (terms + self.spreads[0] * self.spreads[1] * np.abs(self.rows.value))
        return _band(around - rounding, around + rounding) + one * other * _band(self.rows.value, self.rows.value)

    def squares(self, at: int, squares: Released) -> Band:
        """The sum of (u - m_u)^2, or of the same of v."""
        summed, most = (self.one, self.other)[at], self.spreads[at]
        around = (squares.value + most**2 * self.rows.value) / 2 - summed.value * self.means[at].released
        terms = np.abs(squares.value) + np.abs(summed.value * self.means[at].released)
        rounding = ROUNDING * (terms + most**2 * np.abs(self.rows.value))
        return _band(around - rounding, around + rounding) + self._off(at).square() * _band(self.rows.value, self.rows.value)

    def _off(self, at: int) -> Band:
        mean = self.means[at]
        return _band(mean.low - mean.released, mean.high - mean.released)


def pair(sums: Sequence[Released], spreads: tuple[float, float], missed: Fraction) -> Pair:
    """Both means have the chance `missed` together."""
    rows, one, other, product = sums
    means = mean_of(one, rows, spreads[0], missed / 2), mean_of(other, rows, spreads[1], missed / 2)
    return Pair(rows, one, other, product, spreads, means)


# --- slopes ------------------------------------------------------------------------------------------------------------------


def slope_ends(sums: Sequence[Released], spreads: tuple[float, float], missed: Fraction) -> Ends:
    """The ends of the slope of u over v, in half steps of both; infinite where the variance of v may be zero."""
    *four, squares = sums
    both = pair(four, spreads, missed * FOR_MEANS)
    above, below = both.products, both.squares(1, squares)
    rest = missed * (1 - FOR_MEANS)
    far = _farthest(both, squares, (above, below), rest)
    slope = _band(-far, far)
    finite = np.isfinite(far)
    for _ in range(ROUNDS):
        width = _slope_reach(both, squares, _band(np.where(finite, slope.low, 0.0), np.where(finite, slope.high, 0.0)), rest)
        inner = (above + _band(-width, width)) / below
        slope = _band(np.fmax(slope.low, inner.low), np.fmin(slope.high, inner.high))
    none = ~finite | (slope.low > slope.high)
    return np.where(none, -np.inf, slope.low), np.where(none, np.inf, slope.high)


def _slope_reach(both: Pair, squares: Released, slope: Band, missed: Fraction) -> Floats:
    """How far the noise of the products less the slope times that of the squares goes, for all slopes and means in their ends."""
    one, other = both.means_known
    of_rows = one * other - slope * other.square().shifted_by(both.spreads[1] ** 2 / 2)
    weights = [_band(*np.ones((2, len(one.low)))), other, one - (slope * other).scaled_by(2), slope.scaled_by(0.5), of_rows]
    noises = both.product, both.one, both.other, squares, both.rows
    return shared_error([each.noise for each in noises], np.stack([_largest(each) for each in weights], axis=1), missed)


def _farthest(both: Pair, squares: Released, sides: tuple[Band, Band], missed: Fraction) -> Floats:
    """A slope that no candidate exceeds in absolute value; infinite where the variance may be zero."""
    one, other = both.means_known
    above, below = _largest(sides[0]), sides[1].low
    alone = [np.ones_like(above), _largest(other), _largest(one), 0 * above, _largest(one * other)]
    times = [0 * above, 0 * above, 2 * _largest(other), 0 * above + 0.5, other.square().high + both.spreads[1] ** 2 / 2]
    noises = [NO_NOISE, *(each.noise for each in (both.product, both.one, both.other, squares, both.rows))]
    far = np.full_like(above, np.inf)
    for factor in FARTHER:
        edge = factor * np.maximum(above, 1e-9 * both.spreads[0] * both.spreads[1]) / np.where(below > 0, below, 1.0)
        weights = np.stack([0 * above, *(first / edge + second for first, second in zip(alone, times, strict=True))], axis=1)
        slope = shared_error(noises, weights, missed)
        held = (below > slope) & (above < edge * (below - slope)) & (both.rows.value > 0)
        far = np.where(held, np.minimum(far, edge), far)
    return far


def intercept_ends(sums: Sequence[Released], spreads: tuple[float, float], middle: float, missed: Fraction) -> Ends:
    """The ends of the mean of u at v = -middle by the regression, in half steps; infinite where the variance of v may be zero."""
    *four, squares = sums
    both, rows = pair(four, spreads, missed * FOR_MEANS), sums[0].value
    slopes = slope_ends(sums, spreads, missed * FOR_SLOPE)
    least, most = variance_ends((sums[0], sums[2], squares), spreads[1], False, missed * FOR_DEVIATIONS)
    finite = np.isfinite(slopes[0]) & np.isfinite(slopes[1]) & (least > 0) & (rows > 0)
    slope = _band(*(np.where(finite, end, 0.0) for end in slopes))
    tilt = -both.means_known[1].shifted_by(middle) / _band(np.where(finite, least, 1.0), np.where(finite, most, 1.0))
    width = _intercept_reach(both, squares, slope, tilt, missed * (1 - FOR_MEANS - FOR_SLOPE - FOR_DEVIATIONS))
    moved = sums[2].value + middle * rows
    products, squared = both.products, both.squares(1, squares)
    corners = [
        sums[1].value - s * moved + t * (c - s * b)
        for s in (slope.low, slope.high)
        for t in (tilt.low, tilt.high)
        for c in (products.low, products.high)
        for b in (squared.low, squared.high)
    ]
    width = width + ROUNDING * (np.abs(sums[1].value) + _largest(slope) * (np.abs(sums[2].value) + abs(middle * rows)))
    width = width + ROUNDING * _largest(tilt) * (_largest(products) + _largest(slope) * _largest(squared))
    divisor = np.where(finite, rows, 1.0)
    low, high = (np.minimum.reduce(corners) - width) / divisor, (np.maximum.reduce(corners) + width) / divisor
    return np.where(finite, low, -np.inf), np.where(finite, high, np.inf)


def _intercept_reach(both: Pair, squares: Released, slope: Band, tilt: Band, missed: Fraction) -> Floats:
    """How far the noise of the mean and of `tilt` times that of the slope goes, for all slopes, tilts and means in their ends."""
    one, other = both.means_known
    of_rows = slope * other - one + tilt * (one * other - slope * other.square().shifted_by(both.spreads[1] ** 2 / 2))
    of_other = slope + tilt * (one - (slope * other).scaled_by(2))
    weights = [tilt, -(tilt * other).shifted_by(-1.0), of_other, (tilt * slope).scaled_by(0.5), of_rows]
    noises = [NO_NOISE, *(each.noise for each in (both.product, both.one, both.other, squares, both.rows))]
    return shared_error(noises, np.stack([0 * one.low, *map(_largest, weights)], axis=1), missed)


# --- correlations ------------------------------------------------------------------------------------------------------------


def correlation_ends(sums: Sequence[Released], spreads: tuple[float, float], missed: Fraction) -> Ends:
    """The ends of a correlation; -1 and 1 where a variance may be zero."""
    *four, one, other = sums
    squares, both = (one, other), pair(four, spreads, missed * FOR_MEANS)
    ratio, finite = _ratio(sums, spreads, missed * FOR_DEVIATIONS)
    above = both.products
    below = _in_between(both.squares(0, squares[0]), both.squares(1, squares[1]), ratio)
    rest = missed * (1 - FOR_MEANS - FOR_DEVIATIONS)
    correlation = _band(np.full_like(ratio.low, -1.0), np.full_like(ratio.low, 1.0))
    for _ in range(ROUNDS):
        width = _correlation_reach(both, squares, correlation, ratio, rest)
        inner = (above + _band(-width, width)) / below
        correlation = _band(np.fmax(correlation.low, inner.low), np.fmin(correlation.high, inner.high))
    none = ~finite | (below.low <= 0) | (correlation.low > correlation.high)
    return np.where(none, -1.0, correlation.low), np.where(none, 1.0, correlation.high)


def _ratio(sums: Sequence[Released], spreads: tuple[float, float], missed: Fraction) -> tuple[Band, NDArray[np.bool_]]:
    """Where the deviation of u over that of v lies, and in which groups both are certainly above zero."""
    rows, one, other, _, *squares = sums
    low, high = variance_ends((rows, one, squares[0]), spreads[0], False, missed / 2)
    least, most = variance_ends((rows, other, squares[1]), spreads[1], False, missed / 2)
    positive = (low > 0) & (least > 0) & (rows.value > 0)
    ends = (
        np.where(positive, low, 1.0) / np.where(positive, most, 1.0),
        np.where(positive, high, 1.0) / np.where(positive, least, 1.0),
    )
    return _band(np.sqrt(ends[0]) * (1 - ROUNDING), np.sqrt(ends[1]) * (1 + ROUNDING)), positive


def _correlation_reach(both: Pair, squares: Sequence[Released], correlation: Band, ratio: Band, missed: Fraction) -> Floats:
    """How far the noise goes for all correlations, ratios of deviations and means in their ends."""
    one, other = both.means_known
    halves = [correlation.scaled_by(0.5) / ratio, correlation.scaled_by(0.5) * ratio]
    turned = [mean.square().shifted_by(most**2 / 2) for mean, most in zip((one, other), both.spreads, strict=True)]
    weights = [
        _band(*np.ones((2, len(one.low)))),
        other - (halves[0] * one).scaled_by(2),
        one - (halves[1] * other).scaled_by(2),
        halves[0].scaled_by(0.5),
        halves[1].scaled_by(0.5),
        one * other - halves[0] * turned[0] - halves[1] * turned[1],
    ]
    noises = both.product, both.one, both.other, *squares, both.rows
    return shared_error([each.noise for each in noises], np.stack([_largest(each) for each in weights], axis=1), missed)


def _in_between(one: Band, other: Band, ratio: Band) -> Band:
    """(one / t + other t) / 2 for all t between the ends: convex in t, so least at the root of one / other or at an end."""
    edges = [[(u / at + v * at) / 2 for at in (ratio.low, ratio.high)] for u, v in ((one.low, other.low), (one.high, other.high))]
    positive = (one.low > 0) & (other.low > 0)
    root = np.sqrt(np.where(positive, one.low / np.where(positive, other.low, 1.0), 1.0))
    at = np.clip(root, ratio.low, ratio.high)
    least = np.minimum(np.minimum(*edges[0]), np.where(positive, (one.low / at + other.low * at) / 2, np.inf))
    return _band(least * (1 - ROUNDING), np.maximum(*edges[1]) * (1 + ROUNDING))


# --- bands of ends alone -----------------------------------------------------------------------------------------------------


def _band(low: Floats, high: Floats) -> Band:
    """Ends without a value of interest."""
    return Band(low, low, high)


def _largest(band: Band) -> Floats:
    return np.maximum(np.abs(band.low), np.abs(band.high))
