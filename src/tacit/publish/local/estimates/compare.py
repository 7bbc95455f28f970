"""Two groups of people, whose membership is public: how far their shares, or their means, lie apart. Proof in compare.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.rounding import float_up
from tacit.publish.local.estimates.concentration import Scatter
from tacit.publish.local.estimates.estimate import (
    NumericRandomizer,
    Request,
    Total,
    ends_within,
    is_oracle,
    mean_scatter,
    numeric,
    shares,
    tally_of,
)
from tacit.publish.local.estimates.intervals import Setting, read_miss
from tacit.publish.local.estimates.results import Rows, Terms, interval_chart, read_names, rows_of, table
from tacit.publish.local.randomizers.randomizer import FrequencyOracle, Randomizer

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Difference(Rows):
    """The first group less the second, category by category (or one mean), with intervals of one half-width."""

    columns: ClassVar = ("category", "difference", "low", "high", "differs")
    people: tuple[int, int]
    values: Floats
    low: Floats
    high: Floats
    margin: float
    terms: Terms
    names: tuple[str, ...] = ()

    @property
    def differs(self) -> NDArray[np.bool_]:
        """Where the interval excludes a difference of zero: there the groups differ, at the stated confidence."""
        return (self.low > 0) | (self.high < 0)

    def named(self, names: Sequence[str]) -> Difference:
        """The same with the categories' names."""
        return replace(self, names=read_names(names, len(self.values)))

    def to_rows(self) -> list[dict[str, Any]]:
        """One dictionary for each difference."""
        return rows_of(self.columns, self.names, self.values, self.low, self.high, self.differs)

    def __str__(self) -> str:
        rows = [
            (row["category"], *(f"{row[key]:+.4f}" for key in ("difference", "low", "high")), "yes" if row["differs"] else "")
            for row in self.to_rows()
        ]
        return f"{table(self.columns, rows)}\n{self.people[0]} and {self.people[1]} people; {self.terms}"

    def chart(self, path: str | Path | None = None, title: str = "First group minus second") -> Any:
        """An Altair chart of the differences with their intervals."""
        return interval_chart(self.to_rows(), "category", "difference", title, path)


def compare(randomizer: Randomizer, first: Any, second: Any, request: Request = Request()) -> Difference:  # noqa: B008  # frozen
    """The difference of two groups of different people, from the reports or the tally of each.

    >>> from tacit.publish.local.randomizers.categories import Binary
    >>> from tacit.publish.local.estimates.estimate import Tally
    >>> women, men = Tally(20_000, [9_000, 11_000]), Tally(10_000, [6_000, 4_000])
    >>> print(compare(Binary.with_flip("1/4"), women, men).named(["no", "yes"]))
    category  difference      low     high  differs
    no           -0.3000  -0.3290  -0.2710      yes
    yes          +0.3000  +0.2710  +0.3290      yes
    20000 and 10000 people; 95 % each, bernstein, of those who answered
    """
    groups = (first, second)
    return _of_shares(randomizer, groups, request) if is_oracle(randomizer) else _of_means(numeric(randomizer), groups, request)


def _of_shares(oracle: FrequencyOracle, groups: tuple[Any, Any], request: Request) -> Difference:
    tallies = [tally_of(oracle, each) for each in groups]
    miss = read_miss(request.confidence, oracle.size if request.simultaneous else 1)
    one, other = (Scatter.of_share(Setting(oracle.hit, oracle.false_hit, tally.people, miss, request.sampled)) for tally in tallies)
    scatter = one + other
    first, second = (shares(oracle, each.supports, each.people) for each in tallies)
    bound = request.bound or scatter.tightest(miss)
    people = (tallies[0].people, tallies[1].people)
    return _between(first - second, scatter.half_width(bound, miss), 1.0, people, request.terms(bound))


def _of_means(randomizer: NumericRandomizer, groups: tuple[Any, Any], request: Request) -> Difference:
    totals = [each if isinstance(each, Total) else Total.of(randomizer, each) for each in groups]
    miss = read_miss(request.confidence)
    one, other = (mean_scatter(randomizer, total.people, request.sampled) for total in totals)
    first, second = (total.total / total.people for total in totals)
    bound, rounding = request.bound or (one + other).tightest(miss), request.rounding(randomizer, groups=2)
    half = float_up((one + other).half_width_up(bound, miss) + rounding)
    people, reach = (totals[0].people, totals[1].people), float(randomizer.upper - randomizer.lower)
    return _between(np.array([first - second]), half, reach, people, request.terms(bound, rounding))


def _between(values: Floats, half: float, reach: float, people: tuple[int, int], terms: Terms) -> Difference:
    """Intervals within the differences that are possible."""
    low, high = ends_within(values, half, -reach, reach)
    return Difference(people, values, low, high, half, terms)
