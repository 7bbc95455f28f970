"""The one place where a sealed answer is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.privacy.sealed import Sealed


def opened(value: Any) -> Any:
    """The plain value, whether it came sealed or not.

    >>> opened(Sealed(42)), opened(42)
    (42, 42)
    """
    return value.unseal() if isinstance(value, Sealed) else value


def marginal(joint: Sealed[Any], shape: Sequence[int], keep: Sequence[int]) -> Sealed[Any]:
    """The sealed histogram of the axes in `keep`, rising, from that of all of them, flat: sums of its cells, and as exact.

    >>> opened(marginal(Sealed(np.array([1, 2, 3, 4, 5, 6])), shape=(2, 3), keep=[1]))
    array([5, 7, 9])
    """
    others = tuple(axis for axis in range(len(shape)) if axis not in keep)
    return Sealed(np.asarray(opened(joint)).reshape(shape).sum(axis=others).ravel())
