"""Covariance, correlation and regression: what SQL means by them, from sums of rows in which both columns have a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import CHANCE
from questions import clinic_rows
from tacit.errors import WrongType
from tacit.query.intervals.aggregates import finish_call, moments_of
from tacit.query.intervals.bands import Band
from tacit.query.price import stability
from tacit.query.price.price import price, request
from tacit.query.question import Question
from tacit.release.answer import Receipt
from tacit.release.noisy import noised
from tacit.release.tabulate import answer
from worlds import PUBLIC, World, clinic, ranked, world_in_memory

CALLS = ["COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT"]
TEXT = f"SELECT {', '.join(f'{call}(cost, age) AS {call.lower()}' for call in CALLS)} FROM visits"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("pairs"), max_rows=1), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def filled(place: World, rows: list[dict[str, Any]]) -> World:
    return place.with_rows("visits", ranked([[row] for row in rows]))


def in_plain_sql(rows: list[dict[str, Any]]) -> list[float | None]:
    """The same question to DuckDB, on the values themselves."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits (cost DOUBLE, age DOUBLE)")
        values = [(None if row["cost"] is None else row["cost"] / 100, row["age"] - 3) for row in rows]
        connection.executemany("INSERT INTO visits VALUES (?, ?)", values)
        return list(connection.execute(TEXT).fetchone() or ())


def exact_values(made: World, question: Question) -> list[float]:
    """The calls of a question from its exact sums."""
    exact = [np.asarray(moment, dtype=np.float64) for moment in made.exact(question)]
    places = {moment: at for at, moment in enumerate(question.group.moments)}
    found = []
    for call in question.calls:
        bands = tuple(Band(*([exact[places[moment]]] * 3)) for moment in moments_of(call, question.calls))
        found.append(float(finish_call(call, question.calls, bands).value[0]))
    return found


@settings(max_examples=12, deadline=None)
@given(st.lists(clinic_rows(), min_size=2, max_size=12))
def test_the_meaning_is_that_of_sql(place: World, rows: list[dict[str, Any]]) -> None:
    wanted = in_plain_sql(rows)
    if None in wanted or not all(map(np.isfinite, wanted)):  # fewer than two rows with both, or one of them constant
        return
    found = exact_values(made := filled(place, rows), made.plan(TEXT))
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_rows_without_both_values_count_nowhere(place: World) -> None:
    row = {"ward": 0, "cost": 100, "age": 3, "day": 0, "diagnosis": None, "scan": None}
    rows = [row, {**row, "cost": 300, "age": 9}, {**row, "cost": 450, "age": 0}]
    made = filled(place, rows)
    before = made.exact(question := made.plan(TEXT))
    after = filled(made, [*rows, {**row, "cost": None, "age": 10}]).exact(question)
    assert [list(moment) for moment in before] == [list(moment) for moment in after]


@settings(max_examples=12, deadline=None)
@given(st.lists(clinic_rows(), min_size=3, max_size=12), st.integers(0, 2**32 - 1))
def test_the_ends_hold_wherever_the_sums_lie_between_theirs(place: World, rows: list[dict[str, Any]], seed: int) -> None:
    """The chance of a miss is that of a sum: what is made of sums that are within their ends is within its own."""
    wanted = in_plain_sql(rows)
    made = filled(place, rows)
    question, draw = made.plan(TEXT), np.random.default_rng(seed)
    exact = [np.asarray(moment, dtype=np.float64) for moment in made.exact(question)]
    width = [10.0 ** draw.integers(-2, 5) for _ in exact]
    moved = [one + draw.uniform(-wide, wide, 1) for one, wide in zip(exact, width, strict=True)]
    places = {moment: at for at, moment in enumerate(question.group.moments)}
    for call, truth in zip(question.calls, wanted, strict=True):
        if truth is None or not np.isfinite(truth):
            continue
        bands = []
        for moment in moments_of(call, question.calls):
            at = places[moment]
            bands.append(Band(moved[at], moved[at] - width[at], moved[at] + width[at]))
        band = finish_call(call, question.calls, tuple(bands))
        slack = 1e-6 * (1 + abs(truth))
        assert band.low[0] - slack <= truth <= band.high[0] + slack, call.name


def test_released_values_are_near_with_much_budget(place: World) -> None:
    rows = [
        {"ward": 0, "cost": 400 * age + 37 * (at % 5), "age": age, "day": 0, "diagnosis": None, "scan": None}
        for at in range(40)
        for age in range(11)
    ]
    made = filled(place, rows)
    (quote, *_) = price(made.plan(TEXT), request(epsilon=10**6, confidence=1 - Fraction(CHANCE) / 5))
    found = answer(quote, noised(quote, made.engine.run(quote.question.group)), Receipt(quote.epsilon, quote.delta))
    values = [found[call.lower()][0] for call in CALLS]
    assert values == pytest.approx(in_plain_sql(rows), rel=1e-2)
    for call, value in zip(CALLS, in_plain_sql(rows), strict=True):
        column = found.column(call.lower())
        assert column.low is not None
        assert column.high is not None
        assert column.low[0] <= value <= column.high[0]


def test_little_budget_claims_nothing(place: World) -> None:
    """Where a variance may be 0, the ends of a slope are unknown, and a correlation is somewhere from -1 to 1.

    At a confidence of 0.95 both the count and the squares lie beyond their ends, and make a slope known, five times in a million.
    """
    made = filled(place, [{"ward": 0, "cost": 1, "age": 2, "day": 0, "diagnosis": None, "scan": None}] * 3)
    (quote, *_) = price(made.plan(TEXT), request(epsilon=Fraction(1, 100), confidence=Fraction(999, 1000)))
    found = answer(quote, noised(quote, made.engine.run(quote.question.group)), Receipt(quote.epsilon, quote.delta))
    assert (found.column("corr").low, found.column("corr").high) == ((-1.0,), (1.0,))
    assert (found.column("regr_slope").low, found.column("regr_slope").high) == ((None,), (None,))


def test_products_at_the_price_of_one_column_are_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: a product is taken to move as its first factor does."""
    worst = {"ward": 0, "cost": 5000, "age": 10, "day": 0, "diagnosis": None, "scan": None}
    made = filled(place, [worst])
    question = made.plan("SELECT COVAR_POP(cost, age) FROM visits")
    place_of = [moment.kind for moment in question.group.moments].index("products")
    moved = abs(int(made.exact(question)[place_of][0]))

    def told() -> Fraction:
        (quote, *_) = price(question, request(epsilon=1))
        return next(part.mechanism.sensitivity for part in quote.sums if part.place == place_of)

    assert moved == told()
    honest = stability.row_range
    monkeypatch.setattr(stability, "row_range", lambda moment, fixed: honest(replace(moment, kind="centred")))
    assert moved > told()


@pytest.mark.parametrize("text", ["CORR(cost, ward)", "COVAR_POP(day, age)", "REGR_SLOPE(diagnosis, age)"])
def test_only_numbers_are_paired(place: World, text: str) -> None:
    with pytest.raises(WrongType):
        place.plan(f"SELECT {text} FROM visits")
