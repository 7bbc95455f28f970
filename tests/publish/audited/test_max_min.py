"""MAX with MIN: exact where values differ, sound where they may be equal; both against brute force."""

from __future__ import annotations

import random

import pytest

from auditing_oracles import Orders, walk
from tacit.publish.audited.max_min import Asked, MaxMinAuditor, MaxMinDuplicatesAuditor
from tacit.publish.audited.question import question

BOUNDS = [(None, None), (None, 9.0), (0.0, 9.0)]


def sampled(generator, count):
    return lambda questions: generator.sample(questions, count)


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_every_short_history_of_differing_values_agrees_with_brute_force(lower, upper):
    auditor, seen = MaxMinAuditor(lower, upper), {True: 0, False: 0}
    for answered, safe, history, asked in walk(auditor, Orders(3, True, lower, upper), 3, depth=3):
        assert answered == safe, (history, asked)
        seen[answered] += 1
    assert min(seen.values()) > 50


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_longer_histories_of_differing_values(lower, upper):
    generator, seen = random.Random(7), {True: 0, False: 0}
    for people, depth, count, repeats in ((4, 4, 3, 16), (5, 3, 3, 16)):
        for _ in range(repeats):
            oracle = Orders(people, True, lower, upper)
            for answered, safe, history, asked in walk(
                MaxMinAuditor(lower, upper), oracle, people, depth, sampled(generator, count)
            ):
                assert answered == safe, (history, asked)
                seen[answered] += 1
    assert min(seen.values()) > 150


def test_elimination_finds_answers_that_cannot_be():
    """An answer below 8 leaves row 1 the 9 and row 3 the 8, and nobody the 3: it cannot be, which one step does not show."""
    history = [(question("max", [0, 1]), 9.0), (question("max", [2, 3]), 8.0), (question("min", [0, 2]), 3.0)]
    auditor, asked = MaxMinAuditor(), question("max", [1, 3])
    state = auditor.begin(4)
    for past, answer in history:
        state = auditor.learn(state, past, answer)
    case = Asked(state, asked.members)._case(5.0)
    assert case.sizes[9.0] == case.sizes[8.0] == 1
    assert case.first_disclosure() is None
    assert not len(Orders(4, True).fitting([*history, (asked, 5.0)])[0])
    possible = Asked(state, asked.members)._case(8.5)
    assert possible.first_disclosure() is not None
    assert len(Orders(4, True).fitting([*history, (asked, 8.5)])[0])


def test_the_rule_for_equal_values_is_sound_and_not_idle():
    generator, seen = random.Random(8), {(True, True): 0, (False, True): 0, (False, False): 0, (True, False): 0}
    for people, depth, count, repeats in ((3, 3, 4, 4), (4, 3, 3, 12), (5, 3, 3, 6)):
        for _ in range(repeats):
            auditor = MaxMinDuplicatesAuditor()
            for answered, safe, _, _ in walk(auditor, Orders(people), people, depth, sampled(generator, count)):
                seen[answered, safe] += 1
    assert seen[True, False] == 0
    assert seen[True, True] > seen[False, True]  # it refuses needlessly less often than it answers
    assert seen[False, False] > 0


def test_bounds_with_equal_values_are_sound():
    generator = random.Random(9)
    for lower, upper in ((0.0, None), (None, 9.0)):
        auditor = MaxMinDuplicatesAuditor(lower, upper)
        for _ in range(6):
            for answered, safe, history, asked in walk(auditor, Orders(4, False, lower, upper), 4, 3, sampled(generator, 3)):
                assert safe or not answered, (history, asked)


def test_the_rule_shares_contested_rows_out():
    """A row may serve a past MAX or a past MIN: six rows asked both ways are answered where four are not enough."""
    auditor = MaxMinDuplicatesAuditor()
    state = auditor.learn(auditor.begin(9), question("max", range(6)), 9.0)
    state = auditor.learn(state, question("min", [6, 7, 8]), 2.0)
    assert auditor.decide(state, question("min", [2, 3, 4, 5, 6, 7, 8])).answered
    assert not auditor.decide(state, question("min", [5, 6, 7, 8])).answered
