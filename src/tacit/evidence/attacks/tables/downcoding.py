"""Downcoding: the exact quasi-identifiers behind generalized ones, from a publisher that generalizes as little as it can.

A least generalization to groups of k tells that nothing less would have done. Of the tables that fit, only those are left for which
this is so; often the counts of the leaves below a label are then the same in all of them, and the generalization has hidden nothing
(Cohen 2022). The sensitive column plays no part, so that no diversity model helps. Families of labels are attacked one by one.

Defense: none that keeps the table as good; a publisher that is not minimal gives this attack nothing.

The people of the demonstration are drawn from a seeded generator on purpose: they are invented.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars
from tacit.evidence.attacks.tables.bags import Bag, Row, bag, fitting_tables
from tacit.evidence.attacks.tables.publishers import GroupSize, LocalRecoding, Publisher

ANYTHING = "any"  # the sensitive column, which is not looked at


@dataclass(frozen=True, slots=True)
class Family:
    """One label with rows that were lifted: how many, the tables that fit, those that are left, and the leaves in all of those."""

    label: Hashable
    lifted: int
    fit: int
    consistent: int
    leaves: Mapping[Hashable, int]

    @property
    def downcoded(self) -> int:
        """How many of the lifted rows have a leaf that is certain."""
        return sum(self.leaves.values())


@dataclass(frozen=True, slots=True)
class Downcoding:
    """The families of one published table that had rows lifted."""

    smallest: int
    rows: int
    families: tuple[Family, ...]

    @property
    def lifted(self) -> int:
        """How many rows were generalized."""
        return sum(family.lifted for family in self.families)

    @property
    def downcoded(self) -> int:
        """How many generalized rows have a leaf that is certain."""
        return sum(family.downcoded for family in self.families)

    def summary(self) -> str:
        """The result in sentences."""
        if not self.lifted:
            return f"No row of {self.rows:,} was generalized; there is nothing to downcode."
        return (
            f"{self.lifted:,} of {self.rows:,} rows were generalized to reach groups of {self.smallest}. For {self.downcoded:,} of "
            f"them ({self.downcoded / self.lifted:.0%}) the exact value follows: otherwise a minimal publisher would do less."
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values."""
        families = [
            {
                "label": str(each.label),
                "lifted": each.lifted,
                "fit": each.fit,
                "consistent": each.consistent,
                "downcoded": each.downcoded,
            }
            for each in self.families
        ]
        return {"rows": self.rows, "lifted": self.lifted, "downcoded": self.downcoded, "families": families}

    def chart(self, path: str | Path | None = None) -> Any:
        """Tables that fit and tables that are left, by family."""
        rows = [
            {"x": str(family.label), "y": count, "series": series}
            for family in self.families
            for series, count in (("tables that fit", family.fit), ("left for a minimal publisher", family.consistent))
        ]
        return bars(rows, Axes("", "tables"), "Downcoding: what a minimal generalization leaves open", path)


def downcode(
    output: Sequence[Hashable], leaves: Mapping[Any, Sequence[Any]], smallest: int, publisher: Publisher | None = None
) -> Downcoding:
    """Attack the published quasi-identifiers; `leaves` has, per general label, those that it may stand for.

    >>> downcode(["Q", "Q", "q2", "q2"], {"Q": ("q1", "q2")}, smallest=2).families[0].leaves == {"q1": 1, "q2": 1}
    True
    """
    if not output:
        raise InvalidInput("the table has no rows; there is nothing to attack")
    counts = Counter(output)
    parents = {leaf: label for label, below in leaves.items() for leaf in below}
    against = publisher or LocalRecoding(GroupSize(smallest), parents, any_minimum=True)
    families = []
    for label, below in leaves.items():
        if lifted := counts[label]:
            family = bag((each, ANYTHING) for each in output if each == label or each in below)
            families.append(_family(label, lifted, family, below, against))
    return Downcoding(smallest, len(output), tuple(families))


def _family(label: Hashable, lifted: int, output: Bag, below: Sequence[Hashable], publisher: Publisher) -> Family:
    """The tables of one family that a minimal publisher would have turned into this."""
    fit, left = 0, []
    for candidate in fitting_tables(output, {label: below}):
        fit += 1
        if publisher.choice(candidate.table).chances.get(output, Fraction(0)):
            left.append(candidate.table)
    shown = Counter({row[0]: times for row, times in output if row[0] != label})
    hidden = [Counter({row[0]: times for row, times in table}) - shown for table in left]
    least = {leaf: min(each[leaf] for each in hidden) for leaf in below} if hidden else {}
    return Family(label, lifted, fit, len(left), {leaf: times for leaf, times in least.items() if times})


def made_output(many: int, smallest: int, seed: int = 0) -> tuple[list[Hashable], dict[Any, tuple[str, ...]], Counter[Hashable]]:
    """Fictional ages published in decades where need be, the families, and the true ages of the rows."""
    draw = np.random.default_rng(seed)
    decades = 2 + np.arange(many) % max(1, min(8, many // 8))
    ages = [str(10 * int(decade) + int(draw.integers(0, 3))) for decade in decades]
    leaves = {f"{decade}*": tuple(str(10 * decade + unit) for unit in range(3)) for decade in range(2, 10)}
    parents = {leaf: label for label, below in leaves.items() for leaf in below}
    rows: list[Row] = [(age, ANYTHING) for age in ages]
    choices = LocalRecoding(GroupSize(smallest), parents).choice(bag(rows)).chances
    chosen = sorted(choices, key=repr)[0]
    if not isinstance(chosen, frozenset):
        raise InvalidInput("the table has too few rows for groups of this size; make more people")
    return [row[0] for row, times in sorted(chosen, key=repr) for _ in range(times)], leaves, Counter(ages)
