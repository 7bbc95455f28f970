"""The loss of an anonymized graph: edges changed, clustering, path lengths, degrees, and the largest eigenvalue.

Both graphs have the same nodes under the same numbers. Clustering of large graphs, and path lengths, are measured from a sample
of nodes, the same in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.publish.graphs.graph import Graph, Integers

ALL_NODES = 4_000_000  # arcs up to which clustering is measured at every node
SOME_NODES = 2_000
SOURCES, REACH = 100, 20_000_000  # breadth-first searches at most, and the arcs that all of them visit together, about
STEPS, CLOSE = 200, 1e-6  # of the power iteration


@dataclass(frozen=True, slots=True)
class Figures:
    """Measures of one graph."""

    clustering: float  # mean of the local clustering coefficients
    path_length: float  # mean distance of pairs that are connected
    reached: float  # share of pairs that are connected
    eigenvalue: float  # the largest of the adjacency matrix


@dataclass(frozen=True, slots=True)
class Utility:
    """Two graphs compared."""

    edges_before: int
    edges_added: int
    edges_deleted: int
    degree_distance: float  # earth mover's distance of the two degree distributions
    before: Figures
    after: Figures

    def changes(self) -> str:
        """Edges added and deleted, in words."""
        whole = max(self.edges_before, 1)
        added = f"{self.edges_added:,} edges added ({self.edges_added / whole:.2%})"
        return f"{added}, {self.edges_deleted:,} deleted ({self.edges_deleted / whole:.2%})"

    def rows(self) -> list[tuple[str, float, float]]:
        """Each measure before and after."""
        words = {
            "clustering": "average clustering",
            "path_length": "average path length",
            "reached": "share of pairs connected",
            "eigenvalue": "largest eigenvalue",
        }
        return [(text, getattr(self.before, name), getattr(self.after, name)) for name, text in words.items()]

    def to_dict(self) -> dict[str, Any]:
        """As it stands in JSON."""
        names = ("clustering", "path_length", "reached", "eigenvalue")
        return {
            "edges_before": self.edges_before,
            "edges_added": self.edges_added,
            "edges_deleted": self.edges_deleted,
            "degree_distance": self.degree_distance,
            **{name: {"before": getattr(self.before, name), "after": getattr(self.after, name)} for name in names},
        }


def utility(before: Graph, after: Graph, random: np.random.Generator) -> Utility:
    """How far one graph is from another with the same nodes.

    >>> path, ring = Graph.of_edges([0, 1, 2], [1, 2, 3], 4), Graph.of_edges([0, 1, 2, 3], [1, 2, 3, 0], 4)
    >>> found = utility(path, ring, np.random.default_rng(1))
    >>> found.edges_added, found.edges_deleted, found.degree_distance, round(found.after.eigenvalue, 3)
    (1, 0, 0.5, 2.0)
    """
    from tacit.publish.graphs.measuring import common_edges

    if before is after:
        figures = measure(before, *sample_nodes(before, random))
        return Utility(before.edges, 0, 0, 0.0, figures, figures)
    common = int(common_edges(before.offsets, before.targets, after.offsets, after.targets)) // 2
    nodes, sources = sample_nodes(before if before.edges > after.edges else after, random)
    first, second = measure(before, nodes, sources), measure(after, nodes, sources)
    return Utility(before.edges, after.edges - common, before.edges - common, degree_distance(before, after), first, second)


def degree_distance(before: Graph, after: Graph) -> float:
    """The earth mover's distance of the degrees: mean difference of the sorted sequences."""
    difference = np.abs(np.sort(before.degrees) - np.sort(after.degrees))
    return float(difference.mean()) if len(difference) else 0.0


def sample_nodes(graph: Graph, random: np.random.Generator) -> tuple[Integers, Integers]:
    """Nodes at which clustering is measured, and sources of paths: all, or as many as a large graph allows."""
    arcs = len(graph.targets)
    few = min(graph.nodes, SOME_NODES)
    nodes = np.arange(graph.nodes) if arcs <= ALL_NODES else np.sort(random.choice(graph.nodes, few, replace=False))
    sources = min(graph.nodes, SOURCES, max(REACH // max(arcs, 1), 8))
    return nodes, np.sort(random.choice(graph.nodes, sources, replace=False)) if graph.nodes else nodes


def measure(graph: Graph, nodes: Integers, sources: Integers) -> Figures:
    """The measures of one graph, at the given nodes and from the given sources."""
    from tacit.publish.graphs.measuring import clustering, distances

    if not graph.nodes:
        return Figures(0.0, 0.0, 0.0, 0.0)
    local = clustering(graph.offsets, graph.targets, nodes)
    total, pairs = distances(graph.offsets, graph.targets, sources)
    possible = max(len(sources) * (graph.nodes - 1), 1)
    return Figures(float(np.mean(local)), total / max(pairs, 1), pairs / possible, largest_eigenvalue(graph))


def largest_eigenvalue(graph: Graph) -> float:
    """The largest eigenvalue of the adjacency matrix, by power iteration to a relative change below one in a million.

    The matrix is shifted by the root of the largest degree, a lower bound of the eigenvalue: in a bipartite graph the smallest
    eigenvalue is as large in absolute value, and plain iteration would swing between the two.
    """
    from tacit.publish.graphs.measuring import multiply

    if not graph.edges:
        return 0.0
    shift = float(np.sqrt(graph.degrees.max()))
    vector, estimate = graph.degrees / np.linalg.norm(graph.degrees), 0.0
    for _ in range(STEPS):
        product = multiply(graph.offsets, graph.targets, vector)
        value = float(vector @ product)
        if abs(value - estimate) <= CLOSE * value:
            return value
        following = product + shift * vector
        vector, estimate = following / np.linalg.norm(following), value
    return estimate
