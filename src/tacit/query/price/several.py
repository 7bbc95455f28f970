"""Several quantiles of one list: draws of their own, or one tree of counts for all of them (mechanisms/tree/tree.md).

Which of the two follows from what is public: the grid, the shares of epsilon, the rows of a unit, and how many quantiles there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from tacit.mechanisms.quantile import Quantile
from tacit.mechanisms.quantile_interval import QuantileWithInterval
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.mechanisms.tree.shape import Tree, fitting
from tacit.query.price.quote import Rank

MOST_LEVELS = 5  # of a tree: a quantile that is read from more takes longer than its worst case is priced (work.md)
USUALLY = 3.0  # spreads over epsilon by which one draw misses its rank at most, 19 times of 20


def shared(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """The quantiles of a part; those of one list from a tree with all of their epsilon, where that is expected to miss by less."""
    trees: dict[int, Tree] = {}
    for place in {rank.place for rank in ranks}:
        drawn = [rank.mechanism for rank in ranks if rank.place == place]
        alike = [each for each in drawn if isinstance(each, Quantile | QuantileWithInterval)]
        if 1 < len(alike) == len(drawn) and _serves(tree := _tree(alike), alike):
            trees[place] = tree
    return tuple(replace(rank, mechanism=_of(rank.mechanism, trees[rank.place])) if rank.place in trees else rank for rank in ranks)


def _serves(tree: Tree, drawn: Sequence[Quantile | QuantileWithInterval]) -> bool:
    return tree.levels <= MOST_LEVELS and _missed_by(tree, drawn) < _missed_by(None, drawn)


def _tree(drawn: Sequence[Quantile | QuantileWithInterval]) -> Tree:
    epsilon = sum((each.epsilon for each in drawn), start=Fraction(0))
    return fitting(drawn[0].grid.points, epsilon, drawn[0].max_rows, drawn[0].neighbours)


def _of(drawn: object, tree: Tree) -> FromTree:
    if isinstance(drawn, QuantileWithInterval):
        return FromTree(drawn.q, drawn.confidence, tree)
    assert isinstance(drawn, Quantile)  # noqa: S101  # the caller has looked
    return FromTree(drawn.q, None, tree)


def _missed_by(tree: Tree | None, drawn: Sequence[Quantile | QuantileWithInterval]) -> float:
    """What is expected of all quantiles, as a logarithm: the errors, times the half widths where there are intervals.

    Each counts by its part of epsilon, which is larger where the analyst gave it more weight.
    """
    return sum(float(each.epsilon) * sum(map(math.log, _figures(tree, each))) for each in drawn)


def _figures(tree: Tree | None, drawn: Quantile | QuantileWithInterval) -> Iterable[float]:
    if isinstance(drawn, Quantile):
        usual = USUALLY * float(drawn.spread / drawn.epsilon)
        return [usual + float(abs(drawn.shift)) if tree is None else tree.error(drawn.q)]
    if tree is not None:
        width = tree.half_width(drawn.q, 1 - drawn.confidence)
        return [width, width] if drawn.extreme else [tree.error(drawn.q), width]
    aside = float(max(drawn.margins))
    if drawn.extreme:
        return [aside, aside]
    return [USUALLY * float(drawn.of_many.low.spread / drawn.of_many.epsilon), aside]
