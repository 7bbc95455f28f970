"""The minimality attack: the example of the tutorial, other publishers, refusals, and a defense that it learns nothing from."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.evidence.attacks.tables.bags import bag, fitting_tables, groups_of, possible_tables, rows_of
from tacit.evidence.attacks.tables.minimality import (
    LEAVES,
    OUTPUT,
    PARENTS,
    ROWS,
    SHARE,
    YES,
    Settings,
    attack_tutorial,
    minimality,
    tutorial,
)
from tacit.evidence.attacks.tables.publishers import (
    REFUSED,
    BlackBox,
    Both,
    DifferentValues,
    FullDomain,
    GroupSize,
    LocalRecoding,
    MostShare,
    blind,
    satisfies,
)
from tacit.publish.tables.blind import AtLeast, Blind

HALF = Fraction(1, 2)
TERMS = Settings("", HALF, YES)
EVEN = {"yes": HALF, "no": HALF}


def test_the_nine_classes_of_the_tutorial_in_its_order():
    classes = [
        (*(groups_of(each.table).get(quasi, {}).get(value, 0) for quasi, value in product(("q1", "q2"), ("yes", "no"))),
         int(each.weight), each.cost, bool(each.chance))
        for each in tutorial().classes()
    ]  # fmt: skip
    assert classes == [
        (2, 2, 0, 2, 1, 0, False),
        (2, 1, 0, 3, 2, 2, False),
        (1, 2, 1, 2, 2, 0, False),
        (1, 0, 1, 4, 2, 2, False),
        (0, 1, 2, 3, 2, 0, False),
        (2, 0, 0, 4, 1, 4, True),
        (1, 1, 1, 3, 4, 0, False),
        (0, 2, 2, 2, 1, 0, False),
        (0, 0, 2, 4, 1, 0, False),
    ]
    assert sum(each[4] for each in classes) == 16


def test_the_posterior_is_one_where_the_group_shows_a_half():
    found = attack_tutorial()
    assert found.of("q1", "yes").posterior == 1
    assert found.of("q1", "yes").without == HALF
    assert [(each.quasi, each.value) for each in found.breaches] == [("q1", "yes")]


def test_the_stated_rule_rejects_the_slides_own_output():
    assert not satisfies(OUTPUT, DifferentValues(2))
    assert satisfies(OUTPUT, SHARE)
    both = tutorial()
    assert both.stated.consistent == both.everything.consistent == ()
    assert "does not follow this rule" in both.stated.summary()
    assert "rejects that output" in both.summary()


def test_a_lifted_half_is_what_the_publisher_gives_for_the_input():
    choice = LocalRecoding(SHARE, PARENTS).choice(bag(ROWS))
    assert choice.chances == {OUTPUT: 1}
    assert choice.cost == 4


def every_recoding(rows, rule):
    """The cheapest recodings row by row, by brute force: what LocalRecoding finds by counts."""
    fine = {}
    for lifted in product((False, True), repeat=len(rows)):
        output = bag([("Q" if up else quasi, value) for (quasi, value), up in zip(rows, lifted, strict=True)])
        if satisfies(output, rule):
            fine.setdefault(sum(lifted), set()).add(output)
    return (min(fine), fine[min(fine)]) if fine else (None, {REFUSED})


@given(
    st.lists(st.tuples(st.sampled_from(["q1", "q2"]), st.sampled_from(["yes", "no", "never"])), min_size=1, max_size=7),
    st.sampled_from([SHARE, DifferentValues(2), MostShare(Fraction(2, 3)), Both(GroupSize(2), SHARE)]),
)
@settings(max_examples=40, deadline=None)
def test_the_least_recoding_by_counts_is_the_one_by_rows(rows, rule):
    cost, outputs = every_recoding(rows, rule)
    choice = LocalRecoding(rule, PARENTS).choice(bag(rows))
    assert set(choice.chances) == outputs
    assert choice.cost == cost
    assert sum(choice.chances.values()) == 1


@given(st.lists(st.tuples(st.sampled_from(["q1", "q2"]), st.sampled_from(["yes", "no"])), min_size=2, max_size=6))
@settings(max_examples=15, deadline=None)
def test_the_posterior_is_that_of_bayes_over_rows_one_by_one(rows):
    """Every assignment of values to the people is listed; the attacker knows the quasi-identifiers."""
    publisher = LocalRecoding(SHARE, PARENTS)
    quasi = [each for each, _ in rows]
    output = max(publisher.choice(bag(rows)).chances, key=repr)
    known = {each: quasi.count(each) for each in dict.fromkeys(quasi)}
    found = minimality(publisher, output, possible_tables(known, EVEN), TERMS)
    for person, own in enumerate(quasi):
        weights = {True: Fraction(0), False: Fraction(0)}
        for values in product(("yes", "no"), repeat=len(quasi)):
            chance = publisher.choice(bag(zip(quasi, values, strict=True))).chances.get(output, 0)
            weights[values[person] == "yes"] += chance
        assert found.of(own, "yes").posterior == weights[True] / sum(weights.values())


# --- the defense ---------------------------------------------------------------------------------------------------------------


TABLES = st.lists(st.tuples(st.sampled_from(["q1", "q2", "r1"]), st.sampled_from(["yes", "no"])), min_size=1, max_size=6)
THREE = {"q1": "Q", "q2": "Q", "Q": "*", "r1": "*"}
BELOW = {"Q": ("q1", "q2"), "*": ("q1", "q2", "r1")}


PRIOR = {"yes": Fraction(1, 4), "no": Fraction(3, 4)}


@given(TABLES, st.integers(1, 4), st.sampled_from([Fraction(0), Fraction(1, 2)]))
@settings(max_examples=40, deadline=None)
def test_the_blind_publisher_tells_what_its_groups_show_and_nothing_else(rows, smallest, suppress):
    """Nothing of who is suppressed or refused: posterior equals prior. Of all others: the share that their group shows."""
    decide = AtLeast(smallest, THREE, suppress)
    (output,) = blind(Blind(decide)).choice(bag(rows)).chances
    known = {each: sum(quasi == each for quasi, _ in rows) for each in {quasi for quasi, _ in rows}}
    found = minimality(blind(Blind(decide)), output, possible_tables(known, PRIOR), TERMS)
    labels = decide(known)
    for quasi in known:
        label = None if labels is None else labels[quasi]
        if label is None:
            assert found.of(quasi, "yes").posterior == found.of(quasi, "yes").without == PRIOR["yes"]
        else:
            counts = groups_of(output)[label]
            assert found.of(quasi, "yes").posterior == Fraction(counts.get("yes", 0), sum(counts.values()))


@given(TABLES, st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_knowing_the_blind_publisher_changes_no_belief(rows, smallest):
    """The attacker of the tutorial, who has the output alone: the same belief with the algorithm as without it."""
    publisher = blind(Blind(AtLeast(smallest, THREE)))
    (output,) = publisher.choice(bag(rows)).chances
    if output is not REFUSED:
        found = minimality(publisher, output, fitting_tables(output, BELOW), TERMS)
        assert not any(each.is_moved for each in found.beliefs if each.posterior is not None)
        assert not found.breaches


def test_a_refusal_that_looks_at_the_values_is_an_output_to_reason_from():
    """One that refuses when everybody has yes, planted: the refusal says so, and the attack sees it."""

    def peeks(rows):
        return None if all(value == "yes" for _, value in rows) else [("Q", value) for _, value in rows]

    found = minimality(BlackBox(peeks), REFUSED, possible_tables({"q1": 2}, EVEN), TERMS)
    assert found.of("q1", "yes").posterior == 1
    assert found.of("q1", "yes").without == HALF
    assert found.breaches


def test_a_planted_look_at_the_values_is_seen():
    """A publisher that lifts q1 only where somebody there has yes: the label alone says that somebody has."""

    def peeks(rows):
        lifts = ("q1", "yes") in rows
        return [("Q" if lifts else quasi, "?") for quasi, _ in rows]

    output = bag([("Q", "?")])
    found = minimality(BlackBox(peeks), output, possible_tables({"q1": 1}, PRIOR), TERMS)
    assert found.of("q1", "yes").posterior == 1
    assert found.of("q1", "yes").without == PRIOR["yes"]


# --- whole columns, ties, limits -------------------------------------------------------------------------------------------------


def test_the_level_of_a_column_tells_that_the_lower_one_failed():
    """Two values of age: not lifting failed, so one of the ages had too many yes, and both people of it do."""
    ages = FullDomain(SHARE, [{"30": ("30", "3*"), "31": ("31", "3*")}])
    rows = [(("30",), "yes"), (("30",), "yes"), (("31",), "no"), (("31",), "no")]
    (output,) = ages.choice(bag(rows)).chances
    assert rows_of(output) == [(("3*",), "no"), (("3*",), "no"), (("3*",), "yes"), (("3*",), "yes")]
    found = minimality(ages, output, fitting_tables(output, ages.leaves(output), {("30",): 2, ("31",): 2}), TERMS)
    assert len(found.consistent) == 2
    assert found.of(("30",), "yes").posterior == HALF
    output = bag([(("3*",), "yes"), *[(("3*",), "no")] * 3])
    alone = minimality(ages, output, fitting_tables(output, ages.leaves(output), {("30",): 1, ("31",): 3}), TERMS)
    assert alone.of(("30",), "yes").posterior == 1
    assert alone.of(("30",), "yes").without == Fraction(1, 4)


def test_ties_count_by_their_chance_or_each_as_if_it_were_the_one():
    rows = [("q1", "yes"), ("q1", "yes"), ("q1", "yes"), ("q2", "no"), ("q2", "no"), ("q2", "no")]
    shared = LocalRecoding(SHARE, PARENTS).choice(bag(rows)).chances
    surely = LocalRecoding(SHARE, PARENTS, any_minimum=True).choice(bag(rows)).chances
    assert set(shared) == set(surely)
    assert sum(shared.values()) == 1
    assert set(surely.values()) == {1}


def test_a_table_that_nothing_mends_is_refused():
    assert LocalRecoding(SHARE, PARENTS).choice(bag([("q1", "yes")])).chances == {REFUSED: 1}
    assert FullDomain(SHARE, [{"q1": ("q1", "Q")}]).choice(bag([(("q1",), "yes")])).chances == {REFUSED: 1}


def test_what_is_too_large_or_fits_nothing_is_said():
    many = bag([("Q", str(number)) for number in range(20)])
    with pytest.raises(InvalidInput, match="tables fit"):
        next(fitting_tables(many, LEAVES))
    with pytest.raises(InvalidInput, match="no table fits"):
        minimality(LocalRecoding(SHARE, PARENTS), OUTPUT, fitting_tables(OUTPUT, LEAVES, {"q1": 6}), TERMS)
    with pytest.raises(InvalidInput, match="share"):
        MostShare(Fraction(2))
    with pytest.raises(InvalidInput, match="hierarchy"):
        FullDomain(SHARE, [{"30": ("30", "3*")}]).leaves(bag([(("4*",), "no")]))


def test_a_planted_publisher_that_is_not_minimal_gives_the_attacker_nothing():
    """One that always lifts everything: the attack must not claim a breach."""
    always = BlackBox(lambda rows: [("Q", value) for _, value in rows])
    output = bag([("Q", value) for _, value in ROWS])
    found = minimality(always, output, fitting_tables(output, LEAVES), TERMS)
    assert not found.breaches
    assert found.of("q1", "yes").posterior == found.of("q1", "yes").without == Fraction(1, 3)
