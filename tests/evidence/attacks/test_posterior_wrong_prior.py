"""A prior that is wrong about everybody is corrected by a private count; one person's own row moves odds by e^epsilon at most."""

from __future__ import annotations

from math import exp, log

import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks import posterior as module
from tacit.evidence.attacks.posterior import wrong_prior
from tacit.mechanisms.laplace import Laplace


@pytest.mark.parametrize("epsilon", ["0.25", "1", "3"])
@pytest.mark.parametrize("people", [2, 20])
def test_the_worlds_are_as_far_apart_as_their_people_and_one_row_as_epsilon(epsilon, people):
    found = wrong_prior(people, epsilon)
    assert found.log_odds == pytest.approx(people * float(epsilon))
    assert found.own_log_odds == pytest.approx(float(epsilon))
    assert found.holds
    assert found.after_in <= found.after_out <= found.before


def test_the_belief_falls_in_and_out_of_the_data_alike():
    found = wrong_prior()
    assert found.before == 0.99
    assert found.after_in < found.after_out < 1e-3
    odds = [log(belief / (1 - belief)) for belief in (found.after_in, found.after_out)]
    assert abs(odds[0] - odds[1]) <= found.epsilon


def test_the_mean_belief_by_hand():
    """Two people, epsilon ln 2: masses 1/3 times 2^-|k|; with a prior of 1/2 the belief after k is 1 / (1 + 2^(|k-2| - |k|))."""
    found = wrong_prior(2, epsilon=str(log(2)), prior="0.5")
    mean = sum(2.0 ** -abs(k) / 3 / (1 + 2.0 ** (abs(k - 2) - abs(k))) for k in range(-200, 200))
    assert found.after_in == pytest.approx(mean, abs=1e-9)
    assert exp(found.log_odds) == pytest.approx(4)


def test_noise_that_is_too_small_is_seen(monkeypatch):
    """The planted bug: noise for half of the sensitivity, under the claim of the whole."""
    monkeypatch.setattr(module, "Laplace", lambda sensitivity, epsilon, **other: Laplace(sensitivity, 2 * epsilon, **other))
    assert not wrong_prior().holds


def test_figures_and_chart(tmp_path):
    found = wrong_prior()
    assert "three arms" in found.summary()
    assert "Chad's own row moves odds by a factor of e^1 = 2.718 at most" in found.summary()
    assert found.to_dict()["predicted"] == 1
    found.chart(tmp_path / "arms.svg")
    assert "wrong about everybody" in (tmp_path / "arms.svg").read_text()


def test_too_few_and_too_many_are_refused():
    for people in (1, 61):
        with pytest.raises(InvalidInput, match="people must be at least 2"):
            wrong_prior(people)
