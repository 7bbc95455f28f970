"""Unary answers: packing, tallies against plain bits, the constants, reports that nobody makes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chance import plausible_hits
from tacit.errors import InvalidInput, InvalidValue
from tacit.privacy.rounding import exp_down
from tacit.publish.local.randomizers import unary
from tacit.publish.local.randomizers.unary import Unary, column_sums, noise_bits, pack, put_bits, read_packed, unpack, width

EPSILONS = st.fractions(min_value=Fraction(1, 100), max_value=10).filter(bool)


@given(EPSILONS)
def test_the_product_of_two_bits_is_within_epsilon(epsilon):
    optimized, symmetric = Unary(5, epsilon), Unary.symmetric(5, epsilon)
    assert optimized.hit == Fraction(1, 2)
    assert optimized.ratio == exp_down(epsilon)
    assert symmetric.hit + symmetric.false_hit == 1
    assert symmetric.ratio <= exp_down(epsilon)
    assert symmetric.ratio > exp_down(epsilon) * (1 - Fraction(1, 10**50))


def test_the_variance_of_the_optimized_form():
    """n Var at a share of zero is 4 e / (e - 1)^2 at epsilon 1."""
    response = Unary(100, 1)
    variance = response.false_hit * (1 - response.false_hit) / (response.hit - response.false_hit) ** 2
    assert float(variance) == pytest.approx(3.68269, abs=5e-6)
    assert float(variance) == pytest.approx(4 * math.e / (math.e - 1) ** 2)


@given(st.integers(1, 40), st.integers(0, 20), st.randoms(use_true_random=False))
def test_packed_tallies_are_those_of_plain_bits(size, people, random):
    bits = np.array([[random.randrange(2) for _ in range(size)] for _ in range(people)], dtype=np.uint8).reshape(people, size)
    packed = pack(bits)
    assert packed.shape == (people, width(size))
    assert (unpack(packed, size) == bits).all()
    assert (column_sums(packed, size) == bits.sum(axis=0)).all()


@pytest.mark.parametrize("people", [0, 1, 2, unary.FEW - 1, unary.FEW, unary.FEW + 1, 1000, 3**7 + 2])
def test_a_tally_by_carries_is_that_of_plain_bits(people):
    bits = np.random.default_rng(people).random((people, 13)) < 0.6
    assert (column_sums(pack(bits), 13) == bits.sum(axis=0)).all()
    assert column_sums(np.full((people, 2), 255, dtype=np.uint8), 16).tolist() == [people] * 16


def test_the_bits_after_the_last_category_are_zero():
    for size in (1, 5, 8, 13):
        rows = noise_bits(Fraction(1), 4, size)
        assert (unpack(rows, 8 * width(size))[:, size:] == 0).all()
        assert (unpack(rows, size) == 1).all()


def test_a_bit_is_put_at_its_category_and_nowhere_else():
    for before in (Fraction(0), Fraction(1)):
        rows = noise_bits(before, 4, 11)
        expected = unpack(rows, 11).copy()
        places, values = np.array([0, 7, 8, 10]), np.array([True, False, True, False])
        expected[np.arange(4), places] = values
        put_bits(rows, places, values)
        assert (unpack(rows, 11) == expected).all()


def test_a_hundred_thousand_people_set_their_bits_as_often_as_they_should():
    response, people = Unary(20, 1), 100_000
    counts = response.supports(response.randomize(np.full(people, 13)))
    expected = np.full(20, float(response.false_hit))
    expected[13] = 0.5
    assert plausible_hits(counts, people, expected)


def test_bits_of_one_report_are_independent():
    """Pairs of categories that nobody has, together as often as the product says."""
    response, people = Unary(12, 1), 50_000
    bits = unpack(response.randomize(np.zeros(people, dtype=np.int64)), 12)[:, 1:].astype(np.float64)
    together, chance = bits.T @ bits, float(response.false_hit) ** 2
    apart = together[np.triu_indices(11, 1)]
    assert plausible_hits(apart, people, chance)


@pytest.mark.parametrize("bad", [[[1, 2]], [[256]], [[-1]], [[0.5]], [[0b00000100]], [["a"]]])
def test_reports_that_nobody_makes_are_refused(bad):
    with pytest.raises(InvalidValue):
        read_packed(bad, 5)


def test_one_report_is_a_row():
    response = Unary(9, 1)
    report = response.randomize(4)
    assert report.shape == (2,)
    assert report.dtype == np.uint8
    assert response.supports([report]).tolist() == unpack(report, 9).tolist()


@pytest.mark.parametrize(
    "chances", [(Fraction(1, 2), Fraction(1, 2)), (Fraction(1), Fraction(1, 4)), (Fraction(1, 2), Fraction(0))]
)
def test_chances_that_tell_nothing_or_all_are_refused(chances):
    with pytest.raises(InvalidInput):
        Unary.with_chances(3, *chances)
