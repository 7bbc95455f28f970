"""The same reconstruction several times over: the mean share recovered, beside what theory expects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.evidence.attacks.figures import told
from tacit.evidence.attacks.reconstruction import Reconstruction


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Several reconstructions of one kind, each of other bits with other questions; `answers` says who answered.

    >>> one = Reconstruction(np.array([0.9, 0.2]), 12, np.array([True, False]), deviation=0.75)
    >>> print(Trials("exact counts", (one, one)).summary())
    12 answers about subsets of 2 people, from exact counts, solved by least squares, 2 runs:
    100.0% of the bits recovered (a coin: 50%). Theory expects 85.4%.
    """

    answers: str
    runs: tuple[Reconstruction, ...]

    @property
    def recovered(self) -> float:
        """The mean share of bits right."""
        return float(np.mean([run.recovered for run in self.runs if run.recovered is not None]))

    @property
    def predicted(self) -> float | None:
        """The share that theory predicts for one run."""
        return self.runs[0].predicted

    def summary(self) -> str:
        """The result in two sentences."""
        one = self.runs[0]
        text = (
            f"{one.questions:,} answers about subsets of {one.people:,} people, from {self.answers}, solved by {one.method}, "
            f"{len(self.runs)} run{'s' if len(self.runs) > 1 else ''}:\n{self.recovered:.1%} of the bits recovered (a coin: 50%)."
        )
        return text if self.predicted is None else f"{text} Theory expects {self.predicted:.1%}."

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        one = self.runs[0]
        shares = [run.recovered for run in self.runs]
        return told(
            people=one.people,
            questions=one.questions,
            answers=self.answers,
            method=one.method,
            runs=len(self.runs),
            recovered=self.recovered,
            predicted=self.predicted,
            shares=shares,
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """The estimates of the first run."""
        return self.runs[0].chart(path)
