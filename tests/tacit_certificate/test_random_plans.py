"""The checker of certificates and the prices agree on random plans, and a bug in either of them is a disagreement."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import plans
import questions
from checked import report_on
from stored import catalog, days, number, table

WORLDS = ("rows", "clinic", "hospital", "shop")
QUICK, SLOW = 150, 2500  # plans of each world
LAX = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plans")


def agree(folder: Path, world: str, examples: int) -> Counter[str]:
    """Quotes that were compared, by what was taken as stated."""
    compared: Counter[str] = Counter()

    @settings(max_examples=examples, **LAX)
    @given(dict(plans.every(folder))[world])
    def same(asked: plans.Asked) -> None:
        for quote in asked.quotes():
            report = report_on(quote, asked.catalog.change)
            assert not report.wrong, (asked.text, report.wrong)
            compared["quotes"] += 1
            compared["ranges as stated"] += any(text.startswith("the range") for text in report.stated)
            compared["curves as stated"] += any("its curve" in text for text in report.stated)

    same()
    return compared


@pytest.mark.parametrize("world", WORLDS)
def test_prices_and_checker_agree(folder, world):
    compared = agree(folder, world, QUICK)
    assert compared["quotes"] > QUICK / 3


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("world", WORLDS)
def test_prices_and_checker_agree_on_thousands(folder, world):
    compared = agree(folder, world, SLOW)
    assert compared["quotes"] > SLOW / 3


@pytest.mark.parametrize(("declared", "most"), [({"nulls": "drop"}, 4), ({}, 10)])
def test_a_case_that_covers_every_date_is_not_null(declared, most):
    """Of two numbers the smaller one is at most 4 if the quarter is never NULL; else the other one is taken, up to 10."""
    columns = days("day", "2020-01-30", "2021-05-02", **declared), number("small", 0, 10, **declared)
    known = catalog(Path(), table("t", Path("t.csv"), *columns, rows_at_most=1000))
    asked = plans.Asked("SELECT SUM(LEAST(EXTRACT(QUARTER FROM day), small)) FROM t", known, None, Fraction(1), Fraction(0))
    (quote,) = asked.quotes()
    (needed,) = [part.group.moments[0].value for part in quote.question.parts]
    assert needed.high == most
    assert not report_on(quote).wrong


def test_an_expression_with_parts_that_take_too_long_is_as_stated():
    """It has 100,000 ranges under its conditions: parts of it were taken as stated, and the whole was refused for what they are."""
    known = catalog(Path(), table("t", Path("t.csv"), *questions.COLUMNS, rows_at_most=1000))
    largest = "GREATEST(millions, EXTRACT(YEAR FROM DATE_TRUNC('month', day)), day - seen, 2)"
    asked = plans.Asked(f"SELECT SUM(GREATEST(1, signed, {largest}, 2)) FROM t", known, None, Fraction(1), Fraction(0))
    (quote, *_) = asked.quotes()
    report = report_on(quote)
    assert not report.wrong
    assert any(text.startswith("the range") for text in report.stated)
