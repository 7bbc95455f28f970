"""Bounds of sums of independent terms: exact tails of small sums, and how the bounds relate."""

from fractions import Fraction
from math import comb, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.local.estimates.concentration import GUARANTEED, SUM_BOUNDS, Scatter
from tacit.publish.local.estimates.intervals import Setting, margin

chances = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20)


def tail(people, chance, beyond):
    """P(|mean of coins - chance| > beyond), exactly."""
    return sum(
        comb(people, k) * chance**k * (1 - chance) ** (people - k)
        for k in range(people + 1)
        if abs(Fraction(k, people) - chance) > beyond
    )


@given(st.integers(1, 60), chances, st.sampled_from([Fraction(1, 100), Fraction(1, 20), Fraction(1, 3)]))
def test_guaranteed_half_widths_are_exceeded_no_more_often_than_said(people, chance, miss):
    scatter = Scatter.of_mean(people, chance * (1 - chance), Fraction(1))
    for bound in GUARANTEED:
        assert tail(people, chance, Fraction(scatter.half_width(bound, miss))) <= miss


@pytest.mark.parametrize("bound", GUARANTEED)
def test_a_planted_half_width_is_caught(bound):
    """A third of the half-width leaves a tail that is too heavy."""
    scatter = Scatter.of_mean(40, Fraction(1, 4), Fraction(1))
    assert tail(40, Fraction(1, 2), Fraction(scatter.half_width(bound, Fraction(1, 20)) / 3)) > Fraction(1, 20)


def test_the_formulas():
    scatter, miss = Scatter.of_mean(400, Fraction(9), Fraction(12)), Fraction(1, 20)
    assert scatter.half_width("chebyshev", miss) == pytest.approx(3 / sqrt(400 * 0.05))
    assert scatter.half_width("hoeffding", miss) == pytest.approx(12 * sqrt(log(40) / 800))
    linear = 12 * log(40) / 1200
    assert scatter.half_width("bernstein", miss) == pytest.approx(linear + sqrt(linear**2 + 2 * 9 * log(40) / 400))
    assert scatter.half_width("normal", miss) == pytest.approx(1.959964 * 3 / 20, rel=1e-6)


def test_shares_have_the_margins_of_their_own_module():
    """The same bounds by two roads."""
    setting = Setting(Fraction(3, 4), Fraction(1, 4), 1000, Fraction(1, 20))
    for bound in SUM_BOUNDS:
        assert Scatter.of_share(setting).half_width(bound, setting.miss) == pytest.approx(margin(setting, bound), rel=1e-9)


def test_sums_of_two():
    one, other = Scatter.of_mean(10, Fraction(1), Fraction(2)), Scatter.of_mean(20, Fraction(1), Fraction(2))
    assert one + other == Scatter(Fraction(3, 20), Fraction(3, 5), Fraction(1, 5))


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="at least 1"):
        Scatter.of_mean(0, Fraction(1), Fraction(1))
    with pytest.raises(InvalidInput, match="one of"):
        Scatter.of_mean(5, Fraction(1), Fraction(1)).half_width("chernoff", Fraction(1, 20))
