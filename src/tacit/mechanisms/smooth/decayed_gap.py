"""The largest gap between sorted values on two sides of a place, where a gap counts less the more places it spans.

Given values going down from a place, left[0] >= left[1] >= ..., and going up from it, right[0] <= right[1] <= ..., with
left[0] <= right[0], the search finds the (d, e) that maximize

    (right[e] - left[d]) exp(-rate floor((d + e) / width)).

Among the d of one residue modulo `width` the best e falls as d grows, so halving the range of d halves that of e: n log n
operations in total, and no case is worse. Doubles choose the pair, within 2^-42 of the best; its gap and its span come back as
integers. Both facts are proved in smooth.md, "The search".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]

PART = 1 << 17  # right-hand entries treated at once: the arrays in use stay in the processor's cache
LONG = 1 << 9  # ranges of this length and more are scanned one by one
FEW = 3  # left entries: blocks with so few are not halved further
WORTHWHILE = 1 + 2.0**-44  # a block that cannot beat the best by more than this is dropped


class Gap(NamedTuple):
    """A gap of `size` units, to be multiplied by exp(-rate) `decays` times."""

    size: int
    decays: int

    def weight(self, rate: float) -> float:
        """The size of the gap, decayed at a rate."""
        return float(self.size * np.exp(-rate * self.decays))


@dataclass(frozen=True, slots=True)
class Stairs:
    """Distances from a pivot value, going one way: `gaps[k]` is reached `places[k]` places away. Neither falls."""

    places: Integers
    gaps: Integers


@dataclass(frozen=True, slots=True)
class _Board:
    """A batch of residues: blocks of left entries, each with its row of `width` columns, which are right entries."""

    blocks: Integers
    width: int
    entries: Integers | None
    steps: Integers
    decay: Doubles
    decayed: Doubles

    def entry(self, columns: Integers) -> Integers:
        """The right entries in the columns: every one has its own in each row, unless a list says otherwise."""
        return columns % self.width if self.entries is None else self.entries[columns]


class _Search:
    """One search: the best pair so far, and the blocks that may hold a better one."""

    def __init__(self, left: Stairs, right: Stairs, rate: float, width: int, start: Gap) -> None:
        self.rate, self.width, self.right = rate, width, right
        self.residues = (left.places % width if width > 1 else np.zeros(len(left.places))).astype(np.min_scalar_type(width))
        order = np.argsort(self.residues, kind="stable") if width > 1 else slice(None)
        self.residues = self.residues[order]
        self.steps, self.gaps = _quotient(left.places[order], width), left.gaps[order]
        self.best, self.weight = start, start.weight(rate)

    def run(self) -> Gap:
        for board in self._boards():
            waiting = [board.blocks]
            while waiting:
                parts = _parts(self._promising_blocks(board, waiting.pop()))
                if len(parts) > 1:
                    waiting += parts
                elif parts:
                    waiting.append(self._narrow(board, parts[0]))
        return self.best

    def _boards(self) -> Iterator[_Board]:
        starts = np.append(0, np.flatnonzero(self.residues[1:] != self.residues[:-1]) + 1)
        ends = np.append(starts[1:], len(self.residues))
        columns = min(self._span(), len(self.right.places))
        together = max(1, PART // columns)
        for first in range(0, len(starts), together):
            here = slice(first, first + together)
            residues = self.residues[starts[here]].astype(np.int64)
            edges = np.arange(len(residues) + 1) * columns
            yield self._board(np.stack([starts[here], ends[here] - 1, edges[:-1], edges[1:] - 1]), residues)

    def _span(self) -> int:
        """How many different decays a right entry can have."""
        return int(self.right.places[-1] + self.width - 1) // self.width + 1

    def _board(self, blocks: Integers, residues: Integers) -> _Board:
        """The right entries that matter for each residue, and their decays: the largest gap of each decay is enough."""
        places, gaps, span = self.right.places, self.right.gaps, self._span()
        if len(places) <= span:
            steps = _quotient(places + residues[:, None], self.width)
            decay = np.exp(steps * -self.rate)
            return _Board(blocks, len(places), None, steps.ravel(), decay.ravel(), (gaps * decay).ravel())
        steps = np.broadcast_to(np.arange(span), (len(residues), span))
        entries = _last_at(places, steps * self.width + (self.width - 1 - residues[:, None]))
        decay = np.exp(steps * -self.rate)
        return _Board(blocks, span, entries.ravel(), steps.ravel(), decay.ravel(), (gaps[entries] * decay).ravel())

    def _promising_blocks(self, board: _Board, blocks: Integers) -> Integers:
        """The blocks whose largest gap with their least decay would beat the best."""
        first, last, low, high = blocks
        decay = np.exp(self.steps[first] * -self.rate) * board.decay[low]
        hope = (self.gaps[last] + self.right.gaps[board.entry(high)]) * decay
        return blocks[:, hope > self.weight * WORTHWHILE]

    def _narrow(self, board: _Board, blocks: Integers) -> Integers:
        """The rest of the blocks after a look at some left entries: all of a small block, the middle one of a large."""
        few = blocks[1] - blocks[0] < FEW
        if few.any():
            self._settle(board, blocks[:, few])
            blocks = blocks[:, ~few]
        return self._halve(board, blocks) if blocks.size else blocks

    def _settle(self, board: _Board, blocks: Integers) -> None:
        first, last, low, high = blocks
        columns, starts, lengths = _columns(low, high)
        decay, decayed = board.decay[columns], board.decayed[columns]
        for entry in range(FEW):
            entries = np.minimum(first + entry, last)
            weights = decay * np.repeat(self.gaps[entries].astype(np.float64), lengths) + decayed
            values = np.maximum.reduceat(weights, starts)
            self._note(board, entries, values, low, high)

    def _halve(self, board: _Board, blocks: Integers) -> Integers:
        """The blocks on both sides of each middle entry: below it the best right entry is no nearer, above it no farther."""
        first, last, low, high = blocks
        middle = (first + last) >> 1
        columns, values = _best_entries(board, self.gaps[middle].astype(np.float64), low, high)
        self._note(board, middle, values, low, high)
        below = np.stack([first, middle - 1, columns, high])
        above = np.stack([middle + 1, last, low, columns])
        return np.concatenate([below, above], axis=1)

    def _note(self, board: _Board, entries: Integers, values: Doubles, low: Integers, high: Integers) -> None:
        """Keep the best of the entries, each with its best value before its own decay, if it beats what is known."""
        weights = values * np.exp(self.steps[entries] * -self.rate)
        top = int(weights.argmax())
        if weights[top] > self.weight:
            entry = int(entries[top])
            column, _ = _scan(board, float(self.gaps[entry]), int(low[top]), int(high[top]))
            size = int(self.gaps[entry]) + int(self.right.gaps[board.entry(np.array(column))])
            self.weight, self.best = float(weights[top]), Gap(size, int(self.steps[entry]) + int(board.steps[column]))


def largest_decayed_gap(left: Stairs, right: Stairs, rate: float, width: int, start: Gap) -> Gap:
    """The best pair, or `start` where no pair is better, up to a factor 1 + 2^-42.

    >>> stairs = Stairs(np.array([0, 1, 2]), np.array([0, 1, 5]))
    >>> largest_decayed_gap(stairs, stairs, 0.5, 1, Gap(0, 0))       # 5 + 0 two places away: 5/e; 5 + 5, four: 10/e^2
    Gap(size=5, decays=2)
    """
    return _Search(left, right, rate, width, start).run()


def _quotient(places: Integers, width: int) -> Integers:
    return places if width == 1 else places // width


def _last_at(places: Integers, wanted: Integers) -> Integers:
    """The last entry at or before each wanted place; where every place has its entry there is nothing to search."""
    if int(places[-1]) == len(places) - 1:
        return np.minimum(wanted, len(places) - 1)
    return np.searchsorted(places, wanted, side="right") - 1


def _parts(blocks: Integers) -> list[Integers]:
    """The blocks in groups of at most PART right entries, or of one block."""
    if blocks.shape[1] < 2:
        return [blocks] if blocks.size else []
    reached = np.cumsum(blocks[3] - blocks[2] + 1)
    cuts = np.searchsorted(reached, np.arange(PART, int(reached[-1]), PART))
    return [part for part in np.split(blocks, np.unique(cuts), axis=1) if part.size]


def _columns(low: Integers, high: Integers) -> tuple[Integers, Integers, Integers]:
    """The ranges low..high one after another, where each begins, and how long it is."""
    lengths = high - low + 1
    starts = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(low - starts, lengths), starts, lengths


def _best_entries(board: _Board, gaps: Doubles, low: Integers, high: Integers) -> tuple[Integers, Doubles]:
    """For each left gap, the column of [low, high] with the largest (gap + right gap) times decay, and that value."""
    if int((high - low).sum()) >= LONG * len(low):
        pairs = [_scan(board, *block) for block in zip(gaps.tolist(), low.tolist(), high.tolist(), strict=True)]
        return np.array([column for column, _ in pairs]), np.array([value for _, value in pairs])
    columns, starts, lengths = _columns(low, high)
    weights = board.decay[columns] * np.repeat(gaps, lengths) + board.decayed[columns]
    values = np.maximum.reduceat(weights, starts)
    hits = np.flatnonzero(weights == np.repeat(values, lengths))
    return columns[hits[np.searchsorted(hits, starts)]], values


def _scan(board: _Board, gap: float, low: int, high: int) -> tuple[int, float]:
    best = (low, -1.0)
    for start in range(low, high + 1, PART):
        part = slice(start, min(start + PART, high + 1))
        weights = board.decay[part] * gap
        weights += board.decayed[part]
        top = int(weights.argmax())
        if weights[top] > best[1]:
            best = (start + top, float(weights[top]))
    return best
