"""All subset counts within alpha: every consistent candidate is within 4 alpha, and none of that can be spared."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks.answerers import fair_bits
from tacit.evidence.attacks.exponential_adversary import HalfWay, _digits, between, counts, exponential_adversary


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


@pytest.mark.parametrize("seed", range(5))
def test_the_worst_answers_reach_four_alpha_and_no_more(seed):
    """And these are within alpha: every one of all 4,096."""
    truth = fair_bits(12, seed)
    answers = HalfWay.worst(truth, 1)
    assert np.abs(answers.to(_digits(np.arange(4096), 12)) - counts(truth)).max() == 1
    found = exponential_adversary(truth, 1, answers)
    assert found.by_distance[:6] == (1, 0, 4, 0, 1, 0)
    assert len(found.wrong) == found.farthest == found.bound == 4
    assert not found.blatant


def test_forty_people_with_alpha_1_are_blatantly_not_private():
    truth = fair_bits(40, 0)
    found = exponential_adversary(truth, 1, HalfWay.worst(truth, 1))
    assert (found.farthest, found.bound, found.predicted, found.blatant) == (4, 4, 0.9, True)
    assert found.questions < 10_000
    assert "blatant non-privacy" in found.summary()
    assert "2^40" in found.summary()
    assert found.to_dict()["blatant_non_privacy"] is True


def test_the_question_that_rules_a_candidate_out():
    truth = np.array([1, 0, 1, 0, 1, 0, 1, 0])
    found = exponential_adversary(truth, 1, HalfWay.worst(truth, 1))
    example = found.ruled_out
    candidate = truth.copy()
    candidate[np.array(example.wrong) - 1] ^= 1
    asked = np.array(example.question) - 1
    assert len(example.wrong) == found.bound + 1
    assert candidate[asked].sum() == example.count
    assert abs(example.count - example.answer) > 1 >= abs(truth[asked].sum() - example.answer)
    assert "is ruled out by the question about rows 2, 4 and 6" in found.summary()
    assert exponential_adversary([1], 1).ruled_out is None  # nobody is too far


@pytest.mark.parametrize("alpha", [-1, float("nan")])
def test_an_error_is_not_negative(alpha):
    with pytest.raises(InvalidInput, match="at least 0"):
        exponential_adversary(fair_bits(6, 1), alpha)


def test_the_chart_is_saved(tmp_path):
    exponential_adversary(fair_bits(6, 1), alpha=0.5).chart(tmp_path / "agree.svg")
    assert "4 alpha" in (tmp_path / "agree.svg").read_text()
