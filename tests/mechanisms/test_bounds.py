"""Proposed bounds: bins that cover their values, and the loss of every proposal by its exact law."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.mechanisms import bounds
from tacit.mechanisms.bounds import BEGINS, BINS, LARGEST, ProposedBounds, bin_of

ENDS = (*BEGINS[1:], LARGEST)


@given(st.fractions(-LARGEST, LARGEST))
def test_every_value_is_covered_by_its_bin(value):
    place = bin_of(value)
    assert BEGINS[place] <= value <= ENDS[place]


def test_the_bins_and_the_chance_are_those_of_the_page():
    powers = [Fraction(2) ** exponent for exponent in range(-6, 32)]
    assert list(bounds.BEGINS) == [-(2**32), *(-each for each in reversed(powers)), 0, *powers]
    assert [bounds.bin_of(each) for each in bounds.BEGINS] == list(range(78))
    assert (2**32, 78, Fraction(1, 1000)) == (bounds.LARGEST, bounds.BINS, bounds.CHANCE)
    assert bounds.ProposedBounds(1, Fraction(1, 10**5)).threshold == math.ceil(10**5 * math.log(78_000))


@pytest.mark.parametrize("rows", [0, 2**53 + 1, 1.5, True])
def test_rows_are_a_whole_number_within_limits(rows):
    with pytest.raises(InvalidInput, match="max_rows"):
        ProposedBounds(rows, 1)
    assert [ProposedBounds(each, 1).max_rows for each in (1, 2**53)] == [1, 2**53]


def test_values_beyond_the_bins_count_in_the_outer_ones():
    assert (bin_of(10**30), bin_of(-(10**30))) == (BINS - 1, 0)


def law(counts, mechanism, scale):
    """The probability of each proposal, by the tail of the discrete Laplace law: exact up to doubles."""
    ratio = math.exp(-1 / scale)

    def reaches(count):
        least = mechanism.threshold - count
        return ratio**least / (1 + ratio) if least > 0 else 1 - ratio ** (1 - least) / (1 + ratio)

    filled = [reaches(count) for count in counts]
    chances = {None: math.prod(1 - each for each in filled)}
    for first, last in product(range(len(counts)), repeat=2):
        if first <= last:
            outside = math.prod(1 - each for place, each in enumerate(filled) if place < first or place > last)
            chances[first, last] = outside * filled[first] * (filled[last] if last > first else 1)
    return chances


def worst_loss(mechanism, rows, scale):
    """The largest log-ratio over tables in four bins near the threshold, and a unit of `rows` rows anywhere in them."""
    at, worst = mechanism.threshold, 0.0
    for counts in product((0, at - rows, at), repeat=4):
        for added in product(range(rows + 1), repeat=4):
            if sum(added) == rows:
                one, other = (law(each, mechanism, scale) for each in (counts, [a + b for a, b in zip(counts, added, strict=True)]))
                worst = max(worst, *(abs(math.log(one[each] / other[each])) for each in one))
    return worst


@pytest.mark.parametrize("rows", [1, 3])
def test_the_loss_of_every_proposal_is_within_epsilon(rows):
    mechanism = ProposedBounds(rows, 1)
    assert 0.8 < worst_loss(mechanism, rows, float(mechanism.noise.sensitivity / mechanism.epsilon)) <= 1 + 1e-9


@pytest.mark.parametrize(("rows", "epsilon"), [(1, 1), (3, Fraction(1, 2))])
def test_the_listed_law_is_that_of_the_tails(rows, epsilon):
    """Every proposal over all bins, against this file's own law; and the whole weighs one."""
    mechanism = ProposedBounds(rows, epsilon)
    counts = [0] * BINS
    counts[3], counts[40], counts[BINS - 1] = mechanism.threshold + 2, mechanism.threshold - 1, mechanism.threshold
    expected = law(counts, mechanism, float(rows / Fraction(epsilon)))
    listed = mechanism.law(counts)
    assert float(sum(listed.probabilities.values())) == pytest.approx(1, abs=1e-12)
    assert listed.missing == 0
    named = {None if each is None else (BEGINS[each[0]], ENDS[each[1]]): chance for each, chance in expected.items()}
    assert named.keys() == listed.probabilities.keys()
    assert all(float(listed.probabilities[each]) == pytest.approx(chance, rel=1e-9) for each, chance in named.items())


def test_a_planted_sensitivity_of_one_row_is_seen():
    assert worst_loss(ProposedBounds(3, 1), 3, 1.0) > 2


def test_the_noise_is_that_of_the_claim():
    mechanism = ProposedBounds(5, Fraction(1, 10))
    assert (mechanism.noise.sensitivity, mechanism.noise.dimension, mechanism.loss.epsilon) == (5, BINS, Fraction(1, 10))
    assert mechanism.event == mechanism.noise.event


def test_nothing_is_found_where_nothing_is(monkeypatch):
    """By the law: an empty table has a proposal with probability at most 1/1000."""
    for rows, epsilon in ((1, 1), (8, Fraction(1, 10)), (1, 20)):
        mechanism = ProposedBounds(rows, epsilon)
        ratio = math.exp(-float(epsilon) / rows)
        assert BINS * ratio**mechanism.threshold / (1 + ratio) <= float(bounds.CHANCE)


def test_the_proposal_spans_all_filled_bins():
    mechanism, noisy = ProposedBounds(1, 1), [0] * BINS
    assert mechanism.proposal(noisy) is None
    noisy[bin_of(100)] = mechanism.threshold
    assert mechanism.proposal(noisy) == (64, 128)
    noisy[bin_of(-3)] = noisy[bin_of(7)] = mechanism.threshold
    assert mechanism.proposal(noisy) == (-4, 128)
