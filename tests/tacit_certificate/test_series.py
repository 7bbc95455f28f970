"""Certificates of running totals: the checker makes the measurements again, and notices less noise, other moves and other cells."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from checked import checked, unsigned
from plans import Wards
from stored import catalog, days, table
from tacit.mechanisms.running import square_moved, strategy
from tacit.privacy.catalog import Catalog, Column, Owner
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.price.price import Quote, price, request
from tacit_certificate import series


def clinic(per_group: int | None = None, change: str = "add-remove") -> Catalog:
    visits = table(
        "visits", Path("visits.csv"), Column("person", "key"), days("day", "2018-01-01", "2019-12-31", nulls="drop"),
        unit=Owner("person"), max_rows=3, max_rows_per_group=per_group, rows_at_most=1000,
    )  # fmt: skip
    return catalog(Path(), visits, change=change)


MONTH = "DATE_TRUNC('month', day)"
TEXT = f"SELECT {MONTH} AS month, SUM(COUNT(*)) OVER (ORDER BY {MONTH}) AS n FROM visits GROUP BY month"


def quotes(known: Catalog) -> list[Quote]:
    found = price(rewrite(parse(TEXT), known, Wards()), request(epsilon=1, delta=Fraction(1, 10**6)), known.change)
    return [quote for quote in found if quote.sums[0].mechanism.name == "Gaussian, on running totals"]


@pytest.mark.parametrize("known", [clinic(), clinic(per_group=1), clinic(change="change-one")], ids=["rows", "spread", "changed"])
def test_the_checker_agrees(known: Catalog) -> None:
    assert quotes(known)
    for quote in quotes(known):
        report = checked(unsigned(quote, known.change))
        assert report.wrong == []
        assert any("measurements of 24 periods" in line for line in report.checked)


@pytest.mark.parametrize(("periods", "total", "largest", "bits"), [(1, 1, 1, 10), (5, 3, 1, 1), (24, 7, 2, 10), (60, 12, 12, 10)])
def test_both_programs_make_the_same_weights_and_bound(periods: int, total: int, largest: int, bits: int) -> None:
    columns = series.weights(periods, bits)
    assert [[0] * at + column for at, column in enumerate(columns)] == strategy(periods, bits).T.tolist()
    assert series.square_moved(periods, total, largest, bits) == square_moved(periods, total, largest, bits)


def both(name: str, factor: Fraction) -> Callable[[Any, Any], None]:
    """A number of the mechanism and of its event, changed together."""

    def edit(mechanism: Any, event: Any) -> None:
        mechanism[name] = event[name] = str(Fraction(event[name]) * factor)

    return edit


def told(name: str, value: Any) -> Callable[[Any, Any], None]:
    return lambda mechanism, _: mechanism.update({name: value})


EDITS = {
    "less noise": both("scale", Fraction(9, 10)),
    "a smaller sensitivity": both("sensitivity", Fraction(9, 10)),
    "fewer rows of a unit": told("total", 2),
    "fewer rows in a month": told("largest", 1),
    "other weights": told("bits", 9),
    "a shorter series": told("shape", [2, 12, 1]),
    "fewer cells": told("shape", [1, 23, 1]),
    "another rho": told("rho", "1/2"),
    "plain noise": told("kind", "gaussian"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_noticed(name: str) -> None:
    document = unsigned(quotes(clinic())[0])
    (mechanism,) = document["mechanisms"]
    (event,) = document["event"]["events"]
    inside = event["events"][0] if "events" in event else event
    EDITS[name](mechanism, inside)
    assert checked(document).wrong
