"""What the additive mechanisms share, where it is not seen through one of them."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidInput, InvalidSensitivity, InvalidValue
from tacit.mechanisms import additive
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.noise.grid import default_step


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


def test_a_step_that_adds_exactly_a_thousandth_serves():
    step = default_step(Fraction(4))
    assert additive.fitting_step(Fraction(4), Fraction(2), lambda width: Fraction(1001, 500) / step if width == step else 0) == step


def test_sensitivities_and_dimensions_are_read():
    """From 0, which is a constant, and from 1 on."""
    assert [additive.read_sensitivity(number) for number in (0, "1/2", 1)] == [0, Fraction(1, 2), 1]
    assert [additive.read_dimension(number) for number in (1, 2)] == [1, 2]
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(InvalidInput, match="whole number of at least 1"):
            additive.read_dimension(wrong)


@pytest.mark.parametrize(("units", "dimension", "read"), [(7, 1, 7), (np.array(7), 1, 7), ([7], 1, [7]), ([7, 8], 2, [7, 8])])
def test_units_are_one_number_or_as_many_as_the_dimension_says(units, dimension, read):
    assert np.array_equal(additive.given_units(units, dimension), read)
    for other in ({1, 2, 3} - {dimension}) if np.ndim(units) else {2, 3}:
        with pytest.raises(InvalidValue, match="expected one"):
            additive.given_units(units, other)


def test_each_of_a_flat_array_is_read_and_no_other_shape():
    assert additive.each_units([5]).tolist() == [5]
    assert additive.each_units([5, 6]).tolist() == [5, 6]
    for wrong in (5, np.array(5), np.array([[5, 6]])):
        with pytest.raises(InvalidValue, match="flat array"):
            additive.each_units(wrong)


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


def test_outcomes_of_several_numbers_multiply(monkeypatch):
    weights = [Decimal("0.5"), Decimal("0.25")]
    monkeypatch.setattr(additive, "MOST_OUTCOMES", 27)
    assert len(additive.law_around(np.zeros(3, dtype=np.int64), Fraction(1), weights, Decimal(0)).probabilities) == 27
    monkeypatch.setattr(additive, "MOST_OUTCOMES", 26)
    with pytest.raises(InvalidInput, match="3 numbers of 3 outcomes each"):
        additive.law_around(np.zeros(3, dtype=np.int64), Fraction(1), weights, Decimal(0))


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
