"""A quote keeps its value on the way to an engine, and a message becomes a quote or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from questions import clinic_questions
from tacit.errors import InvalidValue, TacitError
from tacit.privacy.sealed import Sealed
from tacit.query.price.price import Quote, price, request
from tacit.release.elsewhere.quotes import fingerprint_of, quote_read, quote_written
from worlds import PUBLIC, World, clinic, ranked, world_in_memory

ROWS = [[{"ward": at % 3, "cost": 100 * at, "age": at % 11, "day": at, "diagnosis": "flu", "scan": 0}] for at in range(9)]
BUDGETS: list[dict[str, Any]] = [
    {"epsilon": "1", "delta": "0.001"},
    {"epsilon": Fraction(1, 3)},
    {"error": 100, "confidence": Fraction(9, 10)},
    {"epsilon": 2, "delta": "1e-9", "interval": False, "simultaneous": True},
]
KINDS = [
    "SELECT ward, COUNT(*), AVG(cost), STDDEV(age), MEDIAN(cost), MODE(ward) FROM visits WHERE day < '2020-03-20' GROUP BY ward",
    "SELECT diagnosis, COUNT(DISTINCT person) AS n FROM visits WHERE diagnosis LIKE '%u_' GROUP BY diagnosis HAVING n > 2",
    "SELECT site, ward, SUM(cost) FROM visits JOIN wards USING (ward) GROUP BY ROLLUP (site, ward) ORDER BY 3 LIMIT 2",
    "SELECT COUNT(*), 1.5 AS x, 'word' AS y FROM visits UNION ALL SELECT SUM(cost), 2.5, 'other' FROM visits",
    "WITH per AS (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) SELECT AVG(n), MAX(n) FROM per",
    "SELECT EXTRACT(MONTH FROM day) AS month, QUANTILE_CONT(cost, 0.1), QUANTILE_CONT(cost, 0.9) FROM visits GROUP BY month",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    catalog = clinic(tmp_path_factory.mktemp("quotes"), max_rows=2)
    with world_in_memory(catalog, {"visits": ranked(ROWS), "wards": PUBLIC}) as made:
        yield made


def quotes_of(place: World, text: str, budget: dict[str, Any]) -> tuple[Quote, ...]:
    try:
        return price(place.plan(text), request(**budget))
    except TacitError:  # refused before it is priced
        return ()


def check(quote: Quote) -> None:
    again = quote_read(quote_written(quote))
    assert again == quote
    assert fingerprint_of(again, "v") == fingerprint_of(quote, "v")
    assert quote_written(again) == quote_written(quote), "shared parts stay shared"


@pytest.mark.parametrize("text", KINDS)
def test_a_quote_keeps_its_value(place: World, text: str) -> None:
    quotes = [quote for budget in BUDGETS for quote in quotes_of(place, text, budget)]
    assert quotes
    for quote in quotes:
        check(quote)


@settings(max_examples=60, deadline=None)
@given(text=clinic_questions(private_keys=True), budget=st.sampled_from(BUDGETS))
def test_any_quote_keeps_its_value(place: World, text: str, budget: dict[str, Any]) -> None:
    for quote in quotes_of(place, text, budget):
        check(quote)


def test_large_numbers_keep_their_value(place: World) -> None:
    quote = quotes_of(place, KINDS[0], BUDGETS[0])[0]
    for epsilon in (Fraction(3**9000, 7**9000), 10**5000, 2**64, -(2**70), 0.1, True):
        large = quote_read(quote_written(_with(quote, epsilon))).epsilon
        assert (large, type(large)) == (epsilon, type(epsilon))


def _with(quote: Quote, epsilon: Any) -> Quote:
    made = object.__new__(Quote)
    for field in fields(Quote):
        object.__setattr__(made, field.name, epsilon if field.name == "epsilon" else getattr(quote, field.name))
    return made


def test_no_depth_is_too_large(place: World) -> None:
    deep: Any = ()
    for _ in range(50_000):
        deep = (deep,)
    quote = quotes_of(place, KINDS[0], BUDGETS[0])[0]
    found = quote_read(quote_written(_with(quote, deep))).epsilon
    while found:
        (found,) = found  # type: ignore[misc]
    assert found == ()


def test_exact_numbers_are_not_written(place: World) -> None:
    quote = quotes_of(place, "SELECT COUNT(*) FROM visits", BUDGETS[1])[0]
    exact = place.engine.run(quote.question.group)
    for sealed in (exact, Sealed(42)):
        with pytest.raises(TypeError):
            quote_written(sealed)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            quote_written(_with(quote, sealed))


@pytest.mark.parametrize(
    "values",
    [
        [],
        [["=", 1]],
        [["builtins:eval"]],
        [["os:system", 0]],
        [["=", "rm"], ["subprocess:Popen", 0]],
        [["tacit.files:Path", 0]],
        [["tacit.query.price.quote:Quote"]],
        [["tacit.query.price.quote:price_of"]],
        [["tacit.privacy.sealed:Sealed"]],
        [["tacit.query.nowhere:Quote"]],
        [["tuple", 0]],
        [["=", 1], ["tuple", -1]],
        [["/", "0x1", "0x0"]],
        [["dict", 0]],
        "text",
        7,
        None,
        {"a": 1},
    ],
)
def test_anything_else_is_not_a_quote(values: Any) -> None:
    with pytest.raises(InvalidValue, match="not a quote"):
        quote_read(json.dumps(values).encode())


@given(st.binary(max_size=200) | st.recursive(st.integers() | st.text(), st.lists).map(lambda each: json.dumps(each).encode()))
def test_noise_is_not_a_quote(content: bytes) -> None:
    with pytest.raises(InvalidValue, match="not a quote"):
        quote_read(content)


def test_a_changed_message_makes_nothing_but_frozen_values(place: World) -> None:
    content = quote_written(quotes_of(place, KINDS[0], BUDGETS[0])[0])

    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, len(content) - 1), st.binary(min_size=1, max_size=4))
    def check_one(at: int, put: bytes) -> None:
        try:
            quote = quote_read(content[:at] + put + content[at + len(put) :])
        except InvalidValue:
            return
        assert is_dataclass(quote)
        assert type(quote) is Quote

    check_one()
