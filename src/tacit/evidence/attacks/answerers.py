"""Answerers of subset counts: exact, rounded, with small counts hidden, with a minimum group size, or with noise.

Each has `query(subset)`, which returns how many of the people at these places have the secret bit, or None where it will not say.
They stand for ways in which counts are published today; each is attacked. Their noise is the attacked object: it comes from
NumPy's generator, seeded, so that a demonstration can be repeated. tacit's own noise never does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput

Subset = NDArray[np.intp]
Bits = NDArray[np.bool_]


class Answerer(Protocol):
    """Anything that answers how many of a subset (places from 0) have the secret bit; None is a refusal."""

    def query(self, subset: Subset) -> float | None:
        """The answer for these people, or None for a refusal."""


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """The exact count.

    >>> Exact(np.array([True, False, True])).query(np.array([0, 1]))
    1.0
    """

    bits: Bits

    def query(self, subset: Subset) -> float:
        """The exact count."""
        return float(np.count_nonzero(self.bits[subset]))


@dataclass(frozen=True, slots=True, eq=False)
class Rounding:
    """The count rounded to the nearest multiple of `to`."""

    bits: Bits
    to: int = 5

    def query(self, subset: Subset) -> float:
        """The count, rounded to the nearest multiple."""
        return float(self.to * np.floor(np.count_nonzero(self.bits[subset]) / self.to + 0.5))


@dataclass(frozen=True, slots=True, eq=False)
class Suppressing:
    """The exact count, but nothing where it is below `least`: the rule of small cells."""

    bits: Bits
    least: int = 5

    def query(self, subset: Subset) -> float | None:
        """The exact count, or None where it is small."""
        count = int(np.count_nonzero(self.bits[subset]))
        return None if count < self.least else float(count)


@dataclass(frozen=True, slots=True)
class Noise:
    """Zero-mean noise of an answerer: `law` is "none", bounded (uniform up to `size`), laplace (scale) or gaussian (deviation).

    >>> noise = Noise.read("laplace:4")
    >>> noise, round(noise.deviation, 2)
    (Noise(law='laplace', size=4.0), 5.66)
    """

    law: str = "none"
    size: float = 0.0

    @classmethod
    def read(cls, text: str) -> Noise:
        """From `law:size`, as the command line has it."""
        law, _, size = text.partition(":")
        try:
            number = float(size) if law != "none" else 0.0
        except ValueError:
            number = -1.0
        if law not in DEVIATIONS or not 0 <= number < float("inf"):
            raise InvalidInput(
                f"noise must be none, bounded:SIZE, laplace:SCALE or gaussian:DEVIATION, not {text!r}", argument="noise"
            )
        return cls(law, number)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return DEVIATIONS[self.law] * self.size

    def draw(self, size: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """`size` draws."""
        if self.law == "laplace":
            return generator.laplace(0, self.size, size)
        if self.law == "gaussian":
            return generator.normal(0, self.size, size)
        return generator.uniform(-self.size, self.size, size)


DEVIATIONS = {"none": 0.0, "bounded": 1 / sqrt(3), "laplace": sqrt(2), "gaussian": 1.0}


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """The count with fresh noise for each question and no ledger: as many questions as one likes."""

    bits: Bits
    noise: Noise
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def query(self, subset: Subset) -> float:
        """The count with fresh noise."""
        return float(np.count_nonzero(self.bits[subset]) + self.noise.draw(1, self.generator)[0])


@dataclass(frozen=True, slots=True, eq=False)
class MinimumSize:
    """Another answerer behind a rule: no group of fewer than `least` people, nor one that leaves out fewer."""

    behind: Answerer
    people: int
    least: int = 5

    def query(self, subset: Subset) -> float | None:
        """The answer of the one behind, or None where the group or its complement is too small."""
        if not self.least <= len(subset) <= self.people - self.least:
            return None
        return self.behind.query(subset)


WEAK: dict[str, Callable[[Bits, int], Answerer]] = {
    "exact": lambda bits, seed: Exact(bits),
    "rounding to 5": lambda bits, seed: Rounding(bits),
    "counts below 5 suppressed": lambda bits, seed: Suppressing(bits),
    "noise without a ledger": lambda bits, seed: Noisy(bits, Noise("laplace", 2.0), np.random.default_rng([seed, 3])),
}


def fair_bits(people: int, seed: int) -> Bits:
    """Secret bits of a demonstration, each as often one as zero."""
    return np.random.default_rng([seed, 9]).integers(0, 2, people).astype(np.bool_)
