"""Quantiles of a number on a public grid, from a randomized histogram, by sums of shares.

Quantiles of a number on a public grid, from a randomized histogram. Proof in quantiles.md.

Categories are the points of the grid in their order. The share F(j) of values at or below point j is the sum of j + 1 shares: a
linear function of the tally, with the variance and the range of the sum, and not the sum of those of its parts. A quantile is
enclosed by the points at which F may cross its level: where F(j) is surely below the level the quantile is above j, and where
F(j) surely reaches it the quantile is at or below j.

The error of the sum of the estimated shares of some categories: of the first ones, or of the last. Proofs in quantiles.md.

The shares of one survey are estimated from the same reports, so that their errors are dependent, differently for each oracle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, singledispatch
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, as_text, exact
from tacit.publish.local.estimates.concentration import Scatter
from tacit.publish.local.estimates.consistent import onto_simplex
from tacit.publish.local.estimates.estimate import Request, Tally, shares, tally_of, unbiased_share
from tacit.publish.local.estimates.intervals import Setting, read_miss, tail_ends, tightest
from tacit.publish.local.estimates.results import Rows, Terms, interval_chart, table
from tacit.publish.local.randomizers.categories import KAry
from tacit.publish.local.randomizers.hadamard import HadamardResponse
from tacit.publish.local.randomizers.hashing import LocalHashing, field_of
from tacit.publish.local.randomizers.randomizer import FrequencyOracle
from tacit.publish.local.randomizers.rappor import Rappor
from tacit.publish.local.randomizers.unary import Unary

Codes = NDArray[np.int64]
MOST_LISTED = 32  # categories of an oracle whose channel is listed, since it has no closed form here


@lru_cache(maxsize=64)
def scatters(oracle: FrequencyOracle, people: int, sampled: bool) -> tuple[Scatter, ...]:
    """For each number of categories below all, how far the sum of that many shares strays: of the first, up to half of all; else
    one less the sum of the others. A sample adds a term that is 0 or 1 for each person.

    >>> one, two, three = scatters(HadamardResponse(4, epsilon=2), people=100, sampled=False)
    >>> one.variance < two.variance > three.variance
    True
    """
    own = Fraction(1) if sampled else Fraction(0)
    return tuple(Scatter((v + own / 4) / people, (r + own) / people, far / people) for v, r, far in terms_of(oracle))


Spreads = list[tuple[Fraction, Fraction, Fraction]]  # of one person: the variance, the squared ranges, and the farthest from a mean


@singledispatch
def terms_of(oracle: FrequencyOracle) -> Spreads:
    """Of one person, at each point but the last. Without a closed form it is the law of the number of supported categories on a
    side, for each true value, from the channel.
    """
    if oracle.size > MOST_LISTED:
        rule = "use KAry, Unary, LocalHashing or HadamardResponse for a grid"
        raise InvalidInput(f"{type(oracle).__name__} over {oracle.size} points is too large; {rule}")
    supported = np.array([oracle.supports([report]) for report in oracle.channel.outputs])
    chances = np.array(oracle.channel.rows, dtype=np.float64)
    spreads, slope = [], oracle.hit - oracle.false_hit
    for count in range(1, oracle.size):
        side = slice(0, count) if count <= oracle.size // 2 else slice(count, oracle.size)
        hits = supported[:, side].sum(axis=1)
        worst = float((chances @ hits**2 - (chances @ hits) ** 2).max()) * (1 + 1e-9)  # upward: the rounding of floats
        spread = int(hits.max() - hits.min()) / slope
        spreads.append((Fraction(worst) / slope**2, spread**2, spread))
    return spreads


@terms_of.register
def _(oracle: Unary | Rappor) -> Spreads:
    """The bits of unary reports are independent: their variances add, and every bit is a term of its own."""
    hit, false_hit, slope = oracle.hit, oracle.false_hit, oracle.hit - oracle.false_hit
    absent, farthest = false_hit * (1 - false_hit), max(hit, 1 - false_hit) / slope
    most = max(absent, hit * (1 - hit))
    return [(((count - 1) * absent + most) / slope**2, count / slope**2, farthest) for count in _counts(oracle.size)]


@terms_of.register
def _(oracle: LocalHashing | HadamardResponse) -> Spreads:
    """A report supports most pairs of categories independently; those that are tied, through the true one, more often together."""
    hit, false_hit, slope = oracle.hit, oracle.false_hit, oracle.hit - oracle.false_hit
    absent, present = false_hit * (1 - false_hit), hit * (1 - hit)
    inside, outside = tied_pairs(oracle)
    spreads = []
    for count, within, beyond in zip(_counts(oracle.size), inside, outside, strict=True):
        worst = max((count - 1) * absent + present + within * slope * false_hit, count * absent + beyond * slope * false_hit)
        farthest = max(count * (1 - false_hit), count * false_hit + slope)
        spreads.append((worst / slope**2, Fraction(count) ** 2 / slope**2, farthest / slope))
    return spreads


def tied_pairs(oracle: LocalHashing | HadamardResponse) -> tuple[list[int], list[int]]:
    """The most ordered pairs of categories of a side that one true value ties, for each side of `scatters`: a true value of the
    side itself, and one beyond it.
    """
    size, half = oracle.size, oracle.size // 2
    inside, outside = np.zeros((2, 2, half + 1), dtype=np.int64)  # for the first ones and for the last, by their number
    for value, ties in enumerate(ties_of(oracle)):
        for end, (place, names) in enumerate(((value, ties), (size - 1 - value, ties[::-1]))):
            pairs = np.append(0, np.cumsum(2 * _seen_before(names[:half])))
            np.maximum(inside[end, place + 1 :], pairs[place + 1 :], out=inside[end, place + 1 :])
            np.maximum(outside[end, : place + 1], pairs[: place + 1], out=outside[end, : place + 1])
    chosen = [(0, count) if count <= half else (1, size - count) for count in range(1, size)]
    return [int(inside[at]) for at in chosen], [int(outside[at]) for at in chosen]


def ties_of(oracle: LocalHashing | HadamardResponse) -> Iterator[Codes]:
    """For each true value a name of every category, alike where two of them are tied by it."""
    return _lines(oracle) if isinstance(oracle, LocalHashing) else _products(oracle.size)


def _products(size: int) -> Iterator[Codes]:
    """Two rows of a Hadamard matrix are tied by the third that is their product."""
    rows = np.arange(1, size + 1)
    return (np.minimum(rows, rows ^ row) for row in range(1, size + 1))


def _lines(oracle: LocalHashing) -> Iterator[Codes]:
    """Two vectors are tied by a third that lies on one line with them; a line is named by its direction."""
    cells, digits = oracle.cells, oracle.digits
    field = field_of(cells)
    minus = field.sums[:, np.argmax(field.sums == 0, axis=1)]  # [a, b] is a - b
    places = cells ** np.arange(digits)
    vectors = np.arange(oracle.hashes)[:, None] // places % cells
    lead = vectors[np.arange(oracle.hashes), np.argmax(vectors != 0, axis=1)]
    inverse = np.argmax(field.products == 1, axis=1)
    direction = field.products[inverse[lead][:, None], vectors].astype(np.int64) @ places
    own = np.ascontiguousarray(vectors[: oracle.size].T)
    return (
        direction[sum(minus[part, part[value]] * place for part, place in zip(own, places, strict=True))]
        for value in range(oracle.size)
    )


def _seen_before(names: Codes) -> Codes:
    """For each place, how many places before it have the same name."""
    order = np.argsort(names, kind="stable")
    fresh = np.append(True, np.diff(names[order]) != 0)
    places = np.arange(names.size)
    counts = np.empty_like(places)
    counts[order] = places - np.maximum.accumulate(np.where(fresh, places, 0))
    return counts


def _counts(size: int) -> list[int]:
    """Of the categories on the side with fewer, at each point but the last."""
    return [min(count, size - count) for count in range(1, size)]


# --- quantiles of a number on a public grid, from a randomized histogram -----------------------------------------------------


Floats = NDArray[np.float64]
MOST_POINTS = 4096
ONE_SIDED = 2  # Chebyshev's bound for both tails together is also the bound for each, so that two points cost twice


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
    estimated = distribution(oracle, tally, request, intervals=len(asked) if request.simultaneous else 1)
    possible = np.cumsum(onto_simplex(shares(oracle, tally.supports, tally.people)))
    return Quantiles(tally.people, tuple(_enclose(level, grid, possible, estimated) for level in asked), estimated.terms)


def distribution(oracle: FrequencyOracle, tally: Tally, request: Request = Request(), intervals: int = 1) -> Distribution:  # noqa: B008
    """F at every point, each in an interval of the requested confidence, or of one that lets `intervals` of them hold together.

    With `intervals` = size - 1 they hold at all points together. Either tail is missed with half the chance at most.
    """
    if len(tally.supports) != oracle.size or oracle.size > MOST_POINTS:
        raise InvalidInput(f"a distribution requires the tally of all categories, of at most {MOST_POINTS}")
    if not getattr(oracle, "exclusive", True):
        raise InvalidInput("a distribution is not supported for sets: it requires one category per person")
    miss = read_miss(request.confidence, intervals)
    values, low, high, bound = (_coarsen if isinstance(oracle, KAry) else _sum_shares)(oracle, tally, miss, request)  # type: ignore[arg-type]
    values, low, high = (np.append(part, 1.0) for part in (values, low, high))
    return Distribution(tally.people, values, low, high, request.terms(bound))


Points = tuple[Floats, Floats, Floats, str]  # values and ends of F at all points but the last, and the bound


def _coarsen(oracle: KAry, tally: Tally, miss: Fraction, request: Request) -> Points:
    """Whether a k-ary report is at or below j is itself a randomized bit, of rates p + j q and (j + 1) q: all its bounds apply."""

    def setting(count: int, chance: Fraction) -> Setting:
        return Setting(oracle.hit + (count - 1) * oracle.false_hit, count * oracle.false_hit, tally.people, chance, request.sampled)

    bound = request.bound or tightest(setting(-(-oracle.size // 2), miss))
    below, chance = np.cumsum(tally.supports)[:-1], _tail(bound, miss)
    settings = [setting(count, chance) for count in range(1, oracle.size)]
    ends = [tail_ends(each, bound, below[at : at + 1]) for at, each in enumerate(settings)]
    values = [
        float(unbiased_share(Fraction(int(n), tally.people), each.hit, each.false_hit))
        for n, each in zip(below, settings, strict=True)
    ]
    return np.array(values), np.array([low[0] for low, _ in ends]), np.array([high[0] for _, high in ends]), bound


def _sum_shares(oracle: FrequencyOracle, tally: Tally, miss: Fraction, request: Request) -> Points:
    """The sum of the shares on the side with fewer categories, by the variance and the ranges of that sum."""
    spreads = scatters(oracle, tally.people, request.sampled)  # type: ignore[arg-type]  # frozen, hence hashable
    bound = request.bound or spreads[(oracle.size - 1) // 2].tightest(miss)
    halves = np.array([each.half_width(bound, _tail(bound, miss)) for each in spreads])
    each = shares(oracle, tally.supports, tally.people)
    below, above = np.cumsum(each)[:-1], 1 - np.cumsum(each[::-1])[::-1][1:]
    values = np.where(np.arange(1, oracle.size) <= oracle.size // 2, below, above)
    return values, np.clip(values - halves, 0.0, 1.0), np.clip(values + halves, 0.0, 1.0), bound


def _tail(bound: str, miss: Fraction) -> Fraction:
    return miss / ONE_SIDED if bound.startswith("chebyshev") else miss


def _enclose(level: Fraction, grid: Floats, middle: Floats, estimated: Distribution) -> Quantile:
    """The first point where F may reach the level, and the one after the last where it may be below it."""
    wanted = float(level)
    first = int(np.argmax(estimated.high >= wanted))
    doubtful = np.flatnonzero(estimated.low[:-1] < wanted)
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
        raise InvalidInput(f"points must be {size} increasing numbers, one for each category", argument="points")
    return grid
