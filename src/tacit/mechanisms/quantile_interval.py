"""A quantile with an interval, from a few draws of the exponential mechanism. Proof in quantile.md, "The interval"."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from typing import Any, NamedTuple

from tacit.accounting import calibrate
from tacit.accounting.composition import loss
from tacit.accounting.events import Batch, BoundedRangeChoice
from tacit.errors import InvalidBudget
from tacit.mechanisms.exponential import weighed
from tacit.mechanisms.noise.choice import choose
from tacit.mechanisms.quantile import FARTHEST_SHIFT, Quantile
from tacit.mechanisms.rank_blocks import Blocks, Grid
from tacit.mechanisms.unseal import opened
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import Loss
from tacit.privacy.neighbours import ADD_REMOVE, Neighbours
from tacit.privacy.rounding import Number, as_text, log_up

TO_CHOOSE = Fraction(1, 25)  # of epsilon: to learn whether there are many rows or few
MANY = 2  # times the margin is what an end must have beyond it for the middle of both ends to be near the quantile


class Enclosed(NamedTuple):
    """A quantile with its interval."""

    value: int | float
    low: int | float
    high: int | float


@dataclass(frozen=True, slots=True)
class QuantileWithInterval:
    """A quantile and an interval that encloses the true one with `confidence`, whatever the data.

    The true quantile may be any of the usual ones: lower, upper, or interpolated. A first draw, with a 25th of epsilon, says
    whether there are many rows or few. Of many, both ends are drawn with half of the rest each, below and above the rank q n by
    public margins; the value is the middle between them. Of few, between whose ends values may be spread unevenly, the value is
    drawn with half of the rest, and each end with a quarter. An extreme has one end for certain, the bound of the grid, and needs
    one draw alone, with all of epsilon: the other end, which is also the value.

    >>> median = QuantileWithInterval(0.5, lower=0, upper=100, step=1, epsilon=2, confidence=0.95)
    >>> [str(draw.shift) for draw in median.of_many], [str(draw.shift) for draw in median.of_few], median.many
    (['-10', '10'], ['0', '-18', '18'], 40)
    >>> print(median.loss)
    pure epsilon 2 (add or remove one row)
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
        if max(abs(draw.shift) for draw in self.of_few) > FARTHEST_SHIFT:
            raise InvalidBudget(
                f"epsilon={as_text(self.epsilon)} is too small: the interval would span more than 2^60 rows; use a larger epsilon"
            )

    @property
    def grid(self) -> Grid:
        """The public grid."""
        return Grid(self.lower, self.upper, self.step)

    @property
    def extreme(self) -> bool:
        """Whether it is a minimum or a maximum."""
        return self.q in (0, 1)

    @property
    def margins(self) -> tuple[int, int]:
        """How many ranks below and above q n the ends of many rows aim."""
        return self._margins(self._half)

    @property
    def many(self) -> int:
        """The number of rows from which there are more likely two draws than three."""
        return min(math.ceil(MANY * max(self.margins) / min(self.q, 1 - self.q)), FARTHEST_SHIFT)

    @property
    def of_many(self) -> tuple[Quantile, ...]:
        """The mechanisms that run for many rows: the low end and the high end. For an extreme, the only one, inside the data."""
        down, up = self.margins
        if self.extreme:
            return (self._at(up if self.q == 0 else -down, self._half),)
        return self._at(-down, self._half), self._at(up, self._half)

    @property
    def of_few(self) -> tuple[Quantile, ...]:
        """The mechanisms that run for few rows: the value, the low end and the high end. For an extreme, the same as for many."""
        if self.extreme:
            return self.of_many
        down, up = self._margins(self._half / 2)
        return self._at(0, self._half), self._at(-down, self._half / 2), self._at(up, self._half / 2)

    @property
    def event(self) -> Batch:
        """What the ledger records for one release: the ends of few rows are together no more than one end of many."""
        chosen = () if self.extreme else (BoundedRangeChoice(self.epsilon * TO_CHOOSE, self.neighbours),)
        return Batch((*chosen, *(draw.event for draw in self.of_many)))

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def release(self, values: Any) -> Enclosed:
        """A grid value and the two ends, for plain values, which are rounded to the grid and clamped to its ends."""
        return self._values(self.draw_from(Blocks.of(self.grid.rows(opened(values)), self.grid.points)))

    def release_units(self, pair: Any) -> Enclosed:
        """Three offsets from `lower` in steps, for (offsets, counts)."""
        return self.draw_from(Blocks.of(self.grid.rows_of_units(opened(pair)), self.grid.points))

    def draw_from(self, blocks: Blocks) -> Enclosed:
        """Three offsets, for blocks, which several quantiles of the same rows share."""
        of_many, of_few, many = _public(self)
        chosen = self.extreme or not choose(*self._choice(blocks.size, many))[0]
        return self._enclosed([draw.draw_from(blocks) for draw in (of_many if chosen else of_few)])

    def law(self, values: Any) -> Law:
        """The probability of each triple."""
        plain = opened(values)
        ways = (self.of_many,) if self.extreme else (self.of_many, self.of_few)
        chances = [Decimal(1)] if self.extreme else self._chances(len(plain))
        triples: dict[Hashable, Decimal] = {}
        for draws, chosen in zip(ways, chances, strict=True):
            each = [enumerate(draw.law(plain).probabilities.values()) for draw in draws]
            for drawn in product(*each):
                outcome = self._values(self._enclosed([offset for offset, _ in drawn]))
                chance = reduce(ARITHMETIC.multiply, (chance for _, chance in drawn), chosen)
                triples[outcome] = ARITHMETIC.add(chance, triples.get(outcome, Decimal(0)))
        return Law(triples)

    @property
    def _half(self) -> Fraction:
        """The epsilon of the only draw of an extreme, and of one of the two draws of many rows."""
        return self.epsilon if self.extreme else self.epsilon * (1 - TO_CHOOSE) / 2

    def _choice(self, size: int, many: int) -> tuple[list[int], list[int], Fraction]:
        """Candidates, costs and factor of the choice between many rows and few: how many are missing, or too many, counts."""
        missing = many - size
        return [1, 1], [max(0, missing), max(0, -missing)], self.epsilon * TO_CHOOSE / self.max_rows

    def _chances(self, size: int) -> list[Decimal]:
        """The probabilities of many rows and of few."""
        lengths, costs, factor = self._choice(size, self.many)
        return weighed(lengths, [Fraction(cost) for cost in costs], factor)

    def _margins(self, epsilon: Fraction) -> tuple[int, int]:
        """Those of ends that are drawn with `epsilon` each: what a draw may miss by, and where a quantile may be read."""
        miss, end = (1 - self.confidence) / (1 if self.extreme else 2), self._at(1, epsilon)
        missed = log_up(self.grid.points / miss) * end.spread / end.epsilon
        return math.ceil(missed + self.q), math.ceil(missed + 1 - self.q)

    def _at(self, shift: int, epsilon: Fraction) -> Quantile:
        return Quantile(self.q, self.lower, self.upper, self.step, epsilon, self.max_rows, shift, neighbours=self.neighbours)

    def _enclosed(self, drawn: Sequence[int]) -> Enclosed:
        """The ends in order and the value between them: where they enclose the truth, this only brings the value nearer to it."""
        if self.q == 0:
            return Enclosed(drawn[0], 0, drawn[0])
        if self.q == 1:
            return Enclosed(drawn[0], drawn[0], self.grid.points - 1)
        low, high = sorted(drawn[-2:])
        value = (low + high) // 2 if len(drawn) == 2 else min(max(drawn[0], low), high)
        return Enclosed(value, low, high)

    def _values(self, offsets: Enclosed) -> Enclosed:
        return Enclosed(*(self.grid.value(int(offset)) for offset in offsets))


@lru_cache(maxsize=256)
def _public(mechanism: QuantileWithInterval) -> tuple[tuple[Quantile, ...], tuple[Quantile, ...], int]:
    """The draws of many rows and of few, and how many are many: the same for every group, and computed once."""
    return mechanism.of_many, mechanism.of_few, 0 if mechanism.extreme else mechanism.many


def release_together(mechanisms: Sequence[Quantile | QuantileWithInterval], pair: Any) -> list[Enclosed]:
    """Quantiles of the same rows on the same grid, in offsets, for (offsets, counts), which are sorted once.

    One without an interval has the ends of the grid, between which it lies for certain.

    >>> low, high = (Quantile(q, lower=0, upper=9, step=1, epsilon=9999) for q in ("0.2", "0.8"))
    >>> [tuple(found) for found in release_together([low, high], ([3, 5], [50, 50]))]
    [(3, 0, 9), (5, 0, 9)]
    """
    grid = mechanisms[0].grid
    blocks = Blocks.of(grid.rows_of_units(opened(pair)), grid.points)
    drawn = [mechanism.draw_from(blocks) for mechanism in mechanisms]
    return [found if isinstance(found, Enclosed) else Enclosed(found, 0, grid.points - 1) for found in drawn]
