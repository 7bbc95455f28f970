"""A public bound on the private scale: pure, on its grid, and high enough as often as it says."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from chance import most_hits
from tacit.errors import InvalidBudget, InvalidInput
from tacit.mechanisms.smooth import bound as module
from tacit.mechanisms.smooth.bound import SmoothBound
from tacit.mechanisms.smooth.estimates import SmoothQuantile, SmoothTrimmedMean
from tacit.privacy.law import worst_log_ratio
from tacit.privacy.loss import Pure
from tacit.privacy.rounding import exp_down, exp_up, log_up

MEDIAN = SmoothQuantile(0.5, lower=0, upper=1000, step=1, epsilon=1)
SOLD = SmoothBound(MEDIAN, epsilon=2, failure=0.05)
PAIRS = [([480, 490, 500, 510, 520], [480, 490, 510, 520]), ([0] * 6 + [1000] * 4, [0] * 5 + [1000] * 5), ([500] * 9, [500] * 8)]


@pytest.mark.parametrize("pair", PAIRS)
def test_the_exact_loss_is_within_epsilon(pair):
    one, other = (SOLD.law(values) for values in pair)
    assert max(worst_log_ratio(one, other), worst_log_ratio(other, one)) <= Decimal("2.000000000000000000001")


def test_it_is_close_to_epsilon_where_the_bounds_differ_by_all_of_beta():
    """Nine and eight equal rows: the bound changes by exactly e^beta, so the mechanism has no slack to hide an error in."""
    one, other = (SOLD.law(values) for values in ([500] * 7, [500] * 9))
    assert worst_log_ratio(one, other) > Decimal("1.9")


def test_a_logarithm_off_by_a_tenth_is_caught(monkeypatch):
    """Planted: the sensitivity of the logarithm taken 10 % too small."""
    monkeypatch.setattr(module.math, "ceil", lambda number: int(number * Fraction(9, 10)) if number > 9 else -(-number // 1))
    one, other = (SOLD.law(values) for values in ([500] * 7, [500] * 9))
    assert worst_log_ratio(one, other) > Decimal("2.1")


@pytest.mark.parametrize("values", [PAIRS[0][0], [500] * 30])
def test_the_listed_law_fails_as_often_as_it_says_and_hardly_less(values):
    _, bound = MEDIAN.statistic(MEDIAN.grid.rows(values))
    missed = sum(mass for outcome, mass in SOLD.law(values).probabilities.items() if Fraction(outcome) < bound)
    assert Decimal("0.045") < missed <= Decimal("0.05")


def test_releases_cover():
    """1,500 releases, of which at most 5 % are below the bound."""
    values = PAIRS[0][0]
    _, bound = MEDIAN.statistic(MEDIAN.grid.rows(values))
    missed = sum(Fraction(SOLD.release(values)) < bound for _ in range(1500))
    assert missed <= most_hits(1500, 0.05)


def test_half_widths_from_a_sold_bound_cover_the_quantile():
    """At least 0.95 - 0.05 in 1,500 pairs of releases."""
    values = [470, 480, 490, 500, 510, 520, 530]
    widths = {}
    missed = 0
    for _ in range(1500):
        most = SOLD.release(values)
        if most not in widths:
            widths[most] = MEDIAN.half_width(most, 0.95)
        missed += abs(MEDIAN.release(values) - 500) > widths[most]
    assert missed <= most_hits(1500, 0.10)


def test_never_above_what_any_bound_can_be():
    wide = SmoothBound(MEDIAN, epsilon=0.001)
    assert max(wide.release([]) for _ in range(200)) <= float(MEDIAN.largest_bound) * (1 + 1e-15)
    means = SmoothTrimmedMean(1, 0, 10, 0.5, epsilon=1, max_rows=3)
    assert SmoothBound(means, epsilon=0.01).release([1, 2, 3]) <= float(means.largest_bound) * (1 + 1e-15)


def test_event_and_loss():
    assert SOLD.loss == Pure(2)
    assert SOLD.event.scale == SOLD.event.sensitivity / 2
    assert SOLD.event.sensitivity * SOLD.log_step >= MEDIAN.beta


@pytest.mark.parametrize(("epsilon", "failure", "error"), [(0, 0.1, InvalidBudget), (1, 0, InvalidInput), (1, 1, InvalidInput)])
def test_what_is_no_parameter_is_refused(epsilon, failure, error):
    with pytest.raises(error):
        SmoothBound(MEDIAN, epsilon, failure)


@pytest.mark.parametrize("failure", ["0.001", "0.05", "0.3"])
@pytest.mark.parametrize("epsilon", [2, 20, 64, 150])
def test_the_lift_is_the_least_that_fails_as_seldom_as_it_must(epsilon, failure):
    """P[noise <= -k] is p^k / (1 + p); in floats, which are far from a tie here."""
    sold = SmoothBound(MEDIAN, epsilon, failure)
    ratio = math.exp(-1 / sold.event.scale)
    at, before = (ratio**k / (1 + ratio) for k in (sold.lift, sold.lift - 1))
    assert at <= float(failure) < before
    assert SmoothBound(MEDIAN, epsilon, "0.99").lift == 1, "a unit covers the rounding of the logarithm"


def test_roundings_make_the_bound_larger(monkeypatch):
    """What is rounded up is doubled, and what is rounded down halved: the lift and the bound only grow."""
    lift, bound = SOLD.lift, SOLD._at(100)
    monkeypatch.setattr(module, "exp_up", lambda value: 2 * exp_up(value))
    monkeypatch.setattr(module, "exp_down", lambda value: exp_down(value) / 2)
    assert SOLD.lift > lift
    assert SOLD._at(100) >= 2 * bound


def test_the_logarithm_is_rounded_to_its_nearest_unit():
    for bound in (Fraction(1, 7), Fraction(3), Fraction(50), Fraction(999)):
        assert abs(SOLD._log_units(bound) * SOLD.log_step - log_up(bound)) <= SOLD.log_step / 2


@pytest.mark.parametrize("step", [Fraction(1, 4), Fraction(4)])
def test_the_bound_is_in_the_unit_of_the_values(step):
    sold = SmoothBound(SmoothQuantile(0.5, lower=0, upper=1000, step=step, epsilon=1), epsilon=2)
    assert sold._at(10**6) == pytest.approx(1000, rel=1e-11)  # the largest there is
    for units in (-400, -100, 0):
        assert sold._at(units) == pytest.approx(float(step) * math.exp((units + sold.lift) * sold.log_step), rel=1e-12)


def test_the_grid_of_the_logarithm_is_just_fine_enough():
    """A beta of 1 is the limit: 64 units, and not 128."""
    assert SmoothBound(SmoothQuantile(0.5, 0, 1000, 1, epsilon=6), epsilon=1).log_step == Fraction(1, 64)
    assert SmoothBound(MEDIAN, 1).failure == Fraction(1, 100)
