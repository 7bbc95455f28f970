"""Each weak answerer keeps the rule that it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from chance import normal_limit
from tacit.errors import InvalidInput
from tacit.evidence.attacks.answerers import Exact, MinimumSize, Noise, Noisy, Rounding, Suppressing, fair_bits

BITS = np.array([True] * 12 + [False] * 8)


def test_what_each_says():
    everyone, few = np.arange(20), np.arange(3)
    assert Exact(BITS).query(everyone) == 12
    assert Rounding(BITS).query(everyone) == 10
    assert Rounding(BITS).query(few) == 5
    assert Suppressing(BITS).query(everyone) == 12
    assert Suppressing(BITS).query(few) is None
    assert MinimumSize(Exact(BITS), 20).query(np.arange(4)) is None
    assert MinimumSize(Exact(BITS), 20).query(np.arange(16)) is None
    assert MinimumSize(Exact(BITS), 20).query(np.arange(15)) == 12


@pytest.mark.parametrize("text", ["bounded:3", "laplace:2", "gaussian:1.5"])
def test_noise_has_the_deviation_it_says(text):
    """A fixed seed; 20,000 draws. The square of Laplace noise has a deviation of sqrt(5) variances, of the others less."""
    noise = Noise.read(text)
    answerer = Noisy(BITS, noise, np.random.default_rng(1))
    drawn = np.array([answerer.query(np.arange(20)) for _ in range(20_000)]) - 12
    assert drawn.std() == pytest.approx(noise.deviation, rel=normal_limit(5**0.5 / 2, 20_000))
    assert abs(drawn.mean()) < normal_limit(noise.deviation, 20_000)


def test_no_noise_is_the_exact_count():
    assert Noisy(BITS, Noise.read("none")).query(np.arange(20)) == 12


@pytest.mark.parametrize("text", ["loud:3", "laplace", "laplace:x", "gaussian:-1", "gaussian:inf", "bounded:nan"])
def test_what_is_no_noise_is_refused(text):
    with pytest.raises(InvalidInput, match="laplace:SCALE"):
        Noise.read(text)


def test_bits_follow_the_seed():
    assert np.array_equal(fair_bits(50, 1), fair_bits(50, 1))
    assert not np.array_equal(fair_bits(50, 1), fair_bits(50, 2))
