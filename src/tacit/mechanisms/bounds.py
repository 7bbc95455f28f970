"""Bounds of a number, proposed from noisy counts of public bins: the powers of two, of both signs. Proof in bounds.md."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.events import LaplaceNoise
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.noise.discrete_law import DiscreteLaplaceLaw
from tacit.mechanisms.unseal import opened
from tacit.privacy.arguments import whole_of
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours, positive_budget
from tacit.privacy.rounding import Number

LEAST, MOST = -6, 31  # exponents of the bins: beyond 2^32 a value counts in the last bin, below 2^-6 in that of zero
POWERS = tuple(Fraction(2) ** exponent for exponent in range(LEAST, MOST + 1))
LARGEST = 2 * POWERS[-1]
BEGINS = (-LARGEST, *(-each for each in reversed(POWERS)), Fraction(0), *POWERS)  # where each bin begins; the last ends at LARGEST
ENDS = (*BEGINS[1:], LARGEST)
BINS = len(BEGINS)
CHANCE = Fraction(1, 1000)  # with which a table without values gets a proposal at most

Proposal = tuple[Fraction, Fraction] | None


def bin_of(value: Number) -> int:
    """The bin of a value; one beyond the last power is in the last bin of its sign.

    >>> [BEGINS[bin_of(value)] for value in (0, 1, 3, -1, -3)] == [0, 1, 2, -1, -4]
    True
    """
    return max(0, bisect_right(BEGINS, Fraction(value)) - 1)


@dataclass(frozen=True, slots=True)
class ProposedBounds:
    """The least range of bins that covers every bin whose noisy count is above a public threshold; None if no count is.

    Of a unit at most `max_rows` rows are counted, each in one bin. Laplace noise on every count, and nothing else sees the counts.

    >>> proposing = ProposedBounds(max_rows=1, epsilon=1000)
    >>> counts = [0] * BINS
    >>> counts[bin_of(3)] = counts[bin_of(100)] = 50
    >>> [str(end) for end in proposing.release(counts)]
    ['2', '128']
    """

    name: ClassVar[str] = "Proposed bounds"

    max_rows: int
    epsilon: Fraction
    neighbours: Neighbours = ADD_REMOVE

    def __init__(self, max_rows: int, epsilon: Number, neighbours: Neighbours = ADD_REMOVE) -> None:
        rows = whole_of(max_rows, "max_rows", 1, 2**53)
        object.__setattr__(self, "max_rows", rows)
        object.__setattr__(self, "epsilon", positive_budget(epsilon))
        object.__setattr__(self, "neighbours", neighbours)

    @property
    def noise(self) -> Laplace:
        """The noise on the counts of all bins together: a unit adds at most `max_rows` to their sum."""
        return Laplace(self.max_rows, self.epsilon, step=1, dimension=BINS, on_grid=True, neighbours=self.neighbours)

    @property
    def event(self) -> LaplaceNoise:
        """The event that the ledger records for one release."""
        return self.noise.event

    @property
    def loss(self) -> Loss:
        """The privacy loss of one release."""
        return self.noise.loss

    @property
    def threshold(self) -> int:
        """The noisy count from which a bin is filled: all bins of an empty table stay below it, except with probability CHANCE.

        A bin of an empty table has a count of at least t with probability at most exp(-t / scale).
        """
        return math.ceil(float(self.max_rows / self.epsilon) * math.log(float(BINS / CHANCE)))

    def release(self, counts: Any) -> Proposal:
        """The proposal, from the exact counts of all bins, sealed or not."""
        return self.proposal([int(each) for each in np.asarray(self.noise.release_units(counts))])

    def proposal(self, noisy: list[int]) -> Proposal:
        """The proposal that released counts give."""
        filled = [place for place, count in enumerate(noisy) if count >= self.threshold]
        return (BEGINS[filled[0]], ENDS[filled[-1]]) if filled else None

    def law(self, counts: Any) -> Law:
        """The probability of each proposal: its first and its last bin are filled, the bins outside are not."""
        noise, times = DiscreteLaplaceLaw(self.noise.scale), ARITHMETIC.multiply
        units = [int(each) for each in np.asarray(opened(counts))]
        filled = [noise.at_least(self.threshold - count) for count in units]
        empty = [noise.below(self.threshold - count) for count in units]
        before = list(accumulate(empty, times, initial=Decimal(1)))
        behind = list(accumulate(reversed(empty), times, initial=Decimal(1)))[::-1]
        listed: dict[Hashable, Decimal] = {None: before[-1]}
        for first, chance in enumerate(filled):
            begun = times(before[first], chance)
            listed[BEGINS[first], ENDS[first]] = times(begun, behind[first + 1])
            for last in range(first + 1, len(filled)):
                listed[BEGINS[first], ENDS[last]] = reduce(times, (filled[last], behind[last + 1]), begun)
        return Law(listed)
