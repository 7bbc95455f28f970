"""The two ends of randomized response: what they tell, and that nobody is asked at either."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from chance import mean_limit
from tacit.errors import InvalidInput
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.publish.local.estimates.simulate import End
from tacit.publish.local.randomizers.categories import Binary

BITS = np.repeat([1, 0], [3_000, 7_000])


def test_at_0_every_report_is_the_answer():
    end = End(0)
    assert end.epsilon == inf
    assert (end.randomize(BITS) == BITS).all()
    assert end.estimate(end.randomize(BITS)) == 0.3
    assert [end.posterior("0.3", report) for report in (1, 0)] == [1, 0]


def test_at_a_half_every_report_is_a_fair_coin_whatever_the_answer():
    """10,000 fair coins, looked at in six ways."""
    end = End(0.5)
    assert end.epsilon == 0
    for bits in (BITS, 1 - BITS, np.ones(10_000, dtype=int)):
        reports = end.randomize(bits)
        assert set(np.unique(reports)) == {0, 1}
        assert abs(reports.mean() - 0.5) < mean_limit(10_000, among=6)
        assert abs((reports == bits).mean() - 0.5) < mean_limit(10_000, among=6)
        assert end.estimate(reports) is None
    assert [end.posterior("0.3", report) for report in (1, 0)] == [Fraction(3, 10)] * 2


def test_a_report_that_cannot_come_says_nothing():
    assert End(0).posterior(0, 1) is None
    assert End(0).posterior(1, 0) is None
    assert End("1/2").posterior(0, 1) == 0


@pytest.mark.parametrize("flip", ["1/4", 1, -1])
def test_what_is_not_an_end_is_refused(flip):
    with pytest.raises(InvalidInput, match="0 or 1/2"):
        End(flip)


def test_nobody_is_asked_at_an_end():
    for ask in (RandomizedResponse.with_flip, Binary.with_flip):
        with pytest.raises(InvalidInput, match="above 0"):
            ask(0)
    with pytest.raises(InvalidInput, match="below 1/2"):
        Binary.with_flip("1/2")
