"""Continuous Laplace noise of scale 1, drawn exactly and listed to 50 digits.

For a scale that is public, use the discrete Laplace noise of discrete.py. This one is multiplied by a scale that depends on the
data, and rounded to the grid after that, so it must be a real number first. Proof in heavy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.noise.enclosure import Enclosure
from tacit.mechanisms.noise.lazy import WORD, Draw, Known, Words, as_array, draw_of, extended, sign_of, words
from tacit.mechanisms.noise.pool import drawn_ahead

GUARD = 15  # digits that the formulas below may lose


@dataclass(frozen=True, slots=True)
class LaplaceTails:
    """Noise of density exp(-|z|) / 2.

    >>> f"{LaplaceTails().beyond(Fraction(2), 20):.5f}"
    '0.06767'
    """

    def draw(self) -> Draw:
        """One draw, from a block drawn ahead."""
        taken: Draw = drawn_ahead(laplace_draws, Fraction(1), 1)[0]
        return taken

    def within(self, size: Fraction, digits: int) -> Decimal:
        """(1 - exp(-size)) / 2, with digits added for those that cancel where the size is small."""
        small = len(str(size.denominator // max(size.numerator, 1)))
        context = Context(prec=digits + GUARD + small)
        return context.subtract(Decimal("0.5"), self.beyond(size, digits + small))

    def beyond(self, size: Fraction, digits: int) -> Decimal:
        """P[Z > size], to that many digits."""
        return _tail(size, digits)

    def density(self, size: float) -> float:
        """The density of Z at a size."""
        return math.exp(-abs(size)) / 2


def laplace_draws(_scale: Fraction, size: int) -> NDArray[np.object_]:
    """`size` exact draws of scale 1.

    >>> len(laplace_draws(Fraction(1), size=3))
    3
    """
    source = words()
    return as_array([_draw(source) for _ in range(size)])


@lru_cache(maxsize=4096)
def _tail(size: Fraction, digits: int) -> Decimal:
    """exp(-size) / 2"""
    context = Context(prec=digits + GUARD)
    exponent = context.divide(Decimal(-size.numerator), Decimal(size.denominator))
    return context.divide(context.exp(exponent), 2)


def _draw(source: Words) -> Draw:
    """An exponential size: whole part by counting rejections, fraction by von Neumann's comparisons (1951)."""
    whole = 0
    while (known := _keep(source)) is None:
        whole += 1
    return draw_of(sign_of(next(source)), partial(_size, whole), known, source)


def _keep(source: Words) -> Known | None:
    """A uniform number x, kept with probability exp(-x): where the run x > u1 > u2 > ... that it begins has an odd length."""
    first = (next(source), WORD)
    first, fell, last = _compare(first, (next(source), WORD), source)
    length = 1
    while fell:
        length += 1
        last, fell, following = _compare(last, (next(source), WORD), source)
        last = following
    return first if length % 2 else None


def _compare(one: Known, other: Known, source: Words) -> tuple[Known, bool, Known]:
    """Both numbers, with the bits that it took to tell them apart, and whether the first is the larger."""
    while one[0] == other[0] or one[1] != other[1]:
        if one[1] <= other[1]:
            one = extended(one, source)
        if other[1] < one[1]:
            other = extended(other, source)
    return one, one[0] > other[0], other


def _size(whole: int, known: Known) -> Enclosure:
    prefix, length = known
    low = (whole << length) + prefix
    return low, low + 1
