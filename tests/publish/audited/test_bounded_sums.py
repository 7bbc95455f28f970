"""Sums of bounded values and of zeros and ones: against linear programs and against listing."""

from __future__ import annotations

import random

import numpy as np
import pytest

from auditing_oracles import Listed, Spaces, all_questions, walk
from tacit.errors import InvalidInput
from tacit.publish.audited.bounded_sums import FEW, BooleanSumAuditor, BoundedSumAuditor
from tacit.publish.audited.question import question


def extreme_determines(history, asked, lower, upper, people):
    """Whether the least or the largest sum that is possible fixes somebody's value, by linear programs."""
    from scipy.optimize import linprog

    spaces, box = Spaces(people), [(lower, upper)] * people
    past, values = [spaces.vector(one) for one, _ in history], [answer for _, answer in history]
    target = np.array(spaces.vector(asked), dtype=float)
    for sign in (1, -1):
        best = linprog(sign * target, A_eq=past or None, b_eq=values or None, bounds=box)
        if best.status == 3:
            continue  # unbounded on this side
        rows, ends = [*past, target], [*values, sign * best.fun]
        for unit in np.eye(people):
            low, high = (linprog(way * unit, A_eq=rows, b_eq=ends, bounds=box) for way in (1, -1))
            if low.status == high.status == 0 and abs(low.fun + high.fun) < 1e-7:
                return True
    return False


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (0.0, None), (None, 1.0)])
def test_with_a_known_bound_only_what_follows_is_answered_and_that_is_exact(lower, upper):
    generator, auditor, decided = random.Random(3), BoundedSumAuditor(lower, upper), {True: 0, False: 0}
    for _ in range(6):
        values = np.array([generator.choice([0.25, 0.5, 0.625]) for _ in range(4)])
        history, state = [], auditor.begin(4)
        for published in generator.sample([asked for asked in all_questions(4, ["sum"]) if asked.members.size > 1], 2):
            history = [*history, (published, float(values[published.members].sum()))]
            state = auditor.learn(state, *history[-1])
        if Spaces(4).determined(history):
            continue
        for asked in generator.sample(all_questions(4, ["sum"]), 5):
            answered = auditor.decide(state, asked).answered
            assert answered == (not extreme_determines(history, asked, lower, upper, 4)), (history, asked)
            decided[answered] += 1
    assert min(decided.values()) > 0


def test_every_first_question_about_zeros_and_ones_is_refused():
    auditor = BooleanSumAuditor()
    for answered, safe, _, _ in walk(auditor, Listed(4, [0, 1]), 4, depth=1):
        assert answered == safe is False


def test_zeros_and_ones_agree_with_listing_after_published_sums():
    generator, auditor, seen = random.Random(4), BooleanSumAuditor(), {True: 0, False: 0}
    oracle, questions = Listed(6, [0, 1]), all_questions(6, ["sum"])
    for _ in range(40):
        history, state = [], auditor.begin(6)
        for published in generator.sample(questions, generator.choice([1, 2, 3])):
            history = [*history, (published, generator.choice(oracle.answers(history, published)))]
            state = auditor.learn(state, *history[-1])
        if oracle.determined(history):
            continue
        for asked in [*generator.sample(questions, 12), history[0][0]]:
            answered = auditor.decide(state, asked).answered
            assert answered == oracle.safe(history, asked), (history, asked)
            seen[answered] += 1
    assert min(seen.values()) > 5


def test_many_rows_that_hang_together_are_refused_unless_it_follows():
    auditor = BooleanSumAuditor()
    state = auditor.learn(auditor.begin(40), question("sum", range(FEW + 1)), 9)
    assert "are connected" in auditor.decide(state, question("sum", range(2))).reason
    assert auditor.decide(state, question("sum", range(FEW + 1))).known
    assert "row 31" in auditor.decide(state, question("sum", [30, 31])).reason


def test_without_a_bound_it_is_another_auditor():
    with pytest.raises(InvalidInput, match="SumAuditor"):
        BoundedSumAuditor()
