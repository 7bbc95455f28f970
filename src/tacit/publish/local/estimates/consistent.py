"""Shares that can be shares: none below zero, all together one. Free of charge. Proof: consistent.md."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput

Floats = NDArray[np.float64]


def onto_simplex(estimates: Any, total: float = 1.0) -> Floats:
    """The nearest numbers, in the sum of squares, that are not negative and sum to `total`.

    All estimates are moved by the same amount and what falls below zero is cut off there (Held, Wolfe and Crowder 1974; called
    Norm-Sub by Wang et al. 2020). The result is never farther from the true shares than the estimates were; it is no longer
    unbiased, and the intervals are those of the estimates.

    >>> onto_simplex([0.75, 0.5, -0.25])
    array([0.625, 0.375, 0.   ])
    """
    values = _flat(estimates)
    values = values - values.max()  # a common shift changes nothing, and so the largest is exact
    if not (np.isfinite(total) and total > 0):
        raise InvalidInput(f"total must be above 0, not {total}")
    falling = np.sort(values)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    shift = shifts[np.flatnonzero(falling > shifts)[-1]]
    kept: Floats = np.maximum(values - shift, 0.0)
    return kept * float(total / kept.sum())  # the last digits: rounding left the sum a few parts in 10^16 away


def narrow_intervals(low: Any, high: Any, total: float = 1.0) -> tuple[Floats, Floats]:
    """Simultaneous intervals, made shorter by the rule that all shares sum to `total`.

    Where all the given intervals hold, so do these. Intervals that no shares fit are returned as they are.

    >>> low, high = narrow_intervals([0.5, 0.0, 0.0], [0.9, 0.1, 0.2])
    >>> [(round(float(one), 3), round(float(other), 3)) for one, other in zip(low, high)]
    [(0.7, 0.9), (0.0, 0.1), (0.0, 0.2)]
    """
    least, most = _flat(low), _flat(high)
    if least.shape != most.shape:
        raise InvalidInput("every interval requires a low and a high end")
    slack = 1e-12 * least.size  # outward: the rounding of sums
    lowest = np.maximum(least, total - (most.sum() - most) - slack)
    highest = np.minimum(most, total - (least.sum() - least) + slack)
    return (least, most) if (lowest > highest).any() else (lowest, highest)


def _flat(numbers: Any) -> Floats:
    values = np.asarray(numbers, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise InvalidInput("estimates must be a flat list of finite numbers, at least one")
    return values
