"""What is published of hostile declarations: pages, pictures and tables with the outline that harmless ones give."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pytest

from hostile import caught, tame
from tacit.chart import page, svg
from tacit.evidence.attacks.hostile_key import HOSTILE, INJECTED, answer_with, outline_of_page
from tacit.privacy.catalog import Column, Source, Table
from tacit.publish.local.estimates.results import Frequencies, Mean, Terms, interval_chart
from tacit.publish.local.survey.chart import chart as survey_chart
from tacit.publish.local.survey.declaration import Choice, Group, Number, SetOf, Survey, YesNo
from tacit.publish.local.survey.form import build_form
from tacit.publish.local.survey.randomized import randomized
from tacit.publish.local.survey.results import Result, labels
from tacit.publish.local.survey.results import to_csv as survey_csv
from tacit.publish.synthetic.rows.cells import Axis, Chosen
from tacit.publish.synthetic.rows.inference import Model
from tacit.publish.synthetic.rows.marginals import Measured, independent_designs
from tacit.publish.synthetic.rows.release import SyntheticTable, values_of
from tacit.publish.synthetic.rows.utility import Error, Workload, write_report
from tacit.query.price.price import request
from tacit.release.answer import Receipt
from tacit.release.outputs import receipt_beside
from tacit.untrusted import for_chart, for_csv, from_csv, visible

Name = Callable[[int], str]
TERMS = Terms(Fraction(95, 100), "hoeffding")


def hostile(at: int) -> str:
    return f"{HOSTILE[at % (len(HOSTILE) - 1)]}{at}"


def harmless(at: int) -> str:
    return f"word{at}"


# --- surveys -----------------------------------------------------------------------------------------------------------------


def survey(name: Name, language: str = "en") -> Survey:
    options = tuple(name(at) for at in range(15))
    questions = (
        YesNo("yes", name(20), name(21)),
        Choice("choice", name(22), options, "k-ary"),
        Number("number", name(23), Fraction(0), Fraction(10), Fraction(1), name(24)),
        SetOf("set", name(25), options, 3),
    )
    group, texts = Group(name(26), (name(27), name(28))), {"send": name(29), "how_title": name(30)}
    return Survey(
        "id", name(31), date(2090, 1, 1), Fraction(2), questions, language=language, about=name(32), group=group, texts=texts
    )


def check_form(name: Name) -> None:
    assert outline_of_page(build_form(survey(name))) == outline_of_page(build_form(survey(harmless)))


def test_a_form_has_its_outline_whatever_is_declared():
    check_form(hostile)
    text = build_form(survey(hostile))
    assert "\x1b" not in text
    text.encode("utf-8")


@pytest.mark.parametrize("escape", ["prose_for_html", "for_script"])
def test_a_form_without_an_escape_is_caught(escape, monkeypatch):
    monkeypatch.setattr(f"tacit.publish.local.survey.form.{escape}", str if escape == "prose_for_html" else json.dumps)
    caught(check_form, hostile)


def results(declared: Survey) -> list[Result]:
    found = []
    for each in randomized(declared):
        names = labels(each.question, declared)
        shares = np.linspace(0.1, 0.5, max(1, len(names)))
        known = Frequencies(100, shares, shares - 0.05, shares + 0.05, 0.05, TERMS, names)
        found.append(Result(each, known if names else Mean(100, 5.0, 4.0, 6.0, 1.0, TERMS), ""))
    return found


def outline_of_svg(text: str) -> list[tuple[str, list[str]]]:
    return [(each.tag, sorted(each.attrib)) for each in ElementTree.fromstring(text).iter()]  # noqa: S314


def test_results_of_a_survey_are_drawn_and_written(tmp_path):
    drawn = [survey_chart(results(survey(name)), [], survey(name)) for name in (hostile, harmless)]
    assert drawn[0].to_dict() == for_chart(drawn[0].to_dict()), "a notebook gets it as it is"
    assert outline_of_svg(svg(drawn[0])) == outline_of_svg(svg(drawn[1]))
    text = survey_csv(results(survey(hostile)))
    rows = list(csv.reader(io.StringIO(text), strict=True))
    assert [len(row) for row in rows] == [9] * text.count("\n")
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "@"))]
    tame(text)
    found = results(survey(hostile))[1].estimate
    tame(str(found))
    assert str(found).count("\n") == 1 + len(found)


def test_a_chart_of_estimates_tells_apart_what_looks_the_same():
    rows = [{"category": name, "share": 0.1, "low": 0.0, "high": 0.2} for name in ("\x1b", "\\x1b", 'a\\"+b', "x" * 10**5)]
    drawn = interval_chart(rows, "category", "share", INJECTED, None)
    shown = [row["category"] for row in next(iter(drawn.to_dict()["datasets"].values()))]
    assert len(set(shown)) == len(rows)
    assert drawn.to_dict() == for_chart(drawn.to_dict())
    assert "…" in svg(drawn)


# --- synthetic rows ----------------------------------------------------------------------------------------------------------


def synthetic(name: Name) -> SyntheticTable:
    columns = [Column(name(at), "category", values=tuple(name(10 + value) for value in range(15)), nulls="drop") for at in (0, 4)]
    numbers = Column(name(1), "number", (Fraction(-5), Fraction(5)), Fraction(1), nulls="drop", outside="clamp")
    table = Table(name(len(HOSTILE) - 1), Source("csv", "x.csv"), {column.name: column for column in (*columns, numbers)})
    axes = tuple(map(Axis.of, (*columns, numbers)))
    (design,) = independent_designs(table, axes, request(epsilon=1), "add-remove")
    measured = Measured(design, tuple(np.ones(axis.size, dtype=np.int64) for axis in axes), {})
    codes = tuple(np.arange(30) % axis.size for axis in axes)
    chosen = Chosen(table, axes, {name(3): "it identifies people"})
    return SyntheticTable(chosen, measured, Model(()), codes, values_of(chosen, codes), Receipt(Fraction(1), Fraction(0), entry=1))


def curators_report(name: Name, folder: Path) -> str:
    made = synthetic(name)
    names = [axis.name for axis in made.chosen.axes]
    errors = (*(Error((each,), 0.1) for each in names), Error((names[0], names[1]), 0.2))
    found = Workload(made.chosen.table.name, made.rows, errors, 1, made.codes, np.ones(30, dtype=np.int64))
    return write_report(found, made, folder / "private" / "report.html").read_text(encoding="utf-8")


def test_a_curators_page_has_its_outline_whatever_is_declared(tmp_path):
    pages = [curators_report(name, tmp_path) for name in (hostile, harmless)]
    assert outline_of_page(pages[0]) == outline_of_page(pages[1])
    tame(pages[0].replace("\t", " "))


@pytest.mark.parametrize("place", ["publish.synthetic.rows.utility", "release.curators"])
def test_a_curators_page_without_an_escape_is_caught(place, tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.publish.synthetic.rows.utility.svg", lambda chart: "")
    expected = outline_of_page(curators_report(harmless, tmp_path))
    monkeypatch.setattr(f"tacit.{place}.for_html", str)
    assert outline_of_page(curators_report(hostile, tmp_path)) != expected


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_synthetic_csv_is_data_that_no_spreadsheet_computes(ending, tmp_path):
    import gzip

    made, out = synthetic(hostile), tmp_path / f"rows{ending}"
    receipt = json.loads(made.save(out).read_text(encoding="utf-8"))
    text = (gzip.decompress(out.read_bytes()) if ending.endswith("gz") else out.read_bytes()).decode()
    tame(text)
    rows = list(csv.reader(io.StringIO(text), strict=True))
    assert text.count("\n") == len(rows) == 1 + made.rows
    written = [["" if value is None else str(value) for value in column.to_pylist()] for column in made.columns.values()]
    assert [[from_csv(cell) for cell in column] for column in zip(*rows[1:], strict=True)] == [
        list(map(visible, each)) for each in written
    ]
    assert "-5" in text.splitlines()[1]
    assert "apostrophe" in receipt["csv"]["texts"]
    assert receipt["csv"]["changed"] == list(made.columns)[:2], "of numbers nothing is changed"
    tame(receipt_beside(out).read_text())


def test_synthetic_parquet_holds_every_text_as_it_is(tmp_path):
    made, out = synthetic(hostile), tmp_path / "rows.parquet"
    receipt = json.loads(made.save(out).read_text(encoding="utf-8"))
    assert "csv" not in receipt
    assert pq.read_table(out).to_pydict() == {name: column.to_pylist() for name, column in made.columns.items()}


def test_harmless_names_stay_as_they_are_in_csv(tmp_path):
    made, out = synthetic(harmless), tmp_path / "rows.csv"
    assert json.loads(made.save(out).read_text())["csv"]["changed"] == []
    assert out.read_text().splitlines()[0] == "word0,word4,word1"
    assert for_csv("word0") == "word0"


# --- in a real browser -------------------------------------------------------------------------------------------------------


def watched(browser: Any, path: Path, ready: str) -> tuple[Any, list[str]]:
    """What `window.pwned` is on a page, and what the page asked for or complained of."""
    with browser.new_context() as context:
        shown, said = context.new_page(), []
        shown.on("pageerror", lambda error: said.append(str(error)))
        shown.on("console", lambda message: said.append(message.text))
        shown.on("request", lambda asked: said.append(asked.url))
        shown.on("dialog", lambda dialog: said.append(dialog.message) or dialog.dismiss())
        shown.goto(path.absolute().as_uri())
        shown.locator(ready).first.wait_for(state="attached")
        return shown.evaluate("window.pwned ?? null"), [each for each in said if each != path.absolute().as_uri()]


def test_no_hostile_text_runs_in_a_real_browser(browser, tmp_path):
    answer = answer_with(list(HOSTILE), (HOSTILE[0], INJECTED))
    pages = {
        "chart.html": (page(answer.chart().altair()), "#chart canvas, #chart svg"),
        "chart.svg.html": (f"<!doctype html><meta charset=utf-8>{answer.chart().svg()}", "svg"),
        "form.html": (build_form(survey(hostile)), "#form"),
        "report.html": (curators_report(hostile, tmp_path), "svg"),
        "table.html": (f"<!doctype html><meta charset=utf-8>{answer._repr_html_()}", "table"),
    }
    for name, (text, ready) in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert watched(browser, tmp_path / name, ready) == (None, []), name


def test_a_script_that_is_not_escaped_runs_in_the_browser(browser, tmp_path, monkeypatch):
    """The planted bug: the specification as json.dumps writes it, in a page without a policy."""
    monkeypatch.setattr("tacit.chart.for_script", json.dumps)
    monkeypatch.setattr("tacit.chart.for_chart", lambda specification: specification)
    chart = answer_with(["a"]).chart().altair().properties(title=HOSTILE[0])
    with_policy = page(chart)
    (tmp_path / "policy.html").write_text(with_policy)
    (tmp_path / "none.html").write_text(with_policy.replace('http-equiv="Content-Security-Policy"', 'name="nothing"'))
    assert watched(browser, tmp_path / "none.html", "body")[0] == 1
    pwned, said = watched(browser, tmp_path / "policy.html", "body")
    assert pwned is None, "the policy would have stopped it, too"
    assert any("Content Security Policy" in each for each in said)
