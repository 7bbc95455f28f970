"""Exact discrete Laplace and discrete Gaussian noise, in bulk and one by one.

The only idealization is that the bits of `bits.py` are random; the laws are those of the definitions, and the proof is in
discrete.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tacit.errors import InvalidInput
from tacit.mechanisms.noise.pool import drawn_ahead
from tacit.mechanisms.noise.sampler import Decay, Integers, gaussian, laplace, sampler
from tacit.privacy.rounding import Number, exact

CHUNK = 1 << 17  # values drawn at once: working memory stays below 10 MB however many are asked for


def discrete_laplace(scale: Fraction, size: int) -> Integers:
    """`size` integers k, each with probability proportional to exp(-|k| / scale); exactly, for any rational scale.

    An int64 array, or Python integers in an object array where the scale or a value is too large.

    >>> discrete_laplace(Fraction(0), size=3)
    array([0, 0, 0])
    >>> discrete_laplace(Fraction(10**20), size=3).dtype
    dtype('O')
    """
    scale, size = _scale(scale), _size(size)
    return _fill(laplace(scale), size) if scale else np.zeros(size, dtype=np.int64)


def discrete_gaussian(scale: Fraction, size: int) -> Integers:
    """`size` integers k, each with probability proportional to exp(-k^2 / (2 scale^2)); exactly, for any rational scale.

    Canonne, Kamath and Steinke 2020, Definition 1, with scale = sigma. Arrays as those of `discrete_laplace`.

    >>> discrete_gaussian(Fraction(1, 100), size=3)        # anything but 0 has probability below 10^-2000
    array([0, 0, 0])
    """
    scale, size = _scale(scale), _size(size)
    return _fill(gaussian(scale), size) if scale else np.zeros(size, dtype=np.int64)


def draw_laplace(scale: Fraction, size: int) -> Integers:
    """As `discrete_laplace`; few values at a time come from a block drawn ahead, so that time says nothing of one of them."""
    return drawn_ahead(discrete_laplace, _scale(scale), _size(size))


def draw_gaussian(scale: Fraction, size: int) -> Integers:
    """As `discrete_gaussian`; few values at a time come from a block drawn ahead, so that time says nothing of one of them."""
    return drawn_ahead(discrete_gaussian, _scale(scale), _size(size))


def gaussian_truncation(scale: Fraction) -> Fraction:
    """The total variation between one value of `discrete_gaussian` and the exact law: none, since its tail is not cut off.

    >>> gaussian_truncation(Fraction(10))
    Fraction(0, 1)
    """
    _scale(scale)
    return Fraction(0)


def _fill(decay: Decay, size: int) -> Integers:
    values: Integers = np.empty(size, dtype=np.int64)
    law = sampler(decay)
    for start in range(0, size, CHUNK):
        drawn = law.draw(min(CHUNK, size - start))
        if drawn.dtype == object and values.dtype != object:
            values = values.astype(object)
        values[start : start + CHUNK] = drawn
    return values


def _scale(scale: Number) -> Fraction:
    number = exact(scale, "scale")
    if number < 0:
        raise InvalidInput(f"scale must be at least 0, not {scale}; give for example scale=Fraction(2)")
    return number


def _size(size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise InvalidInput(f"size must be an integer of at least 0, not {size!r}; give for example size=10")
    return int(size)
