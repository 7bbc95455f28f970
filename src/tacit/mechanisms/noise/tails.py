"""The protocol of continuous, symmetric noise: one exact draw, and its law to 50 digits.

The law is computed from the definition of the noise, never from draws, so that the loss of a mechanism can be checked exactly
on small worlds.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Protocol, runtime_checkable

from tacit.mechanisms.noise.lazy import Draw
from tacit.privacy.law import ARITHMETIC
from tacit.privacy.rounding import float_up

DIGITS = 80  # to begin with; more where a difference cancels them
SPARE = 60  # digits that must be left of a difference
NEGLIGIBLE = 5000  # a probability below ten to minus this is listed as 0
HALF = Decimal("0.5")
FINE = Fraction(1, 2**40)


@runtime_checkable
class Tails(Protocol):
    """A law of continuous noise Z, symmetric around 0."""

    def draw(self) -> Draw:
        """One draw."""

    def within(self, size: Fraction, digits: int) -> Decimal:
        """P[0 < Z < size] for size >= 0, to a relative error of about 10^-digits."""

    def beyond(self, size: Fraction, digits: int) -> Decimal:
        """P[Z > size] for size >= 0, to a relative error of about 10^-digits."""

    def density(self, size: float) -> float:
        """The density at a point, for charts."""


def between(noise: Tails, low: Fraction | None, high: Fraction | None) -> Decimal:
    """P[low < Z < high] to 50 digits; None stands for infinity."""
    digits = DIGITS
    while True:
        one, other = _two_parts(noise, low, high, digits)
        mass = Context(prec=digits).add(one, other)
        if mass > 0 and mass.adjusted() >= one.adjusted() - digits + SPARE:
            return ARITHMETIC.plus(mass)
        if digits > NEGLIGIBLE:
            return Decimal(0)
        digits *= 2


def rounded_law(noise: Tails, centre: Fraction, scale: Fraction, lower: int, upper: int) -> dict[int, Decimal]:
    """The probability of each whole number from `lower` to `upper` as floor(centre + scale Z + 1/2), clamped to them."""
    edges = [(Fraction(2 * unit + 1, 2) - centre) / scale for unit in range(lower, upper)]
    return {lower + place: between(noise, low, high) for place, (low, high) in enumerate(pairwise([None, *edges, None]))}


def size_up(noise: Tails, confidence: Fraction) -> Fraction:
    """A number at or above the least z with P[|Z| <= z] >= confidence, and at most 2^-39 of itself above it."""
    rest = Decimal(confidence.denominator - confidence.numerator) / (2 * Decimal(confidence.denominator))
    low, high = Fraction(0), Fraction(1)
    while noise.beyond(high, DIGITS) > rest:
        low, high = high, 2 * high
    while high - low > FINE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if noise.beyond(middle, DIGITS) > rest else (low, middle)
    return Fraction(float_up(high)) * (1 + FINE)


def _two_parts(noise: Tails, low: Fraction | None, high: Fraction | None, digits: int) -> tuple[Decimal, Decimal]:
    """Two numbers, the larger first, whose sum is P[low < Z < high]."""
    if low is not None and low >= 0:
        return _one_sided(noise, low, high, digits)
    if high is not None and high <= 0:
        return _one_sided(noise, -high, None if low is None else -low, digits)
    parts = sorted(HALF if size is None else noise.within(abs(size), digits) for size in (low, high))
    return parts[1], parts[0]


def _one_sided(noise: Tails, low: Fraction, high: Fraction | None, digits: int) -> tuple[Decimal, Decimal]:
    if high is None:
        return noise.beyond(low, digits), Decimal(0)
    if high <= 1:
        return noise.within(high, digits), noise.within(low, digits).copy_negate()
    return noise.beyond(low, digits), noise.beyond(high, digits).copy_negate()
