"""`tacit anonymize adversary`: the figures of the example, its JSON and chart, files, and wrong usage."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app

run = CliRunner().invoke
WORDS = ["anonymize", "adversary"]


def test_the_example_prints_its_figures(tmp_path):
    chart = tmp_path / "limits.svg"
    words = [*WORDS, "--counts", "8,2,2", "--prior", "0.1", "--stubbornness", "10,100,1000,inf", "--chart", str(chart)]
    printed = run(app, words).output
    for figure in ("8/12 = 0.667", "9/22 = 0.409", "0.161", "0.107", "0.100", "1.630", "4.148", "6.247", "6.667"):
        assert figure in printed
    assert "Class II, stubbornness 10, ratio 2: passes (n >= 10 and a share of at most 0.6875)" in printed
    assert chart.read_text().startswith("<svg")


def test_the_row_left_out():
    printed = run(app, [*WORDS, "--counts", "7,2,2", "--stubbornness", "inf"]).output
    assert "stays at the prior 0.1 where the data says 7/11" in printed


def test_json_has_exact_beliefs():
    found = json.loads(run(app, [*WORDS, "--stubbornness", "10,inf", "--known", "11", "--json"]).stdout)
    assert [each["without"] for each in found["adversaries"]] == ["9/22", "1/10"]
    assert [each["other_ratio"] for each in found["adversaries"]] == ["infinite", "infinite"]
    assert set(found["verdicts"]) == {"Class I, stubbornness 10", "Class I, stubbornness inf"}


def test_every_group_of_a_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("age,ill\n" + "3*,flu\n" * 8 + "3*,gout\n" * 4 + "4*,flu\n")
    words = [*WORDS, str(path), "--quasi", "age", "--sensitive", "ill"]
    failed = run(app, [*words, "--json"])
    assert failed.exit_code == 1
    found = json.loads(failed.stdout)
    assert (found["passes"], found["groups"], found["failing"], found["failing_rows"]) == (False, 2, 1, 1)
    assert (found["class"], found["example"], found["publish"]) == ("II", [1, 0], False)
    for kind, code in (("I", 1), ("III", 1), ("IV", 1)):
        assert run(app, [*words, "--against", kind]).exit_code == code
    fine = run(app, [*words, "--stubbornness", "0"])
    assert (fine.exit_code, "do not publish" in fine.output) == (0, True), fine.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--counts", "8,two"], "whole numbers"),
        (["--prior", "2"], "add up to 1"),
        (["--stubbornness", "much"], "stubbornness"),
        (["--ratio", "1"], "more than 1"),
        (["--known", "12"], "at most 11"),
        (["--chart", "limits.bmp"], ".svg"),
    ],
)
def test_wrong_usage_is_said(words, message):
    result = run(app, [*WORDS, *words])
    assert result.exit_code == 2, result.output
    assert message in result.stderr
