"""A safe grouping for its data owner: the published groups, their promise, and the people whom the structure still gives away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tacit.publish.graphs.bipartite.grouping import Bound, counting_bound
from tacit.publish.graphs.bipartite.publishing import BANNER, Grouped, group_safely
from tacit.publish.graphs.bipartite.two_sided import Side, TwoSided
from tacit.publish.graphs.saving import save_json
from tacit.release.curators import curators_page, heading, listed, paragraph, table

NOT_PROTECTED = (
    "Structure: whoever knows how many neighbours a person has may find that person's node, as every edge is published.",
    "Labels: everybody reads which labels are in the graph, and in which group.",
    "Known associations: each one that an attacker knows makes the groups that it touches smaller by one.",
)


@dataclass(frozen=True, slots=True, eq=False)
class Bipartite:
    """A published (k,l)-grouping and the graph that it was made of. Not differentially private."""

    made: Grouped
    graph: TwoSided
    sizes: tuple[int, int]
    differentially_private: ClassVar[bool] = False

    @property
    def bounds(self) -> tuple[Bound, Bound]:
        """The counting bounds of both sides."""
        return counting_bound(self.graph.left, self.graph.right), counting_bound(self.graph.right, self.graph.left)

    def promise(self) -> dict[str, Any]:
        """The statement to every recipient of the groups."""
        k, l = self.sizes  # noqa: E741
        model = f"safe ({k},{l})-grouping: a pair of labels is associated with probability at most 1/{max(k, l)}"
        return {
            "kind": "grouped bipartite graph",
            "differentially_private": False,
            "method": "bipartite",
            "model": model,
            "does_not_protect": list(NOT_PROTECTED),
        }

    def to_dict(self) -> dict[str, Any]:
        """For the data owner."""
        told = {key: value for key, value in self.promise().items() if key not in ("kind", "does_not_protect")}
        sides = ("left", self.graph.left), ("right", self.graph.right)
        return {
            **told,
            "k": self.sizes[0],
            "l": self.sizes[1],
            "nodes": [len(side) for _, side in sides],
            "edges": self.graph.edges,
            "groups": [len(self.made.left), len(self.made.right)],
            "checked": self.made.safety.to_dict(),
            "largest_k": self.bounds[0].largest,
            "largest_l": self.bounds[1].largest,
            "likeliest_association": str(self.made.likeliest),
            "alone_by_degree": {name: _alone(side) for name, side in sides},
        }

    def lines(self) -> list[str]:
        """For the data owner, on the screen."""
        left, right, (k, l) = self.graph.left, self.graph.right, self.sizes  # noqa: E741
        likeliest = self.made.likeliest
        return [
            f"Read: {len(left):,} nodes on the left, {len(right):,} on the right, {self.graph.edges:,} edges.",
            f"Published: {len(self.made.left):,} groups on the left and {len(self.made.right):,} on the right.",
            f"Checked: groups have at least {self.made.safety.smallest_left} and {self.made.safety.smallest_right} nodes, and no "
            f"two nodes of a group share a neighbour. The counting bounds allow k <= {self.bounds[0].largest:,} and "
            f"l <= {self.bounds[1].largest:,}.",
            f"Likeliest association of two labels: {likeliest} = {float(likeliest):.3g}, promised at most 1/{max(k, l)}.",
            f"Still singled out by their degree: {_alone(left):,} nodes on the left and {_alone(right):,} on the right.",
        ]

    def save(self, out: Path) -> Path:
        """Write the groups, their labels and all edges between anonymous nodes as JSON, and a receipt beside it."""
        return save_json(out, self.made.to_dict(), self.promise())

    def page(self) -> str:
        """The data owner's report."""
        rows = [(side, *map(str, values)) for side, *values in self._rows()]
        parts = [
            paragraph(f"{BANNER} {self.promise()['model']}."),
            table(("side", "nodes", "groups", "smallest group", "largest possible size", "singled out by degree"), rows),
            heading("What this grouping does not protect"),
            listed(NOT_PROTECTED),
        ]
        return curators_page("A bipartite graph in safe groups", "\n".join(parts))

    def _rows(self) -> list[tuple[Any, ...]]:
        graph, made, safety, bounds = self.graph, self.made, self.made.safety, self.bounds
        return [
            ("left", len(graph.left), len(made.left), safety.smallest_left, bounds[0].largest, _alone(graph.left)),
            ("right", len(graph.right), len(made.right), safety.smallest_right, bounds[1].largest, _alone(graph.right)),
        ]


def bipartite(
    source: str | Path | TwoSided, sizes: tuple[int, int], seed: int = 0, told: Callable[..., None] | None = None
) -> Bipartite:
    """The safe (k,l)-grouping of an edge list or a graph."""
    graph = source if isinstance(source, TwoSided) else TwoSided.read(source)
    if told is not None:
        told("grouping", 0.3)
    return Bipartite(group_safely(graph, *sizes, seed), graph, sizes)


def _alone(side: Side) -> int:
    """How many nodes share their degree with no other."""
    return int((np.unique(side.degrees, return_counts=True)[1] == 1).sum())
