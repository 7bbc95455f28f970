"""Linkage, homogeneity and downcoding: what they call certain is true, and it is all that is certain."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.evidence.attacks.tables.bags import bag, groups_of
from tacit.evidence.attacks.tables.downcoding import ANYTHING, downcode, made_output
from tacit.evidence.attacks.tables.linkage import Person, demonstration, example, homogeneity, link, values_of
from tacit.evidence.attacks.tables.publishers import BlackBox, GroupSize, LocalRecoding

BELOW = {"*": {"a", "b"}, "a": {"a"}, "b": {"b"}}


def covers(_, label):
    return frozenset(BELOW[label])


def assignments(rows, quasi):
    """Every way to give each person of the register a row of the table that fits; brute force."""
    for order in permutations(range(len(rows)), len(quasi)):
        if all(own in BELOW[rows[place][0][0]] for own, place in zip(quasi, order, strict=True)):
            yield order


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "*"]), st.sampled_from(["yes", "no"])), min_size=1, max_size=4), st.data())
@settings(max_examples=60)
def test_what_is_called_certain_is_certain_over_all_assignments(rows, data):
    table = [((label,), value) for label, value in rows]
    quasi = [data.draw(st.sampled_from(sorted(BELOW[label]))) for label, _ in rows]
    found = link(bag(table), [Person(str(n), (own,)) for n, own in enumerate(quasi)], covers)
    every = list(assignments(table, quasi))
    assert every
    for person, match in enumerate(found.matches):
        values = {table[order[person]][1] for order in every}
        assert values <= match.values
        if match.identified:
            assert len({order[person] for order in every}) == 1
        if match.disclosed:
            assert values == match.values


def test_names_removed_falls_and_k_anonymity_falls_where_a_group_is_alike():
    found, truth = demonstration()
    raw, anonymous = found.ways
    assert raw.identified > 200
    assert anonymous.identified == 0
    assert anonymous.disclosed > 0
    assert [way.wrong(truth) for way in found.ways] == [0, 0]
    assert "5-anonymous" in found.summary()
    assert all(match.rows >= 5 for match in anonymous.matches)


def test_a_planted_table_whose_labels_lie_is_seen():
    """A row moved to a group that it does not belong to: the attack names values that are wrong, and the count shows it."""
    people = [Person("ann", ("a",)), Person("bob", ("b",))]
    lying = bag([(("b",), "yes"), (("a",), "no")])
    assert link(lying, people, covers).wrong({"ann": "yes", "bob": "no"}) == 2


def test_homogeneity_counts_facts():
    found = homogeneity(example())
    assert (found.smallest, found.rows) == (4, 16)
    assert [found.certain(known) for known in range(3)] == [4, 8, 16]
    known = homogeneity(example(), ["heart"])
    assert known.certain() == 4 + 2  # the group with heart and viral is left with viral
    assert values_of(example())["cancer"] == 5
    with pytest.raises(InvalidInput, match="ruled out"):
        homogeneity(bag([("a", "yes")]), ["yes"])
    with pytest.raises(InvalidInput, match="no rows"):
        homogeneity(frozenset())


@given(st.lists(st.sampled_from(["q1", "q2", "q3"]), min_size=2, max_size=7), st.integers(2, 3))
@settings(max_examples=25, deadline=None)
def test_downcoded_leaves_are_those_of_every_table_with_this_output(leaves, smallest):
    """Every table of that many rows is published; those with the same output must all have the leaves that are called certain."""
    parents = dict.fromkeys(("q1", "q2", "q3"), "Q")
    publisher = LocalRecoding(GroupSize(smallest), parents)
    output = sorted(publisher.choice(bag((leaf, ANYTHING) for leaf in leaves)).chances, key=repr)[0]
    if not isinstance(output, frozenset) or "Q" not in groups_of(output):
        return
    labels = [row[0] for row, times in output for _ in range(times)]
    (family,) = downcode(labels, {"Q": ("q1", "q2", "q3")}, smallest).families
    shown = Counter(label for label in labels if label != "Q")
    same = [
        Counter(other) - shown
        for other in product(("q1", "q2", "q3"), repeat=len(leaves))
        if list(other) == sorted(other) and output in publisher.choice(bag((leaf, ANYTHING) for leaf in other)).chances
    ]
    least = {leaf: min(each[leaf] for each in same) for leaf in ("q1", "q2", "q3")}
    assert dict(family.leaves) == {leaf: times for leaf, times in least.items() if times}
    assert all((Counter(leaves) - shown)[leaf] >= times for leaf, times in family.leaves.items())


def test_a_publisher_that_is_not_minimal_gives_downcoding_nothing():
    everything = BlackBox(lambda rows: [("Q", value) for _, value in rows])
    found = downcode(["Q"] * 4, {"Q": ("q1", "q2")}, 2, everything)
    assert found.downcoded == 0
    assert found.families[0].consistent == found.families[0].fit == 5


def test_the_demonstration_downcodes_some_rows_and_none_wrongly():
    output, leaves, truth = made_output(60, 3)
    found = downcode(output, leaves, 3)
    assert 0 < found.downcoded <= found.lifted
    shown = Counter(label for label in output if label not in leaves)
    for family in found.families:
        assert all((truth - shown)[leaf] >= times for leaf, times in family.leaves.items())
    assert "otherwise a minimal publisher would do less" in found.summary()
    assert "nothing to downcode" in downcode(["q1", "q1"], {"Q": ("q1", "q2")}, 2).summary()
