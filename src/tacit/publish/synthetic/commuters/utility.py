"""The accuracy of a synthetic map, measured against the real data, for the data owner alone.

Every number here is computed from the private flows without noise; publishing it next to the map would undo its protection.

The measure of the tutorial is the average distance of the synthetic commuters of each destination against that of the real ones.
The others are: short and long commutes; dense and sparse origins; short and long commutes to dense and sparse destinations with the
sign of the error (the tutorial: long commutes in sparse regions are overestimated); the total variation in each band of distance;
and the share of fake jobs, expected and observed. Distances are between the centers of cells in both maps, so a job inside its own
zone counts as 0 km in both. Jobs from elsewhere have no distance and enter no average, in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, exact
from tacit.publish.synthetic.commuters.geography import Codes, Domain, Numbers

BANDS = (5.0, 10.0, 20.0, 40.0, 80.0)
FEW_JOBS = 200  # smaller destinations have no meaningful average; they count in everything else
Cells = tuple[Codes, Codes]  # the occupied cells of one destination, and the jobs from each


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Real and synthetic jobs, cell by cell: one entry for each cell that either has, at each destination.

    `same_cells` says that a cell is the same place for all destinations; rings are not.
    """

    destination: Codes
    cell: Codes
    distance: Numbers
    truth: Numbers
    synthetic: Numbers
    farthest: Numbers
    same_cells: bool

    def __repr__(self) -> str:
        return "Comparison(...)"

    @property
    def destinations(self) -> int:
        """How many destinations there are."""
        return len(self.farthest)

    def total(self, values: NDArray[Any], where: NDArray[np.bool_] | None = None) -> Numbers:
        """The sum of `values` at every destination, over the entries selected by `where`."""
        chosen = slice(None) if where is None else where
        return np.bincount(self.destination[chosen], values[chosen], self.destinations).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Group:
    """One group of commutes: its share of the real and of the synthetic jobs, and the error of the averages.

    `error` is the median relative error of the group's average distance, over destinations with at least `FEW_JOBS` jobs and some
    of this group in both maps; NaN if there is no such destination, or if the group's distances are all 0. `signed` is the median
    of the same errors with their sign: above 0, the synthetic map overestimates.
    """

    name: str
    truth: float
    synthetic: float
    error: float
    signed: float


@dataclass(frozen=True, slots=True)
class Band:
    """One band of distance: its share of the jobs in both maps, and its part of the total variation, averaged over jobs."""

    name: str
    truth: float
    synthetic: float
    variation: float


@dataclass(frozen=True, slots=True, eq=False)
class Utility:
    """The report for the data owner: averages of every destination, groups of commutes, bands, and the shares of fake jobs."""

    jobs: Numbers
    mean_truth: Numbers
    mean_synthetic: Numbers
    groups: tuple[Group, ...]
    crossed: tuple[Group, ...]
    bands: tuple[Band, ...]
    from_nowhere: float
    too_far: float

    def __repr__(self) -> str:
        return "Utility(...)"

    @property
    def errors(self) -> Numbers:
        """The relative error of the average commute of each destination; NaN if there is nothing to compare."""
        return relative(self.mean_synthetic, self.mean_truth)

    @property
    def error(self) -> float:
        """The median of the relative errors over destinations with at least `FEW_JOBS` jobs."""
        return median(self.errors[self.jobs >= FEW_JOBS])

    @property
    def variation(self) -> float:
        """The total variation between real and synthetic jobs within a destination, averaged over jobs."""
        return sum(band.variation for band in self.bands)


def compare_maps(domains: Iterable[Domain], truth: Iterable[Cells], synthetic: Iterable[Cells]) -> Comparison:
    """The two maps aligned cell by cell."""
    parts, farthest, names = [], [], []
    for place, (domain, true, fake) in enumerate(zip(domains, truth, synthetic, strict=True)):
        cells = np.union1d(true[0], fake[0])
        counts = [_spread(cells, one) for one in (true, fake)]
        distance = domain.distances[cells]
        names.append(domain.names)
        farthest.append(_farthest(distance[counts[0] > 0]))
        parts.append((np.full(len(cells), place), cells, distance, *counts))
    place_of, cells, distances, real, made = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Comparison(place_of, cells, distances, real, made, np.array(farthest), all(each is names[0] for each in names))


def measure_utility(both: Comparison, near: float = 10.0, edges: Sequence[float] = BANDS) -> Utility:
    """All measures of a comparison; commutes up to `near` kilometers are short."""
    has_distance = ~np.isnan(both.distance)
    truth, synthetic = (_mean(both, values, has_distance) for values in (both.truth, both.synthetic))
    nowhere = both.synthetic[(both.truth == 0) & has_distance].sum() / max(both.synthetic.sum(), 1)
    beyond = both.synthetic[has_distance & (both.distance > both.farthest[both.destination])].sum() / max(both.synthetic.sum(), 1)
    groups, crossed, bands = _groups(both, near), _groups_by_destination(both, near), _bands(both, edges)
    return Utility(both.total(both.truth), truth, synthetic, groups, crossed, bands, float(nowhere), float(beyond))


def relative(estimate: Numbers, truth: Numbers) -> Numbers:
    """|estimate - truth| / truth; NaN if the truth is 0 or either is missing."""
    return np.abs(signed_error(estimate, truth))


def signed_error(estimate: Numbers, truth: Numbers) -> Numbers:
    """(estimate - truth) / truth; NaN if the truth is 0 or either is missing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(truth > 0, (estimate - truth) / truth, np.nan)


def median(values: Numbers) -> float:
    """The median of the values that are not NaN; NaN if every value is."""
    numbers = values[~np.isnan(values)]
    return float(np.median(numbers)) if len(numbers) else float("nan")


def fake_share(cells: Number, noise: Number, workers: Number) -> Fraction:
    """The expected share of synthetic jobs that come from noise: k alpha / (n + k alpha).

    The tutorial has 8 million blocks, 0.74 fake workers on each, and a million real ones. It states that 6 of 7 are fake and, with
    a sixth of the blocks in the West, that 1 of 7 is a fake commuter from the West Coast to Washington:

    >>> fake = fake_share(8_000_000, 0.74, 1_000_000)
    >>> round(float(fake), 4), round(float(fake / 6), 4), round(6 / 7, 4), round(1 / 7, 4)
    (0.8555, 0.1426, 0.8571, 0.1429)
    """
    made = exact(cells, "cells") * exact(noise, "noise")
    whole = made + exact(workers, "workers")
    if made < 0 or whole <= 0:
        raise InvalidInput("cells, noise and workers must not be negative, nor all zero")
    return made / whole


def suppression_loss(truth: Iterable[Cells], fewest: int) -> float:
    """The share of jobs lost if every cell with fewer than `fewest` jobs is left out as an outlier.

    >>> suppression_loss([(np.array([0, 1, 2]), np.array([1, 2, 7]))], fewest=2)
    0.1
    """
    jobs = np.concatenate([np.asarray(cells[1]) for cells in truth])
    return float(jobs[jobs < fewest].sum() / max(jobs.sum(), 1))


def _spread(cells: Codes, counted: Cells) -> Numbers:
    spread = np.zeros(len(cells))
    spread[np.searchsorted(cells, counted[0])] = counted[1]
    return spread


def _farthest(distances: Numbers) -> float:
    finite = distances[~np.isnan(distances)]
    return float(finite.max()) if len(finite) else 0.0


def _mean(both: Comparison, values: Numbers, where: NDArray[np.bool_]) -> Numbers:
    """The average distance at every destination over the selected entries; NaN if it has no job among them."""
    jobs = both.total(values, where)
    with np.errstate(invalid="ignore"):
        return np.where(jobs > 0, both.total(values * np.nan_to_num(both.distance), where) / np.maximum(jobs, 1), np.nan)


def _groups(both: Comparison, near: float) -> tuple[Group, ...]:
    """Short and long commutes; dense and sparse origins, if a cell is the same place for all destinations."""
    kinds, has_distance = _by_length(both, near), ~np.isnan(both.distance)
    if both.same_cells:
        dense = _dense(both)[both.cell]
        kinds |= {"dense origins": has_distance & dense, "sparse origins": has_distance & ~dense}
    large = both.total(both.truth) >= FEW_JOBS
    return tuple(_group(both, name, where, large) for name, where in kinds.items())


def _groups_by_destination(both: Comparison, near: float) -> tuple[Group, ...]:
    """Short and long commutes to dense destinations (more jobs than the median) and to sparse ones; small destinations count."""
    jobs = both.total(both.truth)
    dense = jobs > np.median(jobs)
    return tuple(
        _group(both, f"{length}, to {kind} destinations", where & chosen[both.destination], chosen)
        for length, where in _by_length(both, near).items()
        for kind, chosen in (("dense", dense), ("sparse", ~dense))
    )


def _by_length(both: Comparison, near: float) -> dict[str, NDArray[np.bool_]]:
    has_distance = ~np.isnan(both.distance)
    return {
        f"short commutes, up to {near:g} km": has_distance & (both.distance <= near),
        f"long commutes, beyond {near:g} km": has_distance & (both.distance > near),
    }


def _dense(both: Comparison) -> NDArray[np.bool_]:
    """Which cells have more resident workers than the median of those that have any."""
    workers = np.bincount(both.cell, both.truth)
    living = workers[workers > 0]
    return np.asarray(workers > (np.median(living) if len(living) else 0))


def _group(both: Comparison, name: str, where: NDArray[np.bool_], counted: NDArray[np.bool_]) -> Group:
    """The group of the entries selected by `where`, with errors over the `counted` destinations."""
    errors = signed_error(_mean(both, both.synthetic, where), _mean(both, both.truth, where))[counted]
    truth, synthetic = (float(values[where].sum() / max(values.sum(), 1)) for values in (both.truth, both.synthetic))
    return Group(name, truth, synthetic, median(np.abs(errors)), median(errors))


def _bands(both: Comparison, edges: Sequence[float]) -> tuple[Band, ...]:
    """Bands by distance, elsewhere last. A destination's weight is its number of jobs."""
    band = np.where(np.isnan(both.distance), len(edges) + 1, np.digitize(np.nan_to_num(both.distance), edges, right=True))
    totals = [both.total(values)[both.destination] for values in (both.truth, both.synthetic)]
    weight = totals[0] / max(both.truth.sum(), 1)
    apart = weight * np.abs(both.truth / np.maximum(totals[0], 1) - both.synthetic / np.maximum(totals[1], 1)) / 2
    columns = [np.bincount(band, values, len(edges) + 2) for values in (both.truth, both.synthetic, apart)]
    shares = [column / max(column.sum(), 1) for column in columns[:2]]
    lows = ("0", *(f"{edge:g}" for edge in edges))
    names = [*(f"{low}-{high:g} km" for low, high in zip(lows, edges, strict=False)), f"over {lows[-1]} km", "elsewhere"]
    rows = zip(names, *shares, columns[2], strict=True)
    return tuple(Band(name, float(truth), float(made), float(variation)) for name, truth, made, variation in rows)
