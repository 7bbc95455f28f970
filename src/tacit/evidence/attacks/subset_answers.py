"""Whoever answers every subset count of n people within alpha: with random errors, or with the errors that hide most.

There are 2^n answers. They are functions of the subset here, so that nobody has to write all of them down; a subset asked about
again gets the same answer. Seeded generators stand for somebody's answers, never for tacit's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import InvalidInput

Bits = NDArray[np.int64]
Rows = NDArray[np.int64]  # one subset in each row, a one for each of its people
Floats = NDArray[np.float64]
SLACK = 1e-9  # of sums of halves in floats


class Answers(Protocol):
    """The answers to all subset counts of some people, each within `alpha` of the truth."""

    @property
    def truth(self) -> Bits:
        """The secret bits."""

    @property
    def alpha(self) -> float:
        """The largest error of an answer."""

    def to(self, subsets: Rows) -> Floats:
        """The answer to each subset."""


@dataclass(frozen=True, slots=True, eq=False)
class RandomErrors:
    """Each count with an error of its own, uniform in [-alpha, alpha].

    >>> answers = RandomErrors(np.array([1, 0, 1]), alpha=1.0)
    >>> subset = np.array([[1, 0, 1]])
    >>> bool((answers.to(subset) == answers.to(subset)).all()), bool(abs(answers.to(subset)[0] - 2) <= 1)
    (True, True)
    """

    truth: Bits
    alpha: float
    seed: int = 0

    def to(self, subsets: Rows) -> Floats:
        """The answers to subsets, given as rows of zeros and ones."""
        return subsets @ self.truth + self.alpha * (2 * self._uniform(subsets) - 1)

    def _uniform(self, subsets: Rows) -> Floats:
        """A number in [0, 1) for each subset: its people's random words summed, and the sum mixed (splitmix64)."""
        words = np.random.default_rng([self.seed, 5]).integers(0, 2**64, subsets.shape[1], dtype=np.uint64, endpoint=False)
        mixed = subsets.astype(np.uint64) @ words
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return (mixed ^ (mixed >> np.uint64(31))).astype(np.float64) / 2.0**64


@dataclass(frozen=True, slots=True, eq=False)
class HalfWay:
    """Half way between the truth and another candidate: both agree with every answer, so they are indistinguishable.

    >>> answers = HalfWay.worst([1, 1, 0, 0, 0, 1], alpha=1)
    >>> answers.other.tolist(), int((answers.other != answers.truth).sum())
    ([0, 0, 1, 1, 0, 1], 4)
    """

    truth: Bits
    alpha: float
    other: Bits

    @classmethod
    def worst(cls, truth: ArrayLike, alpha: float) -> HalfWay:
        """The other has 2 alpha ones fewer and 2 alpha more (or as many as there are): no answer is off by more than alpha."""
        bits = np.asarray(truth).astype(np.int64)
        other, most = bits.copy(), floor(2 * alpha + SLACK)
        for value in (0, 1):
            other[np.flatnonzero(bits == value)[:most]] = 1 - value
        return cls(bits, float(alpha), other)

    def to(self, subsets: Rows) -> Floats:
        """The answers to subsets, given as rows of zeros and ones."""
        return np.asarray(subsets @ (self.truth + self.other) / 2, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Answers that were written down, by the binary number of the subset: person k is in it if its binary digit k is one."""

    truth: Bits
    alpha: float
    listed: Floats

    def to(self, subsets: Rows) -> Floats:
        """The answers to subsets, given as rows of zeros and ones."""
        return self.listed[subsets @ (1 << np.arange(subsets.shape[1]))]


def checked(truth: ArrayLike, alpha: float) -> Bits:
    """The bits to attack, checked; alpha is an error, so it is at least 0."""
    bits = np.asarray(truth).astype(np.int64)
    if bits.ndim != 1 or not bits.size or not alpha >= 0:
        raise InvalidInput("bits must not be empty, and alpha must be at least 0")
    return bits
