"""Noise scaled to local sensitivity distinguishes two neighbours by one answer; smooth sensitivity does not, unless its scale
shows.

Nissim, Raskhodnikova and Smith (2007). Ten values in [0, top], their median the fifth: with six zeros no single change moves the
median, so that the local sensitivity is 0, and the answer exactly 0. With five zeros one change moves it to the top, and the
answer has noise of that size. Both medians are 0; an answer other than 0 proves the second. A smooth bound changes by a factor
e^beta at most between neighbours; but it does change, so that printing it (as an error bar, an axis, a rounding) proves the same
again.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import exp, inf
from pathlib import Path
from typing import Any

from tacit.evidence.attacks.figures import Axes, bars, json_figures
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.smooth.estimates import SmoothQuantile
from tacit.privacy.law import Law, hockey_stick, worst_log_ratio
from tacit.privacy.rounding import Number, exact

ZEROS = (6, 5)  # of ten values; the others are at the top


@dataclass(frozen=True, slots=True)
class LocalSensitivity:
    """How often the best guess from one answer says which of two neighbours it was, and the loss, for three ways to answer."""

    epsilon: float
    local: float
    local_loss: float
    smooth: float
    smooth_loss: float
    scales: tuple[float, float]

    @property
    def shown_scale(self) -> float:
        """How often the scale says which it was: always, where the two differ."""
        return 1.0 if self.scales[0] != self.scales[1] else 0.5

    @property
    def most_allowed(self) -> float:
        """The most that epsilon allows a guess from one answer: e^epsilon / (1 + e^epsilon)."""
        return 1 / (1 + exp(-self.epsilon))

    def summary(self) -> str:
        """The result in three sentences."""
        loss = "infinite" if self.local_loss == inf else f"{self.local_loss:.3g}"
        return (
            f"From one median with noise scaled to local sensitivity, neighbours are distinguished in {self.local:.2%} of cases "
            f"(loss {loss}). With smooth sensitivity in {self.smooth:.2%} (loss {self.smooth_loss:.3g}, claimed {self.epsilon:g}, "
            f"which allows {self.most_allowed:.2%}). The smooth scales are {self.scales[0]:.4g} and {self.scales[1]:.4g}: "
            f"published with the answer, they identify the data in {self.shown_scale:.0%}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        return json_figures(
            epsilon=self.epsilon,
            recovered=self.local,
            loss=self.local_loss,
            smooth=self.smooth,
            smooth_loss=self.smooth_loss,
            allowed=self.most_allowed,
            shown_scale=self.shown_scale,
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """How often neighbours are distinguished, by release method; the line is the most that epsilon allows."""
        shares = {"local sensitivity": self.local, "smooth sensitivity": self.smooth, "smooth, scale shown": self.shown_scale}
        rows = [{"x": name, "y": share, "series": "told apart"} for name, share in shares.items()]
        return bars(
            rows, Axes("", "distinguished by one answer", share=True), "The median of two neighbours", path, self.most_allowed
        )


def local_sensitivity(epsilon: Number = 1, top: int = 1000, step: int = 10) -> LocalSensitivity:
    """Both neighbours, answered in both ways; all figures are exact, from the laws of the answers.

    >>> found = local_sensitivity(epsilon=1, top=200)
    >>> found.local > 0.9, found.smooth <= found.most_allowed, found.local_loss, found.smooth_loss <= 1
    (True, True, inf, True)
    """
    budget = exact(epsilon, "epsilon")
    local = _local_law(0, budget, step), _local_law(top, budget, step)
    smooth = SmoothQuantile(0.5, lower=0, upper=top, step=step, epsilon=budget)
    data = [[0] * zeros + [top] * (10 - zeros) for zeros in ZEROS]
    laws = smooth.law(data[0]), smooth.law(data[1])
    scales = tuple(float(smooth.statistic(smooth.grid.rows(rows))[1] * step) for rows in data)
    return LocalSensitivity(
        float(budget), _best_guess(*local), _loss(*local), _best_guess(*laws), _loss(*laws), (scales[0], scales[1])
    )


def _local_law(sensitivity: int, epsilon: Fraction, step: int) -> Law:
    if sensitivity == 0:
        return Law({0: Decimal(1)})
    return Laplace(sensitivity=sensitivity, epsilon=epsilon, step=step, on_grid=True).law(0)


def _best_guess(one: Law, other: Law) -> float:
    """How often the best guess is right, where both are as likely: a half, and half of the statistical distance."""
    return float((1 + hockey_stick(one, other, Decimal(0)) - one.missing) / 2)


def _loss(one: Law, other: Law) -> float:
    return float(max(worst_log_ratio(one, other), worst_log_ratio(other, one)))
