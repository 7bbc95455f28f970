"""The clock as an attacker: what it must see, and what it must not."""

import gc
import time

import numpy as np
import pytest

from chance import CHANCE, normal_limit
from tacit.errors import InvalidInput
from tacit.evidence.verify import clock
from tacit.evidence.verify.clock import Timed, epsilon_with_clock, epsilon_without_clock, timed, unevenness


def answering(pause):
    """A coin, and microseconds of work that follow from it."""
    generator = np.random.default_rng()

    def answer():
        coin = int(generator.random() < 0.5)
        until = time.thread_time_ns() + 1000 * pause(coin)
        while time.thread_time_ns() < until:
            pass
        return coin

    return answer


def test_a_time_that_follows_the_output_is_seen():
    assert unevenness(*timed([answering(lambda coin: 20 + 20 * coin)], 2000)) > 3 * normal_limit(0.017)


def test_a_time_that_follows_the_sampler_is_seen():
    samples = timed([answering(lambda _: 20), answering(lambda _: 40)], 2000)
    assert unevenness(*samples) > 3 * normal_limit(0.017, among=4)
    assert epsilon_with_clock(*samples).refutes(2)
    assert not epsilon_without_clock(*samples).refutes(0.2)  # nine deviations of two coins of 1,000 throws: below 1e-15


def test_a_time_that_says_nothing_is_even():
    """Four comparisons, each with a deviation of at most 0.017."""
    samples = timed([answering(lambda _: 20), answering(lambda _: 20)], 2000)
    assert unevenness(*samples) <= normal_limit(0.017, among=4)
    assert not epsilon_with_clock(*samples, 1 - CHANCE).refutes(0)


def test_a_machine_that_slows_down_makes_no_difference(monkeypatch):
    """Planted load: every turn is slower than the one before, or by bursts of ten times; the comparison is as sharp as before."""
    spent = np.random.default_rng(5).normal(100, 1, 4000)
    sides = np.random.default_rng(6).permutation(np.repeat([0, 1], 2000))
    slower = (spent + 5 * sides) * np.linspace(1, 3, 4000) * np.where(np.arange(4000) // 500 % 2, 10, 1)
    even, uneven = (times / clock._pace(times) for times in (spent * (slower / (spent + 5 * sides)), slower))
    labels = ["a"] * 2000
    assert unevenness(Timed(labels, even[sides == 0]), Timed(labels, even[sides == 1])) < 0.05
    assert unevenness(Timed(labels, uneven[sides == 0]), Timed(labels, uneven[sides == 1])) > 0.4
    assert unevenness(Timed(labels, slower[sides == 0]), Timed(labels, slower[sides == 1])) < 0.1  # without the pace it is lost


def test_ranks_are_those_of_mann_and_whitney():
    stats = pytest.importorskip("scipy.stats")
    one, other = np.random.default_rng(1).integers(0, 50, (2, 700))
    expected = stats.mannwhitneyu(other, one).statistic / 700**2
    assert clock._earlier(one, other) == pytest.approx(expected)


def test_collection_is_put_off_and_taken_up_again():
    seen = []
    timed([lambda: seen.append(gc.isenabled())], 5)
    assert seen[-5:] == [False] * 5
    assert gc.isenabled()


def test_too_few_times_are_refused():
    with pytest.raises(InvalidInput, match="raise count"):
        unevenness(*timed([lambda: 1, lambda: 2], 700))
