"""How far a weighted sum of many independent noises goes: the intervals of numbers that are made of them. Proof in residual.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.tree.margins import NEGLECTED, Weighted

Floats = NDArray[np.float64]
LEAST_BY_LAW = Fraction(1, 10**6)  # a smaller chance is bounded by moments alone
SLACK = 1e-9  # relative; more than what doubles lose in a width
LOST = 1e-9  # the same for a chance, and for the logarithm of a factor
LEAST_CHANCE = 1e-250  # below it the tail of a double is not one


@dataclass(frozen=True, slots=True)
class Weights:
    """Independent noises: each with the absolute value of its weight, and how many draws of it have that weight."""

    noises: tuple[Laplace | Gaussian, ...]
    sizes: tuple[float, ...]
    numbers: tuple[int, ...]

    def of_kind(self, kind: type[Laplace | Gaussian]) -> Weights:
        """The noises of one kind among them."""
        listed = [each for each in zip(self.noises, self.sizes, self.numbers, strict=True) if isinstance(each[0], kind)]
        return Weights(*(tuple(each[at] for each in listed) for at in range(3)))  # type: ignore[arg-type]

    @property
    def variance(self) -> float:
        """The variance of the sum."""
        parts = zip(self.noises, self.sizes, self.numbers, strict=True)
        return sum(float(variance_of(noise)) * size**2 * number for noise, size, number in parts)


@lru_cache(maxsize=4096)
def variance_of(noise: Laplace | Gaussian) -> Fraction:
    """The variance of one draw as estimates weigh it: that of continuous noise of the same scale, for Laplace noise 2 b^2.

    >>> variance_of(Laplace(1, Fraction(1, 4), step=1, on_grid=True))
    Fraction(32, 1)
    """
    return noise.scale**2 * (2 if isinstance(noise, Laplace) else 1)


@lru_cache(maxsize=4096)
def combined_error(weights: Weights, missed: Fraction) -> float:
    """A width that the weighted sum exceeds, either way, with a chance of at most `missed`.

    >>> alone = Laplace(1, Fraction(1, 100), step=1, on_grid=True)
    >>> round(combined_error(Weights((alone,), (1.0,), (1,)), Fraction(1, 20)))  # the least that holds is 300
    301
    """
    if not weights.noises or missed >= 1:
        return 0.0
    if missed <= 0:
        raise InvalidInput("a chance of a miss must be above 0")
    normal, heavy = weights.of_kind(Gaussian), weights.of_kind(Laplace)
    if normal.noises and heavy.noises:  # both parts within their widths, each missed with half of the chance
        return combined_error(normal, missed / 2) + combined_error(heavy, missed / 2)
    return (_gaussian(weights, missed) if normal.noises else _laplace(weights, missed)) * (1 + SLACK)


def _columns(weights: Weights) -> tuple[Floats, Floats, Floats]:
    """Sizes, numbers and scales."""
    scales = [float(noise.scale) for noise in weights.noises]
    return np.array(weights.sizes), np.array(weights.numbers, dtype=np.float64), np.array(scales)


def _gaussian(weights: Weights, missed: Fraction) -> float:
    """By rounded normal noise where all scales are wide enough for that; by the moments of the noise in any case."""
    sizes, numbers, scales = _columns(weights)
    deviation = math.sqrt(float(numbers @ (sizes * scales) ** 2))
    needed = math.log(2) - math.log(missed.numerator) + math.log(missed.denominator)
    by_moments = deviation * math.sqrt(2 * needed)
    if float(missed) < LEAST_CHANCE or float(np.min(scales)) < 1:
        return by_moments
    factor, drift = math.exp(float(numbers @ (1 / (24 * scales**2))) + LOST), float(numbers @ sizes) / 2
    if factor > 2:
        return by_moments
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if factor * math.erfc(middle / math.sqrt(2)) * (1 + LOST) <= float(missed) else (middle, high)
    return min(by_moments, high * deviation + drift)


def _laplace(weights: Weights, missed: Fraction) -> float:
    """By the law of continuous noise and a bound on its distance from the discrete one; by the moments in any case."""
    sizes, numbers, scales = _columns(weights)
    wide, one_side = sizes * scales, float(missed) / 2
    largest = float(wide.max())
    law = Weighted((wide / largest)[None, :], numbers[None, :])
    by_moments = float(law.by_moments(one_side)[0][0]) * largest
    if missed < LEAST_BY_LAW:
        return by_moments
    squares = float(numbers @ sizes**2)
    apart = 1 / (8 + 4 * math.sqrt(float(numbers @ wide**2) / squares))
    bounds = law.by_moments(*(one_side * (1 - apart) * part for part in (1, NEGLECTED)))
    drift = math.sqrt(squares * -math.log(apart) / 3)
    return min(by_moments, float(law.by_series(one_side * (1 - apart), *bounds)[0]) * largest + drift)
