"""What dropping costs: never less than the worst neighbour gains, and attained where nothing else is dropped."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidBudget
from tacit.evidence.verify.small_maps import laws, neighbours_of, worst_weight
from tacit.mechanisms.dirichlet import dropping as module
from tacit.mechanisms.dirichlet.calibration import PublicFacts, bad_weight_up, probable_noise
from tacit.mechanisms.dirichlet.dropping import dropping, split_ratio
from tacit.mechanisms.noise.urn import BlockClass
from tacit.privacy.rounding import exp_up, log_down, log_up

F = Fraction
KEEPS = st.sampled_from([F(1, 20), F(1, 4), F(1, 2), F(9, 10), F(1)])


def factor(facts, noise):
    return exp_up(dropping(facts, noise).epsilon)


def worst_growth(facts, noise):
    """The largest ratio of two neighbours over what it is without dropping: (m_i + a_i) / a_i * a_j / (m_j + a_j)."""
    known, worst = laws(facts, noise), F(0)
    for homes, chances in known.items():
        for other in neighbours_of(homes):
            left, entered = (next(b for b in range(len(homes)) if other[b] - homes[b] == step) for step in (-1, 1))
            for output, chance in chances.items():
                if known[other][output]:
                    own, theirs = homes[left] - 1 + noise, homes[entered] + noise
                    plain = (output[left] + own) / own * theirs / (output[entered] + theirs)
                    worst = max(worst, chance / known[other][output] / plain)
    return worst


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), st.lists(KEEPS, min_size=2, max_size=3), st.fractions(F(1, 4), 3, max_denominator=4))
def test_no_neighbour_gains_more(workers, draws, keeps, noise):
    facts = PublicFacts(workers, draws, tuple(BlockClass(1, keep) for keep in sorted(keeps, reverse=True)))
    assert worst_growth(facts, noise) <= factor(facts, noise)


@pytest.mark.parametrize("keep", [F(1, 20), F(1, 2), F(9, 10)])
@pytest.mark.parametrize(("workers", "blocks"), [(1, 2), (2, 3)])
def test_the_price_is_attained(keep, workers, blocks):
    """Two blocks that are otherwise empty, and one more for the others: the worst neighbour gains exactly the price."""
    certain = (BlockClass(blocks - 2), BlockClass(2, keep))
    facts, noise = PublicFacts(workers, 3, certain), F(3, 4)
    growth = worst_growth(facts, noise)
    assert factor(facts, noise) * (1 - F(1, 10**40)) <= growth <= factor(facts, noise)


def test_one_over_the_chance_alone_is_not_enough():
    """The planted bugs: 1/p alone, and the larger of 1/p and 2^noise as in a printed theorem. The factors multiply."""
    facts, noise = PublicFacts(1, 4, (BlockClass(2, "1/2"),)), F(2)
    growth = worst_growth(facts, noise)
    assert growth > 2
    assert growth > max(F(2), F(2) ** 2)
    assert growth <= factor(facts, noise)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.integers(2, 5), st.integers(0, 1), KEEPS, st.sampled_from([F(3, 2), F(2), F(4)]), st.integers(1, 8))
def test_the_bad_set_and_its_delta_are_those_without_dropping(workers, draws, certain, keep, ratio, steps):
    """All neighbours at once, at the ratio of both together: outputs beyond it weigh no more than delta."""
    facts = PublicFacts(workers, draws, (BlockClass(certain), BlockClass(3 - certain, keep)), count_noise=True)
    noise = F(steps, 2) / (ratio - 1)
    assert worst_weight(laws(facts, noise), ratio * factor(facts, noise)) <= bad_weight_up(facts, noise, ratio)


def test_the_sum_of_logarithms_is_the_product():
    """Many draws go through floats, few through fractions: the same to eleven digits, and never below."""
    noise, keep = F(36, 49), F(1, 10)
    facts = PublicFacts(500, 300, (BlockClass(9, keep),))
    gain = math.prod(((500 + 2 * noise + i) / (500 + noise + i) for i in range(300)), start=F(1))
    exact = math.log(keep + (1 - keep) * gain)
    assert 0 <= float(dropping(facts, noise).entering) - exact < 1e-11


@pytest.mark.parametrize("draws", [65, 4_000, 2**20, 2**20 + 1, 10**7, 10**15])
@pytest.mark.parametrize(("mass", "noise"), [("2", "1"), ("5/2", "1/1000"), ("300", "150"), ("1000001", "36/49"), ("1e30", "1e9")])
def test_the_gain_is_never_below_sixty_digits_of_it(mass, noise, draws):
    """ln G by four values of ln Gamma, where noise is half of the mass and where it is next to nothing."""
    from mpmath import loggamma, mp, mpf

    whole, share = F(mass), F(noise)
    with mp.workdps(80):
        high, low = (mpf(part.numerator) / part.denominator for part in (whole, whole - share))
        gain = loggamma(high + draws) - loggamma(high) - loggamma(low + draws) + loggamma(low)
        found = module._log_gain_up(whole, share, draws)
        assert 0 <= mpf(found.numerator) / found.denominator / gain - 1 < mpf(2) ** -39


def test_noise_too_small_for_floats_still_costs():
    """-ln(1 - x) is above x, so the sum is above 65 times the noise over the largest mass; in floats it was 0."""
    noise = F(1, 10**400)
    assert module._log_gain_up(F(10**12), noise, 65) >= 65 * noise / (10**12 + 64)


def test_a_series_that_is_cut_too_early_would_be_seen(monkeypatch):
    product = math.prod(((2 + i) / F(1 + i) for i in range(100)), start=F(1))
    assert module._log_gain_up(F(2), F(1), 100) >= log_down(product)
    monkeypatch.setattr(module, "TERMS", 6)
    assert module._log_gain_up(F(2), F(1), 100) < log_down(product)


def test_the_price_of_the_tutorial():
    """Keep-chance 0.0378, ratio 100, 120,690 origins, a million workers: between ln(1/0.0378) and that plus noise ln 2."""
    facts = PublicFacts(10**6, 10**6, (BlockClass(120_690, "0.0378"),))
    noise = probable_noise(facts, 100, 1e-5)
    price = dropping(facts, noise)
    assert round(float(price.leaving), 4) == 3.2754
    assert round(float(price.epsilon), 4) == 3.5122
    assert float(price.leaving) < float(price.epsilon) < float(price.leaving) + float(noise) * math.log(2)


def test_nothing_dropped_costs_nothing():
    assert dropping(PublicFacts(5, 5, (BlockClass(3),)), F(1)).epsilon == 0
    assert dropping(PublicFacts(0, 0, (BlockClass(3, "1/2"),)), F(1)).epsilon == 0
    assert split_ratio(PublicFacts(1041, 1041, (BlockClass(244),)), 20, 1e-5).noise == F(29, 19)


def test_certain_blocks_make_the_urn_heavier_and_the_price_lower():
    few, many = (PublicFacts(10, 200, (BlockClass(sure), BlockClass(5, "1/2"))) for sure in (0, 50))
    assert dropping(many, F(2)).epsilon < dropping(few, F(2)).epsilon


def test_gains_too_large_to_write_out_are_bounded_by_their_logarithm():
    price = dropping(PublicFacts(10, 10**4, (BlockClass(5, "1/2"),)), F(5000))
    assert 1000 < price.entering < 10**6
    largest = dropping(PublicFacts(10, 10**4, (BlockClass(5, "1/2"),)), F(10) ** 400)
    assert price.entering < largest.entering < 7000  # 10^4 ln 2: at most half of the mass is left out


@pytest.mark.parametrize("total", [500, 1000, 5000])
def test_a_total_ratio_holds_noise_and_dropping_together(total):
    facts = PublicFacts(1041, 1041, (BlockClass(44), BlockClass(200, "1/5")))
    split = split_ratio(facts, total, 1e-5)
    assert split.ratio * factor(facts, split.noise) <= total * (1 + F(1, 10**30))
    assert bad_weight_up(facts, split.noise, split.ratio) <= F(1, 10**5)
    assert (split.ratio + F(1, 1000)) * factor(facts, probable_noise(facts, split.ratio + F(1, 1000), 1e-5)) > total


def test_a_total_too_small_for_dropping_is_refused():
    with pytest.raises(InvalidBudget, match="leaves nothing"):
        split_ratio(PublicFacts(1041, 1041, (BlockClass(244, "1/10"),)), 9, 1e-5)


def test_classes_may_come_in_any_order():
    classes = (BlockClass(2), BlockClass(3, "1/2"), BlockClass(4, "1/8"), BlockClass(0, "1/100"))
    assert len({dropping(PublicFacts(9, 9, order), F(1)).epsilon for order in permutations(classes)}) == 1


# --- each number by its formula, and each rounding by its direction ----------------------------------------------------------


@pytest.mark.parametrize("certain", [0, 1, 2, 5])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_urn_is_as_light_as_it_can_be_and_no_lighter(workers, certain):
    """A_1 and A_2 of the proof: with a worker in an otherwise empty block, and with two such blocks."""
    noise, keep, draws = F(3, 4), F(1, 4), 5
    price = dropping(PublicFacts(workers, draws, (BlockClass(certain), BlockClass(3, keep))), noise)

    def entering(blocks):
        mass = workers + blocks * noise
        return log_up(keep + (1 - keep) * math.prod((mass + i) / (mass + i - noise) for i in range(draws)))

    assert price.entering == entering(max(certain + 1, 2))
    assert price.both == price.leaving + entering(max(certain + 2, min(workers, 2) + 1))


def test_blocks_that_are_all_kept_cost_nothing_however_large_the_noise():
    assert dropping(PublicFacts(10, 10**4, (BlockClass(5),)), F(5000)).epsilon == 0


def digits(value):
    return mpmath.mpf(value.numerator) / value.denominator


def test_logarithms_are_rounded_up(monkeypatch):
    """Beside a hundred digits; the sum before the last logarithm is taken as exact."""
    with mpmath.workdps(100):
        for chance in (F(1, 3), F(1, 20), F(9, 10)):
            leaving = dropping(PublicFacts(2, 3, (BlockClass(3, chance),)), F(1)).leaving
            assert 0 <= digits(leaving) + mpmath.log(digits(chance)) < mpmath.mpf(10) ** -40
            monkeypatch.setattr(module, "_log_gain_up", lambda *_: F(1))
            entering = module._entering_up(F(10), F(1), 100, chance)
            exact = mpmath.log(digits(chance) + digits(1 - chance) * mpmath.e)
            assert 0 <= digits(entering) - exact < mpmath.mpf(10) ** -40


def test_the_integral_is_above_whatever_its_logarithms_err(monkeypatch):
    """Each logarithm is made to err by a thousandth in the direction of its name: all four errors raise the bound."""
    mass, noise, draws = F(100), F(7), 1000
    plain = module._integral_up(mass, noise, draws)
    monkeypatch.setattr(module, "log_up", lambda value: log_up(value) + F(1, 1000))
    monkeypatch.setattr(module, "log_down", lambda value: log_down(value) - F(1, 1000))
    low, high = mass - F(1, 2), mass + draws - F(1, 2)
    assert module._integral_up(mass, noise, draws) - plain == (high + (high - noise) + low + (low - noise)) / 1000


def test_masses_and_shares_beyond_floats_have_a_bound_of_their_own():
    largest, smallest, draws = F(2**1000), F(1, 2**900), 65
    most = module._log_gain_up(largest + 1, largest / 4, draws)
    assert module._log_gain_up(largest, largest / 4, draws) < most / 2
    with mpmath.workdps(100):
        assert 0 <= digits(most) / (draws * mpmath.log(2)) - 1 < mpmath.mpf(10) ** -40
    for mass in (F(1, 4), F(4)):
        for noise in (mass * smallest * F(9, 10), mass * smallest / 2**20):
            assert module._log_gain_up(mass, noise, draws) == 2 * draws * noise / mass
        assert module._log_gain_up(mass, mass * smallest, draws) < draws * mass * smallest * F(3, 2) / mass
    assert F(1, 2**40) == module.SUM_ERROR, "the margin that dirichlet.md derives"


@pytest.mark.parametrize("total", [F(3), F(30)])
def test_a_total_is_used_up_to_a_thousandth(monkeypatch, total):
    """The price of dropping is fixed, and logarithms err by one: the same error on both sides of a comparison."""
    facts, extra = PublicFacts(5, 3, (BlockClass(3, "1/2"),)), F(7, 10)
    monkeypatch.setattr(module, "dropping", lambda facts, noise: module.Dropping(F(0), F(0), extra))
    monkeypatch.setattr(module, "log_up", lambda value: log_up(value) + 1)
    monkeypatch.setattr(module, "log_down", lambda value: log_down(value) - 1)
    split = split_ratio(facts, total)
    assert (split.ratio, split.extra) == (F(math.floor(1000 * float(total) * math.exp(-0.7)), 1000), extra)
    assert split.noise == 3 / (split.ratio - 1), "no delta, unless one is given"


def test_a_ratio_that_does_not_fit_is_not_tried_again(monkeypatch):
    """Even where rounding would keep it: planted is an exp that says 1 for what is a little less."""
    facts, extra = PublicFacts(5, 3, (BlockClass(3, "1/2"),)), F(103, 10**4)
    monkeypatch.setattr(module, "dropping", lambda facts, noise: module.Dropping(F(0), F(0), extra))
    monkeypatch.setattr(module, "exp_up", lambda value: F(1))
    assert split_ratio(facts, 3).ratio == F(2969, 1000)  # 3 exp(-0.0103) is 2.96926
