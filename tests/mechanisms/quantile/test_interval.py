"""A quantile with its interval: the loss of all draws together, and how often the interval encloses every usual quantile."""

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest

from chance import fewest_hits, follows_law
from interval_cells import cells_with_costs
from tacit.accounting.events import Batch, BoundedRangeChoice
from tacit.errors import InvalidBudget, InvalidInput
from tacit.evidence.verify import hard_pairs
from tacit.mechanisms.mechanism import Listed
from tacit.mechanisms.quantile import interval as module
from tacit.mechanisms.quantile.cells import Cells
from tacit.mechanisms.quantile.interval import Enclosed, QuantileWithInterval, release_together
from tacit.mechanisms.quantile.quantile import BothEnds, Quantile
from tacit.mechanisms.quantile.rank_blocks import Blocks
from tacit.privacy.law import ARITHMETIC, Law, worst_log_ratio
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Pure
from tacit.privacy.sealed import Sealed
from tacit.privacy.universe import units

SHARES = ["0", "0.25", "0.5", "0.9", "1"]


def usual_quantiles(rows, q):
    """The places of q among sorted rows: lower, upper, and both ends of the interpolated one (PERCENTILE_CONT)."""
    n, ordered = len(rows), sorted(rows)
    places = [math.ceil(q * n), math.floor(q * n) + 1, math.floor(1 + q * (n - 1)), math.ceil(1 + q * (n - 1))]
    return [ordered[min(max(place, 1), n) - 1] for place in places]


def enclosing(ends, truth, rows):
    """The exact probability that a cell encloses all usual quantiles."""
    blocks, factor = Blocks.of(ends.low.grid.rows(rows), ends.low.grid.points), ends.epsilon / ends.low.spread
    low, high, costs = cells_with_costs(blocks.points, *(blocks.distances(end.aim(blocks.size)) for end in (ends.low, ends.high)))
    held = (low <= min(truth)) & (max(truth) <= high)
    weights = {cost: Decimal(-float(factor) * cost).exp() for cost in set(costs.tolist())}
    counted, inside = Counter(costs.tolist()), Counter(costs[held].tolist())
    return sum(weights[cost] * number for cost, number in inside.items()) / sum(
        weights[cost] * number for cost, number in counted.items()
    )


def coverage(mechanism, rows):
    """The exact probability that the interval holds all usual quantiles: the less of the two ways to draw it."""
    truth = usual_quantiles(rows, mechanism.q)
    if mechanism.extreme:
        law = mechanism.inside.law(rows).probabilities
        return sum(p for v, p in law.items() if (v >= max(truth) if mechanism.q == 0 else v <= min(truth)))
    return min(enclosing(ends, truth, rows) for ends in (mechanism.of_many, mechanism.of_few.ends))


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
    """Two draws that both have all of epsilon, where the larger distance of a pair was to be weighed."""
    ends = QuantileWithInterval("0.5", 0, 20, 1, 3).of_many
    laws = [
        [end.law(rows).probabilities for end in (ends.low, ends.high)] for rows in hard_pairs.under_both_ends(ends.low, ends.high)
    ]
    apart = [Law({(v, w): ARITHMETIC.multiply(p, r) for v, p in low.items() for w, r in high.items()}) for low, high in laws]
    honest = [ends.law(rows) for rows in hard_pairs.under_both_ends(ends.low, ends.high)]
    assert Decimal("2.5") < worst_log_ratio(*reversed(honest)) <= ends.epsilon
    assert worst_log_ratio(*reversed(apart)) > 5


def test_planted_row_level_sensitivity_is_seen():
    """Noise for one row where a unit has six."""
    honest, planted = (QuantileWithInterval("0.5", 0, 15, 1, 3, confidence=0.1, max_rows=rows) for rows in (6, 1))
    one, other = [14] * 6, [14] * 6 + [15] * 6
    assert worst_log_ratio(honest.law(other), honest.law(one)) <= 3
    assert worst_log_ratio(planted.law(other), planted.law(one)) > 3


def test_what_runs_is_on_record():
    mechanism = QuantileWithInterval(0.5, 0, 100, 1, 3, max_rows=2)
    assert mechanism.event == Batch(tuple(BoundedRangeChoice(Fraction(3 * part, 25)) for part in (1, 24)))
    assert mechanism.loss == Pure(3)
    assert QuantileWithInterval(0, 0, 100, 1, 3).event == Batch((BoundedRangeChoice(Fraction(3)),))
    assert isinstance(mechanism, Listed)
    assert isinstance(mechanism.of_many, Listed)
    assert mechanism.of_many.event == BoundedRangeChoice(Fraction(72, 25))
    assert sum(part.event.epsilon for part in mechanism.of_few) == mechanism.of_many.epsilon


def test_on_a_very_fine_grid_the_ends_are_drawn_apart():
    """Cells of more than 2^56 points are not counted in 62 bits: each end has half of what both have."""
    coarse, fine = (QuantileWithInterval(0.5, 0, last, 1, 3) for last in (2**56 - 1, 2**56))
    assert (coarse.of_many.together, fine.of_many.together) == (True, False)
    assert fine.event == Batch(tuple(BoundedRangeChoice(Fraction(3 * part, 25)) for part in (1, 12, 12)))
    assert max(coarse.margins) < max(fine.margins)
    for mechanism in (coarse, fine):
        released = mechanism.release_units((np.array([2**30]), np.array([1000])))
        assert released == (2**30, 2**30, 2**30)  # any other value is 400 ranks away


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
    rows = list(range(400))
    mechanism = QuantileWithInterval(0.5, 0, 499, 1, 3)
    assert coverage(mechanism, rows) >= Decimal("0.95")
    high, value = mechanism.of_many.high, mechanism.of_few.value
    assert sum(p for v, p in value.law(rows).probabilities.items() if 180 < v < 220) > Decimal("0.999")
    assert max(mechanism.margins) < 10
    assert sum(p for v, p in high.law(rows).probabilities.items() if v < 215) > Decimal("0.999")


def test_the_middle_of_both_ends_is_as_near_as_one_draw_with_all_of_epsilon():
    """Beyond 4 ranks: e^-4 for one draw, and 3.5 times that for the middle of two draws that have half of epsilon each."""
    rows, median = list(range(150)), Quantile(0.5, 0, 149, 1, 1)
    ends = BothEnds(replace(median, shift=Fraction(-30)), replace(median, shift=Fraction(30)))
    far = sum(p for (low, high), p in ends.law(rows).probabilities.items() if abs(low + high - 149) > 8)
    alone = sum(p for v, p in median.law(rows).probabilities.items() if abs(2 * v - 149) > 8)
    assert far < Decimal("1.15") * alone


@pytest.mark.parametrize("q", ["0", "0.1", "0.5", "0.9", "1"])
@pytest.mark.parametrize("last", [100, 2**56])
def test_a_margin_is_what_a_draw_may_miss_and_where_a_quantile_may_be_read(q, last):
    """In 40 digits. Drawn apart, each of two ends has half of epsilon and half of the chance of a miss."""
    mechanism, share = QuantileWithInterval(q, 0, last, 1, "3/2", "0.9", max_rows=2), Fraction(q)
    points, miss = Decimal(last + 1), Decimal("0.1")
    rest = Decimal("1.5") * (1 if mechanism.extreme else Decimal("0.96"))
    spread = 4 * Decimal(max(float(share), 1 - float(share))).quantize(Decimal("0.1"))
    together = Decimal(Cells.of(101).total) / miss if last == 100 else None
    odds = points / miss if mechanism.extreme else together or (2 * points / miss) ** 2
    for margins, epsilon in ((mechanism.margins, rest), (mechanism._margins(mechanism._rest / 2), rest / 2)):
        missed = odds.ln() * spread / epsilon
        assert margins == (math.ceil(missed + Decimal(q)), math.ceil(missed + 1 - Decimal(q)))
    if not mechanism.extreme:
        assert mechanism.many == math.ceil(2 * max(mechanism.margins) / min(share, 1 - share))
        shifts = [(ends.low.shift, ends.high.shift) for ends in (mechanism.of_many, mechanism.of_few.ends)]
        assert shifts == [(-down, up) for down, up in (mechanism.margins, margins)]
        assert mechanism.of_few.value.shift == 0


@pytest.mark.parametrize("tenths", range(10, 20))
@pytest.mark.parametrize("q", ["0.03", "0.97"])
def test_the_larger_margin_counts(q, tenths, monkeypatch):
    """For the number of rows that are many, and for the limit, which is that of ends with half of the rest."""
    made = QuantileWithInterval(q, 0, 100, 1, Fraction(tenths, 10))
    assert made.many == math.ceil(2 * max(made.margins) / Fraction("0.03"))
    most = max(made._margins(made._rest / 2))
    monkeypatch.setattr(module, "FARTHEST_SHIFT", most)
    assert QuantileWithInterval(q, 0, 100, 1, made.epsilon) == made
    monkeypatch.setattr(module, "FARTHEST_SHIFT", most - 1)
    with pytest.raises(InvalidBudget):
        QuantileWithInterval(q, 0, 100, 1, made.epsilon)


def test_the_interval_is_of_95_percent_by_default():
    assert QuantileWithInterval(0.5, 0, 100, 1, 3) == QuantileWithInterval(0.5, 0, 100, 1, 3, Fraction(19, 20), 1, ADD_REMOVE)


def test_many_rows_are_told_from_few():
    mechanism = QuantileWithInterval(0.5, 0, 9999, 1, 3)
    assert mechanism.many == 4 * max(mechanism.margins)
    chances = [mechanism._chances(size)[0] for size in (0, mechanism.many, 3 * mechanism.many)]
    assert chances[0] < Decimal("0.04")
    assert chances[1] == Decimal("0.5")
    assert chances[2] > Decimal("0.998")


def test_the_middle_is_the_value_of_many_rows_and_lies_between_the_ends():
    mechanism = QuantileWithInterval(0.5, 0, 100, 1, 3)
    assert mechanism._between((30, 41)) == mechanism._between((41, 30)) == Enclosed(35, 30, 41)
    assert mechanism._around(7, (41, 30)) == Enclosed(30, 30, 41)
    for drawn in combinations_with_replacement((0, 1, 50, 100), 2):
        value, low, high = mechanism._between(drawn)
        assert low <= value <= high


def test_few_rows_far_below_the_bound_keep_their_median():
    """The middle of two ends that are the bounds would be the middle of the grid, whatever the rows."""
    mechanism = QuantileWithInterval(0.5, 0, 199, 1, 1)
    assert mechanism.margins[1] > 12
    released = [mechanism.release([20] * 24).value for _ in range(60)]
    assert sum(value == 20 for value in released) >= fewest_hits(60, 0.46)


def share_at_least(mechanism, rows, least):
    """Planted: the probability of a draw of at least `least` when the shifted rank is sought in the data alone."""
    rank, points = mechanism.q * len(rows) + mechanism.shift, range(int(mechanism.lower), int(mechanism.upper) + 1)
    costs = [max(0, sum(x < v for x in rows) - rank, rank - sum(x <= v for x in rows)) for v in points]
    weights = [math.exp(-float(mechanism.epsilon / mechanism.spread * (cost - min(costs)))) for cost in costs]
    return sum(weight for v, weight in zip(points, weights, strict=True) if v >= least) / sum(weights)


def test_planted_missing_public_rows_are_seen():
    high = QuantileWithInterval(0.5, 0, 99, 1, 3).of_many.high
    assert sum(p for v, p in high.law([99]).probabilities.items() if v >= 99) > Decimal("0.97")
    assert share_at_least(high, [99], 99) < 0.2


@pytest.mark.parametrize("forgotten", [1000, 47 * 1000], ids=["of one end", "all"])
def test_planted_margin_without_the_number_of_cells_is_seen(forgotten):
    """ln(1 / b), or that of 47 cells, instead of ln(cells / b): the many cells beyond the truth are forgotten."""
    mechanism = QuantileWithInterval(0.5, 0, 999, 1, "0.3", confidence=0.9)
    ends, rows = mechanism.of_many, [0] * 40 + [999] * 40
    margin = math.ceil(math.log(max(1, Cells.of(1000).total / forgotten) / 0.1) * ends.low.spread / ends.epsilon + 0.5)
    short = BothEnds(replace(ends.low, shift=Fraction(-margin)), replace(ends.high, shift=Fraction(margin)))
    truth = usual_quantiles(rows, mechanism.q)
    assert enclosing(ends, truth, rows) >= Decimal("0.9")
    assert enclosing(short, truth, rows) < Decimal("0.1")


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
    assert follows_law(drawn, law)


def test_value_and_ends_are_in_order():
    mechanism = QuantileWithInterval(0.5, 0, 8, 2, "0.01")
    for _ in range(200):
        released = mechanism.release([1, 2, 3])
        assert released.low <= released.value <= released.high
        assert {*released} <= {0, 2, 4, 6, 8}


@pytest.mark.parametrize("counted", [True, False])
def test_quantiles_of_the_same_rows_are_drawn_together(counted):
    mechanisms = [QuantileWithInterval(q, 0, 100, 1, 5000) for q in ("0.25", "0.5", "1")]
    values, counts = np.array([90, 10, 50]), np.array([30, 31, 40])
    rows = (values, counts) if counted else (np.repeat(values, counts), None)
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


def test_one_quantile_may_be_released_alone():
    assert release_together([Quantile("0.5", 0, 100, 1, 5000)], Sealed(([7], [101]))) == [Enclosed(7, 0, 100)]
