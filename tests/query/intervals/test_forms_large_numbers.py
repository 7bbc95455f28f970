"""Numbers beyond 2^53 leave as they were released: exact in Python, exact text in JSON, with ends that are rounded outward."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stored import catalog, number, table
from tacit.privacy.catalog import Column, Owner
from tacit.query.intervals.bands import Noisy
from tacit.query.price.price import Quote, price, request
from tacit.query.question import domain
from tacit.release import tabulate
from tacit.release.answer import Answer, Receipt, record, recorded
from worlds import World, world_in_memory

COLUMNS = (number("cents", 0, 10**6, "0.01"), number("wide", -(2**52), 2**52 - 1), number("thirds", -1, 2, Fraction(1, 3)))
KEYS = (number("far", 9 * 10**14, 9 * 10**14 + 1, "0.1", nulls="drop"), number("tons", 0, 10**17, 10**16, nulls="drop"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("large")
    people = table("people", folder / "people.csv", Column("person", "key"), *COLUMNS, *KEYS, unit=Owner("person"))
    with world_in_memory(catalog(folder, people), {"people": []}) as made:
        yield made


def released(place: World, text: str, *numbers: Any) -> tuple[Quote, Answer]:
    """The answer where these whole numbers were released, one list for each moment."""
    (quote,) = price(place.plan(text), request(epsilon=1))
    groups = tuple(product(*(domain(key) for key in quote.question.group.keys)))
    sums = {part.place: (part, np.array(list(each))) for part, each in zip(quote.sums, numbers, strict=True)}
    return quote, tabulate.answer(quote, Noisy(groups, sums, {}), Receipt(quote.epsilon, quote.delta))


LARGE = st.integers(-(2**90), 2**90)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(LARGE, st.sampled_from(["cents", "wide", "thirds"]))
def test_a_sum_is_the_number_that_was_released(place: World, units: int, name: str) -> None:
    quote, found = released(place, f"SELECT SUM({name}) AS x FROM people", [units])
    step = {"cents": Fraction(1, 100), "wide": Fraction(1), "thirds": Fraction(1, 3)}[name]
    (value,), (low,), (high,) = found["x"], found.column("x").low or (), found.column("x").high or ()
    width = Fraction(quote.sums[0].mechanism.interval(0.95).above) * step
    if abs(units) <= 2**53:
        assert value == float(units * step)
        return
    assert type(value) is type(low) is type(high) is Decimal
    assert name == "thirds" or Fraction(value) == units * step
    assert abs(Fraction(value) - units * step) < Fraction(1, 10**30)
    assert units * step - width - Fraction(1, 10**30) < Fraction(low) <= units * step - width
    assert units * step + width <= Fraction(high) < units * step + width + Fraction(1, 10**30)
    cell = json.loads(found.to_json())["rows"][0]["x"]
    assert [Fraction(cell[end]) for end in ("value", "low", "high")] == [Fraction(end) for end in (value, low, high)]
    assert recorded(record(found)) == found


@pytest.mark.parametrize("units", [57, 29, 113, 2**53 - 1])
def test_a_sum_below_is_the_nearest_double(place: World, units: int) -> None:
    """Times 0.01 it would be 0.5700000000000001."""
    assert released(place, "SELECT SUM(cents) AS x FROM people", [units])[1]["x"] == (units / 100,)


def test_counts_are_whole_however_large(place: World) -> None:
    _, found = released(place, "SELECT COUNT(*) AS n FROM people", [2**53 + 1])
    assert found["n"] == (2**53 + 1,)
    assert found.column("n").low == (2**53 - 2,)
    assert json.loads(found.to_json())["rows"][0]["n"]["value"] == str(2**53 + 1)
    assert "9,007,199,254,740,993 ± 3" in str(found)
    assert found.to_arrow()["n"].to_pylist() == [2**53 + 1]


def test_a_sum_beside_an_average_is_exact_too(place: World) -> None:
    """It is made of a count and a centred sum: c/2 + n (low + high)/2, in steps."""
    quote, found = released(place, "SELECT AVG(wide) AS mean, SUM(wide) AS total FROM people", [10**6], [2**70 + 2])
    total = Fraction(2**70 + 2, 2) + Fraction(10**6 * -1, 2)
    assert found["total"] == (Decimal(int(total)),)
    widths = [Fraction(part.mechanism.interval(Fraction(39, 40)).above) for part in quote.sums]
    assert [Fraction(high) for high in found.column("total").high or ()] == [total + (widths[0] + widths[1]) / 2]
    assert isinstance(found["mean"][0], float)


def test_one_large_number_makes_the_column_decimal(place: World) -> None:
    text = "SELECT tons, SUM(wide) AS total FROM people GROUP BY tons"
    _, found = released(place, text, [1, 2**60 + 1, *range(9)])
    assert {type(value) for value in found["total"]} == {Decimal}
    assert found["total"][1] == 2**60 + 1
    assert found.to_pandas()["total"][1] == Decimal(2**60 + 1)
    assert "1152921504606846977" in found.to_csv()
    assert found.chart().svg()


def test_keys_that_doubles_would_confuse_are_exact(place: World) -> None:
    _, near = released(place, "SELECT far, COUNT(*) AS n FROM people GROUP BY far", range(11))
    assert len(set(near["far"])) == 11
    assert near["far"][1] == Decimal("900000000000000.1")
    _, large = released(place, "SELECT tons, COUNT(*) AS n FROM people GROUP BY tons", range(11))
    assert [row["tons"] for row in json.loads(large.to_json())["rows"]][:3] == [0, str(10**16), str(2 * 10**16)]


def test_what_doubles_would_make_of_it_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: all numbers go through doubles."""
    monkeypatch.setattr(tabulate, "large_numbers", lambda *_: None)
    _, found = released(place, "SELECT SUM(wide) AS x FROM people", [2**60 + 1])
    assert Fraction(found["x"][0]) != 2**60 + 1


def test_a_hundred_digits_leave_as_text(place: World, tmp_path: Path) -> None:
    _, found = released(place, "SELECT SUM(wide) AS x FROM people", [10**100 + 7])
    assert found.flat()["x"] == [str(10**100 + 7)]
    found.to_parquet(tmp_path / "x.parquet")
    assert replace(found).to_arrow()["x"].to_pylist() == [str(10**100 + 7)]
