"""What noise costs when its scale may change: against the worst shift and stretch, found numerically and listed exactly."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidBudget
from tacit.mechanisms.noise.heavy import HeavyTails
from tacit.mechanisms.noise.laplace_tails import LaplaceTails
from tacit.mechanisms.noise.tails import rounded_law
from tacit.mechanisms.smooth import calibration as module
from tacit.mechanisms.smooth.calibration import calibrated, heavy_calibration, laplace_calibration, stretch_delta_up
from tacit.mechanisms.smooth.sensitivity import smooth_order_statistic
from tacit.mechanisms.sorted_rows import sorted_rows
from tacit.privacy.law import Law, hockey_stick, worst_log_ratio
from tacit.privacy.rounding import exp_down, exp_up

POINTS = np.concatenate([np.linspace(-12, 12, 24_001), np.logspace(1, 12, 600), -np.logspace(1, 12, 600)])


def log_density(z, gamma):
    return -np.log1p(np.abs(z) ** gamma)


def worst_loss(alpha, beta, gamma, shift):
    """The largest log-ratio of two densities, one moved by alpha smooth bounds and stretched by e^beta; a scan, from below.

    `shift` says which bound the move is measured in: both hold between neighbours, so in truth it is the smaller.
    """
    losses = []
    for stretch in np.linspace(-beta, beta, 5):
        for move in (-alpha, alpha):
            moved = move * shift(1, math.exp(stretch))
            losses.append(log_density(POINTS, gamma) + stretch - log_density((POINTS - moved) * math.exp(-stretch), gamma))
    return max(float(loss.max()) for loss in losses)


@pytest.mark.parametrize(
    ("gamma", "published", "printed"),
    [
        (1.5, 0.9225, 0.737),
        (2, 0.7958, 0.524),
        (3, 0.8885, 0.725),
        (4, 0.9236, 0.834),
        (6, 0.9531, 0.951),
        (8, 0.9662, 1.0145),
        (16, 0.9840, 1.118),
    ],
)
def test_losses_of_both_calibrations(gamma, published, printed):
    """Ours stays within epsilon; alpha = epsilon/(4 gamma), beta = epsilon/gamma does not for large gamma."""
    ours = heavy_calibration(Fraction(1), Fraction(str(gamma)))
    alpha, beta = float(ours.alpha), float(ours.beta)
    assert worst_loss(alpha, beta, gamma, max) == pytest.approx(published, abs=1e-3)
    assert worst_loss(alpha, beta, gamma, min) <= worst_loss(alpha, beta, gamma, max) <= 1
    assert worst_loss(1 / (4 * gamma), 1 / gamma, gamma, max) == pytest.approx(printed, abs=1e-3)


def test_the_usual_calibration_breaks_its_promise_from_gamma_nine_on():
    """With the move measured in the smaller bound, as between real neighbours, gamma 8 is still within and 9 is not."""
    losses = {gamma: worst_loss(1 / (4 * gamma), 1 / gamma, gamma, min) for gamma in (8, 9, 16)}
    assert losses[8] < 1 < losses[9] < losses[16]
    assert losses[16] == pytest.approx(1.1069, abs=1e-3)


def law_of(values, calibration, reach=300):
    """The law of the median of the values (from 0 to 1000) with noise, on a grid of step 1000 and without clamping."""
    noise, alpha, beta = calibration
    rows = sorted_rows(values, 0, 1000)
    bound = smooth_order_statistic(rows, Fraction(1, 2), beta)
    centre = Fraction(rows.at(-(-len(values) // 2)), 1000)
    return Law(rounded_law(noise, centre, bound / 1000 / alpha, -reach, reach))


def test_a_pair_of_databases_shows_it_exactly():
    """One row more moves the median by 939 and lowers its smooth bound from 1000 to 939.4: listed laws, no sampling."""
    usual = (HeavyTails(16), Fraction(1, 64), Fraction(1, 16))
    assert worst_log_ratio(law_of([0, 1000], usual), law_of([0, 939, 1000], usual)) > Decimal("1.1")
    ours = heavy_calibration(Fraction(1), Fraction(16))
    safe = (ours.noise, ours.alpha, ours.beta)
    for one, other in (([0, 1000], [0, 939, 1000]), ([0, 939, 1000], [0, 1000]), ([0, 967, 1000], [0, 1000])):
        assert worst_log_ratio(law_of(one, safe), law_of(other, safe)) <= 1


@settings(max_examples=40, deadline=None)
@given(
    st.fractions(Fraction(1, 1000), 50, max_denominator=1000),
    st.fractions(Fraction(3, 2), 20, max_denominator=9).filter(lambda gamma: gamma.numerator <= 64),
)
def test_alpha_and_beta_are_never_too_large(epsilon, gamma):
    calibration = heavy_calibration(epsilon, gamma)
    slope = float(gamma - 1) ** (float(gamma - 1) / float(gamma))
    spent = calibration.alpha * Fraction(slope) + calibration.beta * max(Fraction(1), gamma - 1)
    assert epsilon * (1 - Fraction(1, 10**9)) <= spent <= epsilon * (1 + Fraction(1, 10**14))
    assert calibration.alpha <= epsilon / 2 / Fraction(math.nextafter(slope, 0)) * (1 + Fraction(1, 10**15))


# Laplace tails


def exact_delta(epsilon, beta, alpha, move, widening):
    """The hockey-stick at epsilon between Laplace laws on a fine grid: scales e^beta and 1 over alpha, centres `move` apart."""
    noise, wide = LaplaceTails(), Fraction(math.exp(beta)).limit_denominator(10**9)
    scales = (wide, Fraction(1)) if widening else (Fraction(1), wide)
    laws = [
        Law(rounded_law(noise, centre, 10 * scale / alpha, -700, 700))
        for centre, scale in zip((Fraction(0), 10 * Fraction(move)), scales, strict=True)
    ]
    return float(hockey_stick(*laws, Decimal(epsilon)))


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-3"), (4, "1e-4")])
def test_the_delta_of_a_stretch_is_exact(epsilon, delta):
    """At the corner the listed laws need the stated delta and no more; moved less, moved in the larger scale's way, less."""
    calibration = laplace_calibration(Fraction(epsilon), Fraction(delta))
    stated, beta = float(stretch_delta_up(Fraction(epsilon), calibration.beta)), float(calibration.beta)
    assert stated == pytest.approx(float(delta), rel=1e-6)
    corner = exact_delta(epsilon, beta, calibration.alpha, 1, widening=True)
    assert stated * 0.97 < corner <= stated * (1 + 1e-9)
    for move, part, widening in [(0.5, 1, True), (0, 1, True), (1, 0.5, True), (1, 1, False)]:
        assert exact_delta(epsilon, beta * part, calibration.alpha, move, widening) < corner


def test_a_larger_budget_than_the_usual_formula_has_where_that_is_sound():
    for epsilon in ("0.1", "1", "3", "10"):
        for delta in ("1e-3", "1e-6", "1e-9"):
            usual = float(epsilon) / (2 * math.log(2 / float(delta)))
            assert float(laplace_calibration(Fraction(epsilon), Fraction(delta)).beta) > usual


def test_the_usual_formula_breaks_its_promise_for_large_epsilon():
    """beta = epsilon / (2 ln(2/delta)) at epsilon 20: the listed laws need five times the delta that it promises."""
    beta = 20 / (2 * math.log(2 / 1e-3))
    assert exact_delta(20, beta, Fraction(10), 1, widening=True) > 5e-3
    ours = laplace_calibration(Fraction(20), Fraction(1, 1000))
    assert exact_delta(20, float(ours.beta), ours.alpha, 1, widening=True) <= 1e-3


@settings(max_examples=60, deadline=None)
@given(st.fractions(Fraction(1, 100), 100, max_denominator=100), st.integers(1, 30))
def test_the_chosen_beta_is_within_delta_and_nearly_the_largest(epsilon, exponent):
    delta = Fraction(1, 10**exponent)
    beta = laplace_calibration(epsilon, delta).beta
    assert stretch_delta_up(epsilon, beta) <= delta
    assert beta <= epsilon / 2  # so that a narrower scale is within epsilon without any delta
    if beta < epsilon / 2 * (1 - Fraction(1, 2**40)):
        assert stretch_delta_up(epsilon, beta * (1 + Fraction(1, 10**6))) > delta


@pytest.mark.parametrize(("delta", "gamma"), [(Fraction(0), None), (Fraction(1, 10**6), Fraction(4))])
def test_a_delta_without_use_and_a_use_without_delta_are_refused(delta, gamma):
    with pytest.raises(InvalidBudget):
        calibrated(Fraction(1), delta, gamma)


# Roundings


@pytest.fixture
def exaggerated(monkeypatch):
    """What is rounded up is doubled, and what is rounded down halved; nothing is taken from the cache."""
    monkeypatch.setattr(module, "exp_up", lambda value: 2 * exp_up(value))
    monkeypatch.setattr(module, "exp_down", lambda value: exp_down(value) / 2)


@pytest.mark.usefixtures("exaggerated")
def test_every_rounding_raises_the_delta_of_a_stretch():
    epsilon, beta = 2.0, 0.5
    rise = 2 * math.exp(beta) - 1
    ends = 2 * math.exp(-(epsilon / 2 + beta) / rise) + 2 * math.exp(-(3 * epsilon / 2 + beta) / rise)
    found = float(stretch_delta_up(Fraction(epsilon), Fraction(beta)))
    assert found == pytest.approx((1 - math.exp(-beta) / 2) / 2 * ends, rel=1e-12)


@pytest.mark.usefixtures("exaggerated")
def test_the_rounding_of_the_slope_makes_the_noise_larger():
    slope = 2 * 3 ** (3 / 4)  # of gamma 4
    assert float(heavy_calibration.__wrapped__(Fraction(1), Fraction(4)).alpha) == pytest.approx(1 / (2 * slope), rel=1e-12)


def test_a_slope_of_one_is_not_rounded():
    assert heavy_calibration(Fraction(1, 3), Fraction(2)).alpha == Fraction(1, 6)


def test_a_beta_that_doubles_got_wrong_is_lowered_until_it_holds(monkeypatch):
    """Planted: 2.3 parts in 2^30 too large. Three steps down, the third to 0.7 parts below the largest that holds."""
    true = module._largest_beta(1.0, 1e-6)
    monkeypatch.setattr(module, "_largest_beta", lambda epsilon, delta: true * (1 + 2.3 * 2.0**-30))
    beta = laplace_calibration.__wrapped__(Fraction(1), Fraction(1, 10**6)).beta
    assert stretch_delta_up(Fraction(1), beta) <= Fraction(1, 10**6)
    assert float(beta / Fraction(true) - 1) * 2**30 == pytest.approx(-0.7, abs=0.05)
