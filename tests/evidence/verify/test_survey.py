"""A survey's law: it is that of its reports, its mean is the share, and a swapped estimator's is one minus it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tacit.evidence.verify.plants import PlantedSwap
from tacit.evidence.verify.survey import SurveyedShare
from tacit.mechanisms.randomized_response import RandomizedResponse

RESPONSE = RandomizedResponse.with_flip("1/4")


def mean(law):
    return sum(float(weight) * outcome for outcome, weight in law.probabilities.items())


@pytest.mark.parametrize("ones", [0, 3, 10])
def test_the_estimate_is_unbiased_and_the_swapped_one_estimates_the_rest(ones):
    share = Fraction(ones, 10)
    assert mean(SurveyedShare(10, RESPONSE).law(share)) == pytest.approx(float(share), abs=1e-12)
    assert mean(PlantedSwap(10, RESPONSE).law(share)) == pytest.approx(1 - float(share), abs=1e-12)


def test_the_law_lists_what_is_released():
    survey = SurveyedShare(10, RESPONSE)
    assert {survey.release(Fraction(3, 10)) for _ in range(200)} <= set(survey.law(Fraction(3, 10)).probabilities)
