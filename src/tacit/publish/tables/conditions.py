"""The conditions on a group that is to be published: k-anonymity, l-diversity, t-closeness and their relatives.

A condition sees the size of each group, the counts of its sensitive values and those of the whole table. It decides in floating
point where a group is far from the boundary, and in integers or rationals where it is near, so that t = 0.2 means exactly 1/5.

With suppression, the rows of violating groups can only fall as groups merge for k-anonymity and distinct l-diversity: a row that
complies stays so. Under the other conditions a merge may spoil a complying group, so `falls` is False and a search must look at
every node. Without suppression all of them are closed under merging: each is an interval or a convex condition on the shares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import gcd, log

import numpy as np
from numpy.typing import NDArray

from tacit.publish.tables.grouping import Integers

Truths = NDArray[np.bool_]
Floats = NDArray[np.float64]
NEAR = 1e-9  # relative distance to the boundary below which floating point does not decide


class Condition(ABC):
    """A model of privacy as a test of groups; `sensitive` is its column, None where it looks at sizes alone."""

    sensitive: str | None
    falls: bool  # whether violating rows can only fall as groups merge

    @abstractmethod
    def holds(self, sizes: Integers, counts: Integers, totals: Integers) -> Truths:
        """For each group whether it complies; `counts` has a row for each group and a column for each sensitive value."""


@dataclass(frozen=True)
class KAnonymity(Condition):
    """At least k rows in each group."""

    k: int
    sensitive = None
    falls = True

    def holds(self, sizes: Integers, counts: Integers, totals: Integers) -> Truths:
        """Whether each group has k rows."""
        return sizes >= self.k

    def __str__(self) -> str:
        return f"k-anonymity, k = {self.k}"


@dataclass(frozen=True)
class DistinctDiversity(Condition):
    """At least l different sensitive values in each group."""

    sensitive: str
    l: int  # noqa: E741  # the field's own name for it
    falls = True

    def holds(self, sizes: Integers, counts: Integers, totals: Integers) -> Truths:
        """Whether each group has l values."""
        return np.asarray(np.count_nonzero(counts, axis=1) >= self.l)

    def __str__(self) -> str:
        return f"distinct l-diversity of {self.sensitive}, l = {self.l}"


@dataclass(frozen=True)
class Nearly(Condition):
    """A condition that compares two amounts: floating point far from the boundary, `exact` near it."""

    sensitive: str
    falls = False

    @abstractmethod
    def slack(self, sizes: Integers, counts: Integers, totals: Integers) -> tuple[Floats, Floats]:
        """How far each group is inside (positive) or outside, and the size of the amounts that were compared."""

    @abstractmethod
    def exact(self, counts: Sequence[int], totals: Sequence[int]) -> bool:
        """Whether one group complies, in integers."""

    def holds(self, sizes: Integers, counts: Integers, totals: Integers) -> Truths:
        """Whether each group complies."""
        slack, scale = self.slack(sizes, counts, totals)
        complies = slack > 0
        near = np.flatnonzero(np.abs(slack) <= NEAR * np.maximum(scale, 1e-300))
        if len(near):
            whole = totals.tolist()
            distinct, inverse = np.unique(counts[near], axis=0, return_inverse=True)
            decided = np.array([self.exact(row, whole) for row in distinct.tolist()], dtype=np.bool_)
            complies[near] = decided[inverse.reshape(-1)]
        return complies


@dataclass(frozen=True)
class Share(Nearly):
    """No protected value has more than a share of a group: (alpha, k), and frequency l-diversity with 1/l; by default all are."""

    share: Fraction
    protected: tuple[int, ...] | None = None
    words: str = ""

    def slack(self, sizes: Integers, counts: Integers, totals: Integers) -> tuple[Floats, Floats]:
        """The allowed rows of a value less those of the most frequent one."""
        allowed = float(self.share) * sizes
        return allowed - self._counts_protected(counts).max(axis=1, initial=0), np.maximum(allowed, 1.0)

    def exact(self, counts: Sequence[int], totals: Sequence[int]) -> bool:
        """Compare count * denominator with numerator * size."""
        watched = counts if self.protected is None else [counts[each] for each in self.protected]
        return max(watched, default=0) * self.share.denominator <= self.share.numerator * sum(counts)

    def _counts_protected(self, counts: Integers) -> Integers:
        return counts if self.protected is None else counts[:, list(self.protected)]

    def __str__(self) -> str:
        return self.words or f"no value of {self.sensitive} above the share {self.share}"


@dataclass(frozen=True)
class EntropyDiversity(Nearly):
    """The entropy of the sensitive values of each group is at least ln l."""

    l: Fraction  # noqa: E741

    def slack(self, sizes: Integers, counts: Integers, totals: Integers) -> tuple[Floats, Floats]:
        """Size times (entropy less ln l), and the size of its terms."""
        size = np.maximum(sizes, 1).astype(np.float64)
        weighed = np.where(counts > 0, counts * np.log(np.maximum(counts, 1)), 0.0).sum(axis=1)
        whole = size * np.log(size)
        return whole - weighed - size * log(self.l), np.maximum(whole + size * abs(log(self.l)), 1.0)

    def exact(self, counts: Sequence[int], totals: Sequence[int]) -> bool:
        """Compare logarithms of 60 digits, and where these are equal, products of powers of integers.

        Counts are divided by their greatest common divisor first: equal shares, the usual case of equality, are then all 1.
        """
        positive = [count for count in counts if count]
        common = gcd(*positive) or 1
        parts = [count // common for count in positive]
        size = sum(parts)
        with localcontext() as context:
            context.prec = 60
            each = Decimal(size * self.l.denominator).ln() - Decimal(self.l.numerator).ln()
            slack = size * each - sum(part * Decimal(part).ln() for part in parts)
            if abs(slack) > Decimal(10) ** -40:
                return slack > 0
        left: int = self.l.numerator**size
        for part in parts:
            left *= part**part
        return bool(left <= (size * self.l.denominator) ** size)

    def __str__(self) -> str:
        return f"entropy l-diversity of {self.sensitive}, l = {self.l}"


@dataclass(frozen=True)
class RecursiveDiversity(Nearly):
    """The most frequent value has fewer than c times the rows of the l-th and all rarer ones; (c, 2) is a share below c/(c + 1)."""

    c: Fraction
    l: int  # noqa: E741

    def slack(self, sizes: Integers, counts: Integers, totals: Integers) -> tuple[Floats, Floats]:
        """The allowed rows less those of the most frequent value."""
        ranked = -np.sort(-counts, axis=1)
        allowed = float(self.c) * ranked[:, self.l - 1 :].sum(axis=1)
        return allowed - ranked[:, :1].sum(axis=1), np.maximum(allowed, 1.0)

    def exact(self, counts: Sequence[int], totals: Sequence[int]) -> bool:
        """Compare integers; strictly."""
        ranked = sorted(counts, reverse=True)
        return ranked[0] * self.c.denominator < self.c.numerator * sum(ranked[self.l - 1 :])

    def __str__(self) -> str:
        return f"recursive (c, l)-diversity of {self.sensitive}, c = {self.c}, l = {self.l}"


@dataclass(frozen=True)
class Closeness(Nearly):
    """The sensitive values of each group are within distance t of the whole table's, all values equally far apart."""

    t: Fraction

    def slack(self, sizes: Integers, counts: Integers, totals: Integers) -> tuple[Floats, Floats]:
        """The allowed distance less the group's."""
        return float(self.t) - 0.5 * np.abs(_shares(sizes, counts, totals)).sum(axis=1), np.ones(len(sizes))

    def exact(self, counts: Sequence[int], totals: Sequence[int]) -> bool:
        """Compare integers, all multiplied by the sizes of group and table."""
        size, rows = sum(counts), sum(totals)
        moved = sum(abs(count * rows - total * size) for count, total in zip(counts, totals, strict=True))
        return moved * self.t.denominator <= 2 * self.t.numerator * size * rows

    def __str__(self) -> str:
        return f"t-closeness of {self.sensitive} (equal distance), t = {self.t}"


@dataclass(frozen=True)
class OrderedCloseness(Closeness):
    """The same with values in their order, neighbours 1/(M - 1) apart, M the values of the whole table."""

    def slack(self, sizes: Integers, counts: Integers, totals: Integers) -> tuple[Floats, Floats]:
        """The allowed distance less the group's, over the values that the table has."""
        moved = np.cumsum(_shares(sizes, counts, totals)[:, totals > 0], axis=1)[:, :-1]
        return float(self.t) - np.abs(moved).sum(axis=1) / max(moved.shape[1], 1), np.ones(len(sizes))

    def exact(self, counts: Sequence[int], totals: Sequence[int]) -> bool:
        """Compare integers, all multiplied by the sizes of group and table and by M - 1."""
        size, rows = sum(counts), sum(totals)
        passed, moved = 0, 0
        pairs = [pair for pair in zip(counts, totals, strict=True) if pair[1]]
        for count, total in pairs[:-1]:
            passed += count * rows - total * size
            moved += abs(passed)
        return moved * self.t.denominator <= self.t.numerator * size * rows * max(len(pairs) - 1, 1)

    def __str__(self) -> str:
        return f"t-closeness of {self.sensitive} (ordered distance), t = {self.t}"


@dataclass(frozen=True)
class TreeCloseness(Closeness):
    """The same with values in a hierarchy: `parents` has for each level the place of each node's parent, leaves first."""

    parents: tuple[tuple[int, ...], ...] = ()

    def slack(self, sizes: Integers, counts: Integers, totals: Integers) -> tuple[Floats, Floats]:
        """The allowed distance less the mass moved over each inner node, weighted by its height."""
        extra, moved = _shares(sizes, counts, totals), np.zeros(len(sizes))
        for height, above in enumerate(self.parents, 1):
            join = np.zeros((len(above), max(above) + 1))
            join[np.arange(len(above)), list(above)] = 1.0
            moved += np.minimum(np.maximum(extra, 0) @ join, np.maximum(-extra, 0) @ join).sum(axis=1) * height / len(self.parents)
            extra = extra @ join
        return float(self.t) - moved, np.ones(len(sizes))

    def exact(self, counts: Sequence[int], totals: Sequence[int]) -> bool:
        """Compare integers, all multiplied by the sizes of group and table and by the height of the tree."""
        size, rows = sum(counts), sum(totals)
        extra, moved = [count * rows - total * size for count, total in zip(counts, totals, strict=True)], 0
        for height, above in enumerate(self.parents, 1):
            more, less = [0] * (max(above) + 1), [0] * (max(above) + 1)
            for place, amount in zip(above, extra, strict=True):
                more[place] += max(amount, 0)
                less[place] += max(-amount, 0)
            moved += height * sum(map(min, more, less))
            extra = [gain - loss for gain, loss in zip(more, less, strict=True)]
        return moved * self.t.denominator <= self.t.numerator * size * rows * len(self.parents)

    def __str__(self) -> str:
        return f"t-closeness of {self.sensitive} (hierarchical distance), t = {self.t}"


@dataclass(frozen=True)
class DeltaDisclosure(Nearly):
    """The share of every value of the table is, in each group, within a factor e^delta of the table's; an absent value fails."""

    delta: Fraction

    def slack(self, sizes: Integers, counts: Integers, totals: Integers) -> tuple[Floats, Floats]:
        """The allowed logarithm less the largest."""
        there = totals > 0
        expected = totals[there] / max(int(totals.sum()), 1) * sizes[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.abs(np.log(counts[:, there] / expected))
        return float(self.delta) - ratios.max(axis=1, initial=0.0), np.ones(len(sizes))

    def exact(self, counts: Sequence[int], totals: Sequence[int]) -> bool:
        """Compare logarithms of 60 digits; those of rationals other than 1 are never equal to a rational."""
        size, rows = sum(counts), sum(totals)
        with localcontext() as context:
            context.prec = 60
            limit = Decimal(self.delta.numerator) / Decimal(self.delta.denominator)
            for count, total in zip(counts, totals, strict=True):
                if total and (not count or abs((Decimal(count * rows) / Decimal(total * size)).ln()) >= limit):
                    return False
        return True

    def __str__(self) -> str:
        return f"delta-disclosure of {self.sensitive}, delta = {self.delta}"


def _shares(sizes: Integers, counts: Integers, totals: Integers) -> Floats:
    """The share of each value in each group less its share in the table."""
    return np.asarray(counts / np.maximum(sizes, 1)[:, None] - totals / max(int(totals.sum()), 1))
