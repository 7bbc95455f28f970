"""Both regimes on one chart: how exact d statistics of n people may be before rows are rebuilt, or members recognized.

Reconstruction (Dinur and Nissim 2003) needs more statistics than people; tracing (Dwork and others 2015) works where only averages
of a population are published. Either way the error that is still too small grows as sqrt(d) / n: the line above which both fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from tacit.evidence.attacks.answerers import Noise
from tacit.evidence.attacks.figures import Axes, lines, told
from tacit.evidence.attacks.reconstruction_curves import attempt, breaking
from tacit.evidence.attacks.tracing import tracing, tracing_noise


@dataclass(frozen=True, slots=True)
class Regimes:
    """For each number of statistics: the error, as a share, up to which each attack works; and measured success below and above.

    `below` and `above` are measured at half and at three times that error: the share of bits recovered, and of members recognized.
    """

    people: int
    statistics: tuple[int, ...]
    reconstruction: tuple[float, ...]
    tracing: tuple[float, ...]
    line: tuple[float, ...]
    below: dict[str, tuple[float, ...]]
    above: dict[str, tuple[float, ...]]

    def summary(self) -> str:
        """A line for each number of statistics."""
        shown = zip(self.statistics, self.reconstruction, self.tracing, self.line, strict=True)
        return "\n".join(
            f"{count:,} statistics of {self.people} people: rows are reconstructed below an error of {rebuilt:.3f}, "
            f"members recognized below {traced:.3f}; sqrt(d)/n is {line:.3f}"
            for count, rebuilt, traced, line in shown
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        return told(
            people=self.people,
            statistics=self.statistics,
            reconstruction=self.reconstruction,
            tracing=self.tracing,
            line=self.line,
            below=self.below,
            above=self.above,
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """Error against the number of statistics, both scales logarithmic."""
        series = {
            "95% of rows reconstructed": self.reconstruction,
            "half of members recognized": self.tracing,
            "sqrt(d)/n": self.line,
        }
        rows = [
            {"x": count, "y": error, "series": name}
            for name, errors in series.items()
            for count, error in zip(self.statistics, errors, strict=True)
            if error > 0
        ]
        axes = Axes("number of statistics, d", "error of each, as a share", logarithmic_x=True, logarithmic_y=True)
        return lines(rows, axes, f"{self.people} people: below its line, each attack works", path)


def regimes(
    people: int = 100, statistics: Sequence[int] = (200, 500, 1000, 2000, 5000), *, runs: int = 2, seed: int = 0
) -> Regimes:
    """Where each attack begins to work, by theory, with its success measured at half and at three times that error.

    >>> found = regimes(people=50, statistics=(200, 1000), runs=1)
    >>> all(error < line for error, line in zip(found.tracing, found.line))
    True
    """
    rebuilt = [breaking(people, count) / people for count in statistics]
    traced = [tracing_noise(people, count) for count in statistics]

    def measured(factor: float) -> dict[str, tuple[float, ...]]:
        shares = [
            np.mean(
                [
                    attempt(people, count, Noise("gaussian", factor * error * people), seed + run).recovered or 0
                    for run in range(runs)
                ]
            )
            for count, error in zip(statistics, rebuilt, strict=True)
        ]
        rates = [
            tracing(people, count, [factor * error], runs=runs, seed=seed).levels[0].recovered
            for count, error in zip(statistics, traced, strict=True)
        ]
        return {"reconstruction": tuple(float(share) for share in shares), "tracing": tuple(rates)}

    line = [sqrt(count) / people for count in statistics]
    return Regimes(people, tuple(statistics), tuple(rebuilt), tuple(traced), tuple(line), measured(0.5), measured(3.0))
