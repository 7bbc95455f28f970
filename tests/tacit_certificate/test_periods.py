"""Certificates where the budget is one of each period: what is charged, what a whole person pays, and the sums of every period."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

import tacit
from certified import Certified, text_of
from certified_months import ASKED, written
from tacit.accounting.ledger.entries import canonical_json, hash_of
from tacit.release.certificates.exports import export
from tacit.release.certificates.keys import public_keys
from tacit_certificate.check import Certificate, Report
from tacit_certificate.document import read_keys
from tacit_certificate.ledger import check

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certified]:
    folder = tmp_path_factory.mktemp("periods")
    with tacit.open(written(folder, list(range(20))), own_process=False) as data:
        data.prepare(new_ledger=True, reason="a test", yes=True, through="2025-04")
        entries = [data.session("ana").sql(text, **budget).receipt.entry for text, budget in ASKED.values()]
        data.session("bob").sql(*ASKED["people"][:1], **ASKED["people"][1])
        forms = [[data.certificate(entry, auditor=auditor).to_dict() for entry in entries] for auditor in (False, True)]
        keys = json.dumps(public_keys(data.catalog.kept)).encode()
        (folder / "keys.json").write_bytes(keys)
        yield Certified(data, folder, data.signer, read_keys(keys), *forms, export(data, folder / "ledger.jsonl"))


def of(made: Certified, name: str, auditor: bool = False) -> dict[str, Any]:
    return copy.deepcopy((made.auditor if auditor else made.public)[list(ASKED).index(name)])


def report_on(made: Certified, name: str, change: Change, auditor: bool = False) -> Report:
    document = of(made, name, auditor)
    change(document)
    return Certificate(made.signed(document)).check(made.keys)


@pytest.mark.parametrize("auditor", [False, True])
@pytest.mark.parametrize("name", ASKED)
def test_every_certificate_is_valid(made: Certified, name: str, auditor: bool) -> None:
    assert Certificate(of(made, name, auditor)).check(made.keys).wrong == []


LIFETIMES = {"by month": 4, "people": 1, "one month": 1, "per person": 4, "joined": 4, "looked up": 1, "plain": 1}


@pytest.mark.parametrize("name", LIFETIMES)
def test_a_whole_person_pays_for_every_period(made: Certified, name: str) -> None:
    document = of(made, name)
    assert document["price"]["epsilon"] == str(LIFETIMES[name])
    assert document["periods"]["price"]["epsilon"] == "1"
    report = Certificate(document).check(made.keys)
    assert any(f"a person in all of them pays epsilon {LIFETIMES[name]}" in text for text in report.checked)


# --- what a forger with the right key would write ------------------------------------------------------------------------------


def once(document: dict[str, Any]) -> None:
    document["price"] |= document["periods"]["price"]


def one_left_out(document: dict[str, Any]) -> None:
    document["periods"]["runs"] = [[24300, 24302]]


def read_alone(document: dict[str, Any]) -> None:
    """The plan says that it reads one month fewer, and the charge is right for that; the keys still have four."""
    bound(document)["periods"] = document["periods"]["runs"] = [[24300, 24302]]


def bound(document: dict[str, Any]) -> dict[str, Any]:
    """The first scan of visits or labs in a document."""
    return first(document, lambda node: node.get("is") == "Bound" and node["child"]["table"] in ("visits", "labs"))


def first(node: Any, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first object in a document that is wanted; an empty one if there is none."""
    if isinstance(node, dict) and wanted(node):
        return node
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return next((found for part in parts if (found := first(part, wanted))), {})


def without_field(document: dict[str, Any]) -> None:
    del document["periods"]
    document["about"] = document["about"].split(" The budget is one of each")[0]


def no_consequence(document: dict[str, Any]) -> None:
    document["about"] = document["about"].split(" The budget is one of each")[0]


def no_period_of_a_table(document: dict[str, Any]) -> None:
    del document["facts"]["tables"]["visits"]["period"]


def by_age(document: dict[str, Any]) -> None:
    document["facts"]["tables"]["visits"]["columns"]["day"] |= {"nullable": True}


def longer(document: dict[str, Any]) -> None:
    document["periods"]["per"] = "year"


def no_lifetime(document: dict[str, Any]) -> None:
    document["periods"]["lifetime"] = None


def small_lifetime(document: dict[str, Any]) -> None:
    document["periods"]["lifetime"]["epsilon"] = "3"


def over_months(document: dict[str, Any]) -> None:
    """The sub-query groups by hundred days, so that a row of a person is made of those of several months."""
    inner = first(document, lambda node: node.get("is") == "PerUnit")
    day = first(inner, lambda node: (node.get("is"), node.get("name")) == ("Column", "day"))
    hundreds = {"is": "Quotient", "child": day, "divisor": 100, "low": 200, "high": 202, "nullable": False}
    inner["keys"] = [[name, hundreds] for name, _ in inner["keys"]]


def on_any_day(document: dict[str, Any]) -> None:
    """The condition that both sides are of one day is another one."""
    both = first(document, lambda node: node.get("operator") == "=" and "Column" in (node["left"]["is"], node["right"]["is"]))
    both["operator"] = "<="


def rows_of_a_month(document: dict[str, Any]) -> None:
    """Rows of two months at most, for a person of four."""
    document["price"]["epsilon"] = "2"


FORGED: dict[str, tuple[str, Change, str]] = {
    "a lifetime priced once": ("by month", once, "a whole person pays"),
    "a lifetime of Gaussian noise priced once": ("over all", once, "a whole person pays"),
    "running totals of one period": ("running", once, "a whole person pays"),
    "half of the months": ("joined", rows_of_a_month, "a whole person pays"),
    "a period left out": ("by month", one_left_out, "are not those that are charged"),
    "rows without their periods": ("by month", without_field, "none are charged"),
    "no word of the consequence": ("by month", no_consequence, "first line"),
    "a table without its period": ("by month", no_period_of_a_table, "a table without periods is read in some"),
    "days that can be missing": ("by month", by_age, "a date, which no row is without"),
    "longer periods": ("by month", longer, ""),
    "plain rows without a lifetime": ("plain", no_lifetime, "no cap of a whole person"),
    "a lifetime that is too small": ("by month", small_lifetime, "the cap does not admit"),
    "a row of a person over months": ("per person", over_months, "several periods"),
    "a join over months": ("joined", on_any_day, "rows of two periods are put together"),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forgery_is_refused(made: Certified, forgery: str) -> None:
    name, change, why = FORGED[forgery]
    assert not report_on(made, name, lambda document: None).wrong
    wrong = report_on(made, name, change).wrong
    assert wrong, forgery
    assert why in wrong[0]


def test_a_plan_that_reads_less_is_another_plan(made: Certified) -> None:
    """It is charged for what it says it reads; the sums of what it did not read are the constant 0, and so it is right."""
    assert not report_on(made, "people", read_alone).wrong


# --- the auditor's form and the ledger -----------------------------------------------------------------------------------------


def less_before(document: dict[str, Any]) -> None:
    for run in document["ledger"]["periods"]:
        run[2] |= {"epsilon": "0", "rho": "0"}


def beyond(document: dict[str, Any]) -> None:
    for run in document["ledger"]["periods"]:
        run[2] |= {"epsilon": "20", "rho": "20"}


def fewer_runs(document: dict[str, Any]) -> None:
    low, high, sums = document["ledger"]["periods"][-1]
    document["ledger"]["periods"][-1] = [low, high - 1, sums]


def test_an_auditor_sees_the_sums_of_every_period(made: Certified) -> None:
    for name in ("by month", "people"):
        runs = of(made, name, auditor=True)["ledger"]["periods"]
        assert (runs[0][0], runs[-1][1]) == (24300, 24303)
    assert "ledger" not in of(made, "by month")
    assert "the filter does not admit the sums" in report_on(made, "people", beyond, auditor=True).wrong[0]
    assert report_on(made, "people", fewer_runs, auditor=True).wrong


Lines = list[dict[str, Any]]


def lines_of(made: Certified) -> Lines:
    return [json.loads(line) for line in made.export.read_bytes().splitlines()]


def ledger_report(made: Certified, lines: Lines) -> Report:
    return check(map(text_of, lines), [], made.keys)


def test_a_ledger_is_summed_in_every_period_and_over_a_lifetime(made: Certified) -> None:
    lines = lines_of(made)
    report = ledger_report(made, lines)
    assert not report.wrong
    charged = [entry["more"]["periods"] for entry in spends([json.loads(line["entry"]) for line in lines if "entry" in line])]
    totals = [text for text in report.checked if text.startswith("in each period of")]
    assert len(totals) == 2, "January, and all others"
    for text, days, month in zip(totals, ("2025-01-01 to 2025-01-31", "2025-02-01 to 2025-04-30"), (24300, 24303), strict=True):
        here = [one for one in charged if any(low <= month <= high for low, high in one["runs"])]
        rho = sum(Fraction(one["price"]["rho"]) for one in here)
        assert text.startswith(f"in each period of {days}: epsilon ")
        assert float(text.split("rho ")[1].split(",")[0]) <= rho * Fraction(1000001, 1000000)
    assert report_on(made, "by month", lambda document: None).stated


def rewritten(made: Certified, change: Callable[[Lines], object]) -> Lines:
    """The chain as a forger with the signing key writes it anew, with all certificates left out."""
    lines = lines_of(made)
    found = [json.loads(line["entry"]) for line in lines if "entry" in line]
    change(found)
    previous, anew = "0" * 64, []
    for entry in found:
        entry["previous"] = previous
        previous = hash_of(canonical_json(entry))
        anew.append({"entry": canonical_json(entry)})
    missing = [{"missing": entry["number"], "why": "forged"} for entry in found if entry["kind"] in ("spend", "recall")]
    return [lines[0], *anew, *missing, {"head": made.signed({**lines[-1]["head"], "hash": previous})}]


def spends(entries: Lines) -> Lines:
    return [entry for entry in entries if entry["kind"] == "spend" and entry["more"]["periods"]["runs"]]


def cheaper(entries: Lines) -> None:
    spends(entries)[0]["more"]["periods"]["price"]["epsilon"] = "1/2"


def small_cap(entries: Lines) -> None:
    for entry in entries:
        entry["cap"] = {"epsilon": "3", "delta": "1/1000000000"}


def small_life(entries: Lines) -> None:
    for entry in spends(entries):
        entry["more"]["periods"]["lifetime"] = {"epsilon": "6", "delta": "1/1000000000"}


def few_questions(entries: Lines) -> None:
    for entry in spends(entries):
        entry["more"]["periods"]["most"] = 2


def another_calendar(entries: Lines) -> None:
    spends(entries)[-1]["more"]["periods"]["per"] = "week"


def free(entries: Lines) -> None:
    spends(entries)[1]["spent"] = spends(entries)[0]["spent"]


BOOKS = [cheaper, small_cap, small_life, few_questions, another_calendar, free]


def test_a_chain_written_anew_without_a_change_is_whole(made: Certified) -> None:
    assert not ledger_report(made, rewritten(made, lambda entries: None)).wrong


@pytest.mark.parametrize("forge", BOOKS)
def test_a_forged_chain_is_noticed(made: Certified, forge: Callable[[Lines], object]) -> None:
    assert ledger_report(made, rewritten(made, forge)).wrong


def test_sums_of_periods_in_a_certificate_are_those_of_the_chain(made: Certified) -> None:
    lines = lines_of(made)
    at = [place for place, line in enumerate(lines) if "certificate" in line][2]
    document = lines[at]["certificate"]
    less_before(document)
    lines[at] = {"certificate": made.signed(document)}
    assert "other sums before it" in ledger_report(made, lines).wrong[0]
