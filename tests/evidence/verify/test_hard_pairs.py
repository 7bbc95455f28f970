"""Hard pairs are neighbours, reach what they should, and are built from public parameters."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from tacit.evidence.verify import hard_pairs
from tacit.evidence.verify.claims import claimed_parameter, measured_both_ways
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.sparse_vector import SparseVector

HALF = Fraction(1, 2)


def share(mechanism, pair):
    laws = (mechanism.law(value) for value in pair)
    return float(measured_both_ways(mechanism.loss, *laws)) / float(claimed_parameter(mechanism.loss))


def added(pair):
    one, other = (Counter(rows) for rows in pair)
    assert not one - other
    return sum((other - one).values())


def test_the_named_pairs_of_the_sparse_vector():
    one, two = (SparseVector(1, HALF, HALF, positives, threshold=2, step=1) for positives in (1, 2))
    assert hard_pairs.rising_and_falling(10, 1) == ((4,) * 10 + (5,), (5,) * 10 + (4,))
    assert share(one, hard_pairs.rising_and_falling(10, 1)) == pytest.approx(0.9987, abs=5e-5)
    assert share(two, hard_pairs.rising_and_falling(9, 2)) == pytest.approx(0.957, abs=5e-4)
    assert share(one, ((0,) * 4, (1,) * 4)) < 0.5  # all rise together: the threshold alone pays


@pytest.mark.parametrize("max_rows", [1, 2, 3])
def test_an_inner_quantile(max_rows):
    median = Quantile(HALF, lower=0, upper=100, step=1, epsilon=1, max_rows=max_rows)
    assert added(hard_pairs.at_the_end(median)) == max_rows
    assert 0.97 < share(median, hard_pairs.at_the_end(median)) <= 1


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 1, 3])
def test_a_maximum_inside_the_data_and_at_its_own_rank(epsilon):
    shifted = Quantile(1, lower=0, upper=100, step=1, epsilon=epsilon)
    assert added(hard_pairs.above_the_aim(shifted)) == 1
    assert 0.97 < share(shifted, hard_pairs.above_the_aim(shifted)) <= 1
    own = Quantile(1, lower=0, upper=80, step=1, epsilon=epsilon, shift=0)
    assert 0.9 < share(own, ([], [80])) <= 1


def test_all_draws_of_an_interval_at_once_and_one_by_one():
    enclosed = QuantileWithInterval(HALF, lower=0, upper=20, step=1, epsilon=1)
    both = enclosed.of_many, enclosed.of_few.ends
    pair, few = (hard_pairs.under_both_ends(ends.low, ends.high) for ends in both)
    assert added(pair) == added(few) == 1
    assert 0.9 < share(enclosed, pair) <= 1
    assert 0.9 < share(both[0], pair) <= 1
    assert 0.9 < share(both[1], few) <= 1


@pytest.mark.parametrize(
    ("made", "least"),
    [
        (hard_pairs.far_end_median(1, gamma=4), 0.81),
        (hard_pairs.far_end_median(1, gamma=10, far=400), 0.91),
        (hard_pairs.far_end_median(1, delta=Fraction(1, 1000), gamma=None), 0.95),
        (hard_pairs.far_end_trimmed_mean(1, gamma=10, kept=88), 0.94),
        (hard_pairs.far_end_trimmed_mean(1, gamma=4, kept=26), 0.84),
    ],
    ids=["gamma 4", "gamma 10", "Laplace tails", "trimmed mean", "trimmed mean, gamma 4"],
)
def test_smooth_sensitivity(made, least):
    mechanism, pair = made
    assert added(pair) == 1
    assert least < share(mechanism, pair) <= (limit(float(mechanism.gamma)) if mechanism.gamma else 1)


def limit(gamma):
    """The most of its claim that heavy-tailed noise can reach for a small epsilon: hard_pairs.md."""
    z, steepest = np.linspace(0.01, 20, 200_001), (gamma - 1) ** ((gamma - 1) / gamma)
    power = z**gamma
    shift = gamma * z ** (gamma - 1) / (1 + power) / steepest
    stretch = np.abs((gamma - 1) * power - 1) / ((gamma - 1) * (1 + power))
    return float((shift + stretch).max() / 2)


def test_the_limits_that_the_page_prints():
    assert [round(limit(gamma), 3) for gamma in (2, 4, 10)] == [0.707, 0.89, 0.962]
