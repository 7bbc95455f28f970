"""Rebuilding the rows of small blocks from exact marginals, as was done to a census.

A census publishes, for each block, exact counts by sex and age, by age and race, and so on. Each table hides who is who; together
they are a system of equations over whole numbers, and in a small block few sets of people solve it, often one (Garfinkel, Abowd
and Martindale 2019). Here an exact search lists the solutions of each block. Where there is one, every row of the block is
rebuilt; where there are several, the rows that all of them share are certain all the same.

Defense: noise on the counts. Then no set of people solves the system, and the best that an attacker can do is the nearest one.

The people of the demonstration are drawn from a seeded generator on purpose: they are nobody's.
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
from tacit.evidence.attacks.figures import Axes, bars, told
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.rounding import Number
from tacit.publish.tables.cells.contingency import contingency
from tacit.publish.tables.cells.counting import TableCount, tables
from tacit.publish.tables.cells.programs import System
from tacit.publish.tables.cells.released import Counts, Released, released
from tacit.publish.tables.table import Table

COLUMNS = ("sex", "age", "race")
SHAPE = (2, 10, 5)
SETS = ((0, 1), (1, 2), (0, 2))
LISTED = 1_000  # solutions of a block that are listed
SIZES = ((1, 5), (6, 10), (11, 20), (21, 10**6))
Sets = Sequence[tuple[int, ...]]
Track = Callable[[Iterable[Counts], int], Iterable[Counts]]


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
    """What the marginals of one block disclose: how many sets of people fit, one of them, and the rows that all of them have."""

    solutions: TableCount
    one: Counts
    certain: Counts

    @property
    def unique(self) -> bool:
        """Whether one set of people fits, so that every row is known."""
        return self.solutions.complete and self.solutions.found == 1


def rebuild(known: Released, most: int = LISTED) -> Rebuilt:
    """All sets of people that fit, up to a limit; beyond it the certain rows are the lower bounds of integer programs.

    >>> block = np.zeros(SHAPE, dtype=np.int64)
    >>> block[0, 3, 1] = block[1, 7, 1] = 1
    >>> rebuild(released(block, SETS)).unique
    True
    """
    found = list(islice(tables(known), most + 1))
    if not found:
        raise InvalidInput("no set of people has these marginals; they must be exact, and from one block")
    if len(found) <= most:
        return Rebuilt(TableCount(len(found), True), found[0], np.min(found, axis=0))
    system = System.of(known)
    certain = np.zeros(known.size, dtype=np.int64)
    for place in np.flatnonzero(np.min(found, axis=0).ravel()[system.free]):
        certain[system.free[place]] = int(system.extreme(int(place))[0])
    return Rebuilt(TableCount(len(found), False), found[0], certain.reshape(known.shape))


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
        figures = told(people=self.people, unique=self.unique, certain=self.certain, epsilon=self.epsilon)
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


def rebuilding(
    blocks: Sequence[Counts], census: Census = CENSUS, epsilon: Number = 1, track: Track = lambda blocks, _: blocks
) -> Rebuilding:
    """Attack every block with its exact marginals, and again with noise on each count.

    A person is in one cell of each marginal, so that adding or removing one changes the counts by as many as there are marginals.
    """
    noise = Laplace(sensitivity=len(census.sets), epsilon=epsilon, step=1, on_grid=True)
    found = tuple(_attack(block, census.sets, noise) for block in track(blocks, len(blocks)))
    return Rebuilding(found, str(census), Fraction(noise.epsilon))


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
    found = rebuild(released(block, sets))
    right = int(np.minimum(_nearest(block, sets, noise), block).sum())
    wrong = int(np.maximum(found.certain - block, 0).sum())
    return BlockFinding(int(block.sum()), found.solutions, int(found.certain.sum()), wrong, right)


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
    found = milp(cost, integrality=whole, bounds=Bounds(0, np.inf), constraints=equal, options={"time_limit": 5})
    if found.x is None:
        return np.zeros(block.shape, dtype=np.int64)
    return np.rint(found.x[: block.size]).astype(np.int64).reshape(block.shape)
