"""A number reported as a point that is probably near it: the piecewise mechanism on a grid. Proof in numeric.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tacit.mechanisms.noise import choice
from tacit.mechanisms.noise.choice import uniform_integers
from tacit.publish.local.randomizers.numeric import Numeric
from tacit.publish.local.randomizers.randomizer import Coins, ratio_within


@dataclass(frozen=True, init=False)
class Piecewise(Numeric):
    """Reports one of points - 1 + window numbers; the `window` of them from the index on are E times as likely as the others.

    Wang et al. 2019 on the real line, here on a grid, where it is exact. The window is the one of the smallest worst variance.

    >>> answer = Piecewise(lower=0, upper=10, epsilon=3)
    >>> answer.window, len(answer.levels), answer.channel.within(3)
    (4, 14, True)
    """

    @cached_property
    def ratio(self) -> Fraction:
        """E, a rational at or below e^epsilon."""
        return ratio_within(self.epsilon)

    @cached_property
    def window(self) -> int:
        """How many reports are likely ones."""
        return best_window(float(self.ratio), self.points)

    @property
    def outputs(self) -> int:
        """How many reports there are."""
        return self.points - 1 + self.window

    @cached_property
    def _total(self) -> Fraction:
        return (self.ratio - 1) * self.window + self.outputs

    @cached_property
    def levels(self) -> tuple[Fraction, ...]:
        """The number that each report decodes to."""
        excess, total = (self.ratio - 1) * self.window, self._total
        shift = Fraction(self.outputs * (self.outputs - 1), 2) + excess * Fraction(self.window - 1, 2)
        return tuple(self.lower + self.spacing * (total * report - shift) / excess for report in range(self.outputs))

    def probability(self, index: int, report: int) -> Fraction:
        """The exact probability of a report at a point of the grid."""
        return (self.ratio if index <= report < index + self.window else 1) / self._total

    @property
    def near(self) -> Fraction:
        """The probability with which the report is drawn from the window alone; else it is drawn from all."""
        return (self.ratio - 1) * self.window / self._total

    def randomize(self, values: Any) -> Any:
        """The reports: an int64 array, or an integer for one value."""
        index = self.index(values)
        codes = np.atleast_1d(index)
        inside = codes + uniform_integers(self.window, codes.size)
        anywhere = uniform_integers(self.outputs, codes.size)
        reports = np.where(choice.bernoulli(self.near, codes.size), inside, anywhere)
        return reports if isinstance(index, np.ndarray) else int(reports[0])

    def derive(self, value: Any, coins: Coins) -> int:
        """A coin of probability `near`: true, the index plus a number below `window`; false, a number below `outputs`."""
        place = self.place(value)
        return place + coins.below(self.window) if coins.coin(self.near) else coins.below(self.outputs)

    def variance_at(self, index: int) -> Fraction:
        """The exact variance of a decoded report at a point of the grid."""
        excess, total = self.ratio - 1, self._total
        mean = (excess * _sum(index, self.window) + _sum(0, self.outputs)) / total
        square = (excess * _squares(index, self.window) + _squares(0, self.outputs)) / total
        return (square - mean**2) * (self.spacing * total / (excess * self.window)) ** 2

    @property
    def worst_variance(self) -> Fraction:
        """At the bounds: the variance is a convex function of the index."""
        return self.variance_at(0)


def best_window(ratio: float, points: int) -> int:
    """The window of the smallest variance at the bounds, found in floats: a choice of design, the law is exact for any window."""
    window = np.arange(1, points, dtype=np.float64)
    outputs, excess = points - 1 + window, ratio - 1
    total = excess * window + outputs
    mean = (excess * window * (window - 1) + outputs * (outputs - 1)) / 2 / total
    square = (excess * window * (window - 1) * (2 * window - 1) + outputs * (outputs - 1) * (2 * outputs - 1)) / 6 / total
    return int(np.argmin((square - mean**2) * (total / window) ** 2)) + 1


def _sum(start: int, count: int) -> Fraction:
    """start + (start + 1) + ... over `count` numbers."""
    return Fraction(count * (2 * start + count - 1), 2)


def _squares(start: int, count: int) -> Fraction:
    """The squares of the same numbers."""
    return count * start**2 + start * count * (count - 1) + Fraction((count - 1) * count * (2 * count - 1), 6)
