"""Sums of estimated shares: their variance against the channel, the pairs that one value ties, and planted mistakes."""

from itertools import permutations

import numpy as np
import pytest

from enumeration import moments
from tacit.publish.local.estimates.quantiles import scatters, terms_of, tied_pairs
from tacit.publish.local.randomizers.hadamard import HadamardResponse
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.rappor import BloomRappor, Rappor
from tacit.publish.local.randomizers.unary import Unary

ORACLES = [
    Unary(3, 1),
    Rappor(3, 2),
    BloomRappor(3, 2, bits=2),
    HadamardResponse(5, 1),
    HadamardResponse(40, 3),
    LocalHashing(5, 1),
    LocalHashing(20, 2, cells=2),
    LocalHashing(20, 2, cells=3),
    LocalHashing(36, 1, cells=4),
    LocalHashing(25, 3, cells=5),
]


def sides(size):
    return [slice(0, count) if count <= size // 2 else slice(count, size) for count in range(1, size)]


def supported_by(oracle):
    return np.array([oracle.supports([report]) for report in oracle.channel.outputs])


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda each: f"{type(each).__name__}-{each.size}")
def test_the_variance_of_a_sum_of_shares_is_exact(oracle):
    """By the channel, for one person of the worst value, on the side with fewer categories; so are the ranges within theirs."""
    supported, slope = supported_by(oracle), oracle.hit - oracle.false_hit
    for side, said in list(zip(sides(oracle.size), scatters(oracle, 1, sampled=False), strict=True))[:: max(1, oracle.size // 6)]:
        hits = supported[:, side].sum(axis=1).tolist()
        laws = [moments(zip(row, hits, strict=True)) for row in oracle.channel.rows]
        worst = max(variance for _, variance in laws) / slope**2
        assert float(said.variance) == pytest.approx(float(worst), rel=1e-8)
        assert said.variance >= worst
        if not isinstance(oracle, Unary | Rappor):  # whose bits are terms of their own
            assert said.squares >= (max(hits) - min(hits)) ** 2 / slope**2
            assert said.farthest >= max(abs(hit - mean) for hit in (min(hits), max(hits)) for mean, _ in laws) / slope


@pytest.mark.parametrize(
    "oracle", [LocalHashing(11, 1, cells=3), LocalHashing(14, 1, cells=4), HadamardResponse(12, 1)], ids=lambda each: str(each.size)
)
def test_tied_pairs_are_those_of_the_covariances(oracle):
    """Two categories are tied by a true value where the channel says that their supports go together, and only there."""
    supported, ties = supported_by(oracle), {}
    covariance = (oracle.hit - oracle.false_hit) * oracle.false_hit
    for value, row in enumerate(oracle.channel.rows):
        chances = np.array(row)
        means = chances @ supported
        for one, other in permutations(range(oracle.size), 2):
            found = chances @ (supported[:, one] * supported[:, other]) - means[one] * means[other]
            assert found in (0, covariance)
            ties[value, one, other] = found != 0
    inside, outside = tied_pairs(oracle)
    for at, side in enumerate(sides(oracle.size)):
        members = range(oracle.size)[side]
        pairs = [sum(ties[value, *pair] for pair in permutations(members, 2)) for value in range(oracle.size)]
        assert inside[at] == max(pairs[value] for value in members)
        assert outside[at] == max(pairs[value] for value in range(oracle.size) if value not in members)


def test_without_the_ties_the_variance_is_too_small():
    """Planted: shares taken as uncorrelated, as those of unary encoding are."""
    oracle = LocalHashing(64, 1, cells=4)
    hit, false_hit = oracle.hit, oracle.false_hit
    alone = (31 * false_hit * (1 - false_hit) + hit * (1 - hit)) / (hit - false_hit) ** 2
    assert scatters(oracle, 1, sampled=False)[31].variance > 1.25 * alone


def test_the_sum_of_parts_would_be_too_wide_and_one_part_too_narrow():
    """The planted variance of one share alone misses the variance of the sum by a factor of the number of categories."""
    variances = [variance for variance, _, _ in terms_of(Unary(40, 1))]
    assert variances[19] > 15 * variances[0]
