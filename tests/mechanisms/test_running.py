"""Running totals: the moves of a unit by brute force, the law of a small series, exact estimates, and intervals that cover."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from chance import fewest_hits
from tacit.errors import InvalidInput
from tacit.evidence.verify.contract import Effort, contract
from tacit.mechanisms import running
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.running import PLACES, Running, recovery, square_moved, strategy
from tacit.privacy.sealed import Sealed

HALF = Fraction(1, 2)
SMALL = Running(1, 1, HALF, (1, 2, 1), bits=1)


def moves(periods: int, total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Every move of a series within the limits."""
    return (each for each in product(range(-largest, largest + 1), repeat=periods) if sum(map(abs, each)) <= total)


def farthest(periods: int, total: int, largest: int, bits: int) -> int:
    weights = strategy(periods, bits)
    return max(int((weights @ np.array(move)) @ (weights @ np.array(move))) for move in moves(periods, total, largest))


LIMITS = [(1, 2, 2), (2, 3, 1), (3, 1, 1), (3, 2, 2), (3, 3, 1), (4, 3, 2), (4, 5, 2), (5, 2, 1)]


@pytest.mark.parametrize(("periods", "total", "largest"), LIMITS)
@pytest.mark.parametrize("bits", [1, 10])
def test_no_move_of_a_unit_is_longer_than_the_bound(periods: int, total: int, largest: int, bits: int) -> None:
    true, bound = farthest(periods, total, largest, bits), square_moved(periods, total, largest, bits)
    assert true <= bound
    assert bound == true or largest < total


def test_moves_of_several_series_are_bounded_together() -> None:
    weights = strategy(2)
    both = [(one, two) for one in moves(2, 3, 1) for two in moves(2, 3, 1) if sum(map(abs, (*one, *two))) <= 3]
    longest = max(sum(int((weights @ np.array(move)) @ (weights @ np.array(move))) for move in pair) for pair in both)
    assert longest <= square_moved(2, 3, 1)


def test_bounds_that_forget_something_are_caught() -> None:
    """Planted: independent columns; the diagonal with the largest move alone; full entries without the rest."""
    weights = strategy(4)
    gram = weights.T @ weights
    independent = 3 * int(gram.diagonal().max())  # three rows in three periods, as if their columns did not overlap
    one_entry = int(gram.diagonal().max())
    without_rest = 3 * 2 * int(gram.max())  # total 3, largest 2: one full entry, and the third row forgotten
    assert farthest(4, 3, 1, 10) > max(independent, one_entry)
    assert farthest(4, 3, 2, 10) > without_rest


PAIRS = (((0, 0), (1, 0)), ((0, 0), (0, -1)), ((5, 3), (5, 2)))


class LessNoise:
    """Planted: a tenth less noise than is recorded."""

    def __init__(self) -> None:
        self.inside = replace(SMALL, rho=HALF / Fraction(81, 100))
        self.event, self.loss = SMALL.event, SMALL.loss

    def release(self, value: Any) -> Any:
        return self.inside.release(value)

    def law(self, value: Any) -> Any:
        return self.inside.law(value)


def test_the_law_of_a_small_series_obeys_the_contract_and_less_noise_does_not() -> None:
    effort = Effort(samples=4_000)
    report = contract(SMALL, PAIRS, effort)
    report.require()
    assert report.measured > 0.9 * float(HALF)
    assert "loss" in {breach.law for breach in contract(LessNoise(), PAIRS, effort).broken}  # type: ignore[arg-type]


def test_what_is_recorded_is_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def noise(scale: Fraction, size: int) -> np.ndarray:
        drawn.append((scale, size))
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(running.discrete, "draw_gaussian", noise)
    mechanism = Running(3, 2, HALF, (2, 5, 3))
    cells = np.arange(30) ** 2
    assert mechanism.release_units(Sealed(cells)).tolist() == cells.tolist()
    assert drawn == [(mechanism.event.scale, 30)]
    assert mechanism.event.sensitivity**2 >= square_moved(5, 3, 2)
    assert mechanism.event.sensitivity**2 / (2 * mechanism.event.scale**2) <= HALF


def fractions_of(measured: list[int], weights: np.ndarray) -> list[Fraction]:
    solved: list[Fraction] = []
    for at, number in enumerate(measured):
        solved.append((number - sum(int(weights[at, one]) * solved[one] for one in range(at))) / Fraction(int(weights[at, at])))
    return solved


@pytest.mark.parametrize("periods", [1, 2, 7, 30])
@pytest.mark.parametrize("size", [0, 10**30])
def test_estimates_are_those_of_exact_fractions(periods: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shifts = [(7919 * at) % 4001 - 2000 for at in range(periods)]
    monkeypatch.setattr(running.discrete, "draw_gaussian", lambda scale, count: np.array(shifts, dtype=np.int64))
    exact = [size + at for at in range(periods)]
    weights = strategy(periods)
    measured = [int(sum(int(weight) * each for weight, each in zip(row, exact, strict=True))) + shift for row, shift in zip(weights, shifts, strict=True)]  # fmt: skip  # noqa: E501
    totals = np.cumsum(np.array(fractions_of(measured, weights), dtype=object))
    released = Running(1, 1, HALF, (1, periods, 1)).release_units(np.array(exact, dtype=object))
    added = np.cumsum(released.astype(object))
    assert all(abs(one - other) <= HALF + Fraction(1, 2**50) for one, other in zip(added, totals, strict=True))


def test_the_fixed_point_is_fine_enough_for_every_length() -> None:
    lost = max(float(np.abs(np.cumsum(recovery(periods), axis=0)).sum(axis=1).max()) for periods in (2, 12, 120, 400))
    assert lost * (2**running.BITS + 1) / 2**PLACES < 2**-50


RATIOS = {12: 0.64, 24: 0.52, 36: 0.46, 60: 0.39, 120: 0.305, 400: 0.195}


@pytest.mark.parametrize(("periods", "most"), RATIOS.items())
def test_running_totals_are_as_accurate_as_the_page_says(periods: int, most: float) -> None:
    mechanism, alone = Running(1, 1, HALF, (1, periods, 1)), Gaussian(1, HALF, step=1, dimension=periods, on_grid=True)
    totals = mechanism.deviations([(0, last) for last in range(1, periods + 1)])
    added = float(alone.scale) * np.sqrt(np.arange(1, periods + 1))
    assert math.sqrt(float((totals**2).sum() / (added**2).sum())) <= most


def test_intervals_cover_by_the_exact_law_and_those_of_independent_noise_do_not() -> None:
    """Two periods, every outcome: the total of both, and each alone. Planted: the interval of one measurement."""
    law = SMALL.law((0, 0))
    spans = [(0, 1), (1, 2), (0, 2)]
    widths = SMALL.widths(spans, Fraction(1, 20))
    for (first, last), width in zip(spans, widths, strict=True):
        missed = sum(float(chance) for cells, chance in law.probabilities.items() if abs(sum(cells[first:last])) > width)
        assert missed <= 0.05
        assert missed >= 0.002  # not far too wide, at a scale of two
    narrow = float(SMALL.widths([(0, 2)], Fraction(1, 20))[0]) / 2
    assert sum(float(chance) for cells, chance in law.probabilities.items() if abs(sum(cells)) > narrow) > 0.05


def test_intervals_cover_in_draws_of_a_long_series() -> None:
    mechanism, rounds = Running(2, 2, Fraction(1, 50), (1, 60, 400)), 400
    exact = np.arange(60 * 400)
    off = np.cumsum((mechanism.release_units(exact) - exact).reshape(60, rounds).astype(np.float64), axis=0)
    least = fewest_hits(rounds, 0.9)
    for first, last in ((0, 1), (0, 12), (0, 60), (12, 24), (30, 31)):
        width = mechanism.widths([(first, last)], Fraction(1, 10))[0]
        error = off[last - 1] - (off[first - 1] if first else 0)
        assert int((np.abs(error) <= width).sum()) >= least
        assert int((np.abs(error) <= width / 2).sum()) < least  # planted: half as wide
    single = float(mechanism.interval(0.9).above)
    assert all(int((np.abs(row) <= single).sum()) >= least for row in np.diff(off, axis=0, prepend=0.0))


def test_bad_numbers_are_refused() -> None:
    for wrong in ({"shape": (1, 401, 1)}, {"shape": (0, 2, 1)}, {"total": 1, "largest": 2}, {"total": 2, "largest": 0}):
        with pytest.raises(InvalidInput):
            replace(SMALL, **wrong)
    with pytest.raises(InvalidInput, match="cannot be resized"):
        SMALL.resized(3)
    assert SMALL.resized(2) is SMALL
    assert SMALL.release_each(np.array([1, 2])).shape == (2,)
