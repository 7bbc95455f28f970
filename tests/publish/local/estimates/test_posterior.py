"""The posterior of one person after a report: Bayes' rule, the lecture's two cases, and odds that move by e^epsilon at most."""

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.mechanisms.randomized_response import posterior as posterior_of_a_bit
from tacit.publish.local.estimates.posterior import posterior
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.hadamard import HadamardResponse
from tacit.publish.local.randomizers.randomizer import Channel
from tacit.publish.local.randomizers.unary import Unary


@given(
    st.fractions(Fraction(1, 100), Fraction(1, 2), max_denominator=100), st.fractions(0, 1, max_denominator=50), st.integers(0, 1)
)
def test_a_bit_is_as_in_the_mechanism(flip, prior, report):
    after = posterior(Binary.with_flip(flip).channel, {0: 1 - prior, 1: prior}, report)
    assert after[1] == posterior_of_a_bit(flip, prior, report)


def test_the_lectures_two_cases():
    """p = 1/2 leaves the prior, p = 0 gives the answer away; the second is no randomizer, and a channel all the same."""
    third = {0: Fraction(2, 3), 1: Fraction(1, 3)}
    half, one = Fraction(1, 2), Fraction(1)
    assert posterior(Channel((0, 1), (0, 1), ((half, half), (half, half))), third, 1) == third
    assert posterior(Channel((0, 1), (0, 1), ((one, 0 * one), (0 * one, one))), third, 1)[1] == 1
    assert posterior_of_a_bit("1/2", "1/3", 1) == Fraction(1, 3)
    assert posterior_of_a_bit(0, "1/3", 1) == 1


@pytest.mark.parametrize("randomizer", [KAry(4, 1), Unary(4, 1), HadamardResponse(4, 2)], ids=["k-ary", "unary", "Hadamard"])
def test_no_odds_move_by_more_than_the_worst_ratio(randomizer):
    channel, prior = randomizer.channel, {0: "1/2", 1: "1/4", 2: "1/8", 3: "1/8"}
    worst = Fraction(0)
    for report in channel.outputs:
        after = posterior(channel, prior, report)
        assert sum(after.values()) == 1
        for one, other in permutations(range(4), 2):
            worst = max(worst, after[one] / after[other] / (Fraction(prior[one]) / Fraction(prior[other])))
    assert worst == channel.worst_ratio
    assert channel.within(randomizer.epsilon)


def test_a_prior_that_leaves_answers_out():
    after = posterior(KAry(3, 1).channel, {2: 1}, 0)
    assert after == {0: 0, 1: 0, 2: 1}


def test_what_is_refused():
    channel = KAry(3, 1).channel
    with pytest.raises(InvalidInput, match="sum to exactly 1"):
        posterior(channel, {0: 0.5, 1: 0.4}, 0)
    with pytest.raises(InvalidInput, match="not one of the 3"):
        posterior(channel, {7: 1}, 0)
    with pytest.raises(InvalidInput, match="report is not one"):
        posterior(channel, {0: 1}, 7)
    for wrong in ((KAry(3, 1), {0: 1}), (channel, [1, 0, 0])):
        with pytest.raises(InvalidInput, match="requires a channel, such as"):
            posterior(*wrong, 0)
    one = Fraction(1)
    with pytest.raises(InvalidInput, match="cannot occur"):
        posterior(Channel((0, 1), (0, 1), ((one, 0 * one), (0 * one, one))), {0: 1}, 1)
