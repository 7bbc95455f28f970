"""Smooth quantiles and trimmed means as mechanisms: exact losses between neighbours, and nothing that tells the scale."""

import math
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import follows_law
from tacit.accounting.events import SmoothNoise
from tacit.errors import InvalidBudget, InvalidInput, InvalidValue
from tacit.mechanisms.mechanism import Listed, WithError
from tacit.mechanisms.smooth import estimates
from tacit.mechanisms.smooth.estimates import SmoothQuantile, SmoothTrimmedMean
from tacit.mechanisms.smooth.sensitivity import order_place
from tacit.privacy.law import hockey_stick, worst_log_ratio
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Approximate, Neighbours, Pure
from tacit.privacy.sealed import Sealed

MEDIAN = SmoothQuantile(0.5, lower=0, upper=1000, step=1, epsilon=1)
EVEN = list(range(450, 551))  # every gap is 1 and the bounds are far: the noise is small beside the range, and its tails show


def by_one_unit(values, max_rows):
    """Some neighbours that hurt: rows gone from the middle or from an end, rows come in the middle or at a bound."""
    middle = len(values) // 2
    removed = [values[: middle - k] + values[middle:] for k in range(1, max_rows + 1)] + [values[max_rows:], values[:-max_rows]]
    added = [[*values, *more] for more in ([0] * max_rows, [1000] * max_rows, [values[middle]] * max_rows)]
    return removed + added


def worst_loss(mechanism, values, max_rows=1):
    """The largest log-ratio between the law of the values and those of their neighbours, both ways."""
    law = mechanism.law(values)
    others = [mechanism.law(other) for other in by_one_unit(values, max_rows)]
    return max(max(worst_log_ratio(law, other), worst_log_ratio(other, law)) for other in others)


@pytest.mark.parametrize("gamma", [1.5, 2, 4, 16])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_the_exact_loss_of_a_quantile_is_within_epsilon(gamma, max_rows):
    mechanism = SmoothQuantile(0.5, 0, 1000, 1, epsilon=1, gamma=gamma, max_rows=max_rows)
    assert 0 < worst_loss(mechanism, EVEN, max_rows) <= 1


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 30), max_size=7),
    st.lists(st.integers(0, 30), min_size=1, max_size=2),
    st.sampled_from([0, 0.25, 0.5, 0.9, 1]),
    st.sampled_from([1.5, 2, 4]),
)
def test_the_exact_loss_on_random_neighbours(values, unit, q, gamma):
    mechanism = SmoothQuantile(q, 0, 30, 1, epsilon=2, gamma=gamma, max_rows=2)
    one, other = mechanism.law(values), mechanism.law(values + unit)
    assert max(worst_log_ratio(one, other), worst_log_ratio(other, one)) <= 2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=6), st.lists(st.integers(0, 30), min_size=1, max_size=2), st.integers(0, 2))
def test_the_exact_loss_of_trimmed_means(values, unit, trim):
    mechanism = SmoothTrimmedMean(trim, 0, 30, 1, epsilon=2, max_rows=2)
    one, other = mechanism.law(values), mechanism.law(values + unit)
    assert max(worst_log_ratio(one, other), worst_log_ratio(other, one)) <= 2


def test_laplace_tails_stay_within_epsilon_and_delta():
    mechanism = SmoothQuantile(0.5, 0, 1000, 1, epsilon=1, delta=1e-3, gamma=None)
    law = mechanism.law(EVEN)
    needed = [
        max(hockey_stick(law, other, Decimal(1)), hockey_stick(other, law, Decimal(1)))
        for other in (mechanism.law(values) for values in by_one_unit(EVEN, 1))
    ]
    assert max(needed) <= Decimal("0.001")


# Planted bugs


def adjacent_gaps(rows, q, beta, max_rows):
    """The formula with gaps between neighbouring rows only, as it is often printed."""
    place = order_place(q, rows.size)
    near = ((k, max(rows.at(place + t) - rows.at(place + t - 1) for t in range(-k, k + 2))) for k in range(rows.size + 1))
    return Fraction(max(gap * math.exp(-float(beta) * k) for k, gap in near))


def local_sensitivity(rows, q, beta, max_rows):
    place = order_place(q, rows.size)
    return Fraction(max(rows.at(place + 1) - rows.at(place), rows.at(place) - rows.at(place - 1), Fraction(1, 2**40)))


@pytest.mark.parametrize("planted", [adjacent_gaps, local_sensitivity])
def test_bounds_that_are_not_smooth_break_the_promise(monkeypatch, planted):
    assert worst_loss(MEDIAN, EVEN) <= 1
    monkeypatch.setattr(estimates, "smooth_order_statistic", planted)
    assert worst_loss(MEDIAN, EVEN) > Decimal("1.5")


def test_noise_that_is_too_small_breaks_the_promise(monkeypatch):
    """A tenth of the scale. (A calibration with slack hides smaller errors from any measurement, not from the proof.)"""
    true = estimates.smooth_order_statistic
    monkeypatch.setattr(estimates, "smooth_order_statistic", lambda *given: true(*given) / 10)
    assert worst_loss(MEDIAN, EVEN) > Decimal("1.5")


def test_units_priced_as_rows_break_the_promise():
    """The three least rows are one unit; without it the minimum is 200 higher."""
    everybody, without = [400] * 3 + [600] * 100, [600] * 100
    for max_rows, kept in ((1, False), (3, True)):
        least = SmoothQuantile(0, 400, 1000, 1, epsilon=6, max_rows=max_rows)
        one, other = least.law(everybody), least.law(without)
        assert (max(worst_log_ratio(one, other), worst_log_ratio(other, one)) <= 6) is kept


def test_local_sensitivity_separates_two_neighbours(monkeypatch):
    """Six zeros and four L against five and five: with noise of local sensitivity the first always answers 0, the second hardly."""
    mechanism = SmoothQuantile(0.5, 0, 1000, 1, epsilon=1, neighbours=CHANGE_ONE)
    one, other = [0] * 6 + [1000] * 4, [0] * 5 + [1000] * 5
    assert worst_log_ratio(mechanism.law(one), mechanism.law(other)) <= 1
    monkeypatch.setattr(estimates, "smooth_order_statistic", local_sensitivity)
    # clamping puts everything below 0 on 0, so the answer 0 is half of the second law; any other answer gives it away
    assert 1 - mechanism.law(one).probabilities[0] < Decimal("1e-30")
    assert 1 - mechanism.law(other).probabilities[0] > Decimal("0.4")


# Draws


@pytest.mark.parametrize(
    "mechanism",
    [
        SmoothQuantile(0.5, 0, 20, 1, epsilon=3),
        SmoothQuantile(0.9, 0, 20, 1, epsilon=3, gamma=2, max_rows=2),
        SmoothQuantile(0.5, 0, 20, 1, epsilon=3, delta=1e-2, gamma=None),
        SmoothTrimmedMean(1, 0, 20, 1, epsilon=3),
    ],
    ids=str,
)
def test_releases_follow_the_listed_law(mechanism):
    """3,000 releases. Planted: a neighbouring law."""
    values = [8, 9, 10, 11, 12]
    outcomes = [mechanism.release(values) for _ in range(3000)]
    assert follows_law(outcomes, mechanism.law(values).probabilities)
    assert not follows_law(outcomes, mechanism.law([12, 13, 14, 15, 16]).probabilities)


def test_accepts_rows_counts_and_sealed_ones_alike(monkeypatch):
    given_forms = [
        [1, 2, 2, 5],
        (2, 5, 1, 2),
        np.array([5.0, 2.0, 2.2, 1.0]),
        ([2, 5, 1], [2, 1, 1]),
        Sealed((np.array([1, 2, 5]), np.array([1, 2, 1]))),
        Sealed((np.array([2, 5, 1, 2]), None)),
    ]
    laws = [MEDIAN.law(form).probabilities for form in given_forms]
    assert all(law == laws[0] for law in laws)
    assert 0 <= MEDIAN.release_units([1, 2, 2, 5]) <= 1000
    assert 0 <= MEDIAN.release_units(Sealed([1, 2, 5]), counts=Sealed([1, 2, 1])) <= 1000


def test_values_are_clamped_and_the_release_lies_on_the_grid():
    mechanism = SmoothQuantile(0.5, -1, 1, 0.25, epsilon=0.1)
    assert mechanism.law([1e300, 1e300, -5]).probabilities == mechanism.law([1, 1, -1]).probabilities
    assert {mechanism.release([0.1, 0.2, 9]) for _ in range(60)} <= {k / 4 for k in range(-4, 5)}
    assert isinstance(MEDIAN.release([3]), int)


def test_no_rows_answer_with_the_middle():
    law = MEDIAN.law([])
    assert max(range(1, 1000), key=law.probabilities.__getitem__) == 500


# What is public


def test_the_scale_is_told_by_nothing():
    assert isinstance(MEDIAN, Listed)
    assert not isinstance(MEDIAN, WithError)
    for name in ("interval", "simultaneous_interval", "scale", "for_error"):
        assert not hasattr(MEDIAN, name)
    MEDIAN.release(EVEN)
    assert repr(MEDIAN) == (
        "SmoothQuantile(q=Fraction(1, 2), lower=Fraction(0, 1), upper=Fraction(1000, 1), step=Fraction(1, 1), "
        "epsilon=Fraction(1, 1), delta=Fraction(0, 1), gamma=Fraction(4, 1), max_rows=1, "
        "neighbours=Neighbours(change='add-remove', of='row'))"
    )
    assert not hasattr(MEDIAN, "__dict__")


def test_events_and_losses():
    event = MEDIAN.event
    assert isinstance(event, SmoothNoise)
    assert (event.alpha, event.beta, event.gamma) == (MEDIAN.alpha, Fraction(1, 6), 4)
    assert MEDIAN.loss == Pure(1)
    unit = Neighbours("add-remove", "unit")
    tails = SmoothTrimmedMean(2, 0, 9, 1, epsilon=1, delta=1e-6, gamma=None, max_rows=4, neighbours=unit)
    assert tails.loss == Approximate(1, 1e-6, unit)
    assert {field.name for field in fields(event)} == {"epsilon", "delta", "alpha", "beta", "gamma", "neighbours"}


def test_a_public_bound_makes_an_error_bar():
    """P[|Z| <= size] = 0.95 at 1.79336 for gamma 4; the error bar holds for the listed law where the bound holds."""
    width = MEDIAN.half_width(bound=2, confidence=0.95)
    assert width == pytest.approx(2 / float(MEDIAN.alpha) * 1.79336 + 0.5, rel=1e-5)
    values = [500 + k // 4 for k in range(-200, 200)]
    assert MEDIAN.statistic(MEDIAN.grid.rows(values))[1] < 2
    covered = sum(mass for value, mass in MEDIAN.law(values).probabilities.items() if abs(value - 499) <= width)
    assert covered >= Decimal("0.95")


def test_chart_is_drawn_from_public_numbers(tmp_path):
    chart = MEDIAN.chart(tmp_path / "noise.html")
    assert "smooth bound" in chart.to_json()
    assert (tmp_path / "noise.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"q": 1.5}, InvalidInput),
        ({"q": float("nan")}, InvalidInput),
        ({"lower": 100}, InvalidInput),
        ({"step": 0}, InvalidInput),
        ({"step": 3}, InvalidInput),
        ({"epsilon": 0}, InvalidBudget),
        ({"epsilon": float("nan")}, InvalidBudget),
        ({"epsilon": 1e-13}, InvalidBudget),
        ({"delta": 1e-6}, InvalidBudget),
        ({"delta": 1e-6, "gamma": 2}, InvalidBudget),
        ({"gamma": None}, InvalidBudget),
        ({"gamma": 1}, InvalidInput),
        ({"gamma": 1.4}, InvalidInput),
        ({"max_rows": 0}, InvalidInput),
        ({"max_rows": True}, InvalidInput),
    ],
)
def test_what_is_no_parameter_is_refused(changed, error):
    with pytest.raises(error):
        SmoothQuantile(**{"q": 0.5, "lower": 0, "upper": 100, "step": 1, "epsilon": 1, **changed})


@pytest.mark.parametrize("trim", [-1, 1.5, True])
def test_what_is_no_trim_is_refused(trim):
    with pytest.raises(InvalidInput, match="trim"):
        SmoothTrimmedMean(trim, 0, 9, 1, epsilon=1)


@pytest.mark.parametrize("values", [5, "text", [1.0, float("nan")], [float("inf")], [[1, 2], [3, 4]], [None], ([1, 2], [1])])
def test_what_is_no_list_of_numbers_is_refused_without_quoting_it(values):
    with pytest.raises(InvalidValue) as caught:
        MEDIAN.release(values)
    assert "nan" not in str(caught.value)


def test_long_laws_are_not_listed():
    with pytest.raises(InvalidInput, match="larger step"):
        SmoothQuantile(0.5, 0, 10**7, 1, epsilon=1).law([1])


def test_the_relation_is_carried():
    assert MEDIAN.loss.neighbours == ADD_REMOVE
    assert SmoothQuantile(0.5, 0, 1, 1, 1, neighbours=CHANGE_ONE).loss.neighbours == CHANGE_ONE


def test_a_trimmed_mean_is_of_units_of_one_row_with_gamma_4_unless_said_otherwise():
    short = SmoothTrimmedMean(1, 0, 10, 1, epsilon=1)
    assert (short.delta, short.gamma, short.max_rows, short.neighbours) == (0, 4, 1, ADD_REMOVE)


@pytest.mark.parametrize("max_rows", [1, 3])
def test_no_smooth_bound_of_a_trimmed_mean_is_above_the_largest(max_rows):
    """That of no rows is the largest there is, up to 2^-40."""
    means = SmoothTrimmedMean(1, -5, 20, Fraction(1, 2), epsilon=1, max_rows=max_rows)
    _, bound = means.statistic(means.grid.rows([]))
    assert 1 <= means.largest_bound / (bound * means.step) < 1 + Fraction(1, 2**40)
