"""The exhaustive check of smoothness finds a bound that is too small, and one that falls too fast."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tacit.evidence.verify.plants import adjacent_gaps
from tacit.evidence.verify.subjects import BETA, smooth_everywhere, smooth_median
from tacit.mechanisms.smooth.sensitivity import smooth_order_statistic
from tacit.mechanisms.sorted_rows import sorted_rows
from tacit.privacy.loss import ADD_REMOVE
from tacit.privacy.universe import Universe

BITS = Universe((0, 1))


def size(database):
    return Fraction(database.size)


def test_a_bound_below_the_change_is_found():
    check = smooth_everywhere(size, lambda database: Fraction(0), Fraction(1), BITS.databases_up_to(2), ADD_REMOVE)
    assert (check.holds, check.measured) == (False, math.inf)


@pytest.mark.parametrize(("factor", "holds"), [(Fraction(27, 10), True), (Fraction(28, 10), False)])
def test_a_bound_may_grow_by_e_to_the_beta(factor, holds):
    check = smooth_everywhere(size, lambda database: factor**database.size, Fraction(1), BITS.databases_up_to(3), ADD_REMOVE)
    assert check.holds is holds
    assert check.measured == pytest.approx(math.log(factor))


def test_a_bound_that_falls_to_zero_is_found():
    check = smooth_everywhere(
        lambda database: Fraction(0), lambda database: Fraction(database.size), Fraction(1), BITS.databases_up_to(2), ADD_REMOVE
    )
    assert (check.holds, check.measured) == (False, math.inf)


def test_the_printed_formula_is_too_small_and_the_right_one_is_tight():
    rows = sorted_rows([2, 3, 3, 4], 0, 4)
    assert float(adjacent_gaps(rows)) == pytest.approx(1.4093762, abs=1e-7)
    assert float(smooth_order_statistic(rows, Fraction(1, 2), BETA)) == pytest.approx(2.1140643, abs=1e-7)
    assert not smooth_median(adjacent_gaps).holds
    assert smooth_median(lambda rows: smooth_order_statistic(rows, Fraction(1, 2), BETA)).measured == pytest.approx(0.35, abs=1e-9)
