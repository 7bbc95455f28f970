"""What the refusals of the value-based auditor give away, against brute force."""

from __future__ import annotations

import numpy as np

from auditing_oracles import Orders, all_questions
from tacit.publish.audited.maximum import MaxAuditor, MinAuditor
from tacit.publish.audited.question import Denial, ExactAnswer, question
from tacit.publish.audited.value_based import PeekingDesk, leak_report


def test_the_example_of_the_lecture():
    desk = PeekingDesk([3, 7, 2, 8, 10])
    assert desk.put(question("max", range(5))).answer == 10
    leak = leak_report(desk.rule, desk.state, question("max", range(4)))
    assert isinstance(desk.put(question("max", range(4))), Denial)
    assert leak.gives_away == {4: 10.0}
    equal = PeekingDesk([3, 7, 2, 10, 10])
    equal.put(question("max", range(5)))
    assert isinstance(equal.put(question("max", range(4))), ExactAnswer)


def given_away(oracle, history, asked):
    """Rows that are fixed, to one value, in every database under which the value-based auditor refuses."""
    rows = []
    for answer in oracle.answers(history, asked):
        if oracle.determined([*history, (asked, answer)]):
            databases, levels = oracle.fitting([*history, (asked, answer)])
            known = {level for _, level in history}
            constant = {
                row: levels[slots[0] // 2] for row, slots in enumerate(databases.T) if slots[0] % 2 and len(set(slots)) == 1
            }
            rows.append({(row, value) for row, value in constant.items() if value in known})
    return dict(set.intersection(*rows)) if rows else {}


def test_the_report_agrees_with_brute_force():
    checked = 0
    for rule in (MaxAuditor(), MinAuditor()):
        (aggregate,) = rule.aggregates
        oracle, generator = Orders(4), np.random.default_rng(5)
        questions = all_questions(4, [aggregate])
        for _ in range(60):
            values, state, history = generator.integers(0, 4, 4).astype(float), rule.begin(4), []
            for asked in generator.choice(questions, 4):
                leak = leak_report(rule, state, asked)
                assert leak.gives_away == given_away(oracle, history, asked)
                checked += bool(leak.gives_away)
                answer = float(getattr(np, aggregate)(values[asked.members]))
                if not rule.determined_values(rule.learn(state, asked, answer)):
                    state, history = rule.learn(state, asked, answer), [*history, (asked, answer)]
    assert checked > 30


def test_the_desk_shows_no_values():
    assert repr(PeekingDesk([1, 2])) == "PeekingDesk(2 rows, max)"
