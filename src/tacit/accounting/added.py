"""How far the sum of several independent draws of noise goes: the law of the sum, from above. Proof in added.md."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.calibrate import discrete_laplace_error
from tacit.privacy.rounding import log_up, sqrt_up

LISTED = 8_000  # the deviation, in units of the grid, up to which the law of a sum is computed whole
SLACK = 1e-8  # of what is computed so; a chance of a miss below 100 of it is bounded otherwise
REACH = 8  # deviations from the middle to the end of the list, and 50 scales more: beyond lies less than e^-23
UP = Context(prec=40, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)


@lru_cache(maxsize=1024)
def added_error(noise: str, scale: Fraction, count: int, missed: Fraction) -> int:
    """A whole k with P[|X_1 + ... + X_count| > k] <= missed, of independent discrete Laplace or Gaussian noise.

    >>> added_error("Laplace", Fraction(8), 1, Fraction(1, 20)), added_error("Laplace", Fraction(8), 3, Fraction(1, 20))
    (24, 40)
    """
    if scale == 0 or missed >= 1:
        return 0
    if noise == "Laplace" and count == 1:
        return discrete_laplace_error(scale, missed)
    deviation = float(scale) * math.sqrt((2 if noise == "Laplace" else 1) * count)
    if deviation <= LISTED and missed >= 100 * SLACK:
        return _listed(noise, float(scale), count, float(missed))
    return _laplace(scale, count, missed) if noise == "Laplace" else _gaussian(scale, count, missed)


def moments_error(noise: str, scale: Fraction, count: int, missed: Fraction) -> int:
    """The same by the moments of the noise alone: wider, and quick for any number of draws."""
    needed, width = math.log(2) - math.log(missed.numerator) + math.log(missed.denominator), float(scale)
    if noise == "Gaussian":
        return math.ceil(width * math.sqrt(2 * count * needed) * (1 + 1e-12))
    slopes = np.linspace(0.002, 0.998, 500) / width
    grown = 2 * math.log(-math.expm1(-1 / width)) - np.log(-np.expm1(slopes - 1 / width)) - np.log(-np.expm1(-slopes - 1 / width))
    return math.ceil(float(np.min((count * grown + needed) / slopes)) * (1 + 1e-9))


def _listed(noise: str, scale: float, count: int, missed: float) -> int:
    """From the law of the sum, listed."""
    return int(np.argmax(1 - listed_law(noise, scale, count) + SLACK <= missed))


@lru_cache(maxsize=16)
def listed_law(noise: str, scale: float, count: int) -> NDArray[np.float64]:
    """P[|X_1 + ... + X_count| <= k] for k = 0, 1, ..., to within `SLACK`, for a deviation of at most `LISTED`.

    The law is wrapped around a circle that is so long that what is wrapped does not count.
    """
    deviation = scale * math.sqrt((2 if noise == "Laplace" else 1) * count)
    size = 2 ** math.ceil(math.log2(2 * (REACH * deviation + 50 * scale + 50)))
    if noise == "Laplace":
        ratio = math.exp(-1 / scale)
        angles = 2 * np.pi * np.arange(size // 2 + 1) / size
        one = (1 - ratio) ** 2 / ((1 - ratio) ** 2 + 4 * ratio * np.sin(angles / 2) ** 2)
    else:
        places = np.minimum(np.arange(size), size - np.arange(size)).astype(np.float64)
        weights = np.exp(-(places**2) / (2 * scale**2))
        one = np.fft.rfft(weights / weights.sum()).real
    law = np.fft.irfft(one**count, size)
    inside: NDArray[np.float64] = law[0] + 2 * np.cumsum(np.concatenate([[0.0], law[1 : size // 2]]))
    inside.setflags(write=False)
    return inside


def _laplace(scale: Fraction, count: int, missed: Fraction) -> int:
    """By the sum of continuous noise, which is at most `count` away: a mixture of Gamma laws."""
    low, high = 0, math.ceil(scale)
    while _gamma_tail_up(count, high, scale) * 2 > missed:
        low, high = high, 2 * high
    while low + 1 < high and (high - low) * 2000 > high:
        middle = (low + high) // 2
        low, high = (low, middle) if _gamma_tail_up(count, middle, scale) * 2 <= missed else (middle, high)
    return high + count


def _gamma_tail_up(count: int, beyond: int, scale: Fraction) -> Fraction:
    """At or above P[Y_1 + ... + Y_count > beyond] of Laplace noise: sum over k of C(count-1+k, k) 2^-(count+k) Q(count-k, x)."""
    place = UP.divide(Decimal(beyond * scale.denominator), Decimal(scale.numerator))
    below = Context(prec=40, Emin=-(10**9), Emax=10**9).multiply(place, Decimal(1) - Decimal(10) ** -38)
    tails, term, total = [], UP.exp(-below), Decimal(0)
    for at in range(count):
        total = UP.add(total, term)
        tails.append(total)
        term = UP.divide(UP.multiply(term, place), Decimal(at + 1))
    weight, found = UP.power(Decimal(2), Decimal(-count)), Decimal(0)
    for at in range(count):
        found = UP.add(found, UP.multiply(weight, tails[count - 1 - at]))
        weight = UP.divide(UP.multiply(weight, Decimal(count + at)), Decimal(2 * (at + 1)))
    return Fraction(UP.multiply(found, Decimal("1.000001")))


def _gaussian(scale: Fraction, count: int, missed: Fraction) -> int:
    """By rounded continuous noise, which is at most half a step away for each; in the far tail by the moments of the noise."""
    safe = math.ceil(sqrt_up(2 * count * scale**2 * log_up(2 / missed)))
    deviation = float(scale) * math.sqrt(count)
    factor = math.exp(count / (24 * float(scale) ** 2)) * (1 + 1e-9) if scale >= 1 else math.inf
    wanted = float(missed)
    if wanted < 1e-250 or factor > 2:
        return safe
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if factor * math.erfc(middle / math.sqrt(2)) <= wanted else (middle, high)
    return min(safe, math.ceil(high * deviation * (1 + 1e-9) + count / 2))
