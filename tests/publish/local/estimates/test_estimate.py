"""Estimates of shares and means: exact expectation and variance over every report of tiny populations, and what is refused."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enumeration import moments, surveys
from tacit.errors import InvalidInput, InvalidValue, TacitError
from tacit.publish.local.estimates.estimate import (
    Request,
    Tally,
    Total,
    estimate,
    is_oracle,
    mean,
    mean_scatter,
    numeric,
    share_variance,
    unbiased_share,
)
from tacit.publish.local.estimates.results import Frequencies, Mean
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.hadamard import HadamardResponse
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.numeric import FoldedLaplace, OneBit, Piecewise
from tacit.publish.local.randomizers.rappor import BloomRappor, Rappor
from tacit.publish.local.randomizers.sets import Sets
from tacit.publish.local.randomizers.several_questions import Split
from tacit.publish.local.randomizers.unary import Unary

ORACLES = {
    "binary": (Binary(1), 3),
    "k-ary": (KAry(4, 1), 3),
    "unary": (Unary(3, 1), 2),
    "symmetric unary": (Unary.symmetric(3, "1/2"), 2),
    "hashing": (LocalHashing(3, 1), 2),
    "Hadamard": (HadamardResponse(3, 2), 2),
    "RAPPOR": (Rappor(2, 2), 2),
}


def share_of(values, category):
    return Fraction(sum(value == category for value in values), len(values))


@pytest.mark.parametrize(("oracle", "people"), ORACLES.values(), ids=ORACLES)
def test_shares_are_unbiased_with_the_variance_that_is_said(oracle, people):
    """Exactly, over every report of every population."""
    for values in combinations_with_replacement(range(oracle.size), people):
        outcomes = list(surveys(oracle, values))
        for category in range(oracle.size):
            estimates = [
                (weight, unbiased_share(Fraction(int(counts[category]), people), oracle.hit, oracle.false_hit))
                for weight, counts in outcomes
            ]
            mean, variance = moments(estimates)
            assert mean == share_of(values, category)
            assert variance == share_variance(oracle, mean, people)


def test_shares_of_items_in_sets_are_unbiased():
    oracle = Sets(size=3, most=2, epsilon=1)
    people = [(), (0,), (0, 2)]
    for item, share in enumerate((Fraction(2, 3), Fraction(0), Fraction(1, 3))):
        outcomes = surveys(oracle, people)
        estimates = [(w, unbiased_share(Fraction(int(c[item]), 3), oracle.hit, oracle.false_hit)) for w, c in outcomes]
        assert moments(estimates) == (share, share_variance(oracle, share, 3))


def test_a_planted_swap_of_the_rates_is_caught():
    oracle, values = Binary(1), (0, 0, 1)
    swapped = [
        (weight, unbiased_share(Fraction(int(counts[1]), 3), oracle.false_hit, oracle.hit))
        for weight, counts in surveys(oracle, values)
    ]
    assert moments(swapped)[0] == 1 - Fraction(1, 3)


@pytest.mark.parametrize("kind", [OneBit, Piecewise, FoldedLaplace])
def test_means_are_unbiased_within_the_variance_that_is_used(kind):
    randomizer = kind(-1, 2, 1, points=4)
    for values in product(range(4), repeat=2):
        pairs = product(*(zip(randomizer.channel.row(value), randomizer.levels, strict=True) for value in values))
        mean, variance = moments((a * b, (x + y) / 2) for (a, x), (b, y) in pairs)
        assert mean == sum(randomizer.point(value) for value in values) / 2
        assert variance <= mean_scatter(randomizer, people=2).variance


def left_out(randomizer, values, request, people=10**9):
    """How far the mean of these values lies outside of its interval, where no noise moved the estimate: by rounding alone."""
    on_grid = sum(randomizer.point(randomizer.place(value)) for value in values) / len(values)
    found = mean(randomizer, Total(people, float(on_grid) * people), request)
    truth = sum(map(float, values)) / len(values)
    return max(found.low - truth, truth - found.high)


@settings(max_examples=40)
@given(st.lists(st.fractions(0, 100), min_size=1, max_size=20), st.sampled_from([2, 3, 6, 101]))
def test_the_interval_of_a_mean_holds_what_rounding_moved(values, points):
    """With so many people that the noise has no width to speak of, the half step alone must hold it."""
    assert left_out(OneBit(0, 100, 5, points), values, Request()) <= 1e-9


def test_an_interval_without_the_half_step_is_caught():
    """The planted bug: 7.4 counts as 0 on a grid of 0, 15, ..., 90, and the interval around 0 ended at 3.6."""
    coarse, many, truth = FoldedLaplace(0, 90, 3, points=7), 20_000, 7.4
    assert left_out(coarse, [truth], Request(), many) <= 0
    assert left_out(coarse, [truth], Request(on_grid=True), many) > 3
    seen = estimate(coarse, coarse.randomize([truth] * many))
    assert seen.low <= truth <= seen.high  # 18 standard deviations of the estimate: never by bad luck
    assert not (lambda bare: bare.low <= truth <= bare.high)(estimate(coarse, coarse.randomize([truth] * many), on_grid=True))
    assert "with ± 7.5 for rounding" in str(seen)
    assert seen.margin == pytest.approx(estimate(coarse, Total(many, 0.0), on_grid=True).margin + 7.5)


def test_the_variance_of_a_sample_covers_random_people():
    """A population of half lowest, half highest: the variance over the draw of people is within the one that is used."""
    randomizer = OneBit(0, 1, 1, points=2)
    rows = [randomizer.channel.row(value) for value in (0, 1)]
    law = [((one + other) / 2, level) for one, other, level in zip(*rows, randomizer.levels, strict=True)]
    mean, variance = moments(law)
    assert mean == Fraction(1, 2)
    assert mean_scatter(randomizer, 1).variance <= variance <= mean_scatter(randomizer, 1, sampled=True).variance


def test_tallies_and_totals_of_batches_add_up():
    oracle, values = Unary(20, 1), np.arange(200) % 20
    reports = oracle.randomize(values)
    whole, parts = Tally.of(oracle, reports), Tally.of(oracle, reports[:50]) + Tally.of(oracle, reports[50:])
    assert (whole.people, whole.supports.tolist()) == (parts.people, parts.supports.tolist())
    assert estimate(oracle, whole).values.tolist() == estimate(oracle, reports).values.tolist()
    number = OneBit(0, 10, 1)
    bits = number.randomize(np.arange(11))
    together = Total.of(number, bits[:4]) + Total.of(number, bits[4:])
    assert estimate(number, together).value == pytest.approx(estimate(number, bits).value)


def test_what_comes_back():
    shares = estimate(KAry(3, 1), [0, 1, 1, 2], confidence=0.9, bound="hoeffding", simultaneous=True, sampled=True)
    assert isinstance(shares, Frequencies)
    assert str(shares.terms) == "90 % all together, hoeffding, of the population sampled"
    one = estimate(KAry(3, 1), [0, 1, 1, 2], confidence=0.9, bound="hoeffding")
    assert one.margin < shares.margin
    mean = estimate(OneBit(0, 10, 1), [0, 1, 1], bound="chebyshev")
    assert isinstance(mean, Mean)
    assert 0 <= mean.low <= mean.high <= 10


def test_simultaneous_is_bonferroni():
    together = estimate(KAry(4, 1), [0, 1, 2, 3], confidence=0.8, simultaneous=True, bound="hoeffding")
    alone = estimate(KAry(4, 1), [0, 1, 2, 3], confidence=0.95, bound="hoeffding")
    assert together.margin == alone.margin


def test_without_a_bound_the_tightest_guarantee_is_taken():
    shares = estimate(Binary(1), Tally(1000, [600, 400]))
    assert shares.terms.bound == "bernstein"
    assert estimate(OneBit(0, 1, 1), np.ones(1000, dtype=int)).terms.bound in ("hoeffding", "bernstein")
    assert estimate(Binary(1), Tally(1000, [600, 400]), confidence=0.1).terms.bound == "chebyshev"


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="neither"):
        estimate(Split((Binary(1), Binary(1))), [0])
    with pytest.raises(InvalidInput, match="categories"):
        estimate(KAry(3, 1), Tally(5, [1, 2]))
    with pytest.raises(InvalidInput, match="whole number"):
        Tally(5, [6, 0])
    with pytest.raises(InvalidInput, match="whole number"):
        Tally(5, [0.5, 0])
    with pytest.raises(InvalidInput, match="cannot be added"):
        Tally(5, [1, 2]) + Tally(5, [1, 2, 3])
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        share_variance(Binary(1), 2, 10)
    with pytest.raises(InvalidInput, match="at least 1"):
        estimate(KAry(3, 1), [])
    with pytest.raises(InvalidInput, match="confidence"):
        estimate(KAry(3, 1), [1], confidence=95)
    with pytest.raises(InvalidInput, match="one of"):
        estimate(OneBit(0, 1, 1), [1], bound="chernoff")


def test_a_kind_is_told_without_building_the_channel():
    """The channel of a million categories cannot be listed; the estimate does not need it."""
    large = KAry(10**6, 1)
    assert is_oracle(large)
    assert numeric(OneBit(0, 1, 1)) is not None
    assert len(estimate(large, Tally.of(large, [5, 5, 7]), bound="hoeffding")) == 10**6
    assert Request().terms("normal").bound == "normal"


@pytest.mark.parametrize("kind", [KAry(100, 1), Unary(100, 1), Rappor(100, 1), BloomRappor(100, 1), OneBit(0, 1, 1)], ids=repr)
def test_a_single_report_is_not_taken_for_several_people(kind):
    """The thirteen bytes of one unary report would count as thirteen people."""
    report = kind.randomize(1)
    with pytest.raises(TacitError, match="into a list"):
        estimate(kind, report)
    assert estimate(kind, [report]).people == 1


@pytest.mark.parametrize("kind", [KAry(3, 1), Unary(20, 1), BloomRappor(10, 1, bits=4)], ids=repr)
def test_reports_of_different_lengths_are_refused(kind):
    with pytest.raises(InvalidValue, match="equal length"):
        estimate(kind, [[1], [1, 2]])


@pytest.mark.parametrize("epsilon", ["1e-45", "1e-17", "1e-9", 37, 40, 100])
def test_budgets_of_any_size_have_estimates(epsilon):
    """p - q is below what floats of p and q tell apart, or 1 - p is: the estimate is the exact one all the same."""
    oracle = KAry(3, epsilon)
    found = estimate(oracle, Tally(10, [3, 7, 0]))
    exactly = [float(unbiased_share(Fraction(count, 10), oracle.hit, oracle.false_hit)) for count in (3, 7, 0)]
    assert found.values == pytest.approx(exactly, rel=1e-9, abs=1e-12)
    assert ((found.low <= np.array([0.3, 0.7, 0])) & (found.high >= np.array([0.3, 0.7, 0]))).all()
    assert np.isfinite(found.margin)


def test_an_estimate_that_cannot_be_keeps_its_doubt():
    """Few supports by chance, or numbers that decode far below the bounds: the interval is that of the nearest possible value."""
    shares = estimate(KAry(5, 2), Tally(1000, [900, 100, 100, 100, 2]))
    assert shares.values[4] < 0
    assert shares.low[4] == 0
    assert shares.high[4] > 0.01
    randomizer = OneBit(0, 10, 1)
    none = estimate(randomizer, Total(1000, -20_000.0))
    assert (none.low, none.high) == (0, pytest.approx(none.margin))
    with pytest.raises(InvalidInput, match="finite"):
        Total(3, float("nan"))
