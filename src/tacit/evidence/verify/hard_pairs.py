"""Neighbours that are nearly as far apart as a claim allows. Why each is: hard_pairs.md.

A check on mild pairs passes a mechanism that adds half the noise. These are built from a mechanism's public parameters alone, so
that they stay hard when the parameters change.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.evidence.verify.trial import Pair
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.smooth.estimates import SmoothQuantile, SmoothTrimmedMean

HALF = Fraction(1, 2)
FAR, OVER = 4, 20  # values kept free at the upper end, and rows that make them costly


def rising_and_falling(below: int, above: int) -> Pair:
    """Numbers for a sparse vector: `below` of them rise by one, then `above` of them fall by one.

    >>> rising_and_falling(3, 1)
    ((4, 4, 4, 5), (5, 5, 5, 4))
    """
    return (4,) * below + (5,) * above, (5,) * below + (4,) * above


def at_the_end(quantile: Quantile) -> Pair:
    """Rows for an inner quantile: one person's next to the upper end, then the next person's at it.

    >>> at_the_end(Quantile(HALF, lower=0, upper=100, step=1, epsilon=1, max_rows=2))
    ([99, 99], [99, 99, 100, 100])
    """
    rows, end = quantile.max_rows, int(quantile.upper)
    return [end - 1] * rows, [end - 1] * rows + [end] * rows


def above_the_aim(maximum: Quantile) -> Pair:
    """Rows for a maximum that aims inside the data: as many as the aim is shifted by, near the end, and one more at the end.

    >>> one, other = above_the_aim(Quantile(1, lower=0, upper=40, step=1, epsilon=1))
    >>> set(one), len(one), other[-1]
    ({38}, 14, 40)
    """
    rows = [int(maximum.upper) - 2] * int(-maximum.shift)
    return rows, [*rows, int(maximum.upper)]


def under_both_ends(low: Quantile, high: Quantile) -> Pair:
    """Rows for the two ends of a median's interval: each draw aims at the start of an empty stretch of its own.

    One row more at the upper end makes all values of both stretches costlier, and the free values next to the end cheaper.
    """
    down, up, end = int(-low.shift), int(high.shift), int(low.upper)
    stretch = (end - FAR - 2) // 2
    rows = [0] * OVER + [1 + stretch] * (down + up) + [end - FAR] * (OVER + down - up)
    return rows, [*rows, end]


def far_end_median(
    epsilon: int, delta: Fraction = Fraction(0), gamma: int | None = 4, far: int = 100
) -> tuple[SmoothQuantile, Pair]:
    """A median by smooth sensitivity, and rows whose answer moves by all of the bound while the bound grows by nearly e^beta.

    >>> median, (one, other) = far_end_median(1)
    >>> len(other) - len(one), set(one), median.upper == other[-1] > 100
    (1, {0, 1}, True)
    """
    beta = float(SmoothQuantile(HALF, 0, 1, 1, epsilon, delta, gamma).beta)
    rows = math.ceil(math.log(far) / beta)
    end = round(math.exp(beta * rows))
    one = [0] * rows + [1] * rows
    return SmoothQuantile(HALF, 0, end, 1, epsilon, delta, gamma), (one, [*one, end])


def far_end_trimmed_mean(epsilon: int, gamma: int, kept: int, trim: int = 10) -> tuple[SmoothTrimmedMean, Pair]:
    """A trimmed mean by smooth sensitivity, and rows whose mean moves by all of the bound while the bound falls by e^beta.

    >>> mean, (one, other) = far_end_trimmed_mean(1, gamma=10, kept=88)
    >>> len(one), len(set(one)), other[-1] == mean.upper
    (108, 2, True)
    """
    beta = float(SmoothTrimmedMean(trim, 0, 1, 1, epsilon, gamma=gamma).beta)
    end = round(math.exp(beta * (kept - 1)))
    middle = end - (kept + 1)
    one = [middle] * (trim + kept) + [end] * trim
    return SmoothTrimmedMean(trim, 0, end, 1, epsilon, gamma=gamma), (one, [*one, end])
