"""`tacit anonymize sample-risk`: the figure, the failing case beside it, the mark, and the exit code."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs = ["nurse"] * 500 + ["clerk"] * 499 + ["mayor"]
    rows = "".join(f"{job},{at}\n" for at, job in enumerate(jobs))
    (tmp_path / "jobs.csv").write_text(f"job,number\n{rows}", "utf-8")
    words = ["anonymize", "sample-risk", "jobs.csv", "--rate", "0.01"]
    return lambda *more: CliRunner().invoke(app, [*words, *more], prog_name="tacit")


def test_few_rare_values_and_only_rare_values(run):
    result = run("--columns", "job")
    assert result.exit_code == 0, result.output
    assert "Probability that the sample is private for everyone: 0.99 (for the data owner: not to be published)" in result.output
    assert "whose rows are all unique: 4.317e-05" in result.output
    told = json.loads(run("--columns", "job,number", "--json").output)
    assert told["uniques"] == 1000
    assert told["private_with_probability"][1] == pytest.approx(0.99**1000)
    assert told["not_to_be_published"] is True


def test_a_required_probability_decides_the_exit_code(run):
    assert run("--columns", "job", "--least", "0.98").exit_code == 0
    assert run("--columns", "job", "--least", "0.995").exit_code == 1
    assert run("--columns", "job,number", "--least", "0.5", "--design", "fixed").exit_code == 1


def test_what_has_no_answer(run):
    result = run("--columns", "job", "--epsilon", "0.001")
    assert result.exit_code == 2
    assert "--epsilon must be at least -ln(1 - rate)" in result.output
    assert "no column is named" in run("--columns", "").output
