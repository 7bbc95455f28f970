"""The list of an exact answer, whichever way the engine returned it."""

from __future__ import annotations

from collections import Counter
from typing import Any


def counted(listed: tuple[Any, Any]) -> Counter[int]:
    """How many rows have each value, from (values, counts), or from (values, None): one value for each row."""
    values, counts = listed
    found: Counter[int] = Counter()
    for value, count in zip(values.tolist(), [1] * len(values) if counts is None else counts.tolist(), strict=True):
        found[value] += count
    return found
