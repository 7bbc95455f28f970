"""How far the rank of a point, as a tree of noisy counts gives it, may be from the true one. Proof in tree.md, "The margin"."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Path = tuple[int, ...]
Floats = NDArray[np.float64]

SLOPES = np.linspace(0.08, 0.98, 16)  # at which moments are taken, in parts of the largest slope
ROUNDED = 1 + 1e-9  # more than what floating point loses
SLACK = 1e-10  # more than what it loses of a chance
LEAST_MISS = Fraction(1, 10**6)  # smaller chances are bounded by moments
NEGLECTED = 1e-3  # of a chance, for what the series leaves out; and again for what it adds from afar
TERMS = 2.0 ** np.arange(4, 11)  # of the series
FIRST, STEPS = 0.77, 3  # Newton's method: what is tried first, in parts of the bound by moments, and how often


@lru_cache(maxsize=16384)
def margins(branches: int, path: Path, share: Fraction, missed: Fraction, scale: Fraction) -> Floats:
    """For each of the bounds between the children of a cell, what the noise of its rank less `share` of all rows reaches with a
    chance of at most `missed`. The cell is given by the places of its ancestors and itself among siblings.

    >>> margins(2, (), Fraction(1, 2), Fraction(1, 20), Fraction(100)).round()
    array([165.])
    """
    reach = noises(branches, path, share).reached(missed, scale)
    reach.setflags(write=False)
    return reach


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
    weights: list[tuple[float, int]] = []
    for level, place in enumerate(path):
        part = _part(branches, path, share, level)
        weights += [(1 - part, place), (part, branches - place - 1)]
        if level > 0:
            weights.append((part - _part(branches, path, share, level - 1), 1))
    return weights


def _part(branches: int, path: Path, share: Fraction, level: int) -> float:
    """The part of each count of a level that is taken away on the way to the cell."""
    return float(share) if level == 0 else path[level] / (branches + 1)


# --- how far a weighted sum of Laplace noises goes ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Weighted:
    """Weighted sums of independent Laplace noises, one for each row: sizes of the weights, and how many noises have each size.

    `shared` are the same for weights that all rows have.
    """

    sizes: Floats
    numbers: Floats
    shared: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))

    @property
    def squares(self) -> Floats:
        """The sums of the squared weights."""
        return np.asarray((self.numbers * self.sizes**2).sum(axis=1) + self.shared[1] @ self.shared[0] ** 2)

    def summed(self, of: Callable[[Floats], Floats], places: Floats) -> Floats:
        """The sums over all noises of a function of (size * place)^2: a column for each place."""
        squares = places**2
        alone = np.einsum("ij,ijk->ik", self.numbers, of(self.sizes[..., None] ** 2 * squares))
        return np.asarray(alone + self.shared[1] @ of(self.shared[0][:, None] ** 2 * squares))

    def reached(self, missed: Fraction, scale: Fraction) -> Floats:
        """The sizes that sums of discrete Laplace noise of this scale reach with a chance of at most `missed`.

        >>> alone = Weighted(np.array([[1.0]]), np.array([[1.0]]))
        >>> alone.reached(Fraction(1, 20), Fraction(100)).round()  # the least that holds is 231
        array([232.])
        """
        chance, size = float(missed), float(scale)
        apart = 1 / (8 + 4 * size)  # the chance of a drift that is larger
        bounds = self.by_moments(chance, *(chance * (1 - apart) * part for part in (1, NEGLECTED)))
        if missed < LEAST_MISS:
            return bounds[0] * size * ROUNDED
        drift = np.sqrt(self.squares * -math.log(apart) / 3)
        return np.minimum(bounds[0] * size, self.by_series(chance * (1 - apart), *bounds[1:]) * size + drift) * ROUNDED

    def by_moments(self, *chances: float) -> list[Floats]:
        """The sizes that sums of noise of scale 1 reach with a chance of at most each of these, discrete or continuous."""
        slopes = SLOPES / max(float(self.sizes.max()), float(self.shared[0].max(initial=0)))
        grown = self.summed(lambda squares: -np.log1p(-squares), slopes)
        return [np.asarray(np.min((grown - math.log(chance)) / slopes, axis=1)) for chance in chances]

    def by_series(self, missed: float, bounds: Floats, far: Floats) -> Floats:
        """The same for continuous noise, by its law; `bounds` and `far` are bounds by moments, for `missed` and a part of it."""
        step = 2 * math.pi / float((bounds + far).max())
        left = self.left_out(np.asarray(step * TERMS))
        enough = int(np.argmax(np.append(left.max(axis=0)[:-1] <= missed * NEGLECTED, True)))
        places: Floats = np.asarray(step * (np.arange(int(TERMS[enough])) + 0.5), dtype=np.float64)
        transform = np.exp(-self.summed(np.log1p, places)) * (step / math.pi)
        allowed, tried = missed * (1 - NEGLECTED) - left[:, enough] - SLACK, FIRST * bounds
        for _ in range(STEPS):
            turned = tried[:, None] * places
            beyond = 0.5 - (transform / places * np.sin(turned)).sum(axis=1)
            bounds = np.where((beyond <= allowed) & (tried < bounds), tried, bounds)
            slope = np.maximum((transform * np.cos(turned)).sum(axis=1), SLACK)
            beyond = np.maximum(beyond, SLACK)
            tried = np.maximum(tried + np.log(beyond / np.maximum(allowed, SLACK)) * beyond / slope, 0) * (1 + 1e-4)
        return bounds

    def left_out(self, places: Floats) -> Floats:
        """The most that all terms of the series from a place on add: a column for each place."""
        falls = self.summed(lambda squares: squares / (1 + squares), places)
        return np.asarray(np.exp(-self.summed(np.log1p, places)) / (2 * math.pi * falls))
