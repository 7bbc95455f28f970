"""The ends of means, ratios, variances and covariances: every value that the released numbers do not contradict (ratios.md).

For each candidate m, the released sum less m times the released count is the noise X - m Y if m is the exact mean. The candidates
for which that is within the reach of this noise are kept; the ends are those of all that are kept, cut to the declared range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.accounting.weighted import Draws, weighted_error
from tacit.query.intervals.bands import Floats

CELLS = 96  # into which a declared range is cut; in each of them one width serves all candidates
BLOCK = 8  # cells that are looked at together first
ROUNDING = 1e-14  # relative to what is added up; doubles lose less

Ends = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """One released sum in every group, with its noise."""

    value: Floats
    noise: Draws


# --- means and ratios --------------------------------------------------------------------------------------------------------


def mean_ends(summed: Released, rows: Released, bounds: tuple[float, float], missed: Fraction) -> Ends:
    """The ends of a mean within its bounds; where no candidate is left, or the count may be anything, the bounds."""
    edges, widths = _mean_widths(summed.noise, rows.noise, bounds, missed)
    low, high = _ratios_kept(summed.value, rows.value, edges, widths)
    none = low > high
    return np.where(none, bounds[0], low), np.where(none, bounds[1], high)


@lru_cache(maxsize=128)
def _mean_widths(summed: Draws, rows: Draws, bounds: tuple[float, float], missed: Fraction) -> Ends:
    """The edges of the cells, and the reach of X - m Y in each of them."""
    edges = np.linspace(*bounds, CELLS + 1)
    largest, back = np.unique(np.maximum(np.abs(edges[:-1]), np.abs(edges[1:])), return_inverse=True)
    widths = weighted_error((summed, rows), np.stack([np.ones_like(largest), largest], axis=1), missed, (1, 0))
    return edges, widths[back]


def _ratios_kept(above: Floats, below: Floats, edges: Floats, widths: Floats) -> Ends:
    """The least and the largest r between the edges with |above - r below| <= width; low above high if no r is kept.

    First by blocks of cells, each with its largest width; then by the cells of the first and of the last block that is left.
    """
    spare = -(len(widths)) % BLOCK
    ends = np.concatenate([edges, np.full(spare, edges[-1])])
    blocks = np.concatenate([widths, np.zeros(spare)]).reshape(-1, BLOCK)
    starts, stops = ends[:-1].reshape(-1, BLOCK), ends[1:].reshape(-1, BLOCK)
    divisor = np.where(below == 0, 1e-300, np.abs(below))[:, None]
    target, rounding = np.where(below < 0, -above, above)[:, None], ROUNDING * np.abs(above)[:, None]

    def pieces(first: Floats, last: Floats, width: Floats) -> Ends:
        """Where each cell keeps candidates; from infinity down where it keeps none."""
        wide = width + rounding * (width > 0)
        with np.errstate(over="ignore"):
            start, stop = np.maximum((target - wide) / divisor, first), np.minimum((target + wide) / divisor, last)
        gone = start > stop
        start[gone], stop[gone] = np.inf, -np.inf
        return start, stop

    coarse = pieces(starts[:, 0], stops[:, -1], blocks.max(axis=1))
    none = np.isinf(coarse[0]).all(axis=1)
    at_low, at_high = coarse[0].argmin(axis=1), coarse[1].argmax(axis=1)
    low = pieces(starts[at_low], stops[at_low], blocks[at_low])[0].min(axis=1)
    high = pieces(starts[at_high], stops[at_high], blocks[at_high])[1].max(axis=1)
    low, high = np.where(np.isinf(low), stops[at_low, -1], low), np.where(np.isinf(high), starts[at_high, 0], high)
    beyond = ROUNDING * np.abs(edges[[0, -1]]).max()
    low, high = np.maximum(low - beyond, edges[0]), np.minimum(high + beyond, edges[-1])
    return np.where(none, np.inf, low), np.where(none, -np.inf, high)


@dataclass(frozen=True, slots=True)
class Quotient:
    """The noise of a ratio: that of every released sum, with its weights above and below the line; the last is below it."""

    noises: tuple[Draws, ...]
    above: tuple[float, ...]
    below: tuple[float, ...]

    @property
    def size(self) -> float:
        """How large the noise above the line is in terms of that below; infinite or zero where one of them has none."""
        sizes = np.array([float(noise.scale) for noise in self.noises])
        above, below = (np.linalg.norm(sizes * np.array(weights)) for weights in (self.above, self.below))
        return float(above / below) if below else np.inf

    def reach(self, starts: Floats, ends: Floats, missed: Fraction) -> Floats:
        """How far the noise above, less r times that below, goes for every r from a start to its end."""
        above, below = np.array(self.above), np.array(self.below)
        corners = [np.abs(above - np.outer(edge, below)) for edge in (starts, ends)]
        return weighted_error(self.noises, np.maximum(*corners), missed, self.least)

    @property
    def least(self) -> tuple[float, ...]:
        """The least that the weights can be, whatever the ratio."""
        return tuple(0.0 if below else abs(above) for above, below in zip(self.above, self.below, strict=True))


def ratio_ends(above: Floats, below: Floats, noise: Quotient, missed: Fraction) -> Ends:
    """The ends of a ratio of released numbers, which has no declared range; infinite where the divisor may be zero."""
    if noise.size in (0.0, np.inf):
        return _by_parts(above, below, noise, missed)
    edges, widths, slope = _ratio_widths(noise, missed)
    low, high = _ratios_kept(above, below, edges, widths)
    with np.errstate(all="ignore"):
        far = np.where(below < 0, -above, above) / (np.abs(below) - slope)
    beyond, unbounded = edges[-1], np.abs(below) <= slope
    low = np.where(unbounded, -np.inf, np.where(far < -beyond, np.minimum(low, far * (1 + 1e-9)), low))
    high = np.where(unbounded, np.inf, np.where(far > beyond, np.maximum(high, far * (1 + 1e-9)), high))
    none = low > high
    return np.where(none, -np.inf, low), np.where(none, np.inf, high)


@lru_cache(maxsize=128)
def _ratio_widths(noise: Quotient, missed: Fraction) -> tuple[Floats, Floats, float]:
    """Edges on either side of zero, even at first and then ever wider; the reach in every cell; and its slope beyond them."""
    side = np.concatenate([np.arange(0, 2, 1 / 16), 2 * 1.05 ** np.arange(180)]) * noise.size
    edges = np.concatenate([-side[:0:-1], side])
    weights = np.abs(np.array(noise.above)) / side[-1] + np.abs(np.array(noise.below))
    slope = float(weighted_error(noise.noises, weights[None, :], missed, (0,) * len(weights))[0])
    return edges, noise.reach(edges[:-1], edges[1:], missed), slope


def _by_parts(above: Floats, below: Floats, noise: Quotient, missed: Fraction) -> Ends:
    """Where only one of the two is noisy: by the ends of that one."""
    reach = [float(weighted_error(noise.noises, np.array([weights]), missed)[0]) for weights in (noise.above, noise.below)]
    least, most = below - reach[1], below + reach[1]
    with np.errstate(all="ignore"):
        corners = [top / bottom for top in (above - reach[0], above + reach[0]) for bottom in (least, most)]
    zero = (least <= 0) & (most >= 0)
    return np.where(zero, -np.inf, np.minimum.reduce(corners)), np.where(zero, np.inf, np.maximum.reduce(corners))


# --- variances and covariances, from the ends of their means and the law of the rest -----------------------------------------


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
        positive, divisor = self.divisor > 0, np.maximum(self.divisor, 1e-300)
        for _ in range(ROUNDS):
            width = reach(low, high)
            with np.errstate(over="ignore"):
                inner = (self.low + self.rows * apart[0] - width) / divisor, (self.high + self.rows * apart[1] + width) / divisor
            low, high = np.where(positive, np.maximum(low, inner[0]), low), np.where(positive, np.minimum(high, inner[1]), high)
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
    errors = [weighted_error(noises, rows[at : at + AT_ONCE], missed, least) for at in range(0, len(rows), AT_ONCE)]
    return np.concatenate(errors)[back]
