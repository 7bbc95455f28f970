"""How far the sum of several independent noises of one law may be from zero: the error bar of a total over rows.

The sum of g noises spreads like the root of g, where the sum of their error bars grows like g. Two bounds, and the lesser holds:

Chernoff    P[|S| >= x] <= 2 M(s)^g e^(-s x) for every s > 0, M the moment generating function of one noise. For discrete Laplace
            noise of scale t and a = e^(-1/t), M(s) = (1 - a)^2 / ((1 - a e^s)(1 - a e^-s)); for discrete Gaussian noise of scale t,
            M(s) <= e^(s^2 t^2 / 2) (Canonne, Kamath and Steinke 2020).
the law     For Gaussian noise that of one Gaussian, within a public factor. For Laplace noise the g-fold convolution on a public
            grid, by a discrete Fourier transform in doubles. On a coarser grid every noise is rounded to the nearest multiple of
            an odd m, so that the sum moves by at most g (m - 1) / 2, which is added. What doubles and the ends of the transform
            leave out is far below SLACK, which is taken off the chance of a miss.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.accounting.calibrate import gaussian_error
from tacit.mechanisms.mechanism import Additive
from tacit.query.price.error_bars import Floats

SLACK = 1e-9
LEAST_BY_LAW = 1e-6  # a chance of a miss below which the transform is not asked
POINTS = 2**17
FAR = 1e-14  # what may lie outside the transform
WIDE = 2  # from which scale on tau is below 1e-9 for any number of groups
SPARE = 0.02  # share of an error bar that rounding may add


def half_width_of_sum(mechanism: Additive, count: int, missed: Fraction, by_law: bool = True) -> float:
    """The distance that the sum of `count` noises, in units of the grid, exceeds with a chance of at most `missed`.

    >>> from tacit.mechanisms.laplace import Laplace
    >>> noise = Laplace(sensitivity=1, epsilon=Fraction(1, 10), step=1, on_grid=True)
    >>> [half_width_of_sum(noise, count, Fraction(1, 20)) for count in (1, 4, 100)]
    [30.0, 57.0, 277.0]
    """
    alone = float(mechanism.interval(1 - missed).above)
    if count <= 1 or mechanism.scale == 0:
        return alone
    each = count * float(mechanism.interval(1 - missed / count).above)
    bound = min(each, chernoff(mechanism, count, missed))
    chance = float(missed)
    if mechanism.concentrated:
        return min(bound, _of_gaussian(mechanism.scale, count, missed))
    if not by_law or chance < LEAST_BY_LAW:
        return bound
    return min(bound, _by_law(float(mechanism.scale), count, chance - SLACK, bound))


def chernoff(mechanism: Additive, count: int, missed: Fraction) -> float:
    """The Chernoff bound, rounded up to the grid; every s gives one, so that the search need not be exact."""
    scale, needed = float(mechanism.scale), math.log(2) - _log(missed)
    if mechanism.concentrated:
        return math.ceil(scale * math.sqrt(2 * count * needed) * (1 + 1e-12))
    slopes = np.linspace(0.002, 0.998, 500) / scale
    grown = 2 * math.log(-math.expm1(-1 / scale)) - np.log(-np.expm1(slopes - 1 / scale)) - np.log(-np.expm1(-slopes - 1 / scale))
    return math.ceil(float(np.min((count * grown + needed) / slopes)) * (1 + 1e-9))


def _of_gaussian(scale: Fraction, count: int, missed: Fraction) -> float:
    """From the discrete Gaussian of `count` times the variance, whose chances are within a factor e^tau of those of the sum.

    tau = 10 sum over k < count of e^(-2 pi^2 scale^2 k / (k + 1)): Kairouz, Liu and Steinke 2021, Corollary 12.
    """
    if scale < WIDE:
        return math.inf
    tau = 10 * count * math.exp(-9.8 * float(scale) ** 2)
    root = Fraction(math.isqrt(math.ceil(scale**2 * count * 10**12)) + 1, 10**6)
    return float(gaussian_error(root, missed * (1 - Fraction(math.ceil(tau * 10**18) + 1, 10**18))))


def _log(chance: Fraction) -> float:
    return math.log(chance.numerator) - math.log(chance.denominator)


@lru_cache(maxsize=1024)
def _by_law(scale: float, count: int, chance: float, bound: float) -> float:
    """From the law of a sum of discrete Laplace noises; infinite where the grid would have to be too coarse."""
    slopes = np.linspace(0.01, 0.99, 99) / scale
    grown = 2 * math.log(-math.expm1(-1 / scale)) - np.log(-np.expm1(slopes - 1 / scale)) - np.log(-np.expm1(-slopes - 1 / scale))
    reach = float(np.min((count * grown + math.log(2 / FAR)) / slopes))
    step = math.ceil(2 * reach / (POINTS - 2)) // 2 * 2 + 1
    spare = count * (step - 1) // 2
    if spare > SPARE * bound:
        return math.inf
    size = 2 ** math.ceil(math.log2(2 * reach / step + 4))
    summed = np.fft.irfft(np.fft.rfft(_law(scale, step, size)) ** count, size)
    beyond = 2 * np.cumsum(np.maximum(summed[1 : size // 2], 0.0)[::-1])[::-1]  # of |S| > k steps, for k from 0
    return float(step * int(np.argmax(beyond <= chance)) + spare)


def _law(scale: float, step: int, size: int) -> Floats:
    """The chances of discrete Laplace noise, rounded to multiples of an odd step, around zero."""
    ratio = math.exp(-1 / scale)
    places = np.arange(size // 2)
    from_here = np.exp(-(places * step - (step - 1) // 2) / scale) / (1 + ratio)  # P[X >= x] for x > 0
    half = from_here - np.exp(-(places * step + (step + 1) // 2) / scale) / (1 + ratio)
    law = np.zeros(size)
    law[: size // 2] = half
    law[0] = 1 - 2 * math.exp(-((step + 1) // 2) / scale) / (1 + ratio)
    law[size // 2 + 1 :] = half[1:][::-1]
    return law
