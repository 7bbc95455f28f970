"""Continuous Laplace noise by comparisons of lazily drawn numbers."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from chance import classes_fit
from tacit.mechanisms.noise import laplace_tails
from tacit.mechanisms.noise.laplace_tails import LaplaceTails, laplace_draws
from tacit.mechanisms.noise.lazy import Draw

EQUAL = np.full(40, 1 / 40)


def as_floats(draws):
    return np.array([draw.sign * (draw.shape(draw.known)[0] / 2 ** draw.known[1]) for draw in draws])


@pytest.mark.parametrize("z", ["0.001", "0.5", "1", "30", "2000"])
def test_the_law_is_that_of_the_definition(z):
    size = Fraction(z)
    assert float(LaplaceTails().within(size, 40)) == pytest.approx(-math.expm1(-float(size)) / 2, rel=1e-14)
    assert float(LaplaceTails().beyond(size, 40).ln()) == pytest.approx(-float(size) - math.log(2), rel=1e-14)


@pytest.mark.parametrize("digits", [20, 50])
@pytest.mark.parametrize("z", ["1e-40", "1e-6", "1/3", "1", "50", "1/1000000007"])
def test_as_many_digits_are_right_as_are_asked_for(z, digits):
    """Also where 1 - exp(-size) cancels nearly all of them."""
    size, fine = Fraction(z), Context(prec=300)
    tail = fine.divide(fine.exp(fine.divide(Decimal(-size.numerator), Decimal(size.denominator))), 2)
    for found, true in (
        (LaplaceTails().beyond(size, digits), tail),
        (LaplaceTails().within(size, digits), fine.subtract(Decimal("0.5"), tail)),
    ):
        assert abs(Fraction(found) / Fraction(true) - 1) < Fraction(1, 10**digits)


def test_nothing_lies_within_zero_and_half_beyond_it():
    assert LaplaceTails().within(Fraction(0), 50) == 0
    assert LaplaceTails().beyond(Fraction(0), 50) == Decimal("0.5")


@pytest.mark.parametrize("z", [0.0, 1.0, -1.0, 30.0])
def test_the_density_is_that_of_the_definition(z):
    assert LaplaceTails().density(z) == pytest.approx(stats.laplace.pdf(z), rel=1e-14)


def test_draws_follow_the_law():
    """Chi-square on 40 bins of equal probability, 30,000 draws."""
    draws = as_floats(laplace_draws(Fraction(1), 30_000))
    edges = stats.laplace.ppf(np.arange(1, 40) / 40)
    assert classes_fit(np.bincount(np.searchsorted(edges, draws), minlength=40), EQUAL)
    assert not classes_fit(np.bincount(np.searchsorted(edges, draws * 0.9), minlength=40), EQUAL), "planted"


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ([5, 9], True),  # the run is x alone
        ([9, 5, 7], False),  # x > u1
        ([9, 5, 3, 4], True),  # x > u1 > u2
        ([9, 8, 7, 6, 8], False),
    ],
)
def test_runs_of_odd_length_are_kept(words, kept):
    found = laplace_tails._keep(iter(words))
    assert found == ((words[0], 64) if kept else None)


def test_the_probability_of_keeping_is_that_of_the_exponential():
    """Given x, the run is at least k long with probability x^(k-1)/(k-1)!; the alternating sum over odd lengths is exp(-x)."""
    x = 0.7
    at_least = [x**k / math.factorial(k) for k in range(30)]
    odd = sum(at_least[k] - at_least[k + 1] for k in range(0, 29, 2))
    assert odd == pytest.approx(math.exp(-x), rel=1e-15)


def test_ties_draw_more_bits_of_both_and_the_bits_are_kept():
    one, larger, other = laplace_tails._compare((5, 64), (5, 64), iter([1, 2]))
    assert (one, larger, other) == ((5 << 64 | 1, 128), False, (5 << 64 | 2, 128))
    longer, larger, short = laplace_tails._compare((5 << 64 | 7, 128), (5, 64), iter([3]))
    assert (longer, larger, short) == ((5 << 64 | 7, 128), True, (5 << 64 | 3, 128))
    assert laplace_tails._keep(iter([5, 5, 0, 1])) == (5 << 64, 128)


LARGE, SMALL = 2**63 + 9, 5  # prefixes far above and below the number of their bits


@pytest.mark.parametrize("prefix", [SMALL, LARGE])
def test_a_tie_is_settled_whichever_number_is_longer(prefix):
    """The shorter one is extended to the length of the other, then both, for as long as they tie."""
    long, short = (prefix << 64 | 7, 128), (prefix, 64)
    source = iter([7, 1, 2])
    assert laplace_tails._compare(short, long, source) == (
        (prefix << 128 | 7 << 64 | 1, 192),
        False,
        (prefix << 128 | 7 << 64 | 2, 192),
    )
    assert laplace_tails._compare(short, long, iter([3])) == ((prefix << 64 | 3, 128), False, long)
    assert laplace_tails._compare(long, short, iter([3])) == (long, True, (prefix << 64 | 3, 128))
    assert laplace_tails._compare(short, short, iter([4, 3])) == ((prefix << 64 | 4, 128), True, (prefix << 64 | 3, 128))
    assert list(source) == []


@pytest.mark.parametrize(("one", "other"), [((LARGE, 64), (SMALL << 64, 128)), ((SMALL << 64, 128), (LARGE, 64))])
def test_numbers_of_different_lengths_are_compared_at_one_length(one, other):
    found = laplace_tails._compare(one, other, iter([3]))
    assert found[1] == (one == (LARGE, 64))
    assert (found[0][1], found[2][1]) == (128, 128)


def test_the_size_is_between_what_is_known_and_a_unit_more():
    assert laplace_tails._size(3, (9, 128)) == (3 * 2**128 + 9, 3 * 2**128 + 10)


def test_a_draw_is_used_once_and_blocks_are_drawn_ahead():
    drawn = [LaplaceTails().draw() for _ in range(3)]
    assert all(isinstance(draw, Draw) for draw in drawn)
    assert len({id(draw) for draw in drawn}) == 3


def test_the_whole_part_counts_the_rejections():
    """Two runs of length two, then x = 2^63, which is one half."""
    draw = laplace_tails._draw(iter([9, 5, 7, 9, 5, 7, 2**63, 2**64 - 1, 0, 0]))
    assert Fraction(draw.shape(draw.known)[0], 2 ** draw.known[1]) == Fraction(5, 2)
