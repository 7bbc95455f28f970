"""A permanent answer, and a fresh report of it every time: RAPPOR (Erlingsson, Pihur and Korolova 2014). Proof in rappor.md.

The permanent answer is a bit for each category (`bloom.py`: each bit of a filter), randomized once for a true value and kept, or
derived from a secret each time. A report randomizes it again, so that reports of one person are not all alike. However many
reports are made, they tell no more than the permanent answer: that is `epsilon`. One report alone tells `epsilon_once`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number, exact
from tacit.publish.local.randomizers.channel import Channel
from tacit.publish.local.randomizers.randomizer import Coins, LocalMechanism, read_size
from tacit.publish.local.randomizers.unary import Packed, Unary, noise_bits, pack, read_packed, unpack

ONE, ZERO = Fraction(3, 4), Fraction(1, 4)


@dataclass(frozen=True, init=False)
class Rappor(LocalMechanism):
    """Basic RAPPOR: `Unary.symmetric` once for a value; then a bit is reported as one with probability `one` if set, else `zero`.

    >>> answer = Rappor(size=5, epsilon=2)
    >>> kept = answer.permanent.randomize(3)
    >>> answer.report(kept).shape, round(float(answer.epsilon_once), 4), answer.channel.within(2)
    ((1,), 0.9412, True)
    """

    size: int
    epsilon: Fraction
    one: Fraction
    zero: Fraction
    permanent: Unary = field(repr=False)

    def __init__(self, size: int, epsilon: Number, one: Number = ONE, zero: Number = ZERO) -> None:
        object.__setattr__(self, "size", read_size(size))
        object.__setattr__(self, "epsilon", positive_budget(epsilon))
        object.__setattr__(self, "permanent", Unary.symmetric(size, epsilon))
        set_report(self, one, zero)

    @property
    def once(self) -> Unary:
        """The randomizer that one report alone is of."""
        chances = (reported_chance(chance, self.one, self.zero) for chance in (self.permanent.hit, self.permanent.false_hit))
        return Unary.with_chances(self.size, *chances)

    @property
    def epsilon_once(self) -> Fraction:
        """What one report tells, rounded up."""
        return self.once.epsilon

    @property
    def hit(self) -> Fraction:
        """The probability that a report supports the true category."""
        return self.once.hit

    @property
    def false_hit(self) -> Fraction:
        """The probability that a report supports another given category."""
        return self.once.false_hit

    def report(self, permanent: Any) -> Packed:
        """A fresh report of a permanent answer, or of several (rows)."""
        kept = read_packed(permanent, self.size)
        reports = reported_bits(kept, self.size, self.one, self.zero)
        return reports[0] if np.ndim(permanent) == 1 else reports

    def randomize(self, values: Any) -> Any:
        """Packed reports of new permanent answers; a respondent who reports again keeps `permanent.randomize`."""
        return self.report(self.permanent.randomize(values))

    def derive(self, value: int, coins: Coins) -> Packed:
        """The permanent answer by its own `derive`, then one coin for each bit in their order."""
        kept = unpack(self.permanent.derive(value, coins), self.size)
        return pack([coins.coin(self.one if bit else self.zero) for bit in kept])

    @cached_property
    def channel(self) -> Channel:
        """Of one report."""
        return self.once.channel

    def supports(self, reports: Any) -> NDArray[np.int64]:
        """How many reports have the bit of each category."""
        return self.once.supports(reports)


def reported_bits(kept: Packed, size: int, one: Fraction, zero: Fraction) -> Packed:
    """Every bit drawn anew: one with probability `one` where the kept bit is set, with `zero` where it is not."""
    if_set, if_not = noise_bits(one, len(kept), size), noise_bits(zero, len(kept), size)
    return (kept & if_set) | (~kept & if_not)


def reported_chance(chance: Fraction, one: Fraction, zero: Fraction) -> Fraction:
    """The probability of a one in the report for a permanent bit that is set with `chance`."""
    return chance * one + (1 - chance) * zero


def set_report(randomizer: LocalMechanism, one: Number, zero: Number) -> None:
    """Sets the two probabilities of a fresh report; refuses those that tell nothing, or the other way round."""
    high, low = exact(one, "one"), exact(zero, "zero")
    if not 0 < low < high < 1:
        raise InvalidInput(
            f"one and zero must be probabilities with 0 < zero < one < 1, not {one} and {zero}; give for example 3/4 and 1/4"
        )
    object.__setattr__(randomizer, "one", high)
    object.__setattr__(randomizer, "zero", low)
