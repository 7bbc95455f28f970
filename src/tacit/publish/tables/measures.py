"""The loss of a generalized table: seven measures, each better when smaller.

How much a generalized table has lost: seven measures, each a loss that is better when smaller.

    discernibility   sum of the squared group sizes, and n for each suppressed row (Bayardo and Agrawal 2005), over n^2
    average          rows per published group, over k (LeFevre, DeWitt and Ramakrishnan 2006)
    precision        mean of level / highest level over cells: 1 less the precision of Sweeney 2002
    ncp              mean over cells of (values that a form stands for - 1) / (all values - 1): normalized certainty penalty
    entropy          mean over cells of -log2 P(value | form), over the entropy of the column: non-uniform entropy
    kl               Kullback-Leibler divergence from the table to rows spread evenly in their boxes, in bits
    queries          median relative error of range counts, answered as if rows were spread evenly in their boxes

A suppressed row loses all there is to lose: its forms stand for everything. Every measure but `queries` has a bound, which is the
loss of the same node without suppression. It is at most the loss, and never falls from a node to one above it, so a search may pass
over all nodes above one whose bound is already too large. For the first five this holds term by term. For `kl`, spreading mass
over larger boxes is a conditional mean, and the divergence to it grows by Jensen's inequality.

Range counts over two columns, asked of a generalized table as if the rows of a form were spread evenly over its values.

The ranges are always the same for a lattice: pairs of columns in turn, and ends from a sequence that fills the plane evenly.
Suppressed rows are taken as spread over all values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, combinations_with_replacement

import numpy as np

from tacit.publish.tables.conditions import Floats, Truths
from tacit.publish.tables.grouping import Integers, sum_by_place
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.lattice import Lattice, Rolled
from tacit.publish.tables.table import Codes, natural_order

QUERIES = 200
WIDTH = 0.4  # of a column's values in a range
FLOOR = 0.001  # of the rows: relative errors of smaller counts are taken of this
EVEN = (0.7548776662466927, 0.5698402909980532)  # 1/p and 1/p^2 of the plastic number p


@dataclass(frozen=True, eq=False)
class RangeQueries:
    """The queries on a lattice, and the error of a node."""

    lattice: Lattice
    _shares: dict[tuple[int, int, int], Floats] = field(default_factory=dict)

    @cached_property
    def numbers_by_pair(self) -> dict[tuple[int, int], Integers]:
        """For each pair of columns the numbers of the queries on it."""
        columns = range(len(self.lattice.quasi))
        pairs = list(combinations(columns, 2)) or list(combinations_with_replacement(columns, 2))
        return {pair: np.arange(place, QUERIES, len(pairs)) for place, pair in enumerate(pairs)}

    def in_range(self, column: int, numbers: Integers) -> Floats:
        """For each leaf of a column's hierarchy (rows) and query, whether it lies in the range: 1 or 0."""
        leaves = self.lattice.hierarchies[self.lattice.quasi[column]].leaves
        width = max(1, round(WIDTH * len(leaves)))
        even = np.modf((numbers + 1) * EVEN[column % 2] + column * 0.1)[0]
        begin = np.floor(even * (len(leaves) - width + 1)).astype(np.int64)
        ranks = np.empty(len(leaves), dtype=np.int64)
        ranks[natural_order(leaves)] = np.arange(len(leaves))
        return np.asarray((ranks[:, None] >= begin) & (ranks[:, None] < begin + width), dtype=np.float64)

    def shares(self, column: int, level: int, numbers: Integers) -> Floats:
        """For each form of a level (rows) and query, the share of its leaves in the range."""
        key = (column, level, int(numbers[0]))
        if key not in self._shares:
            self._shares[key] = self._leaf_shares(column, level, numbers)
        return self._shares[key]

    def _leaf_shares(self, column: int, level: int, numbers: Integers) -> Floats:
        hierarchy = self.lattice.hierarchies[self.lattice.quasi[column]]
        inside = np.zeros((len(hierarchy.forms[level]), len(numbers)))
        np.add.at(inside, hierarchy.levels[level], self.in_range(column, numbers))
        return np.asarray(inside / hierarchy.leaf_counts[level][:, None])

    @cached_property
    def truth(self) -> Floats:
        """The true count of each query."""
        everything = np.ones(len(self.lattice.tuples), dtype=np.bool_)
        return self._answers(self.lattice.bottom, everything)

    def error(self, rolled: Rolled, published: Truths) -> float:
        """The median relative error of a node."""
        floor = FLOOR * self.lattice.table.rows
        return float(np.median(np.abs(self._answers(rolled, published) - self.truth) / np.maximum(self.truth, floor)))

    def _answers(self, rolled: Rolled, published: Truths) -> Floats:
        answers = np.zeros(QUERIES)
        kept, gone = rolled.sizes * published, float((rolled.sizes * ~published).sum())
        forms = [self._forms(rolled, column) for column in range(len(self.lattice.quasi))]
        for (one, other), numbers in self.numbers_by_pair.items():
            left, right = (self.shares(column, rolled.node[column], numbers) for column in (one, other))
            joint = sum_by_place(forms[one] * len(right) + forms[other], kept, len(left) * len(right)).reshape(
                len(left), len(right)
            )
            if one == other:  # a single quasi-identifier: a range of it alone
                answers[numbers] = np.diag(joint) @ left
            else:
                answers[numbers] = ((left.T @ joint) * right.T).sum(axis=1)
            if gone:
                both = self.in_range(one, numbers).mean(axis=0)
                answers[numbers] += gone * (both if one == other else both * self.in_range(other, numbers).mean(axis=0))
        return answers

    def _forms(self, rolled: Rolled, column: int) -> Integers:
        """The form of each group in one column."""
        codes = self.lattice.table[self.lattice.quasi[column]].codes[self.lattice.tuples.first[rolled.tuples]]
        return self.lattice.above[column][rolled.node[column]][codes].astype(np.int64)


# --- how much a generalized table has lost -----------------------------------------------------------------------------------


CELLWISE = ("precision", "ncp", "entropy")
FREE = ("queries",)  # no bound is known


@dataclass(frozen=True, eq=False)
class Losses:
    """The losses of the nodes of one lattice; `k` is that of `average`, and `weights` are those of the columns."""

    lattice: Lattice
    k: int = 1
    weights: Mapping[str, float] | None = None

    def loss(self, measure: str, rolled: Rolled, published: Truths) -> float:
        """The loss of a node whose other groups are suppressed."""
        return MEASURES[measure](self, rolled, published)

    def bounds(self, measure: str) -> Floats:
        """For every node a lower bound of its loss that needs no counting of groups, in the shape of the lattice."""
        shape = self.lattice.shape
        total = np.zeros(shape)
        if measure in CELLWISE:
            for place, losses in enumerate(self._means(measure)):
                spread = [len(losses) if at == place else 1 for at in range(len(shape))]
                total = total + (self.share[place] * losses).reshape(spread)
        return total

    @cached_property
    def share(self) -> Floats:
        """The weight of each quasi-identifier, of 1 in total."""
        given = np.array([1.0 if self.weights is None else float(self.weights.get(name, 1.0)) for name in self.lattice.quasi])
        return np.asarray(given / given.sum())

    @cached_property
    def queries(self) -> RangeQueries:
        """The range counts that measure the error."""
        return RangeQueries(self.lattice)

    @cached_property
    def _cells(self) -> dict[str, list[list[Floats]]]:
        """For each measure of cells, column and level, the loss at each value; after the last level, that of a suppressed cell."""
        return {measure: [self._column(measure, place) for place in range(len(self.lattice.quasi))] for measure in CELLWISE}

    def _column(self, measure: str, place: int) -> list[Floats]:
        name = self.lattice.quasi[place]
        hierarchy, counts = self.lattice.hierarchies[name], self.lattice.table[name].counts()
        losses_of_levels = [
            CELLS[measure](hierarchy, level, codes, counts) for level, codes in enumerate(self.lattice.above[place])
        ]
        return [*losses_of_levels, CELLS[measure](hierarchy, -1, np.zeros(len(counts), dtype=np.int32), counts)]

    def _means(self, measure: str) -> list[Floats]:
        rows = self.lattice.table.rows
        counts = [self.lattice.table[name].counts() for name in self.lattice.quasi]
        pairs = zip(counts, self._cells[measure], strict=True)
        return [np.array([(count * loss).sum() / rows for loss in losses[:-1]]) for count, losses in pairs]

    def cellwise(self, measure: str, rolled: Rolled, published: Truths) -> float:
        """A mean over cells; the cells of suppressed rows count like those of the coarsest form."""
        mean_loss = float(self.bounds(measure)[rolled.node])
        if published.all():
            return mean_loss
        groups = self.lattice.of_tuples(rolled.node)
        gone = np.flatnonzero(~published[groups.of_row])
        rows = self.lattice.bottom.sizes[gone]
        first = self.lattice.tuples.first[gone]
        for place, (name, level) in enumerate(zip(self.lattice.quasi, rolled.node, strict=True)):
            codes, losses = self.lattice.table[name].codes[first], self._cells[measure][place]
            mean_loss += (
                float(self.share[place]) * float((rows * (losses[-1] - losses[level])[codes]).sum()) / self.lattice.table.rows
            )
        return mean_loss


def _precision(hierarchy: Hierarchy, level: int, codes: Codes, counts: Integers) -> Floats:
    return np.full(len(codes), 1.0 if level < 0 else level / max(hierarchy.height, 1))


def _ncp(hierarchy: Hierarchy, level: int, codes: Codes, counts: Integers) -> Floats:
    leaves = len(hierarchy.leaves)
    below = np.full(len(codes), leaves) if level < 0 else hierarchy.leaf_counts[level][codes]
    return np.asarray((below - 1) / max(leaves - 1, 1))


def _entropy(hierarchy: Hierarchy, level: int, codes: Codes, counts: Integers) -> Floats:
    """The information on the value of a row that its form does not give, over that of the column."""
    there = np.maximum(counts, 1)  # a value that does not occur has no rows that lose
    together = np.maximum(np.bincount(codes, weights=counts)[codes], 1)
    whole = float((counts * np.log2(counts.sum() / there)).sum()) / float(counts.sum())
    lost = np.log2(together / there)
    return np.asarray(lost / whole if whole > 0 else lost)


CELLS: dict[str, Callable[[Hierarchy, int, Codes, Integers], Floats]] = {
    "precision": _precision,
    "ncp": _ncp,
    "entropy": _entropy,
}


def _discernibility(losses: Losses, rolled: Rolled, published: Truths) -> float:
    rows = losses.lattice.table.rows
    kept = rolled.sizes[published].astype(np.float64)
    return (float((kept**2).sum()) + rows * float(rows - kept.sum())) / rows**2


def _average(losses: Losses, rolled: Rolled, published: Truths) -> float:
    groups = int(published.sum())
    return losses.lattice.table.rows / groups / losses.k if groups else float("inf")


def _divergence(losses: Losses, rolled: Rolled, published: Truths) -> float:
    """Of rows that are alike, the mean of log2 of (rows here * volume / rows of the group)."""
    lattice = losses.lattice
    first = lattice.tuples.first[rolled.tuples]
    volumes, whole = np.zeros(len(rolled)), 0.0
    for place, (name, level) in enumerate(zip(lattice.quasi, rolled.node, strict=True)):
        below = lattice.hierarchies[name].leaf_counts[level][lattice.above[place][level]]
        volumes += np.log2(below[lattice.table[name].codes[first]])
        whole += float(np.log2(len(lattice.hierarchies[name].leaves)))
    volumes[~published] = whole
    here = lattice.bottom.sizes
    entropy = float((here * np.log2(here)).sum())
    return (entropy + float((rolled.sizes * (volumes - np.log2(rolled.sizes))).sum())) / lattice.table.rows


def _queries(losses: Losses, rolled: Rolled, published: Truths) -> float:
    return losses.queries.error(rolled, published)


MEASURES: dict[str, Callable[[Losses, Rolled, Truths], float]] = {
    "discernibility": _discernibility,
    "average": _average,
    "precision": lambda losses, rolled, published: losses.cellwise("precision", rolled, published),
    "ncp": lambda losses, rolled, published: losses.cellwise("ncp", rolled, published),
    "entropy": lambda losses, rolled, published: losses.cellwise("entropy", rolled, published),
    "kl": _divergence,
    "queries": _queries,
}
