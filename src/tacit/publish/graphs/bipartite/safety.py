"""The check of a grouping, which shares nothing with the search: it counts sizes, and finds shared neighbours by sorting."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.publish.graphs.bipartite.two_sided import Side, TwoSided
from tacit.publish.graphs.graph import Integers


@dataclass(frozen=True, slots=True)
class Safety:
    """The result of checking both sides: the smallest groups, and pairs of nodes in one group that share a neighbour."""

    smallest_left: int
    smallest_right: int
    shared_left: int
    shared_right: int

    def passes(self, k: int, l: int) -> bool:  # noqa: E741
        """Whether the groups have at least k and l nodes, and are safe on each side that has groups of two or more."""
        sizes = self.smallest_left >= k and self.smallest_right >= l
        return sizes and not self.shared_left and not self.shared_right

    def to_dict(self) -> dict[str, Any]:
        """As it stands in JSON."""
        return asdict(self)


def check(graph: TwoSided, left: Integers, right: Integers) -> Safety:
    """The check of a grouping: the group of every node on either side.

    >>> both = TwoSided.of_labels(["A", "A", "B", "B"], ["1", "2", "1", "2"])
    >>> check(both, np.array([0, 0]), np.array([0, 0])).passes(2, 2)
    False
    """
    return Safety(_smallest(left), _smallest(right), _shared_neighbours(graph.left, left), _shared_neighbours(graph.right, right))


def _smallest(groups: Integers) -> int:
    return int(np.unique(groups, return_counts=True)[1].min()) if len(groups) else 0


def _shared_neighbours(side: Side, groups: Integers) -> int:
    """How many edges lead from a group to a node that another edge of the same group leads to."""
    pairs = np.repeat(groups, side.degrees) * (int(side.targets.max(initial=0)) + 1) + side.targets
    return len(pairs) - len(np.unique(pairs))
