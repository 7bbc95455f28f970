"""The law of discrete Laplace noise to 50 digits, from its definition: what exact checks of a loss are made of."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from tacit.privacy.law import ARITHMETIC


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLaw:
    """X with P[X = k] = (1 - p) / (1 + p) p^|k|, p = e^(-1/scale).

    >>> noise = DiscreteLaplaceLaw(Fraction(2))
    >>> round(noise.mass(0), 6), round(noise.at_least(1), 6), round(noise.below(1), 6)
    (Decimal('0.244919'), Decimal('0.377541'), Decimal('0.622459'))
    """

    scale: Fraction

    def mass(self, k: int) -> Decimal:
        """P[X = k]."""
        return _mass(self.scale, abs(k))

    def at_least(self, k: int) -> Decimal:
        """P[X >= k]."""
        return _at_least(self.scale, k)

    def below(self, k: int) -> Decimal:
        """P[X < k] = P[X >= 1 - k], by symmetry."""
        return _at_least(self.scale, 1 - k)

    def reach(self) -> int:
        """A k with P[|X| > k] below 10^-60: beyond it nothing shows in 50 digits."""
        return int(self.scale * 140) + 1


@lru_cache(maxsize=2**16)
def _mass(scale: Fraction, k: int) -> Decimal:
    ratio = _power(scale, 1)
    share = ARITHMETIC.divide(ARITHMETIC.subtract(1, ratio), ARITHMETIC.add(1, ratio))
    return ARITHMETIC.multiply(share, _power(scale, k))


@lru_cache(maxsize=2**16)
def _at_least(scale: Fraction, k: int) -> Decimal:
    """p^k / (1 + p) from 0 on; below 0 what is left by symmetry."""
    if k < 0:
        return ARITHMETIC.subtract(1, _at_least(scale, 1 - k))
    return ARITHMETIC.divide(_power(scale, k), ARITHMETIC.add(1, _power(scale, 1)))


@lru_cache(maxsize=2**16)
def _power(scale: Fraction, k: int) -> Decimal:
    exponent = k / scale
    return ARITHMETIC.exp(ARITHMETIC.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))
