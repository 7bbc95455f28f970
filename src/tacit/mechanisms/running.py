"""Running totals of a series of sums, by a matrix mechanism: noisy measurements of many periods at once. Proof in running.md.

Noise on each period adds up in a running total. Here every measurement is a weighted sum of the periods so far, with noise of its
own, so that a total of many periods has the noise of few measurements. The weights are whole numbers: the square root of the matrix
of running totals, in units of 2^-bits, each column divided by its length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import calibrate
from tacit.accounting.composition import loss
from tacit.accounting.events import GaussianNoise
from tacit.errors import InvalidInput
from tacit.mechanisms import additive
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.mechanism import Norm
from tacit.mechanisms.noise import discrete
from tacit.mechanisms.noise.grid import compact
from tacit.privacy.interval import Interval
from tacit.privacy.law import Law
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours, positive_budget
from tacit.privacy.rounding import Number, float_up, log_up, sqrt_up

BITS = 10  # of a weight: the rounding costs less than a thousandth of the error
MOST_PERIODS = 400  # a year of days, or thirty years of months; the work of a release grows with the square
GUARD = 128  # bits of the coefficients before they are rounded to weights
PLACES = 60  # binary places of the estimates before totals are rounded to whole numbers
ROUNDED = 0.501  # how far a running total moves when it is rounded, and what PLACES lose
SLACK = 1 + 1e-9  # above what doubles lose
FARTHEST = 40.0  # deviations; beyond it a chance is not a double

Floats = NDArray[np.float64]
Shape = tuple[int, int, int]


# --- the strategy ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def strategy(periods: int, bits: int = BITS) -> NDArray[np.int64]:
    """The weights of every measurement (row) on every period (column): whole numbers, 0 for periods to come.

    Coefficient j of the square root is C(2j, j) / 4^j: 1, 1/2, 3/8, 5/16, ... A column has as many as there are periods from its
    own on, divided by their length, times 2^bits, rounded.

    >>> strategy(3).tolist()
    [[868, 0, 0], [434, 916, 0], [326, 458, 1024]]
    """
    roots = [1 << GUARD]
    for at in range(1, periods):
        roots.append(roots[-1] * (2 * at - 1) // (2 * at))
    squares = [root * root for root in roots]
    lengths = list(accumulate(squares))
    weights = np.zeros((periods, periods), dtype=np.int64)
    for column in range(periods):
        rest = periods - column
        weights[column:, column] = [(math.isqrt((each << 2 * bits + 2) // lengths[rest - 1]) + 1) // 2 for each in squares[:rest]]
    weights.setflags(write=False)
    return weights


@lru_cache(maxsize=256)
def square_moved(periods: int, total: int, largest: int, bits: int = BITS) -> int:
    """At or above the squared length by which the measurements move, if the periods move by at most `total` together.

    `largest` is the most by which one period moves. With the Gram matrix G of the columns, whose entries are not negative, a move
    d has |Cd|^2 <= sum |d_s| (G|d|)_s <= total times the largest entry of G|d|, which is largest where the largest entries of a
    row of G have the largest moves (running.md, section 2).
    """
    weights = strategy(periods, bits).astype(np.float64)
    rows = -np.sort(-(weights.T @ weights), axis=1)  # whole numbers below 2^53: exact
    full, rest = divmod(total, largest) if largest else (0, 0)
    most = largest * rows[:, :full].sum(axis=1) + (rest * rows[:, full] if full < periods else 0)
    return total * int(most.max())


@lru_cache(maxsize=32)
def recovery(periods: int, bits: int = BITS) -> Floats:
    """The inverse of the strategy: the weight of the noise of every measurement (column) in the estimate of every period (row)."""
    inverse = np.tril(np.linalg.inv(strategy(periods, bits).astype(np.float64)))
    inverse.setflags(write=False)
    return inverse


# --- the mechanism -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Running:
    """Sums of a series of periods; running totals are the most accurate. `total` and `largest` are in whole units.

    `shape` is how many cells come before, the number of periods, and how many come after, as a table of sums over several keys is
    laid out; every combination of the others is a series of its own. Neighbours move all cells together by at most `total`, and one
    of them by at most `largest`.

    >>> visits = Running(total=1, largest=1, rho=Fraction(1, 2), shape=(1, 120, 1))
    >>> alone = Gaussian(1, Fraction(1, 2), step=1, dimension=120, on_grid=True)
    >>> totals, added = visits.deviations([(0, month) for month in range(1, 121)]), float(alone.scale) * np.sqrt(np.arange(1, 121))
    >>> print(visits.loss, round(math.sqrt(float((totals**2).sum() / (added**2).sum())), 2), sep="; ")
    concentrated rho 0.5 (add or remove one row); 0.3
    """

    name: ClassVar[str] = "Gaussian, on running totals"
    norm: ClassVar[Norm] = "l2"
    concentrated: ClassVar[bool] = True

    total: int
    largest: int
    rho: Fraction
    shape: Shape
    neighbours: Neighbours = ADD_REMOVE
    bits: int = field(default=BITS, repr=False)
    horizon: int = field(default=0, repr=False)  # of a stream, of which these are the first periods; 0: there are no later ones

    def __post_init__(self) -> None:
        _check_numbers(self)
        object.__setattr__(self, "rho", positive_budget(self.rho, "rho"))

    # --- the noise and its price ---

    @property
    def periods(self) -> int:
        """How many periods a series has."""
        return self.shape[1]

    @property
    def dimension(self) -> int:
        """How many numbers are measured, and released."""
        return math.prod(self.shape)

    @property
    def units(self) -> Fraction:
        """The l2 sensitivity of the measurements."""
        square: int = square_moved(self.horizon or self.periods, self.total, self.largest, self.bits)
        return sqrt_up(Fraction(square))

    @property
    def noise_scale(self) -> Fraction:
        """The scale of the noise on each measurement."""
        return calibrate.gaussian_scale_up(self.units, self.rho)

    @property
    def sensitivity(self) -> Fraction:
        """That of the measurements in units of one period, as if their columns had length one."""
        return self.units / (1 << self.bits)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in the same units."""
        return self.noise_scale / (1 << self.bits)

    @property
    def event(self) -> GaussianNoise:
        """The event that the ledger records: discrete Gaussian noise on whole numbers."""
        truncation = self.dimension * discrete.gaussian_truncation(self.noise_scale)
        return GaussianNoise(self.units, self.noise_scale, truncation, self.neighbours)

    @property
    def loss(self) -> Loss:
        """The loss of one release."""
        return loss(self.event)

    # --- the release ---

    def release(self, value: Any) -> Any:
        """Estimates of all cells as whole numbers; their running totals are the estimates of running totals, rounded once."""
        return self.release_units(value)

    def release_units(self, units: Any) -> NDArray[Any]:
        """The same of whole numbers, sealed or not."""
        cells = additive.given_units(units, self.dimension)
        return self.estimated(self._measured(cells))

    def release_each(self, units: Any) -> NDArray[Any]:
        """The same: a series has all of its periods."""
        return self.release_units(units)

    def resized(self, dimension: int) -> Running:
        """The same mechanism; another number of cells has another shape, which a number does not say."""
        if dimension != self.dimension:
            raise InvalidInput(f"running totals of {self.dimension} cells cannot be resized to {dimension}; give another shape")
        return self

    def _measured(self, cells: Any) -> NDArray[Any]:
        """Every measurement of every series with noise: periods by series, Python's integers whatever the size of the sums."""
        exact = self._weights() @ self._series(np.asarray(cells).astype(object).reshape(-1))
        noise = discrete.draw_gaussian(self.noise_scale, exact.size)
        return np.asarray(exact + noise.astype(object).reshape(exact.shape))

    def _weights(self) -> NDArray[Any]:
        return strategy(self.horizon or self.periods, self.bits)[: self.periods, : self.periods].astype(object)

    def _series(self, cells: NDArray[Any]) -> NDArray[Any]:
        return np.moveaxis(cells.reshape(self.shape), 1, 0).reshape(self.periods, -1)

    def estimated(self, measured: NDArray[Any]) -> NDArray[Any]:
        """From measurements to cells, whose running totals are whole numbers: work on what is released already."""
        weights, solved = self._weights(), np.zeros(measured.shape, dtype=object)
        for at in range(self.periods):
            left = measured[at] * 2**PLACES - weights[at, :at] @ solved[:at]
            solved[at] = left // weights[at, at]
        totals = (np.cumsum(solved, axis=0) + 2 ** (PLACES - 1)) // 2**PLACES
        cells = np.diff(totals, axis=0, prepend=np.zeros((1, totals.shape[1]), dtype=object))
        before, _, after = self.shape
        return compact(np.moveaxis(cells.reshape(self.periods, before, after), 0, 1).reshape(-1))

    def law(self, value: Any, missing: Number = additive.MISSING) -> Law:
        """The law of `release(value)`, listed: only of few measurements of few bits."""
        exact = self._weights() @ self._series(np.asarray(additive.given_units(value, self.dimension)).astype(object).reshape(-1))
        noise = Gaussian(self.units, self.rho, 1, exact.size, True, self.neighbours)
        measured = noise.law(np.array([int(each) for each in exact.reshape(-1)], dtype=np.int64), missing)
        listed: dict[Any, Decimal] = {}
        for outcome, chance in measured.probabilities.items():
            numbers = np.array([int(each) for each in cast("tuple[int, ...]", outcome)], dtype=object).reshape(exact.shape)
            cells = tuple(int(each) for each in self.estimated(numbers))
            listed[cells] = listed.get(cells, Decimal(0)) + chance
        return Law(listed, measured.missing)

    # --- intervals: every number of an answer is a sum of cells, and its noise a weighted sum of that of the measurements ---

    @property
    def deviation(self) -> float:
        """The largest standard deviation of one cell."""
        return float(self.deviations([(at, at + 1) for at in range(self.periods)]).max())

    def deviations(self, spans: Any) -> Floats:
        """The standard deviation of the sum of each span of periods, from its first to before its last."""
        return np.asarray(float(self.noise_scale) * np.sqrt((self._noise_of(spans) ** 2).sum(axis=1)))

    def widths(self, spans: Any, missed: Fraction) -> Floats:
        """For each span the distance that its sum leaves with at most the chance `missed`."""
        rounding = ROUNDED * np.array([(first < last) + (0 < first < last) for first, last in spans], dtype=np.float64)
        return self.widths_of(self._noise_of(spans), missed) + rounding

    def widths_of(self, weights: Floats, missed: Fraction) -> Floats:
        """The same for rows of weights on the noise of the measurements, without rounding (running.md, section 4)."""
        length = float(self.noise_scale) * np.sqrt((weights**2).sum(axis=1))
        safe = length * math.sqrt(2 * float(log_up(2 / missed)))
        far = _normal_reach(float(self.noise_scale), weights.shape[1], missed)
        near = safe if far is None else np.minimum(safe, far * length + np.abs(weights).sum(axis=1) / 2)
        return np.asarray(SLACK * near)

    def interval(self, confidence: Number) -> Interval:
        """Where the exact cell lies around its estimate, with at least `confidence`: the widest of all periods."""
        return self._interval(calibrate.miss(confidence))

    def simultaneous_interval(self, confidence: Number) -> Interval:
        """The same for all cells at once, by the union bound: they are not independent."""
        return self._interval(calibrate.miss(confidence) / self.dimension)

    def _interval(self, missed: Fraction) -> Interval:
        widths = self.widths([(at, at + 1) for at in range(self.periods)], missed)
        width = float_up(Fraction(float(widths.max())))
        return Interval(width, width)

    def _noise_of(self, spans: Any) -> Floats:
        inverse = recovery(self.horizon or self.periods, self.bits)[: self.periods, : self.periods]  # that of the first periods
        added = np.concatenate([np.zeros((1, self.periods)), np.cumsum(inverse, axis=0)])
        ends = np.asarray(spans, dtype=np.int64).reshape(-1, 2)
        return np.asarray(added[ends[:, 1]] - added[ends[:, 0]])


def _check_numbers(running: Running) -> None:
    """Refuses numbers for which no weights are made."""
    if running.horizon and not running.periods <= running.horizon <= MOST_PERIODS:
        raise InvalidInput(f"a horizon must have from {running.periods} to {MOST_PERIODS} periods, not {running.horizon}")
    if not 1 <= running.periods <= MOST_PERIODS or min(running.shape) < 1:
        raise InvalidInput(f"a series must have from 1 to {MOST_PERIODS} periods, not {running.periods}; use longer periods")
    if not 0 <= running.largest <= running.total or (running.total and not running.largest):
        raise InvalidInput(f"one period moves by at most the total {running.total}, not by {running.largest}")


@lru_cache(maxsize=256)
def _normal_reach(scale: float, measurements: int, missed: Fraction) -> float | None:
    """Deviations that discrete noise leaves with at most the chance `missed`, by rounded normal noise; None where that fails."""
    wanted, factor = float(missed), math.exp(min(1.0, measurements / (24 * scale**2))) if scale >= 1 else math.inf
    if wanted < 1e-250 or factor > 2:
        return None
    low, high = 0.0, FARTHEST
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if factor * SLACK * math.erfc(middle / math.sqrt(2)) <= wanted else (middle, high)
    return high
