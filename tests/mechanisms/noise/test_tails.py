"""Laws of noise on a grid: they sum to one, they are symmetric, and far tails keep their digits."""

from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tacit.mechanisms.noise.heavy import HeavyTails
from tacit.mechanisms.noise.laplace_tails import LaplaceTails
from tacit.mechanisms.noise.tails import Tails, between, rounded_law, size_up
from tacit.privacy.law import ARITHMETIC, Law

NOISES = [HeavyTails(2), HeavyTails(4), HeavyTails("3/2"), LaplaceTails()]


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_is_a_law_of_noise(noise):
    assert isinstance(noise, Tails)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(NOISES), st.fractions(-9, 9, max_denominator=50), st.fractions(Fraction(1, 50), 50, max_denominator=50))
def test_laws_sum_to_one_and_mirror(noise, centre, scale):
    law = rounded_law(noise, centre, scale, -9, 9)
    assert abs(reduce(ARITHMETIC.add, law.values()) - 1) < Decimal("1e-27")
    Law(law)  # checks the sum to 35 digits itself
    mirrored = rounded_law(noise, -centre, scale, -9, 9)
    assert all(abs(law[k] - mirrored[-k]) <= Decimal("1e-40") for k in law)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_far_cells_keep_their_digits(noise):
    """A cell in the far tail, at a scale so small that the plain difference of two distributions would be 0."""
    scale = Fraction(1, 10**6) if noise != LaplaceTails() else Fraction(1, 50)
    law = rounded_law(noise, Fraction(0), scale, -40, 40)
    assert all(law[k] > law[k + 1] > 0 for k in range(38))
    if isinstance(noise, HeavyTails):  # a pure power, so far out
        power = 1 - float(noise.gamma)
        expected = (20.5**power - 21.5**power) / (29.5**power - 30.5**power)
        assert float(law[21] / law[30]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("10", "10.000000000000000000000000000000000001"),
        ("10", "10." + "0" * 69 + "1"),
        ("10", "10." + "0" * 119 + "1"),
        ("1/3", str(Fraction(1, 3) + Fraction(1, 10**75))),
        ("1e-30", "2e-30"),
        ("1/3", "1"),
        ("1/3", "4/3"),
        ("1", "1.00000000000000000000000000000000000001"),
        ("900", "2000"),
        ("-1/7", "1e-20"),
        ("-3", "-2.999999999999999999999999999999"),
        ("0", "1e-50"),
        ("-1e-50", "0"),
    ],
)
def test_fifty_digits_are_right_also_where_nearly_all_cancel(low, high):
    """Against the definition of the Laplace law with 400 digits."""
    fine = Context(prec=400)

    def below(size):
        """P[Z < size]."""
        tail = fine.divide(fine.exp(fine.divide(Decimal(-abs(size.numerator)), Decimal(size.denominator))), 2)
        return Fraction(tail) if size < 0 else 1 - Fraction(tail)

    one, other = Fraction(low), Fraction(high)
    found = between(LaplaceTails(), one, other)
    assert abs(Fraction(found) / (below(other) - below(one)) - 1) < Fraction(1, 10**49)
    assert len(found.as_tuple().digits) <= 50


def test_a_law_on_the_grid_is_that_of_its_definition():
    """P[floor(centre + scale Z + 1/2) = k], the ends clamped, from the distribution function in floats."""
    centre, scale = 5 / 3, 6 / 7
    found = rounded_law(LaplaceTails(), Fraction(5, 3), Fraction(6, 7), -2, 4)
    below = [stats.laplace.cdf((unit + 0.5 - centre) / scale) for unit in range(-2, 4)]
    expected = np.diff([0.0, *below, 1.0])
    assert list(found) == list(range(-2, 5))
    assert [float(mass) for mass in found.values()] == pytest.approx(expected.tolist(), rel=1e-9)


def test_an_empty_interval_has_no_mass():
    assert between(LaplaceTails(), Fraction(3), Fraction(3)) == 0


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_infinite_ends(noise):
    assert between(noise, None, None) == 1
    assert between(noise, Fraction(0), None) == Decimal("0.5")
    assert between(noise, None, Fraction(-2)) == between(noise, Fraction(2), None)


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
def test_the_size_for_a_confidence_is_enough_and_barely_more(noise, confidence):
    wanted = Fraction(confidence)
    size = size_up(noise, wanted)
    assert Fraction(2 * noise.within(size, 50)) >= wanted
    assert Fraction(2 * noise.within(size * (1 - Fraction(1, 2**36)), 50)) < wanted


@pytest.mark.parametrize("end", ["1/1000", "1", "5", "12345"])
def test_the_size_is_found_to_a_part_of_itself_and_rounded_up(end):
    """Noise that never passes an end: the size is not below it, and larger by two parts in 2^40 at most, and by one at least."""

    class Ended(LaplaceTails):
        def beyond(self, size, digits):
            return Decimal(size < Fraction(end))

    size = size_up(Ended(), Fraction("0.95"))
    assert 1 + Fraction(1, 2**40) <= size / Fraction(end) <= (1 + Fraction(1, 2**40)) ** 2 * (1 + Fraction(1, 2**50))
