"""Margins in intervals through the whole road: counts of a known table, totals that agree, intervals that hold together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from typer.testing import CliRunner

from chance import fewest_hits
from hospital import NOW, PEOPLE, files
from tacit.doors.cli import app
from tacit.errors import InvalidInput, NotAllowed
from tacit.query.price.shared import Sharing
from tacit.query.ranges import layout_of
from tacit.release import ranges
from tacit.session import Session
from tacit.session import open as open_data
from tacit_certificate.check import Certificate

AGES = [at * 7 % 100 for at in range(PEOPLE)]
SEXES = ["FM"[at % 2] for at in range(PEOPLE)]


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session that may spend so much that answers are nearly exact."""
    folder = tmp_path_factory.mktemp("ranges")
    catalog = files(folder)
    text = catalog.read_text("utf-8").replace("epsilon = 2\n", "epsilon = 90000\n").replace("epsilon = 8\n", "epsilon = 90000\n")
    catalog.write_text(text, "utf-8")
    with open_data(catalog, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
        session = data.session("ana")
        session.clock = lambda: NOW
        yield session


def test_histograms_and_cumulative_counts_are_those_of_the_table(ana: Session) -> None:
    answer = ana.margins("patients", ["age:5/10/20", "sex"], epsilon=900)
    for row in answer.rows():
        inside = [age for age, sex in zip(AGES, SEXES, strict=True) if row["sex"] in (None, sex)]
        inside = [age for age in inside if row["age_from"] is None or row["age_from"] <= age < row["age_to"]]
        assert row["n"]["value"] == len(inside)
    assert {(row["age_to"] or 0) - (row["age_from"] or 0) for row in answer.rows()} == {0, 5, 10, 20}
    counted = ana.margins("patients", ["age:10", "sex"], prefixes=["age"], epsilon=900)
    for row in counted.rows():
        below = [age for age, sex in zip(AGES, SEXES, strict=True) if row["sex"] in (None, sex)]
        assert row["n"]["value"] == sum(row["age_below"] is None or age < row["age_below"] for age in below)
    some = ana.margins("patients", ["age:10"], prefixes=["age"], where="sex = 'F'", epsilon=900)
    assert some["n"][-1] == SEXES.count("F")


def test_dates_are_counted_from_the_first_declared_day(ana: Session) -> None:
    answer = ana.margins("visits", ["day:365"], prefixes=["day"], epsilon=900)
    assert answer.rows()[0]["day_below"] == "2020-12-31"
    assert [column.name for column in answer.columns] == ["day_below", "n"]
    assert list(answer["n"]) == sorted(answer["n"])


def test_what_is_noisy_agrees_and_the_same_again_is_free(ana: Session) -> None:
    answer = ana.margins("patients", ["age:10", "sex"], prefixes=["age"], epsilon="0.5")
    rows = answer.rows()
    for below in {row["age_below"] for row in rows if row["age_below"] is not None}:
        of = {row["sex"]: row["n"]["value"] for row in rows if row["age_below"] == below}
        assert of.pop(None) == sum(of.values())
    again = ana.margins("patients", ["age:10", "sex"], prefixes=["age"], epsilon="0.5")
    assert again.rows() == rows
    assert again.receipt.again


def test_the_checker_derives_the_price(ana: Session) -> None:
    answer = ana.margins("patients", ["age:10", "sex"], prefixes=["age"], epsilon="0.25", delta="1e-9")
    report = Certificate(answer.certificate.document).contents()
    assert report.wrong == []
    assert any("determine all its residuals" in line for line in report.checked)
    assert answer.receipt.epsilon == Fraction(1, 4)


def held(ana: Session, runs: int, delta: str) -> int:
    """How often all cumulative counts of an answer are in their intervals together."""
    exact = {below: sum(age < below for age in AGES) for below in range(10, 130, 10)}
    hits = 0
    for run in range(runs):
        budget = {"epsilon": Fraction(1) + Fraction(run, 1000), "delta": delta, "simultaneous": True, "confidence": "0.8"}
        answer = ana.margins("patients", ["age:10"], prefixes=["age"], **budget)
        hits += all(row["n"]["low"] <= exact[row["age_below"]] <= row["n"]["high"] for row in answer.rows())
    return hits


@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_all_intervals_hold_together(ana: Session, delta: str) -> None:
    assert held(ana, 30, delta) >= fewest_hits(30, 0.8)


def test_planted_widths_of_the_last_digit_alone_are_caught(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ranges.Part._widths
    monkeypatch.setattr(ranges.Part, "_widths", lambda part, missed: real(part, missed) / 6)
    assert held(ana, 30, "1e-10") < fewest_hits(30, 0.8)


def test_what_is_not_supported_is_refused(ana: Session) -> None:
    with pytest.raises(InvalidInput, match="tidy"):
        ana.margins("patients", ["age:10"], epsilon=1, tidy=True)
    with pytest.raises(NotAllowed, match="cumulative"):
        ana.sql("SELECT COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY ward", epsilon=1, loss="cumulative")


def test_what_the_command_prints(ana: Session) -> None:
    where = ["--catalog", str(ana.data.catalog.path), "--analyst", "ana"]
    words = ["margins", "patients", "--columns", "age:20,sex", "--prefixes", "age", "--epsilon", "0.125", *where]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(done.output)
    assert [column["name"] for column in document["columns"]] == ["age_below", "sex", "n"]
    assert document["price"]["epsilon"] == "0.125"
    explained = CliRunner().invoke(app, [*words, "--explain"])
    assert explained.exit_code == 0, explained.output
    assert "price: epsilon 0.125" in explained.output


def test_one_grouping_set_can_share_measurements_only_where_it_is_cumulative(ana: Session) -> None:
    offer = ana._offer(*_asked(ana))
    assert Sharing.of(offer.question, [part.reach for part in offer.quotes[0].parts]) is None
    assert all(part.shared for part in offer.quotes[0].parts)


def _asked(ana: Session) -> Any:
    layout = layout_of(ana.data.as_prepared, "patients", ["age:10"], ["age"], {})
    return *ranges.select_of(layout, {"epsilon": 1}), layout.sql
