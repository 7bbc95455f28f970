"""Digits of an ordered axis: the weights and widths of sums of cells, the shares for cumulative counts, and one unit's reach."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from tacit.evidence.verify import small_margins
from tacit.mechanisms.combined import Weights, combined_error, variance_of
from tacit.mechanisms.ranges import Cumulated, SumOfCells, cumulative_error, digits_of
from tacit.mechanisms.residual import Contribution, Estimated, Measurement, Residual, shares_of
from tacit.mechanisms.residual_shares import gaussian_shares, gaussian_strategy, laplace_shares, laplace_strategy

SIZES, WHOLE, DIGITS = (2, 3, 2), (0, 1, 2), (0, 1)  # two digits of one column, and another column
WANTED = (Cumulated.along(WHOLE, (DIGITS,), SIZES), Cumulated.along(DIGITS, (DIGITS,), SIZES))
ONE = Contribution(1)


def strategies():
    yield gaussian_strategy(gaussian_shares(WANTED, SIZES), SIZES, ONE, Fraction(1, 100))
    yield laplace_strategy(laplace_shares(WANTED, SIZES), SIZES, ONE, Fraction(1, 20))
    yield Residual(SIZES, tuple(Measurement.of(axes, False, SIZES, ONE, Fraction(1, 9)) for axes in ((0,), (0, 1), WHOLE)))


def prefix(last):
    """The cells of the values up to one, along both digits."""
    return (np.arange(6) <= last).astype(float).reshape(2, 3)


@pytest.mark.parametrize("strategy", list(strategies()))
def test_boxes_have_the_law_that_they_have_as_margins(strategy):
    for taken in product((1, 2), (1, 2, 3)):
        box = np.zeros((2, 3))
        box[: taken[0], : taken[1]] = 1
        mine = SumOfCells(strategy, WHOLE, DIGITS, box).weights()
        other = Estimated(strategy, WHOLE, (*taken, 1), 0.0).weights()
        assert mine.variance == pytest.approx(other.variance)
        assert combined_error(mine, Fraction(1, 20)) == pytest.approx(combined_error(other, Fraction(1, 20)), rel=1e-6)


def matrix_of(strategy):
    """All measurements as rows over the cells of the table, with the variance of each number."""
    sizes = strategy.sizes
    cells = np.eye(math.prod(sizes), dtype=np.int64).reshape(-1, *sizes)
    rows, variances = [], []
    for each in strategy.measurements:
        others = tuple(axis for axis in range(len(sizes)) if axis not in each.axes)
        columns = np.array([each.exact(cell.sum(axis=others)) for cell in cells])
        rows.append(columns.T)
        variances += [float(variance_of(each.noise))] * columns.shape[1]
    return np.concatenate(rows).astype(float), np.array(variances)


@pytest.mark.parametrize("strategy", list(strategies()))
def test_the_variance_is_that_of_a_general_least_squares(strategy):
    rows, variances = matrix_of(strategy)
    covariance = np.linalg.pinv(rows.T @ (rows / variances[:, None]))
    for last in range(6):
        asked = np.multiply.outer(prefix(last), [1.0, 0.0]).reshape(-1)
        assert SumOfCells(strategy, WHOLE, DIGITS, prefix(last)).weights().variance == pytest.approx(asked @ covariance @ asked)


@pytest.mark.parametrize("strategy", list(strategies()))
def test_the_variance_over_some_axes_is_that_of_a_general_least_squares(strategy):
    """The measurements have an axis that the asked numbers add up over."""
    rows, variances = matrix_of(strategy)
    covariance = np.linalg.pinv(rows.T @ (rows / variances[:, None]))
    for last in range(6):
        asked = np.multiply.outer(prefix(last), [1.0, 1.0]).reshape(-1)
        assert SumOfCells(strategy, DIGITS, DIGITS, prefix(last)).weights().variance == pytest.approx(asked @ covariance @ asked)


def two_columns():
    """Two columns of two digits, or one and two other columns: strategies over (2, 2, 2, 3) cells."""
    sizes, whole = (2, 2, 2, 3), (0, 1, 2, 3)
    wanted = (Cumulated.along(whole, ((0, 1), (2, 3)), sizes),)
    centred = gaussian_strategy(gaussian_shares(wanted, sizes), sizes, ONE, Fraction(1, 100))
    parts = ((0,), (1, 2), (0, 1, 3), whole)
    return wanted[0], [
        centred,
        Residual(sizes, tuple(Measurement.of(part, False, sizes, ONE, Fraction(1, 9)) for part in parts)),
    ]


def test_weights_of_two_columns_are_those_of_a_general_least_squares():
    wanted, strategies = two_columns()
    assert wanted.weight == 1
    for strategy in strategies:
        rows, variances = matrix_of(strategy)
        covariance = np.linalg.pinv(rows.T @ (rows / variances[:, None]))
        needs = wanted.needs(strategy.sizes)
        total = 0.0
        for first, second in product(range(4), range(6)):
            both = np.multiply.outer((np.arange(4) <= first).reshape(2, 2), (np.arange(6) <= second).reshape(2, 3)).astype(float)
            found = SumOfCells(strategy, (0, 1, 2, 3), (0, 1, 2, 3), both).weights().variance
            asked = both.reshape(-1)
            assert found == pytest.approx(asked @ covariance @ asked)
            total += found
        assert sum(float(need) * shares_of(strategy)[part][1] for part, need in needs.items()) == pytest.approx(total)
        for first in range(4):  # one value of each of the other two columns
            one = (np.arange(4) <= first).astype(float).reshape(2, 2)
            asked = np.multiply.outer(one, np.eye(6)[4].reshape(2, 3)).reshape(-1)
            found = SumOfCells(strategy, (0, 1, 2, 3), (0, 1), one).weights().variance
            assert found == pytest.approx(asked @ covariance @ asked)


def test_an_interval_is_as_wide_as_its_noise_and_rounding():
    strategy = list(strategies())[-1]
    for rounding in (0.0, 3.0):
        asked = SumOfCells(strategy, WHOLE, DIGITS, prefix(3), rounding)
        width = Fraction(combined_error(asked.weights(), Fraction(1, 10)) + rounding)
        interval = asked.interval("0.9")
        for side in (interval.below, interval.above):
            assert width < Fraction(side) < width * (1 + Fraction(1, 10**9))
    assert SumOfCells(strategy, WHOLE, DIGITS, prefix(3)).rounding == 0


@pytest.mark.parametrize("strategy", list(strategies()))
def test_needs_add_up_the_variances_of_all_counts(strategy):
    needs = WANTED[0].needs(SIZES)
    total = sum(float(need) * shares_of(strategy)[part][1] for part, need in needs.items())
    each = [2 * SumOfCells(strategy, WHOLE, DIGITS, prefix(last)).weights().variance for last in range(6)]
    assert total == pytest.approx(sum(each))
    assert sum(each[1:]) < 0.99 * total, "planted: a count that is left out"


def test_intervals_hold_by_the_exact_law():
    strategy = list(strategies())[-1]
    for last in (0, 3, 5):
        weights = SumOfCells(strategy, WHOLE, DIGITS, prefix(last)).weights()
        for missed in (Fraction(1, 10), Fraction(1, 100)):
            width = combined_error(weights, missed)
            assert small_margins.inside(weights, width) >= float(1 - missed) - 1e-9
            assert small_margins.inside(weights, 0.8 * width) < float(1 - missed)
    heaviest = max(range(len(weights.noises)), key=lambda at: weights.sizes[at] ** 2 * weights.numbers[at])
    rest = [at for at in range(len(weights.noises)) if at != heaviest]
    fewer = Weights(*(tuple(each[at] for at in rest) for each in (weights.noises, weights.sizes, weights.numbers)))
    assert small_margins.inside(weights, combined_error(fewer, Fraction(1, 10))) < 0.9, "planted: noise left out"


@pytest.mark.parametrize("bins", [2, 12, 60, 100])
def test_cumulative_counts_are_near_the_best_that_any_strategy_can_do(bins):
    values = np.linalg.svd(np.tril(np.ones((bins, bins))), compute_uv=False)
    least = values.sum() ** 2 / bins  # of the total, by any strategy with Gaussian noise
    digits = digits_of(bins)
    ours = cumulative_error(digits) * bins / math.prod(digits)  # the empty values at the end are not shown
    assert least <= ours <= 1.6 * least
    assert bins < 12 or ours < 0.5 * bins * (bins + 1) / 2, "adding up cells"


def test_gaussian_shares_for_cumulative_counts_are_the_best():
    parts, shares = zip(*gaussian_shares(WANTED[:1], SIZES), strict=True)
    needs = WANTED[0].needs(SIZES)

    def error(shares):
        strategy = gaussian_strategy(list(zip(parts, shares, strict=True)), SIZES, ONE, Fraction(1, 2))
        return sum(float(needs[part]) * shares_of(strategy)[part][1] for part in parts)

    best = error(shares)
    for one, other in product(range(len(parts)), repeat=2):
        moved = list(shares)
        moved[one], moved[other] = moved[one] * Fraction(9, 10), moved[other] + moved[one] / 10
        assert one == other or error(moved) >= best * (1 - 1e-6)


@pytest.mark.parametrize("unit", [ONE, Contribution(2)])
def test_one_unit_moves_measurements_by_digits_no_farther_than_is_priced(unit):
    """Every unit of at most two rows, wherever on the axis they are."""
    reached = {}
    for strategy in strategies():
        for each in strategy.measurements:
            l1, l2 = unit.l1(each.axes, each.centred, SIZES), unit.l2(each.axes, each.centred, SIZES)
            for rows in combinations_with_replacement(range(math.prod(SIZES)), unit.rows):
                table = np.bincount(rows, minlength=math.prod(SIZES)).reshape(SIZES)
                others = tuple(axis for axis in range(len(SIZES)) if axis not in each.axes)
                moved = each.exact(table.sum(axis=others))
                assert np.abs(moved).sum() <= l1
                assert (moved**2).sum() <= l2**2
                reached[each.axes, each.centred] = max(reached.get((each.axes, each.centred), 0), int(np.abs(moved).sum()))
    assert all(most == unit.l1(*key, SIZES) for key, most in reached.items())
    if unit.rows > 1:
        assert any(most > ONE.l1(*key, SIZES) for key, most in reached.items()), "planted: the price of one row"


def test_digits_follow_from_the_number_of_values_and_are_few():
    for bins in (1, 2, 3, 7, 31, 365, 1000):
        digits = digits_of(bins)
        assert bins <= math.prod(digits)
        assert len(digits) <= 8
        assert digits == digits_of(bins)
    assert digits_of(1) == (1,)


def test_digits_are_those_that_intervals_were_measured_with():
    """A kept measurement is read with the digits of its number of values, so these stay what they are."""
    known = {
        2: (2,),
        6: (2, 3),
        9: (3, 3),
        11: (3, 4),
        13: (3, 5),
        16: (2, 2, 2, 2),
        22: (4, 6),
        33: (6, 6),
        37: (5, 8),
        65: (2, 6, 6),
    }
    assert {bins: digits_of(bins) for bins in known} == known
    assert all(len(digits_of(bins)) <= 8 for bins in range(485, 490))
    assert digits_of(16, most=4) == (2, 2, 2, 2)
    assert digits_of(16, most=3) == (4, 4)
