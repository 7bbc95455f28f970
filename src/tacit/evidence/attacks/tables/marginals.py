"""Exact marginals: bounds on the cells behind them, and rows of small blocks rebuilt from them.

Bounds on hidden cells from released marginals: how far exact sums narrow down the counts behind them.

A release of marginals is called safe where every cell keeps a wide interval. Anyone who has the sums can compute the interval, the
number of tables that fit, and which cells have one possible value. The interval does not say how likely each value in it is.

Rebuilding the rows of small blocks from exact marginals, as was done to a census.

A census publishes, for each block, exact counts by sex and age, by age and race, and so on. Each table hides identities; together
they are a system of equations over whole numbers, and in a small block few sets of people solve it, often one (Garfinkel, Abowd
and Martindale 2019). Here an exact search lists the solutions of each block. Where there is one, every row of the block is
rebuilt; where there are several, the rows that all of them share are certain all the same.

Defense: noise on the counts. Then no set of people solves the system, and the best that an attacker can do is the nearest one.

The people of the demonstration are drawn from a seeded generator on purpose: they are invented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars, json_figures
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.rounding import Number
from tacit.publish.tables.cells.bounds import CellBounds, System, Track, cell_bounds
from tacit.publish.tables.cells.counting import TableCount, count_tables, tables
from tacit.publish.tables.cells.released import Contingency, Counts, Released, contingency, released
from tacit.publish.tables.table import Table

COUNTED = 10_000  # tables that fit are counted up to here
DRAWN = 40  # cells of a chart


@dataclass(frozen=True, slots=True, eq=False)
class CellAttack:
    """The disclosures of released marginals about a table; `claimed` are bounds that others have given, if any.

    With `margins_alone` the table is not known: its counts are zeros that are not shown.
    """

    table: Contingency
    sets: tuple[tuple[int, ...], ...]
    bounds: CellBounds
    fitting: TableCount
    claimed: tuple[Counts, Counts] | None = None
    margins_alone: bool = False

    @property
    def determined(self) -> list[tuple[int, ...]]:
        """The cells with people in them that have one possible value."""
        return [cell for cell in self.cells() if self.bounds.determined[cell] and self.bounds.upper[cell] > 0]

    def cells(self) -> list[tuple[int, ...]]:
        """All cells, in the order of the table."""
        return self.table.cells()

    def interval(self, cell: tuple[int, ...]) -> str:
        """The bounds of a cell, as people write them."""
        return f"[{self.bounds.lower[cell]},{self.bounds.upper[cell]}]"

    def not_sharp(self) -> list[tuple[int, ...]]:
        """The cells in which the claimed bounds are wider than need be."""
        if self.claimed is None:
            return []
        low, high = self.claimed
        return [cell for cell in self.cells() if low[cell] < self.bounds.lower[cell] or high[cell] > self.bounds.upper[cell]]

    def claimed_valid(self) -> bool:
        """Whether the claimed bounds hold for every table that fits."""
        if self.claimed is None:
            return True
        low, high = self.claimed
        return bool((low <= self.bounds.lower).all() and (high >= self.bounds.upper).all())

    def summary(self) -> str:
        """The conclusions from the marginals, in sentences."""
        sums = "; ".join(" x ".join(self.table.columns[axis] for axis in axes) or "total" for axes in self.sets)
        kind = "sharp" if self.bounds.sharp else "valid, and may not be reached"
        there = np.count_nonzero(self.bounds.upper if self.margins_alone else self.table.counts)
        what = "Cells that may have people" if self.margins_alone else "Cells with people"
        lines = [
            f"Released: {sums}. {self.fitting} tables fit. The bounds are {kind} (by {self.bounds.way}).",
            f"{what} and one possible count: {len(self.determined):,} of {there:,}.",
        ]
        if self.claimed is not None:
            worse = self.not_sharp()
            cells = ", ".join(f"{self.table.label(cell)} [{self.claimed[0][cell]},{self.claimed[1][cell]}]" for cell in worse)
            valid = "valid" if self.claimed_valid() else "not valid"
            lines.append(f"The bounds of the slide are {valid} and not sharp in {len(worse)} cells: {cells}.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The bounds of every cell as plain values."""
        cells = [
            {"cell": list(self.table.labels(cell))}
            | json_figures(low=self.bounds.lower[cell], high=self.bounds.upper[cell], determined=self.bounds.determined[cell])
            for cell in self.cells()
        ]
        figures = {
            "columns": list(self.table.columns),
            "marginals": [[self.table.columns[axis] for axis in axes] for axes in self.sets],
        }
        figures |= {"cells": cells, "tables": self.fitting.found, "all_counted": self.fitting.complete, "sharp": self.bounds.sharp}
        figures |= {"way": self.bounds.way, "determined": len(self.determined)}
        if self.claimed is not None:
            figures["slide"] = {"valid": self.claimed_valid(), "not_sharp": [self.table.label(cell) for cell in self.not_sharp()]}
        return figures

    def chart(self, path: str | Path | None = None) -> Any:
        """The interval of each cell as a bar, with the true count as a point; the widest tables show their first cells."""
        from tacit.chart import COLOURS, charting, save

        alt = charting()
        rows = [
            {"cell": self.table.label(cell), "low": int(self.bounds.lower[cell]), "high": int(self.bounds.upper[cell])}
            | ({} if self.margins_alone else {"true": int(self.table.counts[cell])})
            for cell in self.cells()[:DRAWN]
        ]
        base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y("cell:N", title=None, sort=None))
        bars = base.mark_bar(color=COLOURS[0], height=10).encode(x=alt.X("low:Q", title="count"), x2="high:Q")
        points = base.mark_point(filled=True, color=COLOURS[1], size=60).encode(x="true:Q")
        true = "" if self.margins_alone else " (bars) and the true counts (points)"
        title = alt.TitleParams(f"What the marginals leave open{true}", anchor="start")
        return save(
            (bars if self.margins_alone else bars + points).properties(title=title, width=460).configure_view(stroke=None), path
        )


def attack_cells(table: Contingency, sets: Sequence[Sequence[int]], track: Track = lambda places, _: places) -> CellAttack:
    """Bounds of every cell, and how many tables fit, from the marginals over some sets of axes."""
    release = released(table.counts, sets)
    return CellAttack(table, tuple(release.marginals), cell_bounds(release, track=track), count_tables(release, COUNTED))


def attack_margins(table: Contingency, release: Released, track: Track = lambda places, _: places) -> CellAttack:
    """The same from marginals alone, for an attacker who never saw the table."""
    bounds = cell_bounds(release, track=track)
    return CellAttack(table, tuple(release.marginals), bounds, count_tables(release, COUNTED), margins_alone=True)


def hair_and_eyes() -> CellAttack:
    """The example of the lecture: rows blond 12 and brown 18, columns brown 14 and blue 16, with the bounds of the slide.

    >>> found = hair_and_eyes()
    >>> [found.interval(cell) for cell in found.cells()], str(found.fitting)
    (['[0,12]', '[0,12]', '[2,14]', '[4,16]'], '13')
    """
    table = Contingency(("hair", "eyes"), (("blond", "brown"), ("brown", "blue")), np.array([[2, 10], [12, 6]]))
    attack = attack_cells(table, [(0,), (1,)])
    slide = np.array([[0, 0], [0, 0]]), np.array([[12, 12], [14, 16]])
    return CellAttack(table, attack.sets, attack.bounds, attack.fitting, slide)


# --- rebuilding the rows of small blocks from exact marginals, as was done to a census ---------------------------------------


COLUMNS = ("sex", "age", "race")
SHAPE = (2, 10, 5)
SETS = ((0, 1), (1, 2), (0, 2))
LISTED = 1_000  # solutions of a block that are listed
SIZES = ((1, 5), (6, 10), (11, 20), (21, 10**6))
Sets = Sequence[tuple[int, ...]]
TrackBlocks = Callable[[Iterable[Counts], int], Iterable[Counts]]


@dataclass(frozen=True, slots=True)
class Census:
    """The columns that are counted in each block, and the marginals that are released of them."""

    columns: tuple[str, ...] = COLUMNS
    sets: tuple[tuple[int, ...], ...] = SETS

    def __str__(self) -> str:
        return ", ".join(" x ".join(self.columns[axis] for axis in axes) for axes in self.sets)


CENSUS = Census()


@dataclass(frozen=True, slots=True, eq=False)
class Rebuilt:
    """The disclosure of the marginals of one block: how many sets of people fit, one of them, and the rows that all of them
    have.
    """

    solutions: TableCount
    one: Counts
    certain: Counts

    @property
    def unique(self) -> bool:
        """Whether one set of people fits, so that every row is known."""
        return self.solutions.complete and self.solutions.found == 1


def rebuild(release: Released, most: int = LISTED) -> Rebuilt:
    """All sets of people that fit, up to a limit; beyond it the certain rows are the lower bounds of integer programs.

    >>> block = np.zeros(SHAPE, dtype=np.int64)
    >>> block[0, 3, 1] = block[1, 7, 1] = 1
    >>> rebuild(released(block, SETS)).unique
    True
    """
    solutions = list(islice(tables(release), most + 1))
    if not solutions:
        raise InvalidInput("no set of people has these marginals; they must be exact, and from one block")
    if len(solutions) <= most:
        return Rebuilt(TableCount(len(solutions), True), solutions[0], np.min(solutions, axis=0))
    system = System.of(release)
    certain = np.zeros(release.size, dtype=np.int64)
    for place in np.flatnonzero(np.min(solutions, axis=0).ravel()[system.free]):
        certain[system.free[place]] = int(system.extreme(int(place))[0])
    return Rebuilt(TableCount(len(solutions), False), solutions[0], certain.reshape(release.shape))


@dataclass(frozen=True, slots=True)
class BlockFinding:
    """A block: its people, the solutions, the rows that are certain, and those that the nearest set has right under noise."""

    people: int
    solutions: TableCount
    certain: int
    wrong: int
    right_under_noise: int


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """The attack on many blocks, with exact counts and with noisy ones."""

    blocks: tuple[BlockFinding, ...]
    released: str
    epsilon: Fraction

    @property
    def people(self) -> int:
        """How many people live in the blocks."""
        return sum(block.people for block in self.blocks)

    @property
    def unique(self) -> int:
        """How many blocks are rebuilt as a whole."""
        return sum(block.solutions.complete and block.solutions.found == 1 for block in self.blocks)

    @property
    def certain(self) -> int:
        """How many rows are known for sure."""
        return sum(block.certain for block in self.blocks)

    @property
    def right_under_noise(self) -> int:
        """How many rows the nearest set of people has right if the counts are noisy; the attacker does not know which."""
        return sum(block.right_under_noise for block in self.blocks)

    def summary(self) -> str:
        """The result in sentences."""
        wrong = sum(block.wrong for block in self.blocks)
        return (
            f"{self.people:,} people in {len(self.blocks):,} blocks; released per block: exact counts by {self.released}.\n"
            f"{self.unique:,} blocks have one solution. {self.certain:,} rows ({self.certain / self.people:.0%}) are certain, "
            f"{wrong} of them wrong.\n"
            f"With noise of epsilon {float(self.epsilon):g} on the counts, the nearest set of people has "
            f"{self.right_under_noise:,} rows right ({self.right_under_noise / self.people:.0%}), and none is certain."
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values."""
        blocks = [
            {
                "people": each.people,
                "solutions": each.solutions.found,
                "all_counted": each.solutions.complete,
                "certain": each.certain,
            }
            for each in self.blocks
        ]
        figures = json_figures(people=self.people, unique=self.unique, certain=self.certain, epsilon=self.epsilon)
        return figures | {"right_under_noise": self.right_under_noise, "blocks": blocks}

    def chart(self, path: str | Path | None = None) -> Any:
        """The share of rows rebuilt, by the size of the block."""
        rows = []
        for low, high in SIZES:
            there = [block for block in self.blocks if low <= block.people <= high]
            people = sum(block.people for block in there)
            name = f"{low} to {high} people" if high < 10**6 else f"{low} people or more"
            if people:
                rows.append({"x": name, "y": sum(block.certain for block in there) / people, "series": "certain, exact counts"})
                right = sum(block.right_under_noise for block in there)
                rows.append({"x": name, "y": right / people, "series": "right (not known which), noisy counts"})
        return bars(rows, Axes("", "share of rows", share=True), "Rows rebuilt from counts by block", path)


def attack_blocks(
    blocks: Sequence[Counts], census: Census = CENSUS, epsilon: Number = 1, track: TrackBlocks = lambda blocks, _: blocks
) -> Rebuilding:
    """Attack every block with its exact marginals, and again with noise on each count.

    A person is in one cell of each marginal, so that adding or removing one changes the counts by as many as there are marginals.
    """
    noise = Laplace(sensitivity=len(census.sets), epsilon=epsilon, step=1, on_grid=True)
    findings = tuple(_attack(block, census.sets, noise) for block in track(blocks, len(blocks)))
    return Rebuilding(findings, str(census), Fraction(noise.epsilon))


def blocks_of(table: Table, block: str, columns: Sequence[str]) -> list[Counts]:
    """The people of every block, counted by the columns; all blocks have the same axes."""
    if block in columns:
        raise InvalidInput("the block column cannot be one of the counted columns; leave it out of --columns")
    return list(contingency(table, [block, *columns]).counts)


def made_blocks(many: int, seed: int = 0) -> list[Counts]:
    """Fictional blocks of 1 to 61 people, most of them small, whose races differ from block to block as neighbourhoods do."""
    draw = np.random.default_rng(seed)
    blocks = []
    for _ in range(many):
        races = draw.dirichlet([2.0, 0.8, 0.5, 0.3, 0.2])
        block = np.zeros(SHAPE, dtype=np.int64)
        for _ in range(1 + min(int(draw.exponential(14)), 60)):
            block[draw.integers(SHAPE[0]), draw.integers(SHAPE[1]), draw.choice(SHAPE[2], p=races)] += 1
        blocks.append(block)
    return blocks


def _attack(block: Counts, sets: Sets, noise: Laplace) -> BlockFinding:
    rebuilt = rebuild(released(block, sets))
    right = int(np.minimum(_nearest(block, sets, noise), block).sum())
    wrong = int(np.maximum(rebuilt.certain - block, 0).sum())
    return BlockFinding(int(block.sum()), rebuilt.solutions, int(rebuilt.certain.sum()), wrong, right)


def _nearest(block: Counts, sets: Sets, noise: Laplace) -> Counts:
    """The set of people whose marginals are nearest to noisy ones, by the sum of all differences."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack

    sums = list(released(block, sets).sums())
    noisy = np.array([float(noise.release(total)) for _, total in sums])
    matrix = np.zeros((len(sums), block.size))
    for place, (cells, _) in enumerate(sums):
        matrix[place, cells] = 1
    slack: Any = eye_array(len(sums))
    cost = np.concatenate([np.full(block.size, 1e-3), np.ones(2 * len(sums))])  # of equally near sets, the one with fewest people
    whole = np.concatenate([np.ones(block.size), np.zeros(2 * len(sums))])
    equal = LinearConstraint(hstack([csr_array(matrix), slack, -slack]).tocsr(), noisy, noisy)
    solution = milp(cost, integrality=whole, bounds=Bounds(0, np.inf), constraints=equal, options={"time_limit": 5})
    if solution.x is None:
        return np.zeros(block.shape, dtype=np.int64)
    return np.rint(solution.x[: block.size]).astype(np.int64).reshape(block.shape)
