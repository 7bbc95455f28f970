"""The blind publisher: groups, suppression and refusals as a function of the counts of quasi-identifiers."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.tables.blind import AtLeast, Blind, above

ZIP = {"02138": "0213*", "02139": "0213*", "02142": "0214*", "0213*": "*", "0214*": "*"}
ROWS = st.lists(st.tuples(st.sampled_from(["02138", "02139", "02142"]), st.integers(0, 3)), max_size=12)


@given(ROWS, st.integers(1, 5), st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1)]))
def test_every_group_is_large_enough_and_what_is_hidden_within_the_limit(rows, smallest, suppress):
    out = Blind(AtLeast(smallest, ZIP, suppress)).publish(rows)
    if out is None:
        assert 0 < len(rows) < smallest  # all labels meet in one, so that only a small table is refused
        assert suppress < 1
        return
    assert all(size >= smallest for size in Counter(label for label, _ in out).values())
    assert len(rows) - len(out) <= suppress * len(rows)


@given(ROWS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_other_values_change_no_label_and_no_refusal(rows, smallest, luck):
    publisher = Blind(AtLeast(smallest, ZIP, Fraction(1, 3)))
    values = [value for _, value in rows]
    luck.shuffle(values)
    there, here = (
        publisher.publish(rows),
        publisher.publish([(quasi, value) for (quasi, _), value in zip(rows, values, strict=True)]),
    )
    assert (there is None) == (here is None)
    assert [label for label, _ in there or []] == [label for label, _ in here or []]


def test_a_label_below_a_lifted_family_is_lifted_with_it():
    rows = [("02138", 1), ("02138", 2), ("02139", 1), ("02139", 2), ("02142", 1)]
    out = Blind(AtLeast(2, ZIP)).publish(rows)
    assert {label for label, _ in out or []} == {"*"}


def test_parents_in_a_circle_and_empty_groups_are_refused():
    with pytest.raises(InvalidInput, match="above itself"):
        AtLeast(2, {"a": "b", "b": "a"})
    with pytest.raises(InvalidInput, match="at least 1"):
        AtLeast(0, ZIP)
    assert above("02138", ZIP) == ["0213*", "*"]
