"""Finite fields: the axioms, on all elements."""

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.publish.local.randomizers.hashing import ORDERS, field_of


@pytest.mark.parametrize("order", [order for order in ORDERS if order <= 32] + [64, 127, 128, 251, 256])
def test_the_tables_are_a_field(order):
    """Groups with the right neutral elements, products without divisors of zero, and the distributive law."""
    field = field_of(order)
    everything = np.arange(order)
    for table, elements, neutral in ((field.sums, everything, 0), (field.products, everything[1:], 1)):
        part = table[np.ix_(elements, elements)]
        assert (part == part.T).all()
        assert (table[neutral, elements] == elements).all()
        assert all(sorted(line) == elements.tolist() for line in part.tolist())  # every element once in every row: inverses
    assert (field.products[0] == 0).all()
    a, b, c = np.ix_(everything[:16], everything, everything)
    assert (field.products[a, field.sums[b, c]] == field.sums[field.products[a, b], field.products[a, c]]).all()
    assert (field.sums[a, field.sums[b, c]] == field.sums[field.sums[a, b], c]).all()


def test_a_reducible_polynomial_gives_no_field(monkeypatch):
    """The planted bug: x^2 + 1 = (x + 1)^2 for four elements."""
    from tacit.publish.local.randomizers import hashing

    monkeypatch.setitem(hashing.IRREDUCIBLE, 2, 0b101)
    planted = field_of.__wrapped__(4)
    assert planted.products[3, 3] == 0


def test_there_is_no_field_of_six():
    assert 6 not in ORDERS
    assert 9 not in ORDERS  # there is one, and it is not needed
    with pytest.raises(InvalidInput, match="prime or a power of two"):
        field_of(6)
