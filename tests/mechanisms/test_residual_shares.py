"""How a budget is divided among measurements: exact sums, optima in closed form, and bounds by duality."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting.composition import cost
from tacit.errors import InvalidInput
from tacit.mechanisms import residual_shares
from tacit.mechanisms.residual import Contribution, Estimated, cells, closure
from tacit.mechanisms.residual_shares import (
    DIGITS,
    Wanted,
    _by_steps,
    _candidates,
    _informing,
    _levelled,
    _Needs,
    _root,
    check_size,
    gaussian_shares,
    gaussian_strategy,
    laplace_shares,
    laplace_strategy,
    needed,
    read_loss,
    rounded_shares,
)

ONE = Contribution(1)
SIZES = (5, 3, 2)
PAIRS = tuple(combinations(range(3), 2))
WANTED = tuple(Wanted.cells_of(axes, SIZES) for axes in PAIRS)
UNEVEN = (Wanted.cells_of((0,), (6, 4)), Wanted.cells_of((0, 1), (6, 4)), Wanted.cells_of((), (6, 4)))


# --- the price of what is measured -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squares", "largest"])
@pytest.mark.parametrize("unit", [ONE, Contribution(3)])
def test_measurements_cost_the_budget_and_no_more(loss, unit):
    """Whatever the shares: the events of all measurements together cost what is divided, but for the rounding of scales."""
    epsilon, rho = Fraction(1, 3), Fraction(1, 70)
    pure = laplace_strategy(laplace_shares(WANTED, SIZES, loss), SIZES, unit, epsilon)
    smooth = gaussian_strategy(gaussian_shares(WANTED, SIZES, loss), SIZES, unit, rho)
    assert epsilon * Fraction(999, 1000) < cost(pure.event).epsilon <= epsilon
    assert rho * Fraction(999, 1000) < cost(smooth.event).rho <= rho


@given(st.lists(st.fractions(Fraction(1, 10**9), 10**9), min_size=1, max_size=30))
def test_shares_are_rounded_by_largest_remainders(parts):
    """In units of a rounded share: the whole number below, at least 1, and the units left over to those that lost most."""
    whole = 10 ** (DIGITS + len(str(len(parts))) - 1)
    counts = [share * whole for share in rounded_shares(parts)]
    exact = [part * whole / sum(parts) for part in parts]
    assert all(count.denominator == 1 and count >= 1 for count in counts)
    assert sum(counts) == whole
    raised = [max(Fraction(1), Fraction(int(each))) for each in exact]
    more = whole - sum(raised)
    lost = sorted(range(len(parts)), key=lambda at: (raised[at] - exact[at], at))
    if more >= 0:
        assert counts == [raised[at] + (at in lost[: int(more)]) for at in range(len(parts))]
    else:
        assert all(0 <= before - after <= -more for before, after in zip(raised, counts, strict=True))


def test_shares_that_were_raised_take_from_those_that_gained_most():
    """Nine shares far below a unit are raised to one; eight units come from the larger ones in turn, and none from a one."""
    parts = [Fraction(1, 10**9)] * 9 + [Fraction(3), Fraction(2)]
    shares = rounded_shares(parts)
    whole = 10**5
    assert shares[:9] == [Fraction(1, whole)] * 9
    assert [share * whole for share in shares[9:]] == [59_995, 39_996]
    assert rounded_shares([Fraction(1, 10**9), Fraction(1)]) == [Fraction(1, 10**4), Fraction(9999, 10**4)]


def test_units_are_taken_in_turn_from_those_that_lost_least():
    """Eight raised shares and three large ones that lost 0.65, 0.35 and nothing: seven units, the least loss first."""
    large = [Fraction(500_009, 10), Fraction(300_005, 10), Fraction(199_991, 10)]
    counts = [share * 10**5 for share in rounded_shares([*large, *[Fraction(1, 10**9)] * 8])]
    assert counts == [50_000 - 2, 30_000 - 2, 19_999 - 3, *[1] * 8]


def test_a_share_of_two_units_may_fall_to_one():
    counts = [share * 10**5 for share in rounded_shares([*[Fraction(1, 10**9)] * 9, Fraction(5, 2), Fraction(10**5)])]
    assert counts[:10] == [1] * 10


@pytest.mark.parametrize("number", [Fraction(0), Fraction(1), Fraction(2), Fraction(1, 3), Fraction(10**9, 7), Fraction(3, 10**20)])
def test_roots_have_twelve_digits(number):
    root, digit = _root(number), Fraction(1, number.denominator * 10**12)
    assert root**2 <= number < (root + digit) ** 2
    assert (root / digit).denominator == 1


# --- what is needed ----------------------------------------------------------------------------------------------------------


def test_a_weight_and_a_number_are_one_unless_given():
    wanted = Wanted((0,), (Fraction(4),), (Fraction(3),))
    assert (wanted.weight, wanted.numbers) == (1, 1)
    assert Wanted.of_groups((0,), [(2, 1)], (3,)).weight == 1
    assert Wanted.cells_of((0, 1), (4, 3)).numbers == 12
    assert Wanted.cells_of((0, 1), (4, 3)).weight == 1


def test_what_nothing_needs_is_left_out():
    """A sum over all values of an axis needs none of its residuals."""
    total = Wanted.of_groups((0, 1), [(4,), (1, 1, 1)], (4, 3))
    assert needed((total,), (4, 3)) == {(): Fraction(16 * 3, 144), (1,): Fraction(16 * 2, 16)}
    assert total.needs((4, 3))[(0,)] == 0


def test_needs_of_one_number_do_not_depend_on_weights():
    needs = _Needs.of([replace(each, weight=Fraction(7)) for each in UNEVEN], (6, 4))
    for row, each in zip(needs.table, UNEVEN, strict=True):
        alone = each.needs((6, 4))
        assert row * each.numbers == pytest.approx([float(alone.get(part, 0)) for part in needs.parts])
    assert needs.numbers.tolist() == [6, 24, 1]


def test_the_limit_of_sets_is_what_it_says(monkeypatch):
    sets = closure(each.axes for each in WANTED)
    monkeypatch.setattr(residual_shares, "MOST_SETS", len(sets))
    assert check_size(WANTED) == sets
    monkeypatch.setattr(residual_shares, "MOST_SETS", len(sets) - 1)
    with pytest.raises(InvalidInput, match="ask for fewer columns"):
        check_size(WANTED)


def test_losses_have_names():
    assert [read_loss(name) for name in (None, "squares", "largest")] == [None, "squares", "largest"]
    with pytest.raises(InvalidInput, match="not median"):
        read_loss("median")


# --- Laplace noise -----------------------------------------------------------------------------------------------------------


def test_candidates_are_cells_of_axes_with_values_and_residuals_of_few_sets(monkeypatch):
    sets, parts = closure([(0, 1)]), ((), (1,))
    assert _candidates(parts, sets, (1, 3)) == [((), False), ((1,), False), ((1,), True)]
    monkeypatch.setattr(residual_shares, "MOST_LAPLACE", len(sets))
    assert len(_candidates(parts, sets, (2, 3))) == 5
    monkeypatch.setattr(residual_shares, "MOST_LAPLACE", len(sets) - 1)
    assert _candidates(parts, sets, (2, 3)) == [(axes, False) for axes in sets]


@pytest.mark.parametrize("needs", [(1.0, 1.0), (8.0, 1.0), (27.0, 8.0, 0.125)])
def test_steps_reach_the_optimum_of_parts_that_are_measured_apart(needs):
    """The sum of need / share^2 is least where shares go with the cube roots of the needs."""
    roots = np.cbrt(np.array(needs))
    assert _by_steps(np.array(needs), np.eye(len(needs)), 300) == pytest.approx(roots / roots.sum(), rel=1e-9)


def test_steps_leave_a_measurement_that_another_one_replaces():
    """The second says all that the first says and more; the third nothing."""
    informs = np.array([[1.0, 4.0, 0.0], [0.0, 4.0, 0.0]])
    assert _by_steps(np.array([1.0, 2.0]), informs, 300) == pytest.approx([0, 1, 0], abs=1e-9)


def test_steps_are_fixed_points_of_what_helps_most():
    """Where all derivatives of the error by a share agree, no move of epsilon helps."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        needs, informs = rng.uniform(1, 5, 3), rng.uniform(0, 1, (3, 2)) + 0.1
        shares = _by_steps(needs, informs, 1000)
        assert shares.sum() == pytest.approx(1)
        slope = informs.T @ (needs / (informs @ shares**2) ** 2) * shares
        inside = shares > 1e-6
        assert slope[inside] == pytest.approx(slope[inside].max(), rel=1e-6)


def test_information_is_that_of_one_row_and_an_epsilon_of_one():
    """Cells of n values by Laplace noise of scale 1: variance 2 in every direction; of residuals as the measurement says."""
    sizes, parts = (4, 3), ((), (0,), (1,), (0, 1))
    table = _informing(parts, [((0,), False), ((0, 1), True)], sizes)
    alone = laplace_strategy([((0,), False, Fraction(1))], sizes, ONE, Fraction(1))
    (measurement,) = alone.measurements
    assert table[:, 0].tolist() == [float(measurement.information(part, sizes)) if part in ((), (0,)) else 0 for part in parts]
    assert table[:3, 1].tolist() == [0, 0, 0]
    assert table[3, 1] > 0
    assert table[1, 0] == 1 / 2


def test_no_other_shares_of_epsilon_are_much_better():
    shares = laplace_shares(WANTED, SIZES)
    assert sum(share for _, _, share in shares) == 1

    def total(each):
        strategy = laplace_strategy(each, SIZES, ONE, Fraction(1, 10))
        return sum(cells(axes, SIZES) * Estimated(strategy, axes, (1,) * len(axes)).variance for axes in PAIRS)

    least, rng = total(shares), np.random.default_rng(2)
    for _ in range(30):
        other = rounded_shares([share * Fraction(float(rng.uniform(0.8, 1.25))) for *_, share in shares])
        assert total([(*each[:2], share) for each, share in zip(shares, other, strict=True)]) >= least * (1 - 2e-3)


def test_measurements_with_next_to_nothing_are_left_out():
    """What is kept has more than a thousandth of an equal share."""
    shares = laplace_shares(WANTED, SIZES)
    candidates = len(_candidates(tuple(needed(WANTED, SIZES)), check_size(WANTED), SIZES))
    assert len(shares) < candidates
    assert min(share for *_, share in shares) > Fraction(1, 1000 * candidates)


# --- the largest variance ----------------------------------------------------------------------------------------------------


def largest(shares, strategy_of, wanted, sizes):
    """The largest variance of one number."""
    strategy = strategy_of(shares, sizes, ONE, Fraction(1, 2))
    return max(Estimated(strategy, each.axes, (1,) * len(each.axes)).variance for each in wanted)


def least_weighted(wanted, sizes, shares_of, strategy_of):
    """The largest, over weights on a grid, of the least weighted mean: no shares have a smaller largest variance."""
    bound = 0.0
    for weights in product(range(9), repeat=len(wanted)):
        if sum(weights) == 8:
            weighted = tuple(
                replace(each, weight=Fraction(max(weight, Fraction(1, 1000)), each.numbers))
                for each, weight in zip(wanted, weights, strict=True)
            )
            strategy = strategy_of(shares_of(weighted, sizes), sizes, ONE, Fraction(1, 2))
            mean = sum(
                weight * Estimated(strategy, each.axes, (1,) * len(each.axes)).variance
                for each, weight in zip(wanted, weights, strict=True)
            )
            bound = max(bound, mean / 8)
    return bound


@pytest.mark.parametrize(
    ("shares_of", "strategy_of"), [(gaussian_shares, gaussian_strategy), (laplace_shares, laplace_strategy)], ids=["normal", "pure"]
)
def test_the_largest_variance_is_the_least_by_duality(shares_of, strategy_of):
    found = largest(shares_of(UNEVEN, (6, 4), "largest"), strategy_of, UNEVEN, (6, 4))
    plain = largest(shares_of(UNEVEN, (6, 4)), strategy_of, UNEVEN, (6, 4))
    assert found < plain
    assert found <= least_weighted(UNEVEN, (6, 4), shares_of, strategy_of) * 1.02


def test_weights_are_moved_to_what_misses_most():
    """One part for each number: at the best shares all variances are equal, and weights go with the squares of prices."""
    sizes = (4, 3)
    wanted = (Wanted((), (), (), numbers=2), Wanted((0,), (Fraction(0),), (Fraction(3),)))
    needs = _Needs(((), (0,)), np.eye(2), np.array([2.0, 1.0]))
    prices = np.array([1.0, 9.0])

    def variances(total):
        roots = np.sqrt(total * prices)
        return prices * roots.sum() / roots

    levelled = _levelled(wanted, sizes, needs, variances)
    weights = [float(each.weight * each.numbers) for each in levelled]
    assert weights == pytest.approx([0.1, 0.9], rel=1e-6)
    assert all((each.weight * each.numbers * 10**9).denominator == 1 for each in levelled)


def test_a_number_that_misses_by_little_keeps_a_weight():
    """At least 10^-9, so that nothing that is wanted has no share."""
    needs = _Needs(((), (0,)), np.eye(2), np.array([1.0, 1.0]))
    wanted = (Wanted((), (), ()), Wanted((0,), (Fraction(0),), (Fraction(3),)))
    levelled = _levelled(wanted, (4,), needs, lambda total: np.array([1.0, 1e-30]) * (1 + 0 * total))
    assert levelled[0].weight == pytest.approx(Fraction(1, 2), abs=1e-6), "the first weights stand where nothing is better"
    first = [inf]

    def better(total):
        first[0] = min(first[0], float(total[1]))
        return np.array([1.0 + float(total[1]), 1e-30])

    levelled = _levelled(wanted, (4,), needs, better)
    assert levelled[1].weight == Fraction(1, 10**9)
    assert levelled[0].weight == 1 - Fraction(1, 10**9)
    assert first[0] == pytest.approx(1e-9, rel=1e-6)
