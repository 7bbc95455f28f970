"""Two auditors on typed values: by the auditors of `publish/audited`, and by every database on a grid of whole numbers."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.evidence.lessons.audits import PLACES, REFUSED, audit, audited
from tacit.publish.audited.maximum import MaxAuditor
from tacit.publish.audited.question import question
from tacit.publish.audited.value_based import PeekingDesk

VALUES = st.lists(st.integers(1, 3), min_size=3, max_size=3)
FEW = settings(max_examples=25)  # of all conversations with three rows there are a few thousand


def statistic_of(name: str, numbers: list[int]) -> int:
    return sorted(numbers)[PLACES[name](len(numbers)) - 1]


@st.composite
def conversations(draw) -> tuple[list[int], list[list[int]]]:
    values = draw(VALUES)
    subsets = [list(each) for size in range(2, len(values) + 1) for each in combinations(range(1, len(values) + 1), size)]
    return values, draw(st.lists(st.sampled_from(subsets), min_size=1, max_size=3))


@FEW
@given(conversations())
def test_maxima_are_answered_and_refused_as_by_the_auditors(conversation) -> None:
    values, questions = conversation
    found = audited("max", values, questions)
    desk, rule = PeekingDesk(np.array(values, dtype=float)), MaxAuditor()
    state = rule.begin(len(values))
    for rows, each in zip(questions, found, strict=True):
        asked = question("max", [row - 1 for row in rows])
        assert (each.looks == REFUSED) == (not hasattr(desk.put(asked), "answer"))
        decision = rule.decide(state, asked)
        assert (each.simulatable == REFUSED) != decision.answered
        if decision.answered:
            state = rule.learn(state, asked, float(each.answer))


@FEW
@given(conversations(), st.sampled_from(sorted(PLACES)))
def test_what_is_refused_and_disclosed_holds_on_every_database_of_a_grid(conversation, name) -> None:
    """Whole numbers and halves from 0 to 4: enough for values from 1 to 3 and all that lies between and around them."""
    values, questions = conversation
    grid = [point / 2 for point in range(9)]
    worlds = [list(world) for world in product(grid, repeat=len(values))]
    for rows, each in zip(questions, audited(name, values, questions), strict=True):
        answers = [statistic_of(name, [world[row - 1] for row in rows]) for world in worlds]
        same = [world for world, answer in zip(worlds, answers, strict=True) if answer == each.answer]
        determined = any(len({world[at] for world in same}) == 1 for at in range(len(values)))
        assert (each.looks == REFUSED) == determined
        if each.looks == REFUSED:
            refused = []
            for answer in set(answers):
                there = [world for world, given_ in zip(worlds, answers, strict=True) if given_ == answer]
                if any(len({world[at] for world in there}) == 1 for at in range(len(values))):
                    refused += there
            assert all({world[row - 1] for world in refused} == {value} for row, value in each.disclosed.items())
            for at in range(len(values)):
                if len({world[at] for world in refused}) == 1:
                    assert at + 1 in each.disclosed
        assert not each.reveals
        worlds = worlds if each.looks == REFUSED else same


@FEW
@given(conversations(), st.sampled_from(sorted(PLACES)))
def test_a_simulatable_refusal_does_not_depend_on_the_data(conversation, name) -> None:
    values, questions = conversation
    found = audited(name, values, questions)
    for other in product(range(1, 4), repeat=len(values)):
        again = audited(name, list(other), questions)
        for here, there in zip(found, again, strict=True):
            assert (here.simulatable == REFUSED) == (there.simulatable == REFUSED)
            if here.answer != there.answer:
                break


def test_the_examples_of_the_page() -> None:
    last = {name: audited(name, [3, 7, 2, 8, 10], asked)[-1] for name, asked in EXAMPLES.items()}
    assert {name: (each.looks, each.disclosed, each.simulatable, each.reveals) for name, each in last.items()} == {
        "max": (REFUSED, {5: 10}, REFUSED, {}),
        "min": (REFUSED, {3: 2}, REFUSED, {}),
        "median": (REFUSED, {2: 7}, REFUSED, {}),
    }


EXAMPLES = {
    "max": [[1, 2, 3, 4, 5], [1, 2, 3, 4]],
    "min": [[1, 2, 3, 4, 5], [1, 2, 4, 5]],
    "median": [[1, 2, 4], [1, 3, 5], [3, 4, 5]],
}


def test_a_value_asked_for_alone_is_refused_without_a_number() -> None:
    alone = audited("max", [3, 7], [[1]])[0]
    assert (alone.looks, alone.disclosed, alone.simulatable, alone.reveals) == (REFUSED, {}, REFUSED, {})
    assert "discloses no value" in "\n".join(audit("max", [3, 7], [[1]]).explanation())


@pytest.mark.parametrize(
    "arguments",
    [
        ("sum", [1, 2], [[1]]),
        ("max", [1], [[1]]),
        ("max", [1] * 7, [[1]]),
        ("max", [1, 2], []),
        ("max", [1, 2], [[3]]),
        ("max", [1, 2], [[]]),
    ],
)
def test_wrong_questions_are_refused(arguments) -> None:
    with pytest.raises(InvalidInput):
        audited(*arguments)
