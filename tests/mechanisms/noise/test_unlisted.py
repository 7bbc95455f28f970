"""A choice with candidates that are not listed: where the list ends, and the weight of what is behind it."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from tacit.mechanisms.noise import unlisted
from tacit.mechanisms.noise.costs import MixedCosts
from tacit.mechanisms.noise.unlisted import FARTHEST, choose_listed, reach
from tacit.privacy.rounding import exp_up


@pytest.mark.parametrize("candidates", [1, 10**4, 2**62])
@pytest.mark.parametrize("factor", [Fraction(1, 10**4), Fraction(2, 7), Fraction(30)])
def test_what_is_not_listed_is_rare(candidates, factor):
    """In plain numbers: choice.md counts on 2^-64."""
    farthest = reach(candidates, factor)
    assert candidates * exp_up(-factor * farthest) <= Fraction(1, 2**64)
    assert candidates * exp_up(-factor * (farthest - 1)) > Fraction(1, 2**64)


@pytest.mark.parametrize("factor", [Fraction(0), Fraction(1, 10**30)])
def test_a_list_ends_within_64_bits(factor):
    assert reach(10, factor) == FARTHEST


def test_what_is_listed_costs_no_more_than_the_farthest():
    """By the exact cost: a whole number that is just within reach may have a part that leads beyond it."""
    costs = MixedCosts(np.array([0, 2, 2, 3, 9]), np.array([2, 0, 2, 2, 2], dtype=np.int8), (1, 2, 0), 3)
    size, factor, others = 3000, Fraction(1, 2), 4
    weights = [5.0, 0, 3 * math.exp(-1), 0, 0, others * math.exp(-1)]
    drawn = Counter(choose_listed(np.array([5, 7, 3, 9, 9]), costs, factor, others, farthest=2) for _ in range(size))
    limit = math.log(2 * len(weights) * 1e6)  # Bernstein's inequality over the cells: false alarm 1e-6
    for index, weight in enumerate(weights):
        p = weight / sum(weights)
        assert abs(drawn[index] - size * p) <= math.sqrt(2 * limit * size * p * (1 - p)) + (limit / 3 if p else 0)


def test_the_choice_is_between_what_is_listed_and_all_others_at_the_farthest(monkeypatch):
    """Exactly: whole numbers with a part are listed up to the farthest, and the others cost no part more than it."""
    given = []
    monkeypatch.setattr(unlisted, "choose", lambda *arguments: given.append(arguments) or [4])
    costs = MixedCosts(np.array([0, 1, 1, 2]), np.array([2, 0, 1, 1], dtype=np.int8), (1, 2, 0), 3)
    assert choose_listed(np.array([5, 7, 3, 9]), costs, Fraction(1, 2), others=4, farthest=2) == 4
    [(lengths, chosen, factor)] = given
    assert lengths.tolist() == [5, 7, 3, 0, 4]
    assert [chosen.exponent(index, factor) for index in range(5)] == [0, Fraction(2, 3), Fraction(5, 6), Fraction(4, 3), 1]


def test_the_farthest_cost_fits_in_64_bits():
    assert 2 * FARTHEST < 2**63
    one = MixedCosts(np.array([0]), np.array([0], dtype=np.int8), (0,), 1)
    assert choose_listed(np.array([1]), one, Fraction(0), others=0, farthest=reach(10, Fraction(0))) == 0
