"""Quantiles and trimmed means with noise scaled to smooth sensitivity: small where the data leave no doubt. Proof in smooth.md.

The noise follows how far one unit could move this answer on these data and on data near them, instead of on the worst data there
could be. That scale is private: no interval comes with a release, no attribute tells the scale, and no chart shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidInput
from tacit.mechanisms.smooth.noise import SmoothMechanism, read_grid, set_terms
from tacit.mechanisms.smooth.sensitivity import (
    SLACK,
    order_statistic,
    smooth_order_statistic,
    smooth_trimmed_mean,
    trimmed_mean,
    units_passed,
)
from tacit.mechanisms.sorted_rows import SortedRows
from tacit.privacy.loss import ADD_REMOVE, Neighbours
from tacit.privacy.rounding import Number, as_text, exact


@dataclass(frozen=True, slots=True)
class SmoothQuantile(SmoothMechanism):
    """The q-quantile (0.5 is the lower median) of values clamped to [lower, upper] and rounded to multiples of `step`.

    Pure epsilon with heavy tails, density 1 / (1 + |z|^gamma) for a gamma of at least 3/2; with gamma=None and a delta,
    (epsilon, delta) with Laplace tails. A unit has at most `max_rows` rows. The answer of no rows is the middle of the bounds.
    Nissim, Raskhodnikova and Smith 2007, with the bound restated for units (smooth.md).

    >>> median = SmoothQuantile(0.5, lower=0, upper=100, step=1, epsilon=1)
    >>> print(median.loss)
    pure epsilon 1 (add or remove one row)
    >>> 0 <= median.release([30, 31, 32, 33, 34, 35]) <= 100
    True
    """

    q: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    epsilon: Fraction
    delta: Fraction
    gamma: Fraction | None
    max_rows: int
    neighbours: Neighbours

    def __init__(
        self,
        q: Number,
        lower: Number,
        upper: Number,
        step: Number,
        epsilon: Number,
        delta: Number = 0,
        gamma: Number | None = 4,
        max_rows: int = 1,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> None:
        object.__setattr__(self, "q", exact(q, "q"))
        if not 0 <= self.q <= 1:
            raise InvalidInput(f"q must be from 0 to 1, not {as_text(self.q)}; the median is q=0.5")
        set_terms(self, read_grid(lower, upper, step), (epsilon, delta, gamma), max_rows, neighbours)

    def statistic(self, rows: SortedRows) -> tuple[Fraction, Fraction]:
        """The exact quantile and its smooth bound, in units of the grid. Private."""
        return order_statistic(rows, self.q), smooth_order_statistic(rows, self.q, self.beta, self.max_rows)


@dataclass(frozen=True, slots=True)
class SmoothTrimmedMean(SmoothMechanism):
    """The mean without the `trim` least and the `trim` largest rows, of values clamped and rounded to multiples of `step`.

    Otherwise as SmoothQuantile. Under change-one the number of rows is public and a unit's change keeps it; under add/remove it
    is private, and the answer of 2 trim rows or fewer is the middle of the bounds.

    >>> mean = SmoothTrimmedMean(trim=1, lower=0, upper=10, step=0.01, epsilon=1)
    >>> 0 <= mean.release([1, 2, 3, 4, 5]) <= 10
    True
    """

    trim: int
    lower: Fraction
    upper: Fraction
    step: Fraction
    epsilon: Fraction
    delta: Fraction
    gamma: Fraction | None
    max_rows: int
    neighbours: Neighbours

    def __init__(
        self,
        trim: int,
        lower: Number,
        upper: Number,
        step: Number,
        epsilon: Number,
        delta: Number = 0,
        gamma: Number | None = 4,
        max_rows: int = 1,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> None:
        if isinstance(trim, bool) or not isinstance(trim, int) or trim < 0:
            raise InvalidInput(f"trim must be a whole number of rows, at least 0, not {trim!r}", argument="trim")
        object.__setattr__(self, "trim", trim)
        set_terms(self, read_grid(lower, upper, step), (epsilon, delta, gamma), max_rows, neighbours)

    @property
    def largest_bound(self) -> Fraction:
        """The largest smooth bound on any data, in the unit of the values."""
        return (self.upper - self.lower) * (1 + SLACK) * units_passed(self.beta, self.max_rows)

    def statistic(self, rows: SortedRows) -> tuple[Fraction, Fraction]:
        """The exact mean and its smooth bound, in units of the grid. Private."""
        bound = smooth_trimmed_mean(rows, self.trim, self.beta, self.max_rows, self.neighbours)
        return trimmed_mean(rows, self.trim), bound
