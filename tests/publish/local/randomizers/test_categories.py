"""k-ary and binary answers: the two constants, the figures of the specification, many draws, bad input."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chance import plausible_hits
from tacit.errors import InvalidBudget, InvalidInput
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.publish.local.randomizers.categories import Binary, KAry


@given(st.integers(2, 1000), st.fractions(min_value=Fraction(1, 100), max_value=10).filter(bool))
def test_the_constants_are_those_of_the_definition(size, epsilon):
    response = KAry(size, epsilon)
    assert response.hit + (size - 1) * response.false_hit == 1
    assert float(response.hit) == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + size - 1), rel=1e-12)


@pytest.mark.parametrize(("size", "printed"), [(2, 0.92067), (4, 1.59807), (16, 5.66243), (100, 34.11297)])
def test_the_variance_at_a_share_of_zero(size, printed):
    """n Var = q (1 - q) / (p - q)^2 at epsilon 1."""
    response = KAry(size, 1)
    variance = response.false_hit * (1 - response.false_hit) / (response.hit - response.false_hit) ** 2
    assert float(variance) == pytest.approx(printed, abs=5e-6)


def test_a_hundred_thousand_people_are_reported_as_often_as_they_should():
    response, people = KAry(100, 1), 100_000
    counts = response.supports(response.randomize(np.full(people, 7)))
    expected = np.full(100, float(response.false_hit))
    expected[7] = float(response.hit)
    assert plausible_hits(counts, people, expected)


def test_a_ratio_is_kept_as_it_is_given():
    response = KAry.with_ratio(5, Fraction(7, 2))
    assert response.hit / response.false_hit == Fraction(7, 2)
    assert float(response.epsilon) == pytest.approx(math.log(3.5))
    with pytest.raises(InvalidInput, match="above 1"):
        KAry.with_ratio(5, Fraction(1))


def test_binary_is_randomized_response():
    answer = Binary(1)
    assert answer.response == RandomizedResponse(1)
    assert (answer.hit, answer.false_hit, answer.size) == (1 - answer.flip, answer.flip, 2)
    assert answer.channel == KAry.with_ratio(2, answer.hit / answer.flip).channel
    assert Binary.with_flip("1/4").flip == Fraction(1, 4)
    assert Binary(1).randomize([True, False, 1]).dtype == np.int8
    assert Binary(1).randomize(1) in (0, 1)
    assert answer.supports([0, 1, 1]).tolist() == [1, 2]


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "one"])
def test_what_is_no_budget_is_refused(bad):
    with pytest.raises(InvalidBudget):
        KAry(3, bad)
    with pytest.raises(InvalidBudget):
        Binary(bad)
