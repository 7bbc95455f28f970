"""Real numbers drawn at random, with as many bits as a question about them needs.

A draw is a sign and a function of one uniform number of [0, 1). Of the uniform number a prefix is known; the bits after it are
fair and nothing has looked at them. So the draw lies in an interval, and a question whose answer is the same all over the interval
is answered exactly; else more bits are drawn. No rounding error is left to hide in: see heavy.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.enclosure import Enclosure

WORD = 64
FIRST = 2 * WORD  # bits of the uniform number that are known of every draw: a question needs more about once in 2^50 times
LARGE = 1 << 64  # a draw is larger with probability below 2^-32, and below 2^-64 where gamma is at least 2

Words = Iterator[int]
Known = tuple[int, int]  # the first bits of a uniform number, as an integer, and how many they are
Shape = Callable[[Known], Enclosure]  # what they say of the draw's size, in units of 2^-(how many)


@dataclass(frozen=True, slots=True)
class Draw:
    """sign * size, where what is `known` of the uniform number puts the size between two integers over 2^bits.

    It is carried on top of a large constant, so that the integers have one length, and the arithmetic takes one time, whatever
    was drawn.
    """

    sign: int
    shape: Shape
    known: Known
    carried: Enclosure

    @classmethod
    def of(cls, sign: int, shape: Shape, known: Known) -> Draw:
        """The draw whose size is enclosed by what is known."""
        low, high = shape(known)
        base = LARGE << known[1]
        return cls(sign, shape, known, (base + sign * low, base + sign * high))

    def refined(self) -> Draw:
        """The same draw, known to one word more."""
        return Draw.of(self.sign, self.shape, extended(self.known, words()))

    def rounded(self, centre: Fraction, scale: Fraction) -> int:
        """The whole number nearest to centre + scale * draw, exactly: the floor of that plus one half."""
        draw = self
        while True:
            low, high = (draw._round(carried, centre, scale) for carried in draw.carried)
            if low == high:
                return low
            draw = draw.refined()

    def _round(self, carried: int, centre: Fraction, scale: Fraction) -> int:
        """floor(centre + scale * (carried / 2^bits - LARGE) + 1/2), in integers; the quotient, too, is carried on a constant."""
        one = 1 << self.known[1]
        step = 2 * scale.numerator * centre.denominator
        unit = 2 * centre.denominator * scale.denominator * one
        middle = (2 * centre.numerator + centre.denominator) * scale.denominator * one - step * (LARGE * one) + unit * LARGE**3
        return (step * carried + middle) // unit - LARGE**3


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
    return Draw.of(sign, shape, known)


def uniform_from(limit: int, source: Words) -> int:
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
