"""Social networks: read, published with fewer ways to find a person, and measured for the ways that are left.

What `naive` and `k_degree` return is not differentially private, and says so. `tacit anonymize graph` does the same on the command
line. Loops are compiled by Numba: `pip install "tacit[graphs]"`.

>>> from tacit.graphs import Graph, candidates, k_degree, naive
>>> star = Graph.of_edges([0, 0, 0, 0, 1], [1, 2, 3, 4, 5], nodes=6)
>>> naive(star, seed=1).candidates[0].alone  # by degree
2
>>> k_degree(star, k=2, seed=1).candidates[0].alone
0
"""

from __future__ import annotations

from tacit.publish.graphs.candidates import Candidates, candidates, colours_of, fixed_point
from tacit.publish.graphs.checking import check_k_degree
from tacit.publish.graphs.degree_sequence import anonymous_degrees, is_graphical
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.k_degree import k_degree
from tacit.publish.graphs.measures import Utility, utility
from tacit.publish.graphs.naive import naive
from tacit.publish.graphs.network import Network, like
from tacit.publish.graphs.network import network_of as read
from tacit.publish.graphs.published import Published
from tacit.publish.graphs.realizing import graph_of_degrees
from tacit.publish.graphs.rows import built as build
from tacit.publish.graphs.stored import load, save

__all__ = [
    "Candidates",
    "Graph",
    "Network",
    "Published",
    "Utility",
    "anonymous_degrees",
    "build",
    "candidates",
    "check_k_degree",
    "colours_of",
    "fixed_point",
    "graph_of_degrees",
    "is_graphical",
    "k_degree",
    "like",
    "load",
    "naive",
    "read",
    "save",
    "utility",
]


def __dir__() -> list[str]:
    return __all__
