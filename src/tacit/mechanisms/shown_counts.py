"""The number of units in a group that a threshold has shown: an interval that holds given that it is shown. Proof in selection.md.

A group near the threshold is shown because its noise was high, so the usual interval around its noisy count misses far too often.
The ends here come from the law of the count *given that it reached the threshold*, for whatever number of units is true.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.noise.grid import add_units, read_units

Floats = NDArray[np.float64]
Integers = NDArray[Any]
SLACK = 1e-6  # of a noise scale, by which ends are moved outward before they are rounded: doubles are off by less than 1e-7 of it


def ends_of_shown(counts: Any, threshold: int, scale: Fraction, missed: Fraction) -> tuple[Integers, Integers]:
    """Between which numbers the units of groups lie whose noisy `counts` reached `threshold`; each misses with at most `missed`.

    >>> low, high = ends_of_shown([16, 40], threshold=15, scale=Fraction(2), missed=Fraction(1, 20))
    >>> low.tolist(), high.tolist()
    ([1, 34], [21, 46])
    """
    shown = np.asarray(read_units(counts))
    above = np.asarray(add_units(shown, np.full(shown.shape, -threshold)), dtype=np.float64)
    width, log_missed = float(scale), math.log(missed / 2)
    low = add_units(shown, -_whole(_below(above, width, log_missed)))
    unknown = above + width * log_missed < SLACK * width  # as likely with a single unit as with `threshold` of them
    return np.where(unknown, 1, low), np.asarray(add_units(shown, _whole(_above(above, width, log_missed))))


def _below(above: Floats, width: float, log_missed: float) -> Floats:
    """The largest d with Pr[Y >= y] / Pr[Y >= threshold] > missed / 2 for y - d units: a root of a quadratic in e^(-d / scale)."""
    ratio, beyond = math.exp(-1 / width), np.maximum(above + width * log_missed, 0)
    root = np.sqrt(math.expm1(-1 / width) ** 2 - 4 * ratio * np.expm1(-beyond / width))
    distance = -width * (log_missed + np.log((1 + ratio + root) / 2))
    return np.minimum(np.floor(distance + SLACK * width), above)


def _above(above: Floats, width: float, log_missed: float) -> Floats:
    """The largest e with Pr[threshold <= Y <= y] / Pr[Y >= threshold] > missed / 2 for y + e units; at least 0."""
    ratio, tail = math.exp(-1 / width), np.exp(-(above + 1) / width)
    likely = -np.expm1(-(above + 1) / width) + math.exp(log_missed) * tail
    distance = width * (np.log(likely) - log_missed - math.log1p(ratio))
    return np.maximum(np.floor(distance + SLACK * width), 0)


def _whole(numbers: Floats) -> Integers:
    return np.asarray(read_units([int(number) for number in numbers.tolist()]))
