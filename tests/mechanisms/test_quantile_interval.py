"""A quantile with its interval: the loss of all draws together, and how often the interval encloses every usual quantile."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest

from tacit.accounting.events import Batch, BoundedRangeChoice
from tacit.errors import InvalidBudget, InvalidInput
from tacit.mechanisms.mechanism import Listed
from tacit.mechanisms.quantile import Quantile
from tacit.mechanisms.quantile_interval import Enclosed, QuantileWithInterval
from tacit.privacy.law import worst_log_ratio
from tacit.privacy.loss import Pure
from tacit.privacy.neighbours import ADD_REMOVE, CHANGE_ONE
from tacit.privacy.sealed import Sealed
from tacit.privacy.universe import units

SHARES = ["0", "0.25", "0.5", "0.9", "1"]


def usual_quantiles(rows, q):
    """The places of q among sorted rows: lower, upper, and both ends of the interpolated one (PERCENTILE_CONT)."""
    n, ordered = len(rows), sorted(rows)
    places = [math.ceil(q * n), math.floor(q * n) + 1, math.floor(1 + q * (n - 1)), math.ceil(1 + q * (n - 1))]
    return [ordered[min(max(place, 1), n) - 1] for place in places]


def coverage(mechanism, rows):
    """The exact probability that the outer draws enclose all usual quantiles; the draws are independent."""
    truth, chance = usual_quantiles(rows, mechanism.q), Decimal(1)
    for draw in mechanism.draws:
        law = draw.law(rows).probabilities
        if draw.shift < 0:
            chance *= sum(p for v, p in law.items() if v <= min(truth))
        elif draw.shift > 0:
            chance *= sum(p for v, p in law.items() if v >= max(truth))
    return chance


# ---- privacy ----


@pytest.mark.parametrize(("max_rows", "relation"), [(1, ADD_REMOVE), (2, ADD_REMOVE), (1, CHANGE_ONE)], ids=str)
@pytest.mark.parametrize("q", SHARES)
def test_loss_of_all_draws_together(q, max_rows, relation):
    mechanism = QuantileWithInterval(q, 0, 2, 1, 3, max_rows=max_rows, neighbours=relation)
    law = cache(lambda rows: mechanism.law(list(rows)))
    flat = cache(lambda database: tuple(sorted(row for unit in database.rows for row in unit)))
    for database in units(range(3), max_rows).databases_up_to(2):
        for neighbour in database.neighbours(relation):
            assert worst_log_ratio(law(flat(database)), law(flat(neighbour))) <= 3 + Decimal("1e-30")


def test_planted_whole_epsilon_for_each_draw_is_seen():
    class Planted(QuantileWithInterval):
        def _at(self, shift):
            return Quantile(self.q, self.lower, self.upper, self.step, self.epsilon, shift=shift)

    honest, planted = (kind("0.5", 0, 15, 1, 3, confidence=0.1) for kind in (QuantileWithInterval, Planted))
    one, other = [14], [14, 15]
    assert worst_log_ratio(honest.law(other), honest.law(one)) <= 3
    assert worst_log_ratio(planted.law(other), planted.law(one)) > 3


def test_what_runs_is_on_record():
    mechanism = QuantileWithInterval(0.5, 0, 100, 1, 3, max_rows=2)
    assert mechanism.event == Batch((BoundedRangeChoice(Fraction(1)),) * 3)
    assert mechanism.loss == Pure(3)
    assert QuantileWithInterval(0, 0, 100, 1, 3).event == Batch((BoundedRangeChoice(Fraction(3)),))
    assert isinstance(mechanism, Listed)


# ---- accuracy ----


@pytest.mark.parametrize("q", SHARES)
@pytest.mark.parametrize("epsilon", [1, 30])
def test_the_interval_encloses_every_usual_quantile(q, epsilon):
    mechanism = QuantileWithInterval(q, 0, 9, 1, epsilon, confidence=0.9)
    for rows in combinations_with_replacement((0, 1, 4, 5, 9), 5):
        assert coverage(mechanism, rows) >= Decimal("0.9")
    for count in (1, 2, 40, 41):
        assert coverage(mechanism, np.resize([3, 7, 8, 0, 9, 4], count).tolist()) >= Decimal("0.9")


def test_the_median_of_many_rows_is_found_closely():
    rows = np.arange(2000).tolist()
    mechanism = QuantileWithInterval(0.5, 0, 9999, 1, 3)
    assert coverage(mechanism, rows) >= Decimal("0.95")
    high = mechanism.draws[2]
    middle = mechanism.draws[0].law(rows).probabilities
    assert sum(p for v, p in middle.items() if 950 < v < 1050) > Decimal("0.999")
    assert sum(p for v, p in high.law(rows).probabilities.items() if v < 1050) > Decimal("0.999")


def share_at_least(mechanism, rows, least):
    """Planted: the probability of a draw of at least `least` when the shifted rank is sought in the data alone."""
    rank, points = mechanism.q * len(rows) + mechanism.shift, range(int(mechanism.lower), int(mechanism.upper) + 1)
    costs = [max(0, sum(x < v for x in rows) - rank, rank - sum(x <= v for x in rows)) for v in points]
    weights = [math.exp(-float(mechanism.epsilon / mechanism.spread * (cost - min(costs)))) for cost in costs]
    return sum(weight for v, weight in zip(points, weights, strict=True) if v >= least) / sum(weights)


def test_planted_missing_public_rows_are_seen():
    high = QuantileWithInterval(0.5, 0, 99, 1, 3).draws[2]
    assert sum(p for v, p in high.law([99]).probabilities.items() if v >= 99) > Decimal("0.97")
    assert share_at_least(high, [99], 99) < 0.1


def test_planted_margin_without_the_size_of_the_grid_is_seen():
    """ln(1/b) instead of ln(points/b): the many values beyond the truth are forgotten."""
    mechanism = QuantileWithInterval(0.5, 0, 999, 1, "0.3", confidence=0.9)
    low = mechanism.draws[1]
    short = Quantile(low.q, 0, 999, 1, low.epsilon, shift=-math.ceil(math.log(1 / 0.05) * low.spread / low.epsilon + 0.5))
    right, wrong = (sum(p for v, p in draw.law([1]).probabilities.items() if v <= 1) for draw in (low, short))
    assert right >= Decimal("0.95")
    assert wrong < Decimal("0.5")


def test_an_extreme_has_its_bound_for_an_end():
    smallest = QuantileWithInterval(0, 10, 1000, 1, 2).release([500.0] * 200)
    largest = QuantileWithInterval(1, 10, 1000, 1, 2).release([500.0] * 200)
    assert (smallest.low, largest.high) == (10, 1000)
    assert smallest.value == smallest.high
    assert largest.value == largest.low
    assert 10 <= smallest.value <= 1000


# ---- the release ----


def test_the_release_follows_the_law():
    mechanism, rows, size = QuantileWithInterval("0.5", 0, 2, 1, 6, confidence=0.5), [0, 1, 1, 2, 2], 1500
    law = mechanism.law(rows).probabilities
    drawn = [mechanism.release(Sealed(rows)) for _ in range(size)]
    limit = math.log(2 * len(law) * 1e6)  # Bernstein's inequality over the cells: false alarm 1e-6
    for outcome, probability in law.items():
        p = float(probability)
        assert abs(drawn.count(outcome) - size * p) < math.sqrt(2 * limit * size * p * (1 - p)) + limit / 3


def test_value_and_ends_are_in_order():
    mechanism = QuantileWithInterval(0.5, 0, 8, 2, "0.01")
    for _ in range(200):
        released = mechanism.release([1, 2, 3])
        assert released.low <= released.value <= released.high
        assert {*released} <= {0, 2, 4, 6, 8}
    assert mechanism._enclosed([0, 4, 2]) == Enclosed(2, 2, 4)


def test_offsets_in_offsets_out():
    mechanism = QuantileWithInterval("0.5", -1, 1, "0.25", 5000)
    assert mechanism.release_units(Sealed((np.array([0, 4, 8]), np.array([50, 101, 50])))) == (4, 4, 4)  # off by e^-1600
    assert mechanism.release([-1.0] * 50 + [0.01] * 101 + [7.0] * 50) == (0.0, 0.0, 0.0)


def test_no_rows_are_answered_too():
    released = QuantileWithInterval(0.5, 0, 100, 1, 1).release([])
    assert 0 <= released.low <= released.value <= released.high <= 100


def test_bad_parameters_are_refused():
    for confidence in (0, 1, -1, 2, math.nan):
        with pytest.raises(InvalidInput, match="confidence"):
            QuantileWithInterval(0.5, 0, 10, 1, 1, confidence)
    with pytest.raises(InvalidBudget):
        QuantileWithInterval(0.5, 0, 10, 1, 0)
    with pytest.raises(InvalidBudget, match="too small"):
        QuantileWithInterval(0.5, 0, 10, 1, Fraction(1, 10**30))
