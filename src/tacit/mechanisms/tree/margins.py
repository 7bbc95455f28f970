"""How far the rank of a point, as a tree of noisy counts gives it, may be from the true one. Proof in tree.md, "The margin"."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SLOPES = np.linspace(0.02, 0.98, 49)  # at which the moments of the noise are taken, in parts of 1 / scale
ROUNDED = 1 + 1e-9  # more than what floating point loses


def grown(weights: Floats) -> Floats:
    """ln of a bound on E[exp(u w X / scale)] of discrete Laplace noise X: one column for each slope u, one row for each w."""
    return -np.log1p(-((np.asarray(weights)[..., None] * SLOPES) ** 2))


@lru_cache(maxsize=4096)
def margins(branches: int, path: tuple[int, ...], share: Fraction, missed: Fraction) -> Floats:
    """For each of the bounds between the children of a cell, what the noise of its rank less `share` of all rows exceeds with a
    chance of at most `missed`, in scales of the noise. The cell is given by the places of its ancestors and itself among siblings.

    >>> margins(2, (), Fraction(1, 2), Fraction(1, 20)).round(2)
    array([3.62])
    """
    least = math.log(missed.denominator) - math.log(missed.numerator)
    summed = _of_path(branches, path, share) + _of_children(branches, path, share)
    found = np.asarray(np.min((summed + least) / SLOPES, axis=1) * ROUNDED)
    found.setflags(write=False)
    return found


def variances(branches: int, path: tuple[int, ...], share: Fraction) -> Floats:
    """The variance of the same noise, in squares of the scale of continuous noise, to a few digits: for forecasts."""
    small = SLOPES[0]
    summed = _of_path(branches, path, share) + _of_children(branches, path, share)
    return np.asarray(2 * summed[:, 0] / small**2)


def _of_path(branches: int, path: tuple[int, ...], share: Fraction) -> Floats:
    """The siblings of the cell and of its ancestors, and its ancestors."""
    summed, taken = np.zeros(len(SLOPES)), float(share)
    for level, place in enumerate(path):
        part = float(share) if level == 0 else place / (branches + 1)
        if level > 0:
            summed = summed + grown(np.array(part - taken))
        summed = summed + place * grown(np.array(1 - part)) + (branches - place - 1) * grown(np.array(part))
        taken = part
    return np.asarray(summed)


def _of_children(branches: int, path: tuple[int, ...], share: Fraction) -> Floats:
    """The cell itself and its children, for each of the bounds between them."""
    before = np.arange(1, branches)
    parts = before / (branches + 1) if path else np.full(branches - 1, float(share))
    summed = before[:, None] * grown(1 - parts) + (branches - before)[:, None] * grown(parts)
    if not path:
        return np.asarray(summed)
    own = float(share) if len(path) == 1 else path[-1] / (branches + 1)
    return np.asarray(summed + grown(parts - own))
