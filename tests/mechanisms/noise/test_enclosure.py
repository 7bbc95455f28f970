from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mechanisms.noise.enclosure import difference, exponential, exponentials, happens, product, quotient, rise

FINE = Context(prec=250, Emin=-(10**9))  # far finer than any enclosure asked for here
WORD = 2**64


def e_to_minus(x: Fraction) -> Fraction:
    return Fraction(FINE.exp(FINE.divide(Decimal(-x.numerator), Decimal(x.denominator))))


def holds(enclosure: tuple[int, int], number: Fraction, precision: int, width: int) -> bool:
    """Whether the enclosure holds the number and is no wider than `width` units."""
    low, high = enclosure
    return low <= number * 2**precision <= high and high - low <= width


exponents = st.fractions(min_value=0, max_value=150, max_denominator=10**12)
precisions = st.integers(min_value=64, max_value=320)


@given(exponents, precisions)
def test_exponential_is_enclosed_tightly(x: Fraction, precision: int) -> None:
    assert holds(exponential(x, precision), e_to_minus(x), precision, width=2)


@pytest.mark.parametrize("x", [Fraction(129), Fraction(10**9), Fraction(10**400), Fraction(10**30, 7)])
def test_what_is_below_one_unit_costs_nothing(x: Fraction) -> None:
    assert exponential(x, 128) == (0, 1)


def test_an_exact_one_stays_exact() -> None:
    assert exponential(Fraction(0), 70) == (2**70, 2**70)


@given(exponents, exponents, precisions)
def test_arithmetic_rounds_outward(x: Fraction, y: Fraction, precision: int) -> None:
    one, other = exponential(x, precision), exponential(y, precision)
    p, q = e_to_minus(x), e_to_minus(y)
    assert holds(product(one, other, precision), p * q, precision, width=8)
    small, large = sorted([(p, one), (q, other)])
    assert holds(difference(large[1], small[1]), large[0] - small[0], precision, width=8)
    if other[0]:
        low, high = quotient(one, other, precision)
        assert low <= p / q * 2**precision <= high


@settings(max_examples=25)
@given(st.fractions(0, 1, max_denominator=1000), st.fractions(0, 1, max_denominator=1000), st.integers(1, 10))
def test_a_run_of_exponentials_is_enclosed_term_by_term(quadratic: Fraction, linear: Fraction, step: int) -> None:
    at = [(quadratic * m + linear) * m for m in range(3, 3 + 40 * step, step)]
    terms = exponentials((at[0], at[1], at[2]), len(at), 160)
    assert all(holds(term, e_to_minus(x), 160, width=4 * 40**2) for term, x in zip(terms, at, strict=True))


@given(st.fractions(Fraction(1, 10**6), 1), st.fractions(0, 1))
def test_rise_is_the_share_of_a_wedge(whole: Fraction, fraction: Fraction) -> None:
    part = whole * fraction
    share = (1 / e_to_minus(part) - 1) / (1 / e_to_minus(whole) - 1)
    assert holds(rise(part, whole, 128), share, 128, width=2)


@pytest.mark.parametrize(("further", "below"), [(-1, True), (1, False)])
def test_a_tie_is_decided_by_further_bits(words, further: int, below: bool) -> None:
    """2^-64 of all comparisons with 1/3 tie; then the next 64 bits decide, on the right side of the real number."""

    def third(precision: int) -> tuple[int, int]:
        return 2**precision // 3, 2**precision // 3 + 1

    for words_tied in (0, 1, 3):
        first, *tied = [2**64 // 3] * (1 + words_tied)  # every 64 bits of 1/3 are the same
        waiting = words([*tied, 2**64 // 3 + further])
        assert happens(third, first) is below
        assert waiting == []


def test_certain_and_impossible_need_no_luck(words) -> None:
    words([])
    assert all(happens(lambda precision: (1 << precision, 1 << precision), drawn) for drawn in (0, 1, WORD - 1))
    assert not any(happens(lambda precision: (0, 0), drawn) for drawn in (0, 1, WORD - 1))
