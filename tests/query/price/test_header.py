"""The header of an answer in advance: its types fit the values that come, and its kinds are those of the answer and of LIMIT 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from questions import COLUMNS as EVERY_KIND
from questions import clinic_questions, keys
from stored import catalog as catalog_of
from stored import table as table_of
from tacit.errors import Refused
from tacit.query.language.sql import parse
from tacit.query.no_rows import plan_without_rows
from tacit.query.price import header
from tacit.query.price.header import Heading, header_of
from tacit.query.price.price import price, request
from tacit.query.price.quote import or_one, request_of
from tacit.query.question import Question
from tacit.release.answer import Answer, Receipt
from tacit.release.noisy import ran
from tacit.release.noisy import released as noisy_numbers
from tacit.release.tabulate import answer, without_rows
from worlds import PUBLIC, World, clinic, ranked, world_in_memory

ROWS = [
    [{"ward": 0, "cost": 100, "age": 3, "day": 4, "diagnosis": "flu", "scan": 0}],
    [{"ward": 1, "cost": 4000, "age": 9, "day": 80, "diagnosis": "cold", "scan": None}],
    [{"ward": None, "cost": None, "age": 0, "day": 0, "diagnosis": None, "scan": None}],
]
SHAPES = [
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ROLLUP (ward)",
    "SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY ward UNION ALL SELECT 'all', COUNT(*) / 2 FROM visits",
    "SELECT age AS k, COUNT(*) AS n FROM visits GROUP BY age UNION ALL SELECT cost, AVG(age) FROM visits GROUP BY cost",
    "SELECT ward, CASE WHEN COUNT(*) > 1 THEN ward END AS w FROM visits GROUP BY ward",
    "SELECT ward, CASE WHEN COUNT(*) > 1 THEN 'many' ELSE 'few' END AS w FROM visits GROUP BY ward",
    "SELECT ward, COUNT(*) > 1 AS t, COUNT(*) / 0 AS z, NULL AS nothing, 3 AS three, 0.5 AS half FROM visits GROUP BY ward",
    "SELECT age, RANK() OVER (ORDER BY COUNT(*)) AS r, SUM(COUNT(*)) OVER (ORDER BY age) AS c FROM visits GROUP BY age",
    "SELECT age, LAG(COUNT(*)) OVER (ORDER BY age) AS l, ROUND(AVG(cost)) AS a, ROUND(AVG(cost), 1) AS b FROM visits GROUP BY age",
    "SELECT DATE_TRUNC('month', day) AS m, MAX(day) AS last, COALESCE(MAX(day), DATE '2020-01-01') AS c FROM visits GROUP BY m",
    "SELECT ward, COALESCE(ward, 'none') AS w, ward = 'a' AS a, NULLIF(ward, 'a') AS x, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT MODE(ward) AS w, MODE(age) AS a, MODE(day) AS d, MEDIAN(age) AS m, FLOOR(AVG(cost)) AS f FROM visits",
    "SELECT age, COUNT(*) - (SELECT COUNT(*) FROM visits) AS d, GREATEST(COUNT(*), 2) AS g FROM visits GROUP BY age",
    "SELECT age + 1 AS k, age / 2 AS h, COUNT(*) * 2 AS n, ABS(SUM(cost)) AS s FROM visits WHERE age > 4 GROUP BY age",
    "SELECT CORR(cost, age) AS r, COVAR_POP(cost, age) AS c, VAR_POP(cost) AS v, STDDEV(age) AS d FROM visits",
    "SELECT EXTRACT(MONTH FROM day) AS m, COUNT(DISTINCT person) AS p FROM visits GROUP BY m HAVING COUNT(*) > -9",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    catalog = clinic(tmp_path_factory.mktemp("header"), 8, 3)
    with world_in_memory(catalog, {"visits": ranked(ROWS), "wards": PUBLIC}) as made:
        yield made


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("kinds")
    with world_in_memory(catalog_of(folder, table_of("t", folder / "t.csv", *EVERY_KIND)), {"t": []}) as made:
        yield made


def released(world: World, plan: Question) -> Answer:
    """A real answer, with delta where private keys need it."""
    quote = price(plan, request(epsilon=3, delta="1e-3"))[-1]
    return answer(quote, noisy_numbers(quote, ran(quote, world.engine.run)), Receipt(quote.epsilon, quote.delta))


FITS: dict[str | None, Callable[[Any], bool]] = {
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float, Decimal),
    "text": lambda value: type(value) is str,
    "date": lambda value: type(value) is str and bool(date.fromisoformat(value)),
    "boolean": lambda value: type(value) is bool,
    None: lambda _: False,
}


def misfits(headings: tuple[Heading, ...], made: Answer) -> list[str]:
    """All that an answer has otherwise than its header says."""
    wrong = [] if [each.name for each in headings] == [column.name for column in made.columns] else ["names"]
    for heading, column in zip(headings, made.columns, strict=True):
        shown = made.flat()[column.name] if heading.type == "text" else column.values  # a category of numbers and texts
        values = [value for value in shown if value is not None]
        wrong += [f"{heading.name}: kind {column.kind}, not {heading.kind}"] if heading.kind != column.kind else []
        wrong += [f"{heading.name}: {value!r} is no {heading.type}" for value in values if not FITS[heading.type](value)]
        wrong += [f"{heading.name}: NULL"] if len(values) < len(column.values) and not heading.nullable else []
        if heading.low is not None:
            wrong += [f"{heading.name}: {value!r} leaves its range" for value in values if not heading.low <= value <= heading.high]
    return wrong


def check(world: World, text: str) -> None:
    plan = world.plan(text)
    made = released(world, plan)
    assert misfits(header_of(plan), made) == []
    asked = parse(f"{text} LIMIT 0")
    empty = without_rows(plan_without_rows(asked, world.catalog, world.facts), request_of((), or_one((), {})))
    assert [(each.name, each.kind) for each in header_of(plan)] == [(column.name, column.kind) for column in empty.columns]


@pytest.mark.parametrize("text", SHAPES)
def test_the_header_fits_the_answer_and_that_of_no_rows(place: World, text: str) -> None:
    check(place, text)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(clinic_questions(private_keys=True))
def test_the_header_fits_answers_to_generated_questions(place: World, text: str) -> None:
    try:
        place.plan(text)
    except Refused:
        return
    check(place, text)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(keys(), min_size=1, max_size=2, unique=True))
def test_the_header_fits_keys_of_every_kind(every_kind: World, wanted: list[str]) -> None:
    named = ", ".join(f"{key} AS k{at}" for at, key in enumerate(wanted))
    text = f"SELECT {named}, COUNT(*) AS n FROM t GROUP BY {', '.join(f'k{at}' for at in range(len(wanted)))}"
    try:
        plan = every_kind.plan(text)
        price(plan, request(epsilon=3, delta="1e-3"))
    except Refused:
        return
    check(every_kind, text)


PLANTED = {
    "a sum is an integer": lambda each: replace(each, type="integer") if each.kind == "sum" else each,
    "a key is never NULL": lambda each: replace(each, nullable=False) if each.kind == "key" else each,
    "an average has the range of a truth": lambda each: replace(each, low=0.0, high=0.5) if each.kind == "avg" else each,
    "a text is an expression": lambda each: replace(each, kind="expression") if each.kind == "text" else each,
    "a date is a number": lambda each: replace(each, type="number") if each.type == "date" else each,
}


@pytest.mark.parametrize("bug", PLANTED)
def test_the_check_finds_planted_bugs(place: World, bug: str) -> None:
    text = "SELECT ward, SUM(cost) AS s, AVG(cost) AS a, MAX(day) AS d, COUNT(*) > 1 AS t FROM visits GROUP BY ward"
    plan = place.plan(text)
    made = released(place, plan)
    assert misfits(header_of(plan), made) == []
    assert misfits(tuple(map(PLANTED[bug], header_of(plan))), made) != []


def test_ranges_are_those_that_are_declared(place: World) -> None:
    text = (
        "SELECT age, AVG(cost) AS mean, MEDIAN(day) AS middle, COUNT(*) AS n, SUM(age) AS s FROM visits WHERE age > 4 GROUP BY age"
    )
    ranges = {each.name: (each.low, each.high) for each in header_of(place.plan(text))}
    assert ranges == {
        "age": (5, 7), "mean": (0.0, 50.0), "middle": ("2020-01-30", "2020-05-02"), "n": (None, None), "s": (None, None),
    }  # fmt: skip


def test_free_columns_tell_their_types_by_public_values() -> None:
    columns = [("a", (1, None)), ("b", ("2024-01-31", None)), ("c", ("x", "2024-01-31")), ("d", ()), ("e", (True,))]
    assert [(each.type, each.nullable) for each in header.free_header(columns)] == [
        ("integer", True), ("date", True), ("text", False), (None, True), ("boolean", False),
    ]  # fmt: skip
