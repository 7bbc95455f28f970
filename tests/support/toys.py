"""Small mechanisms with finite laws, and one way to break each law of the contract."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from tacit.accounting.events import BoundedRangeChoice, Event, ExponentialChoice
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import Loss, Pure

SIZE = 11  # outcomes 0 to 10


def clamped_geometric(value: int, epsilon: Fraction) -> dict[int, Decimal]:
    """The geometric mechanism clamped to 0 to 10 (Ghosh et al. 2009): pure epsilon, and no less."""
    with localcontext(ARITHMETIC):
        ratio = (-Decimal(epsilon.numerator) / epsilon.denominator).exp()
        ends = {k: ratio ** abs(k - value) / (1 + ratio) for k in (0, SIZE - 1)}
        return ends | {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k - value) for k in range(1, SIZE - 1)}


@dataclass(frozen=True)
class Toy:
    """Sound. Draws with a seeded generator: these are tests of the checks, not of the noise."""

    epsilon: Fraction = Fraction(1)
    step: Fraction = Fraction(1)
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(20240229), compare=False)

    @property
    def event(self) -> Event:
        return ExponentialChoice(self.epsilon)

    @property
    def loss(self) -> Loss:
        return Pure(self.epsilon)

    def law(self, value: int) -> Law:
        return Law(clamped_geometric(value, self.epsilon))

    def release(self, value: int) -> Any:
        listed = cumulative(value, self.epsilon)
        return int(np.searchsorted(listed, self.generator.random(), "right"))

    def interval(self, confidence: float) -> Interval:
        return Interval(10.0, 10.0)


@cache
def cumulative(value: int, epsilon: Fraction) -> Any:
    return np.cumsum([float(weight) for _, weight in sorted(clamped_geometric(value, epsilon).items())])[:-1]


class TooLittleNoise(Toy):
    """Breaks the loss: the law of 10/9 epsilon under a claim of epsilon, honestly listed."""

    def law(self, value: int) -> Law:
        return Law(clamped_geometric(value, self.epsilon * Fraction(10, 9)))

    def release(self, value: int) -> Any:
        listed = cumulative(value, self.epsilon * Fraction(10, 9))
        return int(np.searchsorted(listed, self.generator.random(), "right"))


class TooCheap(Toy):
    """Breaks the price: pure epsilon as it claims, and recorded as an event that has a fourth of the rho."""

    @property
    def event(self) -> Event:
        return BoundedRangeChoice(self.epsilon)


class HalfRecorded(Toy):
    """Breaks the price: half of the epsilon is recorded."""

    @property
    def event(self) -> Event:
        return ExponentialChoice(self.epsilon / 2)


class LyingLaw(TooLittleNoise):
    """Breaks the draws: the same release behind the law that it should have."""

    def law(self, value: int) -> Law:
        return Law(clamped_geometric(value, self.epsilon))


class TellingType(Toy):
    """Breaks post-processing: 3 and 3.0 are equal outcomes, but which one comes tells the value."""

    def release(self, value: int) -> Any:
        output = super().release(value)
        return float(output) if value % 2 else output


@dataclass(frozen=True)
class NoiseUsedTwice(Toy):
    """Breaks composition: value + z, with one uniform z for two releases in a row; each of them alone tells nothing."""

    kept: list[int] = field(default_factory=list, compare=False)

    def law(self, value: int) -> Law:
        return Law({k: ARITHMETIC.divide(Decimal(1), Decimal(SIZE)) for k in range(SIZE)})

    def release(self, value: int) -> Any:
        fresh = not self.kept
        if fresh:
            self.kept.append(int(self.generator.integers(SIZE)))
        return (value + (self.kept[0] if fresh else self.kept.pop())) % SIZE


class NarrowInterval(Toy):
    """Breaks coverage: intervals of half a step, at every confidence."""

    def interval(self, confidence: float) -> Interval:
        return Interval(0.5, 0.5)


class OffTheGrid(Toy):
    """Breaks the grid: outputs carry the value's own fraction of a step."""

    def release(self, value: int) -> Any:
        return super().release(value) + 0.25 * (value % 2)

    def law(self, value: int) -> Law:
        return super().law(value).map(lambda k: k + 0.25 * (value % 2))  # type: ignore[operator]


class Impure(Toy):
    """Breaks purity: one neighbour never gives a 10."""

    def law(self, value: int) -> Law:
        return super().law(value).map(lambda k: min(k, 9) if value % 2 else k)  # type: ignore[call-overload]

    def release(self, value: int) -> Any:
        return min(super().release(value), 9) if value % 2 else super().release(value)
