"""The costs of the candidates of a choice: exactly, and as doubles that are made by the same operations whatever the costs are.

Only differences of costs count, so the least cost of a candidate that is possible is taken off. Errors are bounded in choice.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput

Doubles = NDArray[np.float64]

ZERO = Fraction(0)
FAR = Fraction(4096)  # e^-4096 times any length allowed is below 2^-52, so the envelope of such a candidate is 1
TOGETHER = 1 << 14  # candidates at a time: what is in hand stays in the processor's cache
PLAIN_FACTORS = Fraction(2) ** -900, Fraction(2) ** 900  # normal doubles, also after multiplying


class Costs(Protocol):
    """The costs of candidates, less the least cost of a candidate that is possible."""

    @property
    def size(self) -> int:
        """How many candidates there are."""

    def exponents(self, factor: Fraction, part: slice) -> Doubles:
        """factor * cost in doubles, from 0 to 4096, with a relative error below 2^-50, or 2^-1074; 0 for the least cost."""

    def exponent(self, index: int, factor: Fraction) -> Fraction:
        """factor * cost of one candidate, exactly."""


@dataclass(frozen=True, slots=True, repr=False)  # a repr would quote the data
class NumberCosts:
    """Integers or floats, which are read exactly, or `Fraction`s, whose arithmetic takes the longer the longer they are."""

    numbers: NDArray[Any]
    least: Any

    @classmethod
    def read(cls, numbers: Any, possible: NDArray[np.bool_]) -> NumberCosts:
        """Numbers of any kind, one for each candidate; at least one candidate is possible."""
        array = _read_numbers(numbers)
        if array.shape != possible.shape:
            raise InvalidInput("a choice requires one length and one cost per candidate")
        return cls(array, _least(array, possible))

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return self.numbers.size

    def exponents(self, factor: Fraction, part: slice) -> Doubles:
        """factor (cost - least) of some candidates, within a relative 2^-50, cut off at 4096."""
        if self.numbers.dtype == object or not PLAIN_FACTORS[0] <= factor <= PLAIN_FACTORS[1]:
            return _one_by_one(self, factor, part)
        with np.errstate(over="ignore", under="ignore"):
            differences = self.numbers[part] - self.least
            if self.numbers.dtype == np.int64:
                differences = differences.view(np.uint64)  # the difference of two int64 fits, also where it wrapped around
            return _clip(differences.astype(np.float64), factor)

    def exponent(self, index: int, factor: Fraction) -> Fraction:
        """factor (cost - least) of one candidate, exactly."""
        return factor * (_rational(self.numbers[index]) - _rational(self.least))


@dataclass(frozen=True, slots=True, repr=False)
class MixedCosts:
    """Mixed numbers: wholes[i] + parts[kinds[i]] / denominator, where some possible candidate costs 0 and none costs less.

    However long the denominator is, no more than the few parts are divided by it.
    """

    wholes: NDArray[np.int64]
    kinds: NDArray[np.int8]
    parts: tuple[int, ...]
    denominator: int

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return self.wholes.size

    def exponents(self, factor: Fraction, part: slice) -> Doubles:
        """factor (cost - least) of some candidates, within a relative 2^-50, cut off at 4096."""
        if not PLAIN_FACTORS[0] <= factor <= PLAIN_FACTORS[1]:
            return _one_by_one(self, factor, part)
        exponents = np.array([top / self.denominator for top in self.parts]).take(self.kinds[part])
        exponents += self.wholes[part]
        return _clip(exponents, factor)

    def exponent(self, index: int, factor: Fraction) -> Fraction:
        """factor (cost - least) of one candidate, exactly."""
        return factor * (int(self.wholes[index]) + Fraction(self.parts[self.kinds[index]], self.denominator))


def slices(size: int) -> Iterator[slice]:
    """The candidates, some at a time.

    >>> list(slices(3))
    [slice(0, 3, None)]
    """
    return (slice(start, min(start + TOGETHER, size)) for start in range(0, size, TOGETHER))


def _one_by_one(costs: Costs, factor: Fraction, part: slice) -> Doubles:
    exponents = (costs.exponent(index, factor) for index in range(part.start, part.stop))
    return np.array([float(min(max(exponent, ZERO), FAR)) for exponent in exponents], dtype=np.float64)


def _clip(differences: Doubles, factor: Fraction) -> Doubles:
    """factor * difference, from 0 to 4096. An impossible candidate may cost less than the least; its exponent is not used."""
    differences *= float(factor)
    np.clip(differences, 0.0, float(FAR), out=differences)
    return differences


def _least(numbers: NDArray[Any], possible: NDArray[np.bool_]) -> Any:
    """The least possible cost, found by looking at all of them."""
    if numbers.dtype == object:
        return min(number for number, there in zip(numbers, possible, strict=True) if there)
    most = numbers.max()
    return min(np.where(possible[part], numbers[part], most).min() for part in slices(numbers.size))


def _read_numbers(numbers: Any) -> NDArray[Any]:
    array = np.asarray(numbers)
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise InvalidInput("costs must be finite numbers")
    if array.dtype == object:
        return array
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidInput(f"costs must be integers, floats or Fractions, not {array.dtype}")
    return array.astype({"f": np.float64, "u": np.uint64}.get(array.dtype.kind, np.int64), copy=False)


def _rational(number: Any) -> Fraction:
    top, bottom = number.item().as_integer_ratio() if isinstance(number, np.generic) else number.as_integer_ratio()
    return Fraction(top, bottom)
