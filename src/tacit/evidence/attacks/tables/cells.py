"""Bounds on hidden cells from released marginals: how far exact sums narrow down the counts behind them.

A release of marginals is called safe where every cell keeps a wide interval. Whoever has the sums can compute the interval, the
number of tables that fit, and which cells have one possible value. The interval does not say how likely each value in it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.evidence.attacks.figures import told
from tacit.publish.tables.cells.bounds import CellBounds, Track, cell_bounds
from tacit.publish.tables.cells.contingency import Contingency
from tacit.publish.tables.cells.counting import TableCount, count_tables
from tacit.publish.tables.cells.released import Counts, Released, released

COUNTED = 10_000  # tables that fit are counted up to here
DRAWN = 40  # cells of a chart


@dataclass(frozen=True, slots=True, eq=False)
class CellAttack:
    """What released marginals disclose of a table; `claimed` are the bounds that somebody else gave, if any.

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
        """What follows from the marginals, in sentences."""
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
            | told(low=self.bounds.lower[cell], high=self.bounds.upper[cell], determined=self.bounds.determined[cell])
            for cell in self.cells()
        ]
        found = {
            "columns": list(self.table.columns),
            "marginals": [[self.table.columns[axis] for axis in axes] for axes in self.sets],
        }
        found |= {"cells": cells, "tables": self.fitting.found, "all_counted": self.fitting.complete, "sharp": self.bounds.sharp}
        found |= {"way": self.bounds.way, "determined": len(self.determined)}
        if self.claimed is not None:
            found["slide"] = {"valid": self.claimed_valid(), "not_sharp": [self.table.label(cell) for cell in self.not_sharp()]}
        return found

    def chart(self, path: str | Path | None = None) -> Any:
        """The interval of each cell as a bar, with the true count as a point; the widest tables show their first cells."""
        import altair as alt

        from tacit.chart import COLOURS, save

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
    known = released(table.counts, sets)
    return CellAttack(table, tuple(known.marginals), cell_bounds(known, track=track), count_tables(known, COUNTED))


def attack_margins(table: Contingency, known: Released, track: Track = lambda places, _: places) -> CellAttack:
    """The same from marginals alone, as somebody has them who never saw the table."""
    bounds = cell_bounds(known, track=track)
    return CellAttack(table, tuple(known.marginals), bounds, count_tables(known, COUNTED), margins_alone=True)


def hair_and_eyes() -> CellAttack:
    """The example of the lecture: rows blond 12 and brown 18, columns brown 14 and blue 16, with the bounds of the slide.

    >>> found = hair_and_eyes()
    >>> [found.interval(cell) for cell in found.cells()], str(found.fitting)
    (['[0,12]', '[0,12]', '[2,14]', '[4,16]'], '13')
    """
    table = Contingency(("hair", "eyes"), (("blond", "brown"), ("brown", "blue")), np.array([[2, 10], [12, 6]]))
    found = attack_cells(table, [(0,), (1,)])
    slide = np.array([[0, 0], [0, 0]]), np.array([[12, 12], [14, 16]])
    return CellAttack(table, found.sets, found.bounds, found.fitting, slide)
