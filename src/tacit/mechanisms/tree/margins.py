"""How far the rank of a point, as a tree of noisy counts gives it, may be from the true one. Proof in tree.md, "The margin"."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.mechanisms.tree.law import Floats, Weighted

Path = tuple[int, ...]


@lru_cache(maxsize=16384)
def margins(branches: int, path: Path, share: Fraction, missed: Fraction, scale: Fraction) -> Floats:
    """For each of the bounds between the children of a cell, what the noise of its rank less `share` of all rows reaches with a
    chance of at most `missed`. The cell is given by the places of its ancestors and itself among siblings.

    >>> margins(2, (), Fraction(1, 2), Fraction(1, 20), Fraction(100)).round()
    array([165.])
    """
    found = noises(branches, path, share).reached(missed, scale)
    found.setflags(write=False)
    return found


def variances(branches: int, path: Path, share: Fraction) -> Floats:
    """The variance of the same noise, in squares of the scale of continuous noise: for forecasts."""
    return 2 * noises(branches, path, share).squares


def noises(branches: int, path: Path, share: Fraction) -> Weighted:
    """The noise of the ranks at the bounds between the children of a cell, less `share` of all rows: a row for each bound."""
    bounds = np.arange(1.0, branches)
    parts = bounds / (branches + 1) if path else np.full(branches - 1, float(share))
    own = [(parts - _part(branches, path, share, len(path) - 1), np.ones(branches - 1))] if path else []
    sizes, numbers = zip(*own, (1 - parts, bounds), (parts, branches - bounds), strict=True)
    shared = np.array([term for term in _of_path(branches, path, share) if term[1]], dtype=np.float64).reshape(-1, 2).T
    return Weighted(np.abs(np.array(sizes)).T, np.array(numbers).T, (np.abs(shared[0]), shared[1]))


def _of_path(branches: int, path: Path, share: Fraction) -> list[tuple[float, int]]:
    """The weights of the siblings of the cell and of its ancestors, and of its ancestors, with the number of each."""
    found: list[tuple[float, int]] = []
    for level, place in enumerate(path):
        part = _part(branches, path, share, level)
        found += [(1 - part, place), (part, branches - place - 1)]
        if level > 0:
            found.append((part - _part(branches, path, share, level - 1), 1))
    return found


def _part(branches: int, path: Path, share: Fraction, level: int) -> float:
    """What is taken away of each count of a level on the way to the cell."""
    return float(share) if level == 0 else path[level] / (branches + 1)
