"""Questions over several private tables mean what SQL says: the exact numbers are those of another engine on the raw tables.

On data where preparation changes nothing: keys are unique, every row has one owner, no limit is reached. Where tacit reads a text in
its own way (NOT IN with NULL, an average per person on a public step), the tests say which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from join_questions import questions
from joined import Asked, Hospital, asked_of, clean_hospitals, hospital, in_plain_sql
from tacit.errors import NeverTrue, NotAllowed, Refused, TooMuchWork
from tacit.query.groups import domain, key_value
from tacit.query.plan import Call, NumberType, Question, Result
from tacit.query.price.aggregates import moments_of

LENGTHS = pytest.mark.parametrize("examples", [10, pytest.param(200, marks=pytest.mark.slow)])
WIDELY = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])  # a store is slow to shrink


def exactly(call: Call, question: Question, moments: list[Any], place: int) -> Any:
    """The exact value of an aggregate in one group; of a quantile all values, counted."""
    needed = moments_of(call, question.calls)
    found = [moments[question.group.moments.index(each)][place] for each in needed]
    node, step = needed[-1].value, call.over.type.step if call.over is not None and isinstance(call.over.type, NumberType) else 1
    match [each.kind for each in needed]:
        case ["rows"] | ["units"]:
            return int(found[0])
        case ["sum"]:
            return int(found[0]) * step
        case ["rows", "sum"]:
            return Fraction(int(found[1])) * step / int(found[0]) if found[0] else None
        case ["rows", "centred"]:
            total = (Fraction(int(found[1])) + int(found[0]) * (node.low + node.high)) / 2 * step
            return total if call.name == "sum" else total / int(found[0]) if found[0] else None
        case ["list"]:
            values, counts = found[0]
            return Counter({(int(value) + node.low) * step: int(count) for value, count in zip(values, counts, strict=True)})
    raise AssertionError(needed)


def ours(asked: Asked, text: str) -> dict[tuple[Any, ...], list[Any]]:
    """The exact answer: for every group the values of its aggregates."""
    question = asked.plan(text)
    moments = asked.exact(question)
    cells = list(product(*(domain(key) for key in question.group.keys)))
    found = {}
    for place, cell in enumerate(cells):
        key = tuple(key_value(key.term, stored) for key, stored in zip(question.group.keys, cell, strict=True))
        calls = [question.calls[out.value.index] for out in question.outputs if isinstance(out.value, Result)]
        found[key] = [exactly(call, question, moments, place) for call in calls]
    return found


def theirs(plain: Any, text: str, keys: int) -> dict[tuple[Any, ...], list[Any]]:
    rows = plain.execute(text.replace("MEDIAN(", "LIST(")).fetchall()
    return {tuple(row[:keys]): [_value(each) for each in row[keys:]] for row in rows}


def _value(found: Any) -> Any:
    if isinstance(found, list):
        return Counter(each for each in found if each is not None)
    return found


def agree(asked: Asked, plain: Any, text: str) -> None:
    mine, keys = ours(asked, text), len(asked.plan(text).group.keys)
    wanted = theirs(plain, text, keys)
    assert set(wanted) <= set(mine), (text, wanted, mine)
    for key, values in mine.items():
        for one, two in zip(values, wanted.get(key, [None] * len(values)), strict=True):
            same = abs(float(one) - two) < 1e-9 if isinstance(one, Fraction) and two is not None else (one or 0) == (two or 0)
            assert same or (not one and not two), (text, key, values, wanted.get(key))


@LENGTHS
def test_the_exact_numbers_are_those_of_plain_sql(tmp_path: Path, examples: int) -> None:
    asked_for = ("COUNT(*)", "COUNT({0})", "SUM({0})", "AVG({0})", "MEDIAN({0})", "COUNT(DISTINCT {1})")
    tried, answered = 0, 0

    @settings(WIDELY, max_examples=examples)
    @given(clean_hospitals(), st.lists(questions(asked_for), min_size=8, max_size=10, unique=True))
    def inner(data: Hospital, texts: list[str]) -> None:
        nonlocal tried, answered
        asked = asked_of(tmp_path / "store", data, max_joined_rows=5000)
        with in_plain_sql(data) as plain:
            for text in texts:
                tried += 1
                try:
                    asked.plan(text)
                except Refused as refusal:
                    assert isinstance(refusal, NeverTrue | TooMuchWork) or "tells nothing" in str(refusal), (text, str(refusal))
                    continue
                answered += 1
                agree(asked, plain, text)
        asked.close()

    inner()
    assert answered > tried // 2, "most generated questions are answered"
