"""What the additive mechanisms share, where it is not seen through one of them."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidInput, InvalidSensitivity
from tacit.mechanisms import additive
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace


def test_the_fitting_step_is_the_largest_that_serves():
    for distance, dimension in ((Fraction(1), 1), (Fraction(11, 10), 1), (Fraction(3), 1000)):
        for scale in (Fraction(1, 10), Fraction(4), Fraction(10**6)):

            def units(step, distance=distance, dimension=dimension):
                return Fraction(math.ceil(distance / step) + dimension - 1)

            step = additive.fitting_step(scale, distance, units)
            assert step <= scale / 1000
            assert units(step) * step <= distance * Fraction(1001, 1000)
            larger = 2 * step
            assert larger > scale / 1000 or units(larger) * larger > distance * Fraction(1001, 1000)


def test_a_joint_law_is_the_product():
    law = additive.law_around(np.array([0, 10]), Fraction(1), [Decimal("0.5"), Decimal("0.25")], Decimal(0))
    assert law.probabilities[0, 10] == Decimal("0.25")
    assert law.probabilities[1, 9] == Decimal("0.0625")
    assert len(law.probabilities) == 9


def test_what_a_joint_law_leaves_out_is_at_most_all_of_it():
    def left_out(weight, missing):
        return additive.law_around(np.array([0, 10]), Fraction(1), [Decimal(weight)], Decimal(missing)).missing

    assert left_out("0.75", "0.25") == Decimal("0.5")
    assert left_out("0.25", "0.75") == 1


def test_a_law_lists_at_most_two_million_outcomes():
    """One number has an odd number of outcomes: one outcome more than the limit is refused before any is listed."""
    assert additive.MOST_OUTCOMES == 2_000_000
    with pytest.raises(InvalidInput, match="2000001 outcomes"):
        additive.law_around(0, Fraction(1), [Decimal(0)] * 1_000_001, Decimal(0))


def test_a_law_leaves_out_a_millionth_of_a_millionth_by_default():
    assert Fraction(1, 10**12) == additive.MISSING
    assert 0 < Laplace(1, 1).law(0).missing <= Decimal("1e-12")


def test_a_budget_for_an_error_has_six_digits():
    epsilon = Laplace.for_simultaneous_error(7, 0.95, sensitivity=1, step=1, on_grid=True).epsilon
    assert (epsilon * 10**6).denominator == 1
    assert (epsilon * 10**5).denominator > 1


def test_an_error_of_one_step_allows_one_step():
    assert additive.whole_steps(Fraction(1, 4), Fraction(1, 4), on_grid=False) == 1
    assert additive.whole_steps(Fraction(1, 8), Fraction(1, 4), on_grid=True) == 0
    with pytest.raises(InvalidInput, match="at least the step"):
        additive.whole_steps(Fraction(249, 1000), Fraction(1, 4), on_grid=False)


def test_grids_are_read():
    assert additive.read_grid(Fraction(1), None, on_grid=False) is None
    assert additive.read_grid(Fraction(1), 0.25, on_grid=True) == Fraction(1, 4)
    assert additive.read_grid(Fraction(0), 8, on_grid=True) == 8
    with pytest.raises(InvalidInput, match="requires a step"):
        additive.read_grid(Fraction(1), None, on_grid=True)
    with pytest.raises(InvalidSensitivity, match="do not move by 1"):
        additive.read_grid(Fraction(1), 8, on_grid=True)


def test_an_interval_is_rounded_outwards():
    assert Fraction(additive.within(Fraction(1, 3)).above) >= Fraction(1, 3)


BOTH = (
    Laplace(2, Fraction(1, 2), 1, 3, True),
    Gaussian(2, Fraction(1, 2), 1, 3, True),
    Laplace(2, Fraction(1, 2), dimension=3),
    Gaussian(2, Fraction(1, 2), dimension=3),
)


@pytest.mark.parametrize("mechanism", BOTH, ids=lambda made: f"{made.name}, on_grid={made.on_grid}")
def test_resized_noise_is_that_of_the_constructor(mechanism):
    """The budget stays, and what rounding adds grows with the numbers: the event is that of the new size, not of the old one."""
    budget = mechanism.rho if mechanism.concentrated else mechanism.epsilon
    for dimension in (1, 3, 40):
        made = mechanism.resized(dimension)
        assert made == type(mechanism)(mechanism.sensitivity, budget, mechanism.step, dimension, mechanism.on_grid)
        assert str(made.loss) == str(mechanism.loss), "to its printed digits: a scale is rounded up"
        assert len(np.atleast_1d(made.release_units([0] * dimension if dimension > 1 else 0))) == dimension
    larger = mechanism.resized(40)
    assert larger.simultaneous_interval(0.95).above > mechanism.simultaneous_interval(0.95).above
    assert (larger.units > mechanism.units) == (not mechanism.on_grid)


def test_a_statement_about_one_number_does_not_go_with_a_resized_mechanism():
    one = Gaussian.for_budget(sensitivity=1, epsilon=1, delta=1e-6, step=1, on_grid=True)
    assert one.stated is not None
    several = one.resized(5)
    assert several.stated is None
    assert several.loss == Gaussian(1, one.rho, 1, 5, True).loss
