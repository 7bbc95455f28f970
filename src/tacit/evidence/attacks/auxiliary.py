"""Knowledge from elsewhere: "earns 10 less than the average". The average gives the salary away, in the data or not.

Dwork (2006): no useful release keeps somebody safe who is described relative to what it teaches. What can be promised is that
taking part makes no difference. So the figure is not how well the value is guessed, but how much better with the person in the
data than without: in log odds, at most epsilon; computed from the exact laws of both releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars, told
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.law import worst_log_ratio
from tacit.privacy.rounding import Number, exact

RUNS = 400


@dataclass(frozen=True, slots=True)
class Auxiliary:
    """How far the guess is off on average, with the person in the data and out of it, and what the difference is worth."""

    people: int
    epsilon: float
    bounds: tuple[int, int]
    less: int
    prior_error: float
    error_in: float
    error_out: float
    log_odds: float
    of: str = "salary"

    @property
    def holds(self) -> bool:
        """Whether the difference is at most what was claimed."""
        return self.log_odds <= self.epsilon * (1 + 1e-12)

    @property
    def known(self) -> str:
        """What the attacker knows of the person."""
        side = "above" if self.less < 0 else "below"
        return f"{abs(self.less):g} {side} the average" if self.less else "exactly average"

    def summary(self) -> str:
        """The result in three sentences."""
        low, high = self.bounds
        return (
            f"A {self.of} from {low} to {high} is guessed with an error of {self.prior_error:.3g} without the release. After a "
            f"private average of {self.people:,} people, the {self.of} of somebody who is known to be {self.known} is guessed with "
            f"an error of {self.error_in:.3g} if they are in the data and {self.error_out:.3g} if not. The harm comes from what "
            f"was known before. Being in the data moves the log odds by {self.log_odds:.4g}; the claim is at most {self.epsilon:g}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        return told(
            of=self.of,
            known=self.known,
            less=self.less,
            bounds=self.bounds,
            people=self.people,
            epsilon=self.epsilon,
            prior_error=self.prior_error,
            error_in=self.error_in,
            error_out=self.error_out,
            recovered=self.log_odds,
            predicted=self.epsilon,
            holds=self.holds,
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """The three errors."""
        known = {"without the release": self.prior_error, "person in the data": self.error_in, "person not in it": self.error_out}
        rows = [{"x": name, "y": value, "series": "error of the guess"} for name, value in known.items()]
        return bars(rows, Axes("", "error of the guess"), f"A {self.of} that is {self.known}", path)


def auxiliary(
    values: Sequence[int], bounds: tuple[int, int], epsilon: Number = 1, less: int = 10, *, of: str = "salary"
) -> Auxiliary:
    """Release the average of `values`, with and without one person who is `less` below it, and guess that person's value.

    A sum (centred between the bounds) and a count, each with half of epsilon, are divided. Noise is tacit's own.

    >>> found = auxiliary([45, 55, 60, 40, 50] * 100, bounds=(0, 200), epsilon=1)
    >>> found.holds, found.error_in < 10 > found.error_out
    (True, True)
    >>> auxiliary([66, 70, 68, 72] * 100, bounds=(48, 96), less=-2, of="height").known
    '2 above the average'
    """
    low, high = bounds
    value = round(float(np.mean(values))) - less if values else low - 1
    if min([value, *values]) < low or max([value, *values]) > high:
        raise InvalidInput(f"the values and the person's own value must lie within the bounds {low} and {high}")
    inside, outside = [*values, value], list(values)
    mechanisms, budget = _mechanisms(bounds, exact(epsilon, "epsilon")), float(exact(epsilon))
    errors = [_error(rows, bounds, mechanisms, value + less) for rows in (inside, outside)]
    prior = float(np.mean([abs(guess - value) for guess in range(low, high + 1)]))
    odds = _log_odds(inside, outside, bounds, mechanisms)
    return Auxiliary(len(outside), budget, bounds, less, prior, errors[0], errors[1], odds, of)


def _mechanisms(bounds: tuple[int, int], epsilon: Fraction) -> tuple[Laplace, Laplace]:
    half = Fraction(bounds[1] - bounds[0], 2)
    total = Laplace(sensitivity=half, epsilon=epsilon / 2, step=Fraction(1, 2), on_grid=True)
    return total, Laplace(sensitivity=1, epsilon=epsilon / 2, step=1, on_grid=True)


def _exactly(rows: Sequence[int], bounds: tuple[int, int]) -> tuple[Fraction, int]:
    middle = Fraction(sum(bounds), 2)
    return sum(rows) - middle * len(rows), len(rows)


def _error(rows: Sequence[int], bounds: tuple[int, int], mechanisms: tuple[Laplace, Laplace], average: float) -> float:
    """How far the guess (the released average, less what is known) is off: as far as the released average is."""
    (total, count), (noisy_total, noisy_count) = _exactly(rows, bounds), mechanisms
    middle = sum(bounds) / 2
    guesses = [middle + float(noisy_total.release(total)) / max(1.0, float(noisy_count.release(count))) for _ in range(RUNS)]
    return float(np.mean(np.abs(np.array(guesses) - average)))


def _log_odds(inside: Sequence[int], outside: Sequence[int], bounds: tuple[int, int], mechanisms: tuple[Laplace, Laplace]) -> float:
    """The worst loss of both releases together, in either direction: they are independent, so that their worst cases add up."""
    loss = Decimal(0)
    for mechanism, one, other in zip(mechanisms, _exactly(inside, bounds), _exactly(outside, bounds), strict=True):
        laws = mechanism.law(one), mechanism.law(other)
        loss += max(worst_log_ratio(*laws), worst_log_ratio(*reversed(laws)))
    return float(loss)
