"""`tacit synthesize map` and `state`: the words that are printed, what is written where, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app

run = CliRunner().invoke
MAP = ["synthesize", "map", "flows.csv", "--blocks", "blocks.csv", "--out", "made.parquet"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_CATALOG", raising=False)
    result = run(app, ["synthesize", "state", ".", "--blocks", "400", "--workplaces", "6", "--jobs", "1000"])
    assert result.exit_code == 0, result.output
    assert "1,000 jobs" in result.output
    return tmp_path


def test_the_command_of_the_guide_writes_a_map_and_keeps_the_report_apart(folder):
    result = run(
        app, [*MAP, "--origins", "tract", "--destinations", "tract", "--ratio", "20", "--delta", "1e-5", "--report", "report.html"]
    )
    assert result.exit_code == 0, result.output
    assert "ratio 20 (epsilon 2.99574)" in result.output
    assert "one job moves its home" in result.output
    assert "knows of no other release" in result.output
    assert ".tacit/reports/report.html (and not report.html" in result.output
    assert (folder / "made.parquet").exists()
    assert (folder / "made.parquet.receipt.json").exists()
    assert not (folder / "report.html").exists()
    again = run(app, [*MAP, "--report", "mine/report.html"])
    assert "ratio 400" in again.output, "two releases cost twice"
    assert (folder / "mine" / "report.html").read_text().startswith("<!-- For the curator alone")


def test_json_is_all_that_goes_to_standard_output(folder):
    told = json.loads(run(app, [*MAP, "--keep", "distance:0.1", "--json"]).stdout)
    assert told["report"] is None
    assert told["receipt"]["dropping"]["keep"] == "distance:1/10"
    assert float(told["receipt"]["ratio"]) > 200


def test_jobs_at_unknown_destinations_are_counted_out(folder):
    place = folder / "flows.csv"
    place.write_text(place.read_text() + "nowhere,B000001,7\n")
    assert "Left out: 7 jobs" in run(app, MAP).output


def test_pure_has_no_delta_and_dropping_is_compared(folder):
    assert "Pure differential privacy: ratio 20" in run(app, [*MAP, "--pure"]).output
    assert "--pure is without a delta; leave out --pure or --delta" in run(app, [*MAP, "--pure", "--delta", "1e-6"]).output
    dropped = run(app, [*MAP, "--keep", "uniform:0.5"]).output
    assert "dropping empty cells a further ratio" in dropped
    assert "Without dropping, the same ratio in all" in dropped


def test_as_many_synthetic_workers_as_are_asked_for(folder):
    assert "synthetic jobs for 1,000 real ones" in run(app, [*MAP, "--synthetic-workers", "share:0.1"]).output
    told = json.loads(run(app, [*MAP, "--synthetic-workers", "each:30", "--json"]).stdout)["receipt"]
    assert told["synthetic workers"] == {"rule": "each:30", "number": 30 * told["destinations"]["number"]}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--synthetic-workers", "500"], 2, "written same, each:500 or share:0.1"),
        (["--seed", "3"], 3, "takes no seed"),
        (["--keep", "uniform:0"], 3, "proved to live there"),
        (["--keep", "distance:0.1:1e400"], 2, "from 0.001"),
        (["--ratio", "1"], 2, "above 1"),
        (["--delta", "2"], 2, "below 1"),
        (["--origins", "street"], 2, "no level"),
        (["--columns", "w"], 2, "DESTINATION,ORIGIN"),
        (["--columns", "w_geocode,home,S000"], 2, "no column 'home'"),
        (["--report", "flows.csv/report.html"], 2, "cannot be written"),
        (["--out", "blocks.csv"], 2, "would be lost"),
        (["--out", "flows.csv"], 2, "would be lost"),
        (["--totals", "t"], 2, "--catalog"),
        (["--catalog", "nothing.toml", "--totals", "t"], 4, "no such file"),
        (["--catalog", "nothing.toml"], 3, "private, unless it is declared"),
        (["--catalog", "nothing.toml", "--columns", "a,b,c", "--totals", "t"], 2, "every row is one job"),
    ],
)
def test_refusals_say_why_and_spend_nothing(words, code, said, folder):
    result = run(app, [*MAP, *words])
    assert (result.exit_code, said in result.output) == (code, True), result.output
    assert not list(folder.glob("*.ledger.sqlite"))
    assert not (folder / "made.parquet").exists()


@pytest.mark.parametrize("here", [True, False])
def test_a_file_of_the_catalog_at_hand_is_refused(here, folder, monkeypatch):
    """Whether the catalog is found from the current folder or from that of the file."""
    (folder / "tacit.toml").write_text(
        "[budget]\nepsilon = 1\n"
        '[tables.flows]\nsource = "flows.csv"\nunit = "row"\n[tables.flows.columns]\nS000 = { bounds = [0, 9] }\n'
    )
    words = MAP
    if not here:
        (folder / "other").mkdir()
        monkeypatch.chdir(folder / "other")
        words = ["synthesize", "map", "../flows.csv", "--blocks", "../blocks.csv", "--out", "made.parquet"]
        monkeypatch.setenv("TACIT_CATALOG", str(folder / "nothing.toml"))
    result = run(app, words)
    assert (result.exit_code, "whose budget pays" in result.output) == (3, True), result.output
