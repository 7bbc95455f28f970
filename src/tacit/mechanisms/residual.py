"""Margins of one table with noise shaped to them: one measurement for a set of columns, and every margin from all of them.

A margin counts rows (or adds up whole numbers) by the values of some columns, its axes. A measurement of a margin is either its
cells, or their distances from the estimate by smaller margins: its residuals. Both are whole numbers with whole coefficients, and
each number has its own discrete noise. Least squares makes one consistent estimate of every margin of the measured ones, in closed
form, since the residuals of different sets of columns do not overlap. Proof in residual.md; Xiao et al. 2023 (ResidualPlanner).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.composition import loss
from tacit.accounting.events import Batch
from tacit.errors import InvalidInput, InvalidSensitivity
from tacit.mechanisms.combined import Weights, combined_error, variance_of
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.noise.grid import read_units
from tacit.mechanisms.unseal import opened
from tacit.privacy.interval import Interval
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours
from tacit.privacy.rounding import Number, exact, float_up, sqrt_up

Axes = tuple[int, ...]
Floats = NDArray[np.float64]
Integers = NDArray[Any]
MOST_ROWS = 2**33  # of a table: its sums of whole numbers then fit as computed below
ROUNDING = 1e-12  # relative; more than what doubles lose


# --- sets of axes ------------------------------------------------------------------------------------------------------------


def subsets(axes: Axes) -> Iterator[Axes]:
    """All sets of some of the axes, smaller ones first."""
    return (part for size in range(len(axes) + 1) for part in combinations(axes, size))


def closure(margins: Iterable[Axes]) -> tuple[Axes, ...]:
    """The margins and all margins of them, smaller ones first.

    >>> closure([(0, 1), (2,)])
    ((), (0,), (1,), (2,), (0, 1))
    """
    return tuple(sorted({part for margin in margins for part in subsets(margin)}, key=lambda axes: (len(axes), axes)))


def cells(axes: Axes, sizes: Sequence[int]) -> int:
    """How many cells a margin has."""
    return prod(sizes[axis] for axis in axes)


def free_cells(axes: Axes, sizes: Sequence[int]) -> int:
    """How many of its residuals are free: the others follow from them, since residuals add up to zero along every axis."""
    return prod(sizes[axis] - 1 for axis in axes)


# --- one unit, and how far it moves a measurement ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contribution:
    """The part of one unit in a table: at most `rows` rows, and each row adds a whole number from `low` to `high` to one cell.

    0 is among these numbers: a row may count nowhere.
    """

    rows: int
    low: int = 0
    high: int = 1
    neighbours: Neighbours = ADD_REMOVE

    def __post_init__(self) -> None:
        if self.rows < 1 or not self.low <= 0 <= self.high or self.low == self.high:
            raise InvalidSensitivity("a unit must have at least one row, and each row a number between low <= 0 and high >= 0")

    @property
    def largest(self) -> int:
        """The most that one row adds or takes away."""
        return max(-self.low, self.high)

    def l1(self, axes: Axes, centred: bool, sizes: Sequence[int]) -> int:
        """How far one unit moves a measurement, in l1: residual.md, Lemma 2."""
        length = prod(_column(sizes[axis], centred)[0] for axis in axes)
        return self.rows * length * self._apart(len(axes))

    def l2(self, axes: Axes, centred: bool, sizes: Sequence[int]) -> Fraction:
        """The same in l2, rounded up."""
        square = Fraction(prod(_column(sizes[axis], centred)[1] for axis in axes))
        if self.neighbours.change == "add-remove":
            square *= self.largest**2
        else:
            turned = Fraction(1, min(sizes[axis] for axis in axes) - 1) if centred and axes else Fraction(0)
            together = (self.high - self.low) ** 2
            square *= max(Fraction(together), 2 * self.largest**2 * (1 + turned)) if axes else together
        return sqrt_up(square * self.rows**2)

    def farthest(self, axes: Axes, centred: bool, sizes: Sequence[int]) -> int:
        """How far one unit moves a single number of a measurement."""
        return self.rows * prod(_column(sizes[axis], centred)[2] for axis in axes) * self._apart(len(axes))

    def _apart(self, axes: int) -> int:
        if self.neighbours.change == "add-remove":
            return self.largest
        return 2 * self.largest if axes else self.high - self.low


def _column(size: int, centred: bool) -> tuple[int, int, int]:
    """The change by one row along an axis: l1, squared l2, and the largest number. Of two values, one difference is measured."""
    if not centred:
        return 1, 1, 1
    return (1, 1, 1) if size == 2 else (2 * (size - 1), size * (size - 1), size - 1)


def _gain(size: int) -> int:
    """The residuals of an axis are measured this many times, squared: R'R is the gain times the projection."""
    return 2 if size == 2 else size**2


def _numbers(axes: Axes, centred: bool, sizes: Sequence[int]) -> int:
    """How many numbers a measurement has."""
    return prod(1 if centred and sizes[axis] == 2 else sizes[axis] for axis in axes)


# --- measurements ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measurement:
    """The cells of one margin with noise; or, if `centred`, its residuals, each times the number of cells."""

    axes: Axes
    centred: bool
    noise: Laplace | Gaussian

    @classmethod
    def of(
        cls,
        axes: Axes,
        centred: bool,
        sizes: Sequence[int],
        unit: Contribution,
        epsilon: Fraction | None,
        rho: Fraction | None = None,
    ) -> Measurement:
        """A measurement with a share of the budget: Laplace noise for an epsilon, Gaussian noise for a rho."""
        shape = (1, _numbers(axes, centred, sizes), True, unit.neighbours)
        if epsilon is not None:
            return cls(axes, centred, Laplace(unit.l1(axes, centred, sizes), epsilon, *shape))
        assert rho is not None  # noqa: S101  # one of the two is given
        return cls(axes, centred, Gaussian(unit.l2(axes, centred, sizes), rho, *shape))

    def exact(self, margin: Integers) -> Integers:
        """The numbers that get noise, from the cells of the margin: whole combinations of them.

        >>> residuals = Measurement((0, 1), True, Laplace(1, 1, step=1, dimension=3, on_grid=True))
        >>> residuals.exact(np.array([[5, 1], [0, 0], [0, 0]])).tolist()
        [8, -4, -4]
        """
        rows = margin
        for axis, size in enumerate(margin.shape if self.centred else ()):
            if size == 2:
                rows = np.take(rows, [0], axis=axis) - np.take(rows, [1], axis=axis)
            else:
                rows = size * rows - rows.sum(axis=axis, keepdims=True)
        return rows.reshape(-1)

    def residuals(self, numbers: Floats, sizes: Sequence[int], axes: Axes) -> Floats:
        """The estimate of the residuals of `axes`, in rows of the table, from this measurement alone."""
        if not self.centred:
            shaped = numbers.reshape([sizes[axis] for axis in self.axes])
            return _projected(shaped.sum(axis=tuple(at for at, axis in enumerate(self.axes) if axis not in axes)))
        rows = numbers.reshape([1 if sizes[axis] == 2 else sizes[axis] for axis in axes])
        for at, axis in enumerate(axes):
            if sizes[axis] == 2:
                rows = np.concatenate([rows, -rows], axis=at) / 2
            else:
                rows = (rows - rows.mean(axis=at, keepdims=True)) / sizes[axis]
        return rows

    def information(self, axes: Axes, sizes: Sequence[int]) -> Fraction:
        """How much it says of the residuals of `axes`: 1 over the variance in every direction that they have."""
        if self.centred:
            gain = prod(_gain(sizes[axis]) for axis in axes) if axes == self.axes else 0
            return gain / variance_of(self.noise)
        if not set(axes) <= set(self.axes):
            return Fraction(0)
        return Fraction(cells(axes, sizes), cells(self.axes, sizes)) / variance_of(self.noise)


def _projected(margin: Floats) -> Floats:
    """The residuals of a margin: along every axis, less the mean."""
    for axis in range(margin.ndim):
        margin = margin - margin.mean(axis=axis, keepdims=True)
    return margin


@dataclass(frozen=True, slots=True)
class Residual:
    """Several measurements of one table, whose axes have these sizes; all are made of the same rows.

    >>> unit = Contribution(rows=1)
    >>> parts = tuple(Measurement.of(axes, False, (2, 3), unit, Fraction(1, 2)) for axes in ((0,), (0, 1)))
    >>> print(Residual((2, 3), parts).loss)
    pure epsilon 1 (add or remove one row)
    """

    sizes: tuple[int, ...]
    measurements: tuple[Measurement, ...]

    def __post_init__(self) -> None:
        if not self.measurements or any(size < 1 for size in self.sizes):
            raise InvalidInput("a strategy needs at least one measurement, and every axis at least one value")
        for each in self.measurements:
            if tuple(sorted(set(each.axes))) != each.axes or not set(each.axes) <= set(range(len(self.sizes))):
                raise InvalidInput(f"the axes of a measurement must rise and be among {len(self.sizes)}, not {each.axes}")
            if each.centred and any(self.sizes[axis] < 2 for axis in each.axes):
                raise InvalidInput("an axis of one value has no residuals; measure the margin without it")
            if each.noise.dimension != _numbers(each.axes, each.centred, self.sizes):
                raise InvalidInput("a measurement has one noise for each of its numbers")

    def __hash__(self) -> int:
        """That of the shape alone: a strategy is looked up for every margin, and has hundreds of scales."""
        return hash((self.sizes, tuple((each.axes, each.centred) for each in self.measurements)))

    @property
    def event(self) -> Batch:
        """The event that the ledger records for one release."""
        return Batch(tuple(each.noise.event for each in self.measurements))

    @property
    def loss(self) -> Loss:
        """The privacy loss of one release: that of all measurements together."""
        return loss(self.event)

    @property
    def estimated(self) -> tuple[Axes, ...]:
        """The margins that follow from the measurements: every residual of such a margin is measured."""
        known = frozenset(axes for axes in closure(each.axes for each in self.measurements) if self.is_known(axes))
        return tuple(
            sorted((axes for axes in known if all(part in known for part in subsets(axes))), key=lambda axes: (len(axes), axes))
        )

    def is_known(self, axes: Axes) -> bool:
        """Whether the residuals of `axes` are measured, or such residuals do not exist."""
        return free_cells(axes, self.sizes) == 0 or axes in shares_of(self)

    def release(self, margins: Mapping[Axes, Any]) -> tuple[Integers, ...]:
        """The noisy numbers of every measurement; `margins` has flat cells, sealed or not, of margins that contain all measured."""
        return tuple(np.asarray(read_units(each.noise.release_units(self._exact(each, margins)))) for each in self.measurements)

    def _exact(self, measurement: Measurement, margins: Mapping[Axes, Any]) -> Integers:
        sources = [axes for axes in margins if set(measurement.axes) <= set(axes)]
        if not sources:
            raise InvalidInput(f"no margin contains the axes {measurement.axes}; give one that does")
        source = min(sources, key=lambda axes: (cells(axes, self.sizes), axes))
        joint = np.asarray(opened(margins[source])).reshape([self.sizes[axis] for axis in source])
        wide = prod(2 * self.sizes[axis] for axis in measurement.axes) * MOST_ROWS >= 2**62  # whatever the table contains
        others = tuple(at for at, axis in enumerate(source) if axis not in measurement.axes)
        return measurement.exact(np.asarray((joint.astype(object) if wide else joint).sum(axis=others)))


# --- estimates: work on what is released -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """The part of one measurement in the estimate of the residuals of `axes`."""

    place: int
    weight: float


@lru_cache(maxsize=64)
def shares_of(strategy: Residual) -> Mapping[Axes, tuple[tuple[Share, ...], float]]:
    """For the residuals of every set of axes: what each measurement has in their estimate, and its variance in every direction."""
    known: dict[Axes, tuple[tuple[Share, ...], float]] = {}
    supersets: dict[Axes, list[int]] = {}
    for place, each in enumerate(strategy.measurements):
        for axes in (each.axes,) if each.centred else subsets(each.axes):
            supersets.setdefault(axes, []).append(place)
    for axes, places in supersets.items():
        if free_cells(axes, strategy.sizes) == 0:
            continue
        told = [(place, strategy.measurements[place].information(axes, strategy.sizes)) for place in places]
        whole = sum(information for _, information in told)
        known[axes] = tuple(Share(place, float(information / whole)) for place, information in told), float(1 / whole)
    return known


def components(strategy: Residual, noisy: Sequence[Integers]) -> dict[Axes, Floats]:
    """The residuals of every set of axes that is measured, by least squares."""
    numbers = [np.asarray(each, dtype=np.float64) for each in noisy]
    found: dict[Axes, Floats] = {}
    for axes, (shares, _) in shares_of(strategy).items():
        parts = [
            share.weight * strategy.measurements[share.place].residuals(numbers[share.place], strategy.sizes, axes)
            for share in shares
        ]
        found[axes] = np.sum(parts, axis=0)
    return found


def estimate(strategy: Residual, found: Mapping[Axes, Floats], axes: Axes) -> Floats:
    """The cells of one margin from the residuals of its parts: each spread evenly over the axes that it does not have."""
    shape = [strategy.sizes[axis] for axis in axes]
    margin = np.zeros(shape)
    for part in subsets(axes):
        if free_cells(part, strategy.sizes):
            spread = found[part] * (cells(part, strategy.sizes) / cells(axes, strategy.sizes))
            margin = margin + spread.reshape([strategy.sizes[axis] if axis in part else 1 for axis in axes])
    return margin


def whole_margins(strategy: Residual, found: Mapping[Axes, Floats], wanted: Iterable[Axes]) -> dict[Axes, Integers]:
    """The estimates of margins as whole numbers that agree: every margin of a margin is the sum of its cells, exactly.

    Totals up to a cell, in every direction, are rounded, and the whole numbers are their differences: each is at most `rounded`
    from its estimate. Two margins agree, since what they have in common is the same total (residual.md, section 5).
    """
    running = dict[Axes, Integers]()
    for axes in closure(wanted):
        totals = estimate(strategy, found, axes)
        for at in range(len(axes)):
            totals = np.cumsum(totals, axis=at)
        large = bool(np.max(np.abs(totals), initial=0.0) >= 2**53)
        whole: Integers = np.array([int(each) for each in np.rint(totals).reshape(-1)], dtype=object).reshape(totals.shape)
        whole = whole if large else whole.astype(np.int64)
        for at in range(len(axes)):
            last: Any = tuple(slice(None) if place != at else -1 for place in range(len(axes)))
            whole[last] = running[axes[:at] + axes[at + 1 :]]
        running[axes] = whole
    return {axes: _differences(running[axes]) for axes in wanted}


def _differences(totals: Integers) -> Integers:
    for axis in range(totals.ndim):
        totals = np.diff(totals, axis=axis, prepend=np.zeros_like(np.take(totals, [0], axis=axis)))
    return totals


def rounded(axes: Axes) -> float:
    """How far a whole number of `whole_margins` is at most from its estimate."""
    return 2.0 ** (len(axes) - 1)


# --- how far estimates miss --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimated:
    """The noise of numbers that add up cells of one margin: of axis i of `axes`, `taken[i]` values.

    All numbers that take as many values of each axis have the same law. The released one is at most `rounding` from the estimate.
    """

    strategy: Residual
    axes: Axes
    taken: tuple[int, ...]
    rounding: float = 0.5

    def __post_init__(self) -> None:
        if not all(self.strategy.is_known(part) for part in subsets(self.axes)):
            raise InvalidInput(
                f"the margin of the axes {self.axes} does not follow from what is measured; measure one that contains it"
            )

    @property
    def variance(self) -> float:
        """The variance, in closed form: residual.md, section 4."""
        sizes, known = self.strategy.sizes, shares_of(self.strategy)
        total = 0.0
        for part in subsets(self.axes):
            if free_cells(part, sizes):
                _, variance = known[part]
                norm = prod(
                    taken * (1 - taken / sizes[axis]) if axis in part else taken**2
                    for axis, taken in zip(self.axes, self.taken, strict=True)
                )
                total += (cells(part, sizes) / cells(self.axes, sizes)) ** 2 * variance * norm
        return total

    def weights(self) -> Weights:
        """The noises of all measurements that enter the number, with their weights and how many have each."""
        known, sizes = shares_of(self.strategy), self.strategy.sizes
        told: dict[int, dict[tuple[int, ...], tuple[float, int]]] = {}
        for part in subsets(self.axes):
            if not free_cells(part, sizes):
                continue
            for share in known[part][0]:
                measured = self.strategy.measurements[share.place]
                entries = told.setdefault(share.place, {})
                for pattern, weight, number in self._entries(measured, part):
                    before, _ = entries.get(pattern, (0.0, 0))
                    entries[pattern] = before + share.weight * weight, number
        listed = [
            (place, weight, number) for place, entries in told.items() for weight, number in entries.values() if number and weight
        ]
        return Weights(
            tuple(self.strategy.measurements[place].noise for place, _, _ in listed),
            tuple(abs(weight) for _, weight, _ in listed),
            tuple(number for _, _, number in listed),
        )

    def _entries(self, measured: Measurement, part: Axes) -> Iterator[tuple[tuple[int, ...], float, int]]:
        """The weights of the numbers of a measurement in the part of the estimate that has the residuals of `part`.

        Numbers with one pattern have one weight: along which axes a number is one of the values that are taken.
        """
        sizes, taken = self.strategy.sizes, dict(zip(self.axes, self.taken, strict=True))
        spread = cells(part, sizes) / cells(self.axes, sizes) * prod(taken[axis] for axis in self.axes if axis not in part)
        common = [axis for axis in measured.axes if axis in taken]
        apart = prod(sizes[axis] for axis in measured.axes if axis not in taken)
        for pattern in product((1, 0), repeat=len(common)):
            weight, number = spread, apart
            for axis, inside in zip(common, pattern, strict=True):
                factor, many = along(sizes[axis], taken[axis], inside, measured.centred)
                weight, number = weight * (factor if axis in part else 1.0), number * many
            yield pattern, weight, number

    def interval(self, confidence: Number) -> Interval:
        """Where the exact number lies around the released one, with at least `confidence`: by the law of the sum of its noises."""
        missed = 1 - exact(confidence, "confidence")
        width = (combined_error(self.weights(), missed) + self.rounding) * (1 + ROUNDING)
        return Interval(float_up(Fraction(width)), float_up(Fraction(width)))


def along(size: int, taken: int, inside: int, centred: bool) -> tuple[float, int]:
    """Along one axis: the weight of a number that is (or is not) among the taken values, and how many such numbers there are."""
    if centred and size == 2:
        return (0.5 if taken == 1 else 0.0), (1 if inside else 0)
    many = taken if inside else size - taken
    weight = (1.0 if inside else 0.0) - taken / size
    return (weight / size if centred else weight), many
