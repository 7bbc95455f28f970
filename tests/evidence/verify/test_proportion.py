"""Clopper-Pearson against the definition: the binomial tail at the bound is the error."""

from __future__ import annotations

from math import comb

import pytest

from tacit.evidence.verify.proportion import proportion_down, proportion_up


def at_least(hits: int, trials: int, chance: float) -> float:
    return sum(comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(hits, trials + 1))


@pytest.mark.parametrize("error", [0.05, 1e-9])
@pytest.mark.parametrize(("hits", "trials"), [(1, 10), (5, 10), (10, 10), (37, 100)])
def test_the_tail_at_the_lower_bound_is_the_error(hits, trials, error):
    assert at_least(hits, trials, float(proportion_down(hits, trials, error))) == pytest.approx(error, rel=1e-5)


@pytest.mark.parametrize("error", [0.05, 1e-9])
@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (5, 10), (9, 10), (37, 100)])
def test_the_tail_at_the_upper_bound_is_the_error(hits, trials, error):
    bound = float(proportion_up(hits, trials, error))
    at_most = sum(comb(trials, k) * bound**k * (1 - bound) ** (trials - k) for k in range(hits + 1))
    assert bound == 1 or at_most == pytest.approx(error, rel=1e-5)


def test_the_ends_are_certain():
    assert proportion_down(0, 10, 0.01) == 0
    assert proportion_up(10, 10, 0.01) == 1


def test_arrays_are_taken_entry_by_entry():
    assert proportion_down([0, 5], 10, 0.05).tolist() == [0, float(proportion_down(5, 10, 0.05))]
