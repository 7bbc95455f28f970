"""The six-row example of the tutorial: sixteen assignments, nine count classes, one table that fits, and a posterior of 1.

One quasi-identifier with the values q1 and q2, which generalize to Q. The output has two rows (Q, yes), two (Q, no), two (q2, no).
The slides go through the tables by how often q1 occurs: 4, 3, 3, 1, 1, 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.evidence.attacks.tables.bags import Bag, Row, bag, fitting, groups_of
from tacit.evidence.attacks.tables.minimality import Considered, Minimality, Settings, minimality
from tacit.evidence.attacks.tables.publishers import LocalRecoding, blind
from tacit.evidence.attacks.tables.rules import DifferentValues, MostShare, Rule
from tacit.publish.tables.blind import AtLeast, Blind

ROWS: list[Row] = [("q1", "yes"), ("q1", "yes"), ("q2", "no"), ("q2", "no"), ("q2", "no"), ("q2", "no")]
OUTPUT = bag([("Q", "yes"), ("Q", "yes"), ("Q", "no"), ("Q", "no"), ("q2", "no"), ("q2", "no")])
PARENTS = {"q1": "Q", "q2": "Q"}
LEAVES = {"Q": ("q1", "q2")}
HALF = Fraction(1, 2)
YES: frozenset[Any] = frozenset({"yes"})
SHARE = MostShare(HALF, YES)
STATED = DifferentValues(2)
EVERYTHING = MostShare(HALF)
ORDER = (4, 3, 1, 2, 0)  # occurrences of q1, as the slides take them; a table without q1 is not on them
BLIND = Blind(AtLeast(3, PARENTS))


@dataclass(frozen=True, slots=True)
class Tutorial:
    """The example under the rule that it uses, under the rule that it states, with every value protected; and the defense."""

    used: Minimality
    stated: Minimality
    everything: Minimality
    defended: Minimality

    def classes(self) -> list[Considered]:
        """The nine classes in the order of the slides."""
        return sorted(
            self.used.considered, key=lambda each: (ORDER.index(_size(each.table, "q1")), -_size(each.table, "q1", "yes"))
        )

    def summary(self) -> str:
        """The attack, the other readings and the defense, in sentences."""
        shown = self.defended.of("q1", "yes")
        return (
            f"{self.used.summary()}\n"
            f"The rule as the slide states it ({self.stated.rule}): the group q2 of the slide's own output has one value, so "
            f"the rule rejects that output, and {len(self.stated.consistent)} tables lead to it.\n"
            f"With no protected too ({self.everything.rule}), {len(self.everything.consistent)} tables lead to it. The example "
            "works because learning no is considered fine.\n"
            f"Defense: a publisher that looks at the quasi-identifiers alone (groups of at least 3). P(yes | q1) is "
            f"{shown.posterior} with the algorithm and {shown.without} without it."
        )

    def to_dict(self) -> dict[str, Any]:
        """The classes in the order of the slides, and the other readings."""
        ordered = Minimality(self.used.rule, tuple(self.classes()), self.used.beliefs, self.used.limit, self.used.protected)
        others = {"stated": self.stated, "everything_protected": self.everything, "defended": self.defended}
        posterior = self.used.of("q1", "yes").posterior
        return ordered.to_dict() | {"posterior": str(posterior)} | {name: each.to_dict() for name, each in others.items()}

    def chart(self, path: str | Path | None = None) -> Any:
        """The beliefs in yes."""
        return self.used.chart(path)


def tutorial() -> Tutorial:
    """The example in all readings.

    >>> found = tutorial()
    >>> len(found.used.considered), len(found.used.consistent), len(found.stated.consistent)
    (9, 1, 0)
    """
    return Tutorial(attacked(), attacked(STATED, None), attacked(EVERYTHING, None), defended())


def attacked(rule: Rule = SHARE, protected: frozenset[Any] | None = YES) -> Minimality:
    """The attack on the output of the slides, by a publisher that lifts as few rows as the rule needs."""
    return minimality(LocalRecoding(rule, PARENTS), OUTPUT, fitting(OUTPUT, LEAVES), Settings(str(rule), HALF, protected))


def defended() -> Minimality:
    """The attack on what the blind publisher makes of the same rows."""
    output = bag(BLIND.publish(ROWS) or [])
    return minimality(blind(BLIND), output, fitting(output, LEAVES), Settings("groups of at least 3 rows", HALF, YES))


def _size(table: Bag, quasi: str, value: str | None = None) -> int:
    counts = groups_of(table).get(quasi, {})
    return sum(counts.values()) if value is None else counts.get(value, 0)
