"""Quantiles with intervals that are read from one tree of noisy counts. Proof in tree.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.events import Batch
from tacit.mechanisms.quantile.interval import Enclosed
from tacit.mechanisms.quantile.rank_blocks import Blocks
from tacit.mechanisms.sorted_rows import Grid
from tacit.mechanisms.tree.margins import margins
from tacit.mechanisms.tree.shape import Tree, each_test
from tacit.mechanisms.unseal import opened
from tacit.privacy.loss import Loss

Floats = NDArray[np.float64]
Path = tuple[int, ...]

ROUNDING = 1e-12  # of the numbers that are compared: more than what floating point loses
USUAL_MISS = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class FromTree:
    """One quantile that is read from a tree, which others may share; without `confidence`, it has no interval."""

    q: Fraction
    confidence: Fraction | None
    tree: Tree

    @property
    def event(self) -> Batch:
        """That of the whole tree, however many quantiles are read from it."""
        return self.tree.event

    @property
    def loss(self) -> Loss:
        """That of the whole tree."""
        return self.tree.loss

    @property
    def extreme(self) -> bool:
        """Whether it is a minimum or a maximum."""
        return self.q in (0, 1)


class Counts:
    """The noisy counts of the cells of a tree, each drawn when it is first read, and never again."""

    __slots__ = ("_noisy", "_rows", "noise", "tree")

    def __init__(self, tree: Tree, rows: Blocks) -> None:
        self.tree, self.noise, self._rows = tree, tree.noise, rows
        self._noisy: dict[Path, Floats] = {}

    def children(self, path: Path) -> Floats:
        """Those of the children of a cell."""
        if path not in self._noisy:
            self._noisy[path] = np.asarray(self.noise.release_each(self.exactly(path)), dtype=np.float64)
        return self._noisy[path]

    def exactly(self, path: Path) -> NDArray[np.int64]:
        """How many rows are in each child of a cell."""
        tree, values = self.tree, self._rows.edges[1:-1]
        width = tree.branches ** (tree.levels - len(path) - 1)
        first = _place(path, tree.branches) * tree.branches
        bounds = np.array([min((first + at) * width, tree.points) for at in range(tree.branches + 1)], dtype=np.int64)
        return np.diff(self._rows.through[np.searchsorted(values, bounds, side="left")])

    @property
    def total(self) -> float:
        """All rows, by the cells of the first level."""
        return float(self.children(()).sum())

    def below(self, path: Path) -> Floats:
        """How many rows are below each of the bounds between the children of a cell.

        Where the count of the cell is known by itself, too, what the children have more or less is divided evenly among them.
        """
        start, branches = 0.0, self.tree.branches
        for level, place in enumerate(path):
            start += float(self._within(path[:level])[place])
        return start + self._within(path)[1:branches]

    def _within(self, path: Path) -> Floats:
        """How many rows of a cell are below each bound of its children, its own lower bound included."""
        counts = self.children(path)
        before = np.concatenate([[0.0], np.cumsum(counts)])
        if not path:
            return before
        surplus = float(self.children(path[:-1])[path[-1]]) - before[-1]
        return np.asarray(before + np.arange(len(before)) * (surplus / (self.tree.branches + 1)))


def value(counts: Counts, share: Fraction) -> int:
    """The point where the noisy number of rows below reaches `share` of all."""
    path: Path = ()
    wanted = float(share) * max(counts.total, 0.0)
    for _ in range(counts.tree.levels):
        path = (*path, _first(counts.below(path) >= wanted))
    return _point(path, counts.tree)


def low_end(counts: Counts, share: Fraction, missed: Fraction) -> int:
    """A point that is above the quantile with a chance of at most `missed` for each level.

    On each level bounds are tested from below, up to the first that may be above the quantile.
    """
    path: Path = ()
    for _ in range(counts.tree.levels):
        path = (*path, _first(_away(counts, path, share) + float(share) + _sure(counts, path, share, missed) > 0))
    return _point(path, counts.tree)


def high_end(counts: Counts, share: Fraction, missed: Fraction) -> int:
    """A point that is below the quantile with a chance of at most `missed` for each level: tested from above."""
    path: Path = ()
    for _ in range(counts.tree.levels):
        doubtful = _away(counts, path, share) < 1 - float(share) + _sure(counts, path, share, missed)
        path = (*path, counts.tree.branches - 1 - _first(doubtful[::-1]))
    return _point(path, counts.tree)


def enclosed(counts: Counts, asked: FromTree) -> Enclosed:
    """The quantile with its interval, in offsets; an extreme is the end that is not the bound of the grid."""
    tree, top = counts.tree, counts.tree.points - 1
    missed = each_test(asked.q, USUAL_MISS if asked.confidence is None else 1 - asked.confidence, tree.levels)
    if asked.extreme:
        end = (high_end if asked.q == 0 else low_end)(counts, asked.q, missed)
        enclosure = Enclosed(end, 0, end) if asked.q == 0 else Enclosed(end, end, top)
    else:
        middle = value(counts, asked.q)
        if asked.confidence is None:
            return Enclosed(middle, 0, top)
        low, high = sorted((low_end(counts, asked.q, missed), high_end(counts, asked.q, missed)))
        enclosure = Enclosed(min(max(middle, low), high), low, high)
    return Enclosed(enclosure.value, 0, top) if asked.confidence is None else enclosure


def release_from_tree(asked: Sequence[FromTree], pair: Any) -> list[Enclosed]:
    """Quantiles of the same rows from the tree that they share, in offsets, for (offsets, counts).

    >>> tree = Tree(points=10, branches=4, levels=2, epsilon=Fraction(9999))
    >>> wanted = [FromTree(Fraction(q), Fraction(19, 20), tree) for q in ("0.2", "0.8")]
    >>> [tuple(found) for found in release_from_tree(wanted, ([3, 5], [50, 50]))]
    [(3, 3, 3), (5, 5, 5)]
    """
    tree = asked[0].tree
    grid = Grid(0, tree.points - 1, 1)
    counts = Counts(tree, Blocks.of(grid.rows_of_units(opened(pair)), tree.points))
    return [enclosed(counts, each) for each in asked]


def _away(counts: Counts, path: Path, share: Fraction) -> Floats:
    """The noisy rows below each bound, less `share` of all."""
    return counts.below(path) - float(share) * counts.total


def _sure(counts: Counts, path: Path, share: Fraction, missed: Fraction) -> Floats:
    """How far noise and rounding may have moved those."""
    moved = margins(counts.tree.branches, path, share, missed, counts.noise.scale)
    return np.asarray(moved + ROUNDING * (np.abs(counts.below(path)) + np.abs(counts.children(())).sum()))


def _first(hits: NDArray[np.bool_]) -> int:
    """The place of the first that is true; one beyond the last, if none is."""
    return int(np.argmax(np.append(hits, True)))


def _place(path: Path, branches: int) -> int:
    place = 0
    for each in path:
        place = place * branches + each
    return place


def _point(path: Path, tree: Tree) -> int:
    return min(_place(path, tree.branches), tree.points - 1)
