"""A quantile with an interval, from a few draws of the exponential mechanism. Proof in quantile.md, "The interval"."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from tacit.accounting import calibrate
from tacit.accounting.composition import loss
from tacit.accounting.events import Batch, BoundedRangeChoice
from tacit.errors import InvalidBudget
from tacit.mechanisms.exponential import weighed
from tacit.mechanisms.noise.choice import choose
from tacit.mechanisms.quantile.cells import MOST, Cells
from tacit.mechanisms.quantile.quantile import FARTHEST_SHIFT, BothEnds, Quantile
from tacit.mechanisms.quantile.rank_blocks import Blocks
from tacit.mechanisms.sorted_rows import Grid
from tacit.mechanisms.unseal import opened
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours
from tacit.privacy.rounding import Number, as_text, log_up

HALF = Fraction(1, 2)
TO_CHOOSE = Fraction(1, 25)  # of epsilon: to learn whether there are many rows or few
MANY = 2  # times the margin is what an end must have beyond it for the middle of both ends to be near the quantile


class Enclosed(NamedTuple):
    """A quantile with its interval."""

    value: int | float
    low: int | float
    high: int | float


class Few(NamedTuple):
    """The draws for few rows."""

    value: Quantile
    ends: BothEnds


@dataclass(frozen=True, slots=True)
class QuantileWithInterval:
    """A quantile and an interval that encloses the true one with `confidence`, whatever the data.

    The true quantile may be any of the usual ones: lower, upper, or interpolated. A first draw, with a 25th of epsilon, says
    whether there are many rows or few. Of many, both ends are drawn at once with the rest, below and above the rank q n by public
    margins; the value is the middle between them. Of few, between whose ends values may be spread unevenly, the value is drawn
    with half of the rest, and both ends with the other half. An extreme has one end for certain, the bound of the grid, and needs
    one draw alone, with all of epsilon: the other end, which is also the value.

    >>> median = QuantileWithInterval(0.5, lower=0, upper=100, step=1, epsilon=2, confidence=0.95)
    >>> median.margins, str(median.of_few.ends.high.shift), median.many
    ((7, 7), '13', 28)
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
        if max(self._margins(self._rest if self.extreme else self._rest / 2)) > FARTHEST_SHIFT:
            raise InvalidBudget(
                f"epsilon={as_text(self.epsilon)} is too small: the interval would span more than 2^60 rows; use a larger epsilon",
                argument="epsilon",
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
        return self._margins(self._rest)

    @property
    def many(self) -> int:
        """The number of rows from which there is more likely one draw, of both ends, than a draw of the value before it."""
        return min(math.ceil(MANY * max(self.margins) / min(self.q, 1 - self.q)), FARTHEST_SHIFT)

    @property
    def inside(self) -> Quantile:
        """The only mechanism that runs for an extreme: it aims inside the data."""
        down, up = self.margins
        return self._at(up if self.q == 0 else -down, self._rest)

    @property
    def of_many(self) -> BothEnds:
        """The mechanism that runs for many rows."""
        return self._ends(self.margins, self._rest)

    @property
    def of_few(self) -> Few:
        """The mechanisms that run for few rows."""
        half = self._rest / 2
        return Few(self._at(0, half), self._ends(self._margins(half), half))

    @property
    def event(self) -> Batch:
        """The event that the ledger records: value and ends of few rows are together no more than the ends of many."""
        if self.extreme:
            return Batch((self.inside.event,))
        parts = (1,) if self._together else (HALF, HALF)
        return Batch(
            (
                BoundedRangeChoice(self.epsilon * TO_CHOOSE, self.neighbours),
                *(BoundedRangeChoice(self._rest * part, self.neighbours) for part in parts),
            )
        )

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
        if self.extreme:
            return self._beside(_only(self).draw_from(blocks))
        of_many, of_few, many = _public(self)
        if choose(*self._choice(blocks.size, many))[0]:
            return self._around(of_few.value.draw_from(blocks), of_few.ends.draw_from(blocks))
        return self._between(of_many.draw_from(blocks))

    def law(self, values: Any) -> Law:
        """The probability of each triple."""
        rows = self.grid.rows(opened(values))
        blocks = Blocks.of(rows, self.grid.points)
        triples: dict[Hashable, Decimal] = {}
        for drawn, chance in self._ways(blocks):
            outcome = self._values(drawn)
            triples[outcome] = ARITHMETIC.add(chance, triples.get(outcome, Decimal(0)))
        return Law(triples)

    def _ways(self, blocks: Blocks) -> Iterator[tuple[Enclosed, Decimal]]:
        """The outcomes of each way to draw, with their probabilities."""
        if self.extreme:
            yield from ((self._beside(end), chance) for end, chance in enumerate(self.inside.law_from(blocks)))
            return
        many, few = self._chances(blocks.size)
        for pair, chance in self.of_many.law_from(blocks).items():
            yield self._between(pair), ARITHMETIC.multiply(many, chance)
        values = list(enumerate(self.of_few.value.law_from(blocks)))
        for pair, chance in self.of_few.ends.law_from(blocks).items():
            either = ARITHMETIC.multiply(few, chance)
            yield from ((self._around(value, pair), ARITHMETIC.multiply(either, weight)) for value, weight in values)

    @property
    def _rest(self) -> Fraction:
        """The epsilon of what runs after the choice."""
        return self.epsilon if self.extreme else self.epsilon * (1 - TO_CHOOSE)

    @property
    def _together(self) -> bool:
        """Whether the ends are one draw."""
        return self.grid.points <= MOST

    def _choice(self, size: int, many: int) -> tuple[list[int], list[int], Fraction]:
        """Candidates, costs and factor of the choice between many rows and few: how many are missing, or too many, counts."""
        missing = many - size
        return [1, 1], [max(0, missing), max(0, -missing)], self.epsilon * TO_CHOOSE / self.max_rows

    def _chances(self, size: int) -> list[Decimal]:
        """The probabilities of many rows and of few."""
        lengths, costs, factor = self._choice(size, self.many)
        return weighed(lengths, [Fraction(cost) for cost in costs], factor)

    def _margins(self, epsilon: Fraction) -> tuple[int, int]:
        """Those of ends that are drawn with `epsilon`: what a draw may miss by, and where a quantile may be read."""
        points, miss, one = self.grid.points, 1 - self.confidence, self._at(1, epsilon)
        apart = (2 * points / miss) ** 2  # two draws with half of epsilon each, which fail half as often
        odds = points / miss if self.extreme else Cells.of(points).total / miss if self._together else apart
        missed = log_up(odds) * one.spread / epsilon
        return math.ceil(missed + self.q), math.ceil(missed + 1 - self.q)

    def _ends(self, margins: tuple[int, int], epsilon: Fraction) -> BothEnds:
        return BothEnds(self._at(-margins[0], epsilon), self._at(margins[1], epsilon))

    def _at(self, shift: int, epsilon: Fraction) -> Quantile:
        return Quantile(self.q, self.lower, self.upper, self.step, epsilon, self.max_rows, shift, neighbours=self.neighbours)

    def _beside(self, end: int) -> Enclosed:
        """An extreme, between the bound of the grid and the other end."""
        return Enclosed(end, 0, end) if self.q == 0 else Enclosed(end, end, self.grid.points - 1)

    def _between(self, ends: tuple[int, int]) -> Enclosed:
        """The ends in order, and their middle."""
        low, high = sorted(ends)
        return Enclosed((low + high) // 2, low, high)

    def _around(self, value: int, ends: tuple[int, int]) -> Enclosed:
        """The ends in order and the value between them: where they enclose the truth, this only brings the value nearer to it."""
        low, high = sorted(ends)
        return Enclosed(min(max(value, low), high), low, high)

    def _values(self, offsets: Enclosed) -> Enclosed:
        return Enclosed(*(self.grid.value(int(offset)) for offset in offsets))


@lru_cache(maxsize=256)
def _public(mechanism: QuantileWithInterval) -> tuple[BothEnds, Few, int]:
    """The draws for many rows and for few, and how many are many: the same for every group, and computed once."""
    return mechanism.of_many, mechanism.of_few, mechanism.many


@lru_cache(maxsize=256)
def _only(mechanism: QuantileWithInterval) -> Quantile:
    return mechanism.inside


def release_together(mechanisms: Sequence[Quantile | QuantileWithInterval], pair: Any) -> list[Enclosed]:
    """Quantiles of the same rows on the same grid, in offsets, for (offsets, counts), which are sorted once.

    One without an interval has the ends of the grid, between which it lies for certain.

    >>> low, high = (Quantile(q, lower=0, upper=9, step=1, epsilon=9999) for q in ("0.2", "0.8"))
    >>> [tuple(each) for each in release_together([low, high], ([3, 5], [50, 50]))]
    [(3, 0, 9), (5, 0, 9)]
    """
    grid = mechanisms[0].grid
    blocks = Blocks.of(grid.rows_of_units(opened(pair)), grid.points)
    drawn = [mechanism.draw_from(blocks) for mechanism in mechanisms]
    return [each if isinstance(each, Enclosed) else Enclosed(each, 0, grid.points - 1) for each in drawn]
