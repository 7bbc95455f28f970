"""The shares of a budget for the measurements of a workload of margins: by public parameters alone, in a fixed number of steps.

With Gaussian noise the best shares for a weighted sum of variances have a closed form; for the largest variance and for Laplace
noise they are found by steps that are as many for every workload. Proof in residual.md, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.residual import Axes, Contribution, Measurement, Residual, cells, closure, free_cells, subsets
from tacit.privacy.rounding import brief

Floats = NDArray[np.float64]
Loss = Literal["squares", "largest"]
CUMULATIVE = "cumulative"  # the squares of numbers that are added up along digits: ranges.py
LOSSES = ("squares", "largest", CUMULATIVE)
STEPS_LARGEST = 200  # of moving weight to the margins that miss by most
STEPS_LAPLACE = 300  # of moving epsilon to the measurements that help most
STEPS_BOTH = 20  # of the same inside each step of the largest variance
AGAINST = 1e-3  # of the share of another measurement, with which steps may begin
FEWEST = 1e-3  # of an equal share: a measurement with less has none
DIGITS = 4  # of a share
MOST_SETS = 4_000  # of axes
MOST_LAPLACE = 600  # sets of axes for which residuals are tried beside cells


def read_loss(loss: str | None) -> str | None:
    """The name of a loss, if one is given."""
    if loss is not None and loss not in LOSSES:
        names = ", ".join(LOSSES)
        raise InvalidInput(f"loss must be one of {names}, not {brief(str(loss))}; leave it out for squares", argument="loss")
    return loss


@dataclass(frozen=True, slots=True)
class Wanted:
    """Numbers that are made of one margin, and how much their squared errors count, all together.

    For every axis: the sum over its groups of c^2 and of c (1 - c / n), where c of its n values are in a group. For the cells
    themselves that is n and n - 1.
    """

    axes: Axes
    squares: tuple[Fraction, ...]
    centred: tuple[Fraction, ...]
    weight: Fraction = Fraction(1)
    numbers: int = 1

    @classmethod
    def cells_of(cls, axes: Axes, sizes: Sequence[int], weight: Fraction = Fraction(1)) -> Wanted:
        """All cells of a margin."""
        counts = tuple(Fraction(sizes[axis]) for axis in axes)
        return cls(axes, counts, tuple(count - 1 for count in counts), weight, cells(axes, sizes))

    @classmethod
    def of_groups(cls, axes: Axes, groups: Sequence[Sequence[int]], sizes: Sequence[int], weight: Fraction = Fraction(1)) -> Wanted:
        """Sums of cells: of every axis the sizes of its groups, and a number for each combination of them.

        >>> Wanted.of_groups((0,), [(2, 1)], (3,)).centred
        (Fraction(4, 3),)
        """
        squares = tuple(Fraction(sum(count**2 for count in counts)) for counts in groups)
        centred = tuple(
            sum((count * (1 - Fraction(count, sizes[axis])) for count in counts), start=Fraction(0))
            for axis, counts in zip(axes, groups, strict=True)
        )
        return cls(axes, squares, centred, weight, prod(len(counts) for counts in groups))

    def needs(self, sizes: Sequence[int]) -> dict[Axes, Fraction]:
        """How much the variance of each set of residuals enters, in the sum over all numbers, times the weight."""
        found = {}
        for part in subsets(self.axes):
            if free_cells(part, sizes):
                both = zip(self.axes, self.squares, self.centred, strict=True)
                norm = prod((centred if axis in part else square for axis, square, centred in both), start=Fraction(1))
                spread = Fraction(cells(part, sizes), cells(self.axes, sizes))
                found[part] = self.weight * norm * spread**2
        return found


def needed(wanted: Sequence[Wanted], sizes: Sequence[int]) -> dict[Axes, Fraction]:
    """The sum of the needs of all numbers, for every set of axes."""
    total: dict[Axes, Fraction] = {}
    for each in wanted:
        for part, need in each.needs(sizes).items():
            total[part] = total.get(part, Fraction(0)) + need
    return {part: total[part] for part in sorted(total, key=lambda axes: (len(axes), axes)) if total[part] > 0}


def check_size(wanted: Sequence[Wanted]) -> tuple[Axes, ...]:
    """The closure of the margins; raises if it has too many sets of axes."""
    sets = closure(each.axes for each in wanted)
    if len(sets) > MOST_SETS:
        raise InvalidInput(
            f"the margins have {len(sets):,} margins of their own; the limit is {MOST_SETS:,}: ask for fewer columns"
        )
    return sets


# --- Gaussian noise: residuals, in closed form -------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def gaussian_shares(
    wanted: tuple[Wanted, ...], sizes: tuple[int, ...], loss: Loss = "squares"
) -> tuple[tuple[Axes, Fraction], ...]:
    """The share of rho for the residuals of every set of axes; together exactly 1.

    >>> gaussian_shares((Wanted.cells_of((0,), (4,)), Wanted.cells_of((), (4,))), (4,))
    (((), Fraction(4271, 10000)), ((0,), Fraction(5729, 10000)))
    """
    check_size(wanted)
    weighted = wanted if loss == "squares" else _gaussian_levelled(wanted, sizes)
    return _in_closed_form(weighted, sizes)


def _in_closed_form(wanted: Sequence[Wanted], sizes: tuple[int, ...]) -> tuple[tuple[Axes, Fraction], ...]:
    total = needed(wanted, sizes)
    parts = [_root(need * _price(part, sizes)) for part, need in total.items()]
    return tuple(zip(total, rounded_shares(parts), strict=True))


def _price(part: Axes, sizes: Sequence[int]) -> Fraction:
    """The variance of the residuals of `part` in every direction, where rho is 1/2 and a unit has one row."""
    return Fraction(free_cells(part, sizes), cells(part, sizes))


@dataclass(frozen=True, slots=True, eq=False)
class _Needs:
    """The needs of several `wanted`, part by part, for one of their numbers on average."""

    parts: tuple[Axes, ...]
    table: Floats
    numbers: Floats

    @classmethod
    def of(cls, wanted: Sequence[Wanted], sizes: tuple[int, ...]) -> _Needs:
        each = [replace(one, weight=Fraction(1, one.numbers)).needs(sizes) for one in wanted]
        parts = tuple(needed(wanted, sizes))
        table = np.array([[float(needs.get(part, 0)) for part in parts] for needs in each])
        return cls(parts, table, np.array([float(one.numbers) for one in wanted]))


Variances = Callable[[Floats], Floats]


def _levelled(wanted: tuple[Wanted, ...], sizes: tuple[int, ...], needs: _Needs, variances: Variances) -> tuple[Wanted, ...]:
    """Weights at which the largest variance of one number is near the least that it can be.

    `variances` gives the variance of every part at the best shares for what the parts need.
    """
    weights = np.full(len(wanted), 1 / len(wanted))
    best, least = weights, math.inf
    for step in range(STEPS_LARGEST):
        errors = needs.table @ variances(weights @ needs.table)
        if float(errors.max()) < least:
            best, least = weights, float(errors.max())
        weights = np.maximum(weights * (errors / errors.max()) ** (1 / (1 + step / 10)), 1e-9)
        weights = weights / weights.sum()
    exact = [Fraction(round(float(weight) * 10**9), 10**9) for weight in best]
    return tuple(
        replace(one, weight=max(weight, Fraction(1, 10**9)) / one.numbers) for one, weight in zip(wanted, exact, strict=True)
    )


def _gaussian_levelled(wanted: tuple[Wanted, ...], sizes: tuple[int, ...]) -> tuple[Wanted, ...]:
    needs = _Needs.of(wanted, sizes)
    prices = np.array([float(_price(part, sizes)) for part in needs.parts])

    def variances(total: Floats) -> Floats:
        roots = np.sqrt(total * prices)
        return np.asarray(prices * roots.sum() / roots)

    return _levelled(wanted, sizes, needs, variances)


def gaussian_strategy(
    shares: Sequence[tuple[Axes, Fraction]], sizes: tuple[int, ...], unit: Contribution, rho: Fraction
) -> Residual:
    """The residuals of every set of axes with its share of rho: the optimum for Gaussian noise."""
    return Residual(sizes, tuple(Measurement.of(axes, True, sizes, unit, None, rho * share) for axes, share in shares))


# --- Laplace noise: cells, and residuals where they help ---------------------------------------------------------------------

Candidate = tuple[Axes, bool]


@lru_cache(maxsize=64)
def laplace_shares(
    wanted: tuple[Wanted, ...], sizes: tuple[int, ...], loss: Loss = "squares"
) -> tuple[tuple[Axes, bool, Fraction], ...]:
    """The share of epsilon for the cells of some margins, or for their residuals; together exactly 1."""
    sets = check_size(wanted)
    needs = _Needs.of(wanted, sizes)
    candidates = _candidates(needs.parts, sets, sizes)
    informs = _informing(needs.parts, candidates, sizes)

    def variances(total: Floats) -> Floats:
        return np.asarray(1 / (informs @ _by_steps(total, informs, STEPS_BOTH) ** 2))

    weighted = wanted if loss == "squares" else _levelled(wanted, sizes, needs, variances)
    total = needed(weighted, sizes)
    wishes = np.array([float(total[part]) for part in needs.parts])
    found = [_by_steps(wishes, informs, STEPS_LAPLACE, start) for start in _starts(candidates)]
    shares = min(found, key=lambda each: _missed(each, wishes, informs, needs, loss))
    kept = [
        (candidate, share) for candidate, share in zip(candidates, shares.tolist(), strict=True) if share > FEWEST / len(shares)
    ]
    whole = rounded_shares([Fraction(share) for _, share in kept])
    return tuple((axes, centred, share) for ((axes, centred), _), share in zip(kept, whole, strict=True))


def _starts(candidates: Sequence[Candidate]) -> list[Floats]:
    """Shares to begin with: all alike, mostly cells, mostly residuals. Steps end near their beginning, so the best is kept."""
    centred = np.array([is_centred for _, is_centred in candidates])
    residuals = np.array([is_centred or not axes for axes, is_centred in candidates])
    favoured = [np.ones(len(candidates), dtype=np.bool_), *([~centred, residuals] if centred.any() else [])]
    return [np.where(each, 1.0, AGAINST) / np.where(each, 1.0, AGAINST).sum() for each in favoured]


def _missed(shares: Floats, wishes: Floats, informs: Floats, needs: _Needs, loss: Loss) -> float:
    """The error by which shares are compared: of all numbers together, or the largest."""
    variances = 1 / (informs @ shares**2)
    return float(wishes @ variances if loss == "squares" else (needs.table @ variances).max())


def _candidates(parts: Sequence[Axes], sets: Sequence[Axes], sizes: Sequence[int]) -> list[Candidate]:
    """The cells of every margin, and the residuals of every one where there are not too many."""
    told: list[Candidate] = [(axes, False) for axes in sets if all(sizes[axis] > 1 for axis in axes)]
    return told + ([(axes, True) for axes in parts if axes] if len(sets) <= MOST_LAPLACE else [])


def _by_steps(needs: Floats, informs: Floats, steps: int, start: Floats | None = None) -> Floats:
    """Shares of epsilon that make the needed variances small: each step moves them to where the next bit helps most."""
    shares = np.full(informs.shape[1], 1 / informs.shape[1]) if start is None else start
    for _ in range(steps):
        variance = 1 / (informs @ shares**2)
        gained = shares**2 * (informs.T @ (needs * variance**2))
        shares = shares * np.cbrt(gained / np.maximum(shares, 1e-300) / gained.sum())
        shares /= shares.sum()
    return shares


def _informing(parts: Sequence[Axes], candidates: Sequence[Candidate], sizes: Sequence[int]) -> Floats:
    """The information of each candidate about the residuals of each part, for an epsilon of 1 and a unit of one row."""
    unit, places = Contribution(1), {part: at for at, part in enumerate(parts)}
    table = np.zeros((len(parts), len(candidates)))
    for column, (axes, centred) in enumerate(candidates):
        alone = Measurement.of(axes, centred, sizes, unit, Fraction(1))
        for part in (axes,) if centred else subsets(axes):
            if part in places:
                table[places[part], column] = float(alone.information(part, sizes))
    return table


def laplace_strategy(
    shares: Sequence[tuple[Axes, bool, Fraction]], sizes: tuple[int, ...], unit: Contribution, epsilon: Fraction
) -> Residual:
    """The measurements with their shares of epsilon."""
    return Residual(sizes, tuple(Measurement.of(axes, centred, sizes, unit, epsilon * share) for axes, centred, share in shares))


# --- shares as short fractions -----------------------------------------------------------------------------------------------


def rounded_shares(parts: Sequence[Fraction]) -> list[Fraction]:
    """Shares in proportion to `parts`, each above 0, together exactly 1: rounded to `DIGITS` digits of an equal share.

    >>> rounded_shares([Fraction(2), Fraction(1)])
    [Fraction(6667, 10000), Fraction(3333, 10000)]
    """
    whole = 10 ** (DIGITS + len(str(len(parts))) - 1)
    total = sum(parts)
    counts = [max(1, int(part * whole / total)) for part in parts]
    order = sorted(range(len(parts)), key=lambda at: (counts[at] - parts[at] * whole / total, at))
    short = whole - sum(counts)
    step = 1 if short > 0 else -1
    place = 0
    while short:
        at = order[place % len(order)] if step > 0 else order[-1 - place % len(order)]
        if counts[at] + step > 0:
            counts[at] += step
            short -= step
        place += 1
    return [Fraction(count, whole) for count in counts]


def _root(number: Fraction) -> Fraction:
    """The square root of a number of at least 0 to 12 digits: the same on every machine."""
    scaled = number.numerator * number.denominator * 10**24
    return Fraction(math.isqrt(scaled), number.denominator * 10**12)
