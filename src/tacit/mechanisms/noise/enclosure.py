"""Real numbers held between two integers, to any precision, and uniform numbers compared with them.

An enclosure `(low, high)` of a number at `precision` bits says low <= number * 2**precision <= high. Everything here rounds
outward, so a comparison that is decided is decided for the real number itself.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from tacit.mechanisms.noise import bits

Enclosure = tuple[int, int]


def exponential(x: Fraction, precision: int) -> Enclosure:
    """e^-x for x >= 0. Python's `decimal` rounds exp correctly; one step of its last place passes the true value.

    >>> low, high = exponential(Fraction(1), 64)
    >>> low / 2**64, high - low
    (0.36787944117144233, 1)
    """
    if x == 0:
        return 1 << precision, 1 << precision
    if x > precision:  # then e^-x < 2^-precision
        return 0, 1
    digits = precision * 31 // 100 + 12  # 10^-digits is far below 2^-precision
    down, up = (Context(prec=digits, rounding=way, Emin=MIN_EMIN) for way in (ROUND_FLOOR, ROUND_CEILING))
    numerator, denominator = Decimal(-x.numerator), Decimal(x.denominator)
    low = Fraction(down.next_minus(down.exp(down.divide(numerator, denominator))))
    high = Fraction(up.next_plus(up.exp(up.divide(numerator, denominator))))
    return (low.numerator << precision) // low.denominator, -((-high.numerator << precision) // high.denominator)


def product(one: Enclosure, other: Enclosure, precision: int) -> Enclosure:
    """one * other, for numbers that are not negative."""
    return one[0] * other[0] >> precision, -(-one[1] * other[1] >> precision)


def quotient(one: Enclosure, other: Enclosure, precision: int) -> Enclosure:
    """one / other, for one >= 0 and other certainly above 0."""
    return (one[0] << precision) // other[1], -((-one[1] << precision) // other[0])


def difference(one: Enclosure, other: Enclosure) -> Enclosure:
    """one - other, for one >= other."""
    return max(one[0] - other[1], 0), one[1] - other[0]


def rise(part: Fraction, whole: Fraction, precision: int) -> Enclosure:
    """(e^part - 1) / (e^whole - 1) for 0 <= part <= whole and whole > 2^-32: e^-whole is taken out above and below."""
    finer = precision + 64
    floor = exponential(whole, finer)
    above = difference(exponential(whole - part, finer), floor)
    low, high = quotient(above, difference((1 << finer, 1 << finer), floor), finer)
    return low >> 64, -(-high >> 64)


def exponentials(exponents: tuple[Fraction, Fraction, Fraction], count: int, precision: int) -> list[Enclosure]:
    """e^-E(0), ..., e^-E(count - 1) for the polynomial E of degree at most two that begins with the three `exponents`.

    The second difference of E is constant, so each term is the one before times a ratio, and each ratio the one before
    times a constant. E must not decrease and must be convex.
    """
    first, second, third = exponents
    value = exponential(first, precision)
    ratio = exponential(second - first, precision)
    bend = exponential(third - 2 * second + first, precision)
    terms = []
    for _ in range(count):
        terms.append(value)
        value = product(value, ratio, precision)
        ratio = product(ratio, bend, precision)
    return terms


def happens(probability: Callable[[int], Enclosure], drawn: int) -> bool:
    """True with exactly the enclosed probability: whether a uniform number of [0, 1) lies below it.

    `drawn` is the number's first 64 bits; more are drawn, and the probability is computed further, as long as they tie.
    """
    precision = 64
    while True:
        low, high = probability(precision)
        if drawn + 1 <= low:
            return True
        if drawn >= high:
            return False
        drawn = drawn << 64 | int(bits.random_words(1)[0])
        precision += 64
