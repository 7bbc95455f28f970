"""The cost of many releases of one epsilon, by four theorems: basic, advanced, concentrated (zCDP) and tight.

>>> {name: round(float(total), 3) for name, total in compare_totals(0.1, 100, 1e-6).totals.items()}
{'basic': 10.0, 'advanced': 6.308, 'zCDP': 5.219, 'tight': 4.775}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.accounting.batches import advanced, concentrated, exact_pure
from tacit.errors import InvalidInput
from tacit.privacy.loss import positive_budget, probability
from tacit.privacy.rounding import Number, as_text
from tacit.release.charts import save_drawing
from tacit.release.plots import Drawing, Mark, Panel

MOST_TIMES = 10_000
POINTS = 12  # of a curve
FORMS: Mapping[str, tuple[str, Callable[[Fraction, int, Fraction], Fraction]]] = {
    "basic": ("k epsilon, with delta 0", lambda epsilon, times, _: epsilon * times),
    "advanced": (
        "epsilon sqrt(2 k ln(1/delta)) + k epsilon (e^epsilon - 1)",
        lambda epsilon, times, delta: advanced(epsilon, times, delta).epsilon,
    ),
    "zCDP": (
        "k epsilon tanh(epsilon/2) concentrated, then converted",
        lambda epsilon, times, delta: concentrated(epsilon, times, delta).epsilon,
    ),
    "tight": (
        "the least that holds for all such mechanisms",
        lambda epsilon, times, delta: exact_pure(epsilon, times, delta).epsilon,
    ),
}


@dataclass(frozen=True, slots=True)
class Totals:
    """The total epsilon of `times` releases of `epsilon` each, by theorem, rounded up; all but the basic one at `delta`."""

    epsilon: Fraction
    times: int
    delta: Fraction
    totals: Mapping[str, Fraction]

    def explanation(self) -> list[str]:
        """The totals in plain words."""
        least = min(self.totals, key=lambda name: self.totals[name])
        return [
            f"{self.times:,} releases of epsilon {as_text(self.epsilon)} each, whose number is fixed in advance, at delta "
            f"{as_text(self.delta)}:",
            *(f"  {name:9} epsilon {_up(total):>9}   {FORMS[name][0]}" for name, total in self.totals.items()),
            f"The least is {least}: {float(self.totals[least] / self.totals['basic']):.0%} of the sum.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """The same numbers as plain values."""
        named = {name: float(total) for name, total in self.totals.items()}
        return {"epsilon": as_text(self.epsilon), "times": self.times, "delta": as_text(self.delta), "totals": named}

    def drawing(self) -> Drawing:
        """The totals against the number of releases."""
        counts = sorted({max(1, self.times * at // POINTS) for at in range(1, POINTS + 1)})
        marks = tuple(
            Mark(float(count), float(form(self.epsilon, count, self.delta)), series=name)
            for name, (_, form) in FORMS.items()
            for count in counts
        )
        title = f"{self.times:,} releases of epsilon {as_text(self.epsilon)}: the total by four theorems"
        footer = (f"At delta {as_text(self.delta)}; the basic total has delta 0",)
        return Drawing("line", title, (Panel("total epsilon", marks),), "number of releases", (), footer)

    def chart(self, path: str | Path) -> Path:
        """Write the picture as .svg, .html or .png."""
        return save_drawing(self.drawing(), path)


def _up(number: Fraction) -> str:
    """Four digits after the point, rounded up: what is claimed is not below the bound."""
    return f"{-(-number * 10**4 // 1) / 10**4:.4f}"


def compare_totals(epsilon: Number, times: int, delta: Number) -> Totals:
    """The total of `times` mechanisms of pure `epsilon` at `delta`, by each theorem (accounting/batches.md)."""
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MOST_TIMES:
        raise InvalidInput(
            f"times must be a whole number from 1 to {MOST_TIMES:,}, not {times!r}; give for example times=100", argument="times"
        )
    each, rest = positive_budget(epsilon), probability(positive_budget(delta, "delta"))
    return Totals(each, times, rest, {name: form(each, times, rest) for name, (_, form) in FORMS.items()})
