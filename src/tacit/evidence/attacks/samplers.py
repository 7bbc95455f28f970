"""Two ways in which the drawing of noise gives an answer away, side by side: what floats can reach, and what the clock sees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.evidence.attacks.figures import Axes, bars, told
from tacit.evidence.attacks.floating_point import FloatingPoint, floating_point, floating_point_gaussian
from tacit.evidence.attacks.timing import Timing, timing


@dataclass(frozen=True, slots=True)
class Samplers:
    """Textbook Laplace and Gaussian noise against ours, by outputs and by time."""

    laplace: FloatingPoint
    gaussian: FloatingPoint
    clock: Timing

    @property
    def holds(self) -> bool:
        """Whether ours give nothing away by their outputs."""
        return self.laplace.ours == self.gaussian.ours == 0

    def summary(self) -> str:
        """The three results."""
        return "\n".join(part.summary() for part in (self.laplace, self.gaussian, self.clock))

    def to_dict(self) -> dict[str, Any]:
        """The textbook's share is `recovered`; `predicted` is the claim of tacit."""
        parts = {"laplace": self.laplace.to_dict(), "gaussian": self.gaussian.to_dict(), "timing": self.clock.to_dict()}
        return told(recovered=self.laplace.textbook, ours=max(self.laplace.ours, self.gaussian.ours), predicted=0, **parts)

    def chart(self, path: str | Path | None = None) -> Any:
        """The share of outputs that identify the answer, by law and by noise."""
        rows = [
            {"x": part.law, "y": share, "series": series}
            for part in (self.laplace, self.gaussian)
            for series, share in (("textbook floats", part.textbook), ("integers on a grid", part.ours))
        ]
        return bars(rows, Axes("", "outputs that identify the answer", share=True), "Noise with a fingerprint", path)


def samplers(draws: int = 1_000_000, timed: int = 10_000) -> Samplers:
    """So many outputs of each noise for each of two neighbouring answers, and so many timed draws.

    >>> found = samplers(draws=5_000, timed=500)
    >>> found.holds, found.laplace.textbook > 0.5
    (True, True)
    """
    return Samplers(floating_point(draws), floating_point_gaussian(draws), timing(timed))
