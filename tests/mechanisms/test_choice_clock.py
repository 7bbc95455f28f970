"""The clock tells nothing of a choice: neither which candidate was drawn, nor the data behind a candidate.

Releases for two data sets are timed in turns, in a random order, and times are compared by rank. Whatever else the machine does
falls on both alike: it blurs a difference and cannot make one. A row or key more to read has an unevenness of up to 0.07, and
what is measured of a thousand times for each has a standard deviation of 0.013 (mostly 0.009); a choice that is quick for its best
candidate has 0.3 and more, also on a machine that is busy.

One row where there was none is the largest difference: 0.4 microseconds of a hundred, an unevenness of up to 0.18 on a machine that
does nothing else. That is the time of reading, which a server hides by the time at which a reply leaves; which candidate was drawn
must be as hidden there as elsewhere.
"""

import math
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest

from chance import CHANCE, normal_limit
from tacit.evidence.verify.clock import epsilon_with_clock, timed, unevenness
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.farthest import Farthest
from tacit.mechanisms.noise import envelope
from tacit.mechanisms.noise.choice import choose
from tacit.mechanisms.noise.envelope import Envelope
from tacit.mechanisms.noisy_max import NoisyMax
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.quantile.rank_blocks import Blocks
from tacit.mechanisms.selection import KeyThreshold

LIMIT, CONFIDENCE = 0.07 + normal_limit(0.013), 1 - CHANCE
FIRST_ROW = 0.18 + normal_limit(0.013)
OF_NOBODY = ("a median of nobody", "a long share")
EPSILON = Fraction(1, 2)
LONG = "0.5" + 29 * "0" + "1"  # a share whose ranks are longer than words


def rows(*values):
    return np.unique(np.array(values, dtype=np.int64), return_counts=True)


def flat(*values):
    return np.array(values, dtype=np.int64)


def enclosed(of_many):
    """A median with its interval, given that there are many rows or few: a choice that is paid for, as the clock tells it."""
    mechanism = QuantileWithInterval(0.5, 0, 1, 1, 2 * EPSILON, 0.5)
    both, (value, ends) = mechanism.of_many, mechanism.of_few

    def release(pair):
        blocks = Blocks.of(mechanism.grid.rows_of_units(pair), 2)
        if of_many:
            return mechanism._between(both.draw_from(blocks)).value
        return mechanism._around(value.draw_from(blocks), ends.draw_from(blocks)).value

    return release


CHOICES = {
    "two candidates": (Exponential(1, EPSILON).release, flat(10, 10), flat(10, 11)),
    "two lists": (Exponential(1, EPSILON).release, [10, 10], [10, 11]),
    "floats": (Exponential(1, EPSILON).release, np.array([10.0, 10.0]), np.array([10.0, 10.75])),
    "a median": (Quantile(0.5, 0, 1, 1, EPSILON).release_units, rows(0, 1, 1), rows(0, 0, 1, 1)),
    "a median of nobody": (Quantile(0.5, 0, 1, 1, EPSILON).release_units, rows(), rows(1)),
    "a long share": (Quantile(LONG, 0, 1, 1, EPSILON).release_units, rows(), rows(0)),
    "a minimum": (Quantile(0, 0, 1, 1, EPSILON).release_units, rows(1), rows(0, 1)),
    "both ends": (enclosed(of_many=True), rows(0, 1, 1), rows(0, 0, 1, 1)),
    "a value and both ends": (enclosed(of_many=False), rows(0, 1, 1), rows(0, 0, 1, 1)),
    "a hidden key": (KeyThreshold(EPSILON, 1e-4, max_groups=1).release, ("ab", flat(1, 1)), ("abc", flat(1, 1, 1))),
    "the noisy maximum": (NoisyMax(1, EPSILON, step=1).release, flat(10, 10), flat(10, 11)),
    "the farthest": (Farthest(((2, 1), (1, 6)), 1, EPSILON).release, ((8, 0), (5, 3)), ((9, 0), (5, 4))),
}


def measured(name, count):
    release, one, other = CHOICES[name]
    return timed([lambda: release(one), lambda: release(other)], count)


def is_even(name, samples):
    if name in OF_NOBODY:
        return unevenness(*samples) <= FIRST_ROW and all(unevenness(each) <= LIMIT for each in samples)
    return unevenness(*samples) <= LIMIT and not epsilon_with_clock(*samples, CONFIDENCE).refutes(EPSILON)


@pytest.mark.parametrize("name", CHOICES)
def test_time_says_nothing_of_a_choice(name):
    assert is_even(name, measured(name, 2000 if name != "a value and both ends" else 1500))


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOICES)
def test_time_says_nothing_of_many_choices(name):
    assert is_even(name, measured(name, 20_000))


def test_a_choice_that_is_slow_for_one_candidate_is_seen_where_there_is_nobody():
    """Planted: the larger of the two candidates takes a little longer."""
    release, none, one = CHOICES["a median of nobody"]

    def slower(pair):
        return release(pair) and math.fsum(range(2000)) > 0

    assert not is_even("a median of nobody", timed([lambda: slower(none), lambda: slower(one)], 2000))


@pytest.mark.parametrize("name", ["two candidates", "floats", "a median", "the farthest"])
def test_an_exact_weight_for_every_proposal_is_seen(monkeypatch, name):
    """Planted: the true weight is computed for what is proposed, which takes less time where the exponent is 0."""
    monkeypatch.setattr(Envelope, "keeps", Envelope.decides)
    samples = measured(name, 2000)
    assert unevenness(*samples) > 2 * LIMIT
    again = (measured(name, 2000) for _ in range(3))  # other work on the machine lowers the bound, and cannot raise it
    assert any(epsilon_with_clock(*each, CONFIDENCE).refutes(2 * EPSILON) for each in chain([samples], again))


@pytest.mark.slow
def test_an_exact_weight_for_one_of_three_proposals_is_seen(monkeypatch):
    """Planted: the same behind an interval, whose two other draws blur it."""
    monkeypatch.setattr(Envelope, "keeps", Envelope.decides)
    assert unevenness(*measured("a value and both ends", 6000)) > LIMIT


def spread(costs):
    """Draws among three candidates, and a thousand that are never drawn."""
    all_costs = np.concatenate([flat(0, 0, 0), np.full(1000, costs)])
    return lambda: choose(np.ones(1003, dtype=np.int64), all_costs)[0]


def test_time_says_nothing_of_the_spread():
    assert unevenness(*timed([spread(50), spread(720), spread(10**6)], 2500)) <= LIMIT


def test_candidates_that_are_passed_over_are_seen(monkeypatch):
    """Planted: those that are as good as impossible are left out of the computation."""

    def near_ones(exponents, decays, halvings):
        decays[:], halvings[:] = 0, 0
        near = exponents < 700
        decays[near] = [math.exp(-exponent) for exponent in exponents[near]]

    monkeypatch.setattr(envelope, "negative_exponentials", near_ones)
    assert unevenness(*timed([spread(50), spread(720), spread(10**6)], 2500)) > 2 * LIMIT


@pytest.mark.slow
def test_time_says_nothing_of_an_index_among_many():
    """100,000 candidates, all alike: the first half of them against the second, so that no cache is warm for one of them."""
    lengths, costs = np.ones(100_000, dtype=np.int64), np.zeros(100_000, dtype=np.int64)
    assert unevenness(*timed([lambda: int(choose(lengths, costs)[0]) // 50_000], 1500)) <= LIMIT


def test_a_time_that_follows_the_index_is_seen():
    """Planted: candidates are looked at one after the other until one is hit."""

    def walked():
        target, index = int(choose(flat(1, 1, 1, 1), flat(0, 0, 0, 0))[0]), 0
        while index < target:
            math.fsum(range(2000))
            index += 1
        return index

    assert unevenness(*timed([walked], 3000)) > 2 * LIMIT
