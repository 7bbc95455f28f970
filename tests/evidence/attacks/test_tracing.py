"""Tracing: members are recognized from exact proportions as predicted, not past sqrt(d)/n, and not from private ones."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from chance import most_hits
from tacit.errors import InvalidInput
from tacit.evidence.attacks.reconstruction_curves import regimes
from tacit.evidence.attacks.tracing import against, generate, predicted_rate, tracing, tracing_noise, true_positives
from tacit.mechanisms.gaussian import Gaussian
from tacit.privacy.loss import largest_concentrated_down


@pytest.fixture(scope="module")
def found():
    """Fixed seeds."""
    return tracing(100, 5000, runs=4)


def test_without_noise_all_members_are_recognized_and_at_the_line_hardly_any(found):
    rates = [level.recovered for level in found.levels]
    assert rates[0] == 1
    assert rates[2] < 0.1
    assert rates[3] < 0.1


def test_the_rates_are_as_predicted(found):
    for level in found.levels:
        assert level.recovered == pytest.approx(level.predicted, abs=0.05)


def test_between_the_regimes_the_prediction_holds_too():
    """Fixed seeds; where the rate is near one half it varies most."""
    noise = tracing_noise(100, 2000)
    (level,) = tracing(100, 2000, [noise], runs=6).levels
    assert level.predicted == pytest.approx(0.5, abs=1e-6)
    assert level.recovered == pytest.approx(0.5, abs=0.12)


def test_strangers_are_not_taken_for_members():
    """Fixed seed: other strangers pass the threshold of 1% in about 1%."""
    population, members, strangers = generate(100, 2000, np.random.default_rng(1))
    others = (np.random.default_rng(2).random((2000, 2000)) < population).astype(float)
    assert true_positives(members.mean(axis=0), population, others, strangers) < 0.03


def test_a_private_release_defends_and_the_same_noise_without_d_in_it_does_not():
    """Epsilon 1, delta 1e-6 for all proportions: rates of e * 0.01 are allowed, to 150 members."""
    people, statistics = 50, 2000
    rho = largest_concentrated_down(Fraction(1), Fraction(1, 10**6))
    private = Gaussian(sensitivity=sqrt(statistics) / people, rho=rho, dimension=statistics)
    assert 150 * against(private.release, people, statistics, runs=3) <= most_hits(150, 0.03)
    planted = Gaussian(sensitivity=1 / people, rho=rho, dimension=statistics)
    assert against(planted.release, people, statistics, runs=3) > 0.5


def test_figures_and_chart(found, tmp_path):
    assert len(found.summary().splitlines()) == 5
    assert [level["noise"] for level in found.to_dict()["levels"]] == pytest.approx([0, 0.3536, 0.7071, 2.8284], abs=1e-3)
    found.chart(tmp_path / "trace.svg")
    assert "members recognized" in (tmp_path / "trace.svg").read_text()


def test_nothing_to_trace_is_refused():
    with pytest.raises(InvalidInput, match="must be at least 1"):
        tracing(1, 5)


def test_too_few_statistics_cannot_trace():
    assert tracing_noise(100, 50) == 0
    assert predicted_rate(100, 5, 0) < 0.05


def test_both_regimes_lie_below_the_line_and_attacks_work_below_and_fail_above(tmp_path):
    """Fixed seeds."""
    shown = regimes(100, (1500, 4000), runs=2)
    for place in range(2):
        assert shown.reconstruction[place] < shown.line[place]
        assert shown.tracing[place] < shown.line[place]
        assert shown.below["reconstruction"][place] > 0.95 > 0.85 > shown.above["reconstruction"][place]
        assert shown.below["tracing"][place] > 0.6 > 0.35 > shown.above["tracing"][place]
    shown.chart(tmp_path / "regimes.svg")
    assert "sqrt(d)/n" in (tmp_path / "regimes.svg").read_text()
    assert len(shown.summary().splitlines()) == 2
    assert set(shown.to_dict()) >= {"reconstruction", "tracing", "line"}
