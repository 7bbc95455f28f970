"""MAX and MIN against brute force; speed is measured by the benchmark."""

from __future__ import annotations

import random

import numpy as np
import pytest

from auditing_oracles import Orders, walk
from tacit.errors import InvalidInput
from tacit.publish.audited.maximum import AT_HAND, MaxAuditor, MinAuditor
from tacit.publish.audited.question import question

BOUNDS = [(None, None), (None, 9.0), (0.0, None), (0.0, 9.0)]


def agree(auditor, people, depth, lower=None, upper=None, pick=lambda questions: questions):
    seen = {True: 0, False: 0}
    for answered, safe, history, asked in walk(auditor, Orders(people, lower=lower, upper=upper), people, depth, pick):
        assert answered == safe, (history, asked)
        seen[answered] += 1
    return seen


@pytest.mark.parametrize("kind", [MaxAuditor, MinAuditor])
@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_every_history_of_three_rows_agrees_with_brute_force(kind, lower, upper):
    seen = agree(kind(lower, upper), 3, depth=4, lower=lower, upper=upper)
    assert seen[False] > 0
    refuses_all = (lower is not None) if kind is MaxAuditor else (upper is not None)
    assert (seen[True] == 0) == refuses_all  # maximum.md: a known end on the wrong side leaves nothing to answer


@pytest.mark.parametrize("kind", [MaxAuditor, MinAuditor])
def test_longer_histories_of_four_and_five_rows(kind):
    generator = random.Random(6)
    seen = agree(kind(), 4, depth=3)
    for _ in range(25):
        more = agree(kind(), 5, depth=4, pick=lambda questions: generator.sample(questions, 3))
        seen = {answered: seen[answered] + more[answered] for answered in seen}
    assert min(seen.values()) > 200


def test_a_rule_without_the_impossible_answers_disagrees():
    """What `least` is for: a past maximum whose holders are all asked again forbids lower answers."""

    class Hasty(MaxAuditor):
        def ground(self, state, asked):
            outside = state.outside(asked.members)
            return super().ground(state, asked) or (object() if (outside <= 1).any() else None)

    auditor, oracle = MaxAuditor(), Orders(4)
    asked = question("max", [0, 1, 2])
    known, history = auditor.learn(auditor.begin(4), asked, 5.0), [(asked, 5.0)]
    again = question("max", [0, 1, 2])
    assert auditor.decide(known, again).answered
    assert oracle.safe(history, again)
    assert Hasty().ground(known, again) is not None


def test_rows_at_hand_and_whole_questions_say_the_same():
    generator = np.random.default_rng(3)
    values = generator.integers(0, 40, 60).astype(float)
    auditor, state = MaxAuditor(), MaxAuditor().begin(60)
    for _ in range(120):
        asked = question("max", np.flatnonzero(generator.random(60) < generator.choice([0.2, 0.5, 0.9])))
        exact = [min(2, np.setdiff1d(state.extremes(past), asked.members).size) for past in range(len(state.answers))]
        assert state.outside(asked.members).tolist() == exact
        if auditor.decide(state, asked).answered:
            state = auditor.learn(state, asked, values[asked.members].max())
    assert len(state.answers) > 10
    assert state.at_hand.shape == (len(state.answers), AT_HAND)
    assert auditor.determined_values(state) == {}


def test_values_of_every_size():
    auditor = MaxAuditor()
    known = auditor.learn(auditor.begin(3), question("max", [0, 1, 2]), 1e300)
    assert not auditor.decide(known, question("max", [0, 1])).answered
    assert max(auditor.possible(known, question("max", [0, 1]))) == 1e300
    assert min(auditor.possible(known, question("max", [0, 1]))) < 1e299


def test_other_aggregates_and_crossed_bounds_are_refused():
    with pytest.raises(InvalidInput, match="supports MAX, not SUM"):
        MaxAuditor().decide(MaxAuditor().begin(2), question("sum", [0, 1]))
    with pytest.raises(InvalidInput, match="lower must be below upper"):
        MinAuditor(3, 3)


def test_reasons_name_the_row_and_the_question():
    auditor = MinAuditor()
    known = auditor.learn(auditor.begin(4), question("min", [0, 1]), 7)
    decide = auditor.decide
    assert decide(known, question("min", [0])).reason == "if the answer were above 7, only row 2 could have the 7 of question 1"
    assert decide(known, question("min", [3])).reason == "the answer would be the value of row 4"
    assert decide(known, question("min", [0, 1, 3])).reason == "if it were below 7, the answer would be the value of row 4"
    assert "no value is above 9" in MinAuditor(None, 9).decide(MinAuditor(None, 9).begin(3), question("min", [0, 1])).reason
