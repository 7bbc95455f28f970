"""The choice of pairs: a maximum spanning tree, edge by edge; the weight of a pair is how far its columns are from independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.mechanisms.farthest import Farthest
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.rows.marginals import Counts, Design, Measured, Pair, Told, counted, counted_pairs
from tacit.query.engines.engine import Engine
from tacit.query.price.price import UNIT


def measure(design: Design, engine: Engine, told: Told | None = None) -> Measured:
    """The released marginals of a design: columns first, then the pairs, chosen with what was released about the columns.

    Only the mechanisms see counts: columns and chosen pairs through noise, all other pairs through the choice alone.
    """
    say = told or (lambda words, share: None)
    singles = []
    for place, axis in enumerate(design.axes):
        say(f"counting {axis.name}", place / len(design.axes) / 10)
        singles.append(_released(design.single.over(axis.size).release_units(counted(design.table, [axis], engine))))
    columns = Measured(design, tuple(singles), {})
    if design.pair is None:
        return columns
    merged, pairs = columns.merged, {}
    sealed = counted_pairs(design, merged, engine, say)
    for pair in chosen_pairs(design, guesses(columns), sealed):
        cells = (int(merged[pair[0]].max()) + 1) * (int(merged[pair[1]].max()) + 1)
        pairs[pair] = _released(design.pair.over(cells).release_units(sealed[pair]))
    return Measured(design, columns.singles, pairs)


def guesses(columns: Measured) -> dict[Pair, Counts]:
    """What the single columns imply for every pair if they were independent: integers, from released numbers only."""
    merged, total = columns.merged, columns.total
    shares = [_shares(single, groups) for single, groups in zip(columns.singles, merged, strict=True)]
    return {
        (one, other): np.rint(total * np.outer(shares[one], shares[other])).astype(np.int64).ravel()
        for one, other in columns.design.candidates
    }


def chosen_pairs(design: Design, guess: Mapping[Pair, Counts], sealed: Mapping[Pair, Sealed[Any]]) -> tuple[Pair, ...]:
    """The edges of a tree over all columns, each chosen among those that join two unconnected parts."""
    part = list(range(len(design.axes)))
    tree: list[Pair] = []
    while joining := [pair for pair in design.candidates if part[pair[0]] != part[pair[1]]]:
        pair = joining[0] if len(joining) == 1 else joining[_chosen(design, joining, guess, sealed)]
        tree.append(pair)
        part = [part[pair[0]] if at == part[pair[1]] else at for at in part]
    return tuple(tree)


def _chosen(design: Design, joining: Sequence[Pair], guess: Mapping[Pair, Counts], sealed: Mapping[Pair, Sealed[Any]]) -> int:
    if design.choice is None:
        raise InvalidInput("the design has several pairs to choose from, but no budget for the choice")
    choice = Farthest([guess[pair] for pair in joining], design.table.max_rows, design.choice, UNIT)
    return choice.release([sealed[pair] for pair in joining])


def _shares(single: Counts, groups: Counts) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The share of each group, by its noisy count, or evenly if no count is above zero."""
    together = np.bincount(groups, weights=single.astype(np.float64)).clip(min=0)
    return together / together.sum() if together.sum() > 0 else np.full(together.size, 1 / together.size)


def _released(units: Any) -> Counts:
    return np.atleast_1d(np.asarray(units)).astype(np.int64)
