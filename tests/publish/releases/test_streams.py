"""Releases that are streams: each month pays once, whatever kills a run; the plan, the site, and what a person pays."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tacit
from by_month import Clinic, declared
from monthly import CATALOG
from tacit.accounting.ledger.ledger import Ledger
from tacit.errors import InvalidInput
from tacit.publish.releases.due import due_periods
from tacit.publish.releases.kept import Kept
from tacit.publish.releases.plan import plan_of
from tacit.publish.releases.reading import parse_releases
from tacit.publish.releases.run import Step, _periods, complete_of, run, steps_of
from tacit.publish.releases.site import write_site
from tacit.session import DataSet

VISITS = tuple((person, f"2025-{month:02}-{1 + person:02}", person) for person in range(8) for month in range(1, 5))
CLINIC = Clinic(tuple((person, person) for person in range(8)), VISITS, ())
MONTHS = ["2025-01", "2025-02", "2025-03"]
RELEASES = """title = "Clinic"
[releases.so-far]
title = "Visits so far"
stream = '''SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS visits, SUM(COUNT(*)) OVER (ORDER BY month) AS total
FROM visits WHERE day <= :last GROUP BY month'''
horizon = 24
epsilon = 0.3
delta = 1e-8
period = "month"
"""


class Killed(BaseException):
    """What no handler of tacit sees, as kill -9."""


def clinic(folder: Path, rows: Clinic = CLINIC) -> DataSet:
    declared(folder, rows, budget='closed = "2025-03"')
    (folder / "releases.toml").write_text(RELEASES, "utf-8")
    data = tacit.open(folder / "tacit.toml", own_process=False)
    data.prepare(yes=True, through="2025-04", reason="a test")
    data.begin_scratch("a test")
    return data


def released(data: DataSet, text: str = RELEASES) -> list[tuple[str, bool]]:
    made = parse_releases(text)
    kept = Kept(data.catalog.kept)
    with kept.alone() as alone:
        assert alone
        return [(ran.period, ran.recovered) for ran in run(data, made, steps_of(made, complete_of(data, made), kept), kept)]


def paid(data: DataSet) -> list[str]:
    entries = (entry for entry in data.ledger.entries() if entry.kind == "spend")
    return [entry.in_periods.named for entry in entries if entry.in_periods is not None]


def test_each_due_month_adds_one_measurement(tmp_path):
    data = clinic(tmp_path)
    assert released(data) == [(month, False) for month in MONTHS]
    assert (released(data), paid(data)) == ([], MONTHS)
    done = Kept(data.catalog.kept).done(parse_releases(RELEASES).releases[0])
    assert [len(each.answer or ()) for each in done] == [1, 2, 3]
    first, last = done[0].answer, done[-1].answer
    assert first is not None
    assert last is not None
    assert first.columns[2].values[0] == last.columns[2].values[0], "what was released stays"


KILLS: dict[str, tuple[Any, str]] = {
    "before the spend": (Ledger, "reserve_all"),
    "after the spend": (Ledger, "answered"),
    "before the file": (Kept, "keep"),
}


@pytest.mark.parametrize("step", KILLS)
def test_a_run_that_is_killed_pays_for_no_month_twice(tmp_path, monkeypatch, step):
    data, (where, name) = clinic(tmp_path), KILLS[step]
    usual, passed = getattr(where, name), [0]

    def killed(*given: Any, **named: Any) -> Any:
        passed[0] += 1
        if passed[0] % 2:
            raise Killed
        return usual(*given, **named)

    monkeypatch.setattr(where, name, killed)
    for _ in range(20):
        try:
            released(data)
            break
        except Killed:
            continue
    monkeypatch.undo()
    assert paid(data) == MONTHS
    assert passed[0] >= 6
    assert (released(data), data.ledger.verify().problems) == ([], ())


ROWS = """title = "Clinic"
[releases.rows]
title = "Synthetic visits"
synthetic = { table = "visits", columns = ["cost"] }
epsilon = 0.25
period = "month"
"""


def test_synthetic_rows_of_a_month_pay_from_that_month(tmp_path, monkeypatch):
    """Ended between the spend and the measurements in every month: each is taken up by the next run, for nothing."""
    data = clinic(tmp_path)
    usual, passed = Ledger.answered, [0]

    def killed(*given: Any, **named: Any) -> Any:
        passed[0] += 1
        if passed[0] % 2:
            raise Killed
        return usual(*given, **named)

    monkeypatch.setattr(Ledger, "answered", killed)
    for _ in range(10):
        try:
            released(data, ROWS)
            break
        except Killed:
            continue
    monkeypatch.undo()
    assert paid(data) == MONTHS
    assert released(data, ROWS) == []
    made, out = parse_releases(ROWS), tmp_path / "public"
    (planned,) = plan_of(data, made, complete_of(data, made), Kept(data.catalog.kept)).releases
    assert (planned.coming, planned.lifetime) == (12, 3)
    write_site(data.catalog, made, Kept(data.catalog.kept), out)
    catalog = json.loads((out / "catalog.jsonld").read_text("utf-8"))
    links = [one["dcat:downloadURL"]["@id"] for one in catalog["dcat:dataset"][0]["dcat:distribution"]]
    assert [(out / link).is_file() for link in links] == [True, True]
    for page in out.rglob("*.html"):
        for link in re.findall(r'href="([^"#]+)"', page.read_text("utf-8")):
            target = page.parent / link
            assert (target / "index.html" if link.endswith("/") else target).is_file(), (page, link)
    with pytest.raises(InvalidInput, match="need a budget of each period"):
        _periods(tacit.open(_plain(tmp_path / "plain")), Step(made.releases[0], complete_step(made, data)))


def complete_step(made: Any, data: DataSet) -> Any:
    return due_periods(made.releases[0], complete_of(data, made))[0]


def _plain(folder: Path) -> Path:
    folder.mkdir()
    (folder / "tacit.toml").write_text(CATALOG, "utf-8")
    return folder / "tacit.toml"


def test_neighbours_have_the_same_releases_but_for_their_numbers(tmp_path):
    seen = []
    for number, rows in enumerate((CLINIC, CLINIC.without(3, 2))):
        data = clinic(tmp_path / str(number), rows)
        released(data)
        folder = data.catalog.kept / "releases" / "so-far"
        files = {file.name: re.sub(r"-?\d+(\.\d+)?", "#", file.read_text("utf-8")) for file in folder.glob("20*.json")}
        seen.append((files, paid(data)))
    assert seen[0] == seen[1]


def test_the_plan_has_errors_and_what_a_person_pays(tmp_path):
    data = clinic(tmp_path)
    made = parse_releases(RELEASES)
    plan = plan_of(data, made, complete_of(data, made), Kept(data.catalog.kept))
    (planned,) = plan.releases
    assert (planned.waiting, planned.coming) == (3, 12)
    assert [column for column, _ in planned.errors] == ["total of 4 months", "total of 15 months", "total of 24 months"]
    told = data.session().explain_stream(made.releases[0].sql, through="2025-04", horizon=24, **made.releases[0].amounts)
    share = sum(told.rho_of_person(at) for at in range(3, 15)) / data.ledger.caps.lifetime.filter.largest_rho
    assert plan.lifetime is not None
    assert plan.lifetime.needed == plan.lifetime.cap * share
    assert "8.6 times what independent answers cost" in planned.notes[0]
    long = RELEASES.replace("horizon = 24", "horizon = 120")
    assert (
        "32.9 times" in plan_of(data, parse_releases(long), complete_of(data, made), Kept(data.catalog.kept)).releases[0].notes[0]
    )
    released(data)
    after = plan_of(data, made, complete_of(data, made), Kept(data.catalog.kept)).lifetime
    assert after is not None
    assert after.left < after.cap


def test_another_period_than_that_of_the_budget_is_refused(tmp_path):
    data = clinic(tmp_path)
    with pytest.raises(InvalidInput, match="periods of the budget"):
        released(data, RELEASES.replace('period = "month"', 'period = "quarter"'))
    assert paid(data) == []


def test_the_site_has_every_period_once(tmp_path, browser):
    from axe_playwright_python.sync_playwright import Axe

    data, out = clinic(tmp_path), tmp_path / "public"
    released(data)
    write_site(data.catalog, parse_releases(RELEASES), Kept(data.catalog.kept), out)
    table = json.loads((out / "so-far/data.json").read_text("utf-8"))
    assert [row["month"] for row in table["rows"]] == [f"{month}-01" for month in MONTHS]
    text = (out / "so-far/index.html").read_text("utf-8")
    assert text.count("<svg") == 1
    assert "2025-01-01 to 2025-03-31" in text
    assert "CAST(" not in text[: text.index("<pre>")]
    assert 'class="figure"' in (out / "index.html").read_text("utf-8")
    for scheme, width in (("light", 320), ("dark", 1200)):
        with browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800}) as context:
            page = context.new_page()
            for name in ("index.html", "so-far/index.html", "so-far/2025-02/index.html"):
                page.goto((out / name).as_uri())
                assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
                report = Axe().run(page)
                assert report.violations_count == 0, report.generate_report()
