"""A k-sized grouping for its data owner: how many graphs it could be, how analysts see it, and the facts that it gives away."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.measures import Utility, utility
from tacit.publish.graphs.network import Network, network_of
from tacit.publish.graphs.saving import save_json
from tacit.publish.graphs.supernodes.annealing import PER_NODE, Annealed, anneal
from tacit.publish.graphs.supernodes.published import BANNER, Supergraph, publish
from tacit.publish.graphs.supernodes.worlds import sampled
from tacit.release.curators import curators_page, heading, listed, paragraph, table

NOT_PROTECTED = (
    "What is true of a whole group: full and empty blocks say of every pair of its members whether they are linked.",
    "Numbers of edges: adding or removing one person changes them, and nothing here hides by how much.",
    "A second grouping of the same people: groups that overlap in one person single that person out.",
)


@dataclass(frozen=True, slots=True, eq=False)
class SizedGroups:
    """A published k-sized grouping and the graph that it was made of. Not differentially private."""

    made: Supergraph
    search: Annealed
    source: Network
    sample: Utility
    differentially_private: ClassVar[bool] = False

    def promise(self) -> dict[str, Any]:
        """The statement to every recipient of the groups."""
        model = (
            f"groups of at least {self.made.k}: whoever knows any structure around a person has at least {self.made.k} candidates"
        )
        return {
            "kind": "graph grouped into supernodes",
            "differentially_private": False,
            "method": "grouping",
            "model": model,
            "nodes": self.made.nodes,
            "edges": int(self.made.blocks.edges.sum()),
            "does_not_protect": list(NOT_PROTECTED),
        }

    def to_dict(self) -> dict[str, Any]:
        """For the data owner."""
        told = {key: value for key, value in self.promise().items() if key not in ("kind", "does_not_protect")}
        search = self.search
        return {
            **told,
            "k": self.made.k,
            "groups": len(self.made.blocks.sizes),
            "blocks": len(self.made.blocks.edges),
            "log_worlds": search.log_worlds,
            "log_worlds_start": search.start,
            "proposals": search.proposals,
            "full_blocks": self.made.full,
            "empty_groups": self.made.empty,
            "warnings": self.made.warnings(),
            "a_sampled_world": self._sample_measures(),
        }

    def _sample_measures(self) -> dict[str, Any]:
        """Measures of one graph with the published numbers; its nodes are not those of the original, nor are its edges."""
        return {name: value for name, value in self.sample.to_dict().items() if not name.startswith("edges_")}

    def lines(self) -> list[str]:
        """For the data owner, on the screen."""
        graph, made, search = self.source.graph, self.made, self.search
        digits = search.log_worlds / math.log(10)
        return [
            f"Read: {graph.nodes:,} people and {graph.edges:,} edges.",
            *(f"{line[0].upper()}{line[1:]}." for line in self.source.reading.lines()),
            f"Published: {len(made.blocks.sizes):,} groups and {len(made.blocks.edges):,} blocks with edges.",
            f"Checked: every group has at least {made.k} people, and the blocks hold all {graph.edges:,} edges.",
            f"Possible graphs: ln |W| = {search.log_worlds:,.1f} (about 10^{digits:,.0f}), from {search.start:,.1f} for groups of "
            f"similar degree; {search.proposals:,} proposals.",
            *(f"Warning: {warning}." for warning in made.warnings()),
        ]

    def save(self, out: Path) -> Path:
        """Write the sizes of groups and the edges of blocks as JSON, and a receipt beside it."""
        return save_json(out, self.made.to_dict(), self.promise())

    def page(self) -> str:
        """The data owner's report."""
        parts = [
            paragraph(f"{BANNER} {self.promise()['model']}."),
            listed(self.lines()),
            heading("What an analyst sees"),
            paragraph("An analyst draws graphs with the published numbers, and measures them. Of one such graph:"),
            table(("measure", "before", "drawn"), [(text, f"{one:.4g}", f"{two:.4g}") for text, one, two in self.sample.rows()]),
            heading("What this grouping does not protect"),
            listed(NOT_PROTECTED),
        ]
        return curators_page("A social network in groups", "\n".join(parts))


def sized_groups(
    source: Any, k: int, seed: int = 0, effort: int = PER_NODE, told: Callable[..., None] | None = None
) -> SizedGroups:
    """A k-sized grouping of an edge list or a graph, with `effort` proposals for every node."""
    network = network_of(source)
    if not 2 <= k <= max(network.graph.nodes, 2):
        raise InvalidInput(f"k must be from 2 to the number of nodes, not {k}", argument="k")
    search = anneal(network.graph, k, seed, effort, None if told is None else lambda share: told("annealing", 0.1 + 0.7 * share))
    made = publish(network.graph, search.groups, k)
    sample = utility(network.graph, sampled(made, seed), np.random.default_rng(seed))
    return SizedGroups(made, search, network, sample)


@dataclass(frozen=True, slots=True)
class PathExample:
    """The path 1-2-3-4 with its three groupings into pairs, and the number of graphs that each could be.

    >>> PathExample().worlds()
    {'{1,2} {3,4}': 4, '{1,3} {2,4}': 4, '{1,4} {2,3}': 6}
    """

    differentially_private: ClassVar[bool] = False

    def worlds(self) -> dict[str, int]:
        """The possible graphs of each grouping, counted from the path."""
        path = Graph.of_edges([0, 1, 2], [1, 2, 3], nodes=4)
        ways = {"{1,2} {3,4}": [0, 0, 1, 1], "{1,3} {2,4}": [0, 1, 0, 1], "{1,4} {2,3}": [0, 1, 1, 0]}
        return {name: publish(path, np.array(groups), 2).blocks.worlds() for name, groups in ways.items()}

    def to_dict(self) -> dict[str, Any]:
        """As it stands in JSON."""
        return {"example": "path4", "differentially_private": False, "k": 2, "worlds": self.worlds()}

    def lines(self) -> list[str]:
        """On the screen."""
        words = (
            "1 edge in each group and 1 between them",
            "no edge in the groups and 3 between them",
            "1 edge in one group and 2 between them",
        )
        pairs = zip(self.worlds().items(), words, strict=True)
        sentences = [f"{name}: {text}: {worlds} possible graphs." for (name, worlds), text in pairs]
        return ["The path 1-2-3-4 in groups of 2:", *sentences]

    def save(self, out: Path) -> Path:
        """Refused: an example publishes nothing."""
        raise InvalidInput(f"an example is not written to {out.name}; leave out --out")

    def page(self) -> str:
        """Refused likewise."""
        raise InvalidInput("an example has no report; leave out --report")
