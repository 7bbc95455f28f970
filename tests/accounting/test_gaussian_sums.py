from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting.gaussian_sums import gaussian_delta_up, gaussian_tail_up, tail_sum, whole_sum
from tacit.errors import InvalidBudget, InvalidSensitivity

F = Fraction
DIGITS = Context(prec=70)


def exp(exponent: Fraction) -> Fraction:
    return F(DIGITS.exp(DIGITS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))))


def term(scale: Fraction, k: int) -> Fraction:
    """One term, to 70 digits."""
    return exp(-F(k * k) / (2 * scale**2))


def summed(scale: Fraction, start: int, reach: int = 14) -> Fraction:
    """The sum written out; what is beyond `reach` scales is below 10^-40 of it, and is missing."""
    return _total(term(scale, k) for k in range(start, max(start, 0) + int(reach * scale) + 20))


def _total(terms: Iterable[Fraction]) -> Fraction:
    """Their sum on a grid of 10^-2500, which is quicker than with common denominators, less 10^-60 of it for its own rounding."""
    return F(sum(int(one * 10**2500) for one in terms), 10**2500) * (1 - F(1, 10**60))


@pytest.mark.parametrize("scale", [F(1, 10), F(1, 2), F(1), F(7, 3), F(20), F(90)])
@pytest.mark.parametrize("start", [-30, -1, 0, 1, 2, 7, 45])
def test_sums_enclose_the_terms(scale: Fraction, start: int) -> None:
    bounds, listed = tail_sum(scale, start), summed(scale, start)
    assert bounds.down <= listed * (1 + F(1, 10**30))
    assert bounds.up >= listed
    assert bounds.up - bounds.down <= bounds.up / 10**25 or start > 20 * scale


@pytest.mark.parametrize("start", [1, 200, 900, 1500, 4000])
@pytest.mark.parametrize("scale", [F(513), F(1201, 2)])
def test_the_integral_form_encloses_the_terms_too(scale: Fraction, start: int) -> None:
    bounds, listed = tail_sum(scale, start), summed(scale, start, reach=12)
    assert bounds.down <= listed * (1 + F(1, 10**30))
    assert bounds.up >= listed
    assert bounds.up - bounds.down <= bounds.up / 10**9


def test_both_forms_agree_where_they_meet() -> None:
    for start in (1, 500, 3000):
        below, above = tail_sum(F(512), start), tail_sum(F(512) + F(1, 10**20), start)
        assert above.down <= below.up * (1 + F(1, 10**15))
        assert below.down <= above.up


@pytest.mark.parametrize("scale", [F(1, 5), F(99, 100), F(1), F(3, 2), F(4), F(30)])
def test_the_whole_sum(scale: Fraction) -> None:
    bounds, listed = whole_sum(scale), 2 * summed(scale, 1) + 1 - F(1, 10**60)
    assert bounds.down <= listed * (1 + F(1, 10**30))
    assert listed <= bounds.up <= bounds.down * (1 + F(1, 10**25))


@pytest.mark.parametrize(
    ("shift", "scale", "epsilon"), [(1, F(2), F(1)), (3, F(2), F(1, 2)), (1, F(1, 2), F(5)), (7, F(30), F(1, 10))]
)
def test_delta_is_the_sum_of_positive_differences(shift: int, scale: Fraction, epsilon: Fraction) -> None:
    reach = range(-int(15 * scale) - 40, int(15 * scale) + 40)
    excess = _total(max(F(0), term(scale, k) - exp(epsilon) * term(scale, k - shift)) for k in reach)
    defined = excess / _total(term(scale, k) for k in reach)
    assert abs(gaussian_delta_up(shift, scale, epsilon) - defined) < F(1, 10**30)


def test_a_fine_grid_comes_to_the_continuous_vector() -> None:
    assert abs(float(gaussian_delta_up(1000, 2000, 1)) - 0.00682959) < 1e-8
    assert abs(float(gaussian_delta_up(10**6, 2 * 10**6, 1)) - 0.00682959) < 1e-8


def test_the_continuous_formula_would_promise_too_much() -> None:
    """4.224679 is the least continuous scale for (1, 10^-6) at sensitivity 1; on whole numbers it is not enough."""
    assert gaussian_delta_up(1, 4.224679, 1) > F(1, 10**6) > gaussian_delta_up(1, 4.2308, 1)


@settings(max_examples=40)
@given(st.integers(1, 20), st.fractions(F(1, 4), 40), st.fractions(0, 3))
def test_delta_grows_with_the_shift_and_falls_with_epsilon(shift: int, scale: Fraction, epsilon: Fraction) -> None:
    here = gaussian_delta_up(shift, scale, epsilon)
    slack = F(1, 10**25)
    assert 0 <= here <= gaussian_delta_up(shift + 1, scale, epsilon) + slack <= 1 + slack
    assert gaussian_delta_up(shift, scale, epsilon + F(1, 7)) <= here + slack


def test_ends() -> None:
    assert gaussian_delta_up(0, 1, 1) == 0
    assert gaussian_delta_up(1, 0, 1) == 1
    assert gaussian_tail_up(F(3), -1) == 1
    assert gaussian_tail_up(F(0), 0) == 0
    assert 0 < gaussian_tail_up(F(1, 10**9), 0) < F(1, 10**1000)
    assert gaussian_tail_up(F(2), 10**9) < F(1, 10**1000)
    with pytest.raises(InvalidSensitivity, match="whole number"):
        gaussian_delta_up(0.5, 1, 1)
    with pytest.raises(InvalidBudget, match="scale"):
        gaussian_delta_up(1, -1, 1)
