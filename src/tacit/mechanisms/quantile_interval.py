"""A quantile with an interval, from three draws of the exponential mechanism. Proof in quantile.md, "The interval"."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

from tacit.accounting import calibrate
from tacit.accounting.composition import loss
from tacit.accounting.events import Batch
from tacit.errors import InvalidBudget
from tacit.mechanisms.quantile import FARTHEST_SHIFT, Quantile
from tacit.mechanisms.rank_blocks import Grid
from tacit.mechanisms.sorted_rows import SortedRows
from tacit.mechanisms.unseal import opened
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import Loss
from tacit.privacy.neighbours import ADD_REMOVE, Neighbours
from tacit.privacy.rounding import Number, as_text, log_up


class Enclosed(NamedTuple):
    """A quantile with its interval."""

    value: int | float
    low: int | float
    high: int | float


@dataclass(frozen=True, slots=True)
class QuantileWithInterval:
    """A quantile and an interval that encloses the true one with `confidence`, whatever the data.

    Three draws, each with a third of epsilon: at the rank q n, and below and above it by public margins. The true quantile may be
    any of the usual ones: lower, upper, or interpolated. An extreme has one end for certain, the bound of the grid, and needs one
    draw alone, with all of epsilon: the other end, which is also the value.

    >>> median = QuantileWithInterval(0.5, lower=0, upper=100, step=1, epsilon=3, confidence=0.95)
    >>> [str(draw.shift) for draw in median.draws]
    ['0', '-9', '9']
    >>> print(median.loss)
    pure epsilon 3 (add or remove one row)
    """

    q: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    epsilon: Fraction
    confidence: Fraction
    max_rows: int = 1
    neighbours: Neighbours = ADD_REMOVE

    def __init__(
        self,
        q: Number,
        lower: Number,
        upper: Number,
        step: Number,
        epsilon: Number,
        confidence: Number = Fraction(95, 100),
        max_rows: int = 1,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> None:
        one = Quantile(q, lower, upper, step, epsilon, max_rows, shift=0, neighbours=neighbours)
        for name in ("q", "lower", "upper", "step", "epsilon", "max_rows", "neighbours"):
            object.__setattr__(self, name, getattr(one, name))
        object.__setattr__(self, "confidence", 1 - calibrate.miss(confidence))
        if max(self.margins) > FARTHEST_SHIFT:
            raise InvalidBudget(
                f"epsilon={as_text(self.epsilon)} is too small: the interval would span more than 2^60 rows; use a larger epsilon"
            )

    @property
    def grid(self) -> Grid:
        """The public grid."""
        return Grid(self.lower, self.upper, self.step)

    @property
    def margins(self) -> tuple[int, int]:
        """How many ranks below and above q n the outer draws aim: what a draw may miss by, and where a quantile may be read."""
        miss, outer = (1 - self.confidence) / (1 if self.q in (0, 1) else 2), self._at(shift=1)
        missed = log_up(self.grid.points / miss) * outer.spread / outer.epsilon
        return math.ceil(missed + self.q), math.ceil(missed + 1 - self.q)

    @property
    def draws(self) -> tuple[Quantile, ...]:
        """The mechanisms that run: in the middle, below, above; for an extreme the one inside the data."""
        down, up = self.margins
        if self.q in (0, 1):
            return (self._at(up if self.q == 0 else -down),)
        return self._at(0), self._at(-down), self._at(up)

    @property
    def event(self) -> Batch:
        """What the ledger records for one release."""
        return Batch(tuple(draw.event for draw in self.draws))

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def release(self, values: Any) -> Enclosed:
        """A grid value and the two ends, for plain values, which are rounded to the grid and clamped to its ends."""
        return self._values(self._offsets(self.grid.rows(opened(values))))

    def release_units(self, pair: Any) -> Enclosed:
        """Three offsets from `lower` in steps, for (offsets, counts)."""
        return self._offsets(self.grid.rows_of_units(opened(pair)))

    def law(self, values: Any) -> Law:
        """The probability of each triple."""
        plain = opened(values)
        each = [enumerate(draw.law(plain).probabilities.values()) for draw in self.draws]
        triples: dict[Hashable, Decimal] = {}
        for drawn in product(*each):
            outcome = self._values(self._enclosed([offset for offset, _ in drawn]))
            weight = reduce(ARITHMETIC.multiply, (weight for _, weight in drawn))
            triples[outcome] = ARITHMETIC.add(weight, triples.get(outcome, Decimal(0)))
        return Law(triples)

    def _at(self, shift: int) -> Quantile:
        parts = 1 if self.q in (0, 1) else 3
        return Quantile(
            self.q, self.lower, self.upper, self.step, self.epsilon / parts, self.max_rows, shift, neighbours=self.neighbours
        )

    def _offsets(self, rows: SortedRows) -> Enclosed:
        return self._enclosed([draw.draw(rows) for draw in self.draws])

    def _enclosed(self, drawn: list[int]) -> Enclosed:
        """The ends in order and the value between them: where they enclose the truth, this only brings the value nearer to it."""
        if self.q == 0:
            return Enclosed(drawn[0], 0, drawn[0])
        if self.q == 1:
            return Enclosed(drawn[0], drawn[0], self.grid.points - 1)
        value, low, high = drawn[0], min(drawn[1:]), max(drawn[1:])
        return Enclosed(min(max(value, low), high), low, high)

    def _values(self, offsets: Enclosed) -> Enclosed:
        return Enclosed(*(self.grid.value(int(offset)) for offset in offsets))
