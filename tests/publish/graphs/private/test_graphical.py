"""The nearest graphical sequence, against all sequences that some graph has."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from tacit.publish.graphs.degree_sequence import is_graphical
from tacit.publish.graphs.private.graphical import nearest_graphical


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5])
def test_no_graph_has_degrees_that_are_nearer(nodes):
    real = np.array([degrees for degrees in product(range(nodes), repeat=nodes) if is_graphical(degrees)])
    for given in combinations_with_replacement(range(-1, nodes + 1), nodes):
        found = nearest_graphical(given)
        assert is_graphical(found)
        assert np.abs(found - given).sum() == np.abs(real - np.array(given)).sum(axis=1).min()


@pytest.mark.parametrize("seed", range(20))
def test_larger_sequences_become_graphical_and_graphical_ones_stay(seed):
    random = np.random.default_rng(seed)
    given = np.minimum((random.pareto(0.8, 200)).astype(np.int64), 199)
    found = nearest_graphical(given)
    assert is_graphical(found)
    assert nearest_graphical(found).tolist() == found.tolist()
    order = random.permutation(200)
    assert nearest_graphical(given[order]).sum() == found.sum()
