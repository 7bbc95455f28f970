"""Exact choice among finitely many outcomes whose weights are real numbers.

A uniform number U of [0, 1) picks the outcome between whose thresholds (cumulative weights over the total) it falls. Sixteen
bits of U index a table that settles most draws; a cell that holds a threshold takes 48 bits more; a tie with the first 64 bits
of a threshold takes more bits of both, for as long as needed. So the law is exact, see discrete.md.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.enclosure import Enclosure

CELLS = 1 << 16
UNDECIDED = -1


class Table:
    """The law that `weights(precision)` encloses: a list in a unit of its own, relative error about 2^-precision.

    >>> third = lambda precision: [(1 << precision, 1 << precision), (2 << precision, 2 << precision)]
    >>> Table(third).cells[[0, 21844, 21845, 21846]]       # 2^16 / 3 is 21845.3: that cell needs more bits
    array([ 0,  0, -1,  1], dtype=int16)
    """

    def __init__(self, weights: Callable[[int], list[Enclosure]]) -> None:
        self.weights = weights
        lows, highs = self.thresholds(64)
        self.low, self.high = np.array(lows, dtype=np.uint64), np.array(highs, dtype=np.uint64)
        first = np.arange(CELLS, dtype=np.uint64) << np.uint64(48)
        last = first | np.uint64((1 << 48) - 1)
        sure = np.searchsorted(self.high, first, side="left")
        possible = np.searchsorted(self.low, last, side="right")
        self.cells = np.where(sure == possible, sure, UNDECIDED).astype(np.int16)

    def thresholds(self, precision: int) -> tuple[list[int], list[int]]:
        """Integers at or below, and at or above, the first `precision` bits of each threshold."""
        weights = self.weights(precision + 64)
        lows, highs = list(accumulate(low for low, _ in weights)), list(accumulate(high for _, high in weights))
        below_one = (1 << precision) - 1  # every threshold is below one: the last outcome has weight
        return (
            [(low << precision) // highs[-1] for low in lows[:-1]],
            [min((high << precision) // lows[-1], below_one) for high in highs[:-1]],
        )

    def draw(self, count: int) -> NDArray[np.int16]:
        """`count` outcomes, numbered from 0 in the order of the weights."""
        first = bits.random_words(-(-count // 4)).view(np.uint16)[:count]
        outcomes: NDArray[np.int16] = self.cells.take(first)
        undecided = np.flatnonzero(outcomes == UNDECIDED)
        if undecided.size:
            outcomes[undecided] = self._search(first[undecided])
        return outcomes

    def _search(self, first: NDArray[np.uint16]) -> NDArray[np.intp]:
        more = bits.random_words(first.size)
        drawn = first.astype(np.uint64) << np.uint64(48) | more >> np.uint64(16)
        outcomes = np.searchsorted(self.low, drawn, side="right")
        ties = np.flatnonzero((outcomes > 0) & (self.high[outcomes - 1] >= drawn))
        for tie in ties:
            outcomes[tie] = self.refined(int(drawn[tie]))
        return outcomes

    def refined(self, drawn: int) -> int:
        """The outcome for a uniform number whose first 64 bits, `drawn`, tie with a threshold."""
        precision = 64
        while True:
            drawn = drawn << 64 | int(bits.random_words(1)[0])
            precision += 64
            lows, highs = self.thresholds(precision)
            sure, possible = bisect_left(highs, drawn), bisect_right(lows, drawn)
            if sure == possible:
                return sure
