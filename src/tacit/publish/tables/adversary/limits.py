"""What privacy against independent entries (stubbornness to infinity) says in the words of other models. Proofs: beliefs.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log

from tacit.publish.tables.adversary.beliefs import checked
from tacit.publish.tables.adversary.classes import ClassIII


@dataclass(frozen=True, slots=True)
class Implied:
    """For each value the largest share that the ratio allows; the largest distance t; the largest upper side of delta."""

    shares: tuple[Fraction, ...]
    closeness: Fraction
    delta_above: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A group beside a shape: its largest share, its distance, and both sides of delta-disclosure."""

    largest_share: Fraction
    closeness: Fraction
    delta_above: float
    delta_below: float


def implied(shape: Sequence[Fraction], ratio: Fraction) -> Implied:
    """What holds for every group that is private for the ratio against independent entries.

    >>> implied((Fraction(1, 10), Fraction(9, 10)), Fraction(2)).closeness
    Fraction(1, 2)
    """
    shares = tuple(min(ratio * share, 1 - (1 - share) / ratio) for share in shape)
    return Implied(shares, 1 - 1 / ratio, log(ratio))


def measured(counts: Sequence[int], shape: Sequence[Fraction]) -> Measured:
    """The same figures of one group."""
    size = checked(counts)
    shares = [Fraction(count, size) for count in counts]
    pairs = [(share, of) for share, of in zip(shares, shape, strict=True) if of]
    return Measured(
        max(shares),
        sum((abs(share - of) for share, of in zip(shares, shape, strict=True)), start=Fraction(0)) / 2,
        max(log(share / of) if share else -inf for share, of in pairs),
        max(-log(share / of) if share else inf for share, of in pairs),
    )


ABSENT_COUNTS = (5, 5, 0)
ABSENT_SHAPE = (Fraction(2, 5), Fraction(2, 5), Fraction(1, 5))
ABSENT_RATIO = Fraction(5, 4)


def absent_value() -> tuple[bool, Measured]:
    """The counterexample to the lower side of delta-disclosure: private for the ratio 5/4, and delta is infinite.

    >>> passes, figures = absent_value()
    >>> passes, round(figures.delta_above, 3), figures.delta_below
    (True, 0.223, inf)
    """
    passes = ClassIII(ABSENT_SHAPE).judge(ABSENT_COUNTS, ABSENT_RATIO).passes
    return passes, measured(ABSENT_COUNTS, ABSENT_SHAPE)
