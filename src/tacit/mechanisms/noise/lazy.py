"""Real numbers drawn at random, of which as many bits are drawn as a question about them needs.

A draw is a sign and a function of one uniform number of [0, 1). Of the uniform number a prefix is known; the bits after it are
fair and nobody has looked at them. So the draw lies in an interval, and a question whose answer is the same all over the interval
is answered exactly; else more bits are drawn. No rounding error is left to hide in: see heavy.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.enclosure import Enclosure

WORD = 64
FIRST = 2 * WORD  # bits of the uniform number that are known of every draw: a question needs more about once in 2^50 times

Words = Iterator[int]
Known = tuple[int, int]  # the first bits of a uniform number, as an integer, and how many they are
Shape = Callable[[Known], Enclosure]  # what they say of the draw's size, in units of 2^-(how many)


@dataclass(frozen=True, slots=True)
class Draw:
    """sign * size, where what is `known` of the uniform number puts the size between two integers over 2^bits."""

    sign: int
    shape: Shape
    known: Known
    size: Enclosure

    def refined(self) -> Draw:
        """The same draw, known to one word more."""
        known = extended(self.known, words())
        return replace(self, known=known, size=self.shape(known))

    def rounded(self, centre: Fraction, scale: Fraction) -> int:
        """The whole number nearest to centre + scale * draw, exactly: the floor of that plus one half."""
        draw = self
        while True:
            low, high = (draw._rounded(size, centre, scale) for size in draw.size)
            if low == high:
                return low
            draw = draw.refined()

    def _rounded(self, size: int, centre: Fraction, scale: Fraction) -> int:
        """floor(centre + scale * sign * size / 2^bits + 1/2), in integers."""
        bits_known = self.known[1]
        moved = 2 * self.sign * size * scale.numerator * centre.denominator
        middle = (2 * centre.numerator + centre.denominator) * scale.denominator << bits_known
        return (middle + moved) // (2 * centre.denominator * scale.denominator << bits_known)


def words() -> Words:
    """Random words without end, drawn some at a time."""
    while True:
        yield from bits.random_words(WORD).tolist()


def extended(known: Known, source: Words) -> Known:
    """One word of bits more."""
    prefix, length = known
    return prefix << WORD | next(source), length + WORD


def draw_of(sign: int, shape: Shape, known: Known, source: Words) -> Draw:
    """The draw with at least FIRST bits known, and more while all of them are zero, where a shape may have a pole."""
    while known[1] < FIRST or known[0] == 0:
        known = extended(known, source)
    return Draw(sign, shape, known, shape(known))


def uniform_below(limit: int, source: Words) -> int:
    """A uniform integer of 0 to limit - 1, for a limit below 2^64: words beyond the last full round are passed over."""
    rounds = 2**WORD // limit * limit
    return next(word for word in source if word < rounds) % limit


def sign_of(word: int) -> int:
    """-1 or 1, from one bit of a random word."""
    return 1 - 2 * (word & 1)


def as_array(draws: list[Draw]) -> NDArray[np.object_]:
    """The draws in an array, one to an entry."""
    array = np.empty(len(draws), dtype=object)
    array[:] = draws
    return array
