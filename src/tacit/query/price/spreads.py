"""The ends of variances and covariances, from the ends of their means and the law of what is left. Proof in ratios.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.accounting.weighted import Draws, weighted_error
from tacit.query.price.error_bars import Floats
from tacit.query.price.ratios import ROUNDING, Ends, Released, mean_ends

FEW = 64  # groups up to which every one has widths of its own
COARSER = 1.05  # the ratio of the weights for which widths are computed, where groups are many
LEAST = 32.0  # the largest weight over the smallest for which a width is computed
LEVELS = 100  # more than there are between them
AT_ONCE = 1024  # rows of weights
MOST_ROWS = 2048  # of them that differ: with more, weights are rounded up further
ROUNDS = 3  # of narrowing: the size of a variance decides how much the noise of the count matters for it
FOR_MEANS = Fraction(1, 10)  # of the chance of a miss: for the means that a variance or a covariance stands on


@dataclass(frozen=True, slots=True, eq=False)
class Mean:
    """A mean in every group: where it lies, and how far from the released one."""

    low: Floats
    high: Floats
    released: Floats

    @property
    def largest(self) -> Floats:
        return np.maximum(np.abs(self.low), np.abs(self.high))


def mean_of(summed: Released, rows: Released, spread: float, missed: Fraction) -> Mean:
    """Where the mean of a centred sum lies."""
    low, high = mean_ends(summed, rows, (-spread, spread), missed)
    return Mean(low, high, _over(summed.value, rows.value))


def _over(above: Floats, below: Floats) -> Floats:
    return above / np.where(below == 0, 1.0, below)


def variance_ends(sums: Sequence[Released], spread: float, sample: bool, missed: Fraction) -> Ends:
    """The ends of a variance in half steps, from n and the sums of y and of 2 y^2 - R^2, R the range in steps.

    With the exact mean m and variance v, (sum of squares + R^2 n) / 2 - 2 m (sum of y) + m^2 n = v n, or v (n - 1) for that of a
    sample; so the difference of the released sides is noise.
    """
    rows, centred, squares = sums
    mean, half = mean_of(centred, rows, spread, missed * FOR_MEANS), spread**2 / 2
    crosses = (mean.low <= 0) & (mean.high >= 0)
    least = np.where(crosses, 0.0, np.minimum(np.abs(mean.low), np.abs(mean.high))) ** 2

    def reach(low: Floats, high: Floats) -> Floats:
        of_rows = np.maximum(np.abs(half + mean.largest**2 - low), np.abs(half + least - high))
        weights = np.stack([np.full_like(low, 0.5), 2 * mean.largest, of_rows], axis=1)
        return shared_error((squares.noise, centred.noise, rows.noise), weights, missed * (1 - FOR_MEANS))

    around = squares.value / 2 + half * rows.value - centred.value * mean.released
    inside = (mean.low <= mean.released) & (mean.released <= mean.high)
    ends = np.abs(np.stack([mean.low, mean.high]) - mean.released)
    apart = np.where(inside, 0.0, ends.min(axis=0)) ** 2, ends.max(axis=0) ** 2
    rounding = ROUNDING * (np.abs(squares.value) + spread**2 * np.abs(rows.value))
    numbers = _Numbers(around - rounding, around + rounding, rows.value, rows.value - int(sample))
    return numbers.narrowed(apart, (0.0, spread**2 * (2 if sample else 1)), reach)


def covariance_ends(sums: Sequence[Released], spreads: tuple[float, float], sample: bool, missed: Fraction) -> Ends:
    """The ends of a covariance in half steps, from n and the sums of u, v and u v.

    With the exact means, (sum of u v) - m_u (sum of v) - m_v (sum of u) + m_u m_v n is the covariance times n, or n - 1.
    """
    rows, one, other, product = sums
    means = [mean_of(each, rows, most, missed * FOR_MEANS / 2) for each, most in zip((one, other), spreads, strict=True)]
    corners = [left * right for left in (means[0].low, means[0].high) for right in (means[1].low, means[1].high)]
    least, most = np.minimum.reduce(corners), np.maximum.reduce(corners)

    def reach(low: Floats, high: Floats) -> Floats:
        of_rows = np.maximum(np.abs(most - low), np.abs(least - high))
        weights = np.stack([np.ones_like(low), means[1].largest, means[0].largest, of_rows], axis=1)
        return shared_error((product.noise, one.noise, other.noise, rows.noise), weights, missed * (1 - FOR_MEANS))

    around = product.value - one.value * means[1].released
    ends = [(mean.low - mean.released, mean.high - mean.released) for mean in means]
    apart = [left * right for left in ends[0] for right in ends[1]]
    rounding = ROUNDING * (np.abs(product.value) + spreads[0] * spreads[1] * np.abs(rows.value))
    numbers = _Numbers(around - rounding, around + rounding, rows.value, rows.value - int(sample))
    largest = spreads[0] * spreads[1] * (2 if sample else 1)
    return numbers.narrowed((np.minimum.reduce(apart), np.maximum.reduce(apart)), (-largest, largest), reach)


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """The sum of squares or products around the released means, rounded both ways; the rows, and what to divide by."""

    low: Floats
    high: Floats
    rows: Floats
    divisor: Floats

    def narrowed(self, apart: Ends, bounds: tuple[float, float], reach: Callable[[Floats, Floats], Floats]) -> Ends:
        """The ends, from the bounds inward: a width that holds for all that is left makes what is left smaller.

        `apart` is what the exact means add for every row, at least and at most. Nothing is known where the divisor may be zero.
        """
        low, high = (np.full_like(self.rows, bound) for bound in bounds)
        known, divisor = self.divisor > 0, np.maximum(self.divisor, 1e-300)
        for _ in range(ROUNDS):
            width = reach(low, high)
            with np.errstate(over="ignore"):
                inner = (self.low + self.rows * apart[0] - width) / divisor, (self.high + self.rows * apart[1] + width) / divisor
            low, high = np.where(known, np.maximum(low, inner[0]), low), np.where(known, np.minimum(high, inner[1]), high)
        none = low > high
        return np.where(none, bounds[0], low), np.where(none, bounds[1], high)


def shared_error(noises: Sequence[Draws], weights: Floats, missed: Fraction) -> Floats:
    """`weighted_error` for every group and all smaller weights, except of the first noise, which has the same weight everywhere.

    Where there are many groups, their weights are rounded up so that few rows differ.
    """
    least = [float(weights[:1, 0].sum()), *(0.0 for _ in noises[1:])]
    if len(weights) <= FEW:
        return weighted_error(noises, weights, missed, least)
    largest = np.maximum(weights.max(axis=0), 1e-300)
    smaller, coarser = np.minimum(largest / np.maximum(weights, 1e-300), LEAST), COARSER
    while True:
        levels = np.floor(np.log(smaller) / np.log(coarser) * (1 - 1e-12)).astype(np.int64)
        codes, back = np.unique(levels @ LEVELS ** np.arange(levels.shape[1]), return_inverse=True)
        if len(codes) <= MOST_ROWS:
            break
        coarser = coarser**2
    rows = largest / coarser ** (codes[:, None] // LEVELS ** np.arange(levels.shape[1]) % LEVELS)
    found = [weighted_error(noises, rows[at : at + AT_ONCE], missed, least) for at in range(0, len(rows), AT_ONCE)]
    return np.concatenate(found)[back]
