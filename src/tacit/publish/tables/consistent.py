"""The predicates that are true in every database that fits a generalized release: its certain disclosures.

"Given a release, look at all databases consistent with it; it is safe if no predicate is true for all of them" (the definition of
the clustering-based models). A database fits if every published row can be one of its rows: the label stands for some leaves, and
the row has one of them. Here the predicates are, for every leaf and value: all people with the leaf have the value, none
of them has it, at least n of them have it.

Without further knowledge the rows are independent of each other, and bounds are counts. An attacker who knows how often each leaf
occurs (from a register) has a transport problem: rows of a label and a value are sent to leaves, each leaf gets as many as it has.
Its bounds are whole numbers by total unimodularity.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tacit.errors import InvalidInput

Group = tuple[Hashable, Hashable]
Kind = Literal["everybody", "nobody", "at least"]
MOST_CELLS = 20_000


@dataclass(frozen=True, slots=True)
class Predicate:
    """Something that is true in every database that fits."""

    kind: Kind
    leaf: Hashable
    value: Hashable
    people: int = 0

    def __str__(self) -> str:
        leaf = ", ".join(map(str, self.leaf)) if isinstance(self.leaf, tuple) else str(self.leaf)
        if self.kind == "at least":
            verb = "person" if self.people == 1 else "people"
            return f"at least {self.people} {verb} with {leaf} and {self.value}"
        return f"{self.kind} with {leaf} has {self.value}"


@dataclass(frozen=True, slots=True)
class Release:
    """A generalized table: how many rows have each label and value, and the leaves that each label may stand for."""

    rows: Mapping[Any, int]
    leaves: Mapping[Any, Sequence[Any]]

    def below(self, label: Hashable) -> Sequence[Hashable]:
        """The leaves of a label; a label that is not listed stands for itself."""
        return self.leaves.get(label, (label,))


def consistent(release: Release, known: Mapping[Any, int] | None = None) -> list[Predicate]:
    """The predicates that hold in all databases that fit, those about all people of a leaf first; `known` has the count of each
    leaf.

    >>> release = Release({("Q", "yes"): 2, ("q2", "no"): 2}, {"Q": ("q1", "q2")})
    >>> [each.leaf for each in consistent(release)], str(consistent(release)[-1])
    (['q1', 'q1', 'q2'], 'at least 2 people with q2 and no')
    """
    bounds = count_bounds(release, known)
    values = sorted({value for _, value in release.rows}, key=repr)
    leaves = sorted({leaf for leaf, _ in bounds}, key=repr)
    predicates = [predicate for leaf in leaves for predicate in _about(leaf, values, bounds)]
    order: tuple[Kind, ...] = ("everybody", "nobody", "at least")
    return sorted(predicates, key=lambda each: (order.index(each.kind), repr(each.leaf), repr(each.value)))


def count_bounds(release: Release, known: Mapping[Any, int] | None = None) -> dict[Group, tuple[int, int]]:
    """The least and the largest number of people with each leaf and value, over all databases that fit."""
    cells = [(group, leaf) for group, many in release.rows.items() if many for leaf in release.below(group[0])]
    if not cells:
        raise InvalidInput("the release has no rows; there is nothing to conclude from")
    if len(cells) > MOST_CELLS:
        raise InvalidInput(f"the labels stand for more than {MOST_CELLS:,} leaves; ask about fewer columns or groups")
    pairs = dict.fromkeys((leaf, group[1]) for group, leaf in cells)
    values = dict.fromkeys(value for _, value in release.rows)
    free = {pair: (0, 0) for leaf in dict.fromkeys(leaf for leaf, _ in pairs) for pair in ((leaf, value) for value in values)}
    if known is not None:
        return free | dict(_transport_bounds(release, known, cells))
    for group, leaf in cells:
        low, high = free[leaf, group[1]]
        alone = len(release.below(group[0])) == 1
        free[leaf, group[1]] = (low + release.rows[group] * alone, high + release.rows[group])
    return free


def _about(leaf: Hashable, values: Sequence[Hashable], bounds: Mapping[Group, tuple[int, int]]) -> Iterator[Predicate]:
    possible = [value for value in values if bounds[leaf, value][1]]
    for value in values:
        low, _ = bounds[leaf, value]
        if possible == [value]:
            yield Predicate("everybody", leaf, value)
        elif possible and value not in possible:
            yield Predicate("nobody", leaf, value)
        if low:
            yield Predicate("at least", leaf, value, low)


def _transport_bounds(
    release: Release, leaf_counts: Mapping[Any, int], cells: Sequence[tuple[Group, Hashable]]
) -> Iterator[tuple[Group, tuple[int, int]]]:
    """The bounds where every leaf has a known number of rows."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    groups = [group for group, many in release.rows.items() if many]
    leaves = list(dict.fromkeys([*(leaf for _, leaf in cells), *leaf_counts]))
    matrix = np.zeros((len(groups) + len(leaves), len(cells)))
    for place, (group, leaf) in enumerate(cells):
        matrix[groups.index(group), place] = matrix[len(groups) + leaves.index(leaf), place] = 1
    sums = np.array([*(release.rows[group] for group in groups), *(leaf_counts.get(leaf, 0) for leaf in leaves)])
    for pair in dict.fromkeys((leaf, group[1]) for group, leaf in cells):
        goal = np.array([float((leaf, group[1]) == pair) for group, leaf in cells])
        ends = []
        for sign in (1, -1):
            solved = milp(sign * goal, bounds=Bounds(0, np.inf), constraints=LinearConstraint(matrix, sums, sums))
            if solved.fun is None:
                raise InvalidInput("no database with the known leaves fits the release; check both")
            ends.append(round(sign * solved.fun))
        yield pair, (ends[0], ends[1])
