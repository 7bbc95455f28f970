"""Running totals of a stream: with each new period, one measurement of all periods so far. Proof in running.md, section 6.

A period pays for all measurements that will ever read it when it is first read: its whole column of the strategy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.composition import loss
from tacit.accounting.events import GaussianNoise
from tacit.errors import InvalidInput
from tacit.mechanisms import additive
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.mechanism import Norm
from tacit.mechanisms.noise import discrete
from tacit.mechanisms.noise.grid import compact
from tacit.mechanisms.running import BITS, Running, strategy
from tacit.privacy.law import Law
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours
from tacit.privacy.rounding import Number


@dataclass(frozen=True, slots=True)
class Stream:
    """The declared numbers of a stream, which all of its measurements share.

    `most` is how far the rows of one person in one period move that period's sums together, in whole units; `rho` is the price of a
    period for the whole `horizon`. A period has `before` times `after` sums, each of them a series.

    >>> year = Stream(most=1, horizon=12, rho=Fraction(1, 2))
    >>> [round(float(year.lifetime(at).sensitivity / year.scale), 2) for at in (0, 5, 11)]
    [0.74, 2.05, 3.31]
    """

    most: int
    horizon: int
    rho: Fraction
    before: int = 1
    after: int = 1
    neighbours: Neighbours = ADD_REMOVE
    bits: int = field(default=BITS, repr=False)

    def running(self, periods: int) -> Running:
        """The first periods as a series that was measured, with its estimates and intervals."""
        shape = self.before, periods, self.after
        return Running(self.most, self.most, self.rho, shape, self.neighbours, self.bits, self.horizon)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on each measurement."""
        return self.running(1).noise_scale

    @property
    def series(self) -> int:
        """How many numbers one measurement has."""
        return self.before * self.after

    def weights(self, at: int) -> NDArray[np.int64]:
        """The weights of measurement `at`, counted from 0, on the periods so far."""
        return strategy(self.horizon, self.bits)[at, : at + 1]

    def column(self, at: int) -> GaussianNoise:
        """The price of period `at` when it is first read: of every measurement that reads it, up to the horizon."""
        return self._noise(self.running(1).units, self.horizon - at)

    def again(self, at: int) -> GaussianNoise:
        """The price of measurement `at` once more, for each of the periods so far."""
        return self._noise(Fraction(self.most * int(self.weights(at).max())), 1)

    def lifetime(self, at: int) -> GaussianNoise:
        """The price of measurement `at` for a person with rows in every period so far."""
        return self._noise(Fraction(self.most * int(self.weights(at).sum())), 1)

    def _noise(self, moved: Fraction, times: int) -> GaussianNoise:
        missing = times * self.series * discrete.gaussian_truncation(self.scale)
        return GaussianNoise(moved, self.scale, missing, self.neighbours)


@dataclass(frozen=True, slots=True)
class Measurement:
    """Measurement `at` of a stream, counted from 0: the weighted sums of all periods so far, with noise.

    The released numbers have the place of the last period among its cells; all other cells are 0.
    """

    name: ClassVar[str] = "Gaussian, on a measurement of a stream"
    norm: ClassVar[Norm] = "l2"
    concentrated: ClassVar[bool] = True

    stream: Stream
    at: int

    def __post_init__(self) -> None:
        if not 0 <= self.at < self.stream.horizon:
            raise InvalidInput(
                f"the stream ends after {self.stream.horizon} periods; declare a new stream with another name or SQL"
            )

    @property
    def event(self) -> GaussianNoise:
        """The event of the period that is read for the first time."""
        return self.stream.column(self.at)

    @property
    def loss(self) -> Loss:
        """The loss of that event, for all measurements that will read the period."""
        return loss(self.event)

    @property
    def sensitivity(self) -> Fraction:
        """How far one period moves all of its measurements, in units of the weights."""
        return Fraction(self.event.sensitivity)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in units of the weights."""
        return self.stream.scale

    @property
    def dimension(self) -> int:
        """The number of cells so far."""
        return self.stream.series * (self.at + 1)

    def resized(self, dimension: int) -> Measurement:
        """The same measurement; a number of cells does not say another shape."""
        if dimension != self.dimension:
            raise InvalidInput(f"a measurement of {self.dimension} cells cannot be resized to {dimension}")
        return self

    def release(self, value: Any) -> NDArray[Any]:
        """The measurement of all cells so far, sealed or not."""
        return self.release_units(value)

    def release_units(self, units: Any) -> NDArray[Any]:
        """The same of whole numbers."""
        exact = self._exact(units)
        return self._in_cells(exact + discrete.draw_gaussian(self.scale, exact.size).astype(object))

    def release_each(self, units: Any) -> NDArray[Any]:
        """The same: a stream has all of its periods."""
        return self.release_units(units)

    def numbers(self, cells: Any) -> list[int]:
        """The released numbers among the cells, one for each series."""
        shaped = np.asarray(cells).astype(object).reshape(self.stream.before, self.at + 1, self.stream.after)
        return [int(each) for each in shaped[:, -1, :].reshape(-1)]

    def law(self, value: Any, missing: Number = additive.MISSING) -> Law:
        """The law of `release(value)`, listed."""
        exact = self._exact(value)
        noise = Gaussian(1, 1 / (2 * self.scale**2), 1, exact.size, True, self.stream.neighbours)  # noise of the same scale
        listed = noise.law(np.array([int(each) for each in exact], dtype=np.int64), missing)
        found: dict[Any, Decimal] = {}
        for outcome, chance in listed.probabilities.items():
            placed = self._in_cells(np.array(outcome if isinstance(outcome, tuple) else (outcome,), dtype=object))
            found[tuple(int(each) for each in placed)] = chance
        return Law(found, listed.missing)

    def _exact(self, units: Any) -> NDArray[Any]:
        """The weighted sum of every series; opened here, and returned to the two functions that add noise to it."""
        cells = np.asarray(additive.given_units(units, self.dimension)).astype(object).reshape(-1)
        series = np.moveaxis(cells.reshape(self.stream.before, self.at + 1, self.stream.after), 1, 0).reshape(self.at + 1, -1)
        return np.asarray(self.stream.weights(self.at).astype(object) @ series)

    def _in_cells(self, numbers: NDArray[Any]) -> NDArray[Any]:
        cells = np.zeros((self.stream.before, self.at + 1, self.stream.after), dtype=object)
        cells[:, -1, :] = numbers.reshape(self.stream.before, self.stream.after)
        return compact(cells.reshape(-1))
