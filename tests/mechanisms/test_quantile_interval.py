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
from tacit.mechanisms.quantile_interval import Enclosed, QuantileWithInterval, release_together
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


def enclosing(ends, truth, rows):
    """The exact probability that independent draws of the ends enclose all usual quantiles."""
    chance = Decimal(1)
    for draw in ends:
        law = draw.law(rows).probabilities
        held = (v <= min(truth) if draw.shift < 0 else v >= max(truth) for v in law)
        chance *= sum(p for p, holds in zip(law.values(), held, strict=True) if holds)
    return chance


def coverage(mechanism, rows):
    """The exact probability that the interval holds all usual quantiles: the less of the two ways to draw it."""
    truth = usual_quantiles(rows, mechanism.q)
    return min(enclosing(draws[-2:], truth, rows) for draws in (mechanism.of_many, mechanism.of_few))


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


@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE], ids=str)
def test_loss_of_the_choice_between_many_rows_and_few(relation):
    """By itself no more than its part, for any number of rows before and after, and all of it far from the number in question."""
    mechanism = QuantileWithInterval("0.5", 0, 100, 1, 1, max_rows=3, neighbours=relation)
    laws = {size: mechanism._chances(size) for size in range(3 * mechanism.many)}
    worst = max(
        abs((laws[one][way] / laws[other][way]).ln())
        for one in laws
        for other in range(one, min(one + 4, len(laws)))
        for way in (0, 1)
    )
    assert Decimal("0.038") < worst <= Decimal("0.04") + Decimal("1e-30")


def test_planted_choice_for_one_row_fails_units():
    """The factor of one row where a unit has three: nearly three times the part of epsilon."""

    class Planted(QuantileWithInterval):
        def _choice(self, size, many):
            lengths, costs, factor = super()._choice(size, many)
            return lengths, costs, factor * self.max_rows

    planted = Planted("0.5", 0, 100, 1, 1, max_rows=3)
    one, other = (planted._chances(size)[0] for size in (0, 3))
    assert (other / one).ln() > Decimal("0.11")


def test_planted_whole_epsilon_for_each_draw_is_seen():
    class Planted(QuantileWithInterval):
        def _at(self, shift, epsilon):
            return Quantile(self.q, self.lower, self.upper, self.step, self.epsilon, shift=shift)

    honest, planted = (kind("0.5", 0, 15, 1, 3, confidence=0.1) for kind in (QuantileWithInterval, Planted))
    one, other = [14], [14, 15]
    assert worst_log_ratio(honest.law(other), honest.law(one)) <= 3
    assert worst_log_ratio(planted.law(other), planted.law(one)) > 3


def test_planted_row_level_sensitivity_is_seen():
    """Noise for one row where a unit has six."""
    honest, planted = (QuantileWithInterval("0.5", 0, 15, 1, 3, confidence=0.1, max_rows=rows) for rows in (6, 1))
    one, other = [14] * 6, [14] * 6 + [15] * 6
    assert worst_log_ratio(honest.law(other), honest.law(one)) <= 3
    assert worst_log_ratio(planted.law(other), planted.law(one)) > 3


def test_what_runs_is_on_record():
    mechanism = QuantileWithInterval(0.5, 0, 100, 1, 3, max_rows=2)
    assert mechanism.event == Batch(tuple(BoundedRangeChoice(Fraction(3 * part, 25)) for part in (1, 12, 12)))
    assert mechanism.loss == Pure(3)
    assert QuantileWithInterval(0, 0, 100, 1, 3).event == Batch((BoundedRangeChoice(Fraction(3)),))
    assert isinstance(mechanism, Listed)
    for draws in (mechanism.of_many, mechanism.of_few):  # the ends of few rows together take what one end of many takes
        assert sum(draw.epsilon for draw in draws) == Fraction(24 * 3, 25)
    assert sum(draw.epsilon for draw in mechanism.of_few[1:]) == mechanism.of_many[0].epsilon


# ---- accuracy ----


@pytest.mark.parametrize("q", SHARES)
@pytest.mark.parametrize("epsilon", [1, 30])
def test_the_interval_encloses_every_usual_quantile(q, epsilon):
    mechanism = QuantileWithInterval(q, 0, 9, 1, epsilon, confidence=0.9)
    for size in (1, 2, 4):  # ties, one point, both bounds
        for rows in combinations_with_replacement((0, 1, 5, 9), size):
            assert coverage(mechanism, rows) >= Decimal("0.9")
    for count in (1, 2, 40, 41):
        assert coverage(mechanism, np.resize([3, 7, 8, 0, 9, 4], count).tolist()) >= Decimal("0.9")


@pytest.mark.parametrize("max_rows", [1, 4])
@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE], ids=str)
def test_hostile_rows_are_enclosed(max_rows, relation):
    """Heavy tails, all rows but one at a bound, gaps at the aims: where the whole grid weighs against the end."""
    mechanism = QuantileWithInterval("0.5", 0, 299, 1, 2, confidence=0.9, max_rows=max_rows, neighbours=relation)
    down, up = mechanism.margins
    heavy = [min(299, round(1.5**at)) for at in range(40)]
    for rows in (heavy, [0] * 30 + [299] * 31, [299] * 5, [0] * (down + 2) + [1] * (2 * up), [298] * 2 * down + [299] * up, [150]):
        assert coverage(mechanism, rows) >= Decimal("0.9")


def test_the_median_of_many_rows_is_found_closely():
    rows = np.arange(2000).tolist()
    mechanism = QuantileWithInterval(0.5, 0, 9999, 1, 3)
    assert coverage(mechanism, rows) >= Decimal("0.95")
    high, value = mechanism.of_many[1], mechanism.of_few[0]
    assert sum(p for v, p in value.law(rows).probabilities.items() if 980 < v < 1020) > Decimal("0.999")
    assert sum(p for v, p in high.law(rows).probabilities.items() if v < 1025) > Decimal("0.999")


def test_many_rows_are_told_from_few():
    mechanism = QuantileWithInterval(0.5, 0, 9999, 1, 3)
    assert mechanism.many == 4 * max(mechanism.margins)
    chances = [mechanism._chances(size)[0] for size in (0, mechanism.many, 3 * mechanism.many)]
    assert chances[0] < Decimal("0.02")
    assert chances[1] == Decimal("0.5")
    assert chances[2] > Decimal("0.999")


def test_the_middle_is_the_value_of_many_rows_and_lies_between_the_ends():
    mechanism = QuantileWithInterval(0.5, 0, 100, 1, 3)
    assert mechanism._enclosed([30, 41]) == mechanism._enclosed([41, 30]) == Enclosed(35, 30, 41)
    assert mechanism._enclosed([7, 41, 30]) == Enclosed(30, 30, 41)
    for drawn in combinations_with_replacement((0, 1, 50, 100), 2):
        value, low, high = mechanism._enclosed(drawn)
        assert low <= value <= high


def test_few_rows_far_below_the_bound_keep_their_median():
    """The middle of two ends that are the bounds would be the middle of the grid, whatever the rows."""
    mechanism = QuantileWithInterval(0.5, 0, 9999, 1, 2)
    assert mechanism.margins[1] > 12
    released = [mechanism.release([100] * 24).value for _ in range(60)]
    assert sum(value == 100 for value in released) > 25  # 0.9 of them are; fewer than 26 of 60 once in 10^9 runs


def share_at_least(mechanism, rows, least):
    """Planted: the probability of a draw of at least `least` when the shifted rank is sought in the data alone."""
    rank, points = mechanism.q * len(rows) + mechanism.shift, range(int(mechanism.lower), int(mechanism.upper) + 1)
    costs = [max(0, sum(x < v for x in rows) - rank, rank - sum(x <= v for x in rows)) for v in points]
    weights = [math.exp(-float(mechanism.epsilon / mechanism.spread * (cost - min(costs)))) for cost in costs]
    return sum(weight for v, weight in zip(points, weights, strict=True) if v >= least) / sum(weights)


def test_planted_missing_public_rows_are_seen():
    high = QuantileWithInterval(0.5, 0, 99, 1, 3).of_many[1]
    assert sum(p for v, p in high.law([99]).probabilities.items() if v >= 99) > Decimal("0.97")
    assert share_at_least(high, [99], 99) < 0.1


def test_planted_margin_without_the_size_of_the_grid_is_seen():
    """ln(1/b) instead of ln(points/b): the many values beyond the truth are forgotten."""
    mechanism = QuantileWithInterval(0.5, 0, 999, 1, "0.3", confidence=0.9)
    low = mechanism.of_many[0]
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
    assert Decimal("0.2") < mechanism._chances(5)[0] < Decimal("0.8"), "both ways of drawing are tried"
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


def test_quantiles_of_the_same_rows_are_drawn_together():
    mechanisms = [QuantileWithInterval(q, 0, 100, 1, 5000) for q in ("0.25", "0.5", "1")]
    rows = (np.array([90, 10, 50]), np.array([30, 31, 40]))
    assert release_together([*mechanisms, Quantile("0.5", 0, 100, 1, 5000)], Sealed(rows)) == [
        (10, 10, 10),
        (50, 50, 50),
        (90, 90, 100),
        (50, 0, 100),
    ]


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
