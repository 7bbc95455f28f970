"""Quantiles of a number on a public grid, from a randomized histogram. Proof in quantiles.md.

Categories are the points of the grid in their order. The share F(j) of values at or below point j is the sum of j + 1 shares: a
linear function of the tally, with the variance and the range of the sum, and not the sum of those of its parts. A quantile is
enclosed by the points at which F may cross its level: where F(j) is surely below the level the quantile is above j, and where
F(j) surely reaches it the quantile is at or below j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, as_text, exact
from tacit.publish.local.estimates.consistent import onto_simplex
from tacit.publish.local.estimates.estimate import Request, Tally, corrected, shares, tally_of
from tacit.publish.local.estimates.intervals import Setting, read_miss, tail_ends, tightest
from tacit.publish.local.estimates.results import Rows, Terms, interval_chart, table
from tacit.publish.local.estimates.share_sums import scatters
from tacit.publish.local.randomizers.categories import KAry
from tacit.publish.local.randomizers.randomizer import FrequencyOracle

Floats = NDArray[np.float64]
MOST_POINTS = 4096
ONE_SIDED = 2  # what Chebyshev's inequality says of both tails together it says of each, so that two points cost twice


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Estimated F(0), F(1), ..., each with the ends of its own interval; the last is one."""

    people: int
    values: Floats
    low: Floats
    high: Floats
    terms: Terms


@dataclass(frozen=True, slots=True)
class Quantile:
    """The point of the grid at a level: estimated, and the two that enclose it."""

    level: Fraction
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Quantiles(Rows):
    """Several quantiles of the same people."""

    columns: ClassVar = ("level", "value", "low", "high")
    people: int
    quantiles: tuple[Quantile, ...]
    terms: Terms

    def to_rows(self) -> list[dict[str, Any]]:
        """One dictionary for each level."""
        return [{"level": as_text(each.level), "value": each.value, "low": each.low, "high": each.high} for each in self.quantiles]

    def __str__(self) -> str:
        rows = [(row["level"], *(f"{row[key]:g}" for key in ("value", "low", "high"))) for row in self.to_rows()]
        return f"{table(self.columns, rows)}\n{self.people} people; {self.terms}"

    def chart(self, path: str | Path | None = None, title: str = "Estimated quantiles") -> Any:
        """An Altair chart of the quantiles with their intervals."""
        return interval_chart(self.to_rows(), "level", "value", title, path)


def quantiles(
    oracle: FrequencyOracle,
    reports: Any,
    levels: Sequence[Number],
    points: Sequence[float] | None = None,
    request: Request = Request(),  # noqa: B008  # frozen
) -> Quantiles:
    """The least point at which the share of values at or below it reaches each level, with an interval for each.

    `points` are the values of the categories, rising; without them the codes. Intervals hold each with the confidence asked for,
    or all together if the request is simultaneous.

    >>> ages = KAry(size=4, epsilon=3)
    >>> print(quantiles(ages, Tally(1000, [350, 330, 220, 100]), levels=[0.25, 0.5], points=[20, 40, 60, 80]))
    level  value  low  high
    0.25      20   20    20
    0.5       40   40    40
    1000 people; 95 % each, bernstein, of those who answered
    """
    asked = [_level(level) for level in levels]
    if not asked:
        raise InvalidInput("levels must not be empty; give for example levels=[0.25, 0.5, 0.75]")
    grid = _grid(points, oracle.size)
    tally = tally_of(oracle, reports)
    found = distribution(oracle, tally, request, intervals=len(asked) if request.simultaneous else 1)
    possible = np.cumsum(onto_simplex(shares(oracle, tally.supports, tally.people)))
    return Quantiles(tally.people, tuple(_enclosed(level, grid, possible, found) for level in asked), found.terms)


def distribution(oracle: FrequencyOracle, tally: Tally, request: Request = Request(), intervals: int = 1) -> Distribution:  # noqa: B008
    """F at every point, each in an interval of the confidence asked for, or of one that lets so many `intervals` hold together.

    With `intervals` = size - 1 they hold at all points together. Either tail is missed with half the chance at most.
    """
    if len(tally.supports) != oracle.size or oracle.size > MOST_POINTS:
        raise InvalidInput(f"a distribution requires the tally of all categories, of at most {MOST_POINTS}")
    if not getattr(oracle, "exclusive", True):
        raise InvalidInput("a distribution is not supported for sets: it requires one category per person")
    miss = read_miss(request.confidence, intervals)
    values, low, high, bound = (_coarsened if isinstance(oracle, KAry) else _summed)(oracle, tally, miss, request)  # type: ignore[arg-type]
    values, low, high = (np.append(part, 1.0) for part in (values, low, high))
    return Distribution(tally.people, values, low, high, request.terms(bound))


Points = tuple[Floats, Floats, Floats, str]  # values and ends of F at all points but the last, and the bound


def _coarsened(oracle: KAry, tally: Tally, miss: Fraction, request: Request) -> Points:
    """Whether a k-ary report is at or below j is itself a randomized bit, of rates p + j q and (j + 1) q: all its bounds apply."""

    def setting(count: int, chance: Fraction) -> Setting:
        return Setting(oracle.hit + (count - 1) * oracle.false_hit, count * oracle.false_hit, tally.people, chance, request.sampled)

    bound = request.bound or tightest(setting(-(-oracle.size // 2), miss))
    below, chance = np.cumsum(tally.supports)[:-1], _tail(bound, miss)
    settings = [setting(count, chance) for count in range(1, oracle.size)]
    ends = [tail_ends(each, bound, below[at : at + 1]) for at, each in enumerate(settings)]
    values = [
        float(corrected(Fraction(int(n), tally.people), each.hit, each.false_hit)) for n, each in zip(below, settings, strict=True)
    ]
    return np.array(values), np.array([low[0] for low, _ in ends]), np.array([high[0] for _, high in ends]), bound


def _summed(oracle: FrequencyOracle, tally: Tally, miss: Fraction, request: Request) -> Points:
    """The sum of the shares on the side with fewer categories, by the variance and the ranges of that sum."""
    found = scatters(oracle, tally.people, request.sampled)  # type: ignore[arg-type]  # frozen, hence hashable
    bound = request.bound or found[(oracle.size - 1) // 2].tightest(miss)
    halves = np.array([each.half_width(bound, _tail(bound, miss)) for each in found])
    each = shares(oracle, tally.supports, tally.people)
    below, above = np.cumsum(each)[:-1], 1 - np.cumsum(each[::-1])[::-1][1:]
    values = np.where(np.arange(1, oracle.size) <= oracle.size // 2, below, above)
    return values, np.clip(values - halves, 0.0, 1.0), np.clip(values + halves, 0.0, 1.0), bound


def _tail(bound: str, miss: Fraction) -> Fraction:
    return miss / ONE_SIDED if bound.startswith("chebyshev") else miss


def _enclosed(level: Fraction, grid: Floats, middle: Floats, found: Distribution) -> Quantile:
    """The first point where F may reach the level, and the one after the last where it may be below it."""
    wanted = float(level)
    first = int(np.argmax(found.high >= wanted))
    doubtful = np.flatnonzero(found.low[:-1] < wanted)
    last = int(doubtful[-1]) + 1 if doubtful.size else 0
    guess = min(int(np.searchsorted(middle, wanted - 1e-12)), len(grid) - 1)
    return Quantile(level, float(grid[min(max(guess, first), last)]), float(grid[first]), float(grid[last]))


def _level(level: Number) -> Fraction:
    asked = exact(level, "level")
    if not 0 < asked < 1:
        raise InvalidInput(f"a level must be above 0 and below 1, not {level}; the median is 0.5")
    return asked


def _grid(points: Sequence[float] | None, size: int) -> Floats:
    grid = np.arange(size, dtype=np.float64) if points is None else np.asarray(points, dtype=np.float64)
    if grid.shape != (size,) or not (np.diff(grid) > 0).all():
        raise InvalidInput(f"points must be {size} increasing numbers, one for each category")
    return grid
