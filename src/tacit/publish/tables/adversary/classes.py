"""Classes of adversaries, and whether a group is private against all of a class. Derivations: beliefs.md.

I: one prior. II: any shape, with a stubbornness. III: any stubbornness, with a shape. IV: any prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidInput
from tacit.publish.tables.adversary.beliefs import Extended, Prior, beliefs, checked
from tacit.publish.tables.adversary.known_rows import belief_with_known


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a group is private for a class of adversaries and a ratio, and what it would need."""

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
        found = beliefs(counts, self.prior)
        if self.known:
            found = [belief_with_known(counts, self.prior, value, self.known) for value in range(len(counts)) if counts[value]]
        worst = max(each.worst_both_ways if self.symmetric else each.worst for each in found)
        return Verdict(worst <= ratio, f"the worst ratio {_told(worst)} must be at most {_told(ratio)}")


@dataclass(frozen=True, slots=True)
class ClassII:
    """Every adversary with a stubbornness, whatever the shape of the prior."""

    stubbornness: Extended

    def __post_init__(self) -> None:
        if self.stubbornness < 0:
            raise InvalidInput("stubbornness must be 0 or more, or inf")

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
        size = checked(counts)
        smallest, share = self.smallest(ratio), self.largest_share(size, ratio)
        passes = size >= smallest and Fraction(max(counts), size) <= share
        return Verdict(passes, f"n >= {_told(smallest)} and a share of at most {_told(share)}")


@dataclass(frozen=True, slots=True)
class ClassIII:
    """Every adversary with a shape, whatever the stubbornness: the worst is the adversary of independent entries."""

    shape: tuple[Fraction, ...]

    def judge(self, counts: Sequence[int], ratio: Fraction) -> Verdict:
        """Whether every share is within the ratio of the prior's."""
        return ClassI(Prior(self.shape, float("inf"))).judge(counts, ratio)


@dataclass(frozen=True, slots=True)
class ClassIV:
    """Every adversary: no group with anybody in it is private."""

    def judge(self, counts: Sequence[int], ratio: Fraction) -> Verdict:
        """Never private: a stubborn adversary who thought a value impossible is proved wrong by one row."""
        _check_ratio(ratio)
        checked(counts)
        return Verdict(False, "nothing suffices: a prior that rules out a value of the group gives any ratio")


Adversary = ClassI | ClassII | ClassIII | ClassIV


def _check_ratio(ratio: Fraction) -> None:
    if ratio <= 1:
        raise InvalidInput("the ratio must be more than 1; a ratio of 1 would let nobody learn anything")


def _told(number: Extended) -> str:
    return f"{float(number):.6g}"
