"""No tie is decided by a rounding, and each classic mistake of such a checker is caught."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonymity_oracles as slow
from tacit.publish.tables.models import closeness, diversity
from tacit.publish.tables.models.closeness import Closeness, DeltaDisclosure, ordered_distance
from tacit.publish.tables.models.counts import counts_of
from tacit.publish.tables.models.diversity import (
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
    coprime_base,
    is_one,
    sign_of_excess,
)
from tacit.publish.tables.models.exactly import compare, largest_ratio
from tacit.publish.tables.models.k_anonymity import KAnonymity
from tacit.publish.tables.models.rows import rows_of

TINY = Fraction(1, 10**30)


@given(st.lists(st.tuples(st.integers(0, 2**62), st.integers(1, 2**62)), min_size=1), st.fractions(min_value=0), st.integers(0, 9))
def test_comparisons_are_those_of_fractions(pairs, limit, chosen):
    limit = Fraction(*pairs[chosen % len(pairs)]) if chosen % 2 else limit  # ties are tried too
    above, below = np.array(pairs, dtype=np.int64).T
    expected = [(Fraction(a, b) > limit) - (Fraction(a, b) < limit) for a, b in pairs]
    assert compare(above, below, limit).tolist() == expected
    assert largest_ratio(above, below) == max(Fraction(a, b) for a, b in pairs)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.fractions(min_value=1, max_value=6, max_denominator=5))
def test_the_sign_of_the_entropy_is_that_of_integer_powers(counts, least):
    rows = [str(value) for value, count in enumerate(counts) for _ in range(count)]
    assert (sign_of_excess(tuple(counts), least) >= 0) == slow.has_entropy(rows, least)


@given(st.dictionaries(st.integers(1, 40), st.integers(-6, 6), max_size=6))
def test_a_product_of_powers_is_one_without_computing_it(powers):
    product = math.prod((Fraction(base) ** power for base, power in powers.items()), start=Fraction(1))
    assert is_one(powers) == (product == 1)
    base = coprime_base(powers)
    assert all(math.gcd(a, b) == 1 for at, a in enumerate(base) for b in base[:at])


TIES = [(1, 1), (5, 5, 5), (4, 1, 1, 1, 1), (8, 2, 2, 2, 2), (16, 4, 4, 4, 4), (9, 9, 3, 3, 3)]  # the last is not one


@pytest.mark.parametrize(("counts", "number"), [(TIES[0], 2), (TIES[1], 3), (TIES[2], 4), (TIES[3], 4), (TIES[4], 4)])
def test_an_entropy_of_exactly_ln_l_passes_and_a_hair_more_fails(counts, number):
    table = counts_of([counts])
    assert EntropyDiversity(number).on(table).passes
    assert EntropyDiversity(number).on(table).figure.worst == number
    assert not EntropyDiversity(number + TINY).on(table).passes
    assert EntropyDiversity(number - TINY).on(table).passes


def test_a_large_group_is_decided_without_its_power():
    """A million rows: m^m has twenty million digits, and is never computed."""
    table = counts_of([[400_000, 100_000, 100_000, 100_000, 100_000], [199_999, 200_001, 200_000, 199_998, 200_002]])
    assert EntropyDiversity(4).on(table).passes
    assert not EntropyDiversity(4 + TINY).on(table).passes
    assert EntropyDiversity(5).on(table).failing_groups == 2


def test_a_distance_of_exactly_t_passes_and_a_hair_less_fails():
    table = counts_of([[3, 2, 5], [2, 3, 5]])
    assert Closeness(Fraction(1, 20)).on(table).passes
    assert Closeness(0.05).on(table).passes
    assert not Closeness(Fraction(1, 20) - TINY).on(table).passes


def test_products_beyond_64_bits_are_exact():
    big = 3_000_000_019
    table = counts_of([[big, big + 1], [big + 1, big]])
    expected = Fraction(1, 2 * (2 * big + 1))
    for distance in ("equal", "ordered"):
        assert Closeness(1, distance).on(table).figure.worst == expected
        assert Closeness(expected, distance).on(table).passes
        assert not Closeness(expected - TINY * TINY, distance).on(table).passes
    assert closeness.largest_disclosure(table) == Fraction((2 * big + 1), 2 * big)


def test_delta_is_compared_with_an_enclosure_that_is_narrow_enough():
    """delta is ln 3 to fifty digits, from below and from above; p/q is 3 at most."""
    table = counts_of([[3, 1], [1, 11]])
    ratio = closeness.largest_disclosure(table)
    assert ratio == 3
    log = Fraction("1.09861228866810969139524523692252570464749055782275")
    assert not DeltaDisclosure(log - Fraction(1, 10**49)).on(table).passes
    assert DeltaDisclosure(log + Fraction(1, 10**49)).on(table).passes


# --- planted bugs ------------------------------------------------------------------------------------------------------------


def test_an_off_by_one_in_k_is_caught():
    table = rows_of({"q": ["a", "a", "b", "b"]}, ["q"])
    assert KAnonymity(2).check(table)[0].passes
    assert not KAnonymity(3).check(table)[0].passes


def test_at_least_in_the_place_of_above_is_caught(monkeypatch):
    """The strict models say no at a tie, the others yes; whoever swaps the two is seen."""
    tie = counts_of([[4, 2]])
    assert not RecursiveDiversity(2, 2).on(tie).passes
    assert FrequencyDiversity(Fraction(3, 2)).on(tie).passes
    monkeypatch.setattr("tacit.publish.tables.models.diversity.compare", lambda *given: np.where(compare(*given) == 0, 1, -1))
    assert not FrequencyDiversity(Fraction(3, 2)).on(tie).passes
    monkeypatch.setattr("tacit.publish.tables.models.diversity.compare", lambda *given: np.where(compare(*given) == 0, -1, 1))
    assert RecursiveDiversity(2, 2).on(tie).passes


def test_an_entropy_in_floats_alone_is_caught(monkeypatch):
    """Some tie is on the wrong side in floating point; without the exact part the checker is wrong there."""
    ties = [(tuple(size * c for c in (4, 1, 1, 1, 1)), 4) for size in range(1, 200)]
    tables = counts_of([counts for counts, _ in ties])
    assert not EntropyDiversity(4).fails(tables).any()
    monkeypatch.setattr(diversity, "SLACK", -(10**6))
    assert EntropyDiversity(4).fails(tables).any()


def test_an_ordered_distance_without_its_normalisation_is_caught(monkeypatch):
    table, whole = [[2, 0, 0, 1], [0, 2, 1, 0]], ["0", "0", "3", "1", "1", "2"]
    expected = max(slow.ordered_distance(group, whole) for group in (["0", "0", "3"], ["1", "1", "2"]))
    assert Closeness(1, "ordered").on(counts_of(table)).figure.worst == expected

    def without(counts, order):
        numerators, denominators = ordered_distance(counts, order)
        return numerators, denominators // (counts.domain - 1)

    monkeypatch.setattr("tacit.publish.tables.models.closeness.ordered_distance", without)
    assert Closeness(1, "ordered").on(counts_of(table)).figure.worst != expected


def test_an_ordered_distance_counts_the_values_of_the_table_not_of_the_group():
    """The group has two values, the table four: M - 1 is 3."""
    rows, whole = ["0", "3"], ["0", "3", "1", "2"]
    numerators, denominators = Closeness(1, "ordered").ratios(counts_of([[1, 0, 0, 1], [0, 1, 1, 0]]))
    assert Fraction(int(numerators[0]), int(denominators[0])) == slow.ordered_distance(rows, whole) == Fraction(1, 6)


def test_a_value_that_a_group_lacks_fails_every_delta():
    """Skipping absent values, as some tools do, would pass this table, in which group 1 never has value 1."""
    lacking = counts_of([[4, 0], [1, 3]])
    assert DeltaDisclosure(1000).on(lacking).figure.worst == math.inf
    assert not DeltaDisclosure(1000).on(lacking).passes
    skipping = replace(lacking, totals=np.array([5, 0]))
    assert DeltaDisclosure(1000).on(skipping).passes


def test_a_value_of_suppressed_rows_alone_counts_as_one_of_the_table():
    table = rows_of({"q": ["a", "a", "*"], "s": ["x", "y", "z"]}, ["q"], ["s"])
    assert not DeltaDisclosure(10).check(table)[0].passes
    assert Closeness(1).check(table)[0].figure.worst == Fraction(1, 3)
    hidden = rows_of({"q": ["a", "a", "*"], "s": ["x", "y", "*"]}, ["q"], ["s"])
    assert DeltaDisclosure(10).check(hidden)[0].passes
    assert Closeness(0).check(hidden)[0].passes
