"""A graph as it was given: read from an edge list or taken from a networkx or igraph object, with counts of the omitted parts.

An edge list has two names on each line: numbers or texts, split by tabs, commas, semicolons or blanks, perhaps compressed. Lines
that begin with #, % or // are comments. The graph is simple and undirected: an arc in either direction is an edge, weights and
further columns are not read, and self-loops, repetitions and lines that are not edges are left out. All of that is counted. A
person who stands in a self-loop alone is a node without neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.graph import Graph

Told = Callable[[str, float], None] | None  # receives the current step, and its progress from 0 to 1
WORDS = {
    "bad_lines": "lines that are not edges were skipped",
    "self_loops": "self-loops were left out",
    "repeated": "repeated edges were left out",
    "both_directions": "edges were given in both directions and count once",
    "further_columns": "edges have weights or further columns, which were not read",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """Counts from the source of a graph: for the data owner only, as they count private edges."""

    edges_read: int = 0
    comments: int = 0
    bad_lines: int = 0
    self_loops: int = 0
    repeated: int = 0
    both_directions: int = 0
    further_columns: int = 0
    directed: bool = False  # the source says so; an edge list does not say

    def lines(self) -> list[str]:
        """Sentences about the parts that were left out."""
        counts = asdict(self)
        sentences = [f"{counts[name]:,} {words}" for name, words in WORDS.items() if counts[name]]
        return [*sentences, *(["the graph was directed; an arc in either direction became an edge"] if self.directed else [])]


@dataclass(frozen=True, slots=True)
class Layout:
    """The form of an edge list: its delimiter and the names of its two columns, if it has a header."""

    delimiter: str = "\t"
    header: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Network:
    """A graph with the names of its nodes, in ascending order, and the form in which it came."""

    graph: Graph
    names: Any  # an array of numbers or of texts
    layout: Layout = field(default_factory=Layout)
    reading: Reading = field(default_factory=Reading)
    kind: str = "edge list"


def network_of(source: Any, alone: bool = False) -> Network:
    """The network of a file, a networkx graph, an igraph graph or a Graph. `alone`: each line of a file is read by itself.

    >>> network_of(Graph.of_edges([0, 1], [1, 2], nodes=3)).graph
    Graph(nodes=3, edges=2)
    """
    if isinstance(source, Network):
        return source
    if isinstance(source, Graph):
        return Network(source, np.arange(source.nodes), kind="graph")
    if isinstance(source, str | Path):
        from tacit.publish.graphs.edge_list import read_network

        return read_network(source, alone)
    if hasattr(source, "get_edgelist") and hasattr(source, "vcount"):
        return _of_igraph(source)
    if hasattr(source, "adjacency") and hasattr(source, "number_of_nodes"):
        return _of_networkx(source)
    raise InvalidInput("unsupported graph; give the path of an edge list, a networkx graph, an igraph graph or a tacit Graph")


def _of_networkx(source: Any) -> Network:
    names = list(source.nodes())
    places = {name: place for place, name in enumerate(names)}
    edges = list(source.edges(data=True))
    left, right = (np.array([places[edge[side]] for edge in edges], dtype=np.int64) for side in (0, 1))
    weights = sum(bool(edge[2]) for edge in edges)
    return _network(left, right, names, weights, bool(source.is_directed()), "networkx")


def _of_igraph(source: Any) -> Network:
    names = list(source.vs["name"]) if "name" in source.vs.attributes() else list(range(source.vcount()))
    edges = np.array(source.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    weights = len(edges) if source.es.attributes() else 0
    return _network(edges[:, 0], edges[:, 1], names, weights, bool(source.is_directed()), "igraph")


def _network(left: Any, right: Any, names: list[Any], weights: int, directed: bool, kind: str) -> Network:
    from tacit.publish.graphs.rows import build

    made = build(left, right, len(names))
    left_out = Reading(len(left), 0, 0, made.self_loops, made.repeated, made.both_directions, weights, directed)
    held = np.empty(len(names), dtype=object)
    held[:] = names
    return Network(made.graph, held, reading=left_out, kind=kind)


def like(source: Any, graph: Graph) -> Any:
    """The graph in the form of `source`: an undirected object of the same package with numbered nodes; else the Graph itself."""
    left, right = (side.tolist() for side in graph.ends())
    if hasattr(source, "get_edgelist"):
        return type(source)(n=graph.nodes, edges=list(zip(left, right, strict=True)))
    if hasattr(source, "to_undirected_class"):
        made = source.to_undirected_class()()
        made.add_nodes_from(range(graph.nodes))
        made.add_edges_from(zip(left, right, strict=True))
        return made
    return graph
