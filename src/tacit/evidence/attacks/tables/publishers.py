"""Publishers to attack, and the rules by which they call a group diverse.

Publishers to attack: the least local recoding, the least level of whole columns, a blind one, and any other as a black box.

A publisher here answers with every output that it may give for a table, and the chance of each: where several are equally cheap the
attack depends on whether the attacker knows which one is taken. A refusal is an output like any other.

When a publisher calls a group diverse: the two readings of the tutorial's rule.

The slide says "at least two different values". Its own output has a group in which all people have "no", which that rule rejects.
The example works with the other reading: only "yes" is protected, and at most half of a group may have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, Protocol

from tacit.errors import InvalidInput
from tacit.evidence.attacks.tables.bags import Bag, Row, bag, groups_of, rows_of
from tacit.publish.tables.blind import Blind

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
    """Distinct diversity: a group has at least `least` different values.

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
    """k-anonymity: a group has at least `least` rows."""

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


# --- publishers to attack ----------------------------------------------------------------------------------------------------


MOST_RECODINGS = 1_000_000


class Refusal(Enum):
    """The output in which no row is published."""

    REFUSED = "refused"


REFUSED = Refusal.REFUSED
Output = Bag | Refusal


@dataclass(frozen=True, slots=True)
class Choice:
    """The outputs that a publisher may give, with the chance of each; the cost of the cheapest where there is such a thing."""

    chances: Mapping[Output, Fraction]
    cost: int | None = None


class Publisher(Protocol):
    """The interface of a publisher under attack."""

    def choice(self, table: Bag) -> Choice:
        """The outputs that would be published for a table."""


@dataclass(frozen=True, slots=True)
class BlackBox:
    """Any function from rows to published rows, or to None for a refusal; it must not depend on the order of the rows.

    >>> hides_names = BlackBox(lambda rows: [("*", value) for _, value in rows])
    >>> hides_names.choice(bag([("ann", "yes")])).chances == {bag([("*", "yes")]): 1}
    True
    """

    publish: Callable[[list[Row]], Sequence[Row] | None]

    def choice(self, table: Bag) -> Choice:
        """The one output of the function."""
        rows = self.publish(rows_of(table))
        return Choice({REFUSED if rows is None else bag(rows): Fraction(1)})


def blind(publisher: Blind) -> BlackBox:
    """The defense, as something to attack."""
    return BlackBox(publisher.publish)


@dataclass(frozen=True, slots=True)
class LocalRecoding:
    """Lifts as few rows as the rule needs, each to the parent of its label; a table that no lifting mends is refused.

    `parents` has one level: leaf to parent. Families do not touch each other, so each is solved by itself.
    With `any_minimum` each of several cheapest outputs counts as if it were the one: an attacker who does not know which is taken.
    """

    rule: Rule
    parents: Mapping[Any, Any]
    any_minimum: bool = False

    def choice(self, table: Bag) -> Choice:
        """All cheapest recodings."""
        families: dict[Hashable, dict[Row, int]] = {}
        for (quasi, value), times in table:
            families.setdefault(self.parents.get(quasi, quasi), {})[quasi, value] = times
        solved = [self._solve(parent, counts) for parent, counts in sorted(families.items(), key=repr)]
        if not all(recodings for _, recodings in solved):
            return Choice({REFUSED: Fraction(1)})
        outputs = [_join(parts) for parts in product(*(recodings for _, recodings in solved))]
        return _cheapest(outputs, sum(cost for cost, _ in solved), self.any_minimum)

    def _solve(self, parent: Hashable, counts: Mapping[Row, int]) -> tuple[int, list[Counter[Row]]]:
        """The least number of lifted rows in a family, and every recoding that reaches it."""
        if prod(times + 1 for times in counts.values()) > MOST_RECODINGS:
            raise InvalidInput(f"a family has more than {MOST_RECODINGS:,} recodings; attack a smaller table")
        by_cost: dict[int, list[tuple[int, ...]]] = {}
        liftable = [range(times + 1) if quasi in self.parents else range(1) for (quasi, _), times in counts.items()]
        for lifted in product(*liftable):
            by_cost.setdefault(sum(lifted), []).append(lifted)
        for cost in sorted(by_cost):
            recoded = (_lift(parent, counts, lifted) for lifted in by_cost[cost])
            if fine := [each for each in recoded if satisfies(frozenset(each.items()), self.rule)]:
                return cost, list({frozenset(each.items()): each for each in fine}.values())
        return 0, []


@dataclass(frozen=True, slots=True)
class FullDomain:
    """Gives every row of a column the same level of its hierarchy: the least levels, summed over columns, that satisfy the rule.

    `hierarchies` has, per column, the labels of each value from itself to the most general one. A combination of quasi-identifiers
    is a tuple with a value for each column.
    """

    rule: Rule
    hierarchies: Sequence[Mapping[str, Sequence[str]]]
    any_minimum: bool = False

    def choice(self, table: Bag) -> Choice:
        """All cheapest nodes of the lattice."""
        by_height: dict[int, list[tuple[int, ...]]] = {}
        for node in self.nodes():
            by_height.setdefault(sum(node), []).append(node)
        for height in sorted(by_height):
            outputs = [self.at(node, table) for node in by_height[height]]
            if fine := [each for each in outputs if satisfies(each, self.rule)]:
                return _cheapest(fine, height, self.any_minimum)
        return Choice({REFUSED: Fraction(1)})

    def nodes(self) -> Iterator[tuple[int, ...]]:
        """All combinations of levels."""
        return product(*(range(min(len(labels) for labels in each.values())) for each in self.hierarchies))

    def at(self, node: tuple[int, ...], table: Bag) -> Bag:
        """The table at one node."""
        rows: Counter[Row] = Counter()
        quasi: Any
        for (quasi, value), times in table:
            rows[tuple(each[part][level] for each, part, level in zip(self.hierarchies, quasi, node, strict=True)), value] += times
        return frozenset(rows.items())

    def leaves(self, output: Bag) -> dict[Hashable, list[Hashable]]:
        """For each published combination, those that it may stand for."""
        leaves_of: dict[Hashable, list[Hashable]] = {}
        quasi: Any
        for quasi in {quasi for (quasi, _), _ in output}:
            below = [[leaf for leaf, up in each.items() if part in up] for each, part in zip(self.hierarchies, quasi, strict=True)]
            if not all(below):
                raise InvalidInput("a published value is not in its hierarchy; add it, or use the hierarchy of the publisher")
            leaves_of[quasi] = list(product(*below))
        return leaves_of


def satisfies(table: Bag, rule: Rule) -> bool:
    """Whether every group of a published table obeys the rule."""
    return all(rule.accepts(counts) for counts in groups_of(table).values())


def _lift(parent: Hashable, counts: Mapping[Row, int], lifted: Sequence[int]) -> Counter[Row]:
    rows: Counter[Row] = Counter()
    for (row, times), up in zip(counts.items(), lifted, strict=True):
        rows[row] += times - up
        rows[parent, row[1]] += up
    return +rows


def _join(parts: Sequence[Counter[Row]]) -> Bag:
    return frozenset(sum(parts, Counter()).items())


def _cheapest(outputs: Sequence[Bag], cost: int, any_minimum: bool) -> Choice:
    different = set(outputs)
    return Choice(dict.fromkeys(different, Fraction(1, 1 if any_minimum else len(different))), cost)
