"""Beliefs before and after: Bayes' rule by hand, and odds within e^epsilon for every mechanism and prior."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks.posterior import posterior, posterior_of
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.privacy.law import Law

COIN = {"ill": Law({1: Decimal("0.8"), 0: Decimal("0.2")}), "well": Law({1: Decimal("0.4"), 0: Decimal("0.6")})}


def test_bayes_by_hand():
    found = posterior(COIN, {"ill": "1/4", "well": "3/4"})
    assert found.after["ill"][found.outcomes.index(1)] == pytest.approx(0.2 / (0.2 + 0.3))
    assert found.after["ill"][found.outcomes.index(0)] == pytest.approx(0.05 / (0.05 + 0.45))
    assert found.log_odds == pytest.approx(1.0986, abs=1e-4)


@pytest.mark.parametrize("prior", ["0.01", "0.5", "0.99"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_odds_move_by_the_claim_at_most_whatever_the_prior(epsilon, prior):
    mechanism = Laplace(sensitivity=1, epsilon=epsilon, step=1, on_grid=True)
    found = posterior_of(mechanism, {"in": 5, "out": 4}, {"in": prior, "out": 1 - float(prior)})
    assert found.log_odds == pytest.approx(float(epsilon))
    odds = float(prior) / (1 - float(prior)) * 2.718281828459045 ** float(epsilon)
    assert found.largest["in"] <= odds / (1 + odds) * (1 + 1e-9)


def test_three_candidates_and_no_prior():
    found = posterior_of(RandomizedResponse(epsilon=1), {"a": 1, "b": 0, "c": 0})
    assert found.prior == {"a": pytest.approx(1 / 3), "b": pytest.approx(1 / 3), "c": pytest.approx(1 / 3)}
    assert found.log_odds == pytest.approx(1)


def test_an_output_that_only_one_candidate_gives_is_without_limit():
    """The planted bug: a release without noise."""
    exact = {"in": Law({5: Decimal(1)}), "out": Law({4: Decimal(1)})}
    found = posterior(exact)
    assert found.log_odds == float("inf")
    assert found.largest == {"in": 1, "out": 1}
    assert "without limit" in found.summary()
    assert found.to_dict()["log_odds"] == "infinite"


def test_half_the_noise_is_seen():
    """The planted bug: noise for half of the sensitivity."""
    mechanism = Laplace(sensitivity=1, epsilon=1, step=1, on_grid=True)
    assert posterior_of(mechanism, {"in": 6, "out": 4}).log_odds == pytest.approx(2)


def test_what_is_no_prior_is_refused():
    for prior in ({"ill": 0, "well": 0}, {"ill": -1, "well": 2}):
        with pytest.raises(InvalidInput, match="a weight of at least 0"):
            posterior(COIN, prior)
    with pytest.raises(InvalidInput, match="two or more candidates"):
        posterior({"ill": COIN["ill"]})


def test_the_chart_needs_numbers(tmp_path):
    posterior(COIN).chart(tmp_path / "belief.svg")
    assert "belief after it" in (tmp_path / "belief.svg").read_text()
    words = {"a": Law({"x": Decimal(1)}), "b": Law({"x": Decimal(1)})}
    with pytest.raises(InvalidInput, match="numeric outcomes"):
        posterior(words).chart()
