"""The site: made of released files alone, whole, safe, without scripts or requests, and accessible in a real Chromium."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import parse

import pyarrow.parquet as pq
import pytest

from monthly import RELEASES, declared_in, hospital, released
from tacit.errors import InvalidInput
from tacit.publish.releases.kept import Kept
from tacit.publish.releases.plan import plan_of
from tacit.publish.releases.run import complete_of
from tacit.publish.releases.site import write_site
from tacit.session import DataSet

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    data = hospital(tmp_path_factory.mktemp("site") / "hospital")
    released(data)
    write_site(data.catalog, declared_in(RELEASES, {}), Kept(data.catalog.kept), data.catalog.folder / "public")
    return data


@pytest.fixture(scope="module")
def site(place: DataSet) -> Path:
    return place.catalog.folder / "public"


def test_every_release_and_period_has_its_page_and_its_files(site: Path) -> None:
    here = {str(file.relative_to(site)) for file in site.rglob("*") if file.is_file()}
    months = ("2024-01", "2024-02", "2024-03")
    assert {"index.html", "feed.xml", "catalog.jsonld"} <= here
    for month in months:
        assert {
            f"visits/{month}/{name}" for name in ("index.html", "data.csv", "data.json", "data.parquet", "data.csv-metadata.json")
        } <= here
        assert f"total/{month}/data.csv" in here
        assert f"total/{month}/data.json" not in here
    assert len([name for name in here if name.endswith(".certificate.json")]) == 6


def test_all_links_lead_somewhere_and_nothing_else_is_asked_for(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert "<script" not in text
        assert "default-src &#x27;none&#x27;" in text
        assert not re.search(r'(src|srcset)="', text)
        for link in re.findall(r'href="([^"#]+)"', text):
            target = page.parent / link
            assert link.startswith("https://") or (target / "index.html" if link.endswith("/") else target).is_file(), (page, link)


def test_texts_are_escaped(site: Path) -> None:
    front = (site / "index.html").read_text("utf-8")
    assert "Hospital &amp; &lt;wards&gt;" in front
    assert "<wards>" not in front
    assert "&lt;b&gt;count" in (site / "visits/index.html").read_text("utf-8")


def test_downloads_say_the_same_in_every_format_and_nothing_of_the_budget(site: Path) -> None:
    folder = site / "visits"
    rows = list(csv.DictReader(StringIO((folder / "data.csv").read_text("utf-8"))))
    told = json.loads((folder / "data.json").read_text("utf-8"))
    table = pq.read_table(folder / "data.parquet").to_pylist()
    assert len(rows) == len(told["rows"]) == len(table) == 6
    assert [row["month"] for row in rows] == [row["month"] for row in told["rows"]] == [row["month"] for row in table]
    assert (
        [int(row["visits"]) for row in rows] == [row["visits"]["value"] for row in told["rows"]] == [row["visits"] for row in table]
    )
    assert not {"left", "data_version"} & told.keys()
    described = json.loads((folder / "data.csv-metadata.json").read_text("utf-8"))
    assert [column["titles"] for column in described["tableSchema"]["columns"]] == list(rows[0])
    assert described["tableSchema"]["columns"][0]["datatype"] == "string"


def test_the_feed_and_the_catalog_are_well_formed(site: Path) -> None:
    feed = parse(site / "feed.xml").getroot()  # noqa: S314  # written by ourselves
    entries = feed.findall(f"{ATOM}entry")
    assert len(entries) == 6
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == 6
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT00:00:00Z", entry.findtext(f"{ATOM}updated") or "") for entry in entries)
    catalog = json.loads((site / "catalog.jsonld").read_text("utf-8"))
    assert [each["dct:title"] for each in catalog["dcat:dataset"]] == ["Visits by ward", "All visits"]
    links = [one["dcat:downloadURL"]["@id"] for each in catalog["dcat:dataset"] for one in each["dcat:distribution"]]
    assert all((site / link.removeprefix("https://statistics.example.org/")).is_file() for link in links)


def test_a_second_site_writes_nothing_and_neither_data_nor_ledger_is_read(place: DataSet, site: Path, tmp_path: Path) -> None:
    declared, kept = declared_in(RELEASES, {}), Kept(place.catalog.kept)
    assert write_site(place.catalog, declared, kept, site)[1] == 0
    (place.catalog.kept / "ledger.sqlite").rename(tmp_path / "ledger.sqlite")
    try:
        files, written = write_site(place.catalog, declared, kept, tmp_path / "other")
    finally:
        (tmp_path / "ledger.sqlite").rename(place.catalog.kept / "ledger.sqlite")
    assert files == written
    assert all(
        file.read_bytes() == (tmp_path / "other" / file.relative_to(site)).read_bytes()
        for file in site.rglob("*")
        if file.is_file()
    )


def test_folders_of_the_data_set_are_refused(place: DataSet) -> None:
    declared, kept = declared_in(RELEASES, {}), Kept(place.catalog.kept)
    for out in (place.catalog.kept, place.catalog.kept / "site", place.catalog.folder / "visits.csv"):
        with pytest.raises(InvalidInput):
            write_site(place.catalog, declared, kept, out)


def test_a_plan_adds_up(place: DataSet) -> None:
    declared = declared_in(RELEASES, {"through": "2024-06"})
    plan = plan_of(place, declared, complete_of(place, declared), Kept(place.catalog.kept))
    visits, total = plan.releases
    assert (visits.waiting, visits.coming, visits.epsilon) == (3, 12, 0.5)
    assert plan.needed == visits.in_total + total.in_total
    assert plan.for_analysts == plan.left - plan.needed
    assert plan.left < plan.cap
    assert ("visits", "± 21 at 0.95 confidence") in visits.errors or visits.errors


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1200])
def test_pages_pass_axe_and_fit_a_phone(scheme: str, width: int, site: Path, browser: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800}) as context:
        page = context.new_page()
        for name in ("index.html", "visits/index.html", "total/2024-02/index.html"):
            page.goto((site / name).as_uri())
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
            report = Axe().run(page)
            assert report.violations_count == 0, report.generate_report()
