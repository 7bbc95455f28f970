"""t-closeness and delta-disclosure privacy: the values of every group are spread as in the whole table.

t-closeness: the values of every group are spread as in the whole table, within a distance t (Li, Li, Venkatasubramanian 2007).

The distance is the least work of moving one distribution into the other, under a ground distance between values: 1 for any two
(`equal`), the difference of places (`ordered`), or the height of the lowest node above both (`hierarchical`). See closeness.md.

Distances of the values of each group from those of the whole table, as exact ratios of integers: see closeness.md.

Each function returns numerators and denominators, one of each for a group. Only values that occur in a group are looked at one by
one; the contribution of the others follows from sums over the whole table, so that many values cost no more than many rows.

delta-disclosure privacy: in every group each value is about as frequent as in the whole table (Brickell and Shmatikov 2008).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import DIGITS, Number, as_text, exact, exp_down, exp_up, float_up, is_decimal, log_up
from tacit.publish.tables.models.counts import Counts
from tacit.publish.tables.models.exactly import compare, integers, largest_ratio
from tacit.publish.tables.models.tree import Tree
from tacit.publish.tables.models.verdict import Figure, SensitiveModel, at_most, parameter

Ratios = tuple[NDArray[Any], NDArray[Any]]


def equal_distance(counts: Counts) -> Ratios:
    """Half the sum of |p - q|: sum |c n - C m| over 2 m n."""
    most = 4 * int(counts.sizes.max()) * counts.total
    count, size, totals = (integers(each, most) for each in (counts.count, counts.sizes, counts.totals))
    there = totals[counts.value]
    present = counts.sum_by_group(np.abs(count * counts.total - there * size[counts.group]))
    absent = (counts.total - counts.sum_by_group(there)) * size
    return present + absent, 2 * size * counts.total


def ordered_distance(counts: Counts, order: Sequence[Any] | None = None) -> Ratios:
    """The sum of |P_i - Q_i| over all but the last of the M values of the whole table in their order, divided by M - 1.

    P and Q are the cumulative shares. Between two values of a group P stands still and Q rises, so that the sum over such a gap has
    at most one change of sign, which is found by bisection.
    """
    place, number = _places(counts, order)
    if number == 1:
        return np.zeros_like(counts.sizes), np.ones_like(counts.sizes)
    most = 4 * int(counts.sizes.max()) * counts.total * number
    rank = place[counts.value]
    by_order = np.lexsort((rank, counts.group))
    group, rank = counts.group[by_order], rank[by_order]
    size = integers(counts.sizes, most)
    running = np.cumsum(counts.count[by_order])
    inside = running - np.repeat(running[counts.starts] - counts.count[by_order][counts.starts], counts.distinct)
    whole = np.cumsum(np.bincount(place[counts.totals > 0], weights=counts.totals[counts.totals > 0], minlength=number)).astype(
        np.int64
    )
    below = integers(np.concatenate([[0], np.cumsum(whole)]), most)  # below[i]: the sum of the first i cumulative totals
    gap_end = np.append(rank[1:], number - 1)
    gap_end[np.append(group[1:] != group[:-1], True)] = number - 1
    start, end = np.minimum(rank, number - 1), np.maximum(gap_end, np.minimum(rank, number - 1))
    level = integers(inside, most) * counts.total  # n P on the gap
    of = size[group]
    turn = np.clip(np.searchsorted(whole, (level // of).astype(np.int64), side="right"), start, end)
    falling = level * (turn - start) - of * (below[turn] - below[start])
    rising = of * (below[end] - below[turn]) - level * (end - turn)
    before = size * below[rank[counts.starts]]  # before its first value, P is 0
    return before + counts.sum_by_group(falling + rising), size * counts.total * (number - 1)


def hierarchical_distance(counts: Counts, tree: Tree) -> Ratios:
    """The sum over inner nodes N of height(N) / H times min(pos(N), neg(N)).

    pos and neg are the sums of the positive and negative parts of c n - C m over the children of N. Children that a group lacks are
    negative, so pos is a sum over those that it has, and neg is pos less the figure of N itself.
    """
    most = 4 * int(counts.sizes.max()) * counts.total * max(tree.height, 1)
    size = integers(counts.sizes, most)
    there = counts.totals > 0
    levels = tree.levels([value for value, present in zip(counts.values, there.tolist(), strict=True) if present])
    codes = np.full((len(levels), len(there)), -1, dtype=np.int64)
    codes[:, there] = np.array(levels)
    cost = np.zeros_like(size)
    group, node, count = counts.group, codes[0][counts.value], counts.count
    totals = _totals(codes[0][there], counts.totals[there])
    for level in range(1, tree.height + 1):
        extra = integers(count, most) * counts.total - integers(totals, most)[node] * size[group]
        above = np.zeros(len(totals), dtype=np.int64)
        above[codes[level - 1][there]] = codes[level][there]
        width = int(codes[level].max()) + 1
        keys, child = np.unique(group * width + above[node], return_inverse=True)
        positive = _sum_by_place(np.maximum(extra, 0), child, len(keys))
        group, node = keys // width, keys % width
        count = _sum_by_place(count, child, len(keys))
        totals = _totals(codes[level][there], counts.totals[there])
        own = integers(count, most) * counts.total - integers(totals, most)[node] * size[group]
        cost = cost + level * _sum_by_place(np.minimum(positive, positive - own), group, len(size))
    return cost, size * counts.total * tree.height


def _totals(codes: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
    summed: NDArray[np.int64] = _sum_by_place(totals, codes, int(codes.max()) + 1)
    return summed


def _sum_by_place(parts: NDArray[Any], into: NDArray[np.int64], number: int) -> NDArray[Any]:
    """Integer sums of parts by the place that each belongs to."""
    total = np.zeros(number, dtype=parts.dtype)
    np.add.at(total, into, parts)
    return total


def _places(counts: Counts, order: Sequence[Any] | None) -> tuple[NDArray[np.int64], int]:
    """The place of each value in the order, and how many places the values of the table take."""
    there = [value for value, present in zip(counts.values, (counts.totals > 0).tolist(), strict=True) if present]
    rank: dict[Any, Any] = {value: _number(value) for value in there}
    if order is not None:
        given = {value: place for place, value in enumerate(order)}
        if lacking := [value for value in there if value not in given]:
            raise InvalidInput(
                f"the order of {counts.name or 'the column'} lacks {len(lacking):,} of its values; list every value once"
            )
        rank = {value: given[value] for value in there}
    elif any(number is None for number in rank.values()):
        name = counts.name or "the column"
        raise InvalidInput(
            f"ordered distance needs numbers in every row of {name}, or an order of its values; use the equal distance"
        )
    places = {number: place for place, number in enumerate(sorted(set(rank.values())))}
    return np.array([places[rank[value]] if value in rank else 0 for value in counts.values], dtype=np.int64), len(places)


def _number(value: Any) -> Fraction | None:
    if isinstance(value, bool) or value is None or (isinstance(value, str) and not is_decimal(value)):
        return None
    try:
        return exact(value)
    except InvalidInput:
        return None


# --- t-closeness -------------------------------------------------------------------------------------------------------------


DISTANCES = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class Closeness(SensitiveModel):
    """Every group is within the distance t of the whole table.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(Closeness("1/6").on(counts_of([[4, 2], [2, 4]])))
    t-closeness (equal), t = 0.166667: passes (t = 0.166667)
    """

    t: Number
    distance: str = "equal"
    order: Sequence[Any] | None = None
    tree: Tree | None = None
    name: ClassVar[str] = "t-closeness"

    def __post_init__(self) -> None:
        parameter(self.t, "t", 0, 1)
        if self.distance not in DISTANCES:
            raise InvalidInput(f"unknown distance {self.distance[:40]!r}; expected equal, ordered or hierarchical")
        if (self.distance == "hierarchical") != (self.tree is not None):
            raise InvalidInput("the hierarchical distance, and no other, needs a tree of values; give one as tree")

    @property
    def title(self) -> str:
        """The name of the model with its distance."""
        return f"{self.name} ({self.distance})"

    @property
    def requires(self) -> str:
        """The distance allowed."""
        return f"t = {as_text(parameter(self.t, 't', 0, 1))}"

    def ratios(self, counts: Counts) -> Ratios:
        """The distance of each group, as a numerator and a denominator."""
        if self.tree is not None:
            return hierarchical_distance(counts, self.tree)
        return equal_distance(counts) if self.distance == "equal" else ordered_distance(counts, self.order)

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups that are farther than t from the whole table."""
        failing: NDArray[np.bool_] = compare(*self.ratios(counts), parameter(self.t, "t", 0, 1)) > 0
        return failing

    def figure(self, counts: Counts) -> Figure:
        """The largest distance of a group."""
        worst: Fraction | float = largest_ratio(*self.ratios(counts))
        return Figure(worst, f"t = {at_most(worst)}")


# --- delta-disclosure privacy ------------------------------------------------------------------------------------------------


LARGEST_DELTA = 64  # p/q and q/p are at most the number of rows, which is below 2^63 < e^64


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveModel):
    """|ln(p/q)| < delta, strictly, for every value of the whole table in every group; a value that a group lacks gives infinity.

    e^delta is irrational for every rational delta above 0, and p/q is rational, so there is never a tie: an enclosure of e^delta
    that is narrow enough decides, and ever narrower ones are taken until one is.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(DeltaDisclosure(1).on(counts_of([[2, 2], [3, 1]])))
    delta-disclosure privacy, delta = 1: passes (delta above 0.405466)
    >>> print(DeltaDisclosure(1).on(counts_of([[4, 0], [1, 3]])).figure.holds)
    no delta: a group lacks a value of the table
    """

    delta: Number
    name: ClassVar[str] = "delta-disclosure privacy"

    def __post_init__(self) -> None:
        if not parameter(self.delta, "delta", 0):
            raise InvalidInput("delta must be above 0; give for example delta=1", argument="delta")

    @property
    def requires(self) -> str:
        """The parameter."""
        return f"delta = {as_text(parameter(self.delta, 'delta', 0))}"

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups that lack a value, or in which one is too frequent or too rare."""
        inside, whole = _ratios(counts)
        delta = parameter(self.delta, "delta", 0)
        over = _at_least_exp(inside, whole, delta) | _at_least_exp(whole, inside, delta)
        failing: NDArray[np.bool_] = (counts.distinct < counts.domain) | (counts.sum_by_group(over.astype(np.int64)) > 0)
        return failing

    def figure(self, counts: Counts) -> Figure:
        """The largest |ln(p/q)|, rounded up to a float."""
        ratio = largest_disclosure(counts)
        if isinstance(ratio, float):
            return Figure(ratio, "no delta: a group lacks a value of the table")
        worst = Fraction(float_up(log_up(ratio)))
        return Figure(worst, f"delta above {at_most(worst)}")


def largest_disclosure(counts: Counts) -> Fraction | float:
    """The largest of p/q and q/p over groups and values, exactly; infinity where a group lacks a value of the table."""
    if (counts.distinct < counts.domain).any():
        return math.inf
    inside, whole = _ratios(counts)
    return max(largest_ratio(inside, whole), largest_ratio(whole, inside))


def _ratios(counts: Counts) -> tuple[NDArray[Any], NDArray[Any]]:
    """c n and C m for each triple, so that p/q is their ratio."""
    most = int(counts.sizes.max()) * counts.total
    count, size = integers(counts.count, most), integers(counts.sizes, most)
    return count * counts.total, integers(counts.totals, most)[counts.value] * size[counts.group]


def _at_least_exp(numerators: NDArray[Any], denominators: NDArray[Any], delta: Fraction) -> NDArray[np.bool_]:
    """Which ratios are e^delta or more."""
    if delta >= LARGEST_DELTA:
        return np.zeros(len(numerators), dtype=np.bool_)
    digits = DIGITS
    while True:
        over = compare(numerators, denominators, exp_up(delta, digits)) >= 0
        within = compare(numerators, denominators, exp_down(delta, digits)) <= 0
        if (over | within).all():
            return over
        digits *= 2
