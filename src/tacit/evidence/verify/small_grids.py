"""A column of many values counted on two levels of a grid: the exact loss of both, for every person more in a small world.

An attacker sees the noisy wide cells and the noisy cells inside them, by the noise of the design that runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from tacit.accounting.composition import cost
from tacit.evidence.verify.case import Case, Exhaustive
from tacit.evidence.verify.contract import Check
from tacit.evidence.verify.small_tables import MAX_ROWS, TOLERANCE, worst_ratio
from tacit.privacy.catalog import Column, Source, Table
from tacit.privacy.rounding import as_text
from tacit.publish.synthetic.rows.cells import Axis
from tacit.publish.synthetic.rows.marginals import Design, independent_designs
from tacit.query.price.price import request

NAME = "Synthetic grid of two levels, two rows each"
POINTS = 121
PLACES = (0, 1, 60, 61, 120)  # of rows: in one cell, in one wide cell, in different ones


@dataclass(frozen=True, eq=False)
class SmallGrid:
    """A design that runs on one column, the epsilon that is claimed, and how often each level is released."""

    design: Design
    claim: Fraction
    times: int = 1

    def check(self) -> Check:
        """The largest loss over all people of at most two rows, in both directions."""
        people = [own for size in range(1, MAX_ROWS + 1) for own in combinations_with_replacement(PLACES, size)]
        worst = self.times * max(self._of_person(own, sign) for own in people for sign in (1, -1))
        said = f"one person more or less is distinguished by epsilon {worst:.4g}, where {as_text(self.claim)} is claimed"
        return Check("loss", worst <= float(self.claim) * (1 + TOLERANCE), said, worst, worst / float(self.claim))

    def _of_person(self, own: tuple[int, ...], sign: int) -> float:
        """Both levels, by the cells that this person's rows are in; other people change nothing in a sum of noise and counts."""
        (axis,) = self.design.axes
        cells = np.bincount(axis.codes(np.array(own), np.zeros(len(own), dtype=bool)), minlength=axis.size)
        levels = (np.bincount(axis.wide, weights=cells).astype(np.int64), cells)
        return sum(worst_ratio(self.design.single, int(count), sign) for level in levels for count in level[level > 0])


def _sound() -> SmallGrid:
    column = Column("age", "number", (Fraction(0), Fraction(POINTS - 1)), Fraction(1), nulls="drop")
    table = Table("small", Source("csv", "small.csv"), {"age": column}, max_rows=MAX_ROWS)
    design = independent_designs(table, [Axis.grid(column)], request(epsilon=1), "add-remove")[0]
    return SmallGrid(design, cost(design.event).epsilon or Fraction(0))


def exhaustive() -> list[Exhaustive]:
    """The design that runs at epsilon 1, for every person more."""
    return [_case(NAME, _sound())]


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    sound = _sound()
    one_level = replace(sound.design, single=replace(sound.design.single, budget=2 * sound.design.single.budget))
    yield "one-level", (NAME, _case(f"{NAME}, one level paid for (planted)", replace(sound, design=one_level)))
    yield "level-twice", (NAME, _case(f"{NAME}, each level released twice (planted)", replace(sound, times=2)))


def _case(name: str, grid: SmallGrid) -> Exhaustive:
    return Exhaustive(name, f"epsilon {as_text(grid.claim)}", grid.check)
