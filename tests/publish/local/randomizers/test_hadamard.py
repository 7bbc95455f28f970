"""Hadamard response: rows agree in half of the columns, the transform against the matrix, many draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hadamard

from chance import plausible_hits
from tacit.publish.local.randomizers.hadamard import HadamardResponse, transform


@given(st.integers(0, 6), st.data())
def test_the_transform_is_the_product_with_the_matrix(power, data):
    counts = np.array(data.draw(st.lists(st.integers(0, 1000), min_size=2**power, max_size=2**power)))
    assert (transform(counts) == hadamard(2**power) @ counts).all()


@pytest.mark.parametrize("size", [2, 3, 7, 8, 30])
def test_the_support_of_a_category_is_half_of_the_columns_and_a_quarter_of_two(size):
    response = HadamardResponse(size, 1)
    held = np.array([response.supports([column]) for column in range(response.columns)])
    assert response.columns > size
    assert (held.sum(axis=0) == response.columns // 2).all()
    together = held.T @ held
    assert (together[~np.eye(size, dtype=bool)] == response.columns // 4).all()
    assert (held == (hadamard(response.columns)[:, 1 : size + 1] == 1)).all()


def test_the_row_of_all_ones_would_say_nothing():
    """The planted bug: category 0 on row 0, which every column supports."""
    assert (hadamard(8)[0] == 1).all()
    assert HadamardResponse(7, 1).supports(np.arange(8))[0] == 4


def test_twenty_categories_are_supported_as_often_as_they_should():
    response, people = HadamardResponse(20, 1), 100_000
    counts = response.supports(response.randomize(np.full(people, 3)))
    expected = np.full(20, 0.5)
    expected[3] = float(response.hit)
    assert plausible_hits(counts, people, expected)
