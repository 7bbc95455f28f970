"""Integers x with probability proportional to e^-E(|x|), exactly, for E(m) = quadratic m^2 + linear m.

The axis is cut into blocks of 2^k integers. A table picks a block; inside it the low bits are uniform, which is right for the
part of the block's weight below its lowest point (nearly all of it). The wedge above that is settled by rejection, and so is the
tail beyond the last block. Nothing is rounded and nothing is cut off: the proof is in discrete.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.enclosure import Enclosure, difference, exponential, exponentials, happens, quotient, rise
from tacit.mechanisms.noise.table import Table

BLOCKS_PER_SCALE = 64
LARGEST_SHIFT = 46  # so that values fit in an int64 up to 2^6 times the begin of the tail; wider blocks give Python integers
MARGIN = 2.0**-40  # far above the error of `_share` in floating point, which discrete.md bounds by 2^-46
SERIES = [1 / factorial(degree + 1) for degree in range(11)]  # of (e^x - 1) / x

Integers = NDArray[Any]  # int64, or object where a value may not fit


@dataclass(frozen=True, slots=True)
class Decay:
    """E(m) = quadratic m^2 + linear m: both at least 0, and not both 0.

    `scale` sets the width of blocks and `reach` where the tail begins; neither changes the law.
    """

    quadratic: Fraction
    linear: Fraction
    scale: Fraction
    reach: Fraction

    def exponent(self, magnitude: int) -> Fraction:
        """The exponent at a magnitude: the law is proportional to e to its negative."""
        return (self.quadratic * magnitude + self.linear) * magnitude

    def slope(self, magnitude: int) -> Fraction:
        """The derivative of E; E is convex, so beyond `magnitude` it grows at least this fast."""
        return 2 * self.quadratic * magnitude + self.linear


def laplace(scale: Fraction) -> Decay:
    """E(m) = m / scale."""
    return Decay(Fraction(0), 1 / scale, scale, scale * 25 / 2)


def gaussian(scale: Fraction) -> Decay:
    """E(m) = m^2 / (2 scale^2)."""
    return Decay(1 / (2 * scale**2), Fraction(0), scale, 5 * scale)


@lru_cache(maxsize=64)
def sampler(decay: Decay) -> Sampler:
    """The sampler of a law, kept for the next time; one holds about 250 kB."""
    return Sampler(decay)


def geometric(slope: Fraction, count: int) -> Integers:
    """`count` draws from 0, 1, 2, ... with weights e^-(slope k): discrete Laplace noise folded about -1/2."""
    drawn = sampler(laplace(1 / slope)).draw(count)
    return np.where(drawn < 0, ~drawn, drawn)


class Sampler:
    """Draws from one law.

    Outcome 2 B + s of the table is block B on side s (0 holds 0, 1, ...; 1 holds -1, -2, ...). If a block is wider than one
    integer, as many outcomes follow for the wedges; the last two are the tails of both sides.
    """

    def __init__(self, decay: Decay) -> None:
        self.decay = decay
        self.shift = max(int(decay.scale / BLOCKS_PER_SCALE).bit_length() - 1, 0)
        self.width = 1 << self.shift
        self.blocks = -(-decay.reach // self.width)
        self.slope = decay.slope(self.blocks * self.width)
        self.wedges = 2 * self.blocks
        self.tails = self.wedges if self.width == 1 else 2 * self.wedges
        self.table = Table(self.weights)

    def weights(self, precision: int) -> list[Enclosure]:
        """A block weighs what its lowest point does, its wedge what its highest point does beyond that, a tail its envelope.

        All of them over the width.
        """
        precision += 2 * int(1 / self.slope).bit_length()
        tops = self._along(0, precision), self._along(1, precision)
        floors = self._along(self.width - 1, precision), self._along(self.width, precision)
        peaks = list(chain.from_iterable(zip(*tops, strict=True)))
        blocks = list(chain.from_iterable(zip(*floors, strict=True)))[: self.wedges]
        wedges = [difference(peak, floor) for peak, floor in zip(peaks, blocks, strict=False)][: self.tails - self.wedges]
        return blocks + wedges + [self._tail_weight(peak, precision) for peak in peaks[self.wedges :]]

    def _along(self, start: int, precision: int) -> list[Enclosure]:
        """e^-E at `start`, and at as many widths further as there are blocks."""
        first, second, third = (self.decay.exponent(start + block * self.width) for block in range(3))
        return exponentials((first, second, third), self.blocks + 1, precision)

    def _tail_weight(self, peak: Enclosure, precision: int) -> Enclosure:
        one = 1 << precision, 1 << precision
        low, high = quotient(peak, difference(one, exponential(self.slope, precision)), precision)
        return low >> self.shift, -(-high >> self.shift)

    def draw(self, count: int) -> Integers:
        """`count` independent values."""
        outcomes = self.table.draw(count)
        values = self._place(outcomes)
        special = np.flatnonzero(outcomes >= self.wedges)
        return self._settle(values, special, outcomes[special]) if special.size else values

    def _place(self, outcomes: NDArray[np.int16]) -> Integers:
        """Each outcome's block (or that of its wedge) with uniform low bits; ~x = -1 - x mirrors the axis, so side 1 is ~B."""
        places = np.where(outcomes < self.wedges, outcomes, outcomes - self.wedges)
        blocks = (places >> 1) ^ -(places & 1)
        if self.shift > LARGEST_SHIFT:
            return (blocks.astype(object) << self.shift) + _long_words(outcomes.size, self.shift)
        values: NDArray[np.int64] = blocks.astype(np.int64)
        if self.shift:
            values <<= self.shift
            values += _short_words(outcomes.size, self.shift)
        return values

    def _settle(self, values: Integers, special: NDArray[np.intp], outcomes: NDArray[np.int16]) -> Integers:
        """Values whose wedges and tails are settled: kept, replaced by one of the tail, or drawn anew if rejected."""
        in_tail = outcomes >= self.tails
        wedges = special[~in_tail]
        kept = self._keep(np.abs(values[wedges]), outcomes[~in_tail] - self.wedges)
        rejected = list(wedges[~kept])
        for position, outcome in zip(special[in_tail], outcomes[in_tail], strict=True):
            value = self._tail(int(outcome) & 1)
            if value is None:
                rejected.append(position)
            else:
                values = _replace(values, [position], _integers(value))
        return _replace(values, rejected, self.draw(len(rejected))) if rejected else values

    def _keep(self, magnitudes: Integers, outcomes: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Whether each value in a wedge is below e^-E there: by floating point where that is sure, exactly elsewhere."""
        drawn = bits.random_words(len(magnitudes))
        if self.shift > LARGEST_SHIFT:
            unsure, kept = np.arange(len(magnitudes)), np.zeros(len(magnitudes), dtype=bool)
        else:
            above = drawn * 2.0**-64 - self._share(magnitudes, outcomes.astype(np.int64))
            unsure, kept = np.flatnonzero(np.abs(above) <= MARGIN), above < 0
        for place in unsure:
            kept[place] = self.keeps(int(magnitudes[place]), int(outcomes[place]), int(drawn[place]))
        return kept

    def _share(self, magnitudes: Integers, outcomes: Integers) -> NDArray[np.float64]:
        """The probability to keep a value of a wedge, to within 2^-46: (e^a - 1) / (e^b - 1) by its series, a <= b <= 1/8."""
        top = ((outcomes >> 1) << self.shift) + (outcomes & 1)
        floor = top + self.width - 1
        quadratic, linear = float(self.decay.quadratic), float(self.decay.linear)
        part = (floor - magnitudes) * (quadratic * (floor + magnitudes) + linear)
        whole = (self.width - 1) * (quadratic * (floor + top) + linear)
        share: NDArray[np.float64] = part * _series(part) / (whole * _series(whole))
        return share

    def keeps(self, magnitude: int, outcome: int, drawn: int) -> bool:
        """The exact decision on one value of a wedge, for a uniform number that begins with the 64 bits `drawn`."""
        top = (outcome >> 1) * self.width + (outcome & 1)
        at, highest, lowest = (self.decay.exponent(m) for m in (magnitude, top, top + self.width - 1))
        return happens(lambda precision: rise(lowest - at, lowest - highest, precision), drawn)

    def _tail(self, side: int) -> int | None:
        """A value beyond the last block, or None if it is rejected."""
        start = self.blocks * self.width + side
        beyond = int(geometric(self.slope, 1)[0])
        excess = self.decay.exponent(start + beyond) - self.decay.exponent(start) - self.slope * beyond
        if not happens(lambda precision: exponential(excess, precision), int(bits.random_words(1)[0])):
            return None
        return -(start + beyond) if side else start + beyond


def _short_words(count: int, width: int) -> Integers:
    """`count` uniform integers of `width` bits, at most 62."""
    size = next(size for size in (16, 32, 64) if width <= size)
    words = bits.random_words(-(-count * size // 64)).view(f"u{size // 8}")[:count] >> (size - width)
    return words.view(np.int64) if size == 64 else words


def _long_words(count: int, width: int) -> Integers:
    """`count` uniform integers of `width` bits, as Python integers."""
    each = -(-width // 64)
    words = bits.random_words(count * each).reshape(count, each)
    integers = np.empty(count, dtype=object)
    integers[:] = [int.from_bytes(row.tobytes(), "little") >> (64 * each - width) for row in words]
    return integers


def _series(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """(e^x - 1) / x for 0 <= x <= 1/8."""
    result = np.full_like(x, SERIES[-1])
    for coefficient in SERIES[-2::-1]:
        result = result * x + coefficient
    return result


def _integers(value: int) -> Integers:
    return np.array([value], dtype=np.int64 if -(2**63) <= value < 2**63 else object)


def _replace(values: Integers, positions: list[np.intp], replacements: Integers) -> Integers:
    """`values` with some replaced, as Python integers if a replacement needs it."""
    if replacements.dtype == object and values.dtype != object:
        values = values.astype(object)
    values[positions] = replacements
    return values
