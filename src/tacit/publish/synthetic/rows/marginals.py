"""Noisy marginals of a table within a budget: every column, then pairs of columns along a privately chosen tree.

This follows MST (McKenna, Miklau and Sheldon 2021): two fifths of the budget go to the single columns, a tenth to the choice of
pairs, half to the pairs. Everything about it (cells, noise, number of choices, price) is fixed before the data is
read. Only the choice of pairs depends on the data, and it is made with noise. Sensitivities and price: marginals.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.events import AdaptiveRounds, Batch, BoundedRangeChoice, Event
from tacit.accounting.filter import on_grid_down
from tacit.errors import InvalidInput, NoBudget
from tacit.mechanisms.farthest import Farthest
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.unseal import marginal, regrouped
from tacit.privacy.catalog import Table
from tacit.privacy.loss import Change
from tacit.privacy.rounding import sqrt_down
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.rows.cells import Axis
from tacit.publish.synthetic.rows.grids import counts_of, groups_of_grid
from tacit.publish.synthetic.rows.never import splits_of
from tacit.query.engines.engine import Engine
from tacit.query.plan import Bound, Group, Key, Moment, NumberType, Scan, Term
from tacit.query.price.price import UNIT, Request, calibrate_rho

SHARES = (Fraction(2, 5), Fraction(1, 10), Fraction(1, 2))  # for the columns, the choices and the pairs
LARGEST_DEVIATION = 2.0**40  # beyond it only noise is left, and it does not fit 64 bits
COLUMNS_TOGETHER = 7  # of two cells or more: log2 of the cells below
MOST_TOGETHER = 128  # joint cells of the columns counted in one query with as many others: a query for each pair takes longer
RARE = 3  # standard deviations of noise below which cells of a column are merged in pairs

Law = type[Laplace] | type[Gaussian]
Counts = NDArray[np.int64]
Pair = tuple[int, int]
Told = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Noise:
    """Discrete noise for one histogram in which a unit moves at most `max_rows` rows; `budget` is an epsilon, or a rho."""

    law: Law
    max_rows: int
    budget: Fraction

    def over(self, cells: int) -> Laplace | Gaussian:
        """The mechanism for a histogram of this many cells. All rows of a unit may be in one cell: l1 and l2 are both max_rows."""
        return self.law(self.max_rows, self.budget, 1, cells, True, UNIT)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in one cell, to a few digits: for weights, not for guarantees."""
        return self.over(1).deviation


@dataclass(frozen=True, slots=True)
class Plan:
    """Rounds after the columns: what may be chosen, with which weight, and the totals that all rounds together may cost.

    `steps` is the number of rounds if no budget is raised, and the most that there are. Proof: rounds.md.
    """

    law: Law
    max_rows: int
    whole: Fraction
    rho: Fraction
    steps: int
    candidates: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]

    @property
    def event(self) -> AdaptiveRounds:
        """The event that the ledger records for all rounds together."""
        return AdaptiveRounds(None if self.law.concentrated else self.whole, self.rho, Fraction(0), UNIT)


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One round as it was released: the chosen columns, their noisy counts by groups, and the budgets of choice and noise."""

    places: tuple[int, ...]
    counts: Counts
    choice: Fraction
    noise: Noise


@dataclass(frozen=True, slots=True)
class Design:
    """The plan for a table, and its price; `event` is the ledger's record.

    `pair` is None if only single columns are counted. `choice`, the epsilon of each choice of a pair, is None if there is nothing
    to choose.
    """

    table: Table
    axes: tuple[Axis, ...]
    epsilon: Fraction
    delta: Fraction
    single: Noise
    pair: Noise | None = None
    choice: Fraction | None = None
    rounds: Plan | None = None

    @property
    def event(self) -> Event:
        """The event that the ledger records for one release."""
        pairs = 0 if self.pair is None else len(self.axes) - 1
        parts: list[Event] = [self.single.over(size).event for axis in self.axes for size in axis.histograms]
        if self.choice is not None:
            parts += [BoundedRangeChoice(self.choice, UNIT)] * pairs
        if self.pair is not None:
            parts += [self.pair.over(1).event] * pairs
        if self.rounds is not None:
            parts.append(self.rounds.event)
        return Batch(tuple(parts))

    @property
    def candidates(self) -> tuple[Pair, ...]:
        """All pairs of columns, by position."""
        return () if self.pair is None else tuple(combinations(range(len(self.axes)), 2))


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Released numbers only: the noisy marginal of every column and of the chosen pairs.

    Pairs are counted in the groups of `merged`: for each column, the group of each of its cells. `groups` are given where they do
    not follow from these numbers, because the numbers are a variation of others (copies.py).
    """

    design: Design
    singles: tuple[Counts, ...]
    pairs: Mapping[Pair, Counts]
    rounds: tuple[Round, ...] = ()
    groups: tuple[Counts, ...] | None = None

    @property
    def total(self) -> float:
        """The number of rows, from the totals of all columns weighted by their precision; at least 1."""
        weights = [1 / axis.histograms[0] for axis in self.design.axes]
        return max(1.0, float(np.average([float(counts.sum()) for counts in self.counts], weights=weights)))

    @property
    def counts(self) -> tuple[Counts, ...]:
        """The rows in each cell of every column: as released, and of a grid the estimate from both of its levels."""
        deviation = self.design.single.deviation
        return tuple(
            counts_of(axis, single, deviation) if axis.width else single
            for axis, single in zip(self.design.axes, self.singles, strict=True)
        )

    @property
    def merged_groups(self) -> tuple[Counts, ...]:
        """Groups of cells: cells that are hardly more than noise share the last group; none do in a design without pairs."""
        if self.groups is not None:
            return self.groups
        if self.design.pair is None and self.design.rounds is None:
            return tuple(np.arange(axis.size) for axis in self.design.axes)
        least = RARE * self.design.single.deviation
        return tuple(
            groups_of_grid(axis, counts, least, splits_of(self.design.table, axis.column))
            if axis.width
            else groups_of(counts, least)
            for axis, counts in zip(self.design.axes, self.counts, strict=True)
        )


def groups_of(single: Counts, least: float) -> Counts:
    """The group of each cell: cells below `least` are merged, if there are two or more of them.

    >>> groups_of(np.array([50, 1, 70, -3]), least=10)
    array([0, 2, 1, 2])
    """
    rare = single < least
    if rare.sum() < 2:
        return np.arange(single.size)
    return np.where(rare, int((~rare).sum()), np.cumsum(~rare) - 1).astype(np.int64)


# --- the price ---------------------------------------------------------------------------------------------------------------


def tree_designs(table: Table, axes: Sequence[Axis], asked: Request, change: Change) -> tuple[Design, ...]:
    """The designs within a budget, the one with less noise on its pairs first; with a delta there are two."""
    if len(axes) == 1:
        return independent_designs(table, axes, asked, change)
    edges = len(axes) - 1
    chooses = edges > 1  # two columns have one pair, and nothing to choose
    single, choice, pair = SHARES if chooses else (SHARES[0], Fraction(0), 1 - SHARES[0])
    designs = []
    for law, whole in budgets_under(asked, change):
        each = on_grid_down(whole * choice / edges)
        epsilon = (on_grid_down(sqrt_down(8 * each)) if law.concentrated else each) if chooses else None
        first, second = (
            Noise(law, table.max_rows, on_grid_down(whole * single / histograms_of(axes))),
            Noise(law, table.max_rows, on_grid_down(whole * pair / edges)),
        )
        designs.append(_design(table, axes, law, asked, first, second, epsilon))
    return tuple(sorted(designs, key=lambda design: design.pair.deviation if design.pair else 0.0))


def independent_designs(
    table: Table, axes: Sequence[Axis], asked: Request, change: Change, share: Fraction = Fraction(1)
) -> tuple[Design, ...]:
    """The same for single columns: rows drawn from it have independent columns. The baseline."""
    designs = [
        _design(table, axes, law, asked, Noise(law, table.max_rows, on_grid_down(whole / histograms_of(axes))))
        for law, whole in budgets_under(asked, change, share)
    ]
    return tuple(sorted(designs, key=lambda design: design.single.deviation))


def histograms_of(axes: Sequence[Axis]) -> int:
    """How many histograms of single columns are counted: two of a grid."""
    return sum(len(axis.histograms) for axis in axes)


def budgets_under(asked: Request, change: Change, share: Fraction = Fraction(1)) -> list[tuple[Law, Fraction]]:
    """The epsilon, and the rho if a delta is given, that all parts together may have under add/remove; or a share of each.

    A share of the rho is more than the rho of a share of epsilon and delta: rhos add up, and the conversion is made once. If one
    unit changes, an epsilon under add/remove counts twice and a rho four times. Parts are rounded down to the grid of the ledger's
    sums, so that the sums do not exceed the requested budget in the last digit.
    """
    if asked.epsilon is None:
        raise NoBudget("missing budget for synthetic rows", remedy="give epsilon=1", argument="epsilon")
    factor = 2 if change == "change-one" else 1
    budgets: list[tuple[Law, Fraction]] = [(Laplace, share * asked.epsilon / factor)]
    if asked.delta:
        budgets.append((Gaussian, share * calibrate_rho(asked.epsilon, asked.delta) / factor**2))
    return budgets


def _design(table: Table, axes: Sequence[Axis], law: Law, asked: Request, single: Noise, *more: Any) -> Design:
    delta = asked.delta if law.concentrated else Fraction(0)
    if single.budget <= 0 or single.deviation > LARGEST_DEVIATION:
        raise NoBudget("the budget is too small: only noise would be left", remedy="give for example epsilon=1", argument="epsilon")
    return Design(table, tuple(axes), asked.epsilon or Fraction(0), delta, single, *more)


# --- the data ----------------------------------------------------------------------------------------------------------------


def count_marginal(table: Table, axes: Sequence[Axis], engine: Engine, merged: Sequence[Counts] | None = None) -> Sealed[Any]:
    """The exact marginal of some columns, sealed and flat; of their groups if `merged` is given."""
    nodes = [axis.cell() for axis in axes] if merged is None else [axis.cell(of) for axis, of in zip(axes, merged, strict=True)]
    keys = [Key(axis.name, Term(node, NumberType(Fraction(1)))) for axis, node in zip(axes, nodes, strict=True)]
    exact = engine.run(Group(Bound(Scan(table), table.max_rows), tuple(keys), (Moment("rows"),)))
    (moment,) = exact.moments
    assert isinstance(moment, Sealed)  # noqa: S101  # a number of rows is no list
    return moment


def count_pairs(design: Design, merged: Sequence[Counts], engine: Engine, told: Told) -> dict[Pair, Sealed[Any]]:
    """The exact marginals of all pairs of columns by their groups, sealed: sums over joint cells of several columns."""
    sizes = [int(groups.max()) + 1 for groups in merged]
    blocks = list(blocks_of(sizes))
    several = list(combinations(blocks, 2)) or [(blocks[0], [])]
    marginals: dict[Pair, Sealed[Any]] = {}
    for at, (one, other) in enumerate(several):
        told("counting pairs of columns", 0.1 + 0.8 * at / len(several))
        places = [*one, *other]
        joint = count_marginal(design.table, [design.axes[place] for place in places], engine, [merged[place] for place in places])
        shape = [sizes[place] for place in places]
        for pair in combinations(range(len(places)), 2):
            if (places[pair[0]], places[pair[1]]) not in marginals:
                marginals[places[pair[0]], places[pair[1]]] = marginal(joint, shape, pair)
    return marginals


def release_column(noise: Noise, axis: Axis, counted: Sealed[Any]) -> Counts:
    """The noisy histogram of a column; of a grid that of its wide cells first, and then that of its cells."""
    if not axis.width:
        return _as_counts(noise.over(axis.size).release_units(counted))
    wide, missing = axis.wide, [axis.histograms[0] - 1] * axis.column.nullable
    levels = [regrouped(counted, np.append(wide, missing).astype(np.int64)), counted]
    return np.concatenate(
        [_as_counts(noise.over(size).release_units(level)) for size, level in zip(axis.histograms, levels, strict=True)]
    )


def blocks_of(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Runs of adjacent positions whose sizes have a product of at most `MOST_TOGETHER`, or a single position.

    >>> list(blocks_of([2, 50, 3, 1000, 2]))
    [[0, 1], [2], [3], [4]]
    """
    block: list[int] = []
    for place in range(len(sizes)):
        if block and prod(sizes[each] for each in (*block, place)) > MOST_TOGETHER:
            yield block
            block = []
        block.append(place)
    yield block


# --- the choice of pairs -----------------------------------------------------------------------------------------------------


def measure(design: Design, engine: Engine, told: Told | None = None) -> Measured:
    """The released marginals of a design: columns first, then the pairs, chosen with the released numbers of the columns.

    Only the mechanisms see counts: columns and chosen pairs through noise, all other pairs through the choice alone.
    """
    say = told or (lambda words, share: None)
    singles = []
    for place, axis in enumerate(design.axes):
        say(f"counting {axis.name}", place / len(design.axes) / 10)
        singles.append(release_column(design.single, axis, count_marginal(design.table, [axis], engine)))
    columns = Measured(design, tuple(singles), {})
    if design.pair is None:
        return columns
    merged, pairs = columns.merged_groups, {}
    sealed = count_pairs(design, merged, engine, say)
    for pair in chosen_pairs(design, guesses(columns), sealed):
        cells = (int(merged[pair[0]].max()) + 1) * (int(merged[pair[1]].max()) + 1)
        pairs[pair] = _as_counts(design.pair.over(cells).release_units(sealed[pair]))
    return Measured(design, columns.singles, pairs)


def guesses(columns: Measured) -> dict[Pair, Counts]:
    """The pair marginals that the single columns imply under independence: integers, from released numbers only."""
    merged, total = columns.merged_groups, columns.total
    shares = [_shares(single, groups) for single, groups in zip(columns.counts, merged, strict=True)]
    return {
        (one, other): np.rint(total * np.outer(shares[one], shares[other])).astype(np.int64).ravel()
        for one, other in columns.design.candidates
    }


def chosen_pairs(design: Design, guess: Mapping[Pair, Counts], sealed: Mapping[Pair, Sealed[Any]]) -> tuple[Pair, ...]:
    """The edges of a tree over all columns, each chosen among those that join two unconnected parts."""
    part = list(range(len(design.axes)))
    tree: list[Pair] = []
    while joining := [pair for pair in design.candidates if part[pair[0]] != part[pair[1]]]:
        pair = joining[0] if len(joining) == 1 else joining[_choose_pair(design, joining, guess, sealed)]
        tree.append(pair)
        part = [part[pair[0]] if at == part[pair[1]] else at for at in part]
    return tuple(tree)


def _choose_pair(design: Design, joining: Sequence[Pair], guess: Mapping[Pair, Counts], sealed: Mapping[Pair, Sealed[Any]]) -> int:
    if design.choice is None:
        raise InvalidInput("the design has several pairs to choose from, but no budget for the choice")
    choice = Farthest([guess[pair] for pair in joining], design.table.max_rows, design.choice, UNIT)
    return choice.release([sealed[pair] for pair in joining])


def _shares(single: Counts, groups: Counts) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The share of each group, by its noisy count, or evenly if no count is above zero."""
    together = np.bincount(groups, weights=single.astype(np.float64)).clip(min=0)
    return together / together.sum() if together.sum() > 0 else np.full(together.size, 1 / together.size)


def _as_counts(units: Any) -> Counts:
    return np.atleast_1d(np.asarray(units)).astype(np.int64)
