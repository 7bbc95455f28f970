import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.privacy import rounding

POSITIVE = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12)
FUNCTIONS = [
    (rounding.exp_down, rounding.exp_up, mpmath.exp, st.fractions(min_value=-500, max_value=500)),
    (rounding.log_down, rounding.log_up, mpmath.log, POSITIVE),
    (rounding.sqrt_down, rounding.sqrt_up, mpmath.sqrt, POSITIVE),
]


@pytest.mark.parametrize(("down", "up", "true", "numbers"), FUNCTIONS, ids=["exp", "log", "sqrt"])
def test_the_two_directions_enclose_the_true_value_tightly(down, up, true, numbers):
    @given(numbers)
    def law(x):
        with mpmath.workdps(120):
            value = true(mpmath.mpf(x.numerator) / x.denominator)
            low, high = down(x), up(x)
            blur = abs(value) * mpmath.mpf(10) ** -110  # of the 120-digit arithmetic that judges, fifty digits below ours
            assert mpmath.mpf(low.numerator) / low.denominator <= value + blur
            assert mpmath.mpf(high.numerator) / high.denominator >= value - blur
            assert high - low <= abs(high) * Fraction(1, 10**55) + Fraction(1, 10**55)

    law()


@given(st.fractions())
def test_floats_are_rounded_in_their_direction(x):
    assert Fraction(rounding.float_down(x)) <= x <= Fraction(rounding.float_up(x))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_read_as_it_is_written(x):
    assert rounding.exact(x) == Fraction(repr(x))


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, -math.inf, "x", "", None, True, 1j, [1], Decimal("NaN"), Decimal("Infinity"), "1/0"]
)
def test_what_is_no_number_is_refused_with_its_name(bad):
    with pytest.raises(InvalidInput, match="epsilon must be a"):
        rounding.exact(bad, "epsilon")


NOT_ASCII = [
    " 1",
    "1 ",
    "1_0",
    "\uff11",
    "\u0663",
    "1\u00a0",
    "\n1",
    "1/ 3",
    "\u0661/3",
    "1_0/3",
    "1/3 ",
    "+ 1",
    "0x10",
    "1.5/2",
    "1e",
    "--1",
    ".",
]


@pytest.mark.parametrize("bad", NOT_ASCII, ids=ascii)
def test_a_text_is_an_ascii_decimal_or_a_fraction_and_nothing_more(bad):
    with pytest.raises(InvalidInput, match="epsilon must be a finite number"):
        rounding.exact(bad, "epsilon")


@given(st.text(st.characters(codec="utf-8"), max_size=6) | st.text("0123456789.eE+-_/ \uff11\u0663", max_size=8))
def test_whatever_is_read_is_written_in_ascii_without_blanks(text):
    try:
        found = rounding.exact(text)
    except InvalidInput:
        return
    assert set(text) <= set("0123456789.eE+-/")
    assert found == Fraction(text)


@pytest.mark.parametrize(("text", "number"), [("1.", 1), (".5", "1/2"), ("+2", 2), ("-1/3", "-1/3"), ("1E3", 1000), ("007", 7)])
def test_ordinary_ways_to_write_a_number_are_read(text, number):
    assert rounding.exact(text) == Fraction(number)


@given(st.fractions(), st.sampled_from(["ROUND_FLOOR", "ROUND_CEILING", "ROUND_HALF_EVEN"]))
def test_a_decimal_near_a_rational_is_on_its_side_and_exact_where_it_can_be(number, direction):
    near = Fraction(rounding.decimal_near(number, direction))
    assert {"ROUND_FLOOR": near <= number, "ROUND_CEILING": near >= number}.get(direction, True)
    assert abs(near - number) <= abs(number) * Fraction(1, 10**59)
    assert near == number or 10**18 % number.denominator  # so many places are there in any case


@pytest.mark.parametrize("function", [rounding.log_up, rounding.log_down])
def test_no_logarithm_of_zero(function):
    with pytest.raises(InvalidInput, match="positive"):
        function(Fraction(0))


def test_no_root_of_a_negative_number():
    with pytest.raises(InvalidInput, match="of at least 0"):
        rounding.sqrt_up(Fraction(-1))


def test_a_result_of_zero_is_exact():
    one, almost = Fraction(1), 1 - Fraction(1, 10**70)
    assert [rounding.log_up(one), rounding.log_down(one), rounding.sqrt_up(Fraction(0)), rounding.sqrt_down(Fraction(0))] == [0] * 4
    assert rounding.log_up(almost) == 0 > rounding.log_down(almost)


@given(st.fractions(min_value=-50, max_value=50))
def test_more_digits_bring_both_directions_closer(x):
    few, many = [(rounding.exp_down(x, digits), rounding.exp_up(x, digits)) for digits in (20, 200)]
    assert few[0] < many[0] < many[1] < few[1]
