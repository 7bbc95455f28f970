"""A publisher that never looks at the sensitive column: groups, suppression and refusals depend on the quasi-identifiers alone.

A publisher that stops at the least generalization with diverse groups discloses values by where it stops (the minimality
attack: Wong, Fu, Wang and Pei 2007). Here the decision is a function of how often each combination of quasi-identifiers occurs.
Anyone who knows these counts can compute the decision, a refusal included, so that it says nothing about a person's value. All rows
with the same quasi-identifiers get the same label: if some were lifted and others not, the choice could follow their values.

It does not give diversity: a group in which all people have the same value is published as it is.

>>> publisher = Blind(AtLeast(3, {"q1": "Q", "q2": "Q"}))
>>> publisher.publish([("q1", "yes"), ("q1", "yes"), ("q2", "no"), ("q2", "no"), ("q2", "no")])
[('Q', 'yes'), ('Q', 'yes'), ('Q', 'no'), ('Q', 'no'), ('Q', 'no')]
>>> publisher.publish([("q1", "yes"), ("q2", "no")]) is None
True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.errors import InvalidInput

Row = tuple[Hashable, Hashable]
"""A combination of quasi-identifiers, and a sensitive value."""

Decision = Mapping[Hashable, Hashable | None]
"""The published label of each combination; None if its rows are suppressed."""

Decide = Callable[[Mapping[Hashable, int]], Decision | None]
"""From how often each combination occurs to the labels; None is a refusal of the whole table."""


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Lifts whole families of labels to their parent until every label has `smallest` rows; then suppresses, or refuses.

    `parents` leads from a label to the next more general one, in as many steps as there are. At most a share `suppress` of the
    rows is left out; if more would have to be, the table is refused.
    """

    smallest: int
    parents: Mapping[Any, Any]
    suppress: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.smallest < 1:
            raise InvalidInput("the smallest group must have at least 1 row")
        for label in self.parents:
            above(label, self.parents)

    def __call__(self, counts: Mapping[Hashable, int]) -> Decision | None:
        """The label of each combination, from the counts alone."""
        labels: dict[Hashable, Hashable] = {each: each for each in counts}
        while lifted := self._too_small(labels, counts):
            families = {self.parents[label] for label in lifted}
            labels = {each: _highest(at, families, self.parents) for each, at in labels.items()}
        sizes = _sizes(labels, counts)
        hidden = sum(size for size in sizes.values() if size < self.smallest)
        if hidden > self.suppress * sum(counts.values()):
            return None
        return {each: label if sizes[label] >= self.smallest else None for each, label in labels.items()}

    def _too_small(self, labels: Mapping[Hashable, Hashable], counts: Mapping[Hashable, int]) -> set[Hashable]:
        return {label for label, size in _sizes(labels, counts).items() if size < self.smallest and label in self.parents}


@dataclass(frozen=True, slots=True)
class Blind:
    """Publishes by a decision that is handed counts of the quasi-identifiers and nothing else."""

    decide: Decide = field(repr=False)

    def publish(self, rows: Sequence[Row]) -> list[Row] | None:
        """The rows under their labels, in the order given; None if the whole table is refused."""
        labels = self.decide(Counter(quasi for quasi, _ in rows))
        if labels is None:
            return None
        return [(label, value) for quasi, value in rows if (label := labels[quasi]) is not None]


def _sizes(labels: Mapping[Hashable, Hashable], counts: Mapping[Hashable, int]) -> dict[Hashable, int]:
    sizes: dict[Hashable, int] = {}
    for each, label in labels.items():
        sizes[label] = sizes.get(label, 0) + counts[each]
    return sizes


def _highest(label: Hashable, families: Set[Hashable], parents: Mapping[Any, Any]) -> Hashable:
    """The highest of the families that the label belongs to, or the label itself."""
    return next((each for each in reversed(above(label, parents)) if each in families), label)


def above(label: Hashable, parents: Mapping[Any, Any]) -> list[Hashable]:
    """All labels above one, the nearest first.

    >>> above("02139", {"02139": "021**", "021**": "*"})
    ['021**', '*']
    """
    chain = [label]
    while chain[-1] in parents:
        if (parent := parents[chain[-1]]) in chain:
            raise InvalidInput("a label cannot stand above itself; let every chain of parents end")
        chain.append(parent)
    return chain[1:]
