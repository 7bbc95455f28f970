"""A published table read from a file, and the families of labels that its publisher generalizes by."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from tacit.data.files.columns import read_columns
from tacit.errors import InvalidInput
from tacit.evidence.attacks.tables.bags import Bag, bag
from tacit.evidence.attacks.tables.linkage import Person
from tacit.publish.tables.blind import above
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.table import MISSING
from tacit.untrusted import from_csv

MOST_ROWS = 10_000


@dataclass(frozen=True)
class Families:
    """The parents of the labels of one column: from a label to the next more general one."""

    parents: Mapping[str, str]
    levels: Mapping[str, Sequence[str]] | None = None

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> Families:
        """The families of a hierarchy that was read from a file."""
        rows = [
            [forms[code] for forms, code in zip(hierarchy.forms, leaf, strict=True)] for leaf in zip(*hierarchy.levels, strict=True)
        ]
        parents = {low: high for row in rows for low, high in pairwise(row) if low != high}
        return cls(parents, {row[0]: row for row in rows})

    @cached_property
    def leaves(self) -> list[str]:
        """The labels that stand above nothing; all values of a hierarchy that was read from a file."""
        if self.levels is not None:
            return list(self.levels)
        parents = set(self.parents.values())
        return [label for label in self.parents if label not in parents]

    @cached_property
    def forms(self) -> dict[str, list[str]]:
        """For each label, the leaves that it may stand for."""
        found: dict[str, list[str]] = {}
        for leaf in self.leaves:
            for label in dict.fromkeys([leaf, *map(str, above(leaf, self.parents))] if self.levels is None else self.levels[leaf]):
                found.setdefault(label, []).append(leaf)
        return found

    def below(self, label: str) -> list[str]:
        """The leaves that a published label may stand for; itself if it stands above nothing.

        >>> Families({"q1": "Q", "q2": "Q"}).below("Q")
        ['q1', 'q2']
        """
        return self.forms.get(label, [label])

    def hierarchy(self) -> dict[str, list[str]]:
        """Per leaf, its labels from itself to the most general one; all leaves must have as many."""
        if self.levels is not None:
            return {leaf: list(labels) for leaf, labels in self.levels.items()}
        found = {leaf: [leaf, *map(str, above(leaf, self.parents))] for leaf in self.leaves}
        if len({len(labels) for labels in found.values()}) > 1:
            raise InvalidInput("the values of a column must have equally many levels above them; complete the families")
        return found


def families(texts: Sequence[str]) -> dict[str, Families]:
    """Families by column, each written `COLUMN:PARENT=CHILD,CHILD`; the column may be left out if there is one only (it is "").

    >>> families(["Q=q1,q2"])[""].below("Q")
    ['q1', 'q2']
    """
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        named, equals, children = text.partition("=")
        column, colon, parent = named.rpartition(":")
        if not equals or not parent or not all(children.split(",")):
            raise InvalidInput("a family is written PARENT=CHILD,CHILD or COLUMN:PARENT=CHILD,CHILD")
        for child in children.split(","):
            if found.setdefault(column if colon else "", {}).setdefault(child, parent) != parent:
                raise InvalidInput("a label has two parents; put it into one family")
    return {column: Families(parents) for column, parents in found.items()}


def read_bag(path: str | Path, quasi: Sequence[str], sensitive: str, changed: Collection[str] = ()) -> Bag:
    """The rows of a published file, with a tuple of quasi-identifiers; in `changed` columns CSV has apostrophes to take off."""
    columns = _texts(path, [*quasi, sensitive])
    columns = [
        list(map(from_csv, each)) if name in changed else each for name, each in zip([*quasi, sensitive], columns, strict=True)
    ]
    if not columns[0]:
        raise InvalidInput("the file has no rows; there is nothing to attack")
    if len(columns[0]) > MOST_ROWS:
        raise InvalidInput(f"the file has more than {MOST_ROWS:,} rows; attack one group, or a smaller table")
    return bag(zip(zip(*columns[:-1], strict=True), columns[-1], strict=True))


def read_people(path: str | Path, quasi: Sequence[str], name: str) -> list[Person]:
    """The people of a register, with their quasi-identifiers."""
    return [Person(row[0], tuple(row[1:])) for row in zip(*_texts(path, [name, *quasi]), strict=True)]


def _texts(path: str | Path, names: Sequence[str]) -> list[list[str]]:
    """The named columns as an anonymizer reads them: trimmed, and an empty text where a value is missing."""
    return [[(value or MISSING).strip() for value in column.to_pylist()] for column in read_columns(path, names)]
