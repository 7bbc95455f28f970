"""No unit moves a question over several private tables by more than its price: every unit is taken away in turn.

On stores made from raw rows with shared, repeated, dangling and missing keys. Both ways are walked: rows of a unit taken out of the
store, and the store made anew from the sources without them. Each rule of stability.md for joins is shown to be needed by a planted
bug that the same check catches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from join_questions import questions
from joined import HOSPITALS, Asked, Hospital, asked_of, units, without
from tacit.errors import NeverTrue, Refused, TooMuchWork
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.quantile_interval import QuantileWithInterval
from tacit.query.groups import domain, private
from tacit.query.plan import Question
from tacit.query.price.price import Quote, price, request

LENGTHS = pytest.mark.parametrize("examples", [8, pytest.param(150, marks=pytest.mark.slow)])
WIDELY = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])  # a store is slow to shrink
Groups = Mapping[Any, Any]


def quoted(asked: Asked, text: str) -> tuple[Quote, ...]:
    return price(asked.plan(text), request(epsilon=1, delta=Fraction(1, 10**6)))


def by_group(question: Question, asked: Asked) -> list[Groups]:
    """For every moment the exact answer of each group."""
    found = asked.exact(question)
    keys = found.pop() if private(question) else list(product(*(domain(key) for key in question.group.keys)))
    return [dict(zip(keys, moment, strict=True)) for moment in found]


def moved(one: Any, other: Any) -> int:
    """How far one group's answer moved; for a list, how many rows came or went."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        before, after = (
            Counter(dict(zip(*map(list, side), strict=True)) if isinstance(side, tuple) else {}) for side in (one, other)
        )
        return sum(((before - after) + (after - before)).values())
    return abs(int(one) - int(other))


def check(quotes: Sequence[Quote], full: Sequence[Groups], less: Sequence[Groups], text: str) -> None:
    """What moved is at most what each mechanism was told."""
    moves = [[moved(one.get(key, 0), other.get(key, 0)) for key in {**one, **other}] for one, other in zip(full, less, strict=True)]
    for quote in quotes:
        for part in quote.sums:
            found = moves[part.place]
            if isinstance(part.mechanism, Laplace):
                assert sum(found) <= part.mechanism.sensitivity, (text, part, found)
            else:
                assert sum(move**2 for move in found) <= part.mechanism.sensitivity**2, (text, part, found)
        for rank in quote.ranks:
            copies = 1 if isinstance(rank.mechanism, QuantileWithInterval) else rank.copies
            assert sum(moves[rank.place]) <= rank.mechanism.max_rows * copies, (text, rank, moves[rank.place])


def check_store(asked: Asked, texts: Sequence[str]) -> int:
    """Every unit is taken out of the store in turn. How many questions were answered."""
    answered = []
    for text in texts:
        try:
            quotes = quoted(asked, text)
        except Refused as refusal:
            assert isinstance(refusal, NeverTrue | TooMuchWork) or "tells nothing" in str(refusal), (text, str(refusal))
            continue
        answered.append((text, quotes, by_group(quotes[0].question, asked)))
    for code in asked.codes():
        asked.take(code)
        try:
            for text, quotes, full in answered:
                check(quotes, full, by_group(quotes[0].question, asked), text)
        finally:
            asked.put_back()
    return len(answered)


def check_sources(folder: Path, data: Hospital, texts: Sequence[str]) -> None:
    """Every unit is taken out of the raw rows in turn, and the store is made anew."""
    whole = asked_of(folder / "whole", data)
    found = [(text, quotes := quoted(whole, text), by_group(quotes[0].question, whole)) for text in texts]
    for unit in units(data):
        fewer = asked_of(folder / "less", without(data, unit))
        for text, quotes, full in found:
            check(quotes, full, by_group(quotes[0].question, fewer), text)
        fewer.close()
    whole.close()


@LENGTHS
def test_no_unit_moves_a_join_further_than_its_sensitivity(tmp_path: Path, examples: int) -> None:
    tried, answered = 0, 0

    @settings(WIDELY, max_examples=examples)
    @given(HOSPITALS, st.lists(questions(), min_size=6, max_size=8, unique=True))
    def inner(data: Hospital, texts: list[str]) -> None:
        nonlocal tried, answered
        asked = asked_of(tmp_path / "store", data)
        try:
            answered += check_store(asked, texts)
            tried += len(texts)
        finally:
            asked.close()

    inner()
    assert answered > tried // 2, "most generated questions are answered"
