"""Graphs with the published numbers: each is equally likely, and an analyst measures a few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.supernodes.published import Supergraph


def sampled(made: Supergraph, seed: int = 0) -> Graph:
    """One graph, drawn uniformly among those that have the published numbers.

    In every block, distinct cells are drawn uniformly; a cell is a pair of nodes.
    """
    generator, blocks = np.random.default_rng(seed), made.blocks
    begin = np.cumsum(blocks.sizes) - blocks.sizes
    ends = [_block(generator, blocks.sizes, begin, block) for block in _blocks(made)]
    left, right = (np.concatenate([pair[side] for pair in ends] or [np.zeros(0, np.int64)]) for side in (0, 1))
    return Graph.of_edges(left, right, made.nodes)


def _blocks(made: Supergraph) -> Iterator[tuple[int, ...]]:
    blocks = made.blocks
    return zip(blocks.ones.tolist(), blocks.twos.tolist(), blocks.edges.tolist(), blocks.cells.tolist(), strict=True)


def _block(generator: Any, sizes: Integers, begin: Integers, block: tuple[int, ...]) -> tuple[Integers, Integers]:
    one, two, edges, cells = block
    drawn = generator.choice(cells, size=edges, replace=False, shuffle=False)
    if one != two:
        left, right = np.divmod(drawn, sizes[two])
    else:
        right, left = in_triangle(drawn)
    return begin[one] + left, begin[two] + right


def in_triangle(cells: Integers) -> tuple[Integers, Integers]:
    """The pairs (row, column) with row > column of cells that count the lower triangle row by row.

    >>> [pair.tolist() for pair in in_triangle(np.arange(6))]
    [[1, 2, 2, 3, 3, 3], [0, 0, 1, 0, 1, 2]]
    """
    row = ((1 + np.sqrt(8.0 * cells + 1)) / 2).astype(np.int64)
    row -= row * (row - 1) // 2 > cells
    row += (row + 1) * row // 2 <= cells
    return row, cells - row * (row - 1) // 2


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure over sampled graphs: its mean and its extremes."""

    mean: float
    low: float
    high: float


def estimated(made: Supergraph, measure: Callable[[Graph], float], draws: int = 100, seed: int = 0) -> Estimate:
    """A measure of `draws` sampled graphs."""
    values = [float(measure(sampled(made, seed + draw))) for draw in range(draws)]
    return Estimate(float(np.mean(values)), min(values), max(values))
