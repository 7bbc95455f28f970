"""A bug in prices is a disagreement with the checker, and so is a bug in the checker: the usual mistakes, planted in either one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import checked as support
from checked import report_on, unsigned
from plans import Asked, Regions, Wards
from shop import shop
from stored import catalog, category, number, table
from tacit.accounting.composition import Cost
from tacit.privacy.catalog import Column, Owner
from tacit.query.price import price as prices
from tacit.query.price import quote as quotes
from tacit_certificate import check, price, ranges, stability
from tacit_certificate.check import Certificate
from tacit_certificate.price import leaves

VISITS = table(
    "visits", Path("visits.csv"),
    Column("person", "key"), category("ward", "a", "b", "c"), number("cost", 0, 50), Column("note", "text"),
    unit=Owner("person"), max_rows=5, rows_at_most=1000,
)  # fmt: skip
CLINIC, SHOP = catalog(Path(), VISITS), shop({"customers": 1, "orders": 4, "lines": 6, "returns": 2, "cards": 3})
SPREAD = catalog(Path(), replace(VISITS, max_rows_per_group=2))
CHANGED = catalog(Path(), VISITS, change="change-one")


def asked(text: str, known: Any = CLINIC, delta: Fraction = Fraction(0)) -> Asked:
    return Asked(text, known, Wards() if known is CLINIC else Regions(), Fraction(1), delta)


QUESTIONS = {
    "sums": asked("SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward"),
    "gaussian": asked("SELECT ward, COUNT(*) FROM visits GROUP BY ward", delta=Fraction(1, 10**6)),
    "keys": asked("SELECT note, COUNT(*) FROM visits GROUP BY note", delta=Fraction(1, 10**6)),
    "median": asked("SELECT ward, MEDIAN(cost) FROM visits GROUP BY ward"),
    "joined": asked("SELECT COUNT(*) FROM orders o JOIN cards c ON o.customer_id = c.customer_id", SHOP),
    "changed": asked("SELECT ward, COUNT(*) FROM visits GROUP BY ward", CHANGED),
}
LIMITED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS"
QUESTIONS |= {
    "few groups": asked(f"{LIMITED} (max_groups_contributed = 2) ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward"),
    "few rows": asked(f"{LIMITED} (max_rows_contributed = 2) ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward"),
    "few rows in a group": asked(f"{LIMITED} (max_rows_contributed = 1) ward, SUM(cost) FROM visits GROUP BY ward", SPREAD),
    "more people": asked(
        f"{LIMITED} (min_privacy_units_per_group = 300) note, COUNT(*) FROM visits GROUP BY note", delta=Fraction(1, 10**6)
    ),
    "one row in a group": asked(
        "SELECT ward, SUM(n) FROM (SELECT person, ward, COUNT(*) AS n FROM visits GROUP BY person, ward) AS x GROUP BY ward",
        delta=Fraction(1, 10**6),
    ),
    "clamped": asked(f"{LIMITED} (epsilon = 1) ward, COUNT(*, contribution_bounds_per_group => (0, 2)) FROM visits GROUP BY ward"),
    "model": asked("SELECT LINREG(cost, ward = 'a') FROM visits"),
}


def wrong(name: str) -> list[str]:
    return [text for quote in QUESTIONS[name].quotes() for text in report_on(quote, QUESTIONS[name].catalog.change).wrong]


@pytest.mark.parametrize("name", QUESTIONS)
def test_without_a_bug_they_agree(name: str) -> None:
    assert QUESTIONS[name].quotes()
    assert not wrong(name)


Plant = Callable[[pytest.MonkeyPatch], None]


def patched(*places: tuple[Any, str, Callable[[Any], Any]]) -> Plant:
    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        for where, name, changed in places:
            monkeypatch.setattr(where, name, changed(getattr(where, name)))

    return plant


def halved(function: Any) -> Any:
    return lambda *given: function(*given) // 2


IN_PRICES: dict[str, tuple[str, Plant]] = {
    "a factor of 2": ("sums", patched((quotes, "l1_sensitivity", halved))),
    "a forgotten join": ("joined", patched((prices, "reach", lambda f: lambda *a: replace(f(*a), rows=4, per_group=4)))),
    "max_rows ignored": ("sums", patched((prices, "reach", lambda f: lambda *a: replace(f(*a), rows=1, groups=1, per_group=1)))),
    "rows of one group alone": ("median", patched((prices, "reach", lambda f: lambda *a: replace(f(*a), rows=1, per_group=1)))),
    "the other relation": ("changed", patched((prices, "reach", lambda f: lambda part, change, fixed: f(part, "add-remove", fixed)))),  # noqa: E501
    "a delta that is not counted": ("keys", patched((support, "cost_under", lambda f: lambda *a: replace(f(*a), delta=Fraction(0))))),  # noqa: E501
    "a rho that is too small": ("sums", patched((support, "cost_under", lambda f: lambda *a: replace(f(*a), rho=f(*a).rho / 2)))),
    "Gaussian noise 10 % too small": (
        "gaussian", patched((quotes, "l2_sensitivity", lambda f: lambda *a: f(*a) * Fraction(9, 10))),
    ),
}  # fmt: skip
IN_PRICES |= {
    "fewer groups than are kept": (
        "few groups", patched((prices, "reach", lambda f: lambda *a: replace(f(*a), rows=1, groups=1, per_group=1))),
    ),
    "a unit that is not in one group alone": (
        "one row in a group", patched((prices, "reach", lambda f: lambda *a: replace(f(*a), groups=1))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("bug", IN_PRICES)
def test_a_bug_in_prices_is_seen(bug: str, monkeypatch: pytest.MonkeyPatch, disagreeing: None) -> None:
    question, plant = IN_PRICES[bug]
    plant(monkeypatch)
    found = wrong(question)
    assert found, bug
    support.DISAGREEMENTS.extend(found)  # where the report was planted, and not the quote


def keys(kind: str = "key-threshold", name: str = "keys") -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A question with private keys and one kind of noise: its certificate, the mechanism of the keys, and their event."""
    event = "thresholded-keys" if kind == "key-threshold" else kind
    for document in map(unsigned, QUESTIONS[name].quotes()):
        for node in document["mechanisms"]:
            if node["kind"] == kind:
                return document, node, next(each for each in leaves(document["event"]) if each["kind"] == event)  # type: ignore[return-value]
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["key-threshold", "gaussian-keys"])
def test_a_threshold_one_too_low_is_seen(kind: str) -> None:
    document, *nodes = keys(kind)
    assert not Certificate(document).contents().wrong
    for node in nodes:
        node["threshold"] -= 1
    assert Certificate(document).contents().wrong == ["mechanisms: the threshold is too low for delta"]


def test_rows_stated_for_one_group_are_seen() -> None:
    document, node, event = keys()
    node["max_groups"] = event["max_groups"] = 1
    assert Certificate(document).contents().wrong


def test_people_that_are_asked_for_are_counted() -> None:
    document, *nodes = keys(name="more people")
    assert [node["threshold"] for node in nodes] == [300, 300]
    for node in nodes:
        node["threshold"] = 299  # enough for delta, and not for the question
    assert Certificate(document).contents().wrong == ["mechanisms: the threshold is below min_people, which is 300"]
    document["mechanisms"][0]["min_people"] = 1
    assert Certificate(document).contents().wrong


def calibrated() -> dict[str, Any]:
    return next(document for document in map(unsigned, QUESTIONS["gaussian"].quotes()) if "calibrated" in str(document["event"]))


def curves(document: dict[str, Any]) -> list[str]:
    return [text for text in Certificate(document).contents().stated if text.startswith("all Gaussian noise")]


def test_noise_on_several_numbers_is_not_taken_for_noise_on_one() -> None:
    """One number that moves by 5 has a smaller delta than four that a unit moves by 5 together."""
    document = calibrated()
    document["mechanisms"][0]["dimension"] = 1
    assert curves(document) == curves(calibrated()) != []


@pytest.mark.parametrize("below", [True, False], ids=["in a sub-query", "in a sum"])
def test_ranges_that_take_too_long_are_listed_as_stated(below: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = "SELECT person, SUM(3 * cost + 7) AS s FROM visits GROUP BY person"
    text = f"SELECT SUM(s) FROM ({inner}) AS x" if below else "SELECT SUM(3 * cost + 7) FROM visits"
    (quote, *_) = asked(text).quotes()
    assert not [stated for stated in report_on(quote).stated if "range" in stated]
    monkeypatch.setattr(ranges, "MOST_WORK", 0)
    assert "the range 7 to 157 of a long expression" in report_on(quote).stated


def test_only_gaussian_noise_is_calibrated_by_its_curve() -> None:
    document = calibrated()
    (node,), (event,) = document["mechanisms"], document["event"]["events"][0]["events"]
    budget = {"epsilon": str(Fraction(node["sensitivity"]) / Fraction(node["scale"]))}
    for each in (node, event):
        each["kind"] = "laplace"
    del event["delta"], node["rho"]
    node |= budget
    assert "are Gaussian noise" in Certificate(document).contents().wrong[0]


def test_a_calibrated_event_in_batches_of_batches_is_not_passed_in_silence() -> None:
    document = calibrated()
    document["event"] = {"kind": "batch", "events": [{"kind": "batch", "events": [document["event"]]}]}
    assert curves(document) == curves(calibrated()) != []


@pytest.mark.parametrize(
    ("bounds", "counts"), [((-1, 3), True), ((0, 2), True), ((-2, 0), True), ((1, 3), False), ((-3, -1), False)]
)
def test_a_total_is_clamped_between_bounds_around_zero(bounds: tuple[int, int], counts: bool) -> None:
    """Raised to 1, three totals of 0 add up to 3: such bounds give no limit of what all totals of a unit add up to."""
    kept = {"is": "Column", "source": 1, "name": "total"}
    low, high = ({"is": "Literal", "value": end} for end in bounds)
    branches = [
        [{"is": "Compare", "operator": "<", "left": kept, "right": low}, low],
        [{"is": "Compare", "operator": "<", "left": high, "right": kept}, high],
    ]
    value = {"is": "Choose", "branches": branches, "otherwise": kept}
    assert stability._before_clamping(value) == (kept if counts else value)
    assert stability._before_clamping({**value, "branches": [[branches[0][0], high], branches[1]]}) != kept, "another constant"


IN_CHECKER: dict[str, tuple[str, Plant]] = {
    "a factor of 2": ("sums", patched((stability, "_moves", lambda f: lambda *a: tuple(2 * each for each in f(*a))))),
    "a forgotten join": ("joined", patched((stability.Tree, "rows", lambda f: lambda self, *a, **b: self.members[0].rows))),
    "max_rows ignored": (
        "sums", patched((stability.Derived, "rows", lambda f: lambda self, *a: min(1, f(self, *a)))),
    ),
    "a delta that is not counted": ("keys", patched((price, "cost", lambda f: lambda *a: replace(f(*a), delta=Fraction(0))))),
    "the other relation": ("changed", patched((check.Part, "derive", lambda f: lambda self, change, fixed: f(self, False, fixed)))),
    "a tail off by one": ("keys", patched((price.numbers, "laplace_tail_up", lambda f: lambda scale, width: f(scale, width - 1)))),
}  # fmt: skip
IN_CHECKER |= {
    "no limit of groups": (
        "few groups", patched((stability, "whole", lambda f: lambda node, name, *a: f(node, name, *a) + (name == "most"))),
    ),
    "all rows in one group": ("one row in a group", patched((stability.Part, "_in_one_group", lambda f: lambda self, rows: rows))),
    "a clamped total that is not seen": ("clamped", patched((stability, "_before_clamping", lambda f: lambda value: value))),
}  # fmt: skip


@pytest.mark.parametrize("bug", IN_CHECKER)
def test_a_bug_in_the_checker_is_seen(bug: str, monkeypatch: pytest.MonkeyPatch, disagreeing: None) -> None:
    question, plant = IN_CHECKER[bug]
    plant(monkeypatch)
    assert wrong(question), bug


def test_costs_are_compared_from_both_sides() -> None:
    one = price.Cost(Fraction(1), Fraction(1, 2), Fraction(0))
    assert one.is_stated_by(one)
    assert one.is_stated_by(replace(one, rho=one.rho + Fraction(1, 10**24)))
    assert not one.is_stated_by(replace(one, rho=one.rho + Fraction(1, 10**6)))
    assert not one.is_stated_by(replace(one, rho=one.rho - Fraction(1, 10**30)))
    assert Cost(Fraction(1), Fraction(1, 2), Fraction(0)).rho == one.rho
