"""Homogeneity and background knowledge: what a k-anonymous table says of the people in its groups.

A group of k rows hides which row is whose. It does not hide the value if all rows have the same, and if they have d values, d - 1
facts of the kind "not gout" leave one (Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007). The attacker knows the group
of a person, and that the person is in the table. A row in which every quasi-identifier is * was suppressed: it may be anybody's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars
from tacit.evidence.attacks.tables.bags import Bag, Row, as_bag, bag, groups_of


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """The groups of a table; `facts` is how many values have to be ruled out until one is left, per group, with its rows."""

    smallest: int
    groups: int
    rows: int
    ruled_out: tuple[str, ...]
    facts: tuple[tuple[int, int], ...]

    def certain(self, known: int = 0) -> int:
        """How many people's values follow for an attacker who can rule out that many values for each."""
        return sum(rows for facts, rows in self.facts if facts <= known)

    def summary(self) -> str:
        """The result in sentences."""
        known = f" after ruling out {', '.join(self.ruled_out)}" if self.ruled_out else ""
        return (
            f"{self.rows:,} rows in {self.groups:,} groups of at least {self.smallest}. The value is certain for "
            f"{self.certain():,} rows ({self.certain() / self.rows:.0%}){known}.\n"
            f"With one more fact of the kind 'it is not this value' it is certain for {self.certain(1):,}, with two for "
            f"{self.certain(2):,}. k-anonymity bounds none of these."
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values."""
        most = max(facts for facts, _ in self.facts)
        return {
            "smallest_group": self.smallest,
            "groups": self.groups,
            "rows": self.rows,
            "ruled_out": list(self.ruled_out),
            "certain_by_facts": [self.certain(known) for known in range(most + 1)],
        }

    def chart(self, path: str | Path | None = None) -> Any:
        """The share of people whose value is certain, by the number of facts known."""
        most = max(facts for facts, _ in self.facts)
        rows = [{"x": str(known), "y": self.certain(known) / self.rows, "series": "value certain"} for known in range(most + 1)]
        title = f"Groups of at least {self.smallest}: how many values an attacker must rule out"
        return bars(rows, Axes("values ruled out", "share of rows", share=True), title, path)


def homogeneity(table: Bag | Iterable[Row], ruled_out: Collection[Hashable] = ()) -> Homogeneity:
    """For every group, how many facts are left until the value is certain.

    >>> homogeneity([("3*", "flu"), ("3*", "flu"), ("4*", "flu"), ("4*", "gout")]).certain()
    2
    """
    rows = as_bag(table)
    groups, stars = groups_of(rows), starred(rows)
    if not groups:
        raise InvalidInput("the table has no rows; there is nothing to attack")
    anybody = frozenset() if stars is None else frozenset(groups[stars])
    facts = []
    for label, counts in groups.items():
        left = [value for value in counts if value not in ruled_out]
        possible = {value for (_, value), _ in rows} if label == stars else anybody.union(left)
        if left:
            facts.append((len(possible.difference(ruled_out)) - 1, sum(counts[value] for value in left)))
    if not facts:
        raise InvalidInput("every value of the table is ruled out; leave at least one")
    sizes = [sum(counts.values()) for label, counts in groups.items() if label != stars]
    return Homogeneity(min(sizes), len(sizes), sum(rows for _, rows in facts), tuple(sorted(map(str, ruled_out))), tuple(facts))


def starred(table: Bag) -> Hashable | None:
    """The label of suppressed rows, in which every quasi-identifier is *; None if no row, or every row, has it."""
    labels = {label for (label, _), _ in table}
    found = [label for label in labels if set(label if isinstance(label, tuple) else (label,)) == {"*"}]
    return found[0] if found and len(labels) > 1 else None


def example() -> Bag:
    """Four groups of four: one in which everybody has the same disease, one with two diseases, two with three."""
    groups = {
        "13***, under 30": "heart heart viral viral",
        "148**, 40 or more": "cancer heart viral viral",
        "130**, 30 to 39": "cancer cancer cancer cancer",
        "142**, 30 to 39": "heart gout viral viral",
    }
    return bag((label, value) for label, values in groups.items() for value in values.split())


def values_of(table: Bag) -> Counter[Hashable]:
    """How often each value occurs."""
    found: Counter[Hashable] = Counter()
    for (_, value), times in table:
        found[value] += times
    return found
