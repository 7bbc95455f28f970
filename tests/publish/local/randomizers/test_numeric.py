"""Numbers: unbiased, with the stated variance exactly, on every point of the grid; rounding; published formulas; the choice."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import CHANCE, normal_limit
from every_path import law_of
from tacit.errors import InvalidInput, InvalidValue
from tacit.evidence.verify.contract import disagreement
from tacit.mechanisms.noise import bits
from tacit.publish.local.randomizers import numeric as folded_laplace
from tacit.publish.local.randomizers.longitudinal import FreshCoins
from tacit.publish.local.randomizers.numeric import FoldedLaplace, Numeric, OneBit, Piecewise, best_window, by_variance, nearest
from tacit.publish.local.randomizers.randomizer import Ratio

KINDS = (OneBit, Piecewise, FoldedLaplace)
EPSILONS = st.fractions(min_value=Fraction(1, 20), max_value=8).filter(bool)


def moments(numeric, index):
    """Mean and variance of a decoded report, from the channel."""
    chances = [numeric.probability(index, report) for report in range(len(numeric.levels))]
    assert sum(chances) == 1
    mean = sum(p * level for p, level in zip(chances, numeric.levels, strict=True))
    return mean, sum(p * level**2 for p, level in zip(chances, numeric.levels, strict=True)) - mean**2


@settings(max_examples=30)
@given(
    st.sampled_from(KINDS), st.integers(2, 12), EPSILONS, st.integers(-3, 3), st.fractions(min_value=Fraction(1, 7), max_value=9)
)
def test_a_decoded_report_is_unbiased_with_the_stated_variance_at_every_point(kind, points, epsilon, lower, span):
    numeric = kind(lower, lower + span, epsilon, points)
    variances = []
    for index in range(points):
        mean, variance = moments(numeric, index)
        assert mean == numeric.point(index)
        assert variance == numeric.variance_at(index) == numeric.variance(numeric.point(index))
        variances.append(variance)
    assert numeric.worst_variance == max(variances)
    assert numeric.spread == max(numeric.levels) - min(numeric.levels)
    assert numeric.channel.within(epsilon)


def test_a_bound_that_stood_for_itself_would_be_biased():
    """The planted bug: what is folded into a bound decoded as the bound."""
    numeric = FoldedLaplace(0, 4, 1)
    plain = [numeric.probability(0, report) * numeric.point(report) for report in range(5)]
    assert sum(plain) > Fraction(1, 2)


def test_the_one_bit_form_is_that_of_duchi_jordan_and_wainwright():
    e = math.e
    numeric = OneBit(-1, 1, 1, points=201)
    assert [float(level) for level in numeric.levels] == pytest.approx([-(e + 1) / (e - 1), (e + 1) / (e - 1)])
    assert float(numeric.chance(150)) == pytest.approx(0.5 + 0.5 * (e - 1) / (2 * (e + 1)))
    assert float(numeric.worst_variance) == pytest.approx(((e + 1) / (e - 1)) ** 2)


def with_window(window, *parameters):
    """The piecewise form with a window that is not the best."""
    numeric = Piecewise(*parameters)
    vars(numeric)["window"] = window
    return numeric


def test_the_window_that_was_published_has_the_variance_that_was_published():
    """Wang et al. 2019: 1/(h - 1) + (h + 3)/(3 (h - 1)^2) at the bounds with h = e^(epsilon/2). The window here does better."""
    numeric, half = Piecewise(-1, 1, 1, points=4001), math.exp(0.5)
    published = 1 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
    assert float(numeric.worst_variance) < published
    assert float(with_window(round(4000 / half), -1, 1, 1, 4001).worst_variance) == pytest.approx(published, rel=1e-3)


@given(st.integers(2, 30), EPSILONS)
def test_no_other_window_is_better(points, epsilon):
    numeric = Piecewise(0, 1, epsilon, points)
    chosen = numeric.worst_variance
    assert 1 <= numeric.window == best_window(float(numeric.ratio), points) < points
    for window in range(1, points):
        assert chosen <= with_window(window, 0, 1, epsilon, points).worst_variance * (1 + Fraction(1, 10**9))


def test_the_folded_form_is_better_than_plain_noise():
    """The variance of discrete Laplace noise is 2 d / (1 - d)^2 steps squared."""
    numeric = FoldedLaplace(0, 100, 1)
    plain = 2 * numeric.decay / (1 - numeric.decay) ** 2
    assert all(numeric.variance_at(index) < plain for index in range(101))
    assert numeric.variance_at(0) < plain * Fraction(3, 4)


@pytest.mark.parametrize(("epsilon", "name"), [("0.1", "OneBit"), ("1", "OneBit"), ("2", "Piecewise"), ("5", "Piecewise")])
def test_the_choice_is_the_smallest_worst_variance(epsilon, name):
    listed = by_variance(-1, 1, epsilon, points=101)
    assert {type(each) for each in listed} == set(KINDS)
    assert [each.worst_variance for each in listed] == sorted(each.worst_variance for each in listed)
    assert type(Numeric.best(-1, 1, epsilon, points=101)).__name__ == type(listed[0]).__name__ == name


def test_on_two_points_all_three_are_randomized_response():
    channels = [kind(0, 1, 1, 2).channel.rows for kind in KINDS]
    for rows in channels:
        assert [float(p) for row in rows for p in row] == pytest.approx([float(p) for row in channels[0] for p in row], rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0, 3.4, 10])
def test_draws_follow_the_law(kind, value):
    numeric = kind(0, 10, "1.5")
    reports = numeric.randomize(np.full(20_000, value))
    assert disagreement(reports.tolist(), numeric.law(value), CHANCE) is None


def test_a_law_of_another_value_disagrees():
    numeric = FoldedLaplace(0, 10, "1.5")
    assert disagreement(numeric.randomize(np.full(20_000, 3)).tolist(), numeric.law(4), CHANCE) is not None


def test_a_mean_of_decoded_reports_is_near_the_truth():
    values = np.arange(202_000) % 101
    for numeric in by_variance(0, 100, 1):
        decoded = numeric.decode(numeric.randomize(values))
        deviation = math.sqrt(numeric.worst_variance)
        assert abs(decoded.mean() - 50) < normal_limit(deviation, values.size, among=3)


def test_every_move_of_the_table_has_its_weight():
    """The thresholds of the table enclose the cumulative probabilities of the definition."""
    numeric = FoldedLaplace(0, 6, 2)
    decay, points = numeric.decay, numeric.points
    moves = [decay ** abs(k) * (1 if abs(k) == points - 1 else 1 - decay) / (1 + decay) for k in range(1 - points, points)]
    assert sum(moves) == 1
    lows, highs = folded_laplace._moves(decay, points).thresholds(64)
    for at in range(2 * points - 2):
        assert lows[at] <= sum(moves[: at + 1]) * 2**64 < highs[at] + 1


@pytest.mark.parametrize("points", range(2, 11))
@pytest.mark.parametrize("epsilon", ["1e-9", "1", "40"])
def test_derive_of_the_folded_form_has_exactly_its_law(points, epsilon):
    numeric = FoldedLaplace(0, points - 1, epsilon)
    for index in range(points):
        expected = {report: numeric.probability(index, report) for report in range(points)}
        assert law_of(partial(numeric.derive, index)) == expected


def test_digits_of_a_move_that_were_fair_coins_are_seen(monkeypatch):
    """The planted bug: a move uniform over its digits."""
    numeric = FoldedLaplace(0, 4, 1)
    first, *digits, beyond = folded_laplace._chances(numeric.decay, 5)
    monkeypatch.setattr(folded_laplace, "_chances", lambda decay, points: (first, *(Ratio(1, 2) for _ in digits), beyond))
    assert law_of(partial(numeric.derive, 2)) != {report: numeric.probability(2, report) for report in range(5)}


def test_a_permanent_move_on_the_finest_grid_takes_a_few_coins():
    """By walking, as many coins as the grid has points over epsilon: thirty million here."""
    numeric, coins = FoldedLaplace(0, 1, "0.001", points=2**14), Counted()
    assert 0 <= numeric.derive(0.5, coins) < 2**14
    assert coins.tossed == 16


class Counted:
    """Fresh coins, and how many were tossed."""

    tossed = 0

    def coin(self, probability):
        self.tossed += 1
        return FreshCoins().coin(probability)


@pytest.mark.parametrize(
    ("epsilon", "points"),
    [*product(["1e-50", "1e-9", "0.001", "1", "100"], [2, 3, 1001]), ("1e-9", 2**14), ("100", 2**14)],
)
def test_the_decay_gives_nothing_away_at_any_budget(epsilon, points):
    """By logarithms of another kind than those that made it: 200 digits of `decimal`."""
    with localcontext(prec=200):
        numeric = FoldedLaplace(0, 1, epsilon, points)
        used = (1 - points) * (Decimal(numeric.decay.numerator) / numeric.decay.denominator).ln()
        assert Decimal(epsilon) * (1 - Decimal(2) ** -30) <= used <= Decimal(epsilon)
    assert 0 <= numeric.randomize(0.5) < points
    assert Numeric.best(0, 1, epsilon, points).points == points


@pytest.mark.parametrize("kind", KINDS)
def test_the_sampler_asks_for_secure_bits(kind, monkeypatch):
    monkeypatch.setattr(bits, "random_words", lambda count: (_ for _ in ()).throw(RuntimeError("asked")))
    with pytest.raises(RuntimeError, match="asked"):
        kind(0, 10, 1).randomize([5])


# ---- the grid ----


@given(
    st.floats(-100, 100),
    st.integers(-50, 50),
    st.fractions(min_value=Fraction(1, 1000), max_value=10),
    st.integers(2, 500),
)
def test_the_nearest_point_is_found_exactly(value, lower, step, points):
    found = int(nearest([value], Fraction(lower), step, points)[0])
    exactly = math.floor((Fraction(value) - lower) / step + Fraction(1, 2))
    assert found == min(max(exactly, 0), points - 1)


def test_ties_go_up_and_what_is_outside_counts_as_the_bound():
    numeric = OneBit(0, 10, 1)
    assert numeric.index([0.5, 1.5, 2.5, -7, 99, 2**70, Fraction(5, 2)]).tolist() == [1, 2, 3, 0, 10, 10, 3]
    assert numeric.index(4) == 4
    assert numeric.written(3.6) == "4"
    assert nearest(np.array([10**15 + 0.4]), Fraction(10**15), Fraction(1, 2), 5).tolist() == [1]


@pytest.mark.parametrize("bad", [math.nan, [1, math.inf], "3", [None], [[1, 2], [3, 4]], 1j])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(InvalidValue):
        Piecewise(0, 10, 1).randomize(bad)


@pytest.mark.parametrize("bad", [{"upper": 0}, {"upper": -1}, {"points": 1}, {"points": 2**15}, {"points": 2.0}, {"lower": "a"}])
def test_parameters_out_of_range_are_refused(bad):
    with pytest.raises(InvalidInput):
        OneBit(**{"lower": 0, "upper": 10, "epsilon": 1, **bad})


@pytest.mark.parametrize(("lower", "upper"), [(0, "1e-320"), (0, "1e-400"), (-1, "1e300"), ("-1e400", "1e400")])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_that_floats_do_not_hold_are_refused(kind, lower, upper):
    """A step of 1e-323 is 1.2 per cent smaller as a float: the largest value was put at point 1012 of 1000, and showed."""
    with pytest.raises(InvalidInput, match="another unit"):
        kind(lower, upper, 1, points=1001)


@pytest.mark.parametrize(("lower", "upper"), [(0, "1e-190"), ("-1e200", "1e200"), ("1e199", "1e200")])
@pytest.mark.parametrize("kind", KINDS)
def test_the_widest_and_the_narrowest_bounds_work_at_the_smallest_epsilon(kind, lower, upper):
    numeric = kind(lower, upper, "1e-50", points=101)
    values = [numeric.lower, float(numeric.lower), float(numeric.upper), numeric.upper, -math.pi, 1e300]
    assert numeric.index(values[:1] + values[3:4]).tolist() == [0, 100]
    assert numeric.index(values[1:3]).tolist() == [0, 100]
    assert np.isfinite(numeric.decode(numeric.randomize(values))).all()


def test_whole_bounds_give_whole_points():
    assert OneBit(0, 10, 1).points == 11
    assert OneBit(0, 5000, 1).points == 1001
    assert OneBit(0, "0.5", 1).points == 1001
    assert OneBit(0, 10, 1, points=101).spacing == Fraction(1, 10)


def test_reports_that_nobody_makes_are_not_decoded():
    with pytest.raises(InvalidValue):
        OneBit(0, 10, 1).decode([2])
