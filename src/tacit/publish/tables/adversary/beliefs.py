"""What an adversary believes of one person's value, with the row in the group and without it. All in exact fractions.

The derivations, and why the target counts as a further draw, are in beliefs.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, exact

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
            raise InvalidInput("stubbornness must be 0 or more, or inf")


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
    size = checked(counts)
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


def checked(counts: Sequence[int]) -> int:
    """The size of a group, if its counts are such."""
    if any(count < 0 for count in counts) or not sum(counts):
        raise InvalidInput("counts must be 0 or more, with at least one row in the group")
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
