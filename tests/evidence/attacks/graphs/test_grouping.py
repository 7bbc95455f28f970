"""Groupings of customers and products: the unsafe one discloses purchases, the safe one keeps its bound."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.evidence.attacks.graphs.grouping import BOUGHT, SAFE, UNSAFE, Grouping, attack_grouping, labellings, read_grouping
from tacit.publish.graphs.bipartite.publishing import as_published
from tacit.publish.graphs.bipartite.result import bipartite
from tacit.publish.graphs.bipartite.two_sided import TwoSided


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
        attack_grouping(Grouping(frozenset({("A", "1")}), (tuple("ABCDEFGHIJ"),), (("1",),)), frozenset({("A", "1")}))
    with pytest.raises(InvalidInput, match="no labelling fits"):
        attack_grouping(UNSAFE, frozenset({("A", "3")}))


def one_by_one(grouping, known):
    """Every labelling of all groups, listed: what the attack counts by a formula where nothing is known."""
    counts, fitting = Counter(), 0
    for left, right in product(labellings(grouping.customers), list(labellings(grouping.items))):
        bought = {(left[customer], right[item]) for customer, item in grouping.bought}
        if known <= bought:
            fitting += 1
            counts.update(bought)
    return fitting, counts


@given(
    st.sets(st.tuples(st.sampled_from("ABCDE"), st.sampled_from("12345")), min_size=1), st.sampled_from([0, 0, 1, 1, 2]), st.data()
)
@settings(max_examples=40, deadline=None)
def test_the_probabilities_are_those_over_all_labellings_one_by_one(bought, many, data):
    grouping = Grouping(frozenset(bought), (("A", "B", "C"), ("D", "E")), (("1", "2"), ("3", "4"), ("5",)))
    known = frozenset(data.draw(st.lists(st.sampled_from(sorted(bought)), min_size=many, max_size=many)))
    fitting, counts = one_by_one(grouping, known)
    found = attack_grouping(grouping, known)
    assert found.labellings == fitting
    assert found.chances == {pair: Fraction(counts[pair], fitting) for pair in product("ABCDE", "12345")}


def test_a_planted_dependence_of_other_groups_is_seen():
    """Were the groups that nothing is known of taken for independent of the edges, each pair would be as likely as any other."""
    found = attack_grouping(UNSAFE, frozenset({("A", "1")}))
    assert {found.chances[pair] for pair in product("CD", "34")} == {1}
    assert {found.chances[pair] for pair in product("AB", "34")} == {0}


def test_a_published_file_is_read_and_keeps_its_bound(tmp_path):
    """Forty customers and products in groups of three: 10^31 labellings, of which none is listed."""
    edges = [(f"c{one}", f"p{two}") for one in range(40) for two in (one, (one * 7 + 3) % 40)]
    made = bipartite(TwoSided.of_labels([one for one, _ in edges], [two for _, two in edges]), (3, 3))
    made.save(tmp_path / "groups.json")
    found = attack_grouping(read_grouping(tmp_path / "groups.json"))
    assert found.grouping.safe
    assert found.largest == made.made.likeliest <= Fraction(1, 3)
    assert found.labellings > 10**20
    assert "about 10^" in found.summary()
    assert isinstance(found.to_dict()["labellings"], str)
    assert sum(found.chances.values()) == len(set(edges))


def test_an_unsafe_file_is_seen_and_another_kind_is_refused(tmp_path):
    made = as_published(TwoSided.of_labels(list("AABBCCDD"), list("12123434")), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    path = tmp_path / "groups.json"
    path.write_text(json.dumps(made.to_dict()))
    assert set(attack_grouping(read_grouping(path)).certain) == set(BOUGHT)
    (tmp_path / "groups.json.receipt.json").write_text('{"kind": "anonymized graph"}')
    with pytest.raises(InvalidInput, match="receipt says"):
        read_grouping(path)
    (tmp_path / "groups.json.receipt.json").unlink()
    unfit = '{"left": [{"nodes": [0], "labels": []}], "right": [], "edges": []}'
    for wrong, message in (("[]", "bipartite"), ("{}", "expected JSON"), (unfit, "expected JSON"), ("{", "cannot be read")):
        path.write_text(wrong)
        with pytest.raises(InvalidInput, match=message):
            read_grouping(path)
