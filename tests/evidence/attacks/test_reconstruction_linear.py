"""Linear programs: as good as least squares on small noise, better where some answers are wild, and no help against a budget."""

from __future__ import annotations

import time
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from chance import most_hits
from tacit.errors import InvalidInput
from tacit.evidence.attacks.answerers import Noise, fair_bits
from tacit.evidence.attacks.reconstruction import Subsets, consistent, least_absolute, reconstruct
from tacit.evidence.attacks.reconstruction_curves import attempt
from tacit.mechanisms.laplace import Laplace

PEOPLE, QUESTIONS = 64, 256


def world(seed: int = 1):
    subsets, bits = Subsets(PEOPLE, QUESTIONS, seed), fair_bits(PEOPLE, seed)
    return subsets, bits, np.vstack(list(subsets.blocks())) @ bits.astype(int)


def test_exact_answers_give_every_bit_away():
    subsets, bits, exact = world()
    assert least_absolute(subsets, exact, truth=bits).recovered == 1
    assert consistent(subsets, exact, bound=0.1, truth=bits).recovered == 1


@pytest.mark.parametrize("law", ["bounded", "laplace", "gaussian"])
def test_small_noise_does_not_help(law):
    """A fixed seed: sqrt(n) / 8 of deviation."""
    found = attempt(PEOPLE, QUESTIONS, Noise(law, sqrt(PEOPLE) / 8), seed=2, solver=least_absolute)
    assert found.recovered == 1
    assert found.method == "linear programming"


def test_the_dual_finds_what_the_primal_finds():
    """The least sum of absolute errors is the same number, from either side."""
    from scipy.optimize import linprog

    rows, people = np.random.default_rng(3).integers(0, 2, (30, 8)).astype(float), 8
    answers = rows @ fair_bits(people, 3) + np.random.default_rng(4).normal(0, 2, 30)
    found = np.abs(rows @ np.clip(least_absolute(rows, answers).estimates, 0, 1) - answers).sum()
    slack = np.eye(30)
    primal = linprog(
        np.r_[np.zeros(people), np.ones(30)],
        A_ub=np.block([[rows, -slack], [-rows, -slack]]),
        b_ub=np.r_[answers, -answers],
        bounds=[(0, 1)] * people + [(0, None)] * 30,
    )
    assert found == pytest.approx(primal.fun, rel=1e-6)


def test_wild_answers_are_survived_where_least_squares_fails():
    """A fixed seed: one answer in ten is off by thousands."""
    subsets, bits, exact = world()
    answers = exact + np.where(np.arange(QUESTIONS) % 10 == 0, 5000.0, 0.0)
    assert least_absolute(subsets, answers, truth=bits).recovered == 1
    assert reconstruct(subsets, answers, truth=bits).recovered < 0.9


def test_a_consistent_candidate_is_consistent_or_there_is_none():
    subsets, bits, exact = world()
    bound = 0.25 * sqrt(PEOPLE)
    answers = exact + np.random.default_rng(6).uniform(-bound, bound, QUESTIONS)
    found = consistent(subsets, answers, bound, truth=bits)
    rows = np.vstack(list(subsets.blocks()))
    assert np.abs(rows @ found.estimates - answers).max() <= bound + 1e-6
    assert found.recovered > 0.9
    assert consistent(subsets, answers, bound=0.01) is None


def test_a_budget_for_all_answers_defends():
    """5 runs of 64 fair bits, each right with 0.503."""
    noise, shares = Laplace(sensitivity=1, epsilon=Fraction(1, QUESTIONS), step=1, on_grid=True), []
    for run in range(5):
        subsets, bits, exact = world(run)
        shares.append(least_absolute(subsets, [noise.release(int(count)) for count in exact], truth=bits).recovered)
    assert PEOPLE * sum(shares) <= most_hits(5 * PEOPLE, 0.503)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InvalidInput, match="one answer"):
        least_absolute([[1, 0]], [1, 2])


@pytest.mark.slow
@pytest.mark.parametrize(("people", "limit"), [(500, 10), (2000, 600)])
def test_large_programs_are_solved_in_time(people, limit):
    started = time.perf_counter()
    found = attempt(people, 4 * people, Noise("bounded", sqrt(people) / 4), seed=1, solver=least_absolute)
    assert time.perf_counter() - started < limit
    assert found.recovered > 0.9
