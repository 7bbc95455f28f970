"""What is sealed is opened; what is not stays as it is."""

import numpy as np

from tacit.mechanisms.unseal import histogram, marginal, opened
from tacit.privacy.sealed import Sealed


def test_opening():
    array = np.array([1, 2])
    assert opened(Sealed(array)) is array
    assert opened(array) is array
    assert opened(None) is None


def test_values_row_by_row_count_one_each():
    rows = np.array([7, 2, 7, 3])
    assert opened(histogram(Sealed((rows, None)), points=[0, 2, 7])).tolist() == [0, 1, 2]


def test_values_that_are_no_points_count_nowhere():
    """Also beyond the last point, where a search ends after all of them."""
    assert opened(histogram(Sealed((np.array([-1, 3, 8, 99]), np.array([1, 2, 4, 8]))), points=[0, 2, 7])).tolist() == [0, 0, 0]


def test_a_marginal_sums_over_the_other_axes():
    joint = Sealed(np.arange(24))
    assert opened(marginal(joint, shape=(2, 3, 4), keep=[0])).tolist() == [66, 210]
    assert opened(marginal(joint, shape=(2, 3, 4), keep=[0, 2])).tolist() == [12, 15, 18, 21, 48, 51, 54, 57]
