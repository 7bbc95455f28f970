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


def regrouped(listed: Sealed[Any], groups: Any) -> Sealed[Any]:
    """The sealed histogram of groups of cells, from that of the cells: sums of them, and as exact.

    >>> opened(regrouped(Sealed(np.array([1, 2, 4])), np.array([0, 0, 1])))
    array([3, 4])
    """
    sums = np.zeros(int(np.max(groups)) + 1, dtype=np.int64)
    np.add.at(sums, groups, np.asarray(opened(listed)))
    return Sealed(sums)


def together(parts: Sequence[Sealed[Any]]) -> Sealed[Any]:
    """Several sealed numbers or vectors as one, in their order.

    >>> opened(together([Sealed(np.array([7])), Sealed(np.array([2**70], dtype=object))]))
    array([7, 1180591620717411303424], dtype=object)
    """
    return Sealed(np.concatenate([np.atleast_1d(np.asarray(opened(part))) for part in parts]))


def histogram(listed: Sealed[Any], points: Sequence[int]) -> Sealed[Any]:
    """The sealed number of rows of each of the rising `points`, from a list (values, numbers of rows); other values count nowhere.

    Without numbers of rows, each value is one row.

    >>> opened(histogram(Sealed((np.array([7, 2]), np.array([5, 1]))), points=[0, 2, 7]))
    array([0, 1, 5])
    """
    values, rows = opened(listed)
    grid = np.asarray(points, dtype=np.int64)
    places = np.minimum(np.searchsorted(grid, values), grid.size - 1)
    counts = np.zeros(grid.size, dtype=np.int64)
    np.add.at(counts, places, np.where(grid[places] == values, 1 if rows is None else rows, 0))
    return Sealed(counts)
