"""A number with discrete Laplace noise, all that falls beyond a bound folded into the bound. Proof in numeric.md.

A report at a bound stands for the mean of what was folded into it, which does not depend on the true value since the tails are
geometric. So the decoded report is as unbiased as with plain noise, its variance is smaller, and there are finitely many reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, repeat
from typing import Any

import numpy as np

from tacit.mechanisms.noise.enclosure import Enclosure
from tacit.mechanisms.noise.table import Table
from tacit.privacy.rounding import DIGITS as DECIMALS
from tacit.privacy.rounding import exp_up
from tacit.publish.local.randomizers.numeric import Numeric
from tacit.publish.local.randomizers.randomizer import Coins, Ratio

DIGITS = 40  # binary digits of the decay, at least
SPARE = 30  # of its epsilon no more than one part in 2^30 is lost by its rounding


@dataclass(frozen=True, init=False)
class FoldedLaplace(Numeric):
    """Moves the index by k with probability proportional to decay^|k|, and keeps the result from 0 to points - 1.

    `decay` is a rational at or above e^(-epsilon / (points - 1)).

    >>> answer = FoldedLaplace(lower=0, upper=4, epsilon=2)
    >>> [round(float(level), 3) for level in answer.levels], answer.channel.within(2)
    ([-1.541, 1.0, 2.0, 3.0, 5.541], True)
    """

    @cached_property
    def decay(self) -> Fraction:
        """By how much the next move is rarer than the one before."""
        step = self.epsilon / (self.points - 1)
        digits = max(DIGITS, SPARE + math.ceil(step * Fraction(3, 2)) + math.floor(1 / step).bit_length())
        return Fraction(math.ceil(exp_up(-step, 2 * DECIMALS) * 2**digits), 2**digits)

    @cached_property
    def levels(self) -> tuple[Fraction, ...]:
        """The number that each report decodes to."""
        beyond = self.spacing * self.decay / (1 - self.decay)
        inside = (self.point(index) for index in range(1, self.points - 1))
        return self.lower - beyond, *inside, self.upper + beyond

    def probability(self, index: int, report: int) -> Fraction:
        """The exact probability of a report at a point of the grid."""
        folded = report in (0, self.points - 1)
        return (1 if folded else 1 - self.decay) * self.decay ** abs(report - index) / (1 + self.decay)

    def randomize(self, values: Any) -> Any:
        """The reports: an int64 array, or an integer for one value."""
        index = self.index(values)
        codes = np.atleast_1d(index)
        moves = _moves(self.decay, self.points).draw(codes.size)
        reports = np.clip(codes + moves - (self.points - 1), 0, self.points - 1)
        return reports if isinstance(index, np.ndarray) else int(reports[0])

    def derive(self, value: Any, coins: Coins) -> int:
        """A coin of probability 1/(1 + decay): true, up by G; false, down by G + 1; in both cases no farther than the bound.

        G is at least m with probability decay^m. Its binary digits are independent: for step = 1, 2, 4, ... below points - 1 a coin
        of probability r/(1 + r), r = decay^step, adds the step. Then, for the first step that is not below points - 1, a coin of
        probability r adds it, whatever is left of G: that is beyond any bound.
        """
        index, (not_down, *digits) = self.place(value), _chances(self.decay, self.points)
        up = coins.coin(not_down)
        moved = sum(coins.coin(chance) << at for at, chance in enumerate(digits))
        return min(index + moved, self.points - 1) if up else max(index - moved - 1, 0)

    def variance_at(self, index: int) -> Fraction:
        """The exact variance of a decoded report at a point of the grid."""
        ends = self.decay**index + self.decay ** (self.points - 1 - index)
        return self.spacing**2 * self.decay / (1 - self.decay) ** 2 * (2 - ends / (1 + self.decay))

    @property
    def worst_variance(self) -> Fraction:
        """In the middle of the grid, where least is folded."""
        return self.variance_at((self.points - 1) // 2)


@lru_cache(maxsize=16)
def _chances(decay: Fraction, points: int) -> tuple[Ratio, ...]:
    """Of a move that is not down, of each binary digit of the move from the lowest on, and of one that is beyond them all."""
    top, bottom, steps = decay.numerator, decay.denominator, (points - 2).bit_length()
    chances = [Ratio(bottom, top + bottom)]
    for _ in range(steps):
        chances.append(Ratio(top, top + bottom))
        top, bottom = top * top, bottom * bottom
    return *chances, Ratio(top, bottom)


@lru_cache(maxsize=16)
def _moves(decay: Fraction, points: int) -> Table:
    """The table of moves from -(points - 1) to points - 1, with the tails folded into both; the decay is in binary digits."""
    top, digits = decay.numerator, decay.denominator.bit_length() - 1

    def weights(precision: int) -> list[Enclosure]:
        whole = 1 << (precision + 2 * digits)
        low = list(accumulate(repeat(top, points - 1), lambda power, d: power * d >> digits, initial=whole))
        high = list(accumulate(repeat(top, points - 1), lambda power, d: -(-power * d >> digits), initial=whole))
        less = (1 << digits) - top
        inside = [(a * less >> digits, -(-b * less >> digits)) for a, b in zip(low[:-1], high[:-1], strict=True)]
        side = [*inside[1:], (low[-1], high[-1])]
        return [*reversed(side), inside[0], *side]

    return Table(weights)
