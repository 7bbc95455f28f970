"""Naive anonymization: names are replaced by numbers, and nothing else. The bad example, with the people it gives away."""

from __future__ import annotations

from typing import Any

from tacit.publish.graphs.candidates import candidates
from tacit.publish.graphs.measures import utility
from tacit.publish.graphs.network import network_of
from tacit.publish.graphs.published import Published, generator, rename

CLAIM = "no anonymity: the structure is unchanged"


def naive(source: Any, seed: int | None = None) -> Published:
    """The graph with its nodes renamed at random: a person whose degree is unique is found by anyone who knows that degree.

    >>> from tacit.publish.graphs.graph import Graph
    >>> email = Graph.of_edges([0, 0, 0, 2, 2, 2, 2, 1, 1, 4, 4], [1, 2, 4, 1, 3, 5, 6, 4, 3, 5, 6], nodes=7)
    >>> naive(email, seed=1).candidates[0].alone
    2
    """
    network, random = network_of(source), generator(seed)
    made, before = rename(network.graph, random), candidates(network.graph)
    return Published(made, network, "naive", CLAIM, None, before, before, utility(network.graph, network.graph, random))
