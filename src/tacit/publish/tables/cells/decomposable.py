"""Sets of marginals with closed formulas: those that can be put in a tree.

A set of marginals is decomposable if they can be ordered so that each meets all earlier ones in axes of a single one of them: the
*separator* (acyclic hypergraphs: Beeri, Fagin, Maier and Yannakakis 1983). A maximal spanning tree by the number of shared axes is
such a tree if there is any, and there is one if and only if the sizes of the marginals, less those of the separators, add up to the
number of axes (Bernstein and Goodman 1981).

For those, with n_C the released count of a cell in the marginal C and n_S in the separator S, the sharp bounds of the cell are
max(0, sum of n_C - sum of n_S) and min of n_C (Dobra and Fienberg 2000). Why: marginals are added in the order of the tree; the
counts so far and the next marginal share S alone, and two margins that agree on S are the rows and columns of a two-way table for
every value of S, whose bounds are those of Fréchet. A lower bound below 0 stays at or below 0, since n_C <= n_S.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from tacit.publish.tables.cells.released import Counts, Released, marginal

Axes = tuple[int, ...]


def tree(sets: Collection[Axes]) -> list[tuple[Axes, Axes]] | None:
    """The largest marginals, each with its separator from those before it, in the order of a tree; None if no tree exists.

    >>> tree([(0, 1), (1, 2)])
    [((0, 1), ()), ((1, 2), (1,))]
    >>> tree([(0, 1), (1, 2), (0, 2)]) is None
    True
    """
    left = largest(sets)
    ordered: list[tuple[Axes, Axes]] = [(left.pop(0), ())]
    while left:
        joined = [(_shared(each, before), each) for each in left for before, _ in ordered]
        separator, each = max(joined, key=lambda pair: (len(pair[0]), [-axis for axis in pair[1]]))
        ordered.append((each, separator))
        left.remove(each)
    covered = {axis for each, _ in ordered for axis in each}
    return ordered if sum(len(each) - len(shared) for each, shared in ordered) == len(covered) else None


def largest(sets: Collection[Axes]) -> list[Axes]:
    """The sets that are in no other; the others say nothing new."""
    return sorted(each for each in set(sets) if not any(set(each) < set(other) for other in sets))


def closed_bounds(known: Released) -> tuple[Counts, Counts] | None:
    """The bounds by the formulas, or None if the marginals have none: not in a tree, an axis in none of them, or known cells."""
    ordered = tree(known.marginals)
    if ordered is None or known.known or {axis for each, _ in ordered for axis in each} != set(range(len(known.shape))):
        return None
    lower = np.zeros(known.shape, dtype=np.int64)
    upper = np.full(known.shape, known.total, dtype=np.int64)
    for place, (axes, separator) in enumerate(ordered):
        counts = known.marginals[axes]
        there = _spread(counts, axes, known.shape)
        upper = np.minimum(upper, there)
        lower += there
        if place:
            lower -= _spread(marginal(counts, [axes.index(axis) for axis in separator]), separator, known.shape)
    return np.maximum(lower, 0), upper


def _shared(one: Axes, other: Axes) -> Axes:
    return tuple(axis for axis in one if axis in other)


def _spread(counts: Counts, axes: Sequence[int], shape: Sequence[int]) -> Counts:
    """A marginal with every axis of the table, to be added to it cell by cell."""
    return counts.reshape([size if axis in axes else 1 for axis, size in enumerate(shape)])
