"""How far a weighted sum of many Laplace noises of one scale goes, by a Fourier series. Proof in tree.md, "The margin"."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SLOPES = np.linspace(0.08, 0.98, 16)  # at which moments are taken, in parts of the largest slope
ROUNDED = 1 + 1e-9  # more than what floating point loses
SLACK = 1e-10  # more than what it loses of a chance
LEAST_MISS = Fraction(1, 10**6)  # smaller chances are bounded by moments
NEGLECTED = 1e-3  # of a chance, for what the series leaves out; and again for what it adds from afar
TERMS = 2.0 ** np.arange(4, 11)  # of the series
FIRST, STEPS = 0.77, 3  # Newton's method: what is tried first, in parts of the bound by moments, and how often


@dataclass(frozen=True, slots=True)
class Weighted:
    """Sums of independent noises, one for each row: the sizes of the weights, and how many noises have each of them.

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
        """What sums of discrete Laplace noise of this scale reach with a chance of at most `missed`.

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
        """What sums of noise of scale 1 reach with a chance of at most each of these, discrete or continuous."""
        slopes = SLOPES / max(float(self.sizes.max()), float(self.shared[0].max(initial=0)))
        grown = self.summed(lambda squares: -np.log1p(-squares), slopes)
        return [np.asarray(np.min((grown - math.log(chance)) / slopes, axis=1)) for chance in chances]

    def by_series(self, missed: float, found: Floats, far: Floats) -> Floats:
        """The same for continuous noise, by its law; `found` and `far` are bounds by moments, for `missed` and a part of it."""
        step = 2 * math.pi / float((found + far).max())
        left = self.left_out(np.asarray(step * TERMS))
        enough = int(np.argmax(np.append(left.max(axis=0)[:-1] <= missed * NEGLECTED, True)))
        places: Floats = np.asarray(step * (np.arange(int(TERMS[enough])) + 0.5), dtype=np.float64)
        transform = np.exp(-self.summed(np.log1p, places)) * (step / math.pi)
        allowed, tried = missed * (1 - NEGLECTED) - left[:, enough] - SLACK, FIRST * found
        for _ in range(STEPS):
            turned = tried[:, None] * places
            beyond = 0.5 - (transform / places * np.sin(turned)).sum(axis=1)
            found = np.where((beyond <= allowed) & (tried < found), tried, found)
            slope = np.maximum((transform * np.cos(turned)).sum(axis=1), SLACK)
            beyond = np.maximum(beyond, SLACK)
            tried = np.maximum(tried + np.log(beyond / np.maximum(allowed, SLACK)) * beyond / slope, 0) * (1 + 1e-4)
        return found

    def left_out(self, places: Floats) -> Floats:
        """What all terms of the series from a place on add at most: a column for each place."""
        falls = self.summed(lambda squares: squares / (1 + squares), places)
        return np.asarray(np.exp(-self.summed(np.log1p, places)) / (2 * math.pi * falls))
