"""delta-disclosure privacy: in every group each value is about as frequent as in the whole table (Brickell and Shmatikov 2008)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import DIGITS, Number, as_text, exp_down, exp_up, float_up, log_up
from tacit.publish.tables.models.counts import Counts
from tacit.publish.tables.models.exactly import compare, integers, largest_ratio
from tacit.publish.tables.models.verdict import Figure, SensitiveModel, at_most, parameter

LARGEST_DELTA = 64  # p/q and q/p are at most the number of rows, which is below 2^63 < e^64


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveModel):
    """|ln(p/q)| < delta, strictly, for every value of the whole table in every group; a value that a group lacks gives infinity.

    e^delta is irrational for every rational delta above 0, and p/q is rational, so there is never a tie: an enclosure of e^delta
    that is narrow enough decides, and ever narrower ones are taken until one is.

    >>> from tacit.publish.tables.models.counts import counts_of
    >>> print(DeltaDisclosure(1).on(counts_of([[2, 2], [3, 1]])))
    delta-disclosure privacy, delta = 1: passes (delta above 0.405466)
    >>> print(DeltaDisclosure(1).on(counts_of([[4, 0], [1, 3]])).figure.holds)
    no delta: a group lacks a value of the table
    """

    delta: Number
    name: ClassVar[str] = "delta-disclosure privacy"

    def __post_init__(self) -> None:
        if not parameter(self.delta, "delta", 0):
            raise InvalidInput("delta must be above 0; give for example delta=1")

    @property
    def requires(self) -> str:
        """The parameter."""
        return f"delta = {as_text(parameter(self.delta, 'delta', 0))}"

    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Groups that lack a value, or in which one is too frequent or too rare."""
        inside, whole = _ratios(counts)
        delta = parameter(self.delta, "delta", 0)
        over = _at_least_exp(inside, whole, delta) | _at_least_exp(whole, inside, delta)
        failing: NDArray[np.bool_] = (counts.distinct < counts.domain) | (counts.summed(over.astype(np.int64)) > 0)
        return failing

    def figure(self, counts: Counts) -> Figure:
        """The largest |ln(p/q)|, rounded up to a float."""
        ratio = largest_disclosure(counts)
        if isinstance(ratio, float):
            return Figure(ratio, "no delta: a group lacks a value of the table")
        worst = Fraction(float_up(log_up(ratio)))
        return Figure(worst, f"delta above {at_most(worst)}")


def largest_disclosure(counts: Counts) -> Fraction | float:
    """The largest of p/q and q/p over groups and values, exactly; infinity where a group lacks a value of the table."""
    if (counts.distinct < counts.domain).any():
        return math.inf
    inside, whole = _ratios(counts)
    return max(largest_ratio(inside, whole), largest_ratio(whole, inside))


def _ratios(counts: Counts) -> tuple[NDArray[Any], NDArray[Any]]:
    """c n and C m for each triple, so that p/q is their ratio."""
    most = int(counts.sizes.max()) * counts.total
    count, size = integers(counts.count, most), integers(counts.sizes, most)
    return count * counts.total, integers(counts.totals, most)[counts.value] * size[counts.group]


def _at_least_exp(numerators: NDArray[Any], denominators: NDArray[Any], delta: Fraction) -> NDArray[np.bool_]:
    """Which ratios are e^delta or more."""
    if delta >= LARGEST_DELTA:
        return np.zeros(len(numerators), dtype=np.bool_)
    digits = DIGITS
    while True:
        over = compare(numerators, denominators, exp_up(delta, digits)) >= 0
        within = compare(numerators, denominators, exp_down(delta, digits)) <= 0
        if (over | within).all():
            return over
        digits *= 2
