"""Groupings of customers and products: the unsafe one discloses purchases, the safe one keeps its bound."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks.graphs.grouping import BOUGHT, SAFE, UNSAFE, Grouping, attack_grouping


def test_the_unsafe_grouping_discloses_that_a_and_b_bought_1_and_2():
    found = attack_grouping(UNSAFE)
    assert not UNSAFE.safe
    assert found.labellings == 16
    assert {("A", "1"), ("A", "2"), ("B", "1"), ("B", "2")} <= set(found.certain)
    assert set(found.certain) == set(BOUGHT)
    assert "A bought 1" in found.summary()


def test_in_the_safe_grouping_no_association_is_more_likely_than_a_half():
    found = attack_grouping(SAFE)
    assert SAFE.safe
    assert found.certain == ()
    assert found.largest == Fraction(1, 2)
    assert set(found.chances.values()) == {Fraction(1, 2)}


def test_safety_on_one_side_alone_is_not_safety():
    one_side = Grouping(BOUGHT, (("A", "C"), ("B", "D")), (("1", "2"), ("3", "4")))
    assert not one_side.safe
    assert attack_grouping(Grouping(frozenset({("A", "1"), ("B", "2")}), (("A", "B"),), (("1", "2"),))).largest == Fraction(1, 2)


def test_what_is_known_beforehand_undoes_the_groups_it_touches():
    found = attack_grouping(SAFE, frozenset({("A", "1")}))
    assert ("C", "3") in found.certain  # of two associations one is known, so the other is
    assert ("A", "1") not in found.certain


def test_groups_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInput, match="in one group"):
        Grouping(BOUGHT, (("A", "B"), ("B", "C", "D")), (("1", "2"), ("3", "4")))
    with pytest.raises(InvalidInput, match="in one group"):
        Grouping(BOUGHT, (("A", "B"),), (("1", "2"), ("3", "4")))
    with pytest.raises(InvalidInput, match="too many labellings"):
        Grouping(frozenset(), (tuple("ABCDEFGHIJ"),), ())
    with pytest.raises(InvalidInput, match="no labelling fits"):
        attack_grouping(UNSAFE, frozenset({("A", "3")}))
