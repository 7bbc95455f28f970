"""The minimality attack on tacit's own publisher: it succeeds against a model of the values, and learns nothing from k alone."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks.tables.bags import bag, groups_of
from tacit.evidence.attacks.tables.minimality import Attacker, against
from tacit.evidence.attacks.tables.of_file import own_publisher
from tacit.publish.tables.requirements import Requirements

LEAVES = {("3*",): [("30",), ("31",)]}
ROWS = [(("30",), "yes"), (("31",), "no"), (("31",), "no"), (("31",), "no")]
KNOWN = Counter(quasi for quasi, _ in ROWS)


@pytest.fixture
def asked(tmp_path):
    (tmp_path / "age.csv").write_text("30;3*\n31;3*\n")
    return lambda **models: Requirements(("age",), ("ill",), hierarchies=tmp_path, **models)


def test_a_model_of_the_values_is_breached(asked):
    """One person of 30 with yes would be alone with it: the table is generalized, and being generalized says so."""
    publisher = own_publisher(asked(k=1, l="frequency:2", protected={"ill": ("yes",)}))
    published = publisher.publish(ROWS)
    assert published is not None
    assert {label for label, _ in published} == {("3*",)}
    belief = against(publisher, published, Attacker(LEAVES, known=KNOWN), protected={"yes"}).of(("30",), "yes")
    assert (belief.without, belief.posterior) == (Fraction(1, 4), 1)


def test_k_alone_tells_what_the_group_shows(asked):
    publisher = own_publisher(asked(k=2))
    published = publisher.publish(ROWS)
    assert published is not None
    counts = groups_of(bag(published))[("3*",)]
    found = against(publisher, published, Attacker(LEAVES, known=KNOWN), protected={"yes"})
    assert not any(belief.is_moved for belief in found.beliefs)
    assert found.of(("30",), "yes").posterior == Fraction(counts["yes"], 4)


def test_a_table_that_nothing_mends_is_a_refusal(asked):
    publisher = own_publisher(asked(k=1, l="distinct:2"))
    assert publisher.publish([(("30",), "yes"), (("31",), "yes")]) is None
    coin = {"yes": Fraction(1, 2), "no": Fraction(1, 2)}
    found = against(publisher, None, Attacker(known=Counter({("30",): 2}), prior=coin), protected={"yes"})
    assert [sorted(groups_of(each.table)[("30",)]) for each in found.consistent] == [["no"], ["yes"]]


def test_hierarchies_made_from_the_values_are_not_attacked():
    with pytest.raises(InvalidInput, match="hierarchies from files"):
        own_publisher(Requirements(("age",), ("ill",), made={"age": ("intervals", ([10], 0))}))
