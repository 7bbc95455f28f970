"""`tacit synthesize map` and `state`: the words that are printed, what is written where, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app

run = CliRunner().invoke
MAP = ["synthesize", "map", "flows.csv", "--blocks", "blocks.csv", "--out", "made.parquet"]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated state, made once; every test has a copy of its own."""
    made = tmp_path_factory.mktemp("state of maps")
    result = run(app, ["synthesize", "state", str(made), "--blocks", "400", "--workplaces", "6", "--jobs", "1000"])
    assert result.exit_code == 0, result.output
    assert "1,000 jobs" in result.output
    return made


@pytest.fixture
def folder(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(state, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_CATALOG", raising=False)
    return tmp_path


def test_the_command_of_the_guide_writes_a_map_and_keeps_the_report_apart(folder):
    result = run(
        app, [*MAP, "--origins", "tract", "--destinations", "tract", "--ratio", "20", "--delta", "1e-5", "--report", "report.html"]
    )
    assert result.exit_code == 0, result.output
    assert "ratio 20 (epsilon 2.99574)" in result.output
    assert "one job moves its home" in result.output
    assert "records no other release" in result.output
    assert ".tacit/reports/report.html (instead of report.html" in result.output
    assert (folder / "made.parquet").exists()
    assert (folder / "made.parquet.receipt.json").exists()
    assert not (folder / "report.html").exists()
    again = run(app, [*MAP, "--report", "mine/report.html"])
    assert "ratio 400" in again.output, "two releases cost twice"
    assert (folder / "mine" / "report.html").read_text().startswith("<!-- For the data owner only")


def test_json_is_all_that_goes_to_standard_output(folder):
    told = json.loads(run(app, [*MAP, "--keep", "distance:0.1", "--json"]).stdout)
    assert told["report"] is None
    assert told["receipt"]["dropping"]["keep"] == "distance:1/10"
    assert float(told["receipt"]["ratio"]) > 200


@pytest.mark.parametrize(("levels", "usual"), [((), "block"), (("county",), "county"), (("blockgroup", "county"), "blockgroup")])
def test_the_usual_level_is_one_that_the_map_has(levels, usual, folder):
    """A map of blocks alone was refused, because tract was the default."""
    rows = [line.split(",") for line in Path("blocks.csv").read_text().splitlines()]
    kept = [place for place, name in enumerate(rows[0]) if name in ("block", "lat", "lon", *levels)]
    Path("blocks.csv").write_text("".join(",".join(row[place] for place in kept) + "\n" for row in rows))
    told = run(app, [*MAP, "--json"])
    assert told.exit_code == 0, told.output
    receipt = json.loads(told.stdout)["receipt"]
    assert (receipt["origins"], receipt["destinations"]["level"]) == (usual, usual)
    assert run(app, ["synthesize", "check", "flows.csv", "--blocks", "blocks.csv"]).exit_code == 0
    assert "has no level 'tract'" in run(app, [*MAP, "--origins", "tract"]).stderr


def test_jobs_at_unknown_destinations_are_counted_out(folder):
    place = folder / "flows.csv"
    place.write_text(place.read_text() + "nowhere,B000001,7\n")
    assert "Left out: 7 jobs" in run(app, MAP).output


def test_pure_has_no_delta_and_dropping_is_compared(folder):
    assert "Pure differential privacy: ratio 20" in run(app, [*MAP, "--pure"]).output
    assert "--pure and --delta exclude each other" in run(app, [*MAP, "--pure", "--delta", "1e-6"]).output
    dropped = run(app, [*MAP, "--keep", "uniform:0.5"]).output
    assert "for dropping empty cells" in dropped
    assert "Without dropping, the same total ratio" in run(app, [*MAP, "--keep", "uniform:0.5", "--verbose"]).output


def test_the_promise_the_fakes_the_price_and_the_files_come_first_and_alone(folder):
    """Six lines: promise and relation, fakes, price, files, the report. The rest is said with --verbose, after them."""
    printed = run(app, [*MAP, "--report", "report.html"]).output.splitlines()
    starts = [
        "Probabilistic differential privacy: ratio 20",
        "The relation: ",
        "",
        "Spent: ratio 20 (epsilon 2.99574), delta 1e-05. Entry 1 of made.parquet.ledger.sqlite, which",
        "Written: ",
        "For the data owner",
    ]
    assert len(printed) == len(starts)
    assert all(line.startswith(start) for line, start in zip(printed, starts, strict=True))
    assert printed[2].endswith("expected to be fake.")
    verbose = run(app, [*MAP, "--report", "report.html", "--verbose"]).output.splitlines()
    assert verbose[0] == printed[0]
    for more in ("Delta holds for any two neighbours", "Fake workers per cell", "Totals: ", "Ledger: "):
        assert any(line.startswith(more) for line in verbose)
        assert not any(line.startswith(more) for line in printed)
    receipt = json.loads((folder / "made.parquet.receipt.json").read_text())
    assert "destinations at once it is" in receipt["claim"]
    assert "published without protection" in receipt["totals"]
    assert "only releases to this file" in receipt["paid"]["note"]


def test_a_named_analyst_needs_a_catalog(folder, monkeypatch):
    """One that only the environment names is for other commands."""
    result = run(app, [*MAP, "--analyst", "ana"])
    assert (result.exit_code, "--analyst requires --catalog" in result.output) == (2, True)
    assert not (folder / "made.parquet").exists()
    monkeypatch.setenv("TACIT_ANALYST", "ana")
    assert run(app, MAP).exit_code == 0


# --- what the curator may count, and a release does not tell -------------------------------------------------------------------


CHECK = ["synthesize", "check", "flows.csv", "--blocks", "blocks.csv"]


def test_the_curator_can_count_what_a_release_leaves_out(folder):
    place = folder / "flows.csv"
    known = place.read_text().splitlines()[1].split(",")[0]
    place.write_text(place.read_text() + f"nowhere,{known},7\n{known},abroad,5\n{known},{known},many\n{known},{known},2.5\n")
    printed = run(app, CHECK).output.splitlines()
    assert printed[0].startswith("For the data owner only: ")
    assert "2 rows have an unreadable number of jobs and count as no job." in printed
    assert "7 jobs are at destinations that are not on the map; they are left out." in printed
    assert "5 jobs have homes that are not on the map; they come from elsewhere." in printed
    told = run(app, [*CHECK, "--json"]).stdout
    assert told.startswith('{\n  "for_the_curator_only": true')
    assert json.loads(told)["jobs"] == 1005
    assert not list(folder.glob("*.ledger.sqlite")), "nothing is spent"


def test_where_nothing_can_be_read_the_curator_is_told_how_much(folder):
    """A release is refused then, and sends the curator here."""
    place = folder / "flows.csv"
    known = place.read_text().splitlines()[1].split(",")[0]
    place.write_text(f"w_geocode,h_geocode,S000\n{known},{known},many\n{known},{known},2.5\nnowhere,{known},3\n")
    refused = run(app, MAP)
    assert (refused.exit_code, "`tacit synthesize check` counts them" in refused.output) == (2, True)
    printed = run(app, CHECK).output.splitlines()
    assert printed[1:3] == ["3 rows.", "2 rows have an unreadable number of jobs and count as no job."]
    assert printed[3].startswith("No jobs at destinations on the map: a release would be refused")
    assert printed[4].startswith("3 jobs are at destinations that are not on the map")
    assert json.loads(run(app, [*CHECK, "--json"]).stdout)["most"] == 0


@pytest.mark.parametrize("name", ["flows.csv", "blocks.csv"])
def test_a_made_up_state_replaces_no_file(name, tmp_path):
    (tmp_path / name).write_text("somebody's own")
    result = run(app, ["synthesize", "state", str(tmp_path)])
    assert (result.exit_code, f"{name} already exists; choose another folder" in result.output) == (2, True)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "somebody's own"


def test_what_a_release_prints_does_not_depend_on_rows_that_cannot_be_read(folder):
    """The planted bug prints how many there are."""
    clean = run(app, [*MAP, "--verbose"]).output
    for each in folder.glob("made.parquet*"):
        each.unlink()
    place = folder / "flows.csv"
    known = place.read_text().splitlines()[1].split(",")[0]
    place.write_text(place.read_text() + f"{known},{known},many\n" * 9)
    assert run(app, [*MAP, "--verbose"]).output == clean


def test_as_many_synthetic_workers_as_are_asked_for(folder):
    assert "synthetic jobs for 1,000 real ones" in run(app, [*MAP, "--synthetic-workers", "share:0.1"]).output
    told = json.loads(run(app, [*MAP, "--synthetic-workers", "each:30", "--json"]).stdout)["receipt"]
    assert told["synthetic workers"] == {"rule": "each:30", "number": 30 * told["destinations"]["number"]}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--synthetic-workers", "500"], 2, "expected same, each:500 or share:0.1"),
        (["--seed", "3"], 3, "--seed is not supported"),
        (["--keep", "uniform:0"], 3, "noise on occupied cells only"),
        (["--keep", "distance:0.1:1e400"], 2, "from 0.001"),
        (["--ratio", "1"], 2, "above 1"),
        (["--delta", "2"], 2, "below 1"),
        (["--origins", "street"], 2, "no level"),
        (["--columns", "w"], 2, "DESTINATION,ORIGIN"),
        (["--columns", "w_geocode,home,S000"], 2, "missing column 'home'"),
        (["--report", "flows.csv/report.html"], 2, "cannot be written"),
        (["--out", "blocks.csv"], 2, "would be lost"),
        (["--out", "flows.csv"], 2, "would be lost"),
        (["--totals", "t"], 2, "--catalog"),
        (["--catalog", "nothing.toml", "--totals", "t"], 4, "no such file"),
        (["--catalog", "nothing.toml"], 3, "private unless a public table declares it"),
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
