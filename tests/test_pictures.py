"""No text is cut: every kind of picture and report that tacit writes, in one Chromium, with each text box inside of its frame.

A text of an SVG lies inside of the SVG, and one of a page is not cut by the box around it. Texts are shown in DejaVu Sans, which is
wider than what most browsers choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cohort import cohort_catalog, people, real_codes
from sources import ROOT
from surveys import EXAMPLE
from tacit import chart
from tacit.evidence.attacks.answerers import fair_bits
from tacit.evidence.attacks.definitions import released_sample
from tacit.evidence.attacks.exponential_adversary import HalfWay, exponential_adversary
from tacit.evidence.attacks.posterior import posterior_of, wrong_prior
from tacit.evidence.attacks.tables.linkage import demonstration, example, homogeneity
from tacit.evidence.attacks.tables.marginals import hair_and_eyes
from tacit.evidence.attacks.tables.minimality import tutorial
from tacit.evidence.lessons.laws import MECHANISMS, neighbouring_laws
from tacit.evidence.lessons.sensitivities import STATISTICS, sensitivity_of
from tacit.evidence.lessons.totals import compare_totals
from tacit.graphs import Graph, k_degree
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.publish.local.estimates.results import interval_chart
from tacit.publish.local.survey.form import build_form
from tacit.publish.local.survey.reading import read_survey
from tacit.publish.synthetic.commuters import report as commuters
from tacit.publish.synthetic.rows.cells import chosen_columns
from tacit.publish.synthetic.rows.inference import Model
from tacit.publish.synthetic.rows.marginals import Measured, independent_designs
from tacit.publish.synthetic.rows.release import SyntheticTable, values_of
from tacit.publish.synthetic.rows.utility import workload, write_report
from tacit.publish.tables.adversary.report import group_report
from tacit.publish.tables.anonymized import anonymize
from tacit.publish.tables.report import report_page
from tacit.publish.tables.requirements import Requirements
from tacit.publish.tables.table import Table
from tacit.query.price.price import request
from tacit.release.answer import Answer, Column, Receipt
from tacit.release.plots import svg
from worlds import world

WIDEST = "* { font-family: 'DejaVu Sans', sans-serif !important }"
CUT = """() => {
  const beyond = (inner, outer) =>
    Math.max(outer.left - inner.left, inner.right - outer.right, outer.top - inner.top, inner.bottom - outer.bottom);
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text"))
      if (text.textContent.trim() && beyond(text.getBoundingClientRect(), frame) > 1) found.push(text.textContent);
  }
  for (const element of document.body.querySelectorAll("*:not(svg, svg *)")) {
    const style = getComputedStyle(element);
    const hides = ["hidden", "clip"].includes(style.overflowX) && element.scrollWidth > element.clientWidth + 1;
    if (hides && element.clientWidth > 1 && element.textContent.trim()) found.push(element.textContent.trim().slice(0, 80));
  }
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const scrolled = [...document.querySelectorAll("figure")].some((figure) => figure.scrollWidth > figure.clientWidth + 1);
  const alone = document.body.firstElementChild?.tagName === "svg";
  if (wide > 1 && !scrolled && !alone) found.push(`the page is ${wide} wider than its window`);
  return found;
}"""


def cut_texts(page: Any, content: str) -> list[str]:
    """The texts of a picture or a page that end beyond their frame."""
    page.set_content(content)
    page.add_style_tag(content=WIDEST)
    found: list[str] = page.evaluate(CUT)
    return found


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    with browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True) as context:
        yield context.new_page()


# --- what is drawn -----------------------------------------------------------------------------------------------------------

WARDS = ("cardiology", "surgery and orthopaedics, second floor", None)
MONTHS = tuple(f"20{20 + month // 12}-{month % 12 + 1:02d}-01" for month in range(18))
LONG = "a_very_long_name_of_a_column_that_the_owner_of_the_data_chose"


def numbers(name: str, size: int, kind: str = "count") -> Column:
    values = tuple(100 + 37 * at % 40 for at in range(size))
    return Column(name, kind, values, tuple(value - 109 for value in values), tuple(value + 9 for value in values))


def answers() -> Iterator[tuple[str, str]]:
    limits = ("at most 12 rows per unit", "cost limited to 0..5000", "unknown ward counts as other")
    tables = {
        "bars": (Column("ward", "key", WARDS), numbers("n", 3)),
        "panels": (Column(LONG, "key", WARDS), *(numbers(f"{LONG}_{at}", 3, "avg") for at in range(5))),
        "bins": (Column("decade", "key", (0, 10, 20, 50, None)), numbers("n", 5), numbers("mean_cost", 5, "avg")),
        "line": (Column("month", "key", MONTHS), numbers("n", 18)),
        "series": (Column("ward", "key", ("a", "a", "b")), Column("sex", "key", ("F", "M", "F")), numbers(LONG, 3)),
        "one": (numbers("n", 1),),
    }
    for name, columns in tables.items():
        answer = Answer(columns, Fraction(95, 100), Receipt(Fraction(1), Fraction(0)), limits=limits)
        yield f"answer: {name}", answer.chart().svg()
        yield f"answer, a long title: {name}", answer.chart(title="W" * 120).svg()


def lessons() -> Iterator[tuple[str, str]]:
    typed = {"randomized-response": [0, 1], "exponential": [3, 5, 2]}
    for name in MECHANISMS:
        yield f"show {name}", svg(neighbouring_laws(name, typed.get(name, [10, 11]), 1).drawing())
    for name in STATISTICS:
        yield f"show sensitivity {name}", svg(sensitivity_of(name, [1, 2, 3, 1000], (0, 1000), 2).drawing())
    yield "show composition", svg(compare_totals(0.1, 100, 1e-6).drawing())


def mechanisms() -> Iterator[tuple[str, str]]:
    made = (Laplace(1, 1), Gaussian(1, "1/2", step=1, on_grid=True), RandomizedResponse(1), Exponential(1, 1))
    for mechanism in made:
        yield type(mechanism).__name__, chart.svg(mechanism.chart())


def attacks() -> Iterator[tuple[str, str]]:
    bits = fair_bits(20, seed=0)
    count = Laplace(sensitivity=1, epsilon=1, step=1, on_grid=True)
    results = {
        "definitions": released_sample(50, 5, 5),
        "posterior": posterior_of(count, {"yes": 11, "no": 10}, {"yes": "0.1", "no": "0.9"}),
        "wrong prior": wrong_prior(),
        "exponential": exponential_adversary(bits, 1, HalfWay.worst(bits, 1)),
        "minimality": tutorial(),
        "linkage": demonstration()[0],
        "homogeneity": homogeneity(example()),
        "cells": hair_and_eyes(),
        "epsilon-privacy": group_report([8, 2, 2], [0.1], ["10"]),
    }
    for name, result in results.items():
        yield f"attack: {name}", chart.svg(result.chart())


def published(folder: Path) -> Iterator[tuple[str, str]]:
    random = np.random.default_rng(0)
    table = Table.of({"age": random.integers(20, 60, 90), "housing_type": [f"a long name of a house {at % 3}" for at in range(90)]})
    asked = Requirements(("age",), ("housing_type",), k=4, made={"age": ("intervals", ([10, 20], 0))})
    yield "anonymized table", report_page(anonymize(table, asked), table)
    yield "graph", k_degree(Graph.of_edges([0, 0, 0, 0, 1], [1, 2, 3, 4, 5], nodes=6), k=2, seed=1).page()
    yield "survey form", build_form(read_survey(EXAMPLE))
    rows = [{"category": "a long category of a question", "share": 0.4, "low": 0.3, "high": 0.5, "possible": 0.4} for _ in range(2)]
    yield "survey results", chart.svg(interval_chart(rows, "category", "share", "Estimated shares", None))
    yield "synthetic table", _synthetic_table(folder)
    yield "commuter map", chart.svg(_commutes())


def _synthetic_table(folder: Path) -> str:
    """The report of a synthetic table, which is the real rows themselves."""
    declared = cohort_catalog(folder, max_rows=2)
    declared.store_folder.mkdir(parents=True)
    with world(declared.store_folder, declared, {"visits": people(12)}):
        chosen = chosen_columns(declared, "visits", ["ward", "urgent", "cost", "day"])
        codes = real_codes(declared, chosen)
        (design,) = independent_designs(chosen.table, chosen.axes, request(epsilon=1), "add-remove")
        measured = Measured(design, tuple(np.ones(axis.size, dtype=np.int64) for axis in chosen.axes), {})
        receipt = Receipt(design.epsilon, design.delta, entry=1)
        made = SyntheticTable(chosen, measured, Model(()), codes, values_of(chosen, codes), receipt)
        return write_report(workload(declared, made), made, folder / "private" / "report.html").read_text("utf-8")


def _commutes() -> Any:
    """The legend of a commuter map, whose longest text was cut: a picture of two destinations."""
    from types import SimpleNamespace

    means = np.array([5.0, 12.0])
    return commuters.average_commutes(SimpleNamespace(mean_truth=means, mean_synthetic=means * 1.1, jobs=np.array([20, 2000])))


def in_docs() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "docs").rglob("*.svg")):
        yield str(path.relative_to(ROOT)), path.read_text("utf-8")


def test_no_text_is_cut_in_any_picture_or_report(page: Any, tmp_path: Path) -> None:
    made = [*answers(), *lessons(), *mechanisms(), *attacks(), *published(tmp_path), *in_docs()]
    cut = {name: texts for name, content in made if (texts := cut_texts(page, content))}
    assert cut == {}


def test_a_text_that_is_cut_is_noticed(page: Any) -> None:
    drawn = next(answers())[1]
    narrow = re.sub(
        r'width="([\d.]+)" height="([\d.]+)" viewBox="0 0 ([\d.]+)', r'width="300" height="\2" viewBox="0 0 300', drawn, count=1
    )
    assert cut_texts(page, narrow) != []
    assert cut_texts(page, '<div style="width: 3em; overflow: hidden; white-space: nowrap">200 jobs or more</div>') != []
    assert cut_texts(page, '<div style="width: 30em; overflow: hidden">200 jobs or more</div>') == []


def test_a_chart_of_altair_without_its_room_is_noticed(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = _commutes()
    whole = chart.svg(picture)
    monkeypatch.setattr(chart, "width_of", lambda text, size, bold=False: 0.0)
    monkeypatch.setattr(
        chart, "with_room", lambda drawn: re.sub(r'width="(\d+)"', 'width="430"', drawn, count=1).replace("viewBox", "data-box", 1)
    )
    assert cut_texts(page, chart.svg(picture)) != []
    assert cut_texts(page, whole) == []


def test_a_chart_has_room_for_the_widest_font() -> None:
    size = 'width="60" height="20"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 60 20"><rect {size} fill="white"/>'
    drawn = f'{head}<g transform="translate(40,10)"><text font-size="10px">200 jobs</text></g></svg>'
    wide = chart.with_room(drawn)
    assert 'viewBox="0 0 84 20"' in wide
    assert '<rect x="0" y="0" width="84"' in wide
    turned = drawn.replace("<text ", '<text transform="rotate(-90)" ')
    assert re.search(r'viewBox="0 -\d+ 60 \d+"', chart.with_room(turned))
    assert 'viewBox="0 0 60 20"' in chart.with_room(drawn.replace("200 jobs", "2"))
