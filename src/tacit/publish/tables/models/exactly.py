"""Exact comparisons of many ratios of integers with one number: floats decide what is clear, integers decide the rest.

A ratio of two int64 is off by less than 2^-51 of itself when it is computed in floating point. Ratios within 2^-48 of the limit
are therefore compared again by products of integers, so that no tie is decided by a rounding.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.rounding import float_up

NEAR = 2.0**-48
LARGEST = 2**62  # beyond it, products of counts are Python integers in arrays of objects


def integers(counts: NDArray[np.int64], largest_product: int) -> NDArray[Any]:
    """The counts, in a type in which products up to `largest_product` do not overflow."""
    return counts if largest_product < LARGEST else counts.astype(object)


def compare(numerators: NDArray[Any], denominators: NDArray[Any], limit: Fraction) -> NDArray[np.int8]:
    """-1, 0 or 1 for each ratio that is below, at or above the limit, exactly; denominators are positive.

    >>> compare(np.array([1, 2, 3]), np.array([3, 6, 10]), Fraction(1, 3)).tolist()
    [0, 0, -1]
    """
    ratios = numerators.astype(np.float64) / denominators.astype(np.float64)
    goal = float_up(limit)
    signs = np.sign(ratios - goal).astype(np.int8)
    near = np.flatnonzero(np.abs(ratios - goal) <= NEAR * np.maximum(np.abs(ratios), abs(goal)))
    if len(near):
        signs[near] = _exactly(numerators[near], denominators[near], limit)
    return signs


def _exactly(numerators: NDArray[Any], denominators: NDArray[Any], limit: Fraction) -> NDArray[np.int8]:
    """The same by products of integers, of 64 bits if they fit, else of any size."""
    most = max(int(numerators.max()) * limit.denominator, int(denominators.max()) * limit.numerator)
    if most >= LARGEST:
        numerators, denominators = numerators.astype(object), denominators.astype(object)
    left, right = numerators * limit.denominator, denominators * limit.numerator
    return (left > right).astype(np.int8) - (left < right).astype(np.int8)


def largest_ratio(numerators: NDArray[Any], denominators: NDArray[Any]) -> Fraction | float:
    """The largest of the ratios, exactly; infinity where a denominator is 0.

    >>> largest_ratio(np.array([1, 2]), np.array([3, 5])), largest_ratio(np.array([1]), np.array([0]))
    (Fraction(2, 5), inf)
    """
    if (denominators == 0).any():
        return math.inf
    ratios = numerators.astype(np.float64) / denominators.astype(np.float64)
    near = np.flatnonzero(ratios >= ratios.max() * (1 - NEAR))
    pairs = {(int(numerators[at]), int(denominators[at])) for at in near.tolist()}
    return max(Fraction(*pair) for pair in pairs)
