"""The graphical degree sequence nearest to a noisy one: post-processing, which costs nothing more.

Some graph has the degrees exactly if their sum is even and they satisfy the inequalities of Erdos and Gallai. Karwa and Slavkovic
2012, Algorithm 2: the person with the largest degree is linked to as many of the next largest as there are, and so on. The degrees
of the graph that comes out are nearest in l1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.graph import Integers


def nearest_graphical(degrees: Any) -> Integers:
    """Degrees that some graph has, in the order of the given ones, at the least l1 distance from them.

    >>> nearest_graphical([3, 3, 1, 1]).tolist(), nearest_graphical([2, 2, 2, 1]).tolist()
    ([3, 1, 1, 1], [2, 2, 1, 1])
    """
    given = np.asarray(degrees, dtype=np.int64)
    order = np.argsort(-given, kind="stable")
    left = np.maximum(given[order], 0)  # never rising, from `first` on, throughout
    made = np.zeros(len(given), np.int64)
    for first in range(len(left)):
        positive = int(np.searchsorted(-left[first:], 0))  # how many people want links, this one included
        many = min(int(left[first]), positive - 1)
        if many <= 0:
            break
        for begin, end in _next_largest(left, first, many):
            left[begin:end] -= 1
            made[begin:end] += 1
        made[first] += many
    nearest = np.empty_like(made)
    nearest[order] = made
    return nearest


def _next_largest(left: Integers, first: int, many: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two ranges with the `many` largest after `first`: of those with equal numbers the last, so that the order stays."""
    least = left[first + many]
    begin = first + 1 + int(np.searchsorted(-left[first + 1 :], -least))
    end = first + 1 + int(np.searchsorted(-left[first + 1 :], -least, side="right"))
    return (first + 1, begin), (end - (first + 1 + many - begin), end)
