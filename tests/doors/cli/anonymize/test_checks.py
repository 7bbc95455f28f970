"""`tacit anonymize check`: verdicts, exit codes, JSON, and a sentence for what cannot be checked."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app

TABLE = "age,sex,pay,guard\n20-29,F,1,low\n20-29,F,2,\n30-39,M,1,high\n30-39,M,3,\n*,*,2,\n"
TREE = "1;low;*\n2;low;*\n3;high;*\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out.csv").write_text(TABLE, "utf-8")
    (tmp_path / "pay.csv").write_text(TREE, "utf-8")
    return lambda *words: CliRunner().invoke(app, ["anonymize", "check", "out.csv", *words], prog_name="tacit")


BASE = ("--quasi", "age,sex", "--sensitive", "pay")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--k", "2"), 0),
        (("--k", "3"), 1),
        (("--k", "2", "--alpha", "0.5"), 0),
        (("--k", "2", "--alpha", "0.4"), 1),
        (("--l", "2"), 0),
        (("--l", "entropy:2", "--l", "frequency:2"), 0),
        (("--l", "entropy:2", "--l", "distinct:3"), 1),
        (("--l", "recursive:1:2"), 1),
        (("--l", "recursive:1.1:2"), 0),
        (("--l", "frequency:3", "--protected", "3"), 1),
        (("--l", "frequency:2", "--protected", "3"), 0),
        (("--t", "0.4"), 0),  # 1, 2 against two fifths, two fifths, one fifth: 1/5; 1, 3: 2/5
        (("--t", "0.39"), 1),
        (("--t", "ordered:0.2"), 0),  # cumulative 1/2 1/2 against 2/5 4/5: (1/10 + 3/10) / 2
        (("--t", "ordered:0.19"), 1),
        (("--t", "ordered:0.2", "--order", "1,2,3"), 0),
        (("--t", "hierarchical:0.35", "--hierarchy", "pay.csv"), 0),  # 1/2 (1/10 in low) and 3/10 above
        (("--t", "hierarchical:0.34", "--hierarchy", "pay.csv"), 1),
        (("--delta-disclosure", "9"), 1),
        (("--guard", "guard", "--hierarchy", "pay.csv", "--breach", "1"), 0),
        (("--guard", "guard", "--hierarchy", "pay.csv"), 1),
    ],
)
def test_required_models_decide_the_exit_code(run, words, code):
    result = run(*BASE, *words, "--json")
    assert result.exit_code == code, result.output
    told = json.loads(result.output)
    assert told["passes"] is (code == 0)
    assert (told["rows"], told["suppressed"], told["groups"], told["differentially_private"]) == (5, 1, 2, False)


def test_figures_and_what_holds_are_printed_with_the_mark(run):
    result = run(*BASE, "--k", "3")
    assert result.exit_code == 1
    assert "k-anonymity, k = 3: fails (k = 2; failing: 2 of 2 groups, 4 of 4 rows)" in result.output
    assert "t-closeness (ordered)" in result.output
    assert "for the data owner: not to be published" in result.output
    assert "Not differentially private" in result.output
    told = json.loads(run(*BASE, "--json").output)
    assert all(risk["not_to_be_published"] for risk in told["risk"].values())
    assert told["risk"]["prosecutor"]["largest"] == "1/2"
    assert told["risk"]["prosecutor, suppressed rows as one group"]["largest"] == "1"


def test_columns_of_text_have_no_ordered_distance(run):
    told = json.loads(run("--quasi", "age", "--sensitive", "sex", "--json").output)
    assert "t-closeness (ordered)" not in {each["model"] for each in told["holds"]}


def test_the_population_gives_the_journalists_risk(run, tmp_path):
    rows = "20-29,F\n" * 4 + "30-39,M\n" * 10 + "40-49,M\n"
    (tmp_path / "all.csv").write_text("age,sex\n" + rows, "utf-8")
    told = json.loads(run(*BASE, "--population", "all.csv", "--json").output)
    assert told["risk"]["journalist"]["largest"] == "1/4"
    assert told["risk"]["journalist"]["mean"] == "7/40"  # (2/4 + 2/10) / 4
    (tmp_path / "all.csv").write_text("age,sex\n20-29,F\n", "utf-8")
    assert "must contain everyone" in run(*BASE, "--population", "all.csv").output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--quasi", "", "--sensitive", "pay"), "no quasi-identifier"),
        (("--quasi", "age", "--sensitive", "age"), "both"),
        (("--quasi", "age", "--sensitive", "salary"), "salary"),
        ((*BASE, "--l", "simple:2"), "unknown l-diversity"),
        ((*BASE, "--l", "distinct:two"), "whole number"),
        ((*BASE, "--l", "recursive:3"), "unknown l-diversity"),
        ((*BASE, "--t", "far:0.2"), "unknown t-closeness"),
        ((*BASE, "--t", "2"), "at most 1, not 2"),
        ((*BASE, "--t", "hierarchical:0.2"), "needs a hierarchy"),
        ((*BASE, "--alpha", "0.5"), "add for example --k 5"),
        ((*BASE, "--guard", "guard"), "--hierarchy"),
        ((*BASE, "--t", "ordered:0.2", "--order", "1,2"), "lacks 1 of its values"),
        ((*BASE, "--k", "0"), "--k must be a whole number"),
        (("--quasi", "age", "--l", "2"), "needs a sensitive column; give for example --sensitive income"),
    ],
)
def test_what_cannot_be_checked_is_a_sentence_with_its_remedy(run, words, message):
    result = run(*words)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
