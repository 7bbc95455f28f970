"""The lower bound on epsilon: it reaches the true one, it does not pass it, and it finds a false claim."""

from __future__ import annotations

import math

import numpy as np
import pytest

import toys
from chance import CHANCE, most_hits
from tacit.errors import InvalidInput
from tacit.evidence.verify.epsilon import epsilon, epsilon_of_laws, epsilon_of_samplers

GENERATOR = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def _same_draws():
    """Each test has the same draws, whichever tests run before it."""
    GENERATOR.bit_generator.state = np.random.default_rng(11).bit_generator.state


def laplace(middle: float, rate: float, size: int | None = None):
    shape = (lambda count: count) if size is None else (lambda count: (count, size))
    return lambda count: middle + GENERATOR.laplace(0, 1 / rate, shape(count))


@pytest.mark.parametrize(("samples", "least"), [(10_000, 0.80), (100_000, 0.92)])
def test_the_bound_comes_near_the_true_epsilon(samples, least):
    found = epsilon_of_samplers(laplace(0, 1), laplace(1, 1), samples, confidence=0.95)
    assert least < found.bound < 1.1  # above 1 in fewer than 5 % of runs, above 1.1 in none to speak of; the seed is fixed
    assert (found.exact, found.samples, found.confidence) == (False, samples, 0.95)


def test_a_true_claim_is_hardly_ever_refuted():
    """At confidence 0.95 the false alarms are at most 5 %."""
    alarms = sum(epsilon_of_samplers(laplace(0, 1), laplace(1, 1), 4_000, 0.95).refutes(1) for _ in range(60))
    assert alarms <= most_hits(60, 0.05)


def test_epsilon_two_behind_a_claim_of_one_is_found_every_time():
    bounds = [epsilon_of_samplers(laplace(0, 2), laplace(1, 2), 20_000, 1 - CHANCE).bound for _ in range(10)]
    assert min(bounds) > 1.3


def test_both_orders_are_tried():
    def rarely(count):
        return GENERATOR.random(count) < 0.001

    def often(count):
        return GENERATOR.random(count) < 0.1

    found = [epsilon_of_samplers(one, other, 20_000).bound for one, other in ((rarely, often), (often, rarely))]
    assert min(found) > 3  # ln 100 = 4.6 from one side; the other side has ln(0.999/0.9) = 0.1 only


def test_vectors_are_told_apart_by_a_trained_score():
    """Ten coordinates moved by 0.3 each, epsilon 3: any single coordinate shows 0.3."""
    found = epsilon_of_samplers(laplace(0, 1, size=10), laplace(0.3, 1, size=10), 20_000)
    assert 0.8 < found.bound < 3
    assert "score" in found.event or "log-ratio" in found.event


def test_single_outcomes_tell_where_no_threshold_does():
    """Even numbers against odd ones: every threshold has a ratio near 1."""
    found = epsilon_of_samplers(lambda n: 2 * GENERATOR.integers(0, 50, n), lambda n: 2 * GENERATOR.integers(0, 50, n) + 1, 20_000)
    assert found.bound > 5
    assert found.event.startswith("log-ratio of the outcome")


def test_delta_is_taken_off():
    """Total variation 0.1: with delta 0.2 nothing is left to find."""
    one, other = (lambda n: GENERATOR.random(n) < 0.5), (lambda n: GENERATOR.random(n) < 0.4)
    assert epsilon_of_samplers(one, other, 20_000).bound > 0.1
    assert epsilon_of_samplers(one, other, 20_000, delta=0.2).bound == 0


def test_outputs_of_any_kind_are_compared():
    def words(share):
        return lambda n: [("yes", None) if bit else "no" for bit in GENERATOR.random(n) < share]

    found = epsilon_of_samplers(words(0.75), words(0.25), 20_000)
    assert 0.9 < found.bound < math.log(3)


def test_a_listed_mechanism_is_measured_exactly():
    found = epsilon(toys.Toy(), 3, 4)
    assert (found.exact, found.samples) == (True, 0)
    assert found.bound == pytest.approx(1, abs=1e-12)
    assert not found.refutes(1)
    assert epsilon(toys.TooLittleNoise(), 3, 4).refutes(1)
    assert epsilon(toys.Toy(), 3, 4, delta=0.1).bound < 0.9


def test_a_release_without_a_law_is_measured_from_draws():
    class Unlisted(toys.Toy):
        law = None

    found = epsilon(Unlisted(), 3, 4, samples=20_000)
    assert not found.exact
    assert 0.8 < found.bound < 1


def test_an_exact_infinite_epsilon_is_said_to_be_so():
    assert epsilon_of_laws(toys.Impure().law(3), toys.Impure().law(4)).bound == math.inf


@pytest.mark.parametrize(("samples", "confidence"), [(4, 0.9), (100, 1.0), (100, 0.0)])
def test_too_few_draws_and_certainty_are_refused(samples, confidence):
    with pytest.raises(InvalidInput):
        epsilon_of_samplers(laplace(0, 1), laplace(1, 1), samples, confidence)


@pytest.mark.slow
def test_false_alarms_in_full():
    """The nominal rate at confidence 0.95 is at most 5 %."""
    alarms = sum(epsilon_of_samplers(laplace(0, 1), laplace(1, 1), 20_000, 0.95).refutes(1) for _ in range(400))
    assert alarms <= most_hits(400, 0.05)
