"""A random graph with a power law of degrees, large enough to stand for a social network.

The expected degree of node i is proportional to (i + shift) ** (-1 / (exponent - 1)), and links are drawn independently (Chung and
Lu 2002). The shift keeps the largest expected degree at the square root of twice the number of links, so that few links are drawn
twice.
"""

from __future__ import annotations

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.graph import MOST_NODES, Graph

EXPONENT = 2.3
MOST_EDGES = 500_000_000  # 4 GB for the rows, and as much again while they are built


def power_law(nodes: int, edges: int, seed: int = 0, exponent: float = EXPONENT) -> Graph:
    """A graph of about `edges` edges: those that are drawn twice count once.

    >>> graph = power_law(1000, 8000, seed=1)
    >>> graph.nodes, 7000 < graph.edges <= 8000, int(graph.degrees.max()) > 60
    (1000, True, True)
    """
    from tacit.evidence.attacks.graphs.loops import partners
    from tacit.publish.graphs.rows import build

    if not (2 <= nodes <= MOST_NODES and 1 <= edges <= min(MOST_EDGES, nodes * (nodes - 1) // 4)):
        raise InvalidInput(
            f"cannot draw {nodes:,} nodes and {edges:,} edges: expected at least 2 nodes, at most {MOST_EDGES:,} edges, "
            "and edges between at most half of all pairs"
        )
    power = (exponent - 1) / (exponent - 2)
    shift = _shift(nodes, edges, power)
    first, last = shift ** (1 / power), (nodes + shift) ** (1 / power)
    until = ((np.arange(nodes + 1) + shift) ** (1 / power) - first) / (last - first)
    starts = np.floor(until * edges + 1e-9).astype(np.int64)
    starts[-1] = edges
    left = np.repeat(np.arange(nodes, dtype=np.int32), np.diff(starts))
    salt = np.uint64(np.random.default_rng([seed, 2]).integers(0, 2**62))
    return build(left, partners(nodes, edges, first, last, power, salt), nodes).graph


def _shift(nodes: int, edges: int, power: float) -> float:
    """The shift at which node 0 has an expected degree of sqrt(2 edges), by bisection; the degree falls with the shift."""
    low, high = 1e-9, float(nodes)
    for _ in range(100):
        middle = (low + high) / 2
        share = ((1 + middle) ** (1 / power) - middle ** (1 / power)) / ((nodes + middle) ** (1 / power) - middle ** (1 / power))
        low, high = (middle, high) if 2 * edges * share > (2 * edges) ** 0.5 else (low, middle)
    return high
