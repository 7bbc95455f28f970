"""Margins so small that every unit is tried in every cell, and wrong ones planted among them.

All noisy numbers of a strategy are independent, so the outputs that tell most are the worst of each number by itself, and the
concentrated losses of Gaussian noise add up. The interval of a margin is compared with the law of its noise, listed whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np

from tacit.accounting.composition import cost
from tacit.evidence.verify.case import Case, Exhaustive
from tacit.evidence.verify.claims import measured_both_ways
from tacit.evidence.verify.contract import Check
from tacit.evidence.verify.driving import driven
from tacit.mechanisms.combined import Weights, combined_error
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.ranges import Cumulated, SumOfCells
from tacit.mechanisms.residual import Contribution, Estimated, Measurement, Residual, cells
from tacit.mechanisms.residual_shares import Wanted, gaussian_shares, gaussian_strategy, laplace_shares, laplace_strategy
from tacit.privacy.loss import CHANGE_ONE
from tacit.privacy.rounding import as_text

LAPLACE, GAUSSIAN = "Margins, Laplace noise, two rows each", "Margins, Gaussian noise, two rows each"
CHANGED = "Margins, Gaussian noise, a changed person of two rows"
CUMULATIVE = "Cumulative counts, Laplace noise, two rows each"
COVERS_SUM = "Interval of a cumulative count, by its law"
RUNS, COVERS = "Margins as they run", "Interval of a margin, by its law"
SIZES, MARGINS = (2, 3), ((0,), (1,), (0, 1))
WANTED = tuple(Wanted.cells_of(axes, SIZES) for axes in MARGINS)
GOES, CHANGES = Contribution(rows=2), Contribution(rows=2, neighbours=CHANGE_ONE)
EPSILON, RHO, CONFIDENCE = Fraction(1), Fraction(1, 2), Fraction(9, 10)
TOLERANCE = 1e-9
LEAST = Decimal("1e-7")  # the chance of a way in which noise may come out that is still followed
ROUNDED = "the shares of a budget are rounded, and one unit does not move every measurement as far as another"
HALF_STEPS = "a width allows for the drift between discrete and continuous noise, and what is released is whole"
Exact = Callable[[Measurement, np.ndarray[Any, Any]], Any]


@dataclass(frozen=True, slots=True)
class SmallMargins:
    """The margins that run, who may come, go or change, and the largest loss that is claimed; `exact` is what gets noise."""

    strategy: Residual
    unit: Contribution
    claim: Fraction
    exact: Exact = Measurement.exact

    def check(self) -> Check:
        """The largest loss over every unit of at most two rows."""
        worst = max(self._loss(np.asarray(more) - np.asarray(fewer)) for fewer, more in self._neighbours())
        words = "rho" if self.concentrated else "epsilon"
        found = f"one unit is distinguished by {words} {worst:.4g}, where {as_text(self.claim)} is claimed"
        return Check("loss", worst <= float(self.claim) * (1 + TOLERANCE), found, worst, worst / float(self.claim))

    @property
    def concentrated(self) -> bool:
        """Whether the noise is Gaussian."""
        return isinstance(self.strategy.measurements[0].noise, Gaussian)

    def _neighbours(self) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """Tables that differ by one unit, which is all that they have: what others have is the same in both."""
        places = range(cells((0, 1), SIZES))
        own = [rows for number in range(self.unit.rows + 1) for rows in combinations_with_replacement(places, number)]
        tables = [np.bincount(np.array(rows, dtype=np.int64), minlength=len(places)).reshape(SIZES) for rows in own]
        if self.unit.neighbours.change == "add-remove":
            yield from ((tables[0], table) for table in tables[1:])
        else:
            yield from permutations(tables, 2)

    def _loss(self, moved: np.ndarray[Any, Any]) -> float:
        total = 0.0
        for each in self.strategy.measurements:
            others = tuple(axis for axis in range(len(SIZES)) if axis not in each.axes)
            change = [int(number) for number in self.exact(each, moved.sum(axis=others))]
            if self.concentrated:
                total += float(sum(number**2 for number in change) / (2 * each.noise.scale**2))
            else:
                total += float(sum(map(abs, change)) / each.noise.scale)
        return total


def _laplace(unit: Contribution = GOES) -> SmallMargins:
    claimed = laplace_strategy(laplace_shares(WANTED, SIZES), SIZES, GOES, EPSILON)
    runs = laplace_strategy(laplace_shares(WANTED, SIZES), SIZES, unit, EPSILON)
    return SmallMargins(runs, GOES, cost(claimed.event).epsilon or Fraction(0))


def _cumulative(unit: Contribution = GOES) -> SmallMargins:
    """Counts along an axis of six values, written with two digits."""
    wanted = (Cumulated.along((0, 1), ((0, 1),), SIZES),)
    claimed, runs = (laplace_strategy(laplace_shares(wanted, SIZES), SIZES, each, EPSILON) for each in (GOES, unit))
    return SmallMargins(runs, GOES, cost(claimed.event).epsilon or Fraction(0))


def _gaussian(touched: Contribution, priced: Contribution) -> SmallMargins:
    shares = gaussian_shares(WANTED, SIZES)
    return SmallMargins(gaussian_strategy(shares, SIZES, priced, RHO), touched, RHO)


# --- the code that runs, by every way in which its noise can come out ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Runs:
    """One difference and two cells of a column of two values: what `release` gives, against the loss that it claims."""

    strategy: Residual

    def check(self) -> Check:
        """The largest loss between no row and one, by the law of the code that runs."""
        laws = [driven(partial(self._released, row), rare=LEAST) for row in ((0, 0), (1, 0), (0, 1))]
        claim = self.strategy.loss
        worst = max(float(measured_both_ways(claim, laws[0], other)) for other in laws[1:])
        claimed = float(cost(self.strategy.event).epsilon or 0)
        found = f"one row is distinguished by epsilon {worst:.4g}, where {claimed:g} is claimed"
        return Check("loss", worst <= claimed * (1 + 1e-6), found, worst, worst / claimed)

    def _released(self, counts: Sequence[int]) -> tuple[int, ...]:
        return tuple(int(each) for part in self.strategy.release({(0,): np.array(counts)}) for each in part)


@dataclass(frozen=True, slots=True)
class OneNoise(Residual):
    """Planted: all measurements of a kind get the noise that was drawn for the first."""

    def release(self, margins: Any) -> tuple[Any, ...]:
        """The exact numbers, with one noise for all."""
        first = self.measurements[0].noise
        noise = int(np.asarray(first.release_units(np.zeros(first.dimension, dtype=np.int64))).flat[0])
        return tuple(np.asarray(self._exact(each, margins)) + noise for each in self.measurements)


def _running() -> Residual:
    parts = (
        Measurement.of((0,), True, (2,), Contribution(1), Fraction(2)),
        Measurement.of((), True, (2,), Contribution(1), Fraction(2)),
    )
    return Residual((2,), parts)


# --- intervals ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Covers:
    """A cell of a margin with Laplace noise on two margins, and the width that is claimed for it."""

    width: Callable[[Weights, Fraction], float]
    summed: bool = False  # not a cell, but the first four of six values, along two digits

    def check(self) -> Check:
        """The chance that the noise of the number stays within its width, from the law of every noise, listed."""
        parts = tuple(Measurement.of(axes, False, SIZES, Contribution(1), Fraction(1, 4)) for axes in ((0,), (0, 1)))
        first = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
        alone = Estimated(Residual(SIZES, parts), (0,), (1,))
        weights = SumOfCells(Residual(SIZES, parts), (0, 1), (0, 1), first).weights() if self.summed else alone.weights()
        width, least = self.width(weights, 1 - CONFIDENCE), inside(weights, self.width(weights, 1 - CONFIDENCE))
        found = f"covers {least:.4f} within {width:.4g}, says {float(CONFIDENCE):g}"
        return Check("coverage", least >= float(CONFIDENCE), found, least, (1 - least) / float(1 - CONFIDENCE))


def inside(weights: Weights, width: float) -> float:
    """The chance that the weighted sum of noises is at most `width` away from 0: at or below it, by their listed laws.

    The weights are multiples of one number, and the noise of each is listed up to 40 scales.
    """
    unit = common_unit(weights.sizes)
    law = np.ones(1)
    for noise, size, number in zip(weights.noises, weights.sizes, weights.numbers, strict=True):
        scale, times = float(noise.scale), round(size / unit)
        reach = int(40 * scale)
        places = np.abs(np.arange(-reach, reach + 1))
        one = np.exp(-places / scale) if isinstance(noise, Laplace) else np.exp(-(places**2) / (2 * scale**2))
        wide = np.zeros(2 * reach * times + 1)
        wide[::times] = one / one.sum()
        for _ in range(number):
            law = np.convolve(law, wide) if len(law) * len(wide) < 10**7 else _by_transform(law, wide)
    middle = (len(law) - 1) // 2
    far = int(width / unit * (1 + 1e-12))
    return float(law[max(0, middle - far) : middle + far + 1].sum())


def _by_transform(one: Any, other: Any) -> Any:
    size = len(one) + len(other) - 1
    length = 1 << (size - 1).bit_length()
    return np.fft.irfft(np.fft.rfft(one, length) * np.fft.rfft(other, length), length)[:size]


def common_unit(sizes: Sequence[float]) -> float:
    """The largest common unit: every size is a whole multiple, up to the rounding of doubles.

    >>> common_unit([0.5, 0.75])
    0.25
    """
    fractions = [Fraction(size).limit_denominator(10**6) for size in sizes]
    unit = fractions[0]
    for each in fractions[1:]:
        a, b = unit, each
        while b:
            a, b = b, a % b
        unit = a
    return float(unit)


# --- the rows of `tacit verify` ------------------------------------------------------------------------------------------------


def exhaustive() -> list[Exhaustive]:
    """Every unit of a small world, the code as it runs, and the interval of a margin."""
    return [
        _case(LAPLACE, _laplace()),
        _case(GAUSSIAN, _gaussian(GOES, GOES)),
        _case(CHANGED, _gaussian(CHANGES, CHANGES), ROUNDED),
        _case(CUMULATIVE, _cumulative()),
        Exhaustive(RUNS, "epsilon 4", Runs(_running()).check),
        Exhaustive(COVERS, f"covers {100 * float(CONFIDENCE):g}%", Covers(combined_error).check, HALF_STEPS),
        Exhaustive(COVERS_SUM, f"covers {100 * float(CONFIDENCE):g}%", Covers(combined_error, summed=True).check, HALF_STEPS),
    ]


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    yield "row", (LAPLACE, _case(f"{LAPLACE}, noise for one row (planted)", _laplace(Contribution(1))))
    sound = _gaussian(GOES, GOES)
    cheap = replace(
        sound,
        strategy=Residual(SIZES, tuple(replace(each, noise=_as_cells(each.noise)) for each in sound.strategy.measurements)),
    )
    yield "cells", (GAUSSIAN, _case(f"{GAUSSIAN}, residuals at the price of cells (planted)", cheap))
    yield (
        "replaced",
        (CHANGED, _case(f"{CHANGED}, priced as one that goes (planted)", _gaussian(CHANGES, GOES))),
    )
    running = _running()
    yield (
        "together",
        (
            RUNS,
            Exhaustive(
                f"{RUNS}, one noise for all (planted)", "epsilon 4", Runs(OneNoise(running.sizes, running.measurements)).check
            ),
        ),
    )
    yield "digits", (CUMULATIVE, _case(f"{CUMULATIVE}, noise for one row (planted)", _cumulative(Contribution(1))))
    yield (
        "ordered",
        (
            COVERS_SUM,
            Exhaustive(
                f"{COVERS_SUM}, the noise of one measurement left out (planted)",
                f"covers {100 * float(CONFIDENCE):g}%",
                Covers(lambda weights, missed: combined_error(_first(weights), missed), summed=True).check,
            ),
        ),
    )
    yield (
        "width",
        (
            COVERS,
            Exhaustive(
                f"{COVERS}, the noise of one measurement left out (planted)",
                f"covers {100 * float(CONFIDENCE):g}%",
                Covers(lambda weights, missed: combined_error(_first(weights), missed)).check,
            ),
        ),
    )


def _as_cells(noise: Laplace | Gaussian) -> Gaussian:
    assert isinstance(noise, Gaussian)  # noqa: S101  # the strategy is of one kind
    return Gaussian(min(noise.sensitivity, Fraction(GOES.rows)), noise.rho, 1, noise.dimension, True, noise.neighbours)


def _first(weights: Weights) -> Weights:
    return Weights(weights.noises[:1], weights.sizes[:1], weights.numbers[:1])


def _case(name: str, small: SmallMargins, unreached: str = "") -> Exhaustive:
    words = "rho" if small.concentrated else "epsilon"
    return Exhaustive(name, f"{words} {as_text(small.claim)}", small.check, unreached)
