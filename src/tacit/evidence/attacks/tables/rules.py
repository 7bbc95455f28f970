"""When a publisher calls a group diverse: the two readings of the tutorial's rule.

The slide says "at least two different values". Its own output has a group in which everybody has "no", which that rule rejects. The
example works with the other reading: only "yes" is protected, and at most half of a group may have it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from tacit.errors import InvalidInput

Counts = Mapping[Hashable, int]


class Rule(Protocol):
    """A condition on each group of a published table."""

    def accepts(self, counts: Counts) -> bool:
        """Whether a group with these counts of sensitive values may be published."""

    def __str__(self) -> str:
        """The rule in words."""


@dataclass(frozen=True, slots=True)
class MostShare:
    """Frequency diversity: a protected value makes up at most a share of the group. With no values named, all are protected.

    >>> MostShare(Fraction(1, 2), frozenset({"yes"})).accepts({"no": 3}), MostShare(Fraction(1, 2)).accepts({"no": 3})
    (True, False)
    """

    most: Fraction
    protected: frozenset[Hashable] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.most <= 1:
            raise InvalidInput("the largest share must be more than 0 and at most 1")

    def accepts(self, counts: Counts) -> bool:
        """Whether no protected value exceeds the share."""
        size = sum(counts.values())
        return all(n <= self.most * size for value, n in counts.items() if self.protected is None or value in self.protected)

    def __str__(self) -> str:
        names = "any value" if self.protected is None else " or ".join(sorted(map(str, self.protected)))
        return f"at most {self.most} of a group has {names}"


@dataclass(frozen=True, slots=True)
class DifferentValues:
    """Distinct diversity: a group has at least so many different values.

    >>> DifferentValues(2).accepts({"no": 3})
    False
    """

    least: int

    def accepts(self, counts: Counts) -> bool:
        """Whether enough values occur."""
        return sum(n > 0 for n in counts.values()) >= self.least

    def __str__(self) -> str:
        return f"a group has at least {self.least} different values"


@dataclass(frozen=True, slots=True)
class GroupSize:
    """k-anonymity: a group has at least so many rows."""

    least: int

    def accepts(self, counts: Counts) -> bool:
        """Whether the group is large enough."""
        return sum(counts.values()) >= self.least

    def __str__(self) -> str:
        return f"a group has at least {self.least} rows"


@dataclass(frozen=True, slots=True)
class Both:
    """Two rules at once."""

    first: Rule
    second: Rule

    def accepts(self, counts: Counts) -> bool:
        """Whether both rules accept the group."""
        return self.first.accepts(counts) and self.second.accepts(counts)

    def __str__(self) -> str:
        return f"{self.first}, and {self.second}"
