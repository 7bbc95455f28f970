from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import calibrate
from tacit.accounting.gaussian_sums import gaussian_delta_up, gaussian_tail_up
from tacit.errors import InvalidBudget, InvalidInput, InvalidSensitivity
from tacit.privacy.loss import concentrated_epsilon_up
from tacit.privacy.rounding import exp_down, exp_up

F = Fraction
MISSES = [calibrate.miss(0.95), calibrate.miss_union(0.95, 10), calibrate.miss(0.95, 10)]


def test_vectors_of_laplace_error_and_epsilon() -> None:
    scale = calibrate.laplace_scale(2, 0.5)
    assert scale == 4
    assert [round(float(calibrate.laplace_error_up(scale, b)), 5) for b in MISSES] == [11.98293, 21.19327, 21.10138]
    assert [round(float(calibrate.laplace_epsilon_up(1, 10, b)), 6) for b in MISSES] == [0.299573, 0.529832, 0.527534]


@given(st.floats(0.01, 0.999), st.integers(1, 10**6))
def test_together_is_what_each_may_miss(confidence: float, dimension: int) -> None:
    each = calibrate.miss(confidence, dimension)
    assert calibrate.miss_union(confidence, dimension) <= each * (1 + F(1, 10**50))
    if dimension < 200:
        assert 0 <= (1 - each) ** dimension - calibrate.exact(confidence) < F(1, 10**50)


@settings(max_examples=60)
@given(st.fractions(F(1, 20), 200), st.fractions(F(1, 10**9), F(1, 2)))
def test_the_discrete_laplace_interval_is_the_least(scale: Fraction, missed: Fraction) -> None:
    reach = calibrate.discrete_laplace_error(scale, missed)
    assert calibrate.discrete_laplace_tail_up(scale, reach) <= missed * (1 + F(1, 10**50))
    if reach:
        assert calibrate.discrete_laplace_tail_up(scale, reach - 1) > missed


def test_the_discrete_laplace_tail_is_the_sum_of_the_law() -> None:
    scale = F(3, 2)
    down, up = exp_down(-1 / scale), exp_up(-1 / scale)
    for beyond in range(6):
        inside = sum((1 if k == 0 else 2) * (1 - up) / (1 + up) * down**k for k in range(beyond + 1))
        assert abs(calibrate.discrete_laplace_tail_up(scale, beyond) - (1 - inside)) < F(1, 10**50)


@settings(max_examples=40)
@given(st.integers(0, 3000), st.fractions(F(1, 10**9), F(1, 2)), st.integers(1, 50))
def test_the_least_epsilon_for_a_discrete_laplace_error(error: int, missed: Fraction, sensitivity: int) -> None:
    epsilon = calibrate.discrete_laplace_epsilon_up(sensitivity, error, missed)
    assert calibrate.discrete_laplace_error(sensitivity / epsilon, missed) <= error
    assert calibrate.discrete_laplace_error(sensitivity / (epsilon * (1 - F(1, 10**9))), missed) > error
    continuous = calibrate.laplace_epsilon_up(sensitivity, error + 1, missed)
    assert continuous <= epsilon * (1 + F(1, 10**9))  # P[|X| > k] is above e^(-(k+1)/s)


def test_at_error_zero_the_closed_form() -> None:
    """2p <= b (1 + p) is p <= b / (2 - b)."""
    missed = F(1, 20)
    epsilon = calibrate.discrete_laplace_epsilon_up(1, 0, missed)
    assert exp_up(-epsilon) <= missed / (2 - missed) < exp_up(-epsilon * (1 - F(1, 10**12)))


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(9, 2), F(40), F(511), F(1000), F(10**7)])
@pytest.mark.parametrize("missed", [F(1, 20), F(1, 10**6), F(1, 10**12), F(9, 10)])
def test_the_gaussian_interval_is_the_least(scale: Fraction, missed: Fraction) -> None:
    reach = calibrate.gaussian_error(scale, missed)
    assert gaussian_tail_up(scale, reach) <= missed
    assert reach == 0 or gaussian_tail_up(scale, reach - 1) > missed


@pytest.mark.parametrize("error", [0, 1, 8, 50, 1000, 10**6])
@pytest.mark.parametrize("missed", MISSES)
def test_the_least_rho_for_a_gaussian_error(error: int, missed: Fraction) -> None:
    rho = calibrate.gaussian_rho_up(3, error, missed)
    assert calibrate.gaussian_error(calibrate.gaussian_scale_up(3, rho), missed) <= error
    assert calibrate.gaussian_error(calibrate.gaussian_scale_up(3, rho * (1 - F(1, 10**8))), missed) > error


def test_the_scale_for_a_rho() -> None:
    assert calibrate.gaussian_scale_up(2, F(1, 2)) == 2
    assert calibrate.gaussian_scale_up(1, F(1)) ** 2 * 2 >= 1


BUDGETS = [(1, 1, 1e-6), (1, 0.1, 1e-9), (1, 10, 1e-6), (100, 0.5, 1e-7), (1000, 1, 1e-6), (3, 0.5, 0.3), (10**6, 0.01, 1e-12)]


@pytest.mark.parametrize(("sensitivity", "epsilon", "delta"), BUDGETS)
def test_the_least_gaussian_scale_for_epsilon_and_delta(sensitivity: int, epsilon: float, delta: float) -> None:
    scale = calibrate.gaussian_scale_for(sensitivity, epsilon, delta)
    limit = calibrate.exact(delta)
    assert gaussian_delta_up(sensitivity, scale, epsilon) <= limit
    assert gaussian_delta_up(sensitivity, scale * (1 - F(1, 10**8)), epsilon) > limit
    assert scale.denominator < 10**40


def test_its_own_sums_need_less_noise_than_rho() -> None:
    scale = calibrate.gaussian_scale_for(1000, 1, 1e-6)
    assert concentrated_epsilon_up(1000**2 / (2 * scale**2), F(1, 10**6)) > F(11, 10)


def test_ends_and_extremes() -> None:
    assert calibrate.discrete_laplace_error(0, MISSES[0]) == 0
    assert calibrate.discrete_laplace_error(F(1, 10**12), MISSES[0]) == 0
    assert calibrate.gaussian_error(0, MISSES[0]) == 0
    assert calibrate.gaussian_error(F(1, 10**12), MISSES[0]) == 0
    assert calibrate.gaussian_scale_for(0, 1, 1e-6) == 0
    assert calibrate.gaussian_scale_for(1, 10**9, 1e-6) > 0
    assert calibrate.gaussian_rho_up(0, 5, MISSES[0]) == 0
    assert calibrate.drifted_delta_up(F(1, 10**6), 0, F(1, 10**9)) > F(1, 10**6) + F(2, 10**9)


@given(st.fractions(F(1, 10**30), 10**30), st.integers(1, 20))
def test_shortening_rounds_up_by_less_than_its_last_digit(number: Fraction, digits: int) -> None:
    short = calibrate.short_up(number, digits)
    assert number <= short < number * (1 + F(10) ** (1 - digits))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: calibrate.miss(1), InvalidInput),
        (lambda: calibrate.miss(0), InvalidInput),
        (lambda: calibrate.miss(float("nan")), InvalidInput),
        (lambda: calibrate.miss(0.95, 0), InvalidInput),
        (lambda: calibrate.laplace_scale(-1, 1), InvalidSensitivity),
        (lambda: calibrate.laplace_scale(1, 0), InvalidBudget),
        (lambda: calibrate.laplace_epsilon_up(1, 0, F(1, 20)), InvalidBudget),
        (lambda: calibrate.discrete_laplace_epsilon_up(1, -1, F(1, 20)), InvalidInput),
        (lambda: calibrate.discrete_laplace_epsilon_up(1, 1.5, F(1, 20)), InvalidInput),
        (lambda: calibrate.gaussian_scale_for(1, 1, 0), InvalidBudget),
        (lambda: calibrate.gaussian_scale_for(0.5, 1, 1e-6), InvalidSensitivity),
        (lambda: calibrate.gaussian_scale_up(1, 0), InvalidBudget),
    ],
)
def test_what_is_refused(call, error) -> None:
    with pytest.raises(error):
        call()
