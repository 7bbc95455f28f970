"""Numbers along an ordered axis: histograms of several widths, ranges and cumulative counts as one workload of margins.

The values of the axis are written with digits: the first says in which coarse interval a value is, each further one where in it.
With the digits as axes, a histogram of any of these widths is a margin, and a cumulative count is a sum of cells; the strategies,
the prices and the estimates are those of residual.py. Proof in ranges.md; hierarchies of counts: Hay et al. 2010.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.combined import Weights, combined_error
from tacit.mechanisms.residual import ROUNDING, Axes, Residual, along, cells, free_cells, shares_of, subsets
from tacit.mechanisms.residual_shares import Wanted
from tacit.privacy.interval import Interval
from tacit.privacy.rounding import Number, exact, float_up

Floats = NDArray[np.float64]
MOST_BINS = 1_000  # of an axis: all of its cumulative counts are compared with each set of digits
MOST_DIGITS = 8  # of an axis; it has two to that power sets of digits
BASES = (2, 3, 4, 5, 6, 8, 10)
NEGLIGIBLE = 12  # decimals of a weight


# --- digits ------------------------------------------------------------------------------------------------------------------


def digits_of(bins: int, most: int = MOST_DIGITS) -> tuple[int, ...]:
    """The sizes of the digits with which cumulative counts over that many bins have the least total squared error.

    >>> digits_of(12)
    (3, 4)
    """
    shapes = [_shape(bins, base) for base in BASES]
    return min((shape for shape in shapes if len(shape) <= most), key=lambda shape: (cumulative_error(shape), shape))


def _shape(bins: int, base: int) -> tuple[int, ...]:
    """Digits of one base, the first as short as the bins allow."""
    lower: tuple[int, ...] = ()
    while bins > base:
        lower, bins = (base, *lower), -(-bins // base)
    return (bins, *lower)


def cumulative_error(shape: tuple[int, ...]) -> float:
    """The total squared error of all cumulative counts of an axis with Gaussian noise of rho 1/2, by the best shares.

    >>> cumulative_error((2, 2, 2, 2)) < cumulative_error((4, 4)) < cumulative_error((16,))
    True
    """
    norms = cumulative_norms(shape)
    roots = (math.sqrt(norm * prod(1 - 1 / shape[axis] for axis in part)) for part, norm in norms.items())
    return sum(roots) ** 2


@lru_cache(maxsize=256)
def cumulative_norms(shape: tuple[int, ...]) -> dict[Axes, Fraction]:
    """For every set of digits: how much the variance of its residuals enters the sum of the variances of all cumulative counts.

    >>> cumulative_norms((2,)) == {(): Fraction(5, 4), (0,): Fraction(1, 2)}
    True
    """
    bins = prod(shape)
    counted = np.tril(np.ones((bins, bins), dtype=np.int64)).reshape(bins, *shape)
    norms = {}
    for part in subsets(tuple(range(len(shape)))):
        some = counted.sum(axis=tuple(1 + axis for axis in range(len(shape)) if axis not in part))
        for place, axis in enumerate(part, start=1):
            some = shape[axis] * some - some.sum(axis=place, keepdims=True)  # whole: each times the size
        total = sum(int(each) for each in (some.reshape(bins, -1) ** 2).sum(axis=1))
        norms[part] = Fraction(total, bins**2)
    return norms


@dataclass(frozen=True, slots=True)
class Cumulated(Wanted):
    """The numbers of a margin that are counted cumulatively along some axes, and how much their squared errors count, all together.

    `ordered` are digits of one column each, the first digit first; all other axes of the margin are as they are.
    """

    ordered: tuple[Axes, ...] = ()

    @classmethod
    def along(cls, axes: Axes, ordered: tuple[Axes, ...], sizes: Sequence[int]) -> Cumulated:
        """All cumulative numbers of a margin."""
        return cls(axes, (), (), Fraction(1), cells(axes, sizes), ordered)

    def needs(self, sizes: Sequence[int]) -> dict[Axes, Fraction]:
        """How much the variance of each set of residuals enters: residual.md, section 6, with the norms of ranges.md."""
        plain = tuple(axis for axis in self.axes if not any(axis in digits for digits in self.ordered))
        norms = [cumulative_norms(tuple(sizes[axis] for axis in digits)) for digits in self.ordered]
        wanted = {}
        for part in subsets(self.axes):
            if not free_cells(part, sizes):
                continue
            need = self.weight
            for digits, norm in zip(self.ordered, norms, strict=True):
                need *= norm[tuple(place for place, axis in enumerate(digits) if axis in part)]
            for axis in plain:
                need *= Fraction(sizes[axis] - 1) if axis in part else Fraction(1, sizes[axis])
            wanted[part] = need
        return wanted


# --- how far a sum of cells misses -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SumOfCells:
    """The noise of a sum of cells of one margin: along `digits`, those with the given factors; of every other axis, one value.

    `factors` has an axis for each of the digits. The released number is at most `rounding` from the estimate.
    """

    strategy: Residual
    axes: Axes
    digits: Axes
    factors: Floats
    rounding: float = 0.0

    def weights(self) -> Weights:
        """The noises of all measurements that enter the number, with their weights and how many have each."""
        told: dict[tuple[int, tuple[int, ...]], tuple[Floats, int]] = {}
        known = shares_of(self.strategy)
        for part in subsets(self.axes):
            if free_cells(part, self.strategy.sizes):
                for share in known[part][0]:
                    for pattern, rows, number in self._entries(share.place, part):
                        before, _ = told.get((share.place, pattern), (np.zeros(1), 0))
                        told[share.place, pattern] = before + share.weight * rows, number
        noises, sizes, numbers = [], [], []
        for (place, _), (rows, number) in told.items():
            values, counts = np.unique(np.round(np.abs(rows), NEGLIGIBLE), return_counts=True)
            for value, count in zip(values.tolist(), counts.tolist(), strict=True):
                if value and number:
                    noises.append(self.strategy.measurements[place].noise)
                    sizes.append(value)
                    numbers.append(count * number)
        return Weights(tuple(noises), tuple(sizes), tuple(numbers))

    def _entries(self, place: int, part: Axes) -> Iterator[tuple[tuple[int, ...], Floats, int]]:
        """The weights of the numbers of a measurement in the residuals of `part`, by the pattern of its other axes."""
        sizes, measured = self.strategy.sizes, self.strategy.measurements[place]
        rows: Any = self.factors.sum(axis=tuple(at for at, axis in enumerate(self.digits) if axis not in part))
        kept = [axis for axis in self.digits if axis in part]
        for at, axis in enumerate(kept):
            rows = rows - rows.mean(axis=at, keepdims=True)
            if measured.centred:
                rows = rows.take([0], axis=at) if sizes[axis] == 2 else rows / sizes[axis]
        shape = [(1 if measured.centred and sizes[axis] == 2 else sizes[axis]) for axis in measured.axes if axis in self.digits]
        spread = [
            size if axis in part else 1 for axis, size in zip((a for a in measured.axes if a in self.digits), shape, strict=True)
        ]
        rows = np.broadcast_to(rows.reshape(spread), shape) * (cells(part, sizes) / cells(self.axes, sizes))
        common = [axis for axis in measured.axes if axis in self.axes and axis not in self.digits]
        apart = prod(sizes[axis] for axis in measured.axes if axis not in self.axes)
        for pattern in product((1, 0), repeat=len(common)):
            weight, number = 1.0, apart
            for axis, inside in zip(common, pattern, strict=True):
                factor, many = along(sizes[axis], 1, inside, measured.centred)
                weight, number = weight * (factor if axis in part else 1.0), number * many
            yield pattern, rows * weight, number

    def interval(self, confidence: Number) -> Interval:
        """Where the exact number lies around the released one, with at least `confidence`: by the law of the sum of its noises."""
        missed = 1 - exact(confidence, "confidence")
        width = (combined_error(self.weights(), missed) + self.rounding) * (1 + ROUNDING)
        return Interval(float_up(Fraction(width)), float_up(Fraction(width)))
