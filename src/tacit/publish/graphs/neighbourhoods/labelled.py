"""Labels of people, such as their profession, and coarser forms of them.

An attacker may know the labels of a person and of their contacts. Neighbourhoods then match only if the labels do, and a person is
like others only if their own label is the same. All labels are published at one level of their hierarchy: the lowest at which every
label that is to be protected has at least k people, and at which the growth of the graph is not refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tacit.errors import InvalidInput
from tacit.publish.graphs.network import Network
from tacit.publish.tables.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True)
class Labels:
    """The label of every person at every level, as numbers, and the words for them. The last level may give all people one
    label.
    """

    codes: list[list[int]]
    words: list[tuple[str, ...]]

    @classmethod
    def of(cls, network: Network, given: Mapping[Any, str], hierarchy: Hierarchy | None = None) -> Labels:
        """The labels of a network's people; without a hierarchy, a label is published as it is or not at all."""
        named = {str(name): label for name, label in given.items()}
        names = [str(name) for name in network.names.tolist()]
        missing = sum(name not in named for name in names)
        if missing:
            raise InvalidInput(f"{missing:,} of the {len(names):,} people have no label; give one for each person in the graph")
        held = [named[name] for name in names]
        levels = hierarchy or Hierarchy.flat("labels", sorted(set(held)))
        unknown = len(set(held) - set(levels.leaves))
        if unknown:
            raise InvalidInput(f"{unknown:,} labels are not in the hierarchy; add a line for each of them")
        places = [levels.places[label] for label in held]
        return cls([[int(codes[place]) for place in places] for codes in levels.levels], list(levels.forms))

    def common(self, level: int, k: int, only: Collection[int] | None) -> bool:
        """Whether every label, or every label of a person in `only`, has at least k people at a level."""
        counts = Counter(self.codes[level])
        wanted = counts if only is None else {self.codes[level][person] for person in only}
        return all(counts[label] >= k for label in wanted)

    def levels(self, k: int, only: Collection[int] | None) -> list[int]:
        """The levels at which k people can look alike, from the finest."""
        levels_of_k = [level for level in range(len(self.codes)) if self.common(level, k, only)]
        if not levels_of_k:
            raise InvalidInput(f"some label has fewer than k = {k:,} people at every level; add a level that all labels share")
        return levels_of_k
