"""Several quantiles of one expression: in the answer they never cross, and each interval holds as often as it did alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import NotAllowed, WrongType
from tacit.query.plan import Column, NumberType, Term
from tacit.query.price.price import price, request
from tacit.query.question import Call
from tacit.release.answer import Receipt
from tacit.release.noisy import in_order, noised
from tacit.release.tabulate import answer
from worlds import PUBLIC, World, clinic, ranked, world_in_memory

ROW = {"ward": 0, "cost": 0, "age": 0, "day": 0, "diagnosis": None, "scan": None}
triples = st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)).map(sorted)


def called(share: Fraction, name: str = "x") -> Call:
    return Call("quantile", Term(Column(0, name, 0, 100, False), NumberType(Fraction(1))), share)


def drawn(triple: Any) -> tuple[Any, Any, Any]:
    low, value, high = (np.array([float(end)]) for end in triple)
    return value, low, high


@given(st.lists(triples, min_size=1, max_size=6), st.randoms())
def test_quantiles_of_one_expression_are_in_order_and_no_interval_shrinks(found: list[list[int]], shuffle: Any) -> None:
    calls = [called(Fraction(at, len(found))) for at in range(len(found))]
    ranks = {call: drawn(triple) for call, triple in zip(calls, found, strict=True)}
    mixed = list(ranks.items())
    shuffle.shuffle(mixed)
    agreed = in_order(dict(mixed))
    for one, two in pairwise(calls):
        assert all(before[0] <= after[0] for before, after in zip(agreed[one], agreed[two], strict=True))
    for call in calls:
        (value, low, high), (_, was_low, was_high) = ([float(end[0]) for end in ends] for ends in (agreed[call], ranks[call]))
        assert low <= value <= high
        assert low <= was_low <= was_high <= high


def test_other_expressions_have_no_part_in_it() -> None:
    ranks = {called(Fraction(1, 4)): drawn((8, 9, 10)), called(Fraction(3, 4), "y"): drawn((0, 1, 2))}
    assert in_order(ranks) == ranks


def test_an_interval_that_is_cut_by_others_is_caught() -> None:
    """The planted way: ends cut to what the other intervals allow. Where one of those misses, this one is made to miss, too."""
    truth, wrong, right = 5.0, drawn((7, 8, 9)), drawn((3, 4, 9))  # both quantiles are 5; the interval of the first misses
    one, two = called(Fraction(1, 4)), called(Fraction(3, 4))
    low = in_order({one: wrong, two: right})[two][1][0]
    cut = max(wrong[1][0], right[1][0])
    assert low <= truth < cut


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    rows = ranked([[{**ROW, "cost": cost}] for cost in range(0, 5000, 5)])
    with world_in_memory(clinic(tmp_path_factory.mktemp("agree"), max_rows=1), {"visits": rows, "wards": PUBLIC}) as made:
        yield made


def test_approximate_quantiles_are_columns_that_agree(place: World) -> None:
    text = "SELECT APPROX_QUANTILES(cost, 4) AS part, MEDIAN(cost) AS half, APPROX_QUANTILES(day, 1) FROM visits"
    (quote,) = price(place.plan(text), request(epsilon=50))
    assert [output.name for output in quote.question.outputs] == [
        *(f"part_{at}" for at in range(5)),
        "half",
        "quantile_0",
        "quantile_1",
    ]
    assert len(quote.ranks) == 7, "the median is one of the quartiles, and paid for once"
    found = answer(quote, noised(quote, place.engine.run(quote.question.group)), Receipt(quote.epsilon, quote.delta))
    values = [found[f"part_{at}"][0] for at in range(5)]
    assert values == sorted(values)
    assert found["half"] == found["part_2"]
    assert values[1:4] == pytest.approx([12.5, 25, 37.5], abs=2)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT APPROX_QUANTILES(cost, 4) + 1 FROM visits", NotAllowed),
        ("SELECT COUNT(*) FROM visits HAVING APPROX_QUANTILES(cost, 4) > 1", NotAllowed),
        ("SELECT APPROX_QUANTILES(cost, 0) FROM visits", WrongType),
        ("SELECT APPROX_QUANTILES(cost, 100) FROM visits", WrongType),
        ("SELECT APPROX_QUANTILES(cost, age) FROM visits", WrongType),
        ("SELECT APPROX_QUANTILES(cost) FROM visits", WrongType),
        ("SELECT APPROX_QUANTILES(ward, 4) FROM visits", WrongType),
    ],
)
def test_other_forms_are_refused(place: World, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        place.plan(text)
