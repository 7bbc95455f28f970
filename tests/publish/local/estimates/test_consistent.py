"""Shares made possible: the nearest point of the simplex, never farther from the truth; intervals that narrow each other."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.local.estimates.consistent import narrow_intervals, onto_simplex

vectors = st.lists(st.floats(-3, 3), min_size=1, max_size=8).map(np.array)


def by_brute_force(values):
    """The nearest point by trying every set of places that stay positive."""
    best, nearest = np.inf, None
    for count in range(1, len(values) + 1):
        for kept in combinations(range(len(values)), count):
            point = np.zeros(len(values))
            point[list(kept)] = values[list(kept)] + (1 - values[list(kept)].sum()) / count
            distance = ((point - values) ** 2).sum()
            if (point >= -1e-12).all() and distance < best:
                best, nearest = distance, point
    return nearest


@given(vectors)
def test_it_is_the_nearest_point(values):
    found = onto_simplex(values)
    assert found == pytest.approx(by_brute_force(values), abs=1e-9)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-12)


@given(st.data(), st.integers(1, 8))
def test_it_is_never_farther_from_the_truth(data, size):
    """The projection onto a convex set that holds the truth; a planted clip and rescale is not so, below."""
    estimates = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=size, max_size=size)))
    weights = np.array(data.draw(st.lists(st.integers(0, 10), min_size=size, max_size=size).filter(any)))
    truth = weights / weights.sum()
    assert np.linalg.norm(onto_simplex(estimates) - truth) <= np.linalg.norm(estimates - truth) + 1e-9


def test_the_planted_rescaling_is_farther():
    """To clip at zero and divide by the sum is no projection: it ends up farther from the truth."""
    estimates, truth = np.array([0.2, 0.1, 0.0]), np.array([0.4, 0.3, 0.3])
    rescaled = estimates / estimates.sum()
    assert np.linalg.norm(onto_simplex(estimates) - truth) < 1e-1 < np.linalg.norm(rescaled - truth)


def test_shares_stay_as_they_are_and_large_numbers_do_not_break_it():
    assert onto_simplex([0.25, 0.25, 0.5]) == pytest.approx([0.25, 0.25, 0.5])
    assert onto_simplex([1e17, 0.0]) == pytest.approx([1, 0])
    assert onto_simplex([3.0, 1.0], total=2.0) == pytest.approx([2, 0])


@given(st.data(), st.integers(2, 6))
def test_narrowed_intervals_hold_where_the_given_ones_do(data, size):
    weights = np.array(data.draw(st.lists(st.integers(0, 10), min_size=size, max_size=size).filter(any)))
    truth = weights / weights.sum()
    below = np.array(data.draw(st.lists(st.floats(0, 0.5), min_size=size, max_size=size)))
    above = np.array(data.draw(st.lists(st.floats(0, 0.5), min_size=size, max_size=size)))
    low, high = narrow_intervals(truth - below, truth + above)
    assert (low <= truth + 1e-12).all()
    assert (high >= truth - 1e-12).all()
    assert (low >= truth - below - 1e-9).all()
    assert (high <= truth + above + 1e-9).all()


def test_intervals_that_no_shares_fit_stay():
    low, high = narrow_intervals([0.0, 0.0], [0.1, 0.1])
    assert (low.tolist(), high.tolist()) == ([0.0, 0.0], [0.1, 0.1])


@pytest.mark.parametrize("bad", [[], [[0.1]], [np.nan], [np.inf]])
def test_what_is_refused(bad):
    with pytest.raises(InvalidInput, match="finite"):
        onto_simplex(bad)


def test_a_total_and_ends_are_checked():
    with pytest.raises(InvalidInput, match="total"):
        onto_simplex([1.0], total=0)
    with pytest.raises(InvalidInput, match="low and a high"):
        narrow_intervals([0.1], [0.1, 0.2])
