"""Chernoff's bound by the relative entropy of two rates: which rates fit an observed one, and how far. Proofs in intervals.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STEPS = 44  # halvings: an interval of length 1 becomes shorter than 10^-13
THIRDS = 40  # an interval of length 1 becomes shorter than 10^-7, and at a peak a value moves by less than the square of that


def divergence(observed: Floats, rate: Floats) -> Floats:
    """KL(x, m) = x ln(x/m) + (1 - x) ln((1 - x)/(1 - m)), for 0 < m < 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(observed > 0, observed * np.log(observed / rate), 0.0)
        zeros = np.where(observed < 1, (1 - observed) * np.log((1 - observed) / (1 - rate)), 0.0)
    return ones + zeros


def ends(observed: Floats, limit: float) -> tuple[Floats, Floats]:
    """The lowest and the highest rate m with KL(observed, m) <= limit, from outside.

    >>> low, high = ends(np.array([0.0, 0.5]), limit=0.02)
    >>> low.round(4), high.round(4)
    (array([0.   , 0.401]), array([0.0198, 0.599 ]))
    """
    near = np.clip(observed, 0.0, 1.0)
    low, high = (outermost(lambda rate: divergence(near, rate) <= limit, near, np.full_like(near, far)) for far in (0.0, 1.0))
    return low, high


def outermost(fits: Callable[[Floats], NDArray[np.bool_]], near: Floats, far: Floats) -> Floats:
    """Between a point that fits and one beyond, the first that does not fit, by halving: all fit up to it and none after."""
    inner, outer = near.astype(np.float64), far.astype(np.float64)
    for _ in range(STEPS):
        middle = (inner + outer) / 2
        held = fits(middle)
        inner, outer = np.where(held, middle, inner), np.where(held, outer, middle)
    return outer


def deviation(rate: float, limit: float) -> float:
    """How far above `rate` an observed rate may lie, by Chernoff: the largest x - m with KL(x, m) <= limit.

    >>> round(deviation(0.25, limit=0.001), 4)                                   # about the root of 2 m (1 - m) limit, 0.0194
    0.0195
    """
    low, high = rate, 1.0
    if rate <= 0:  # nothing is ever seen above a rate of zero
        return 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        zeros = (1 - middle) * math.log((1 - middle) / (1 - rate)) if middle < 1 else 0.0
        low, high = (middle, high) if middle * math.log(middle / rate) + zeros <= limit else (low, middle)
    return high - rate


def largest_deviation(low: Fraction, high: Fraction, limit: float) -> float:
    """The largest deviation of either side over all rates from `low` to `high`; exact ones, since 1 - high may be tiny.

    Each side rises and then falls with the rate, so that thirds close in on its peak.
    """
    sides = [(low, high), (1 - high, 1 - low)]
    return max(_peak(lambda rate: deviation(rate, limit), float(first), float(last)) for first, last in sides)


def _peak(function: Callable[[float], float], low: float, high: float) -> float:
    """The largest value of a function that rises and then falls."""
    found = max(function(low), function(high))
    for _ in range(THIRDS):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        first, second = function(one), function(other)
        found = max(found, first, second)
        low, high = (one, high) if first < second else (low, other)
    return found
