"""The listed law of discrete Laplace noise, against its definition and against the sampler."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.noise.discrete_law import DiscreteLaplaceLaw

SCALES = [Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(12)]
CLOSE = Decimal("1e-45")


@pytest.mark.parametrize("scale", SCALES)
def test_masses_sum_to_the_tails(scale):
    law = DiscreteLaplaceLaw(scale)
    for k in range(-5, 6):
        assert abs(law.at_least(k) - law.at_least(k + 1) - law.mass(k)) < Decimal("1e-25")
        assert abs(law.below(k) + law.at_least(k) - 1) < Decimal("1e-25")
    reach = law.reach()
    assert law.at_least(reach + 1) < Decimal("1e-60")


@pytest.mark.parametrize("scale", [Fraction(1, 200), Fraction(1, 3), *SCALES])
def test_nothing_beyond_the_reach_shows_in_fifty_digits(scale):
    """Also of noise that is nearly always 0."""
    law = DiscreteLaplaceLaw(scale)
    assert law.reach() >= 0
    assert 2 * law.at_least(law.reach() + 1) < Decimal("1e-60")


@pytest.mark.parametrize("scale", SCALES)
def test_it_is_the_law_of_the_laplace_mechanism(scale):
    listed = Laplace(1, 1 / scale, step=1, on_grid=True).law(0).probabilities
    law = DiscreteLaplaceLaw(scale)
    assert all(abs(law.mass(k) - p) < CLOSE for k, p in listed.items())


@given(st.fractions(min_value="1/5", max_value=20), st.integers(-60, 60), st.integers(0, 40))
def test_the_tail_falls_by_at_most_its_ratio(scale, k, steps):
    """Lemma T of noisy_max.md: P[X >= k + m] >= e^(-m/scale) P[X >= k], on either side of 0."""
    law = DiscreteLaplaceLaw(scale)
    ratio = (-Decimal(steps) * scale.denominator / scale.numerator).exp()
    assert law.at_least(k + steps) >= law.at_least(k) * ratio * (1 - Decimal("1e-25"))
