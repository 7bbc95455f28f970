"""Margins with shaped noise: sensitivities by brute force, least squares by a general solver, intervals by exact laws."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from math import sqrt

import numpy as np
import pytest

from tacit.errors import InvalidInput, InvalidSensitivity
from tacit.evidence.verify import small_margins
from tacit.evidence.verify.trial import Effort
from tacit.mechanisms.combined import Weights, combined_error
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.residual import (
    Contribution,
    Estimated,
    Measurement,
    Residual,
    cells,
    closure,
    components,
    estimate,
    free_cells,
    rounded,
    shares_of,
    subsets,
    whole_margins,
)
from tacit.mechanisms.residual_shares import (
    LOSSES,
    Wanted,
    gaussian_shares,
    gaussian_strategy,
    laplace_shares,
    laplace_strategy,
    needed,
    rounded_shares,
)
from tacit.privacy.law import worst_log_ratio
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE
from tacit.privacy.sealed import Sealed

ONE = Contribution(1)
WORKLOADS = [((2, 3), ((0,), (1,), (0, 1))), ((3, 1, 2), ((0, 1), (0, 2), ())), ((2, 2, 2), ((0, 1, 2),)), ((4,), ((0,),))]


def strategies(sizes, margins, unit=ONE):
    """Both kinds of noise, at every loss, for one workload."""
    wanted = tuple(Wanted.cells_of(axes, sizes) for axes in margins)
    for loss in LOSSES:
        yield gaussian_strategy(gaussian_shares(wanted, sizes, loss), sizes, unit, Fraction(1, 50))
        yield laplace_strategy(laplace_shares(wanted, sizes, loss), sizes, unit, Fraction(1, 4))


# --- sensitivity -------------------------------------------------------------------------------------------------------------


def tables(sizes, unit):
    """Every table that one unit can be alone: up to its rows, each with the ends of its range."""
    places = list(product(*map(range, sizes)))
    values = sorted({unit.low, unit.high} - {0})
    for number in range(unit.rows + 1):
        for rows in combinations_with_replacement(list(product(places, values)), number):
            table = np.zeros(sizes, dtype=np.int64)
            for place, value in rows:
                table[place] += value
            yield table


def moved(sizes, unit, measurement):
    """The largest l1, squared l2 and single change of a measurement between neighbours, by trying all."""
    numbers = [measurement.exact(table) for table in tables(sizes, unit)]
    goes = unit.neighbours.change == "add-remove"
    changes = numbers if goes else [one - other for one, other in permutations(numbers, 2)]
    return tuple(
        max(int(norm(change)) for change in changes)
        for norm in (lambda c: abs(c).sum(), lambda c: (c**2).sum(), lambda c: abs(c).max())
    )


@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE])
@pytest.mark.parametrize("ends", [(0, 1), (-1, 2), (-3, 0)])
@pytest.mark.parametrize("rows", [1, 2])
def test_no_unit_moves_a_measurement_farther_than_its_sensitivity(relation, ends, rows):
    unit = Contribution(rows, *ends, relation)
    for sizes in [(2,), (3,), (2, 2), (2, 3), ()] if rows == 2 else [(2,), (4,), (2, 3), (3, 3), (2, 2, 2)]:
        axes = tuple(range(len(sizes)))
        for centred in (False, True):
            measurement = Measurement.of(axes, centred, sizes, unit, Fraction(1))
            found = moved(sizes, unit, measurement)
            l1, l2, farthest = unit.l1(axes, centred, sizes), unit.l2(axes, centred, sizes), unit.farthest(axes, centred, sizes)
            assert (found[0] <= l1, found[1] <= l2**2, found[2] <= farthest) == (True, True, True)
            if relation == ADD_REMOVE:
                assert found[0] == l1
                assert found[1] == pytest.approx(float(l2**2))
                assert found[2] == farthest
            elif ends == (0, 1) and centred and sizes:
                assert found[1] == pytest.approx(float(l2**2))  # attained: two rows of cells that differ along the shortest axis


def test_planted_sensitivities_are_too_small():
    """One row for two, cells for residuals, add/remove for a change: each is below what brute force finds."""
    sizes, axes = (2, 3), (0, 1)
    two, changed = Contribution(2), Contribution(1, neighbours=CHANGE_ONE)
    residuals = Measurement.of(axes, True, sizes, two, Fraction(1))
    assert moved(sizes, two, residuals)[0] > ONE.l1(axes, True, sizes)
    assert moved(sizes, two, residuals)[0] > two.l1(axes, False, sizes)
    assert moved(sizes, changed, residuals)[1] > ONE.l2(axes, True, sizes) ** 2


def test_a_contribution_needs_rows_and_a_range_around_zero():
    for wrong in [(0, 0, 1), (1, 1, 2), (1, -2, -1), (1, 0, 0)]:
        with pytest.raises(InvalidSensitivity, match="at least one row"):
            Contribution(*wrong)
    assert Contribution(1, -5, 2).largest == 5


# --- loss --------------------------------------------------------------------------------------------------------------------


def worst_loss(strategy, sizes, scale=Fraction(1)):
    """The largest log-ratio between no row and one row, by the listed laws of all noises."""
    worst = 0.0
    for place in product(*map(range, sizes)):
        table = np.zeros(sizes, dtype=np.int64)
        table[place] = 1
        total = 0.0
        for each in strategy.measurements:
            others = tuple(axis for axis in range(len(sizes)) if axis not in each.axes)
            noise = Laplace(each.noise.sensitivity, each.noise.epsilon / scale, 1, 1, True)
            for number in each.exact(table.sum(axis=others)):
                total += float(worst_log_ratio(noise.law(0), noise.law(int(number))))
        worst = max(worst, total)
    return worst


def test_the_loss_by_listed_laws_is_the_claim_and_less_noise_is_caught():
    sizes, margins = WORKLOADS[0]
    wanted = tuple(Wanted.cells_of(axes, sizes) for axes in margins)
    strategy = laplace_strategy(laplace_shares(wanted, sizes), sizes, ONE, Fraction(2))
    claimed = float(strategy.loss.epsilon)
    assert claimed == 2
    assert 0.9 * claimed < worst_loss(strategy, sizes) <= claimed * (1 + 1e-9)
    assert worst_loss(strategy, sizes, Fraction(9, 10)) > claimed


@pytest.mark.parametrize("case", small_margins.exhaustive(), ids=lambda case: case.name)
def test_the_rows_of_verify_hold(case):
    assert not case.run(Effort(samples=1)).broken


@pytest.mark.parametrize("name", [name for name, _ in small_margins.plant_cases()])
def test_planted_bugs_are_found(name):
    spoiled, case = dict(small_margins.plant_cases())[name]
    assert spoiled in {each.name for each in small_margins.exhaustive()}
    assert case.run(Effort(samples=1)).broken


# --- releases and estimates --------------------------------------------------------------------------------------------------


def matrix(measurement, sizes):
    """A measurement as a matrix over all cells of the table."""
    columns = []
    for place in product(*map(range, sizes)):
        table = np.zeros(sizes, dtype=np.int64)
        table[place] = 1
        others = tuple(axis for axis in range(len(sizes)) if axis not in measurement.axes)
        columns.append(measurement.exact(table.sum(axis=others)))
    return np.array(columns).T


def margin_matrix(axes, sizes):
    return matrix(Measurement(axes, False, Laplace(1, 1, step=1, dimension=cells(axes, sizes), on_grid=True)), sizes)


@pytest.mark.parametrize(("sizes", "margins"), WORKLOADS)
def test_estimates_are_least_squares_and_their_variance_is_in_closed_form(sizes, margins):
    """Against a general solver, with every noise at the variance by which it is weighed."""
    rng = np.random.default_rng(5)
    for strategy in strategies(sizes, margins):
        rows = np.concatenate([matrix(each, sizes) / float(each.noise.deviation) for each in strategy.measurements])
        noisy = [rng.integers(-50, 50, each.noise.dimension) for each in strategy.measurements]
        scaled = np.concatenate(
            [each / float(part.noise.deviation) for each, part in zip(noisy, strategy.measurements, strict=True)]
        )
        inverse = np.linalg.pinv(rows.T @ rows)
        found = components(strategy, noisy)
        for axes in margins:
            wanted = margin_matrix(axes, sizes)
            assert np.allclose(estimate(strategy, found, axes).ravel(), wanted @ inverse @ rows.T @ scaled)
            covariance = wanted @ inverse @ wanted.T
            each = Estimated(strategy, axes, (1,) * len(axes))
            assert np.allclose(np.diag(covariance), each.variance)
            assert each.weights().variance == pytest.approx(each.variance)


def test_sums_of_cells_have_the_variance_of_their_law():
    """Ranges of two axes: the closed form, the weights, and the covariance written out."""
    sizes, margins = (4, 3), ((0,), (0, 1))
    for strategy in strategies(sizes, margins):
        rows = np.concatenate([matrix(each, sizes) / float(each.noise.deviation) for each in strategy.measurements])
        inverse = np.linalg.pinv(rows.T @ rows)
        for taken in product((1, 2, 3, 4), (1, 2, 3)):
            chosen = np.zeros(sizes)
            chosen[: taken[0], : taken[1]] = 1
            each = Estimated(strategy, (0, 1), taken)
            assert each.variance == pytest.approx(float(chosen.ravel() @ inverse @ chosen.ravel()))
            assert each.weights().variance == pytest.approx(each.variance)


def test_a_release_draws_one_noise_for_each_number_and_no_more(monkeypatch):
    """With noise 0 the exact numbers come out, from sealed margins of any kind that contain what is measured."""
    sizes, margins = (2, 3, 2), ((0, 1), (1, 2))
    table = np.arange(12).reshape(sizes)
    drawn = []
    for kind in ("laplace", "gaussian"):
        monkeypatch.setattr(
            f"tacit.mechanisms.{kind}.discrete.draw_{kind}",
            lambda scale, size: drawn.append(size) or np.zeros(size, dtype=np.int64),
        )
    for strategy in strategies(sizes, margins):
        drawn.clear()
        given = {axes: Sealed(table.sum(axis=tuple({0, 1, 2} - set(axes))).ravel()) for axes in margins}
        noisy = strategy.release(given)
        assert drawn == [each.noise.dimension for each in strategy.measurements]
        assert whole_margins(strategy, components(strategy, noisy), margins)[0, 1].tolist() == table.sum(axis=2).tolist()
        with pytest.raises(InvalidInput, match="no margin contains"):
            strategy.release({(0,): Sealed(table.sum(axis=(1, 2)))})


def test_numbers_beyond_64_bits_stay_exact(monkeypatch):
    monkeypatch.setattr("tacit.mechanisms.laplace.discrete.draw_laplace", lambda scale, size: np.zeros(size, dtype=np.int64))
    strategy = Residual((3,), (Measurement.of((0,), True, (3,), ONE, Fraction(1)),))
    large = np.array([2**70, 0, 1], dtype=object)
    assert strategy.release({(0,): large})[0].tolist() == [2 * 2**70 - 1, -(2**70) - 1, 2 - 2**70]


def test_the_total_of_large_numbers_is_measured(monkeypatch):
    """A sum over all cells of Python's integers is a scalar and not an array."""
    monkeypatch.setattr("tacit.mechanisms.laplace.discrete.draw_laplace", lambda scale, size: np.zeros(size, dtype=np.int64))
    strategy = Residual((3,), (Measurement.of((), False, (3,), ONE, Fraction(1)),))
    assert strategy.release({(0,): np.array([2**70, 0, 1], dtype=object)})[0].tolist() == [2**70 + 1]


@pytest.mark.parametrize(("sizes", "margins"), WORKLOADS)
def test_whole_margins_agree_and_stay_near(sizes, margins):
    rng = np.random.default_rng(3)
    for strategy in strategies(sizes, margins):
        noisy = [rng.integers(-1000, 1000, each.noise.dimension) for each in strategy.measurements]
        every = closure(margins)
        found = components(strategy, noisy)
        whole = whole_margins(strategy, found, every)
        for axes in every:
            assert whole[axes].dtype == np.int64
            assert np.abs(whole[axes] - estimate(strategy, found, axes)).max() <= rounded(axes) + 1e-9
            for part in subsets(axes):
                others = tuple(at for at, axis in enumerate(axes) if axis not in part)
                assert np.array_equal(whole[axes].sum(axis=others), whole[part])


def test_only_what_is_measured_is_estimated():
    strategy = Residual(
        (2, 3), (Measurement.of((0,), True, (2, 3), ONE, Fraction(1)), Measurement.of((), True, (2, 3), ONE, Fraction(1)))
    )
    assert strategy.estimated == ((), (0,))
    with pytest.raises(InvalidInput, match="does not follow"):
        Estimated(strategy, (1,), (1,))
    assert Residual((2, 3), (Measurement.of((0, 1), False, (2, 3), ONE, Fraction(1)),)).estimated == ((), (0,), (1,), (0, 1))


def test_wrong_strategies_are_refused():
    noise = Laplace(1, 1, step=1, dimension=2, on_grid=True)
    for sizes, parts, words in [
        ((2,), (), "at least one measurement"),
        ((0,), (Measurement((0,), False, noise),), "at least one value"),
        ((2, 2), (Measurement((1, 0), False, noise),), "must rise"),
        ((2,), (Measurement((1,), False, noise),), "must rise"),
        ((1,), (Measurement((0,), True, noise),), "no residuals"),
        ((3,), (Measurement((0,), False, noise),), "one noise for each"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            Residual(sizes, parts)


# --- intervals ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(9, 10), Fraction(95, 100), Fraction(999, 1000)])
def test_intervals_hold_by_the_exact_law(confidence):
    """Two Laplace measurements, and two Gaussian ones, of two columns: the law of every weighted sum, listed."""
    sizes, margins = (2, 3), ((0,), (0, 1))
    laplace = Residual(sizes, tuple(Measurement.of(axes, False, sizes, ONE, Fraction(1, 20)) for axes in margins))
    gaussian = Residual(sizes, tuple(Measurement.of(axes, True, sizes, ONE, None, Fraction(1, 100)) for axes in closure(margins)))
    for strategy in (laplace, gaussian):
        for axes in margins:
            each = Estimated(strategy, axes, (1,) * len(axes), 0.0)
            width = float(each.interval(confidence).above)
            assert small_margins.inside(each.weights(), width) >= float(confidence) - 1e-9
            assert small_margins.inside(each.weights(), 0.8 * width) < float(confidence)


def test_intervals_of_narrow_noise_hold():
    """Scales near 1, where neither normal nor continuous noise stands for the discrete one without a price."""
    for epsilon in (Fraction(1), Fraction(3)):
        strategy = Residual((2, 3), tuple(Measurement.of(axes, False, (2, 3), ONE, epsilon) for axes in ((0,), (0, 1))))
        weights = Estimated(strategy, (0,), (1,)).weights()
        for missed in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**4)):
            assert small_margins.inside(weights, combined_error(weights, missed)) >= float(1 - missed) - 1e-9
    gaussian = Residual((2, 3), tuple(Measurement.of(axes, True, (2, 3), ONE, None, Fraction(2)) for axes in closure([(0, 1)])))
    assert min(each.noise.scale for each in gaussian.measurements) < 1.5
    weights = Estimated(gaussian, (0, 1), (1, 1)).weights()
    assert small_margins.inside(weights, combined_error(weights, Fraction(1, 20))) >= 0.95


def test_widths_grow_with_confidence_and_with_what_is_rounded():
    strategy = next(iter(strategies((2, 3), ((0, 1),))))
    each = Estimated(strategy, (0, 1), (1, 1), 0.0)
    widths = [float(each.interval(confidence).above) for confidence in ("0.5", "0.9", "0.99", "0.9999999", 1 - Fraction(1, 10**30))]
    assert widths == sorted(widths)
    assert float(replace(each, rounding=2.0).interval("0.9").above) == pytest.approx(widths[1] + 2)


def test_noises_of_two_kinds_are_added_up_by_their_exact_law():
    strategy, other = list(strategies((2, 3), ((0, 1),)))[:2]
    both = Weights((strategy.measurements[0].noise, other.measurements[0].noise), (1.0, 0.5), (1, 2))
    assert len({type(noise) for noise in both.noises}) == 2
    for missed in (Fraction(1, 2), Fraction(1, 20)):
        assert small_margins.inside(both, combined_error(both, missed)) >= float(1 - missed) - 1e-9
    for alone in both.noises:  # planted: the width of one kind alone
        assert small_margins.inside(both, combined_error(both.of_kind(type(alone)), Fraction(1, 20))) < 0.95
    assert combined_error(Weights((), (), ()), Fraction(1, 20)) == 0
    assert combined_error(both, Fraction(1)) == 0
    with pytest.raises(InvalidInput, match="above 0"):
        combined_error(both, Fraction(0))


# --- shares ------------------------------------------------------------------------------------------------------------------

CENSUS = (9, 16, 7, 15, 6, 5, 2, 2)  # the cells of eight columns of Adult
PAIRS = tuple(axes for size in (1, 2) for axes in combinations(range(8), size))


def mean_error(strategy, margins, sizes):
    """The mean over all cells of the mean absolute error, as that of normal noise."""
    errors = [cells(axes, sizes) * sqrt(Estimated(strategy, axes, (1,) * len(axes)).variance * 2 / np.pi) for axes in margins]
    return sum(errors) / sum(cells(axes, sizes) for axes in margins)


def test_the_margins_of_the_census_are_at_the_optimum():
    """Published optima: 0.39 of Laplace noise one by one at (1, 1e-6), where rho is 0.0244, and 0.65 of Gaussian noise."""
    wanted = tuple(Wanted.cells_of(axes, CENSUS) for axes in PAIRS)
    gaussian = gaussian_strategy(gaussian_shares(wanted, CENSUS), CENSUS, ONE, Fraction("0.0244"))
    pure = laplace_strategy(laplace_shares(wanted, CENSUS), CENSUS, ONE, Fraction(1))
    apart = sqrt(36 / (2 * 0.0244)) * sqrt(2 / np.pi)
    assert mean_error(gaussian, PAIRS, CENSUS) / 36 == pytest.approx(0.39, abs=0.004)
    assert mean_error(gaussian, PAIRS, CENSUS) / apart == pytest.approx(0.65, abs=0.004)
    assert mean_error(pure, PAIRS, CENSUS) / 36 <= 0.62


@pytest.mark.parametrize(("sizes", "margins"), WORKLOADS)
def test_no_other_gaussian_shares_are_better(sizes, margins):
    wanted = tuple(Wanted.cells_of(axes, sizes) for axes in margins)
    shares, rng = gaussian_shares(wanted, sizes), np.random.default_rng(2)
    assert sum(share for _, share in shares) == 1

    def total(each):
        strategy = gaussian_strategy(each, sizes, ONE, Fraction(1, 10))
        return sum(cells(axes, sizes) * Estimated(strategy, axes, (1,) * len(axes)).variance for axes in margins)

    least = total(shares)
    for _ in range(20):
        other = rounded_shares([share * Fraction(float(rng.uniform(0.5, 2))) for _, share in shares])
        assert total([(axes, share) for (axes, _), share in zip(shares, other, strict=True)]) >= least * (1 - 1e-4)


def test_the_largest_variance_is_near_the_least_that_it_can_be():
    """By duality: no shares have a largest variance below the least weighted mean, whatever the weights."""
    wanted = tuple(Wanted.cells_of(axes, CENSUS) for axes in PAIRS)
    largest = gaussian_strategy(gaussian_shares(wanted, CENSUS, "largest"), CENSUS, ONE, Fraction(1, 2))
    plain = gaussian_strategy(gaussian_shares(wanted, CENSUS), CENSUS, ONE, Fraction(1, 2))
    found, others = ({axes: Estimated(each, axes, (1,) * len(axes)).variance for axes in PAIRS} for each in (largest, plain))
    excess = {axes: max(0.0, found[axes] / max(found.values()) - 0.98) for axes in PAIRS}
    weighted = tuple(
        Wanted.cells_of(axes, CENSUS, Fraction(1 + round(10**6 * excess[axes]), cells(axes, CENSUS))) for axes in PAIRS
    )
    bound = gaussian_strategy(gaussian_shares(weighted, CENSUS), CENSUS, ONE, Fraction(1, 2))
    whole = sum(each.weight * each.numbers for each in weighted)
    least = sum(
        float(each.weight * each.numbers / whole) * Estimated(bound, each.axes, (1,) * len(each.axes)).variance for each in weighted
    )
    assert max(found.values()) < 0.5 * max(others.values())
    assert max(found.values()) <= least * 1.1


def test_needs_of_groups_are_those_of_their_numbers():
    """Groups of two and one of three values: the sum over both numbers, written out."""
    sizes, margins = (3, 2), ((0, 1),)
    for strategy in strategies(sizes, margins):
        wanted = Wanted.of_groups((0, 1), [(2, 1), (1,)], sizes)
        variance = {axes: variance for axes, (_, variance) in shares_of(strategy).items()}
        by_needs = sum(float(need) * variance[axes] for axes, need in wanted.needs(sizes).items())
        by_numbers = sum(Estimated(strategy, (0, 1), (taken, 1)).variance for taken in (2, 1))
        assert by_needs == pytest.approx(by_numbers)
        assert wanted.numbers == 2


def test_shares_are_short_and_together_one():
    for parts in ([1, 1, 1], [10**9, 1], [3] * 500, [1] * 7 + [10**6]):
        shares = rounded_shares([Fraction(part) for part in parts])
        assert sum(shares) == 1
        assert min(shares) > 0


def test_too_many_sets_are_refused():
    with pytest.raises(InvalidInput, match=r"the limit is 4,000"):
        gaussian_shares((Wanted.cells_of(tuple(range(12)), (2,) * 12),), (2,) * 12)


def test_axes_of_one_value_have_no_residuals():
    sizes = (1, 3)
    assert free_cells((0, 1), sizes) == 0
    assert free_cells((1,), sizes) == 2
    wanted = (Wanted.cells_of((0, 1), sizes),)
    assert list(needed(wanted, sizes)) == [(), (1,)]


def test_counts_that_overlap_share_the_count_of_all_rows():
    """Ten conditions: with Laplace noise the total is measured once, and each number has half the noise of a difference."""
    sizes = (2,) * 10
    wanted = tuple(Wanted.cells_of((axis,), sizes) for axis in range(10))
    alone = Estimated(laplace_strategy((((0,), False, Fraction(1, 10)),), sizes, Contribution(1), Fraction(1)), (0,), (1,), 0.0)
    for loss in ("squares", "largest"):
        shares = laplace_shares(wanted, sizes, loss)
        together = Estimated(laplace_strategy(shares, sizes, Contribution(1), Fraction(1)), (0,), (1,), 0.0)
        assert together.variance < 0.46 * alone.variance  # 0.87 where the steps begin at equal shares alone
        assert sum(share for _, _, share in shares) == 1
