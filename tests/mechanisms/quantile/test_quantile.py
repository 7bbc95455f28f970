"""Private quantiles: exact losses over all small neighbours, for every q, every number of rows of a unit, both relations."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest

from chance import follows_law
from tacit.accounting.events import BoundedRangeChoice
from tacit.errors import InvalidBudget, InvalidInput, InvalidValue
from tacit.mechanisms.mechanism import Listed
from tacit.mechanisms.quantile.ends import Intervals
from tacit.mechanisms.quantile.quantile import BothEnds, Quantile
from tacit.mechanisms.quantile.rank_blocks import Blocks
from tacit.privacy.law import worst_log_ratio, worst_ratio
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Neighbours, Pure
from tacit.privacy.sealed import Sealed
from tacit.privacy.universe import units

TINY = Decimal("1e-30")
SHARES = ["0", "0.25", "0.5", "0.9", "1"]
WORLDS = {1: (4, 4), 2: (3, 3), 3: (3, 2)}  # rows of a unit: grid points, units
RELATIONS = [ADD_REMOVE, CHANGE_ONE]


@cache
def neighbouring_rows(max_rows, relation):
    """Every pair of sets of rows that one unit makes different, in small worlds."""
    points, most = WORLDS[max_rows]
    pairs = set()
    for database in units(range(points), max_rows).databases_up_to(most):
        one = tuple(sorted(row for unit in database.rows for row in unit))
        for neighbour in database.neighbours(relation):
            pairs.add((one, tuple(sorted(row for unit in neighbour.rows for row in unit))))
    return points, sorted(pairs)


def worst_loss(law, max_rows, relation):
    _, pairs = neighbouring_rows(max_rows, relation)
    known = cache(lambda rows: law(list(rows)))
    laws = ((known(one), known(other)) for one, other in pairs)
    return worst_log_ratio(*max(laws, key=lambda both: worst_ratio(*both)))  # one logarithm, of the worst of all


def either_way(mechanism, one, other):
    laws = mechanism.law(one), mechanism.law(other)
    return max(worst_log_ratio(*laws), worst_log_ratio(*reversed(laws)))


def quantile(q, max_rows, relation, epsilon=1, points=None, shift=0):
    return Quantile(q, 0, (points or WORLDS[max_rows][0]) - 1, 1, epsilon, max_rows, shift, relation)


# ---- privacy ----


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("max_rows", WORLDS)
@pytest.mark.parametrize("q", SHARES)
def test_loss_over_all_neighbours(q, max_rows, relation):
    mechanism = quantile(q, max_rows, relation)
    assert worst_loss(mechanism.law, max_rows, relation) <= 1 + TINY


@pytest.mark.parametrize("shift", [-2, "1/3", 1, 3])
@pytest.mark.parametrize("max_rows", [1, 2])
@pytest.mark.parametrize("q", SHARES)
def test_loss_of_shifted_ranks(q, max_rows, shift):
    mechanism = quantile(q, max_rows, ADD_REMOVE, shift=shift)
    assert worst_loss(mechanism.law, max_rows, ADD_REMOVE) <= 1 + TINY


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("max_rows", WORLDS)
@pytest.mark.parametrize("q", ["0.25", "0.5", "0.9"])
def test_loss_of_both_ends_in_one_draw(q, max_rows, relation):
    ends = BothEnds(*(quantile(q, max_rows, relation, shift=shift) for shift in (-1, 2)))
    assert worst_loss(ends.law, max_rows, relation) <= 1 + TINY


def test_both_ends_differ_by_whole_ranks_alone():
    low = quantile("0.5", 1, ADD_REMOVE)
    for high in (replace(low, shift=Fraction(1, 2)), replace(low, q=Fraction(1, 3)), replace(low, epsilon=Fraction(2))):
        with pytest.raises(InvalidInput, match="both ends"):
            BothEnds(low, high)


def test_planted_saving_at_a_shifted_extreme_is_seen():
    """The minimum aimed into the data has values on both sides of its rank: the spread of `shift = 0` is too small."""
    planted = quantile("0", 1, ADD_REMOVE, epsilon=2, points=400, shift=2)  # claims 1 with spread max_rows
    one, other = [396, 397, 398], [0, 396, 397, 398]
    assert either_way(planted, one, other) > Decimal("1.8")


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("q", ["0", "1"])
def test_the_extremes_use_all_of_epsilon(q, relation):
    assert worst_loss(quantile(q, 1, relation).law, 1, relation) > Decimal("0.98")


def edge_of_the_bound(q, rows_of_unit):
    """Rows next to the upper end, and a unit at the end: values below lose, those above gain. Mirrored for small q."""
    share, end = max(Fraction(q), 1 - Fraction(q)), 4999
    count = math.ceil(rows_of_unit * share / (1 - share))
    one = [end - 1] * count
    other = [*one, *[end] * rows_of_unit]
    mirrored = Fraction(q) < Fraction(1, 2)
    return [[end - row for row in rows] if mirrored else rows for rows in (one, other)], end + 1


@pytest.mark.parametrize("q", ["0.25", "0.5", "0.9"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_the_bound_is_nearly_attained(q, max_rows):
    (one, other), points = edge_of_the_bound(q, max_rows)
    mechanism = quantile(q, max_rows, ADD_REMOVE, points=points)
    assert Decimal("0.93") < either_way(mechanism, one, other) <= 1 + TINY
    planted = quantile(q, max_rows, ADD_REMOVE, epsilon="11/10", points=points)  # claims 1 with noise 10 % too small
    assert either_way(planted, one, other) > 1


def test_row_level_sensitivity_fails_units():
    """A unit of four rows: with the sensitivity of one row (1/2) the loss is nearly four times the claim."""
    (one, other), points = edge_of_the_bound("0.5", 4)
    row_level, unit_level = quantile("0.5", 1, ADD_REMOVE, points=points), quantile("0.5", 4, ADD_REMOVE, points=points)
    assert (row_level.sensitivity, unit_level.sensitivity) == (Fraction(1, 2), 2)
    assert worst_log_ratio(row_level.law(other), row_level.law(one)) > Decimal("3.77")
    assert Decimal("0.97") < worst_log_ratio(unit_level.law(other), unit_level.law(one)) <= 1


@pytest.mark.parametrize(("q", "max_rows"), [("0.5", 2), ("0.9", 2), ("0", 3)])
def test_planted_row_level_sensitivity_is_seen_in_small_worlds(q, max_rows):
    row_level = Quantile(q, 0, WORLDS[max_rows][0] - 1, 1, 1, 1, shift=0)
    assert worst_loss(row_level.law, max_rows, ADD_REMOVE) > 1


def test_planted_add_remove_sensitivity_fails_change_one():
    planted = Quantile("0.5", 0, 3, 1, 1, neighbours=ADD_REMOVE)
    assert worst_loss(planted.law, 1, CHANGE_ONE) > 1


def test_planted_saving_of_the_extremes_fails_elsewhere():
    """Half the spread is right for q = 0 and 1 only."""
    (one, other), points = edge_of_the_bound("0.5", 1)
    planted = quantile("0.5", 1, ADD_REMOVE, epsilon=2, points=points)
    assert worst_log_ratio(planted.law(other), planted.law(one)) > Decimal("1.8")


# ---- the law ----


def test_the_vector_of_a_continuous_domain():
    """(1, ..., 5) in [0, 10], median, epsilon 1, sensitivity 1: on a fine grid the intervals weigh as in the continuous law."""
    mechanism = Quantile("0.5", 0, 10, "1/2000", 1, neighbours=CHANGE_ONE)
    law = mechanism.law([1, 2, 3, 4, 5]).probabilities
    masses = [
        sum(float(p) for v, p in law.items() if low < v < high) for low, high in [*zip(range(5), range(1, 6), strict=True), (5, 10)]
    ]
    assert masses == pytest.approx([0.06787, 0.111899, 0.18449, 0.18449, 0.111899, 0.339351], abs=2e-4)


def test_no_rows_give_the_uniform_law():
    law = Quantile("0.5", 0, 9, 1, 1).law([])
    assert set(law.probabilities.values()) == {Decimal("0.1")}
    assert 0 <= Quantile("0.5", 0, 9, 1, 1).release([]) <= 9
    assert 0 <= Quantile("0.5", 0, 9, 1, 1).release_units(([], [])) <= 9


@pytest.mark.parametrize(("q", "truth"), [("0", 2), ("0.25", 3), ("0.5", 5), ("0.9", 9), ("1", 9)])
def test_the_quantile_is_as_likely_as_any_value(q, truth):
    law = Quantile(q, 0, 10, 1, 50).law([2, 2, 3, 3, 5, 6, 7, 8, 9]).probabilities
    assert law[truth] == max(law.values())


def test_an_extreme_at_its_own_rank_is_uniform_beyond_the_data():
    """Why the default aims inside: without it the minimum of rows at 800 to 899 is anything from 0 to 800."""
    rows = list(range(800, 900)) * 3
    own = Quantile(0, 0, 999, 1, 1, shift=0).law(rows).probabilities
    inside = Quantile(0, 0, 999, 1, 1).law(rows).probabilities
    assert own[0] == own[500] == own[800] == max(own.values())
    assert sum(p for v, p in inside.items() if 800 <= v < 820) > Decimal("0.95")
    largest = Quantile(1, 0, 999, 1, 1).law(rows).probabilities
    assert sum(p for v, p in largest.items() if 880 <= v < 900) > Decimal("0.95")


def test_rows_and_counts_are_one_input():
    mechanism, rows = Quantile("0.5", 0, 1000, "0.5", 2000), [0.5, 0.5, 3, 999, 7, 8, 8, 8]
    values, counts = np.unique(mechanism.grid.offsets(rows), return_counts=True)
    assert mechanism.release(rows) in (7.0, 7.5, 8.0)  # at epsilon 2000 any other value has probability e^-1000
    assert mechanism.release_units(Sealed((values, counts))) in range(14, 17)


def test_the_release_follows_the_law():
    mechanism, rows, size = Quantile("0.25", -2, 6, 2, 1), [-1, 0, 3, 3, 6, 5.1], 4000
    law = mechanism.law(rows).probabilities
    drawn = [mechanism.release(Sealed(rows)) for _ in range(size)]
    assert list(law) == [-2, 0, 2, 4, 6]
    assert follows_law(drawn, law)


# ---- accuracy ----


def rank_distance(rows, value, mechanism, target):
    below = sum(x < value for x in rows) if value > mechanism.lower else -math.inf  # public rows at the bounds
    through = sum(x <= value for x in rows) if value < mechanism.upper else math.inf
    return max(0, below - target, target - through)


@pytest.mark.parametrize("q", SHARES)
def test_the_rank_error_holds(q):
    for mechanism in (Quantile(q, 0, 12, 1, 1), Quantile(q, 0, 12, 1, 1, shift=-2)):
        error, target = mechanism.rank_error(0.9), mechanism.q * 12 + mechanism.shift
        for rows in combinations_with_replacement((0, 5, 6, 12), 12):
            law = mechanism.law(rows).probabilities
            assert sum(p for v, p in law.items() if rank_distance(rows, v, mechanism, target) >= error) <= Decimal("0.1")


def test_the_least_epsilon_for_a_rank_error():
    mechanism = Quantile.for_error(7, 0.95, q=0.9, lower=0, upper=100, step=1, max_rows=3)
    assert mechanism.rank_error(0.95) == pytest.approx(7)
    assert mechanism.max_rows == 3
    for error in (0, -1):
        with pytest.raises(InvalidInput, match="error"):
            Quantile.for_error(error, 0.95, q=0.9, lower=0, upper=100, step=1)


def test_an_error_of_less_than_a_row_has_its_epsilon():
    assert Quantile.for_error("1/2", 0.95, q=0.5, lower=0, upper=100, step=1).rank_error(0.95) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("q", "relation", "max_rows", "spread"), [("0.9", ADD_REMOVE, 3, "5.4"), ("0.9", CHANGE_ONE, 3, 6), ("0", ADD_REMOVE, 3, 6)]
)
def test_the_rank_error_is_its_formula_rounded_up(q, relation, max_rows, spread):
    """spread / epsilon * ln(points / miss), in 40 digits; the aim of an extreme is moved by as much, to the next whole row."""
    mechanism = Quantile(q, 0, 100, 1, "1/4", max_rows, shift=None, neighbours=relation)
    expected = Decimal(spread) * 4 * (Decimal(101) * 20).ln()
    assert mechanism.spread == Fraction(spread)
    assert 0 <= Decimal(mechanism.rank_error("0.95")) / expected - 1 < Decimal("1e-14")
    assert mechanism.shift == (math.ceil(expected) if q == "0" else 0)
    assert Quantile("1", 0, 100, 1, "1/4", max_rows, neighbours=relation).shift == -math.ceil(
        Decimal(2 * max_rows) * 4 * (Decimal(2020)).ln()
    )


# ---- as a value ----


def test_the_law_of_both_ends_aims_below_and_above():
    low, high = (Quantile(0.5, 0, 20, 1, 3, shift=shift) for shift in (-2, 4))
    blocks = Blocks.of(low.grid.rows(range(0, 20, 2)), 21)
    expected = Intervals(blocks, low.aim(10), high.aim(10)).law(Fraction(3))
    assert BothEnds(low, high).law_from(blocks) == expected
    assert (Fraction(*low.aim(10)), Fraction(*high.aim(10))) == (3, 9)


def test_a_shift_beyond_the_digits_of_a_double_is_whole_and_exact():
    with localcontext(prec=60):
        for more in range(8):
            expected = math.ceil(2 * (2**51 + more) * Decimal(2020).ln())
            shifts = [Quantile(q, 0, 100, 1, Fraction(1, 2**51 + more)).shift for q in (0, 1)]
            assert shifts == [expected, -expected]


def test_a_shift_is_at_most_two_to_the_60():
    for shift in (2**60, -(2**60)):
        assert Quantile(0.5, 0, 10, 1, 1, shift=shift).shift == shift
        with pytest.raises(InvalidBudget, match="2\\^60"):
            Quantile(0.5, 0, 10, 1, 1, shift=shift + (1 if shift > 0 else -1))


def test_both_ends_are_one_draw_on_grids_of_up_to_two_to_the_56_points():
    for last, together in ((2**56 - 1, True), (2**56, False)):
        low, high = (Quantile(0.5, 0, last, 1, 1, shift=shift) for shift in (-3, 4))
        assert BothEnds(low, high).together == together
    BothEnds(low, low)  # no distance is a whole distance


def test_the_exponent_of_both_ends_is_that_of_the_larger_spread():
    """An extreme at its own rank has half the spread: the other end decides."""
    own, inside = (Quantile(0, 0, 100, 1, 1, shift=shift) for shift in (0, 5))
    assert (own.spread, inside.spread) == (1, 2)
    assert BothEnds(own, inside)._factor == Fraction(1, 2)
    planted = Quantile(1, 0, 100, 1, 1, shift=-5), Quantile(1, 0, 100, 1, 1, shift=0)
    assert BothEnds(*planted)._factor == Fraction(1, 2)


def test_two_ends_on_a_very_fine_grid_have_half_of_the_exponent_each(monkeypatch):
    asked = []
    monkeypatch.setattr(Blocks, "draw", lambda self, rank, factor: asked.append((rank, factor)) or len(asked))
    low, high = (Quantile(0.5, 0, 2**57, 1, 3, shift=shift) for shift in (-3, 4))
    assert BothEnds(low, high).release([5, 6]) == (1, 2)
    assert [(Fraction(*rank), factor) for rank, factor in asked] == [(-2, Fraction(3, 2)), (5, Fraction(3, 2))]


def test_it_is_a_mechanism():
    mechanism = Quantile(0.5, 0, 10, 1, "0.3", max_rows=4, neighbours=Neighbours("add-remove", "unit"))
    assert isinstance(mechanism, Listed)
    assert mechanism.event == BoundedRangeChoice(Fraction(3, 10), Neighbours("add-remove", "unit"))
    assert mechanism.loss == Pure("0.3", Neighbours("add-remove", "unit"))
    assert hash(mechanism) == hash(Quantile("1/2", 0, 10, 1, 0.3, 4, None, Neighbours("add-remove", "unit")))


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"q": -0.1}, InvalidInput),
        ({"q": 1.1}, InvalidInput),
        ({"q": math.nan}, InvalidInput),
        ({"epsilon": 0}, InvalidBudget),
        ({"epsilon": math.inf}, InvalidBudget),
        ({"shift": math.nan}, InvalidInput),
        ({"shift": 2**61}, InvalidBudget),
        ({"q": 0, "epsilon": Fraction(1, 2**60)}, InvalidBudget),
        ({"max_rows": 0}, InvalidInput),
        ({"max_rows": 1.5}, InvalidInput),
        ({"step": 0}, InvalidInput),
        ({"upper": -1}, InvalidInput),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters, error):
    with pytest.raises(error):
        Quantile(**({"q": 0.5, "lower": 0, "upper": 10, "step": 1, "epsilon": 1} | parameters))


def test_bad_values_are_refused_without_being_quoted():
    mechanism = Quantile(0.5, 0, 10, 1, 1)
    for release in (mechanism.release, mechanism.law):
        with pytest.raises(InvalidValue) as caught:
            release([123456.0, math.nan])
        assert "123456" not in str(caught.value)
    with pytest.raises(InvalidValue):
        mechanism.release_units([1, 2, 3])


def test_the_chart_shows_the_law():
    chart = Quantile(0.5, 0, 10, 1, 1).chart()
    points = [point for point in chart.data.values if point["curve"] == "epsilon 1"]
    assert [point["error"] for point in points] == list(range(11))
    assert sum(point["density"] for point in points) == pytest.approx(1)


@pytest.mark.slow
def test_a_million_values_in_a_third_of_a_second():
    import time

    mechanism = Quantile(0.5, 0, 10**9, 1, 1)
    values = np.arange(10**6) * 997
    counts = np.arange(10**6) % 7 + 1
    times = []
    for _ in range(5):
        start = time.process_time()
        mechanism.release_units((values, counts))
        times.append(time.process_time() - start)
    assert min(times) < 0.3
