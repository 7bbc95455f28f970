"""`tacit show`: the numbers in words and as JSON, a picture, and errors with the option to give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["show", *words])


def test_two_laws_in_words_as_json_and_as_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "laws.svg"
    shown = run("geometric", "--values", "10,11", "--from", "11", "--chart", str(picture))
    assert shown.exit_code == 0
    assert "Set S: x >= 11. Probability on 10: 0.268941; on 11: 0.731059; ratio: 2.71828." in shown.output
    assert picture.read_text().startswith("<svg")
    plain = json.loads(run("randomized-response", "--json").output)
    assert plain["set_probabilities"] == {"0": pytest.approx(0.2689414), "1": pytest.approx(0.7310586)}
    chosen = run("exponential", "--values", "3,5", "--others", "4,4", "--candidates", "tea,coffee", "--set", "x = tea")
    assert "0.268941" in chosen.output


def test_sensitivities_the_quiz_and_composition() -> None:
    found = json.loads(run("sensitivity", "median", "--values", "1,2,3,1000", "--bounds", "0,1000", "--beta", "2", "--json").output)
    assert (found["global"], found["local"], found["at"]) == (1000.0, 1.0, 1)
    assert "variance" in run("sensitivity", "--quiz").output
    refused = run("sensitivity", "--quiz", "--chart", "quiz.png")
    assert "--quiz has no picture" in f"{refused.exception}{refused.output}"
    assert len(json.loads(run("sensitivity", "--quiz", "--json").output)["queries"]) == 5
    totals = json.loads(run("composition", "--epsilon", "0.1", "--times", "100", "--delta", "1e-6", "--json").output)["totals"]
    assert totals["tight"] < totals["zCDP"] < totals["advanced"] < totals["basic"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("laplace", "--values", "10"), "--values must be two different numbers"),
        (("laplace", "--set", "x >= 1", "--from", "2"), "two ways to give one set"),
        (("laplace", "--chart", "laws.gif"), "unsupported chart format"),
        (("sensitivity",), "the statistic is missing"),
        (("sensitivity", "mean", "--bounds", "1"), "--bounds must be two numbers"),
        (("composition", "--times", "20000"), "--times must be a whole number"),
    ],
)
def test_errors_name_the_option(words: tuple[str, ...], message: str) -> None:
    refused = run(*words)
    assert refused.exit_code == 2
    assert message in refused.output
