"""epsilon-privacy: figures derived again by hand, closed conditions against scans over priors, and what follows in the limits."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import mean_limit, normal_limit
from tacit.errors import InvalidInput
from tacit.publish.tables.adversary.beliefs import (
    Belief,
    ClassI,
    ClassII,
    ClassIII,
    ClassIV,
    Prior,
    belief_before,
    belief_with_known,
    beliefs,
    group_counts,
    judge_table,
    shape_of,
)
from tacit.publish.tables.adversary.numeric import Normal, Pareto, Poisson, private, range_beliefs
from tacit.publish.tables.adversary.report import absent_value, group_report, implied_limits, measure_group
from tacit.publish.tables.table import Table

SHAPE = (Fraction(1, 10), Fraction(9, 20), Fraction(9, 20))
COUNTS = st.lists(st.integers(0, 12), min_size=2, max_size=4).filter(any)
RATIOS = st.fractions(Fraction(21, 20), 6, max_denominator=20)


@st.composite
def shapes(draw, size):
    weights = draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


# --- the figures of the specification ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stubbornness", "without", "ratio"),
    [(10, "9/22", 1.630), (100, "9/56", 4.148), (1000, "27/253", 6.247), (inf, "1/10", 6.667)],
)
def test_eight_green_of_twelve(stubbornness, without, ratio):
    sigma = inf if stubbornness == inf else Fraction(stubbornness)
    green = beliefs([8, 2, 2], Prior(SHAPE, sigma))[0]
    assert green.with_row == Fraction(8, 12)
    assert green.without == Fraction(without)
    assert float(green.ratio) == pytest.approx(ratio, abs=5e-4)


def test_the_reading_of_the_tutorial_by_listing_the_rows():
    """Rows without the value are known; of the others one is the target's, and the rest is what the adversary counts."""
    for counts in ([8, 2, 2], [3, 1, 4], [1, 0, 5], [2, 2, 0]):
        prior = Prior((Fraction(1, 10), Fraction(3, 10), Fraction(6, 10)), Fraction(10))
        for known in range(sum(counts)):
            rows = sorted((value for value, count in enumerate(counts) for _ in range(count)), key=lambda value: value == 0)
            unknown = rows[known:]
            held = belief_before(counts, prior, 0, known)
            assert held.with_row == Fraction(unknown.count(0), len(unknown))
            rest = unknown[:-1] if counts[0] else unknown[1:]
            assert held.without == (rest.count(0) + 1) / (len(rest) + Fraction(10))
    assert belief_before([8, 2, 2], prior, 0, 11).without == Fraction(1, 10), "p*"
    assert belief_before([8, 2, 2], Prior(prior.shape, inf), 0, 4).without == Fraction(1, 10)
    assert belief_before([8, 2, 2], Prior(prior.shape, Fraction(0)), 0, 11).without == Fraction(1, 10)


def test_independent_entries_do_not_learn_from_the_row_left_out():
    report = group_report([7, 2, 2], [0.1], ["inf"])
    assert report.lines[0].belief.without == Fraction(1, 10)
    assert report.data_share == Fraction(7, 11)
    assert "stays at the prior 0.1 where the data says 7/11" in report.summary()


def test_class_two_with_twelve_rows():
    adversary = ClassII(Fraction(10))
    assert adversary.smallest(Fraction(2)) == 10
    assert adversary.largest_share(12, Fraction(2)) == Fraction(6875, 10000)
    assert adversary.judge([8, 2, 2], Fraction(2)).passes
    assert not adversary.judge([5, 4], Fraction(2)).passes  # nine rows are too few
    assert adversary.judge([11, 5], Fraction(2)).passes == (Fraction(11, 16) <= adversary.largest_share(16, Fraction(2)))


def test_the_share_at_the_limit_passes_and_one_row_more_does_not():
    adversary = ClassII(Fraction(12))
    size = 12
    assert adversary.largest_share(size, Fraction(2)) == Fraction(2, 3)
    assert adversary.judge([8, 4], Fraction(2)).passes
    assert not adversary.judge([9, 3], Fraction(2)).passes


# --- the closed conditions, against scans -----------------------------------------------------------------------------------------


def fine(count, size, share, sigma, ratio):
    """Both inequalities as they stand in the definition, for one value."""
    without = share if sigma == inf else (count + share * sigma) / (size + sigma)
    inside = Fraction(count, size)
    return inside <= ratio * without and 1 - without <= ratio * (1 - inside)


@given(COUNTS, st.fractions(Fraction(1, 4), 60, max_denominator=4), RATIOS)
@settings(max_examples=50)
def test_class_two_is_the_worst_over_all_shapes(counts, sigma, ratio):
    size = sum(counts)
    grid = [Fraction(step, 40) for step in range(41)]
    scanned = all(fine(count, size, share, sigma, ratio) for count in counts if count for share in grid)
    assert ClassII(sigma).judge(counts, ratio).passes == scanned


@given(st.data(), COUNTS, RATIOS)
@settings(max_examples=40)
def test_class_three_is_the_worst_over_all_stubbornness(data, counts, ratio):
    shape = data.draw(shapes(len(counts)))
    size = sum(counts)
    judged = ClassIII(shape).judge(counts, ratio).passes
    grid = [Fraction(4) ** power for power in range(-4, 18)]
    scanned = all(fine(n, size, share, sigma, ratio) for n, share in zip(counts, shape, strict=True) for sigma in grid)
    if judged:
        assert scanned
    elif scanned:  # within the last step of the grid: the limit itself decides
        assert not all(fine(n, size, share, inf, ratio) for n, share in zip(counts, shape, strict=True))


@given(COUNTS, RATIOS)
@settings(max_examples=30)
def test_class_four_passes_never_since_a_prior_without_the_value_breaks_any_ratio(counts, ratio):
    assert not ClassIV().judge(counts, ratio).passes
    most = max(range(len(counts)), key=counts.__getitem__)
    assert not fine(counts[most], sum(counts), Fraction(0), 2 * ratio * sum(counts), ratio)


@given(st.data(), COUNTS, st.fractions(0, 50, max_denominator=5), RATIOS)
@settings(max_examples=40)
def test_class_one_in_integers(data, counts, sigma, ratio):
    """The integer form of the specification, value by value."""
    shape = data.draw(shapes(len(counts)))
    n = sum(counts)
    integers = all(
        k * (n + sigma) <= ratio * n * (k + c * sigma) and n * (n - k + sigma - c * sigma) <= ratio * (n + sigma) * (n - k)
        for k, c in zip(counts, shape, strict=True)
    )
    assert ClassI(Prior(shape, sigma)).judge(counts, ratio).passes == integers
    if ClassI(Prior(shape, sigma), symmetric=True).judge(counts, ratio).passes:
        assert integers


def test_a_planted_worst_shape_at_the_wrong_end_is_caught():
    """A condition that takes sigma_s = sigma for the worst, not 0, would accept what the scan rejects."""
    counts, sigma, ratio = [8, 2, 2], Fraction(100), Fraction(2)
    assert all(fine(count, 12, Fraction(1), sigma, ratio) for count in counts)
    assert not ClassII(sigma).judge(counts, ratio).passes


# --- limits -----------------------------------------------------------------------------------------------------------------------


@given(st.data(), COUNTS, RATIOS)
@settings(max_examples=100)
def test_what_follows_for_independent_entries(data, counts, ratio):
    shape = data.draw(shapes(len(counts)))
    if ClassIII(shape).judge(counts, ratio).passes:
        follows, seen = implied_limits(shape, ratio), measure_group(counts, shape)
        assert all(Fraction(n, sum(counts)) <= most for n, most in zip(counts, follows.shares, strict=True))
        assert seen.closeness <= follows.closeness
        assert seen.delta_above <= follows.delta_above + 1e-12


def test_the_lower_side_of_delta_disclosure_does_not_follow():
    passes, seen = absent_value()
    assert passes
    assert seen.delta_below == inf
    assert seen.delta_above <= log(5 / 4) + 1e-12


@given(COUNTS, st.fractions(0, 50, max_denominator=5), st.data())
@settings(max_examples=40)
def test_known_rows_only_make_it_worse_and_all_but_one_end_it(counts, sigma, data):
    shape = data.draw(shapes(len(counts)))
    value = data.draw(st.sampled_from([place for place, count in enumerate(counts) if count]))
    prior, size = Prior(shape, sigma), sum(counts)
    worst = [belief_with_known(counts, prior, value, known).worst for known in range(size)]
    assert worst == sorted(worst)
    last = belief_with_known(counts, prior, value, size - 1)
    assert last.with_row == 1
    assert last.worst == inf or last.without == 1
    if size > 1 and last.without < 1:
        assert not ClassI(prior, known=size - 1).judge(counts, Fraction(10**9)).passes


def test_noise_is_what_withstands_known_rows():
    """With all other rows known, randomized response of ratio 3 keeps every ratio within 3: differential privacy."""
    keep = Fraction(3, 4)
    for prior in (Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)):
        for said_yes in (keep, 1 - keep):
            after = prior * said_yes / (prior * said_yes + (1 - prior) * (1 - said_yes))
            assert Belief(after, prior).worst <= 3


# --- numbers ----------------------------------------------------------------------------------------------------------------------


def test_a_normal_prior_is_updated_as_conjugate_priors_are():
    found = range_beliefs([10.0, 14.0], [11.0], Normal(mean=8, variance=4, stubbornness=2))
    draw = np.random.default_rng(1)
    means = draw.normal((2 * 8 + 24) / 4, (4 / 4) ** 0.5, 400_000)
    predicted = float((draw.normal(means, 2) > 11).mean())
    assert found[1].without == pytest.approx(predicted, abs=mean_limit(400_000))
    assert [each.with_row for each in found] == [0.5, 0.5]


def test_a_poisson_prior_is_updated_as_conjugate_priors_are():
    """The predictive law is negative binomial, summed here term by term."""
    model, values = Poisson(mean=2, stubbornness=3), [1, 4, 1]
    events, weight = 3 * 2 + 6, 6
    below = sum(comb(events + k - 1, k) * (weight / (weight + 1)) ** events * (1 / (weight + 1)) ** k for k in range(4))
    assert model.above(values, 3) == pytest.approx(1 - below, rel=1e-12)
    assert model.above(values, -1) == 1


def test_a_pareto_prior_is_updated_as_conjugate_priors_are():
    """The exponent has a gamma posterior; the tail is its mean of (minimum / point)^exponent."""
    model, values = Pareto(minimum=1, mean_log=1, stubbornness=2), [exp(1.0), exp(3.0)]
    tails = np.exp(-0.5 * np.random.default_rng(2).gamma(4, 1 / 6, 400_000))
    assert model.above(values, exp(0.5)) == pytest.approx(float(tails.mean()), abs=normal_limit(float(tails.std()), 400_000))
    assert model.above(values, 0.5) == 1


def test_stubborn_numbers_end_at_the_prior_and_open_minds_at_the_data():
    stubborn, open_mind = Normal(35, 100, 1e9), Normal(35, 100, 1e-9)
    values, cuts = [30.0] * 6 + [60.0] * 6, [40.0]
    assert range_beliefs(values, cuts, stubborn)[0].without == pytest.approx(0.6914624612740131, rel=1e-6)
    assert range_beliefs(values, cuts, open_mind)[0].without == pytest.approx(0.3154, abs=5e-3)
    assert private(values, cuts, stubborn, 3.0)
    assert not private(values, cuts, stubborn, 1.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Normal(0, 0, 1), "variance"),
        (lambda: Poisson(-1, 1), "mean"),
        (lambda: Poisson(1, 1).above([0.5], 1), "whole numbers"),
        (lambda: Pareto(1, 1, 1).above([0.5], 2), "at least the minimum"),
        (lambda: range_beliefs([], [1], Normal(0, 1, 1)), "at least one value"),
        (lambda: range_beliefs([1], [2, 1], Normal(0, 1, 1)), "increasing"),
        (lambda: Prior((Fraction(1, 2),), Fraction(1)), "add up to 1"),
        (lambda: Prior((Fraction(1),), Fraction(-1)), "stubbornness"),
        (lambda: ClassII(Fraction(-1)), "stubbornness"),
        (lambda: ClassII(Fraction(1)).judge([1, 1], Fraction(1)), "more than 1"),
        (lambda: beliefs([0, 0], Prior(SHAPE[:0] + (Fraction(1, 2),) * 2, inf)), "at least one row"),
        (lambda: beliefs([1], Prior(SHAPE, inf)), "every value"),
        (lambda: shape_of([0.5, 0.6], 3), "add up to 1"),
        (lambda: belief_with_known([2, 2], Prior((Fraction(1, 2),) * 2, inf), 0, 4), "at most 3"),
        (lambda: group_report([], [0.1], ["1"]), "at least one"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


# --- tables -----------------------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from("uvw")), min_size=1, max_size=30), RATIOS)
@settings(max_examples=40)
def test_a_table_is_private_if_all_its_groups_are(rows, ratio):
    table = Table.of({"one": [row[0] for row in rows], "two": [row[1] for row in rows], "ill": [row[2] for row in rows]})
    values = sorted({row[2] for row in rows})
    groups = {key: [sum(row == (*key, value) for row in rows) for value in values] for key in {row[:2] for row in rows}}
    adversary = ClassII(Fraction(3))
    found = judge_table(table, ["one", "two"], "ill", lambda _: adversary, ratio)
    failing = [counts for counts in groups.values() if not adversary.judge(counts, ratio).passes]
    assert (found.groups, found.failing, found.failing_rows) == (len(groups), len(failing), sum(map(sum, failing)))
    assert sorted(map(tuple, group_counts(table, ["one", "two"], "ill").tolist())) == sorted(map(tuple, groups.values()))
    assert found.passes == (not failing)


def test_the_picture_of_both_limits(tmp_path):
    group_report([8, 2, 2], [0.1], ["10", "inf"]).chart(str(tmp_path / "limits.svg"))
    drawn = (tmp_path / "limits.svg").read_text()
    assert "independent entries" in drawn
    assert "limit: 6.667" in drawn
    assert "differential privacy" in drawn
