"""Several synthetic copies from one set of noisy counts, and one interval from an estimate on each of them.

A copy is drawn from counts that were varied: each released count gets fresh noise of the law that it was released with. Where
nothing is assumed of the exact counts, this is what the data may have been, given what was released. So copies differ as much as
the noise left open, and a user sees it. All of it is post-processing: copies cost nothing, in any number.

    varied(measured)                   the released counts with fresh noise
    combine(estimates)                 an interval for what the estimate would be on the real rows
    combine(estimates, variances)      an interval for the population that the real rows were sampled from
    combine(..., released=estimate)    the same, less the shift that noise gives to a relation

The rule, its assumptions and its proof are in copies.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.accounting.calibrate import miss
from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number
from tacit.publish.synthetic.rows.marginals import Counts, Measured, Noise

FEWEST, MOST = 2, 100  # copies


@dataclass(frozen=True, slots=True)
class Combined:
    """An estimate over several copies with its interval.

    `between` is the variance of the estimates over the copies, `within` the mean of the given variances (0 if the estimate is about
    the real rows themselves), `degrees` those of Student's law.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    copies: int
    between: float
    within: float
    degrees: float

    @property
    def of(self) -> str:
        """The subject of the interval: the real rows, or the population that they were sampled from."""
        return "the population" if self.within else "the real rows"

    def __str__(self) -> str:
        ends = f"{self.low:.6g} to {self.high:.6g}"
        return f"{self.estimate:.6g}, {100 * self.confidence:g} % interval {ends} ({self.of}; {self.copies} copies)"


def combine(
    estimates: Sequence[float],
    variances: Sequence[float] | None = None,
    released: float | None = None,
    confidence: Number = 0.95,
) -> Combined:
    """One interval from the same estimate on each copy: Rubin 1987, with the copies as imputations of the whole table.

    Without `variances` it is for the estimate on the real rows: only the noise counts. With the squared standard errors that a
    usual program states on each copy, it is for the population behind them. `released` is the estimate on copy 0: what fresh noise
    moves on average, the noise of the release moved already, and it is taken off.

    >>> print(combine([10.2, 9.7, 10.4, 9.9, 10.3]))
    10.1, 95 % interval 9.21327 to 10.9867 (the real rows; 5 copies)
    >>> print(combine([10.2, 9.7, 10.4, 9.9, 10.3], [0.5] * 5, released=10.4))
    10.7, 95 % interval 9.16597 to 12.234 (the population; 5 copies)
    """
    from scipy.special import ndtri, stdtrit

    each = _numbers(estimates, "estimates")
    spread = np.zeros(each.size) if variances is None else _numbers(variances, "variances")
    if spread.size != each.size or (spread < 0).any():
        raise InvalidInput(
            "variances must be one for each estimate, and at least 0; square the standard errors", argument="variances"
        )
    missed, copies = float(miss(confidence)), int(each.size)
    between, within = float(each.var(ddof=1)), float(spread.mean())
    noise = (1 + 1 / copies) * between
    degrees = (copies - 1) * (1 + within / noise) ** 2 if noise > 0 else math.inf
    width = float(stdtrit(degrees, 1 - missed / 2) if math.isfinite(degrees) else ndtri(1 - missed / 2))
    mean = float(each.mean())
    middle, reach = mean if released is None else 2 * _finite(released) - mean, width * math.sqrt(within + noise)
    return Combined(middle, middle - reach, middle + reach, 1 - missed, copies, between, within, degrees)


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise InvalidInput("the estimate on copy 0 must be a finite number", argument="released")
    return float(number)


def _numbers(given: Sequence[float], name: str) -> Any:
    numbers = np.asarray(list(given), dtype=np.float64)
    if numbers.size < FEWEST or not np.isfinite(numbers).all():
        raise InvalidInput(f"{name} must be at least {FEWEST} finite numbers, one for each copy", argument=name)
    return numbers


def read_copies(number: int) -> int:
    """The requested number of copies, validated."""
    if isinstance(number, bool) or not isinstance(number, int) or not FEWEST <= number <= MOST:
        raise InvalidInput(
            f"invalid number of copies {number!r}; expected a whole number from {FEWEST} to {MOST}", argument="copies"
        )
    return number


def varied(measured: Measured) -> Measured:
    """The released counts with fresh noise on each, in the groups of cells that they were measured in."""
    design = measured.design
    pairs = {} if design.pair is None else {places: _again(counts, design.pair) for places, counts in measured.pairs.items()}
    return replace(
        measured,
        singles=tuple(_again(counts, design.single) for counts in measured.singles),
        pairs=pairs,
        rounds=tuple(replace(each, counts=_again(each.counts, each.noise)) for each in measured.rounds),
        groups=measured.merged_groups,
    )


def _again(counts: Counts, noise: Noise) -> Counts:
    return np.asarray(noise.over(1).release_each(counts)).astype(np.int64)
