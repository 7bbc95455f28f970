"""People that one knows something about, looked up in a published table: linkage, homogeneity and background knowledge.

Linkage: people of an outside register are matched with the rows of a published table by their quasi-identifiers.

Names were removed; age, sex and postal code were not, and a register of voters has them too (Sweeney 2002). A person is
*identified* if one row fits them and they are the only person of the register that fits it. A person's value is *disclosed* if all
rows that fit have the same value, identified or not: k-anonymity bounds the first and not the second (Machanavajjhala and others
2007). Both conclusions take for granted that the person is in the table.

The people of the demonstration are drawn from a seeded generator on purpose: they are invented.

Homogeneity and background knowledge: the disclosures of a k-anonymous table about the people in its groups.

A group of k rows hides which row is whose. It does not hide the value if all rows have the same, and if they have d values, d - 1
facts of the kind "not gout" leave one (Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007). The attacker knows the group
of a person, and that the person is in the table. A row in which every quasi-identifier is * was suppressed: it may be any person's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars
from tacit.evidence.attacks.tables.bags import Bag, Row, as_bag, bag, groups_of
from tacit.evidence.attacks.tables.publishers import FullDomain, GroupSize

Leaf = tuple[str, ...]
Covers = Callable[[int, str], frozenset[str]]
MOST_PAIRS = 20_000_000


@dataclass(frozen=True, slots=True)
class Person:
    """A person in the register: a name, and the quasi-identifiers."""

    name: str
    quasi: Leaf


@dataclass(frozen=True, slots=True)
class Match:
    """The table's disclosure about one person: how many rows fit, how many people fit the same rows, and the possible values."""

    person: Person
    rows: int
    rivals: int
    values: frozenset[str]

    @property
    def identified(self) -> bool:
        """Whether one row fits this person and no other."""
        return self.rows == 1 and self.rivals == 0

    @property
    def disclosed(self) -> bool:
        """Whether the value is certain."""
        return len(self.values) == 1


@dataclass(frozen=True, slots=True)
class Linkage:
    """The matches of all people in the register with one published table."""

    published: str
    matches: tuple[Match, ...]

    @property
    def found(self) -> tuple[Match, ...]:
        """The people whom some row fits."""
        return tuple(match for match in self.matches if match.rows)

    @property
    def identified(self) -> int:
        """How many people have a row of their own."""
        return sum(match.identified for match in self.matches)

    @property
    def disclosed(self) -> int:
        """How many people's values are certain."""
        return sum(match.disclosed for match in self.matches)

    def wrong(self, truth: Mapping[str, str]) -> int:
        """How many values that are called certain are not the person's."""
        return sum(match.disclosed and truth[match.person.name] not in match.values for match in self.matches)

    def summary(self) -> str:
        """The result in a sentence."""
        people = len(self.matches)
        return (
            f"{self.published}: of {people:,} people in the register, {len(self.found):,} fit a row; {self.identified:,} are "
            f"identified and {self.disclosed:,} have a value that is certain ({self.disclosed / people:.0%})."
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values; names stay in Python."""
        counted = {"published": self.published, "people": len(self.matches), "found": len(self.found)}
        return counted | {"identified": self.identified, "disclosed": self.disclosed}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same register against several ways to publish the same table."""

    ways: tuple[Linkage, ...]

    def summary(self) -> str:
        """A sentence for each way."""
        return "\n".join(way.summary() for way in self.ways)

    def to_dict(self) -> dict[str, Any]:
        """The figures of each way."""
        return {"ways": [way.to_dict() for way in self.ways]}

    def chart(self, path: str | Path | None = None) -> Any:
        """The shares of people identified and disclosed, by way."""
        rows = [
            {"x": way.published, "y": count / len(way.matches), "series": series}
            for way in self.ways
            for series, count in (("identified", way.identified), ("value certain", way.disclosed))
        ]
        return bars(rows, Axes("", "share of the register", share=True), "Linkage with a register", path)


def link(published: Bag | Iterable[Row], register: Sequence[Person], covers: Covers, name: str = "published table") -> Linkage:
    """Match all people; `covers(column, label)` are the values that a published label may stand for.

    >>> table = [(("30", "f"), "flu"), (("30", "m"), "flu"), (("30", "m"), "flu")]
    >>> people = [Person("ann", ("30", "f")), Person("bob", ("30", "m")), Person("cid", ("30", "m"))]
    >>> found = link(table, people, lambda _, label: frozenset({label}))
    >>> found.identified, found.disclosed
    (1, 3)
    """
    if not register:
        raise InvalidInput("the register has no rows; there is nobody to look for")
    by_label: dict[Any, dict[Hashable, int]] = dict(groups_of(as_bag(published)))
    groups: dict[Leaf, Mapping[Any, int]] = {tuple(label): counts for label, counts in by_label.items()}
    kinds = Counter(person.quasi for person in register)
    if len(groups) * len(kinds) > MOST_PAIRS:
        raise InvalidInput(f"more than {MOST_PAIRS:,} pairs of people and groups; link fewer columns, or a part of the register")
    sets = {label: [covers(column, part) for column, part in enumerate(label)] for label in groups}
    fitting = {quasi: [label for label, parts in sets.items() if _fits(quasi, parts)] for quasi in kinds}
    people_of = Counter(label for quasi, labels in fitting.items() for label in labels for _ in range(kinds[quasi]))
    return Linkage(name, tuple(_match(person, fitting[person.quasi], groups, people_of) for person in register))


def _fits(quasi: Leaf, parts: Sequence[frozenset[str]]) -> bool:
    return len(quasi) == len(parts) and all(value in part for value, part in zip(quasi, parts, strict=True))


def _match(person: Person, labels: Iterable[Leaf], groups: Mapping[Leaf, Mapping[Any, int]], people_of: Counter[Leaf]) -> Match:
    chosen = list(labels)
    values = frozenset(str(value) for label in chosen for value in groups[label])
    rows = sum(sum(groups[label].values()) for label in chosen)
    return Match(person, rows, max((people_of[label] - 1 for label in chosen), default=0), values)


# --- the demonstration -----------------------------------------------------------------------------------------------------------

DISEASES = ("flu", "gout", "asthma", "migraine")
HIERARCHIES: list[dict[str, tuple[str, ...]]] = [
    {str(age): (str(age), f"{age // 10}*", "*") for age in range(20, 80)},
    {sex: (sex, "*") for sex in ("f", "m")},
    {f"021{code}": (f"021{code}", "021**", "*") for code in range(10, 50)},
]


def made_people(many: int, seed: int = 0) -> tuple[list[Person], dict[str, str]]:
    """A fictional register, and the disease of each person; from the age of 70 on that is gout."""
    draw = np.random.default_rng(seed)
    people, truth = [], {}
    for number in range(many):
        age = int(draw.integers(20, 80))
        quasi = (str(age), str(draw.choice(["f", "m"])), f"021{int(draw.integers(10, 50))}")
        people.append(Person(f"person {number + 1}", quasi))
        truth[people[-1].name] = "gout" if age >= 70 else str(draw.choice(DISEASES))
    return people, truth


def demonstration(many: int = 300, smallest: int = 5, seed: int = 0) -> tuple[Comparison, dict[str, str]]:
    """The register against the table without names, and against a k-anonymous one."""
    people, truth = made_people(many, seed)
    rows = bag((person.quasi, truth[person.name]) for person in people)
    anonymous = FullDomain(GroupSize(smallest), HIERARCHIES)
    chosen = sorted(anonymous.choice(rows).chances, key=repr)[0]
    if not isinstance(chosen, frozenset):
        raise InvalidInput("the table has fewer rows than a group needs; make more people")
    ways = (
        link(rows, people, lambda _, label: frozenset({label}), "names removed"),
        link(chosen, people, lambda column, label: _below(column, label), f"{smallest}-anonymous"),
    )
    return Comparison(ways), truth


def _below(column: int, label: str) -> frozenset[str]:
    return frozenset(leaf for leaf, labels in HIERARCHIES[column].items() if label in labels)


# --- homogeneity and background knowledge ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """The groups of a table; `facts` is how many values have to be ruled out until one is left, per group, with its rows."""

    smallest: int
    groups: int
    rows: int
    ruled_out: tuple[str, ...]
    facts: tuple[tuple[int, int], ...]

    def certain(self, ruled_out: int = 0) -> int:
        """How many people's values follow for an attacker who can rule out that many values for each."""
        return sum(rows for facts, rows in self.facts if facts <= ruled_out)

    def summary(self) -> str:
        """The result in sentences."""
        condition = f" after ruling out {', '.join(self.ruled_out)}" if self.ruled_out else ""
        return (
            f"{self.rows:,} rows in {self.groups:,} groups of at least {self.smallest}. The value is certain for "
            f"{self.certain():,} rows ({self.certain() / self.rows:.0%}){condition}.\n"
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
            "certain_by_facts": [self.certain(count) for count in range(most + 1)],
        }

    def chart(self, path: str | Path | None = None) -> Any:
        """The share of people whose value is certain, by the number of facts known."""
        most = max(facts for facts, _ in self.facts)
        rows = [{"x": str(count), "y": self.certain(count) / self.rows, "series": "value certain"} for count in range(most + 1)]
        title = f"Groups of at least {self.smallest}: how many values an attacker must rule out"
        return bars(rows, Axes("values ruled out", "share of rows", share=True), title, path)


def homogeneity(table: Bag | Iterable[Row], ruled_out: Collection[Hashable] = ()) -> Homogeneity:
    """For every group, how many facts are left until the value is certain.

    >>> homogeneity([("3*", "flu"), ("3*", "flu"), ("4*", "flu"), ("4*", "gout")]).certain()
    2
    """
    rows = as_bag(table)
    groups, stars = groups_of(rows), suppressed_label(rows)
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


def suppressed_label(table: Bag) -> Hashable | None:
    """The label of suppressed rows, in which every quasi-identifier is *; None if no row, or every row, has it."""
    labels = {label for (label, _), _ in table}
    starred_labels = [label for label in labels if set(label if isinstance(label, tuple) else (label,)) == {"*"}]
    return starred_labels[0] if starred_labels and len(labels) > 1 else None


def example() -> Bag:
    """Four groups of four: one in which all people have the same disease, one with two diseases, two with three."""
    groups = {
        "13***, under 30": "heart heart viral viral",
        "148**, 40 or more": "cancer heart viral viral",
        "130**, 30 to 39": "cancer cancer cancer cancer",
        "142**, 30 to 39": "heart gout viral viral",
    }
    return bag((label, value) for label, values in groups.items() for value in values.split())


def values_of(table: Bag) -> Counter[Hashable]:
    """How often each value occurs."""
    counts: Counter[Hashable] = Counter()
    for (_, value), times in table:
        counts[value] += times
    return counts
