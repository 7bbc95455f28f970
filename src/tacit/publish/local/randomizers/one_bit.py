"""A number reported as one bit, more often 1 for larger ones (Duchi, Jordan and Wainwright 2018). Proof in numeric.md."""

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
class OneBit(Numeric):
    """Reports 1 with a probability that rises linearly from 1/(E + 1) at `lower` to E/(E + 1) at `upper`, else 0.

    >>> answer = OneBit(lower=0, upper=10, epsilon=1)
    >>> [round(float(level), 3) for level in answer.levels], answer.channel.within(1)
    ([-5.82, 15.82], True)
    """

    @cached_property
    def ratio(self) -> Fraction:
        """E, a rational at or below e^epsilon."""
        return ratio_within(self.epsilon)

    @cached_property
    def levels(self) -> tuple[Fraction, ...]:
        """The number that each report decodes to."""
        beyond = (self.upper - self.lower) / (self.ratio - 1)
        return self.lower - beyond, self.upper + beyond

    def chance(self, index: int) -> Fraction:
        """The probability of a one for the point number `index`."""
        return (1 + (self.ratio - 1) * Fraction(index, self.points - 1)) / (self.ratio + 1)

    def probability(self, index: int, report: int) -> Fraction:
        """The exact probability of a report at a point of the grid."""
        return self.chance(index) if report else 1 - self.chance(index)

    def randomize(self, values: Any) -> Any:
        """The bits: an int64 array, or 0 or 1 for one value.

        A one comes by one of two coins: with probability 2/(E + 1) a fair one, else one that says whether a uniform number below
        points - 1 is below the index; together that is `chance`.
        """
        index = self.index(values)
        codes = np.atleast_1d(index)
        told = uniform_integers(self.points - 1, codes.size) < codes
        blind = choice.bernoulli(2 / (self.ratio + 1), codes.size)
        reports = np.where(blind, choice.bernoulli(Fraction(1, 2), codes.size), told).astype(np.int64)
        return reports if isinstance(index, np.ndarray) else int(reports[0])

    def derive(self, value: Any, coins: Coins) -> int:
        """One coin of probability `chance`."""
        return int(coins.coin(self.chance(self.place(value))))

    def variance_at(self, index: int) -> Fraction:
        """The exact variance of a decoded report at a point of the grid."""
        return self.chance(index) * (1 - self.chance(index)) * self.spread**2

    @property
    def worst_variance(self) -> Fraction:
        """In the middle of the grid, where the bit says least."""
        return self.variance_at(self.points // 2)
