"""The law of all auditors: same questions, two databases that agree on the given answers, same decisions.

Checked on thousands of generated histories; an auditor that peeks, by any road, is caught.
"""

from __future__ import annotations

import inspect
import random
from itertools import product

import numpy as np
import pytest

from auditing_oracles import all_questions
from tacit.errors import LawViolated
from tacit.publish.audited.auditor import check_simulatable, replayed
from tacit.publish.audited.data import Data, Private
from tacit.publish.audited.desk import Desk
from tacit.publish.audited.maximum import MaxAuditor
from tacit.publish.audited.named import NAMES, auditor_named
from tacit.publish.audited.question import Decision, ExactAnswer, question
from tacit.publish.audited.value_based import PeekingDesk

PEOPLE = 5
BOUNDS = {"probabilistic-max": (0.0, 6.0)}
VALUES = {"boolean-sum": (0, 1)}


def databases(name):
    rows = np.array(list(product(VALUES.get(name, (1, 2, 3, 4, 5)), repeat=PEOPLE)))
    differ = [len(set(row)) == PEOPLE for row in rows.tolist()]
    return rows[differ] if name in ("max-min", "probabilistic-max") else rows


def transcript(desk, questions):
    replies = [desk.put(asked) for asked in questions]
    return [
        (asked, reply.answer if isinstance(reply, ExactAnswer) else None) for asked, reply in zip(questions, replies, strict=True)
    ]


def agreeing(rows, given, generator):
    """A database, other than the first if there is one, that gives the same answers where answers were given."""
    for asked, answer in given:
        if answer is not None:
            rows = rows[getattr(np, asked.aggregate)(rows[:, asked.members], axis=1) == answer]
    return rows[generator.randrange(len(rows))]


def desk_over(values, auditor):
    return Desk(Data(Private(values), "x", {}), auditor)


@pytest.mark.parametrize("name", NAMES)
def test_databases_that_agree_on_the_answers_get_the_same_decisions(name):
    generator, rows = random.Random(name), databases(name)
    auditor = auditor_named(name, *BOUNDS.get(name, (None, None)))
    every, differing = all_questions(PEOPLE, sorted(auditor.aggregates)), 0
    for _ in range(300):
        first, questions = rows[generator.randrange(len(rows))], generator.sample(every, 5)
        state, given = auditor.begin(PEOPLE), []
        for asked in questions:
            answered = auditor.decide(state, asked).answered
            answer = int(getattr(np, asked.aggregate)(first[asked.members])) if answered else None
            given.append((asked, answer))
            state = auditor.learn(state, asked, answer) if answered else state
        second = agreeing(rows, given, generator)
        differing += bool((first != second).any())
        check_simulatable(auditor, PEOPLE, given)
        replay, state = [], auditor.begin(PEOPLE)
        for asked in questions:
            replay.append(auditor.decide(state, asked))
            if replay[-1].answered:
                state = auditor.learn(state, asked, int(getattr(np, asked.aggregate)(second[asked.members])))
        assert replay == replayed(auditor, PEOPLE, given)  # words and all
    assert differing > 170


@pytest.mark.parametrize("name", ["max", "sum", "max-min"])
def test_the_desk_decides_as_an_analyst_at_home_would(name):
    generator, rows, auditor = random.Random(2), databases(name), auditor_named(name)
    for _ in range(25):
        desk = desk_over(rows[generator.randrange(len(rows))], auditor)
        given = transcript(desk, generator.sample(all_questions(PEOPLE, sorted(auditor.aggregates)), 5))
        check_simulatable(auditor, PEOPLE, given)


def caught(run, generator, rows, histories=60):
    """How many histories show that decisions depend on more than the answers."""
    found = 0
    for _ in range(histories):
        questions = generator.sample(all_questions(PEOPLE, ["max"]), 5)
        given = transcript(run(rows[generator.randrange(len(rows))]), questions)
        again = transcript(run(agreeing(rows, given, generator)), questions)
        found += [answer is None for _, answer in given] != [answer is None for _, answer in again]
    return found


class Smuggler(MaxAuditor):
    """Planted: an auditor with the data up its sleeve, which refuses where the true answer is that of a row alone."""

    sleeve: np.ndarray = np.zeros(0)

    def decide(self, state, asked):
        values = type(self).sleeve[asked.members]
        decision = super().decide(state, asked)
        alone = np.count_nonzero(values == values.max()) == 1
        return Decision(decision.answered and not alone, decision.reason)


def test_an_auditor_that_peeks_is_caught():
    generator, rows = random.Random(4), databases("max")
    assert caught(lambda values: PeekingDesk(values), generator, rows) > 0

    def smuggling(values):
        Smuggler.sleeve = np.asarray(values)
        return desk_over(values, Smuggler())

    assert caught(smuggling, generator, rows) > 0
    assert caught(lambda values: desk_over(values, MaxAuditor()), generator, rows) == 0


def test_a_peeking_transcript_is_told_from_the_answers_alone():
    given = transcript(PeekingDesk([3, 7, 2, 10, 10]), [question("max", range(5)), question("max", range(4))])
    with pytest.raises(LawViolated, match="question 2"):
        check_simulatable(MaxAuditor(), 5, given)


@pytest.mark.parametrize("name", NAMES)
def test_a_decision_is_given_no_data_by_its_type(name):
    auditor = auditor_named(name, *BOUNDS.get(name, (None, None)))
    assert list(inspect.signature(auditor.decide).parameters) == ["state", "question"]
    assert list(inspect.signature(auditor.begin).parameters) == ["people"]
    with pytest.raises((AttributeError, TypeError)):
        auditor.sleeve = [1, 2]  # frozen, with slots: nothing can be smuggled in afterwards
