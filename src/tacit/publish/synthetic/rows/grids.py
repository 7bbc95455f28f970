"""Columns of many values without declared bins: counted in two levels of a public grid, from which bins are chosen privately.

The grid divides the declared range into at most a thousand cells, whatever the data holds, and every `width` of them are one wide
cell. Both levels are counted with the same noise. Least squares makes one estimate of both (Hay, Rastogi, Miklau and Suciu 2010),
from the wide cells down, so that noise in many empty cells does not add up to people. Cells whose count is within the noise are
merged into bins with their neighbours, and the values inside bins follow a monotone curve through the counts up to each bin
(Fritsch and Carlson 1980), so that means and quantiles of the rows are those that were measured.

    counts_of(axis, released, deviation)     rows in each cell of the grid
    groups_of_grid(axis, counts, least)      the bins that marginals of several columns use
    numbers_of(axis, released, noise)        mean and quartiles, with the intervals that the noise implies

All of it follows from released numbers and public parameters; the counts themselves are priced in marginals.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.laplace import Laplace

MOST_GRID = 1024  # cells of a grid
MOST_GROUPS = 20  # bins of about equal counts; cells with more than that alone are bins besides
RARE = 3  # deviations of the noise below which a cell is merged with its neighbours
NORMAL, DOUBLE = 1.96, 2.12  # deviations with 95 % of the law of a sum of noise: Gaussian, and at most of discrete Laplace
QUARTILES = (0.25, 0.5, 0.75)

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def grid_of(points: int, splits: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Where the cells of a grid begin, and how many of them are a wide cell: a function of the declared range.

    The bounds are cells of their own: values beyond them are often clamped there.

    >>> begins, width = grid_of(10**6, splits=[])
    >>> begins[:3], len(begins), width
    ((0, 1, 977), 1026, 33)
    """
    begins = sorted({*even_begins(points), 1, points - 1, *splits})
    return tuple(begins), ceil(sqrt(len(begins)))


def even_cells(points: int) -> int:
    """The cells of the even grid: fewer where a number times them would not be exact in a double."""
    return min(points, MOST_GRID, 2**53 // points)


def even_begins(points: int) -> tuple[int, ...]:
    """Where the cells of the even grid begin."""
    cells = even_cells(points)
    return tuple(-(-at * points // cells) for at in range(cells))


def counts_of(axis: Any, released: Counts, deviation: float) -> Counts:
    """The number of rows in each cell, that of NULL last: not negative, and near to both levels of released counts."""
    wide, cells, missing = _levels(axis, released)
    inside = np.bincount(axis.wide, weights=cells)
    each = np.bincount(axis.wide)
    together = _not_negative((wide * each + inside) / (each + 1))
    masses, ends = [], []
    for at, total in enumerate(together):
        begin, end = int(each[:at].sum()), int(each[: at + 1].sum())
        below = cells[begin:end] + (total - inside[at]) / each[at]
        runs = _runs(below, RARE * deviation if total > RARE * deviation else np.inf)
        shares = _not_negative(np.add.reduceat(below, runs), total)
        masses += shares.tolist()
        ends += [begin + int(run) for run in runs]
    whole = np.append(_along_a_curve(np.array(ends), np.array(masses), axis), max(missing, 0.0))
    rows = np.diff(np.rint(np.cumsum(whole)), prepend=0).astype(np.int64)
    return np.asarray(rows if axis.column.nullable else rows[:-1], dtype=np.int64)


def _levels(axis: Any, released: Counts) -> tuple[Floats, Floats, float]:
    """The wide cells, the cells, and the mean of both counts of NULL."""
    first, second = np.split(np.asarray(released, dtype=np.float64), [axis.histograms[0]])
    if not axis.column.nullable:
        return first, second, 0.0
    return first[:-1], second[:-1], float(first[-1] + second[-1]) / 2


def _runs(counts: Floats, least: float) -> Counts:
    """Where bins begin: cells of at least `least` are bins of their own, others are merged with their neighbours."""
    alone = counts >= least
    begins = np.flatnonzero(alone | np.append(True, alone[:-1]))
    return begins.astype(np.int64)


def _not_negative(counts: Floats, total: float | None = None) -> Floats:
    """The nearest counts of at least 0 with the same sum, or with the given one; even ones if nothing is left."""
    wanted = float(counts.sum()) if total is None else total
    if wanted <= 0:
        return np.zeros(counts.size)
    descending = np.sort(counts)[::-1]
    levels = (np.cumsum(descending) - wanted) / np.arange(1, counts.size + 1)
    return np.asarray(np.maximum(counts - levels[np.flatnonzero(descending > levels)[-1]], 0.0))


def _along_a_curve(begins: Counts, masses: Floats, axis: Any) -> Floats:
    """The rows of each cell: differences of a monotone curve through the rows below each bin."""
    from scipy.interpolate import PchipInterpolator

    borders = np.array([*axis.begins, axis.column.points], dtype=np.float64)
    if begins.size == 1:
        return np.asarray(np.diff(borders) / (borders[-1] - borders[0]) * masses.sum())
    below = np.append(0.0, np.cumsum(masses))
    curve = PchipInterpolator(borders[[*begins, -1]], below)
    return np.asarray(np.diff(curve(borders)).clip(min=0))


def groups_of_grid(axis: Any, counts: Counts, least: float, splits: Sequence[int] = ()) -> Counts:
    """The bin of each cell, rising: about equal counts of at least `least`; cells with more alone; NULL is one of its own."""
    known = counts[: len(axis.begins)]
    target, forced = max(float(known.sum()) / MOST_GROUPS, least), set(splits)
    groups, group, held = np.zeros(counts.size, dtype=np.int64), 0, 0.0
    for at, count in enumerate(known):
        if at and (held >= target or (count >= target and held > 0) or axis.begins[at] in forced):
            group, held = group + 1, 0.0
        groups[at], held = group, held + float(count)
    if held < least / 2 and group and axis.begins[int(np.flatnonzero(groups == group)[0])] not in forced:
        groups[groups == group] = group - 1  # a short rest at the end
        group -= 1
    groups[len(known) :] = group + 1
    return groups


# --- what the noise leaves open ----------------------------------------------------------------------------------------------


def numbers_of(axis: Any, released: Counts, noise: Any) -> dict[str, list[Any]]:
    """Mean and quartiles of the values that are not NULL, each as [low, high] at 95 % confidence, for the noise alone.

    An interval contains the number of the real rows; of a mean, half a cell is added, since places inside cells are not measured.
    """
    wide, cells, _ = _levels(axis, released)
    each = np.bincount(axis.wide)
    inside = np.bincount(axis.wide, weights=cells)
    weighed = each / (each + 1)
    estimate = cells + ((wide * each + inside) / (each + 1) - inside)[axis.wide] / each[axis.wide]
    rows = max(float(estimate.sum()), 1.0)
    reach = (DOUBLE if noise.law is Laplace else NORMAL) * noise.deviation
    borders = np.array([*axis.begins, axis.column.points], dtype=np.float64)
    middles = (borders[:-1] + borders[1:] - 1) / 2
    mean = float(middles @ estimate) / rows
    off = middles - mean
    means = np.bincount(axis.wide, weights=off) / each
    deviation = sqrt(float(((off - means[axis.wide]) ** 2).sum() + (means**2 * weighed).sum())) / rows
    half = reach * deviation + float(np.diff(borders).max() - 1) / 2
    told = {"mean": [mean - half, mean + half]}
    for share in QUARTILES:
        told[f"quantile {share:g}"] = _quantile(share, axis, estimate, borders, reach)
    return {name: [_value(axis, low, 0), _value(axis, high, 1)] for name, (low, high) in told.items()}


def _quantile(share: float, axis: Any, estimate: Floats, borders: Floats, reach: float) -> list[float]:
    """Borders between which the quantile may be: those where the rows below are its share up to noise."""
    each = np.bincount(axis.wide)
    weighed, at = each / (each + 1), axis.wide
    first = np.append(0, np.cumsum(each))[at]
    below = np.arange(estimate.size) + 1 - first  # cells of the wide cell up to this one
    spread = below * (each[at] - below) / each[at] + (below / each[at] - share) ** 2 * weighed[at]
    before, after = np.append(0, np.cumsum(weighed))[at], np.cumsum(weighed[::-1])[::-1][at] - weighed[at]
    spread = spread + (1 - share) ** 2 * before + share**2 * after
    off, allowed = np.cumsum(estimate) - share * estimate.sum(), reach * np.sqrt(spread)
    possible = np.flatnonzero(np.abs(off) <= allowed)
    low = int(np.flatnonzero(off >= -allowed)[0]) if (off >= -allowed).any() else estimate.size - 1
    high = min(int(possible[-1]) + 1, estimate.size - 1) if possible.size else low
    return [float(borders[low]), float(borders[max(high, low) + 1] - 1)]


def _value(axis: Any, offset: float, up: int) -> Any:
    """The value at an offset, between declared ones too; of a date, the day around it."""
    inside = min(max(offset, 0.0), float(axis.column.points - 1))
    if axis.column.kind == "date":
        return axis.value(ceil(inside) if up else int(inside)).isoformat()
    return float(axis.column.bounds[0]) + inside * float(axis.column.step)
