"""The number of tables that fit, and the tables: a search over cells that narrows the others after every choice, in whole numbers.

After a cell is fixed, each known sum narrows its other cells: a cell is at most the rest of the sum, and at least the part of
the rest that the others cannot take. The cell with the fewest values left is tried next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tacit.publish.tables.cells.released import Counts, Released

MOST = 100_000  # tables that are counted one by one


@dataclass(frozen=True, slots=True)
class TableCount:
    """How many tables were found, and whether these are all."""

    found: int
    complete: bool

    def __str__(self) -> str:
        return f"{self.found:,}" if self.complete else f"more than {self.found - 1:,}"


def count_tables(known: Released, most: int = MOST) -> TableCount:
    """The number of tables that fit, counted up to a limit.

    >>> from tacit.publish.tables.cells.released import released
    >>> print(count_tables(released([[2, 10], [12, 6]], [(0,), (1,)])))
    13
    """
    count = sum(1 for _ in islice(tables(known), most + 1))
    return TableCount(count, count <= most)


def tables(release: Released) -> Iterator[Counts]:
    """All tables that fit, one after the other."""
    search = _Search(release)
    for cells in search.solutions([0] * release.size, [release.total] * release.size):
        yield np.array(cells, dtype=np.int64).reshape(release.shape)


class _Search:
    """The known sums, by sum and by cell."""

    def __init__(self, release: Released) -> None:
        self.sums = [([int(cell) for cell in cells], total) for cells, total in release.sums()]
        self.of_cell: list[list[int]] = [[] for _ in range(release.size)]
        for place, (cells, _) in enumerate(self.sums):
            for cell in cells:
                self.of_cell[cell].append(place)

    def solutions(self, low: list[int], high: list[int]) -> Iterator[list[int]]:
        """Every way to fix all cells within their bounds; the stack holds the bounds still to be narrowed."""
        stack = [(low, high, list(range(len(self.sums))))]
        while stack:
            low, high, touched = stack.pop()
            if not self._narrow(low, high, touched):
                continue
            loose = [cell for cell in range(len(low)) if low[cell] < high[cell]]
            if not loose:
                yield low
                continue
            cell = min(loose, key=lambda each: high[each] - low[each])
            for value in range(high[cell], low[cell] - 1, -1):
                fixed_low, fixed_high = low.copy(), high.copy()
                fixed_low[cell] = fixed_high[cell] = value
                stack.append((fixed_low, fixed_high, list(self.of_cell[cell])))

    def _narrow(self, low: list[int], high: list[int], touched: list[int]) -> bool:
        """Narrow the bounds by the touched sums until nothing changes; whether a table may still fit."""
        waiting = set(touched)
        while waiting:
            cells, total = self.sums[waiting.pop()]
            least, most = sum(low[cell] for cell in cells), sum(high[cell] for cell in cells)
            if not least <= total <= most:
                return False
            for cell in cells:
                above, below = total - least + low[cell], total - most + high[cell]
                if above < high[cell] or below > low[cell]:
                    least += max(below, low[cell]) - low[cell]
                    most -= high[cell] - min(above, high[cell])
                    high[cell], low[cell] = min(above, high[cell]), max(below, low[cell])
                    if low[cell] > high[cell]:
                        return False
                    waiting.update(self.of_cell[cell])
        return True
