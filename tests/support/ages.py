"""Many releases of the ages of one group, laid side by side as if they were groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.query.intervals.bands import Noisy
from tacit.query.price.price import Quote

DRAWS = 4000
LOW, HIGH = -3, 7  # the bounds of age


def ages(size: int) -> np.ndarray:
    """Ages of a lopsided group, as numbers."""
    return np.array([LOW + (at * at) % 11 if at % 3 else 5 for at in range(size)], dtype=np.int64)


def moments(quote: Quote, numbers: np.ndarray) -> dict[int, int]:
    """The exact sums over these ages, by the definitions in plan.py."""
    centred = 2 * numbers - (LOW + HIGH)
    by_kind = {
        "rows": len(numbers),
        "sum": int(numbers.sum()),
        "centred": int(centred.sum()),
        "squares": int((2 * centred**2 - (HIGH - LOW) ** 2).sum()),
    }
    return {part.place: by_kind[part.moment.kind] for part in quote.sums}


def side_by_side(quote: Quote, numbers: np.ndarray, count: int = DRAWS) -> Noisy:
    """`count` releases as if each were a group."""
    sums = {}
    for part in quote.sums:
        exact = moments(quote, numbers)[part.place]
        sums[part.place] = (part, np.asarray(part.mechanism.release_each(np.full(count, exact))))
    return Noisy(((),) * count, sums, {})


TRUTHS: dict[str, Any] = {
    "COUNT(*)": len,
    "SUM(age)": np.sum,
    "AVG(age)": np.mean,
    "VAR_POP(age)": np.var,
    "STDDEV_POP(age)": np.std,
    "VAR_SAMP(age)": lambda x: np.var(x, ddof=1),
    "STDDEV(age)": lambda x: np.std(x, ddof=1),
    "SUM(age) / COUNT(*)": lambda x: x.sum() / len(x),
    "COUNT(*) * 2 - AVG(age)": lambda x: 2 * len(x) - x.mean(),
    "ROUND(AVG(age), 1)": lambda x: np.floor(x.mean() * 10 + 0.5) / 10,
    "AVG(age) * AVG(age)": lambda x: x.mean() ** 2,
    "(SUM(age) - COUNT(*)) / STDDEV_POP(age)": lambda x: (x.sum() - len(x)) / x.std(),
}
