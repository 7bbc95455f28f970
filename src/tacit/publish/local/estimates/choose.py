"""The choice of a randomizer for a number of categories and an epsilon: the smallest exact variance. Proof in choose.md.

Two exact figures of merit, both for one person's report (divide by the number of people):

    worst    the largest variance of one category's estimate, over all populations; margins and sample sizes follow from it
    total    the sum of the variances over all categories, which is the same for every population
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

from tacit.errors import InvalidInput
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number, as_text
from tacit.publish.local.estimates.estimate import share_variance
from tacit.publish.local.estimates.results import table
from tacit.publish.local.randomizers.categories import KAry
from tacit.publish.local.randomizers.hadamard import HadamardResponse
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.randomizer import FrequencyOracle, read_size
from tacit.publish.local.randomizers.unary import Unary

Goal = Literal["worst", "total"]
MOST_BITS = 1 << 16  # a unary report of more bits than this is not offered: 8 kB is too much for one answer


def _bits(outputs: int) -> int:
    return (outputs - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Maker:
    """How a randomizer is made, and the bits of one of its reports."""

    make: Callable[[int, Fraction], FrequencyOracle]
    report_bits: Callable[[Any], int]


MAKERS: Mapping[str, Maker] = MappingProxyType(
    {
        "k-ary": Maker(KAry, lambda oracle: _bits(oracle.size)),
        "Hadamard response": Maker(HadamardResponse, lambda oracle: _bits(oracle.columns)),
        "local hashing": Maker(LocalHashing, lambda oracle: _bits(oracle.hashes * oracle.cells)),
        "unary, optimized": Maker(Unary, lambda oracle: int(oracle.size)),
        "unary, symmetric": Maker(Unary.symmetric, lambda oracle: int(oracle.size)),
    }
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A randomizer with the figures that decide: exact variances for one person, and the bits of a report."""

    name: str
    oracle: FrequencyOracle
    worst: Fraction
    total: Fraction
    report_bits: int

    @classmethod
    def of(cls, name: str, size: int, epsilon: Fraction) -> Candidate:
        """The randomizer of this name, measured."""
        oracle = MAKERS[name].make(size, epsilon)
        absent, present = (share_variance(oracle, share, people=1) for share in (0, 1))
        return cls(name, oracle, max(absent, present), present + (size - 1) * absent, MAKERS[name].report_bits(oracle))


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidates, the best first, and the figure by which they were compared."""

    candidates: tuple[Candidate, ...]
    goal: Goal

    @property
    def oracle(self) -> FrequencyOracle:
        """The best one."""
        return self.candidates[0].oracle

    @property
    def reason(self) -> str:
        """Why it is the best, in one sentence."""
        best, *others = self.candidates
        size, epsilon = best.oracle.size, as_text(best.oracle.epsilon)
        what = "largest variance of one share" if self.goal == "worst" else "sum of the variances of all shares"
        figure = float(getattr(best, self.goal))
        text = f"{best.name} for {size} categories at epsilon {epsilon}: the {what} is {figure:.4g}/n"
        if not others:
            return text
        second = float(getattr(others[0], self.goal))
        if getattr(best, self.goal) == getattr(others[0], self.goal):
            bits = "too" if best.report_bits == others[0].report_bits else f"and not {others[0].report_bits}"
            return f"{text}, as with {others[0].name}, and its report takes {best.report_bits} bits {bits}"
        return f"{text}, with {others[0].name} {second:.4g}/n"

    def __str__(self) -> str:
        rows = [
            (each.name, f"{float(each.worst):.5g}", f"{float(each.total):.5g}", str(each.report_bits)) for each in self.candidates
        ]
        return f"{self.reason}\n{table(('randomizer', 'n x worst', 'n x total', 'bits'), rows)}"


def choose(size: int, epsilon: Number, goal: Goal = "worst") -> Choice:
    """The randomizers for `size` categories in their order, by exact variance and, where that is equal, by the bits of a report.

    >>> print(choose(size=4, epsilon=1))
    k-ary for 4 categories at epsilon 1: the largest variance of one share is 2.762/n, with unary, symmetric 3.918/n
    randomizer         n x worst  n x total  bits
    k-ary                  2.762     7.5562     2
    unary, symmetric      3.9177     15.671     4
    Hadamard response     4.6827     17.731     3
    unary, optimized      4.6827     15.731     4
    local hashing         4.9103     15.985     4
    >>> choose(size=100, epsilon=1, goal="total").oracle
    Unary(size=100, epsilon=Fraction(1, 1))
    """
    if goal not in ("worst", "total"):
        raise InvalidInput(f"goal must be 'worst' or 'total', not {goal!r}")
    categories, budget = read_size(size), positive_budget(epsilon)
    names = [name for name in MAKERS if categories <= MOST_BITS or not name.startswith("unary")]
    candidates = [Candidate.of(name, categories, budget) for name in names]
    return Choice(tuple(sorted(candidates, key=lambda each: (getattr(each, goal), each.report_bits))), goal)
