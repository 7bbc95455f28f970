"""The published form of a (k,l)-grouping: every edge between anonymous nodes, and for each group its nodes and its labels.

Between a group of x nodes and one of y, the edges of a safe grouping form a matching: at most min(x, y) of x y pairs. Each way to
give the labels of a group to its nodes is equally likely, so a given pair of labels is associated with probability at most
min(x, y) / (x y) = 1 / max(x, y), which is at most 1 / max(k, l).

An attacker who knows r true associations knows at most the nodes of their r labels on either side. Two unknown labels are
then associated with probability at most 1 / (max(k, l) - r), and a known label with an unknown one at most
1 / (min(k, l) - r). An attacker who knows the structure around a person, such as the degree, is not covered at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput, LawViolated
from tacit.mechanisms.noise import bits
from tacit.publish.graphs.bipartite.grouping import require_possible, safe_groups
from tacit.publish.graphs.bipartite.safety import Safety, check
from tacit.publish.graphs.bipartite.two_sided import Side, TwoSided
from tacit.publish.graphs.graph import Integers

BANNER = (
    "Not differentially private: the structure is published exactly, so whoever knows the degree of a person may find that person."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Groups:
    """One side as published: nodes and labels from offsets[g] to offsets[g + 1] are those of group g, the labels ascending."""

    offsets: Integers
    labels: Any

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Integers:
        """The number of nodes in every group."""
        return np.diff(self.offsets)

    @property
    def of_node(self) -> Integers:
        """The group of every node."""
        return np.repeat(np.arange(len(self)), self.sizes)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Grouped:
    """A published bipartite graph whose labels are known up to groups. Not differentially private."""

    left: Groups
    right: Groups
    ones: Integers  # the left ends of the edges, as anonymous nodes
    twos: Integers
    safety: Safety
    differentially_private: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"Grouped(left={len(self.left)} groups, right={len(self.right)} groups, edges={len(self.ones)})"

    def blocks(self) -> tuple[Integers, Integers, Integers]:
        """The pairs of groups with edges between them: the left group, the right group, and the number of edges."""
        key = self.left.of_node[self.ones] * max(len(self.right), 1) + self.right.of_node[self.twos]
        pairs, counts = np.unique(key, return_counts=True)
        return *np.divmod(pairs, max(len(self.right), 1)), counts

    @property
    def likeliest(self) -> Fraction:
        """The largest probability of an association between two labels, over all pairs: edges / pairs of their groups."""
        one, two, edges = self.blocks()
        if not len(edges):
            return Fraction(0)
        pairs = self.left.sizes[one] * self.right.sizes[two]
        worst = int(np.argmax(edges / pairs))
        return Fraction(int(edges[worst]), int(pairs[worst]))

    def with_knowledge(self, associations: int) -> tuple[Fraction, Fraction]:
        """The largest probabilities for an attacker who knows this many associations: for two unknown labels, and with one
        known.
        """
        smallest = sorted((self.safety.smallest_left, self.safety.smallest_right))
        unknown, half_known = (Fraction(1, max(size - associations, 1)) for size in (smallest[1], smallest[0]))
        return unknown, half_known if associations else unknown

    def to_dict(self) -> dict[str, Any]:
        """Everything that is published, as it stands in JSON."""
        sides = {name: _group_records(side) for name, side in (("left", self.left), ("right", self.right))}
        return sides | {"edges": np.stack([self.ones, self.twos], axis=1).tolist(), "differentially_private": False}


def group_safely(graph: TwoSided, k: int, l: int, seed: int = 0) -> Grouped:  # noqa: E741
    """The graph with its left side in safe groups of at least k nodes and its right side in safe groups of at least l, checked.

    >>> made = group_safely(TwoSided.of_labels(["A", "B", "C", "D"], [1, 2, 3, 4]), k=2, l=2)
    >>> made, made.likeliest
    (Grouped(left=2 groups, right=2 groups, edges=4), Fraction(1, 2))
    """
    for size, side, others in ((k, graph.left, graph.right), (l, graph.right, graph.left)):
        if size > max(len(side), 1):
            raise InvalidInput(f"groups of {size} are not possible on a side of {len(side):,} nodes; lower the size")
        require_possible(side, others, size)
    left, right = safe_groups(graph.left, graph.right, k, seed), safe_groups(graph.right, graph.left, l, seed)
    made = as_published(graph, left, right)
    if not made.safety.passes(k, l):
        raise LawViolated("the check of a safe grouping", "a group is too small or unsafe; nothing is written; report this defect")
    return made


def as_published(graph: TwoSided, left: Integers, right: Integers) -> Grouped:
    """The published form of a grouping, safe or not; the nodes of a group are in a secret random order."""
    ones, first = _hide(graph.left, left)
    twos, second = _hide(graph.right, right)
    sources, targets = graph.ends()
    one, two = first[sources], second[targets]
    order = np.lexsort((two, one))
    return Grouped(ones, twos, one[order], two[order], check(graph, left, right))


def _hide(side: Side, groups: Integers) -> tuple[Groups, Integers]:
    """One side as published, and the secret place of every node in it."""
    counts = np.bincount(groups, minlength=int(groups.max()) + 1 if len(groups) else 0)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    place = np.empty(len(side), dtype=np.int64)
    place[np.lexsort((bits.random_words(len(side)), groups))] = np.arange(len(side))
    return Groups(offsets, side.labels[np.lexsort((np.arange(len(side)), groups))]), place


def _group_records(side: Groups) -> list[dict[str, Any]]:
    labels = side.labels.tolist()
    ends = zip(side.offsets[:-1].tolist(), side.offsets[1:].tolist(), strict=True)
    return [{"nodes": list(range(begin, end)), "labels": labels[begin:end]} for begin, end in ends]
