"""What is sealed is opened; what is not stays as it is."""

import numpy as np

from tacit.mechanisms.unseal import opened
from tacit.privacy.sealed import Sealed


def test_opening():
    array = np.array([1, 2])
    assert opened(Sealed(array)) is array
    assert opened(array) is array
    assert opened(None) is None
