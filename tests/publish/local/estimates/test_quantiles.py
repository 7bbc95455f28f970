"""Quantiles of a randomized histogram: exact variances of sums of shares, exact coverage of small surveys, and planted mistakes."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from chance import CHANCE
from enumeration import moments, surveys
from tacit.errors import InvalidInput
from tacit.publish.local.estimates.estimate import Request, Tally, unbiased_share
from tacit.publish.local.estimates.quantiles import distribution, quantiles
from tacit.publish.local.randomizers.categories import KAry
from tacit.publish.local.randomizers.hadamard import HadamardResponse
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.rappor import BloomRappor, Rappor
from tacit.publish.local.randomizers.sets import Sets
from tacit.publish.local.randomizers.unary import Unary

ORACLES = {
    "k-ary": KAry(3, 2),
    "unary": Unary(3, 2),
    "RAPPOR": Rappor(3, 2),
    "hashing": LocalHashing(3, 2, cells=4),
    "Hadamard": HadamardResponse(3, 2),
}
LEVELS = [Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)]


def true_quantile(values, level):
    return next(point for point in range(10) if sum(v <= point for v in values) >= level * len(values))


@pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES)
def test_points_of_the_distribution_are_unbiased(oracle):
    for values in combinations_with_replacement(range(3), 2):
        outcomes = [
            (w, distribution(oracle, Tally(2, counts), Request(bound="hoeffding"))) for w, counts in surveys(oracle, values)
        ]
        for point in range(3):
            mean, _ = moments((weight, Fraction(float(found.values[point]))) for weight, found in outcomes)
            assert float(mean) == pytest.approx(sum(v <= point for v in values) / 2, abs=1e-12)


@pytest.mark.parametrize("bound", ["chebyshev", "hoeffding", "bernstein"])
@pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES)
def test_quantiles_are_enclosed_as_often_as_said(oracle, bound):
    """Exactly, over every report of every population of three."""
    request = Request(confidence=0.5, bound=bound)
    for values in combinations_with_replacement(range(3), 3):
        covered = dict.fromkeys(LEVELS, Fraction(0))
        for weight, counts in surveys(oracle, values):
            for found in quantiles(oracle, Tally(len(values), counts), LEVELS, request=request).quantiles:
                assert found.low <= found.value <= found.high
                covered[found.level] += weight * (found.low <= true_quantile(values, found.level) <= found.high)
        assert min(covered.values()) >= Fraction(1, 2)


def test_a_sample_is_wider():
    for oracle in (KAry(4, 3), Unary(4, 3)):
        tally = Tally(1000, [400, 300, 200, 300])
        own, sampled = (distribution(oracle, tally, Request(bound="chebyshev", sampled=each)) for each in (False, True))
        assert ((sampled.high - sampled.low) >= (own.high - own.low) - 1e-12).all()
        assert (sampled.high - sampled.low).sum() > (own.high - own.low).sum()


def test_many_people_find_the_quartiles():
    """Three intervals miss with the chance of one test."""
    oracle, values = KAry(20, 3), np.arange(60_000) % 20
    request = Request(confidence=1 - CHANCE / 3, bound="bernstein")
    found = quantiles(oracle, oracle.randomize(values), ["1/4", "1/2", "3/4"], points=range(0, 200, 10), request=request)
    for each, truth in zip(found.quantiles, (40, 90, 140), strict=True):
        assert each.low <= truth <= each.high
        assert each.high - each.low <= 40


@pytest.mark.parametrize("oracle", [LocalHashing(200, 4), HadamardResponse(200, 4)], ids=["hashing", "Hadamard"])
def test_many_points_through_hashing(oracle):
    """Three intervals miss with the chance of one test."""
    values, request = np.arange(100_000) % 200, Request(confidence=1 - CHANCE / 3)
    found = quantiles(oracle, oracle.randomize(values), ["1/4", "1/2", "3/4"], request=request)
    for each, truth in zip(found.quantiles, (49, 99, 149), strict=True):
        assert each.low <= truth <= each.high
        assert each.high - each.low <= 120


def test_a_planted_interval_without_doubt_misses():
    """Without intervals, the estimated point alone would miss the median in a good part of all surveys."""
    oracle, values = KAry(3, 1), (0, 1, 2)
    missed = Fraction(0)
    for weight, counts in surveys(oracle, values):
        shares = unbiased_share(counts / 3, float(oracle.hit), float(oracle.false_hit))
        missed += weight * (int(np.searchsorted(np.cumsum(shares), 0.5)) != 1)
    assert missed > Fraction(1, 4)


def test_simultaneous_levels_are_wider_and_the_last_point_is_one():
    oracle, tally = KAry(4, 1), Tally(400, [100, 100, 100, 100])
    each, together = (
        quantiles(oracle, tally, ["0.2", "0.5", "0.8"], request=Request(simultaneous=simultaneous, bound="hoeffding")).quantiles
        for simultaneous in (False, True)
    )
    assert all(a.low >= b.low and a.high <= b.high for a, b in zip(each, together, strict=True))
    whole = distribution(oracle, tally)
    assert (whole.values[-1], whole.low[-1], whole.high[-1]) == (1, 1, 1)


def test_how_it_is_shown(tmp_path):
    found = quantiles(KAry(3, 3), Tally(1000, [400, 300, 300]), [0.5])
    assert found.to_csv(tmp_path / "q.csv") == (tmp_path / "q.csv").read_text()
    assert found.to_csv().startswith("level,value,low,high\n0.5,1")
    found.chart(tmp_path / "q.svg")
    assert (tmp_path / "q.svg").stat().st_size > 1000


def test_what_is_refused():
    oracle, tally = KAry(3, 1), Tally(10, [3, 3, 4])
    with pytest.raises(InvalidInput, match="level"):
        quantiles(oracle, tally, [1])
    with pytest.raises(InvalidInput, match="levels must not be empty"):
        quantiles(oracle, tally, [])
    with pytest.raises(InvalidInput, match="increasing"):
        quantiles(oracle, tally, [0.5], points=[1, 1, 2])
    with pytest.raises(InvalidInput, match="the tally has 2"):
        quantiles(oracle, Tally(10, [3, 3]), [0.5])
    with pytest.raises(InvalidInput, match="too large"):
        quantiles(BloomRappor(64, 3), Tally(10, [1] * 64), [0.5])
    with pytest.raises(InvalidInput, match="not supported for sets"):
        quantiles(Sets(3, 2, 1), Tally(10, [1, 1, 1]), [0.5])
