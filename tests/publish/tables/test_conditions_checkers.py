"""The conditions that anonymizers search by, and the checkers, which share no code, decide alike: on random counts and on ties."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.publish.tables import conditions
from tacit.publish.tables.models.closeness import Closeness, DeltaDisclosure
from tacit.publish.tables.models.counts import counts_of
from tacit.publish.tables.models.diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity, RecursiveDiversity
from tacit.publish.tables.models.k_anonymity import AlphaK

ROWS = st.lists(st.integers(0, 12), min_size=4, max_size=4).filter(any)
TABLES = st.lists(ROWS, min_size=1, max_size=6)
LIMITS = st.fractions(min_value=0, max_value=1, max_denominator=12)


def pairs(limit: Fraction, whole: int):
    """A condition of the anonymizers, and the model it stands for."""
    more = 1 + 3 * limit
    yield conditions.DistinctDiversity("s", whole), DistinctDiversity(whole)
    yield conditions.EntropyDiversity("s", more), EntropyDiversity(more)
    yield conditions.Share("s", 1 / more), FrequencyDiversity(more)
    yield conditions.Share("s", limit), AlphaK(limit, 1)
    yield conditions.RecursiveDiversity("s", more, whole), RecursiveDiversity(more, whole)
    yield conditions.Closeness("s", limit), Closeness(limit)
    yield conditions.OrderedCloseness("s", limit), Closeness(limit, "ordered")
    yield conditions.DeltaDisclosure("s", more), DeltaDisclosure(more)


@settings(max_examples=60)
@given(TABLES, LIMITS, st.integers(1, 4))
def test_both_decide_alike(table, limit, whole):
    used = [place for place in range(4) if any(row[place] for row in table)]
    cells = np.array(table, dtype=np.int64)[:, used]  # conditions are given values that occur
    counts = counts_of(cells)
    for condition, model in pairs(limit, whole):
        held = condition.holds(cells.sum(axis=1), cells, cells.sum(axis=0))
        assert held.tolist() == (~model.fails(counts)).tolist(), (condition, cells)
