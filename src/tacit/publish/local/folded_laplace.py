"""A number with discrete Laplace noise, all that falls beyond a bound folded into the bound. Proof in numeric.md.

A report at a bound stands for the mean of what was folded into it, which does not depend on the true value since the tails are
geometric. So the decoded report is as unbiased as with plain noise, its variance is smaller, and there are finitely many reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, repeat
from typing import Any

import numpy as np

from tacit.errors import InvalidBudget
from tacit.mechanisms.noise.enclosure import Enclosure
from tacit.mechanisms.noise.table import Table
from tacit.privacy.rounding import Number, as_text, exp_up
from tacit.publish.local.numeric import Numeric
from tacit.publish.local.randomizer import Coins

DIGITS = 40  # binary digits of the decay


@dataclass(frozen=True, init=False)
class FoldedLaplace(Numeric):
    """Moves the index by k with probability proportional to decay^|k|, and keeps the result from 0 to points - 1.

    `decay` is a rational at or above e^(-epsilon / (points - 1)).

    >>> answer = FoldedLaplace(lower=0, upper=4, epsilon=2)
    >>> [round(float(level), 3) for level in answer.levels], answer.channel.within(2)
    ([-1.541, 1.0, 2.0, 3.0, 5.541], True)
    """

    def __init__(self, lower: Number, upper: Number, epsilon: Number, points: int | None = None) -> None:
        super().__init__(lower, upper, epsilon, points)
        if self.decay == 1:
            raise InvalidBudget(f"epsilon {as_text(self.epsilon)} is too small for {self.points} points; take fewer points")

    @cached_property
    def decay(self) -> Fraction:
        """By how much the next move is rarer than the one before."""
        exactly = exp_up(-self.epsilon / (self.points - 1)) * 2**DIGITS
        return Fraction(-(-exactly.numerator // exactly.denominator), 2**DIGITS)

    @cached_property
    def levels(self) -> tuple[Fraction, ...]:
        beyond = self.spacing * self.decay / (1 - self.decay)
        inside = (self.point(index) for index in range(1, self.points - 1))
        return self.lower - beyond, *inside, self.upper + beyond

    def probability(self, index: int, report: int) -> Fraction:
        folded = report in (0, self.points - 1)
        return (1 if folded else 1 - self.decay) * self.decay ** abs(report - index) / (1 + self.decay)

    def randomize(self, values: Any) -> Any:
        """The reports: an int64 array, or an integer for one value."""
        index = self.index(values)
        codes = np.atleast_1d(index)
        moves = _moves(self.decay.numerator * 2**DIGITS // self.decay.denominator, self.points).draw(codes.size)
        reports = np.clip(codes + moves - (self.points - 1), 0, self.points - 1)
        return reports if isinstance(index, np.ndarray) else int(reports[0])

    def derive(self, value: Any, coins: Coins) -> int:
        """Up by one for each coin of probability `decay` that says yes before one says no, then down in the same way."""
        index = int(self.index(value))
        up = _successes(self.decay, coins)
        return min(max(index + up - _successes(self.decay, coins), 0), self.points - 1)

    def variance_at(self, index: int) -> Fraction:
        ends = self.decay**index + self.decay ** (self.points - 1 - index)
        return self.spacing**2 * self.decay / (1 - self.decay) ** 2 * (2 - ends / (1 + self.decay))

    @property
    def worst_variance(self) -> Fraction:
        """In the middle of the grid, where least is folded."""
        return self.variance_at((self.points - 1) // 2)


def _successes(decay: Fraction, coins: Coins) -> int:
    count = 0
    while coins.coin(decay):
        count += 1
    return count


@lru_cache(maxsize=16)
def _moves(decay: int, points: int) -> Table:
    """The table of moves from -(points - 1) to points - 1, with the tails folded into both; decay in units of 2^-DIGITS."""

    def weights(precision: int) -> list[Enclosure]:
        whole = 1 << (precision + 2 * DIGITS)
        low = list(accumulate(repeat(decay, points - 1), lambda power, d: power * d >> DIGITS, initial=whole))
        high = list(accumulate(repeat(decay, points - 1), lambda power, d: -(-power * d >> DIGITS), initial=whole))
        less = (1 << DIGITS) - decay
        inside = [(a * less >> DIGITS, -(-b * less >> DIGITS)) for a, b in zip(low[:-1], high[:-1], strict=True)]
        side = [*inside[1:], (low[-1], high[-1])]
        return [*reversed(side), inside[0], *side]

    return Table(weights)
