"""Integer weights just above length * e^(-exponent), made by the same operations for every candidate, and the exact ones on demand.

A candidate that is proposed in proportion to these weights is nearly always kept on the strength of the proposal alone; about once
in 2^36 times (2^29 for a million candidates) the exact weight decides. So time says nothing of the candidate drawn. See choice.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import factorial, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, LawViolated
from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.costs import FAR, TOGETHER, ZERO, Costs, Doubles, slices
from tacit.privacy.rounding import DIGITS, exp_down, exp_up

WORD = 64
TOP = 52  # the largest weight is from 2^50 to 2^53
BOTTOM = -60  # a weight of 2^-60 and less has the envelope 1 in any case
SLACK = 1 + 2.0**-38  # how far above the true weight doubles are pushed: see "The envelope" in choice.md
DOUBT = 36  # the last 2^-36 of an envelope, and two units, are where the true weight may end
GROUP = 1024  # weights are summed in int64 by groups: 1024 * 2^52.6 is below 2^63

PER_BINARY_DIGIT = 1 / log(2)
LOG_2 = 0xB17217F7D1 * 2.0**-40, 0xCF79ABC9E3B39 * 2.0**-92  # ln 2 in two parts; a multiple of the first is exact up to 2^13
SQUARINGS = 4
SERIES = [(-1) ** degree / factorial(degree) for degree in range(7)]  # of e^-x


@dataclass(frozen=True, slots=True, repr=False)  # a repr would quote the data
class Envelope:
    """Integer weights W[i] with 2^shift * lengths[i] * e^(-factor * costs[i]) <= W[i], in rows of one length, and their sums."""

    lengths: NDArray[Any]
    costs: Costs
    factor: Fraction
    weights: NDArray[np.int64]
    shift: int
    ends: list[int]

    @classmethod
    def above(cls, lengths: NDArray[Any], costs: Costs, factor: Fraction) -> Envelope:
        """The envelope of the weights; some candidate of positive length has exponent 0."""
        if lengths.shape != (costs.size,) or factor < 0:
            raise InvalidInput("a choice requires one length and one cost per candidate, and a factor of at least 0")
        rows = -(-lengths.size // GROUP)
        floats = np.zeros((rows, -(-lengths.size // rows)))
        powers = _scale(lengths, costs, factor, floats.reshape(-1))
        shift, weights = TOP - int(powers.max()), floats.view(np.int64)  # in place: the time of memory counts where it is large
        for part in slices(lengths.size):
            wholes = _whole(floats.reshape(-1)[part], powers[part] + shift)
            np.add(wholes, lengths[part] > 0, out=weights.reshape(-1)[part])
        return cls(lengths, costs, factor, weights, shift, list(accumulate(weights.sum(axis=1).tolist())))

    @property
    def total(self) -> int:
        """The sum of all weights, which is private."""
        return self.ends[-1]

    @property
    def most(self) -> int:
        """A number above the sum of that many weights."""
        return self.weights.size << TOP + 1

    def proposed(self, target: int) -> tuple[int, int]:
        """The candidate in whose weight a number from 0 to total - 1 falls, and how far into it."""
        row = bisect_right(self.ends, target)
        inside = target - (self.ends[row - 1] if row else 0)
        sums = np.cumsum(self.weights[row])
        column = int(np.searchsorted(sums, inside, side="right"))
        index = row * self.weights.shape[1] + column
        return index, inside - int(sums[column]) + self.weight(index)

    def weight(self, index: int) -> int:
        """The weight of one candidate in the envelope."""
        return int(self.weights.reshape(-1)[index])

    def keeps(self, index: int, depth: int) -> bool:
        """Whether `depth` and a uniform number of [0, 1) more is below the true weight of a candidate."""
        weight = self.weight(index)
        return depth < weight - (weight >> DOUBT) - 2 or self.decides(index, depth)

    def decides(self, index: int, depth: int) -> bool:
        """The same, from the exact weight; slower, and not equally slow for all."""
        scaled = int(self.lengths[index]) * Fraction(2) ** self.shift
        exponent = self.costs.exponent(index, self.factor)
        near = min(exponent, FAR)
        if scaled * exp_down(-near) > self.weight(index):
            raise LawViolated(
                "envelope", "internal check failed: a floating-point weight is below the true one; nothing was released"
            )
        return is_below(depth, scaled, near) and survives(exponent - near)


def negative_exponentials(exponents: Doubles, decays: Doubles, halvings: Doubles) -> None:
    """Write d and h with d * 2^-h = e^-exponent, within a relative 2^-46 and with d from 0.7 to 1.42, for exponents of 0 to 4096.

    Additions and multiplications alone, the same ones for every exponent: what a library's exp does takes several times as
    long where its result underflows. h is the nearest whole number of halvings, and the rest, for which the exponents are used
    up, is a series, squared four times.

    >>> decays, halvings = np.empty((2, 2))
    >>> negative_exponentials(np.array([0.0, 1.0]), decays, halvings)
    >>> (decays * 2.0**-halvings).round(12).tolist()
    [1.0, 0.367879441171]
    """
    np.multiply(exponents, PER_BINARY_DIGIT, out=halvings)
    np.rint(halvings, out=halvings)
    for part in LOG_2:
        np.multiply(halvings, part, out=decays)
        exponents -= decays
    exponents *= 2.0**-SQUARINGS
    np.multiply(exponents, SERIES[-1], out=decays)
    decays += SERIES[-2]
    for coefficient in SERIES[-3::-1]:
        decays *= exponents
        decays += coefficient
    for _ in range(SQUARINGS):
        decays *= decays


def is_below(drawn: int, scaled: Fraction, exponent: Fraction) -> bool:
    """Whether `drawn` and a uniform number of [0, 1) is below scaled * e^-exponent: both are refined until they differ."""
    taken, digits = 0, DIGITS
    while True:
        low, high = scaled * exp_down(-exponent, digits), scaled * exp_up(-exponent, digits)
        if drawn + 1 <= low * 2**taken:
            return True
        if drawn >= high * 2**taken:
            return False
        drawn, taken, digits = drawn << WORD | int(bits.random_words(1)[0]), taken + WORD, 2 * digits


def survives(exponent: Fraction) -> bool:
    """True with probability e^-exponent, exactly: a product of as many factors as it takes; the first nearly always says no."""
    return all(is_below(0, Fraction(1), part) for part in _parts(exponent))


def _scale(lengths: NDArray[Any], costs: Costs, factor: Fraction, floats: Doubles) -> NDArray[np.int16]:
    """Powers p, after d is written into `floats`: d * 2^p is the weight of each candidate, and d is below 1.42."""
    powers, halvings = np.empty(lengths.size, dtype=np.int16), np.empty(min(lengths.size, TOGETHER))
    for part in slices(lengths.size):
        halved = halvings[: part.stop - part.start]
        negative_exponentials(costs.exponents(factor, part), floats[part], halved)
        mantissas, doublings = np.frexp(lengths[part].astype(np.float64))
        floats[part] *= mantissas
        np.subtract(doublings, halved, out=powers[part], casting="unsafe")
    return powers


def _whole(floats: Doubles, powers: NDArray[np.int16]) -> NDArray[np.int64]:
    """floats * 2^powers and the slack, rounded down; the power is written into the bits of a double."""
    biased = np.maximum(powers, BOTTOM).astype(np.int64)
    biased += 1023
    biased <<= 52
    scaled = floats * biased.view(np.float64)
    scaled *= SLACK
    return scaled.astype(np.int64)


def _parts(exponent: Fraction) -> Iterator[Fraction]:
    """Pieces of at most 4096 that sum to `exponent`: an event of probability e^-4096 is almost never followed by a second one."""
    while exponent > ZERO:
        yield min(exponent, FAR)
        exponent -= FAR
