"""Which limits shaped an answer: said with every answer, from plan and catalog alone, in few words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest

from stored import catalog, category, days, number, table
from tacit.privacy.catalog import Column, Owner, Source, Table
from tacit.query.price.price import price, request
from tacit.release.answer import Answer, Receipt, record, recorded
from tacit.release.noisy import noised
from tacit.release.tabulate import answer, shaping
from worlds import PUBLIC, WARDS, World, world_in_memory

BILLS = (
    category("ward", "a", "b", unknown="other"),
    category("sex", "F", "M", unknown="drop"),
    number("amount", 0, 200_000),
    number("share", 0, "0.5", "0.01", outside="null"),
    number("age", 0, 110, outside="drop", nulls="drop"),
    number("rooms", 1, 9, nulls=Fraction(2)),
    days("day", "2020-01-01", "2024-12-31"),
    Column("street", "text"),
    Column("scan", "presence"),
)
LEFT_OUT = "rows left out: without utility, age; with age outside 0..110; with unknown sex"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("shaping")
    limits = {"max_rows": 12, "max_rows_per_group": 3, "rows_at_most": 10**4}
    bills = table("bills", folder / "bills.csv", *BILLS, unit=Owner("utility"), **limits)
    people = table("people", folder / "people.csv", Column("id", "key"), number("age", 0, 110))
    loose = table("loose", folder / "loose.csv", number("x", 0, 1))
    wards = Table("wards", Source("csv", "wards.csv"), {column.name: column for column in WARDS}, public=True)
    rows = {"bills": [], "people": [], "loose": [], "wards": PUBLIC}
    with world_in_memory(catalog(folder, bills, people, loose, wards), rows) as made:
        yield made


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("SELECT COUNT(*) FROM bills", ["at most 12 rows per utility", LEFT_OUT]),
        ("SELECT SUM(amount) FROM bills", ["at most 12 rows per utility", "amount limited to 0..200,000", LEFT_OUT]),
        (
            "SELECT ward, AVG(share + rooms) FROM bills WHERE day > '2021-01-01' GROUP BY ward",
            [
                "at most 12 rows per utility, 3 in a group",
                "unknown ward counts as other",
                "share outside 0..0.5 is NULL, in steps of 0.01",
                "rooms limited to 1..9",
                "missing rooms counts as 2",
                "day limited to 2020-01-01..2024-12-31",
                LEFT_OUT,
            ],
        ),
        (
            "SELECT COUNT(CASE WHEN ABS(amount - 5) > 3 THEN 1 END) FROM bills JOIN wards ON wards.ward = bills.ward",
            ["at most 12 rows per utility", "unknown ward counts as other", "amount limited to 0..200,000", LEFT_OUT],
        ),
        ("SELECT AVG(age) FROM people", ["at most 1 row per id", "age limited to 0..110"]),
        ("SELECT COUNT(*) FROM loose", []),
        ("SELECT COUNT(scan) FROM bills WHERE street LIKE 'A%'", ["at most 12 rows per utility", LEFT_OUT]),
    ],
)
def test_the_limits_of_what_is_asked_are_said(place: World, question: str, said: list[str]) -> None:
    assert list(shaping(price(place.plan(question), request(epsilon=1))[0])) == said


def test_private_keys_say_from_which_number_on_a_group_is_shown(place: World) -> None:
    (quote, *_) = price(place.plan("SELECT street, COUNT(*) FROM bills GROUP BY street"), request(epsilon=1, delta=1e-6))
    assert quote.keys is not None
    assert shaping(quote)[-1] == f"groups below a noisy number of {quote.keys.threshold} units are not shown"


def test_rows_without_a_unit_that_stay_are_not_said_to_be_left_out(place: World) -> None:
    bills = replace(place.catalog.tables["bills"], no_unit="own")
    kept = place.with_catalog(replace(place.catalog, tables={**place.catalog.tables, "bills": bills}))
    said = shaping(price(kept.plan("SELECT COUNT(*) FROM bills"), request(epsilon=1))[0])
    assert said[-1] == "rows left out: without age; with age outside 0..110; with unknown sex"


def released(place: World, text: str) -> Answer:
    (quote,) = price(place.plan(text), request(epsilon=1))
    receipt = Receipt(quote.epsilon, quote.delta)
    return answer(quote, noised(quote, place.engine.run(quote.question.group)), receipt, ["intervals cover the noise"])


def test_every_form_for_people_says_them_and_json_has_them_as_notes(place: World) -> None:
    found = released(place, "SELECT SUM(amount) AS total FROM bills")
    line = f"limits: at most 12 rows per utility; amount limited to 0..200,000; {LEFT_OUT}"
    assert str(found).splitlines()[-1] == line
    assert line in found._repr_html_()
    notes = json.loads(found.to_json())["notes"]
    assert notes == ["at most 12 rows per utility", "amount limited to 0..200,000", LEFT_OUT, "intervals cover the noise"]
    assert recorded(record(found)) == found
    assert "limits" not in str(released(place, "SELECT COUNT(*) FROM loose"))
