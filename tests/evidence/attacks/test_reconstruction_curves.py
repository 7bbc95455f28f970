"""Curves of reconstruction: as predicted along noise and along questions; and noise of order sqrt(T) holds."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from chance import most_hits, normal_limit
from tacit.evidence.attacks.answerers import Noise, fair_bits
from tacit.evidence.attacks.reconstruction import Subsets, Trials, least_absolute, predicted_share, reconstruct
from tacit.evidence.attacks.reconstruction_curves import attempt, breaking_noise, feasible, over_noise, over_questions
from tacit.mechanisms.gaussian import Gaussian
from tacit.privacy.loss import largest_concentrated_down


def test_along_noise_the_share_falls_as_predicted():
    """Fixed seeds; 8 runs of 96 bits."""
    curve = over_noise(96, 384, runs=8)
    for point in curve.points:
        assert point.recovered == pytest.approx(point.predicted, abs=normal_limit(0.5, 8 * 96))
    assert curve.points[0].recovered == 1
    assert curve.points[-1].recovered < 0.7


def test_along_questions_the_share_rises_as_predicted():
    """Fixed seeds."""
    curve = over_questions(64, Noise("gaussian", 4.0), (1.5, 4, 16), runs=8)
    for point in curve.points:
        assert point.recovered == pytest.approx(point.predicted, abs=normal_limit(0.5, 8 * 64))
    assert curve.points[0].recovered < curve.points[-1].recovered


def test_the_breaking_noise_breaks():
    shares = [attempt(128, 512, Noise("gaussian", breaking_noise(128, 512)), seed).recovered for seed in range(10)]
    assert np.mean(shares) == pytest.approx(0.95, abs=0.03)
    assert breaking_noise(100, 50) == 0


def test_feasible_noise_holds_and_costs_what_it_says():
    """Our own Gaussian noise, 512 answers. 10 runs of 128 bits, each right with 0.516."""
    found = feasible(128, [512, 2048, 8192])
    assert all(private > 10 * broken for private, broken in zip(found.private, found.breaking, strict=True))
    assert found.private[1] / found.private[0] == pytest.approx(2, rel=0.01)
    whole = largest_concentrated_down(Fraction(1), Fraction(1, 10**6))
    noise, shares = Gaussian(sensitivity=1, rho=whole / 512, step=1, on_grid=True), []
    assert 512 * noise.loss.rho <= whole
    for run in range(10):
        subsets, bits = Subsets(128, 512, run), fair_bits(128, run)
        answers = [noise.release(int(bits[subset].sum())) for subset in subsets]
        shares.append(reconstruct(subsets, answers, truth=bits).recovered)
    assert 128 * sum(shares) <= most_hits(1280, 0.516)
    assert predicted_share(128, 512, found.private[0]) == found.predicted[0] < 0.52


def test_noise_for_one_question_is_too_little_for_many():
    """The planted bug: noise that lacks sqrt(T), so that it is far below the feasible one (a fixed seed)."""
    noise = Noise("gaussian", feasible(128, [512]).private[0] / sqrt(512))
    found = attempt(128, 512, noise, 1)
    assert found.recovered == pytest.approx(found.predicted, abs=0.1)
    assert found.recovered > 0.75


def test_programs_have_curves_too(tmp_path):
    curve = over_noise(32, 128, "bounded", runs=1, solver=least_absolute)
    curve.chart(tmp_path / "curve.svg")
    assert "share of bits recovered" in (tmp_path / "curve.svg").read_text()
    assert len(curve.to_dict()["points"]) == len(curve.points) == len(curve.summary().splitlines())
    feasible(32, [64, 128]).chart(tmp_path / "feasible.svg")
    assert "private, epsilon 1" in (tmp_path / "feasible.svg").read_text()


def test_trials_are_told_with_their_mean():
    runs = tuple(attempt(32, 128, Noise("gaussian", 8.0), seed) for seed in range(3))
    found = Trials("noisy counts", runs)
    assert found.recovered == pytest.approx(np.mean([run.recovered for run in runs]))
    assert found.to_dict()["shares"] == [run.recovered for run in runs]
    assert "3 runs" in found.summary()
