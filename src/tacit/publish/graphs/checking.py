"""The checker of k-degree anonymity: it sees the edges that are to be published, and shares no code with the methods that made
them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import LawViolated

CHECK = "the check of the published graph"
DEFECT = "nothing is written, and this is a defect to report"


def check_k_degree(left: Any, right: Any, nodes: int, k: int, kept: tuple[Any, Any] | None = None) -> None:
    """Raise unless the edges are a simple graph in which every degree occurs at least k times, and hold all of `kept`.

    >>> check_k_degree([0, 1, 2], [1, 2, 0], nodes=3, k=3)
    """
    ends = np.sort(np.stack([np.asarray(left), np.asarray(right)]).astype(np.int64), axis=0)
    if ends.size and (ends[0].min() < 0 or ends[1].max() >= nodes):
        raise LawViolated(CHECK, f"an edge leads to nobody; {DEFECT}")
    if (ends[0] == ends[1]).any():
        raise LawViolated(CHECK, f"a person is their own neighbour; {DEFECT}")
    edges = np.sort(ends[0] * nodes + ends[1])
    if (edges[1:] == edges[:-1]).any():
        raise LawViolated(CHECK, f"an edge is repeated; {DEFECT}")
    counts = np.zeros(nodes, dtype=np.int64)
    np.add.at(counts, ends.ravel(), 1)
    _, shared = np.unique(counts, return_counts=True)
    if len(shared) and shared.min() < k:
        raise LawViolated(CHECK, f"only {shared.min():,} of the people have some degree, and k is {k:,}; {DEFECT}")
    if kept is not None:
        old = np.minimum(*kept) * nodes + np.maximum(*kept)
        places = np.minimum(np.searchsorted(edges, old), len(edges) - 1)
        if len(old) and (not len(edges) or (edges[places] != old).any()):
            raise LawViolated(CHECK, f"an edge of the original is missing; {DEFECT}")
