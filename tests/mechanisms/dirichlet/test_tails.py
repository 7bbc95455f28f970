"""Tails from above: never below the exact sum, and hardly above it; the bound on all blocks with many workers."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.mechanisms.dirichlet import tails as module
from tacit.mechanisms.dirichlet.law import urn_chances
from tacit.mechanisms.dirichlet.tails import far_tail_up, tail_up

MASSES = st.fractions(Fraction(1, 20), 30, max_denominator=20)


def exact_tail(draws, own, others, least):
    return sum((chance for (count, _), chance in urn_chances([own, others], draws).items() if count >= least), Fraction(0))


@settings(max_examples=150)
@given(st.integers(1, 40), MASSES, MASSES, st.data())
def test_a_tail_is_never_below_the_exact_sum(draws, own, others, data):
    least = data.draw(st.integers(0, draws + 1))
    exact, bound = exact_tail(draws, own, others, least), Fraction(tail_up(draws, own, others, least))
    assert bound >= exact
    rising = least < draws and module._still_rising(draws, own, others, least)
    assert bound == 1 if rising or not least else bound <= exact * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("draws", "own", "others", "least"),
    [(10**6, Fraction(43, 2), 10**6, 87), (10**6, Fraction(85, 49), 10**6 - 1, 37), (20_000, 3, 500, 900)],
)
def test_a_long_tail_against_forty_digits(draws, own, others, least):
    with mpmath.workdps(40):
        a, b = mpmath.mpf(own.numerator) / own.denominator, mpmath.mpf(others)
        term = mpmath.binomial(draws, least) * mpmath.beta(a + least, b + draws - least) / mpmath.beta(a, b)
        total, at = mpmath.mpf(0), least
        while at <= draws and term > total * mpmath.mpf(10) ** -30:
            total += term
            term *= mpmath.mpf(draws - at) * (a + at) / ((at + 1) * (b + draws - at - 1))
            at += 1
        bound = tail_up(draws, Fraction(own), Fraction(others), least)
        assert total <= bound <= total * (1 + mpmath.mpf(10) ** -4)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.integers(20, 200), MASSES, st.fractions(1, 30, max_denominator=20), st.data())
def test_what_is_left_of_a_long_tail_is_bounded(monkeypatch, draws, own, others, data):
    """However slowly it falls: few terms are summed, and the bound stays above."""
    for name in ("FIRST_TERMS", "ALL_TERMS", "MOST_TERMS"):
        monkeypatch.setattr(module, name, 4)
    least = data.draw(st.integers(1, draws))
    assert Fraction(tail_up(draws, own, others, least)) >= exact_tail(draws, own, others, least)


def test_a_long_and_flat_tail_takes_no_more_memory_than_a_short_one(monkeypatch):
    """Ten workers and 10^14 draws: the probability of 10^10 or more falls like a power, and could never be summed."""
    arange = np.arange

    def short(start, end, **how):
        assert end - start <= 4 * module.MOST_TERMS
        return arange(start, end, **how)

    monkeypatch.setattr(np, "arange", short)
    assert 0 < tail_up(10**14, Fraction(1, 2), Fraction(10), 10**10) <= 1


def test_masses_beyond_what_floats_are_trusted_with_have_no_bound_but_one():
    for own, others in (
        (Fraction(1, 10**400), Fraction(5)),
        (Fraction(5), Fraction(10**400)),
        (Fraction(10**70), Fraction(10**75)),
    ):
        assert tail_up(10, own, others, 3) == 1.0
    assert far_tail_up(10**15, Fraction(10**400), Fraction(10**410), 1 + Fraction(1, 10**390)) == 1.0


def test_without_the_margin_a_tail_may_be_below(monkeypatch):
    """The planted bug: floating point as it comes. Some of the exact tails are then above what is said."""
    monkeypatch.setattr(module, "LGAMMA_ERROR", 0.0)
    monkeypatch.setattr(module, "UNIT", 0.0)
    cases = [
        (draws, Fraction(own, 7), Fraction(others, 3), draws - 2) for draws in (20, 30) for own in (3, 9) for others in (10, 40)
    ]
    assert any(Fraction(tail_up(*case)) < exact_tail(*case) for case in cases)


@pytest.mark.parametrize("power", [*range(-40, 46), -400, -300, -200, -100, -60, 60, 80, 110, 140, 170, 200])
def test_the_assumption_on_lgamma(power):
    """Within 2^-45 of |lgamma(x)| + x + 1, also where x itself was rounded: sixty digits beside it."""
    for step in (0, 1, 3, 7):
        x = 2.0**power * (1 + step / 10)
        with mpmath.workdps(60):
            for at in (x, x * (1 + 2.0**-52), x * (1 - 2.0**-53)):
                true = mpmath.loggamma(mpmath.mpf(at))
                assert abs(true - math.lgamma(x)) <= module.LGAMMA_ERROR / 4 * (abs(math.lgamma(x)) + x + 1)


@settings(max_examples=40)
@given(
    st.integers(1, 30),
    st.integers(1, 12),
    st.fractions(Fraction(1, 4), 6, max_denominator=4),
    st.fractions(Fraction(5, 4), 8, max_denominator=4),
)
def test_the_far_bound_is_above_every_tail_that_follows(draws, workers, noise, ratio):
    mass = workers + noise
    for start in range(1, workers + 1):
        bound = Fraction(far_tail_up(draws, noise + start - 1, mass, ratio))
        for count in range(start, workers + 1):
            least = math.floor((ratio - 1) * (noise + count - 1)) + 1
            assert exact_tail(draws, noise + count, Fraction(workers - count), least) <= bound


def test_the_far_bound_falls():
    bounds = [far_tail_up(1000, Fraction(10 + c), Fraction(10_010), Fraction(3, 2)) for c in range(0, 200, 10)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 1e-9
    assert far_tail_up(10, Fraction(100), Fraction(200), Fraction(2)) == 0.0  # as many draws cannot be
    assert far_tail_up(1000, Fraction(10), Fraction(20), Fraction(2)) == 1.0  # the threshold is below the mean


def test_the_smallest_tails_do_not_vanish():
    assert tail_up(10**6, Fraction(1), Fraction(10**6), 10**6) > 0


def test_masses_are_not_negative():
    with pytest.raises(InvalidInput, match="masses"):
        tail_up(3, Fraction(0), Fraction(1), 1)


# --- the margins and limits that the proof names -----------------------------------------------------------------------------


def test_the_margins_are_those_of_the_proof():
    """Four times 2^-47 of |lgamma(x)| + x + 1 for each value, and 16 (N + 16) units of a float for N terms."""
    assert module.LGAMMA_ERROR == 4 * 2.0**-47
    assert module._log_sum_up([(1, 1.0)]) == module.LGAMMA_ERROR * 2  # ln Gamma(1) is 0
    assert module._series_up(5, 1.0, 1.0, 5) == 1 + 16 * 16 * 2.0**-53  # no term follows
    assert module._series_up(5, 1.0, 1.0, 4) == 2 * (1 + 16 * 17 * 2.0**-53)  # one follows, and is as large


def test_masses_are_trusted_to_the_limits_of_the_assumption():
    least, largest = Fraction(1, 2**400), Fraction(2**200)
    assert not module._out_of_range(least, largest)
    assert module._out_of_range(least * Fraction(999, 1000))
    assert module._out_of_range(largest * Fraction(1001, 1000))


@pytest.mark.parametrize("own", [Fraction(1, 2), Fraction(1), Fraction(3), Fraction(7)])
@pytest.mark.parametrize("others", [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(9)])
def test_a_tail_still_rises_where_the_next_outcome_is_more_probable(own, others):
    chances = {count: chance for (count, _), chance in urn_chances([own, others], 7).items()}
    rising = [module._still_rising(7, own, others, least) for least in range(8)]
    assert rising == [*(chances[least + 1] > chances[least] for least in range(7)), False]


@pytest.mark.parametrize(
    ("draws", "own", "others", "last"),
    [
        (50, Fraction(1, 2), Fraction(4), 10),
        (50, Fraction(9), Fraction(64), 12),
        (90, Fraction(9), Fraction(1000), 3),
        (40, Fraction(1), Fraction(5, 4), 20),  # the terms fall so slowly that their number is the better bound
        (10**6, Fraction(1), Fraction(5, 2), 2**10),  # a ratio of 1 - 1.5e-6, where every unit of a float counts
        (10**7, Fraction(1), Fraction(5, 2), 2**10),  # a ratio too near to 1: the number of terms
    ],
)
def test_the_rest_of_a_series_is_bounded_as_proved(draws, own, others, last):
    """g / (1 - g) or the number of terms, whichever is less: 16 units more for g, and 10^-9 more for the quotient."""
    ratio = max(Fraction(1), (own + last) / (last + 1)) * (draws - last) / (others + draws - last - 1)
    raised = ratio * (1 + 16 * Fraction(1, 2**53))
    series = raised / (1 - raised) * (1 + Fraction(1, 10**9)) if ratio < 1 - Fraction(1, 10**6) else draws
    found = Fraction(module._rest_up(draws, float(own), float(others), last))
    assert abs(found / min(Fraction(series), Fraction(draws - last)) - 1) < Fraction(1, 4 * 10**9)


@pytest.mark.parametrize("own", [Fraction(1, 2), Fraction(5)])
def test_a_series_that_is_cut_has_its_terms_and_the_bound_on_the_rest(monkeypatch, own):
    for name in ("FIRST_TERMS", "ALL_TERMS", "MOST_TERMS"):
        monkeypatch.setattr(module, name, 4)
    draws, others, least = 60, Fraction(30), 20
    terms = [Fraction(1)]
    for at in range(least, least + 4):
        terms.append(terms[-1] * (draws - at) * (own + at) / ((at + 1) * (others + draws - at - 1)))
    rest = Fraction(module._rest_up(draws, float(own), float(others), least + 4)) * terms[-1]
    found = Fraction(module._series_up(draws, float(own), float(others), least))
    assert 1 < found / (sum(terms) + rest) < 1 + Fraction(1, 10**12)


def test_a_tail_that_rises_again_is_summed_to_its_end(monkeypatch):
    """With less than one other worker all draws of one block are as probable as none: no ratio bounds what follows."""
    for name in ("FIRST_TERMS", "ALL_TERMS", "MOST_TERMS"):
        monkeypatch.setattr(module, name, 4)
    small = Fraction(1, 1000)
    assert Fraction(tail_up(50, small, small, 1)) >= exact_tail(50, small, small, 1) > Fraction(49, 100)


@pytest.mark.parametrize("below", [20, 40, 80, 200])
def test_the_far_bound_is_near_the_best_of_all_steps(below):
    draws, mass, ratio = 1000, 10_010, Fraction(3, 2)

    def logarithm(steps):
        grown = [(1, below + 1), (-1, ratio * below + 1), (1, mass + draws), (-1, mass)]
        return math.fsum(sign * (math.lgamma(at + steps) - math.lgamma(at)) for sign, at in grown)

    best = min(map(logarithm, range(1, 1000)))
    assert best <= math.log(far_tail_up(draws, Fraction(below), Fraction(mass), ratio)) <= best + 0.01 * abs(best)


def test_the_far_bound_at_its_ends():
    assert far_tail_up(10, Fraction(10), Fraction(20), Fraction(2)) == 0.0  # more than all draws
    assert far_tail_up(10**12 // 2 - 1, Fraction(1), Fraction(10**12), Fraction(2)) == 1.0  # not e, which floats would give
