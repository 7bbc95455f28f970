"""What the additive mechanisms share, where it is not seen through one of them."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidInput, InvalidSensitivity
from tacit.mechanisms import additive


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
