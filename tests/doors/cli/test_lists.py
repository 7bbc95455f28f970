"""`tacit sql --file` with several questions: one price for all; `tacit explain` of the same; what is of one question is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hospital import files
from tacit.doors.cli import app
from tacit.session import open as open_data

FILE = """-- the wards
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward;

/* and the kinds; both */
SELECT kind, COUNT(*) AS n FROM visits WHERE cost > :cost GROUP BY kind;
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("lists")
    with open_data(files(place), own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
    (place / "questions.sql").write_text(FILE, "utf-8")
    return place


def run(folder: Path, *words: str) -> tuple[int, str]:
    command, *more = words
    where = ["--catalog", str(folder / "tacit.toml"), "--analyst", "ana", "--file", str(folder / "questions.sql")]
    done = CliRunner().invoke(app, [command, *where, "--param", "cost=10", *more])
    return done.exit_code, done.output


def test_a_file_of_questions_has_one_price(folder: Path) -> None:
    code, said = run(folder, "explain", "--epsilon", "0.5", "--loss", "squares")
    assert code == 0
    assert "n (question 2): ±" in said
    code, said = run(folder, "sql", "--epsilon", "0.5")
    assert code == 0
    assert said.count("Spent: epsilon 0.5") == 1
    assert said.index("1. SELECT ward") < said.index("2. SELECT kind") < said.index("2 questions.")
    told = json.loads(run(folder, "sql", "--epsilon", "0.5", "--json")[1])
    assert len(told["answers"]) == 2
    assert told["entry"] == 1
    assert any("nothing was spent" in note for note in told["notes"])


@pytest.mark.parametrize("words", [("--csv",), ("--chart", "a.svg")])
def test_what_is_made_of_one_answer_is_refused(folder: Path, words: tuple[str, ...]) -> None:
    code, said = run(folder, "sql", "--epsilon", "0.5", *words)
    assert code != 0
    assert "is for one question, and the file has several" in said
    assert not Path("a.svg").exists()


def test_a_question_that_is_refused_is_named(folder: Path) -> None:
    (folder / "wrong.sql").write_text(FILE.replace("FROM visits WHERE", "FROM vists WHERE"), "utf-8")
    where = ["--catalog", str(folder / "tacit.toml"), "--analyst", "ana", "--file", str(folder / "wrong.sql")]
    done = CliRunner().invoke(app, ["sql", *where, "--param", "cost=10", "--epsilon", "0.1"])
    assert done.exit_code != 0
    assert "line 5, column 33: question 2: unknown table 'vists'" in done.output
