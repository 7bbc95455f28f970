"""Predicates true in all databases that fit: compared with a list of all of them."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.tables import consistent as module
from tacit.publish.tables.consistent import Predicate, Release, consistent, count_bounds

LEAVES = {"Q": ("q1", "q2"), "*": ("q1", "q2", "r1")}
LABELS = ["q1", "q2", "r1", "Q", "*"]
RELEASES = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(["yes", "no", "never"])), min_size=1, max_size=4)


def every_database(rows, known=None):
    """All databases that fit, as counts of (leaf, value); row by row, by brute force."""
    for chosen in product(*(LEAVES.get(label, (label,)) for label, _ in rows)):
        if known is None or Counter(chosen) == known:
            yield Counter(zip(chosen, (value for _, value in rows), strict=True))


def always_true(rows, known=None):
    databases = list(every_database(rows, known))
    values = {value for _, value in rows}
    leaves = {leaf for database in databases for leaf, _ in database}
    found = set()
    for leaf, value in product(leaves, values):
        with_leaf = [{v for (at, v) in database if at == leaf} for database in databases]
        if all(there <= {value} for there in with_leaf):
            found.add(Predicate("everybody", leaf, value))
        elif all(value not in there for there in with_leaf):
            found.add(Predicate("nobody", leaf, value))
        if least := min(database[leaf, value] for database in databases):
            found.add(Predicate("at least", leaf, value, least))
    return found


@given(RELEASES)
@settings(max_examples=50)
def test_what_is_found_is_what_is_true_in_all_of_them(rows):
    assert set(consistent(Release(Counter(rows), LEAVES))) == always_true(rows)


@given(RELEASES, st.data())
@settings(max_examples=12, deadline=None)
def test_also_where_the_leaves_are_known(rows, data):
    known = Counter(data.draw(st.sampled_from(list(product(*(LEAVES.get(label, (label,)) for label, _ in rows))))))
    assert set(consistent(Release(Counter(rows), LEAVES), known)) == always_true(rows, known)


def test_a_k_anonymous_group_with_one_value_tells_everybodys():
    release = Release({("3*", "flu"): 5, ("4*", "gout"): 3, ("4*", "flu"): 2}, {"3*": ("31", "34"), "4*": ("42",)})
    said = [str(each) for each in consistent(release)]
    assert "everybody with 31 has flu" in said
    assert "nobody with 34 has gout" in said
    assert "at least 3 people with 42 and gout" in said
    assert str(Predicate("at least", ("31", "m"), "flu", 1)) == "at least 1 person with 31, m and flu"


def test_a_planted_mistake_in_the_bounds_is_caught(monkeypatch):
    """Counting the rows of a label for every leaf below it, as if all of them were certain."""
    rows = [("Q", "yes"), ("Q", "no")]
    right = count_bounds(Release(Counter(rows), LEAVES))
    monkeypatch.setattr(
        module, "count_bounds", lambda release, known=None: {pair: (high, high) for pair, (_, high) in right.items()}
    )
    assert set(consistent(Release(Counter(rows), LEAVES))) != always_true(rows)


def test_what_fits_nothing_is_refused():
    with pytest.raises(InvalidInput, match="no rows"):
        consistent(Release({}, {}))
    with pytest.raises(InvalidInput, match="check both"):
        consistent(Release({("q1", "yes"): 1}, {}), known={"q2": 1})
