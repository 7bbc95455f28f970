"""Costs of candidates: exact by index, and as doubles within 2^-50."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import costs as module
from tacit.mechanisms.noise.costs import FAR, MixedCosts, NumberCosts, slices

WHOLE = slice(0, 3)


def is_near(costs, factor):
    """Whether the doubles are the exact exponents, cut at 0 and 4096, within a relative 2^-50."""
    exact = [min(max(costs.exponent(index, factor), Fraction(0)), FAR) for index in range(costs.size)]
    found = costs.exponents(factor, slice(0, costs.size)).tolist()
    return all(abs(Fraction(each) - true) <= true / 2**50 for each, true in zip(found, exact, strict=True))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9), st.fractions(0, 10))
def test_integers_of_64_bits(numbers, factor):
    costs = NumberCosts.read(np.array(numbers), np.ones(len(numbers), dtype=np.bool_))
    assert is_near(costs, factor)
    assert [costs.exponent(i, factor) for i in range(len(numbers))] == [factor * (n - min(numbers)) for n in numbers]


@given(st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2)), min_size=1), st.integers(0, 10**40), st.fractions(0, 10))
def test_mixed_numbers(drawn, part, factor):
    wholes, kinds = (np.array(column) for column in zip(*drawn, strict=True))
    costs = MixedCosts(wholes, kinds.astype(np.int8), (0, 10**40 - part, part), 10**40)
    assert is_near(costs, factor)
    assert [costs.exponent(i, factor) for i in range(len(drawn))] == [
        factor * (whole + Fraction((0, 10**40 - part, part)[kind], 10**40)) for whole, kind in drawn
    ]


def test_doubles_that_are_not_near_are_seen(monkeypatch):
    """Planted: the part of a mixed number is left out."""
    costs = MixedCosts(np.array([1, 2, 3]), np.array([1, 2, 0], dtype=np.int8), (0, 1, 2), 3)
    assert is_near(costs, Fraction(1, 7))
    monkeypatch.setattr(MixedCosts, "exponents", lambda self, factor, part: self.wholes[part] * float(factor))
    assert not is_near(costs, Fraction(1, 7))


def test_the_least_is_that_of_the_possible_ones():
    for numbers in (np.array([1, 5, 7]), np.array([1.0, 5.0, 7.0]), np.array([1, Fraction(5), 7], dtype=object)):
        costs = NumberCosts.read(numbers, np.array([False, True, True]))
        assert [costs.exponent(index, Fraction(1)) for index in range(3)] == [-4, 0, 2]
        assert costs.exponents(Fraction(1), WHOLE).tolist()[1:] == [0, 2]  # what is impossible has any exponent


@pytest.mark.parametrize("numbers", [[9, 4, 8, 7, 6], [4, 9, 8, 7, 6], [9, 8, 7, 6, 4]])
def test_the_least_is_found_in_whichever_part_it_is(numbers, monkeypatch):
    monkeypatch.setattr(module, "TOGETHER", 2)
    assert [(part.start, part.stop) for part in slices(5)] == [(0, 2), (2, 4), (4, 5)]
    costs = NumberCosts.read(np.array([*numbers, 1]), np.array([True] * 5 + [False]))
    assert [costs.exponent(index, Fraction(1)) for index in range(5)] == [number - 4 for number in numbers]


@pytest.mark.parametrize("factor", [Fraction(1, 10**300), Fraction(10**300), Fraction(10**310)])
def test_factors_that_doubles_do_not_hold_are_multiplied_exactly(factor):
    number = NumberCosts.read(np.array([0, 10**18, 1]), np.ones(3, dtype=np.bool_))
    assert is_near(number, factor)
    assert is_near(MixedCosts(np.array([0, 10**18, 1]), np.zeros(3, dtype=np.int8), (0,), 1), factor)


def test_a_factor_with_few_digits_as_a_double_is_multiplied_exactly():
    """3.3e-316 is below the least normal double; what it gives with 10^18 is not, and has all of its digits."""
    factor = Fraction(1, 3 * 10**315)
    assert is_near(NumberCosts.read(np.array([0, 10**18, 10**18 + 7]), np.ones(3, dtype=np.bool_)), factor)
    assert is_near(MixedCosts(np.array([0, 10**18, 10**18 + 7]), np.zeros(3, dtype=np.int8), (0,), 1), factor)


def test_numbers_that_doubles_do_not_hold_are_cut_off_exactly():
    costs = NumberCosts.read([Fraction(10**400), Fraction(0), Fraction(1, 3)], np.ones(3, dtype=np.bool_))
    assert costs.exponents(Fraction(1), WHOLE).tolist() == [4096, 0, 1 / 3]


@pytest.mark.parametrize("numbers", [[1.0, float("nan")], [1.0, float("inf")], ["x", "y"], [1, 2, 3], [1j, 2j]])
def test_bad_costs_are_refused(numbers):
    with pytest.raises(InvalidInput):
        NumberCosts.read(numbers, np.ones(2, dtype=np.bool_))
