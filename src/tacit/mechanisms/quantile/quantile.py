"""Quantiles over a public grid by the exponential mechanism, for units of up to r rows. Proof in quantile.md."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.accounting import calibrate
from tacit.accounting.composition import loss
from tacit.accounting.events import BoundedRangeChoice
from tacit.chart import noise_picture, save
from tacit.errors import InvalidBudget, InvalidInput
from tacit.mechanisms.quantile.cells import MOST
from tacit.mechanisms.quantile.ends import Intervals
from tacit.mechanisms.quantile.rank_blocks import Blocks, Rank
from tacit.mechanisms.sorted_rows import Grid, SortedRows
from tacit.mechanisms.unseal import opened
from tacit.privacy.law import Law
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours, positive_budget
from tacit.privacy.rounding import Number, as_text, brief, exact, float_up, log_up

FARTHEST_SHIFT = 2**60
USUAL_MISS = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class Quantile:
    """A grid value v, the likelier the nearer its rank is to q n + shift: weight exp(-epsilon * distance / spread).

    The distance is max(0, #{x < v} - rank, rank - #{x <= v}); one unit has at most `max_rows` rows. Works on any number of rows,
    none included. Pure epsilon; after Smith 2011.

    q = 0 is the minimum and q = 1 the maximum. All values outside the data have exactly those ranks, so an extreme aimed at its
    own rank would be uniform over the empty end of the grid: by default the aim is moved into the data, by what a draw may miss.

    >>> median = Quantile(0.5, lower=0, upper=100, step=1, epsilon=1)
    >>> print(median.loss, median.sensitivity, median.rank_error(0.95))
    pure epsilon 1 (add or remove one row) 1/2 7.610...
    >>> Quantile(0, lower=0, upper=100, step=1, epsilon=1).shift
    Fraction(16, 1)
    """

    q: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    epsilon: Fraction
    max_rows: int = 1
    shift: Fraction = Fraction(0)
    neighbours: Neighbours = ADD_REMOVE

    def __init__(
        self,
        q: Number,
        lower: Number,
        upper: Number,
        step: Number,
        epsilon: Number,
        max_rows: int = 1,
        shift: Number | None = None,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> None:
        grid = Grid(lower, upper, step)
        object.__setattr__(self, "q", _share(q))
        object.__setattr__(self, "lower", grid.lower)
        object.__setattr__(self, "upper", grid.upper)
        object.__setattr__(self, "step", grid.step)
        object.__setattr__(self, "epsilon", positive_budget(epsilon))
        object.__setattr__(self, "max_rows", _row_limit(max_rows))
        object.__setattr__(self, "neighbours", neighbours)
        object.__setattr__(self, "shift", self._inward() if shift is None else exact(shift, "shift"))
        if abs(self.shift) > FARTHEST_SHIFT:
            raise InvalidBudget(
                f"epsilon={as_text(self.epsilon)} is too small: the rank would move by more than 2^60 rows; use a larger epsilon",
                argument="epsilon",
            )

    @classmethod
    def for_error(cls, error: Number, confidence: Number, **parameters: Any) -> Quantile:
        """The least epsilon whose rank error at `confidence` is `error` rows; `parameters` are all but epsilon.

        >>> Quantile.for_error(20, 0.95, q=0.5, lower=0, upper=100, step=1).rank_error(0.95)
        20.0
        """
        wanted = exact(error, "error")
        if wanted <= 0:
            raise InvalidInput(
                f"error must be a finite number of rows above 0, not {error}; give for example error=10", argument="error"
            )
        trial = cls(epsilon=1, **parameters)
        return cls(epsilon=trial.spread * log_up(trial.grid.points / calibrate.miss(confidence)) / wanted, **parameters)

    @property
    def grid(self) -> Grid:
        """The public grid."""
        return Grid(self.lower, self.upper, self.step)

    @property
    def sensitivity(self) -> Fraction:
        """The most that the distance of one grid value changes between neighbours."""
        return self.max_rows * (Fraction(1) if self.neighbours.size_is_public else max(self.q, 1 - self.q))

    @property
    def spread(self) -> Fraction:
        """The range of that change over all grid values: twice the sensitivity; for an extreme at its own rank, `max_rows`."""
        return Fraction(self.max_rows) if self.q in (0, 1) and self.shift == 0 else 2 * self.sensitivity

    @property
    def event(self) -> BoundedRangeChoice:
        """The event that the ledger records for one release."""
        return BoundedRangeChoice(self.epsilon, self.neighbours)

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def release(self, values: Any) -> int | float:
        """A grid value for plain values, which are rounded to the grid and clamped to its ends."""
        grid = self.grid
        return grid.value(self.draw(grid.rows(opened(values))))

    def release_units(self, pair: Any) -> int:
        """An offset from `lower` in steps, for (offsets, counts): distinct values as offsets, and how many rows have each."""
        return self.draw(self.grid.rows_of_units(opened(pair)))

    def draw(self, rows: SortedRows) -> int:
        """An offset for rows that have been read already."""
        return self.draw_from(Blocks.of(rows, self.grid.points))

    def draw_from(self, blocks: Blocks) -> int:
        """The same for blocks, which several draws from the same rows share."""
        return blocks.draw(self.aim(blocks.size), self.epsilon / self.spread)

    def law(self, values: Any) -> Law:
        """The probability of each grid value."""
        grid = self.grid
        blocks = Blocks.of(grid.rows(opened(values)), grid.points)
        return Law({grid.value(offset): weight for offset, weight in enumerate(self.law_from(blocks))})

    def law_from(self, blocks: Blocks) -> list[Decimal]:
        """The probability of each offset, for blocks."""
        return blocks.law(self.aim(blocks.size), self.epsilon / self.spread)

    def rank_error(self, confidence: Number) -> float:
        """How many rows, with `confidence`, the rank of the release is from its aim at most.

        spread / epsilon * ln(points / (1 - confidence)), rounded up.
        """
        return float_up(log_up(self.grid.points / calibrate.miss(confidence)) * self.spread / self.epsilon)

    def chart(self, values: Any = None, path: str | Path | None = None) -> Any:
        """The probability of each grid value at half, all and twice the epsilon, by default for a hundred values evenly spread.

        The picture of private values would show them: this is for public or invented ones.
        """
        shown = [self.lower + (self.upper - self.lower) * part / 101 for part in range(1, 101)] if values is None else values
        curves = {}
        for epsilon in (self.epsilon / 2, self.epsilon, 2 * self.epsilon):
            law = replace(self, epsilon=epsilon).law(shown).probabilities
            curves[f"epsilon {as_text(epsilon)}"] = ([float(str(v)) for v in law], [float(p) for p in law.values()])
        return save(noise_picture(curves, None, f"The {as_text(self.q)}-quantile", axes=("value", "probability")), path)

    def aim(self, size: int) -> Rank:
        """q n + shift, for n rows. Any number of public rows at both ends of the grid make it exist, whatever the data."""
        denominator = math.lcm(self.q.denominator, self.shift.denominator)
        return Rank(int(self.q * denominator) * size + int(self.shift * denominator), denominator)

    def _inward(self) -> Fraction:
        """0, or for an extreme the rank error at 95 % confidence, rounded up, towards the middle."""
        if self.q not in (0, 1):
            return Fraction(0)
        missed = log_up(self.grid.points / USUAL_MISS) * 2 * self.sensitivity / self.epsilon
        return Fraction(math.ceil(missed) * (1 if self.q == 0 else -1))


@dataclass(frozen=True, slots=True)
class BothEnds:
    """Two grid values at once, around the ranks of `low` and `high`: weight exp(-epsilon * the larger distance / spread).

    One draw of a cell, pure epsilon: two stretches of values, each at most a sixteenth as long as what lies between. Their outer
    values are released. The middle between them is as near as one value drawn with all of epsilon. On a grid of more than 2^56
    points the two are drawn apart, with half of epsilon each.

    >>> low, high = (Quantile(0.5, lower=0, upper=100, step=1, epsilon=1, shift=shift) for shift in (-10, 10))
    >>> ends = BothEnds(low, high)
    >>> print(ends.loss, len(ends.release(range(100))))
    pure epsilon 1 (add or remove one row) 2
    """

    low: Quantile
    high: Quantile

    def __post_init__(self) -> None:
        away = self.high.shift - self.low.shift
        if away.denominator != 1 or away < 0 or replace(self.low, shift=self.high.shift) != self.high:
            raise InvalidInput("both ends must be quantiles that differ by their shift alone, upwards by a whole number of ranks")

    @property
    def epsilon(self) -> Fraction:
        """That of both together."""
        return self.low.epsilon

    @property
    def together(self) -> bool:
        """Whether they are one draw."""
        return self.low.grid.points <= MOST

    @property
    def event(self) -> BoundedRangeChoice:
        """The event that the ledger records for one release."""
        return self.low.event

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    def release(self, values: Any) -> tuple[int | float, int | float]:
        """Two grid values for plain values."""
        grid = self.low.grid
        low, high = self.draw_from(Blocks.of(grid.rows(opened(values)), grid.points))
        return grid.value(low), grid.value(high)

    def draw_from(self, blocks: Blocks) -> tuple[int, int]:
        """Two offsets, the one for `low` first."""
        low, high = self.low.aim(blocks.size), self.high.aim(blocks.size)
        if self.together:
            return Intervals(blocks, low, high).draw(self._factor)
        return blocks.draw(low, self._factor / 2), blocks.draw(high, self._factor / 2)

    def law(self, values: Any) -> Law:
        """The probability of each pair of values."""
        grid = self.low.grid
        law = self.law_from(Blocks.of(grid.rows(opened(values)), grid.points))
        return Law({(grid.value(low), grid.value(high)): chance for (low, high), chance in law.items()})

    def law_from(self, blocks: Blocks) -> dict[tuple[int, int], Decimal]:
        """The probability of each pair of offsets, for blocks of a grid on which they are drawn together."""
        return Intervals(blocks, self.low.aim(blocks.size), self.high.aim(blocks.size)).law(self._factor)

    @property
    def _factor(self) -> Fraction:
        return self.epsilon / max(self.low.spread, self.high.spread)


def _share(q: Number) -> Fraction:
    number = exact(q, "q")
    if not 0 <= number <= 1:
        raise InvalidInput(
            f"q must be from 0 (the minimum) to 1 (the maximum), not {brief(q)}; give for example q=0.5 for the median"
        )
    return number


def _row_limit(max_rows: int) -> int:
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
        raise InvalidInput(f"max_rows must be a whole number of at least 1, not {max_rows!r}", argument="max_rows")
    return max_rows
