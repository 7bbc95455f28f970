"""The time of a draw must not tell what was drawn: rank correlation of time and magnitude.

A sampler that flips coins until one fails takes as long as its result is large; whoever sees how long an answer took sees how
much noise is in it, and takes it off again (Haeberlen, Pierce and Narayan 2011; Jin, McMurtry, Rubinstein and Ohrimenko 2022).
Noise served from a block that was drawn ahead takes the same time whatever it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.evidence.attacks.figures import Axes, bars, told

SCALE = 100
LIMIT = 0.05


@dataclass(frozen=True, slots=True)
class Timing:
    """Spearman's correlation of the time of single draws with their magnitude, for coins tossed one by one and for ours."""

    draws: int
    textbook: float
    ours_laplace: float
    ours_gaussian: float

    @property
    def ours(self) -> float:
        """The larger one, without its sign."""
        return max(abs(self.ours_laplace), abs(self.ours_gaussian))

    def summary(self) -> str:
        """The result in one sentence."""
        return (
            f"Rank correlation of time and magnitude over {self.draws:,} single draws: {self.textbook:+.2f} for a sampler that "
            f"flips coins until one fails; {self.ours_laplace:+.3f} (Laplace) and {self.ours_gaussian:+.3f} (Gaussian) for tacit."
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        return told(draws=self.draws, textbook=self.textbook, ours_laplace=self.ours_laplace, ours_gaussian=self.ours_gaussian)

    def chart(self, path: str | Path | None = None) -> Any:
        """The three correlations, saved if a path is given."""
        known = {"coin by coin": self.textbook, "ours, Laplace": self.ours_laplace, "ours, Gaussian": self.ours_gaussian}
        rows = [{"x": name, "y": abs(value), "series": "rank correlation"} for name, value in known.items()]
        return bars(rows, Axes("", "time reveals magnitude", share=True), "What timing reveals", path)


def timing(draws: int = 10_000) -> Timing:
    """Time single draws of both kinds.

    >>> found = timing(draws=2_000)
    >>> found.textbook > 0.5, found.ours < 0.2
    (True, True)
    """
    from tacit.mechanisms.noise.discrete import draw_gaussian, draw_laplace

    generator = np.random.default_rng()  # the attacked sampler; nothing is released with it
    stops = [False] * (SCALE - 1) + [True]

    def coin_by_coin() -> int:
        tossed = 0
        while not stops[int(generator.random() * SCALE)]:
            tossed += 1
        return tossed

    scale = Fraction(SCALE)
    return Timing(
        draws,
        rank_correlation(coin_by_coin, max(draws // 10, 200)),
        rank_correlation(lambda: draw_laplace(scale, 1)[0], draws),
        rank_correlation(lambda: draw_gaussian(scale, 1)[0], draws),
    )


def rank_correlation(draw: Callable[[], Any], count: int) -> float:
    """Spearman's correlation of the time that one draw takes and the magnitude of what it gives; only the draw itself is timed."""
    clock = time.perf_counter_ns
    spent, values = np.empty(count), []
    for index in range(count):
        start = clock()
        value = draw()
        spent[index] = clock() - start
        values.append(abs(int(value)))
    return spearman(spent, np.array(values, dtype=float))


def spearman(one: ArrayLike, other: ArrayLike) -> float:
    """The correlation of ranks, ties at their mean; 0 where one of the two does not vary.

    >>> spearman([1, 2, 3, 4], [10, 20, 90, 100]), spearman([1, 2], [5, 5])
    (1.0, 0.0)
    """
    from scipy.stats import rankdata

    first, second = rankdata(np.asarray(one)), rankdata(np.asarray(other))
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return round(float(np.corrcoef(first, second)[0, 1]), 12)
