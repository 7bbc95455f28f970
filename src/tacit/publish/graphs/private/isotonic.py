"""Isotonic regression: the sequence that never rises and is nearest to a given one in squares, by pooling adjacent violators."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled


@compiled
def never_rising(values: Any) -> Any:
    """The nearest sequence that never rises. A block that is below the next one is pooled with it, until none is.

    >>> never_rising(np.array([3.0, 1.0, 2.0, 0.0])).tolist()
    [3.0, 1.5, 1.5, 0.0]
    """
    count = len(values)
    means, sizes, blocks = np.empty(count), np.empty(count, np.int64), 0
    for value in values:
        means[blocks], sizes[blocks] = value, 1
        blocks += 1
        while blocks > 1 and means[blocks - 2] < means[blocks - 1]:
            size = sizes[blocks - 2] + sizes[blocks - 1]
            means[blocks - 2] = (means[blocks - 2] * sizes[blocks - 2] + means[blocks - 1] * sizes[blocks - 1]) / size
            sizes[blocks - 2] = size
            blocks -= 1
    fit, place = np.empty(count), 0
    for block in range(blocks):
        fit[place : place + sizes[block]] = means[block]
        place += sizes[block]
    return fit
