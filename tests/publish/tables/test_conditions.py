"""Conditions on groups against their definitions in rational numbers, above all where both sides are equal."""

from __future__ import annotations

from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.tables.conditions import (
    Closeness,
    DeltaDisclosure,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    OrderedCloseness,
    RecursiveDiversity,
    Share,
    TreeCloseness,
)
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.requirements import Models
from tacit.publish.tables.table import Table

PARENTS = ((0, 0, 1, 1), (0, 0))  # four values in two pairs under one top
counts_of_groups = st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any), min_size=1, max_size=6)
levels = st.fractions(0, 3, max_denominator=12)


def holds(condition, counts, totals=None):
    counts = np.array(counts, dtype=np.int64)
    totals = counts.sum(axis=0) if totals is None else np.array(totals, dtype=np.int64)
    return condition.holds(counts.sum(axis=1), counts, totals).tolist()


def shares(row, totals):
    return [Fraction(c, sum(row)) - Fraction(total, sum(totals)) for c, total in zip(row, totals, strict=True)]


def plain_distance(kind, row, totals):
    gaps = shares(row, totals)
    if kind is Closeness:
        return sum(map(abs, gaps)) / 2
    if kind is OrderedCloseness:
        there = [gap for gap, total in zip(gaps, totals, strict=True) if total]
        return sum(abs(sum(there[: end + 1])) for end in range(len(there) - 1)) / max(len(there) - 1, 1)
    inner = [(gaps[0], gaps[1]), (gaps[2], gaps[3])]
    moved = [min(sum(max(g, 0) for g in pair), sum(max(-g, 0) for g in pair)) for pair in inner]
    top = [sum(pair) for pair in inner]
    return Fraction(1, 2) * sum(moved) + min(sum(max(g, 0) for g in top), sum(max(-g, 0) for g in top))


@pytest.mark.parametrize("kind", [Closeness, OrderedCloseness, TreeCloseness])
@settings(max_examples=40)
@given(counts=counts_of_groups, t=levels)
def test_closeness_is_the_distance_in_rationals(kind, counts, t):
    totals = [sum(column) for column in zip(*counts, strict=True)]
    more = {"parents": PARENTS} if kind is TreeCloseness else {}
    distances = [Fraction(plain_distance(kind, row, totals)) for row in counts]
    assert holds(kind("s", t, **more), counts) == [distance <= t for distance in distances]
    for row, distance in zip(counts, distances, strict=True):  # exactly on the boundary, and a hair below it
        assert holds(kind("s", distance, **more), [row], totals) == [True]
        assert holds(kind("s", distance - Fraction(1, 10**15), **more), [row], totals) == [False]


@settings(max_examples=40)
@given(counts=counts_of_groups, share=st.fractions("1/12", 1, max_denominator=12), c=levels.filter(bool), rank=st.integers(1, 4))
def test_shares_and_recursion_in_rationals(counts, share, c, rank):
    assert holds(Share("s", share), counts) == [Fraction(max(row), sum(row)) <= share for row in counts]
    assert holds(Share("s", share, protected=(1, 2)), counts) == [Fraction(max(row[1:3]), sum(row)) <= share for row in counts]
    ranked = [sorted(row, reverse=True) for row in counts]
    assert holds(RecursiveDiversity("s", c, rank), counts) == [row[0] < c * sum(row[rank - 1 :]) for row in ranked]
    assert holds(DistinctDiversity("s", rank), counts) == [sum(map(bool, row)) >= rank for row in counts]


def test_recursion_with_two_is_a_share_below_c_over_c_plus_one():
    c = Fraction(3, 2)
    for high in range(2, 8):
        row = [high, 2, 0, 0]
        assert holds(RecursiveDiversity("s", c, 2), [row]) == [Fraction(high, high + 2) < c / (c + 1)]


@pytest.mark.parametrize(
    ("row", "l", "meets"),
    [
        ([1, 1, 0, 0], Fraction(2), True),
        ([500_000, 500_000, 0, 0], Fraction(2), True),
        ([500_001, 500_000, 0, 0], Fraction(2), False),
        ([7, 7, 7, 7], Fraction(4), True),
        ([7, 7, 7, 7], Fraction(4) + Fraction(1, 10**12), False),
        ([4, 0, 0, 0], Fraction(1), True),
    ],
)
def test_entropy_on_its_boundary(row, l, meets):  # noqa: E741
    assert holds(EntropyDiversity("s", l), [row]) == [meets]


@settings(max_examples=40)
@given(counts=counts_of_groups, l=st.fractions("8/7", 4, max_denominator=7))
def test_entropy_far_from_its_boundary(counts, l):  # noqa: E741
    for row in counts:
        entropy = -sum(c / sum(row) * log(c / sum(row)) for c in row if c)
        if abs(entropy - log(l)) > 1e-6:
            assert holds(EntropyDiversity("s", l), [row]) == [entropy > log(l)]


@settings(max_examples=40)
@given(counts=counts_of_groups, delta=st.fractions("1/10", 3, max_denominator=12))
def test_delta_disclosure_fails_an_absent_value(counts, delta):
    totals = [sum(column) for column in zip(*counts, strict=True)]
    for row in counts:
        ratios = [Fraction(c * sum(totals), t * sum(row)) for c, t in zip(row, totals, strict=True) if t]
        largest = max(abs(log(ratio)) if ratio else inf for ratio in ratios)
        if abs(largest - delta) > 1e-6:
            assert holds(DeltaDisclosure("s", delta), [row], totals) == [largest < delta]


def test_delta_is_strict_at_zero_distance():
    assert holds(DeltaDisclosure("s", Fraction(1, 10**12)), [[2, 2]], [3, 3]) == [True]


@settings(max_examples=40)
@given(counts=counts_of_groups, t=levels, l=st.fractions("6/5", 3, max_denominator=5), c=levels.filter(bool))
def test_merging_groups_that_comply_gives_one_that_does(counts, t, l, c):  # noqa: E741
    """What the search relies on without suppression; absent values are strict."""
    totals = [sum(column) + 1 for column in zip(*counts, strict=True)]
    for condition in (
        KAnonymity(3),
        Closeness("s", t),
        OrderedCloseness("s", t),
        TreeCloseness("s", t, PARENTS),
        EntropyDiversity("s", l),
        RecursiveDiversity("s", c, 2),
        DistinctDiversity("s", 2),
        Share("s", Fraction(1, 2)),
        DeltaDisclosure("s", t + 1),
    ):
        fine = [row for row in counts if holds(condition, [row], totals) == [True]]
        if fine:
            assert holds(condition, [[sum(column) for column in zip(*fine, strict=True)]], totals) == [True], condition


# --- words -------------------------------------------------------------------------------------------------------------------

PEOPLE = Table.of({"age": [31, 34, 42], "ill": ["flu", "gout", "flu"]})


@pytest.mark.parametrize(
    ("words", "condition"),
    [
        ({"l": "2"}, DistinctDiversity("ill", 2)),
        ({"l": "entropy:1.5"}, EntropyDiversity("ill", Fraction(3, 2))),
        ({"l": "recursive:3:2"}, RecursiveDiversity("ill", Fraction(3), 2)),
        ({"t": "0.2"}, Closeness("ill", Fraction(1, 5))),
        ({"t": "ordered:1/3"}, OrderedCloseness("ill", Fraction(1, 3))),
        ({"delta": "1.5"}, DeltaDisclosure("ill", Fraction(3, 2))),
    ],
)
def test_words_become_conditions(words, condition):
    assert Models(k=2, **words).conditions(PEOPLE, ["ill"]) == [KAnonymity(2), condition]


def test_protected_values_and_hierarchies():
    kept = Models(l="frequency:2", protected={"ill": ("gout",)}).conditions(PEOPLE, ["ill"])[1]
    assert isinstance(kept, Share)
    assert (kept.share, kept.protected) == (Fraction(1, 2), (1,))
    tree = Hierarchy.of("ill", [("gout", "joint", "*"), ("flu", "lung", "*")])
    (_, close) = Models(t="hierarchical:0.5", hierarchies={"ill": tree}).conditions(PEOPLE, ["ill"])
    assert isinstance(close, TreeCloseness)
    assert close.parents == ((1, 0), (0, 0))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"k": 0}, "invalid k 0: it must be a whole number"),
        ({"k": 4}, "k = 4 is above the number of rows: the table has 3 rows; choose a smaller k"),
        ({"l": "many"}, "invalid l 'many'"),
        ({"l": "entropy:0.5"}, "must be a number above 1"),
        ({"l": "skew:2"}, "expected distinct:2, entropy:2"),
        ({"l": "3"}, "l = 3 is above the number of values: ill has 2"),
        ({"t": "near:0.2"}, "expected 0.2, ordered:0.2"),
        ({"t": "-1"}, "at least 0"),
        ({"t": "hierarchical:0.2"}, "needs a hierarchy of ill"),
        ({"l": "frequency:2", "protected": {"ill": ("plague",)}}, "protected value 'plague' does not occur"),
    ],
)
def test_words_that_mean_nothing_are_refused(words, problem):
    with pytest.raises(InvalidInput, match=problem):
        Models(**words).conditions(PEOPLE, ["ill"])


def test_a_model_of_sensitive_values_needs_a_column():
    with pytest.raises(InvalidInput, match="t needs a sensitive column"):
        Models(t="0.2").conditions(PEOPLE, [])
