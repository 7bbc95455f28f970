"""What is sealed is opened; what is not stays as it is."""

import numpy as np

from tacit.mechanisms.unseal import histogram, opened
from tacit.privacy.sealed import Sealed


def test_opening():
    array = np.array([1, 2])
    assert opened(Sealed(array)) is array
    assert opened(array) is array
    assert opened(None) is None


def test_values_row_by_row_count_one_each():
    rows = np.array([7, 2, 7, 3])
    assert opened(histogram(Sealed((rows, None)), points=[0, 2, 7])).tolist() == [0, 1, 2]
