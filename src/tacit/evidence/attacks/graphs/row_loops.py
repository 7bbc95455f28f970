"""Loops that make graphs: drawn at random, and relabelled in compressed rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled
from tacit.publish.graphs.refining import mixed


@compiled
def relabelled(offsets: Any, targets: Any, label_of: Any, node_of: Any) -> Any:
    """The rows of a graph under new labels. Labels are visited in ascending order, so every row comes out sorted."""
    nodes = len(offsets) - 1
    made, rows = np.zeros(nodes + 1, np.int64), np.empty_like(targets)
    for label in range(nodes):
        made[label + 1] = made[label] + offsets[node_of[label] + 1] - offsets[node_of[label]]
    cursor = made[:-1].copy()
    for label in range(nodes):
        for place in range(offsets[node_of[label]], offsets[node_of[label] + 1]):
            other = label_of[targets[place]]
            rows[cursor[other]] = label
            cursor[other] += 1
    return made, rows


@compiled
def partners(nodes: Any, links: Any, first: Any, last: Any, power: Any, seed: Any) -> Any:
    """For every link one end: node i with a probability proportional to (i + shift) ** (1 / power - 1).

    The end is the inverse of the distribution at a uniform number: (first + u (last - first)) ** power, less the shift.
    """
    shift, found = first**power, np.empty(links, np.int32)
    for place in range(links):
        uniform = np.float64(mixed(np.uint64(seed) + np.uint64(place)) >> np.uint64(11)) * 2.0**-53
        node = np.int64((first + uniform * (last - first)) ** power - shift)
        found[place] = min(max(node, 0), nodes - 1)
    return found
