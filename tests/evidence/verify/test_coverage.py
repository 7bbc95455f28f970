"""Coverage of intervals, exactly and from draws."""

from __future__ import annotations

import numpy as np
import pytest

import toys
from tacit.errors import InvalidInput
from tacit.evidence.verify.coverage import coverage, coverage_of_draws, coverage_of_outputs
from tacit.privacy.interval import Interval

GENERATOR = np.random.default_rng(12)


@pytest.fixture(autouse=True)
def _same_draws():
    """Each test has the same draws, whichever tests run before it."""
    GENERATOR.bit_generator.state = np.random.default_rng(12).bit_generator.state


class Unlisted(toys.Toy):
    law = None


def test_a_listed_law_gives_the_exact_coverage():
    law = toys.Toy().law(5)
    wanted = float(sum(weight for k, weight in law.probabilities.items() if abs(k - 5) <= 2))

    class Two(toys.Toy):
        def interval(self, confidence):
            return Interval(2.0, 2.0)

    found = coverage(Two(), 5, confidence=0.9)
    assert (found.exact, found.low) == (True, pytest.approx(wanted))
    assert found.holds == (wanted >= 0.9)


def test_an_interval_is_around_the_output_and_not_around_the_value():
    class OneSided(toys.Toy):
        def interval(self, confidence):
            return Interval(10.0, 0.0)  # covers when the output is not below the value

    law = toys.Toy().law(2)
    above = float(sum(weight for k, weight in law.probabilities.items() if k >= 2))
    assert coverage(OneSided(), 2).low == pytest.approx(above)


def test_narrow_intervals_are_broken_exactly_and_from_draws():
    class Narrow(toys.NarrowInterval):
        law = None

    assert not coverage(toys.NarrowInterval(), 5, confidence=0.9).holds
    found = coverage(Narrow(), 5, confidence=0.9, samples=2_000)
    assert not found.exact
    assert not found.holds
    assert coverage(Unlisted(), 5, confidence=0.99, samples=2_000).holds


def test_a_vector_is_covered_only_where_every_entry_is():
    outputs = GENERATOR.normal(0, 1, (4_000, 3))
    found = coverage_of_outputs(outputs, [0, 0, 0], Interval(1.96, 1.96), confidence=0.95)
    assert found.high < 0.90  # 0.95^3 = 0.857
    assert found.low < 0.857 < found.high


def test_the_bounds_hold_the_true_share():
    found = coverage_of_draws(GENERATOR.random(10_000) < 0.95, confidence=0.95)
    assert found.low < 0.95 < found.high
    assert found.holds
    assert not coverage_of_draws(GENERATOR.random(10_000) < 0.9, confidence=0.95).holds


def test_a_vector_needs_a_simultaneous_interval_and_a_list_needs_an_entry():
    with pytest.raises(InvalidInput, match="simultaneous_interval"):
        coverage(toys.Toy(), [1, 2])
    with pytest.raises(InvalidInput, match="non-empty list"):
        coverage_of_draws([], 0.95)
