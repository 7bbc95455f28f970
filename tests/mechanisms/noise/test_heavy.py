"""Heavy-tailed noise: its law against closed forms, its draws against its law, its comparisons against enumeration."""

import math
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from chance import classes_fit, normal_limit
from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits, heavy
from tacit.mechanisms.noise.heavy import HeavyTails, heavy_draws, integer_root
from tacit.mechanisms.noise.lazy import Draw
from tacit.mechanisms.noise.tails import between

EQUAL = np.full(40, 1 / 40)


def as_floats(draws):
    return np.array([draw.sign * (draw.shape(draw.known)[0] / 2 ** draw.known[1]) for draw in draws])


def distribution(gamma, z):
    """P[Z <= z] in floats: the closed forms of gamma 2 and 4; for others |Z|^gamma / (1 + |Z|^gamma) has a beta law."""
    if gamma == 2:
        return 0.5 + math.atan(z) / math.pi
    if gamma == 4:
        r = math.sqrt(2)
        log = math.log((z * z + r * z + 1) / (z * z - r * z + 1)) / (4 * r)
        return 0.5 + (log + (math.atan(r * z + 1) + math.atan(r * z - 1)) / (2 * r)) / (math.pi / r)
    power = abs(z) ** gamma
    return 0.5 + math.copysign(special.betainc(1 / gamma, 1 - 1 / gamma, power / (1 + power)) / 2, z)


@pytest.mark.parametrize("gamma", [1.5, 2, 3, 4, 8])
@pytest.mark.parametrize("z", [0.01, 0.5, 1, 1.5, 20])
def test_the_law_is_that_of_the_definition(gamma, z):
    noise, size = HeavyTails(gamma), Fraction(str(z))
    assert float(noise.within(size, 30)) == pytest.approx(distribution(gamma, z) - 0.5, rel=1e-9)
    assert abs(noise.within(size, 50) + noise.beyond(size, 50) - Decimal("0.5")) < Decimal("1e-27")


@pytest.mark.parametrize("gamma", [1.5, 2, 4])
@pytest.mark.parametrize("z", [0.0, 0.3, -1.7, 40.0])
def test_the_density_is_that_of_the_definition(gamma, z):
    """1 / (1 + |z|^gamma) over its integral, which is 2 (pi / gamma) / sin(pi / gamma)."""
    total = 2 * special.beta(1 / gamma, 1 - 1 / gamma) / gamma
    assert HeavyTails(gamma).density(z) == pytest.approx(1 / (1 + abs(z) ** gamma) / total, rel=1e-12)


def test_half_and_three_quarters_lie_within_one():
    assert f"{2 * HeavyTails(2).within(Fraction(1), 40):.20f}" == "0.50000000000000000000"
    assert f"{2 * HeavyTails(4).within(Fraction(1), 40):.5f}" == "0.78055"


def test_fifty_digits_against_an_independent_computation():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(70):
        for gamma, low, high in [(4, 2, 3), (2, 50, 51), (3, 7, 9), (16, 1, 2)]:
            total = 2 * mpmath.pi / gamma / mpmath.sin(mpmath.pi / gamma)
            expected = mpmath.quad(lambda t, gamma=gamma: 1 / (1 + t**gamma), [low, high]) / total
            found = mpmath.mpf(str(between(HeavyTails(gamma), Fraction(low), Fraction(high))))
            assert abs(found / expected - 1) < mpmath.mpf(10) ** -48


@pytest.mark.parametrize(
    ("gamma", "size"), [("2", "1/3"), ("2", "7"), ("3/2", "9/10"), ("3/2", "11/10"), ("17/11", "1e-20"), ("64", "2")]
)
def test_as_many_digits_are_right_as_are_asked_for(gamma, size):
    """The integral of 1 / (1 + z^gamma) from 0 on is z F(1, 1/gamma; 1 + 1/gamma; -z^gamma), here by another library."""
    mpmath = pytest.importorskip("mpmath")
    noise, size, digits = HeavyTails(gamma), Fraction(size), 30
    with mpmath.workdps(120):
        order = mpmath.mpf(noise.gamma.denominator) / noise.gamma.numerator
        z = mpmath.mpf(size.numerator) / size.denominator
        total = 2 * mpmath.pi * order / mpmath.sin(mpmath.pi * order)
        within = z * mpmath.hyp2f1(1, order, 1 + order, -(z ** (1 / order))) / total
        for found, true in ((noise.within(size, digits), within), (noise.beyond(size, digits), mpmath.mpf("0.5") - within)):
            assert abs(mpmath.mpf(str(found)) / true - 1) < mpmath.mpf(10) ** -digits


def binned(values, gamma, bins=40):
    """Counts of the values in bins of equal probability."""
    share = special.betaincinv(1 / gamma, 1 - 1 / gamma, np.arange(1, bins // 2) / (bins // 2))
    positive = (share / (1 - share)) ** (1 / gamma)
    edges = np.concatenate([-positive[::-1], [0], positive])
    return np.bincount(np.searchsorted(edges, values), minlength=bins)


@pytest.mark.parametrize("gamma", [2, 4])
def test_draws_follow_the_law(gamma):
    """Chi-square on 40 bins of equal probability, 45,000 draws."""
    draws = as_floats(heavy_draws(Fraction(gamma), 45_000))
    assert classes_fit(binned(draws, gamma), EQUAL)
    assert not classes_fit(binned(draws * 0.9, gamma), EQUAL), "planted: noise 10 % too small"
    assert not classes_fit(binned(np.where(draws > 0, draws, draws * 1.2), gamma), EQUAL), "planted: lopsided"


@pytest.mark.slow
@pytest.mark.parametrize("gamma", ["3/2", "2", "3", "4", "8", "16"])
def test_many_draws_follow_the_law(gamma):
    """Chi-square on 40 bins of equal probability, 400,000 draws."""
    draws = as_floats(heavy_draws(Fraction(gamma), 400_000))
    assert classes_fit(binned(draws, float(Fraction(gamma))), EQUAL)


@pytest.mark.parametrize(("top", "power"), [(4, 1), (4, 3), (2, 1), (3, 2), (3, 1)])
def test_comparisons_keep_exactly_what_they_should(monkeypatch, top, power):
    """With words of 5 bits every pair is enumerated: decided pairs bound the true probability of being kept from both sides."""
    monkeypatch.setattr(heavy, "WORD", 5)
    monkeypatch.setattr(heavy, "extended", _stop)
    kept = rejected = doubtful = 0
    for u in range(32):
        for w in range(32):
            try:
                decided = heavy._keep(top, power, iter([u, w]))
                kept, rejected = kept + (decided is not None), rejected + (decided is None)
            except _DoubtError:
                doubtful += 1
    truth = integrate.quad(lambda u: 1 / (1 + u ** (top / power)), 0, 1)[0]
    assert kept / 1024 <= truth <= 1 - rejected / 1024
    assert doubtful <= 100


@pytest.mark.parametrize(("top", "power"), [(4, 1), (4, 3), (2, 1), (3, 2), (1, 1)])
def test_a_comparison_is_decided_where_it_is_the_same_in_a_whole_cell(monkeypatch, top, power):
    """U^top W^power - (1 - W)^power grows in both numbers: the upper corner of a cell decides to keep, the lower one to reject."""
    monkeypatch.setattr(heavy, "WORD", 5)
    monkeypatch.setattr(heavy, "extended", _stop)

    def excess(u, w):
        return Fraction(u, 32) ** top * Fraction(w, 32) ** power - (1 - Fraction(w, 32)) ** power

    for u in range(32):
        for w in range(32):
            try:
                decided = "kept" if heavy._keep(top, power, iter([u, w])) else "rejected"
            except _DoubtError:
                decided = "open"
            expected = "kept" if excess(u + 1, w + 1) <= 0 else "rejected" if excess(u, w) >= 0 else "open"
            assert decided == expected


class _DoubtError(Exception):
    pass


def _stop(*_):
    raise _DoubtError


def test_a_doubtful_comparison_draws_more_bits_of_both_numbers():
    """U near 1 and W just above 1/2 tie up to 64 bits; the next words decide."""
    tie = [2**64 - 1, 2**63]
    assert heavy._keep(4, 1, iter([*tie, 0, 0])) == ((2**64 - 1) << 64, 128)
    assert heavy._keep(4, 1, iter([*tie, 2**64 - 1, 2**63])) is None


@given(st.integers(0, 2**600), st.integers(1, 7))
def test_integer_roots(number, degree):
    root = integer_root(number, degree)
    assert root**degree <= number < (root + 1) ** degree


@pytest.mark.parametrize("degree", [1, 2, 3, 7])
def test_roots_of_small_numbers(degree):
    for number in range(300):
        root = integer_root(number, degree)
        assert root**degree <= number < (root + 1) ** degree


def test_the_size_up_to_one_is_the_uniform_number_itself():
    assert heavy._size_within((5, 128)) == (5, 6)


@given(st.integers(1, 2**128 - 1), st.sampled_from([(1, 1), (1, 3), (2, 1), (3, 5)]))
def test_the_size_beyond_one_is_enclosed(prefix, powers):
    """z = V^(-bottom/degree): z^degree V^bottom is 1 somewhere between the two ends, at both ends of V."""
    bottom, degree = powers
    low, high = heavy._size_beyond(bottom, degree, (prefix, 128))
    assert low**degree * (prefix + 1) ** bottom <= 2 ** (128 * (degree + bottom)) <= high**degree * prefix**bottom


def test_a_draw_is_used_once_and_blocks_are_drawn_ahead(monkeypatch):
    noise = HeavyTails(Fraction(17, 11))
    first = noise.draw()
    monkeypatch.setattr(bits, "random_words", _stop)
    seen = {id(draw) for draw in [first, *(noise.draw() for _ in range(100))]}
    assert len(seen) == 101
    assert isinstance(first, Draw)


def told_by_time(noise, count):
    """Rank correlation of the time of a release and the size of its noise."""
    times, sizes = [], []
    for _ in range(count):
        start = time.thread_time_ns()
        released = noise.draw().rounded(Fraction(1000), Fraction(10**6, 7))
        times.append(time.thread_time_ns() - start)
        sizes.append(math.log(abs(released - 1000) + 1))
    return abs(stats.spearmanr(times, sizes).statistic)


@pytest.mark.slow  # a clock is read: other work on the machine can disturb it
@pytest.mark.parametrize("gamma", ["3/2", "2", "4"])
def test_time_says_nothing_of_the_noise(gamma):
    """20,000 draws: without a correlation its deviation is 1 / sqrt(20,000)."""
    assert told_by_time(HeavyTails(gamma), 20_000) < normal_limit(1, 20_000)


def test_time_tells_heavier_noise(monkeypatch):
    """Planted: the gamma that is refused for it."""
    monkeypatch.setattr(heavy, "LEAST_GAMMA", Fraction(64, 63))
    assert told_by_time(HeavyTails("64/63"), 2000) > 2 * normal_limit(1, 2000)


@pytest.mark.parametrize("gamma", [1, 0.5, -4, "64/63", "7/5", "1.499"])
def test_a_gamma_whose_draws_take_their_time_is_refused(gamma):
    with pytest.raises(InvalidInput, match=r"at least 3/2.*gamma=4"):
        HeavyTails(gamma)


@pytest.mark.parametrize("gamma", [65, "100/49"])
def test_a_gamma_of_long_terms_is_refused(gamma):
    with pytest.raises(InvalidInput, match=r"terms of at most 64.*gamma=4"):
        HeavyTails(gamma)


def test_the_longest_terms_are_accepted():
    assert HeavyTails(64).gamma == 64
    assert HeavyTails("63/40").gamma == Fraction(63, 40)


def test_the_least_gamma_is_drawn():
    assert len(heavy_draws(HeavyTails("3/2").gamma, 3)) == 3
