"""Social networks: read, published with fewer ways to find a person, and measured for the ways that are left.

The results of `naive`, `k_degree`, `k_neighbourhood`, `sized_groups` and `bipartite` are not differentially private, and say so;
those of `release_degrees`, `release_edges` and `release_triangles` are. `tacit anonymize graph` does the same on the command line.
Loops are compiled by Numba: `pip install "tacit[graphs]"`.

>>> from tacit.graphs import Graph, candidates, k_degree, naive
>>> star = Graph.of_edges([0, 0, 0, 0, 1], [1, 2, 3, 4, 5], nodes=6)
>>> naive(star, seed=1).candidates[0].alone  # by degree
2
>>> k_degree(star, k=2, seed=1).candidates[0].alone
0
"""

from __future__ import annotations

from tacit.publish.graphs.bipartite.examples import safe_example, unsafe_example
from tacit.publish.graphs.bipartite.queries import degree_histogram, distinct_right, edges_between
from tacit.publish.graphs.bipartite.result import bipartite
from tacit.publish.graphs.bipartite.two_sided import TwoSided
from tacit.publish.graphs.candidates import Candidates, candidates, colours_of, fixed_point
from tacit.publish.graphs.checking import check_k_degree
from tacit.publish.graphs.degree_sequence import anonymous_degrees, is_graphical
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.k_degree import k_degree
from tacit.publish.graphs.measures import Utility, utility
from tacit.publish.graphs.naive import naive
from tacit.publish.graphs.neighbourhoods.checker import check_k_neighbourhood
from tacit.publish.graphs.neighbourhoods.result import k_neighbourhood
from tacit.publish.graphs.network import Network, like
from tacit.publish.graphs.network import network_of as read
from tacit.publish.graphs.private.graphical import nearest_graphical
from tacit.publish.graphs.private.result import release_degrees, release_edges, release_stars, release_triangles
from tacit.publish.graphs.private.spending import begin_graph_ledger, open_graph_ledger
from tacit.publish.graphs.published import Published
from tacit.publish.graphs.realizing import graph_of_degrees
from tacit.publish.graphs.rows import build
from tacit.publish.graphs.stored import load, save
from tacit.publish.graphs.supernodes.result import sized_groups
from tacit.publish.graphs.supernodes.worlds import estimated, sampled

__all__ = [
    "Candidates",
    "Graph",
    "Network",
    "Published",
    "TwoSided",
    "Utility",
    "anonymous_degrees",
    "begin_graph_ledger",
    "bipartite",
    "build",
    "candidates",
    "check_k_degree",
    "check_k_neighbourhood",
    "colours_of",
    "degree_histogram",
    "distinct_right",
    "edges_between",
    "estimated",
    "fixed_point",
    "graph_of_degrees",
    "is_graphical",
    "k_degree",
    "k_neighbourhood",
    "like",
    "load",
    "naive",
    "nearest_graphical",
    "open_graph_ledger",
    "read",
    "release_degrees",
    "release_edges",
    "release_stars",
    "release_triangles",
    "safe_example",
    "sampled",
    "save",
    "sized_groups",
    "unsafe_example",
    "utility",
]
