"""A population of synthetic rows whose marginals are drawn towards released ones: a model without a limit on its cliques.

Every value of every row is drawn again and again, given the rest of its row, with a weight that falls with how far its cells
are above the released counts, in units of their noise (Gibbs sampling: Geman and Geman 1984). Rows settle where the counts fit
within their noise, and are otherwise as mixed as they can be: the stationary law weighs a population by exp(-distance /
temperature), which for a low temperature is the law of largest entropy among those that fit, as in graphical models (McKenna,
Sheldon and Miklau 2019).

Work and memory grow with rows, columns and measured cells, never with the cells of a clique: any set of marginals has a model.

All of it follows from released numbers and from coins: no privacy is spent here, and nothing here is part of a guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.uniform import distinct_integers

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
TEMPERATURE = 0.3  # times the median noise: a cell is off by about this share of its noise where rows have a reason to be elsewhere
FINAL = 0.1  # the same when rows are drawn: nothing is chosen any more, and rows that are too mixed are what is left of the error
AT_MOST = 100_000  # rows of a population; more rows are drawn from it
CLOSE = 0.05  # the same for copies: nearer to the counts, so that relations are less attenuated, and less mixed
LEARNING = 8_000  # rows while marginals are being chosen
WALL, WALL_PULL = 1e12, 1e-9  # a cell that no row may enter: a loss of 1000 in log-weight, beside which rows count nothing


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A released marginal: its columns, rising, its counts as shares of all rows, and the deviation of their noise, as a share."""

    places: tuple[int, ...]
    shares: Floats
    deviation: float


@dataclass(frozen=True, slots=True, eq=False)
class Barrier:
    """Columns, rising, and which of their joint cells, flat, a row may be in."""

    places: tuple[int, ...]
    possible: NDArray[np.bool_]


class Population:
    """Rows of groups of cells, the targets that they settle on, and the cells that none of them enters."""

    def __init__(self, columns: Sequence[Floats], number: int, seed: int | None = None) -> None:
        """`number` rows whose columns are independent and have the given shares."""
        first = int(bits.random_words(1)[0]) if seed is None else seed
        self.sizes = np.array([shares.size for shares in columns], dtype=np.int64)
        self.rows = np.stack([spread_evenly(shares, number) for shares in columns], axis=1)
        self.targets: list[Target] = []
        self.barriers: tuple[Barrier, ...] = ()
        self.temperature = TEMPERATURE
        self.moving = len(columns)  # the first columns, which are drawn anew; others stay as they are
        self._state = np.array([first], dtype=np.uint64)

    @property
    def number(self) -> int:
        """How many rows it has."""
        return int(self.rows.shape[0])

    def histogram(self, places: Sequence[int]) -> Floats:
        """The share of the rows in each joint cell of some columns, flat."""
        flat = np.zeros(self.number, dtype=np.int64)
        for place in places:
            flat = flat * self.sizes[place] + self.rows[:, place]
        return np.bincount(flat, minlength=int(np.prod(self.sizes[list(places)]))) / max(1, self.number)

    def keep_out(self, barriers: Sequence[Barrier], columns: Sequence[Floats]) -> None:
        """From now on no row is in an impossible cell; those that are get possible ones, by the shares of independent columns."""
        self.barriers = tuple(barriers)
        for barrier in barriers:
            sizes = [int(self.sizes[place]) for place in barrier.places]
            flat = np.ravel_multi_index(tuple(self.rows[:, place] for place in barrier.places), sizes)
            wrong = np.flatnonzero(~barrier.possible[flat])
            allowed = np.flatnonzero(barrier.possible)
            cells = np.unravel_index(allowed, sizes)
            weights = np.ones(allowed.size)
            for place, cell in zip(barrier.places, cells, strict=True):
                weights *= (columns[place].clip(min=0) / max(columns[place].clip(min=0).sum(), 1e-9) + 1e-12)[cell]
            drawn = spread_evenly(weights, wrong.size)
            for place, cell in zip(barrier.places, cells, strict=True):
                self.rows[wrong, place] = cell[drawn]

    def settle(self, sweeps: int) -> None:
        """Draw every value `sweeps` times, towards all targets; columns that barriers tie together also change together."""
        from tacit.publish.synthetic.rows.steps import exchange, sweep

        if not self.targets:
            return
        listed: list[tuple[int, ...]] = [
            *(target.places for target in self.targets),
            *(barrier.places for barrier in self.barriers),
        ]
        excess = [(self.histogram(target.places) - target.shares) * self.number for target in self.targets]
        excess += [np.where(barrier.possible, 0.0, WALL) for barrier in self.barriers]
        begins = np.cumsum([0, *(each.size for each in excess[:-1])])
        steps = np.zeros((len(listed), self.sizes.size), dtype=np.int64)
        for at, places in enumerate(listed):
            steps[at, list(places)] = strides([int(self.sizes[place]) for place in places])
        touching = padded([[at for at, places in enumerate(listed) if place in places] for place in range(self.moving)])
        pull, flat, members = (
            np.append(self._pull(), np.full(len(self.barriers), WALL_PULL)),
            np.concatenate(excess),
            padded(listed),
        )
        blocks = [np.array(barrier.places) for barrier in self.barriers if len(barrier.places) > 1]
        met = [np.array([at for at, places in enumerate(listed) if set(places) & set(block.tolist())]) for block in blocks]
        for _ in range(sweeps):
            sweep(self.rows, self.sizes, flat, pull, begins, members, steps, touching, self._state)
            for block, marginals in zip(blocks, met, strict=True):
                exchange(self.rows, block, marginals, flat, pull, begins, members, steps, self._state)

    def _pull(self) -> Floats:
        """The loss of log-weight for one row too many in a cell, for each target: by the square of its noise."""
        deviations = np.array([max(target.deviation * self.number, 0.25) for target in self.targets])
        several = [at for at, target in enumerate(self.targets) if len(target.places) > 1]
        typical = float(np.median(deviations[several] if several else deviations))
        return np.asarray(typical / (self.temperature * deviations**2))

    def resized(self, number: int) -> Population:
        """The same with another number of rows: copies of all of them, and of a random selection."""
        other = Population.__new__(Population)
        other.sizes, other.targets, other.barriers, other._state = self.sizes, self.targets, self.barriers, self._state
        other.temperature, other.moving = self.temperature, self.moving
        other.rows = self.rows[repeated(self.number, number)]
        return other


def strides(sizes: Sequence[int]) -> list[int]:
    """How far apart neighbouring values of each column are in the flat array of their joint cells.

    >>> strides([2, 3, 5])
    [15, 5, 1]
    """
    return [int(np.prod(sizes[at + 1 :], dtype=np.int64)) for at in range(len(sizes))]


def padded(lists: Sequence[Sequence[int]]) -> Counts:
    """The lists as rows, with -1 after their ends.

    >>> padded([[3], [1, 2]]).tolist()
    [[3, -1], [1, 2]]
    """
    longest = max((len(each) for each in lists), default=0)
    return np.array([[*each, *[-1] * (longest - len(each))] for each in lists], dtype=np.int64).reshape(len(lists), longest)


def spread_evenly(shares: Floats, number: int) -> Counts:
    """`number` values in random order, each as often as its share requires, up to rounding; shares below 0 count nothing."""
    positive = shares.clip(min=0)
    ends = np.cumsum(positive if positive.sum() > 0 else np.ones_like(shares))
    begin = float(bits.random_words(1)[0] >> np.uint64(36)) * 2.0**-28
    counts = np.diff(np.floor(ends / ends[-1] * number + begin), prepend=0).astype(np.int64)
    return np.repeat(np.arange(counts.size), counts)[distinct_integers(number, number)]


def repeated(there: int, number: int) -> Counts:
    """Positions of `number` rows out of `there`: each equally often, up to one."""
    whole, rest = divmod(number, there)
    return np.concatenate([np.tile(np.arange(there), whole), distinct_integers(there, rest)]).astype(np.int64)


def require_numba() -> None:
    """Refuse, before anything is spent, if the compiler for the loop is not installed."""
    import_of: Any = __import__("importlib").import_module
    import_of("tacit.publish.synthetic.rows.steps")
