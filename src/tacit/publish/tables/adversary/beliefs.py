"""Beliefs of one adversary, of all of a class, and the groups of a table that are private against them. All in exact fractions.

The beliefs of an adversary about one person's value, with the row in the group and without it. All in exact fractions.

The derivations, and why the target counts as a further draw, are in beliefs.md.

Adversaries who know some of the rows of a group, up to all but one: the adversary of differential privacy.

The known rows are the worst ones for the value in question: rows without it. See beliefs.md.

Classes of adversaries, and whether a group is private against all of a class. Derivations: beliefs.md.

I: one prior. II: any shape, with a stubbornness. III: any stubbornness, with a shape. IV: any prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, exact
from tacit.publish.tables.table import Table

Extended = Fraction | float
"""A fraction, or infinity; no other float occurs."""


@dataclass(frozen=True, slots=True)
class Prior:
    """A Dirichlet prior: the mean share of each value, and the stubbornness, which may be infinite (independent entries)."""

    shape: tuple[Fraction, ...]
    stubbornness: Extended

    def __post_init__(self) -> None:
        if not self.shape or any(share < 0 for share in self.shape) or sum(self.shape) != 1:
            raise InvalidInput("the prior must be shares of 0 or more that add up to 1; give one for every value")
        if self.stubbornness < 0:
            raise InvalidInput("stubbornness must be 0 or more, or inf", argument="stubbornness")


@dataclass(frozen=True, slots=True)
class Belief:
    """The belief in one value with the row and without it, and the two ratios that epsilon-privacy bounds."""

    with_row: Fraction
    without: Fraction

    @property
    def ratio(self) -> Extended:
        """The belief in the value with the row, over that without it."""
        return over(self.with_row, self.without)

    @property
    def other_ratio(self) -> Extended:
        """The belief in any other value without the row, over that with it."""
        return over(1 - self.without, 1 - self.with_row)

    @property
    def worst(self) -> Extended:
        """The larger of both ratios."""
        return max(self.ratio, self.other_ratio)

    @property
    def worst_both_ways(self) -> Extended:
        """The largest of both ratios and their inverses, for protection that is symmetric."""
        return max(self.worst, over(self.without, self.with_row), over(1 - self.with_row, 1 - self.without))


def beliefs(counts: Sequence[int], prior: Prior) -> list[Belief]:
    """The beliefs in every value of a group with these counts.

    >>> green = beliefs([8, 2, 2], Prior((Fraction(1, 10), Fraction(9, 20), Fraction(9, 20)), Fraction(10)))[0]
    >>> str(green.with_row), str(green.without), str(green.ratio)
    ('2/3', '9/22', '44/27')
    """
    size = group_size(counts)
    if len(prior.shape) != len(counts):
        raise InvalidInput("the prior must have a share for every value of the group")
    return [
        Belief(Fraction(count, size), _without(count, size, share, prior)) for count, share in zip(counts, prior.shape, strict=True)
    ]


def shape_of(first: Sequence[Number], values: int) -> tuple[Fraction, ...]:
    """The shares of a prior from those that are given; the values that follow share the rest equally.

    >>> [str(share) for share in shape_of([0.1], 3)]
    ['1/10', '9/20', '9/20']
    """
    given = [exact(share, "prior") for share in first]
    rest = 1 - sum(given, start=Fraction(0))
    if len(given) > values or any(share < 0 for share in given) or rest < 0 or (len(given) == values and rest):
        raise InvalidInput("the prior must be shares of 0 or more that add up to 1; give one for every value, or the first ones")
    return (*given, *[rest / (values - len(given))] * (values - len(given)))


def group_size(counts: Sequence[int]) -> int:
    """The size of a group; raises unless its counts are valid."""
    if any(count < 0 for count in counts) or not sum(counts):
        raise InvalidInput("counts must be 0 or more, with at least one row in the group", argument="counts")
    return sum(counts)


def over(one: Fraction, other: Fraction) -> Extended:
    """One belief over another; 1 if both are zero, since nothing was learned."""
    if other:
        return one / other
    return inf if one else Fraction(1)


def _without(count: int, size: int, share: Fraction, prior: Prior) -> Fraction:
    if isinstance(prior.stubbornness, float):
        return share
    return (count + share * prior.stubbornness) / (size + prior.stubbornness)


# --- adversaries who know some of the rows of a group, up to all but one -----------------------------------------------------


def belief_with_known(counts: Sequence[int], prior: Prior, value: int, rows_known: int) -> Belief:
    """The belief in a value of an adversary who knows that many rows of the group, with the row and without it.

    >>> prior = Prior((Fraction(1, 10), Fraction(9, 10)), Fraction(10))
    >>> [str(belief_with_known([8, 4], prior, 0, known).with_row) for known in (0, 2, 4, 11)]
    ['2/3', '4/5', '1', '1']
    """
    size = group_size(counts)
    if not 0 <= rows_known < size:
        raise InvalidInput(f"known rows must be at least 0 and at most {size - 1}, all rows of the group but one")
    unknown = size - rows_known
    seen = beliefs(counts, prior)[value]
    return Belief(min(Fraction(counts[value], unknown), Fraction(1)), seen.without)


def belief_before(counts: Sequence[int], prior: Prior, value: int, rows_known: int) -> Belief:
    """The same by the reading of the tutorial: without the release, known rows tell nothing of the target's value.

    Then the belief of an adversary who knows all rows but one is the prior share.

    >>> prior = Prior((Fraction(1, 10), Fraction(9, 10)), Fraction(10))
    >>> [str(belief_before([8, 4], prior, 0, known).without) for known in (0, 4, 10, 11)]
    ['8/21', '8/17', '2/11', '1/10']
    """
    held = belief_with_known(counts, prior, value, rows_known).with_row
    unknown = group_size(counts) - rows_known
    others = max(min(counts[value], unknown) - 1, 0)
    alone = unknown == 1 and not prior.stubbornness  # nothing is known, and nothing was seen before
    return Belief(held, prior.shape[value] if alone else _without(others, unknown - 1, prior.shape[value], prior))


# --- classes of adversaries, and whether a group is private against all of a class -------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a group is private for a class of adversaries and a ratio, and the requirement in words."""

    passes: bool
    needs: str

    def __bool__(self) -> bool:
        return self.passes


@dataclass(frozen=True, slots=True)
class ClassI:
    """One adversary with one prior, who may know some rows of the group."""

    prior: Prior
    symmetric: bool = False
    known: int = 0

    def judge(self, counts: Sequence[int], ratio: Fraction) -> Verdict:
        """Whether both ratios stay within the limit, for every value."""
        _check_ratio(ratio)
        believed = beliefs(counts, self.prior)
        if self.known:
            believed = [belief_with_known(counts, self.prior, value, self.known) for value in range(len(counts)) if counts[value]]
        worst = max(each.worst_both_ways if self.symmetric else each.worst for each in believed)
        return Verdict(worst <= ratio, f"the worst ratio {_number_text(worst)} must be at most {_number_text(ratio)}")


@dataclass(frozen=True, slots=True)
class ClassII:
    """Every adversary with a stubbornness, whatever the shape of the prior."""

    stubbornness: Extended

    def __post_init__(self) -> None:
        if self.stubbornness < 0:
            raise InvalidInput("stubbornness must be 0 or more, or inf", argument="stubbornness")

    def smallest(self, ratio: Fraction) -> Extended:
        """The number of rows that a group needs: sigma / (r - 1)."""
        _check_ratio(ratio)
        return self.stubbornness if isinstance(self.stubbornness, float) else self.stubbornness / (ratio - 1)

    def largest_share(self, size: int, ratio: Fraction) -> Fraction:
        """The largest share that a value may have in a group of a size: 1 - 1 / (r + (r - 1) n / sigma).

        >>> ClassII(Fraction(10)).largest_share(12, Fraction(2)) == Fraction(11, 16)
        True
        """
        _check_ratio(ratio)
        if isinstance(self.stubbornness, float):
            return 1 - 1 / ratio
        return 1 - 1 / (ratio + (ratio - 1) * size / self.stubbornness) if self.stubbornness else Fraction(1)

    def judge(self, counts: Sequence[int], ratio: Fraction) -> Verdict:
        """Whether the group is large enough and no value too frequent."""
        size = group_size(counts)
        smallest, share = self.smallest(ratio), self.largest_share(size, ratio)
        passes = size >= smallest and Fraction(max(counts), size) <= share
        return Verdict(passes, f"n >= {_number_text(smallest)} and a share of at most {_number_text(share)}")


@dataclass(frozen=True, slots=True)
class ClassIII:
    """Every adversary with a shape, whatever the stubbornness: the worst is the adversary of independent entries."""

    shape: tuple[Fraction, ...]

    def judge(self, counts: Sequence[int], ratio: Fraction) -> Verdict:
        """Whether every share is within the ratio of the prior's."""
        return ClassI(Prior(self.shape, float("inf"))).judge(counts, ratio)


@dataclass(frozen=True, slots=True)
class ClassIV:
    """Every adversary: no group with a row in it is private."""

    def judge(self, counts: Sequence[int], ratio: Fraction) -> Verdict:
        """Never private: a stubborn adversary who thought a value impossible is proved wrong by one row."""
        _check_ratio(ratio)
        group_size(counts)
        return Verdict(False, "nothing suffices: a prior that rules out a value of the group gives any ratio")


Adversary = ClassI | ClassII | ClassIII | ClassIV


def _check_ratio(ratio: Fraction) -> None:
    if ratio <= 1:
        raise InvalidInput("the ratio must be more than 1; a ratio of 1 would let nobody learn anything")


def _number_text(number: Extended) -> str:
    return f"{float(number):.6g}"


# --- epsilon-privacy of a published table ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableVerdict:
    """How many groups are private, and the smallest and the worst counts of those that are not; facts about private data."""

    groups: int
    failing: int
    failing_rows: int
    example: tuple[int, ...] | None
    needs: str

    @property
    def passes(self) -> bool:
        """Whether every group is private."""
        return self.failing == 0


Against = Callable[[tuple[Fraction, ...]], Adversary]
"""A class of adversaries, made from the shares of the values in the whole table."""


def judge_table(table: Table, quasi: Sequence[str], sensitive: str, against: Against, ratio: Fraction) -> TableVerdict:
    """Judge every group against one class of adversaries."""
    if not quasi:
        raise InvalidInput("no quasi-identifier is named; name at least one column")
    if not table.rows:
        raise InvalidInput("the table has no rows; there is nothing to judge")
    counts = group_counts(table, quasi, sensitive)
    shares = tuple(Fraction(int(count), table.rows) for count in counts.sum(axis=0))
    adversary = against(shares)
    different, inverse = np.unique(counts, axis=0, return_inverse=True)
    verdicts: list[Verdict] = [adversary.judge([int(count) for count in row], ratio) for row in different]
    passed = np.array([verdict.passes for verdict in verdicts])[inverse.ravel()]
    failing = counts[~passed]
    example = None if not len(failing) else min((tuple(map(int, row)) for row in failing), key=lambda row: (sum(row), row))
    first = next((verdict for verdict in verdicts if not verdict.passes), verdicts[0])
    return TableVerdict(len(counts), len(failing), int(failing.sum()), example, first.needs)


def group_counts(table: Table, quasi: Sequence[str], sensitive: str) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """For each group, how many rows have each sensitive value.

    >>> people = Table.of({"age": ["3*", "3*", "4*"], "ill": ["flu", "gout", "flu"]})
    >>> group_counts(people, ["age"], "ill").tolist()
    [[1, 1], [1, 0]]
    """
    group = np.zeros(table.rows, dtype=np.int64)
    for name in quasi:
        column = table[name]
        _, group = np.unique(group * len(column.values) + column.codes, return_inverse=True)
    values = table[sensitive]
    size = int(group.max()) + 1
    return np.bincount(group * len(values.values) + values.codes, minlength=size * len(values.values)).reshape(size, -1)
