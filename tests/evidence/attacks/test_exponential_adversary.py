"""All subset counts within alpha: every consistent candidate is within 4 alpha, and none of that can be spared."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks.answerers import fair_bits
from tacit.evidence.attacks.exponential_adversary import between, counts, exponential_adversary


@pytest.mark.parametrize("seed", range(20))
def test_with_noise_below_alpha_no_candidate_is_farther_than_4_alpha(seed):
    found = exponential_adversary(fair_bits(8, seed), alpha=1, seed=seed)
    assert found.farthest <= 4 == found.bound
    assert found.by_distance[0] == 1


def test_the_bound_is_reached_by_answers_half_way():
    truth, other = np.array([1, 1, 0, 0, 1, 0, 0, 1, 0]), np.array([0, 0, 1, 1, 1, 0, 0, 1, 0])
    answers = between(truth, other)
    assert np.abs(answers - counts(truth)).max() == 1
    assert exponential_adversary(truth, alpha=1, answers=answers).farthest == 4


def test_answers_that_are_less_exact_than_they_say_break_the_theorem():
    """The planted bug: answers off by 2 that claim to be within 1. The check can fail."""
    truth, other = np.array([1, 1, 1, 1, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    found = exponential_adversary(truth, alpha=1, answers=counts(other))
    assert found.farthest == 8 > found.bound


def test_a_fortieth_of_the_people_gives_nine_tenths_away():
    found = exponential_adversary(fair_bits(10, 4), alpha=10 / 40)
    assert found.predicted >= 0.9
    assert found.recovered >= 0.9
    assert "10 people" in found.summary()
    assert found.to_dict()["bound"] == 1


def test_answers_within_half_of_the_people_give_nothing_away():
    found = exponential_adversary(fair_bits(8, 4), alpha=4, answers=np.full(256, 4.0))
    assert (found.candidates, found.recovered) == (256, 0)


def test_too_many_people_are_refused():
    with pytest.raises(InvalidInput, match="2\\^n candidates"):
        exponential_adversary(np.zeros(15), alpha=1)


def test_the_chart_is_saved(tmp_path):
    exponential_adversary(fair_bits(6, 1), alpha=0.5).chart(tmp_path / "agree.svg")
    assert "4 alpha" in (tmp_path / "agree.svg").read_text()
