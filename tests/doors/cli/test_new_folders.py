"""A folder that is not there is made, by every command that writes a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages import ROOT, tacit

EXAMPLE = str(ROOT / "examples" / "survey.toml")
STATE = ("synthesize", "state", "made/up", "--blocks", "200", "--workplaces", "4", "--jobs", "300")
MAP = ("synthesize", "map", "made/up/flows.csv", "--blocks", "made/up/blocks.csv", "--out", "new/deep/map.csv")


@pytest.mark.parametrize(
    ("commands", "written"),
    [
        ([("survey", "form", EXAMPLE, "--out", "new/deep/form.html")], "new/deep/form.html"),
        ([("survey", "simulate", "--n", "50", "--runs", "1", "--chart", "new/deep/error.svg")], "new/deep/error.svg"),
        ([("init", "people.csv", "--out", "new/deep/tacit.toml")], "new/deep/tacit.toml"),
        ([STATE, MAP], "new/deep/map.csv.receipt.json"),
        ([STATE, (*MAP, "--report", "other/deep/report.html")], "other/deep/report.html"),
        ([("attack", "averaging", "--chart", "new/deep/chart.html")], "new/deep/chart.html"),
    ],
)
def test_a_folder_that_is_not_there_is_made(commands, written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_CATALOG", raising=False)
    Path("people.csv").write_text("name,age\nann,3\n")
    for words in commands:
        code, printed = tacit(*words)
        assert code == 0, printed
    assert Path(written).is_file()


def test_so_do_estimates_as_a_file_and_as_a_chart(tmp_path, monkeypatch):
    from tacit.publish.local.survey.reading import read_survey
    from tacit.publish.local.survey.reports import Form

    monkeypatch.chdir(tmp_path)
    report = Form.of(read_survey(Path(EXAMPLE))).text_of({"home": 1, "way": 2, "minutes": 35, "missing": [0]}, bytes(32), 0)
    Path("reports.jsonl").write_text(f"{report}\n")
    for words in (
        ("collect", EXAMPLE, "reports.jsonl", "--store", "kept/deep/answers.sqlite"),
        ("estimate", EXAMPLE, "--store", "kept/deep/answers.sqlite", "--csv", "a/b/e.csv", "--chart", "c/d/e.svg"),
    ):
        code, printed = tacit("survey", *words)
        assert code == 0, printed
    assert all(Path(each).is_file() for each in ("a/b/e.csv", "c/d/e.svg"))


def test_a_file_in_the_place_of_a_folder_is_a_plain_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("")
    for words in (
        ("survey", "form", EXAMPLE, "--out", "taken/form.html"),
        ("survey", "simulate", "--n", "50", "--runs", "1", "--chart", "taken/error.svg"),
        ("attack", "averaging", "--chart", "taken/chart.svg"),
    ):
        code, printed = tacit(*words)
        assert (code, "tacit: taken" in printed) == (2, True), printed


def test_every_chart_is_saved_by_the_same_function():
    """So that those above stand for all charts: none is saved but by chart.py."""
    for place in (ROOT / "src" / "tacit").rglob("*.py"):
        assert "chart.save(" not in place.read_text("utf-8"), place
