"""Bounds on a probability from a count of hits: those of Clopper and Pearson, at every number of trials."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
AGAINST_US = 1e-9  # far above the error of the inverse beta function, far below any difference that is measured


def proportion_down(hits: ArrayLike, trials: ArrayLike, error: float) -> Floats:
    """A number below the probability, except with probability `error` (Clopper and Pearson 1934).

    >>> float(proportion_down(10, 10, 0.05).round(4))                 # the rule: error^(1/n)
    0.7411
    """
    from scipy.special import betaincinv

    hit, tried = _counts(hits, trials)
    low = betaincinv(np.maximum(hit, 1), tried - np.maximum(hit, 1) + 1, error)
    return np.where(hit == 0, 0.0, np.maximum(0, low * (1 - AGAINST_US)))


def proportion_up(hits: ArrayLike, trials: ArrayLike, error: float) -> Floats:
    """A number above the probability, except with probability `error` (Clopper and Pearson 1934).

    >>> float(proportion_up(0, 10, 0.05).round(4))                    # one minus the rule above
    0.2589
    """
    from scipy.special import betainccinv

    hit, tried = _counts(hits, trials)
    misses = np.maximum(tried - hit, 1)
    high = betainccinv(hit + 1, misses, error)
    return np.where(hit == tried, 1.0, np.minimum(1, high * (1 + AGAINST_US)))


def _counts(hits: ArrayLike, trials: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    return np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
