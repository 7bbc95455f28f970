"""Heads among many coins: the exact law by listing every outcome of the fair coins underneath."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from every_path import exact_law
from tacit.errors import InvalidInput
from tacit.mechanisms.noise import binomial as module
from tacit.mechanisms.noise.binomial import binomial, fair_heads

HALF = Fraction(1, 2)


def pmf(coins, bias):
    return {k: math.comb(coins, k) * bias**k * (1 - bias) ** (coins - k) for k in range(coins + 1)}


@pytest.mark.parametrize("bias", [HALF, Fraction(5, 8), Fraction(3, 16), Fraction(1, 8)])
@pytest.mark.parametrize("coins", [1, 2, 4])
def test_the_law_is_the_binomial_one(monkeypatch, coins, bias):
    assert exact_law(lambda: binomial(coins, bias), monkeypatch) == pmf(coins, bias)


def test_a_bias_without_an_end_is_followed_as_far_as_coins_are_tied(monkeypatch):
    """1/3 = 0.010101...: a coin whose bits are 0, 1, 0, 0 is below it at the fourth."""
    answers = iter([0, 1, 0, 0])
    monkeypatch.setattr(module, "fair_heads", lambda coins: next(answers))
    assert binomial(1, Fraction(1, 3)) == 1
    assert next(answers, None) is None


def test_a_bias_cut_after_a_few_digits_would_be_seen(monkeypatch):
    """The planted bug: five digits of the bias where it has six."""
    assert exact_law(lambda: binomial(4, Fraction(10, 32)), monkeypatch) != pmf(4, Fraction(21, 64))


def test_fair_heads_counts_exactly_as_many_bits(words):
    words([2**64 - 1, 2**63])
    assert fair_heads(65) == 65
    words([2**63 - 1])
    assert fair_heads(1) == 0
    words([])
    assert fair_heads(0) == 0


def test_heads_of_many_coins():
    """Half a million coins of bias 1/3: 6 sigma, a false alarm of 2e-9."""
    coins, bias = 500_000, Fraction(1, 3)
    assert abs(binomial(coins, bias) - coins / 3) < 6 * math.sqrt(coins * 2 / 9)


@pytest.mark.slow
def test_the_spread_of_many_draws():
    """The distribution function of 20,000 draws against the binomial one: Dvoretzky, Kiefer, Wolfowitz and Massart at 1e-9."""
    from scipy.stats import binom

    coins, bias, runs = 300, Fraction(2, 7), 20_000
    drawn = np.array([binomial(coins, bias) for _ in range(runs)])
    below = np.cumsum(np.bincount(drawn, minlength=coins + 1)) / runs
    assert np.abs(below - binom.cdf(np.arange(coins + 1), coins, float(bias))).max() < math.sqrt(math.log(2e9) / (2 * runs))


@pytest.mark.parametrize(("coins", "bias"), [(3, Fraction(-1, 2)), (3, Fraction(3, 2)), (-1, HALF)])
def test_what_is_no_coin_is_refused(coins, bias):
    with pytest.raises(InvalidInput):
        binomial(coins, bias)
