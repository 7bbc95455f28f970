"""`tacit budget` from the outside, and what `tacit check` says of the split of delta."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

import tacit
from tacit.doors.cli import app
from tacit.errors import InvalidBudget, InvalidInput

CATALOG = """\
[budget]
epsilon = 1
delta = 1e-6

[analysts.ana]
epsilon = 0.5
epsilon_per_query = 0.1

[analysts.bob]

[tables.people]
source = "people.csv"
unit = "row"
rows_at_most = 100
columns.age = { bounds = [0, 110] }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "tacit.toml").write_text(CATALOG)
    (tmp_path / "people.csv").write_text("age,town\n3,a\n40,b\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_CATALOG", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def begun(folder):
    with tacit.open("tacit.toml", own_process=False) as data:
        data.prepare(new_ledger=True)
    return folder


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, [*arguments])


def fits(*arguments: str) -> dict[str, int]:
    report = json.loads(run("budget", "--json", *arguments).stdout)
    return {account["name"]: account["questions_left"] for account in report["accounts"]}


def test_what_if(begun):
    """What is said to fit is what fits: of the data set, under an analyst's own cap, and under the cap of one question."""
    assert fits("--what-if", "0.01") == {"data set": 490, "ana": 132, "bob": 490}
    assert fits("--what-if", "0.2") == {"data set": 5, "ana": 0, "bob": 5}
    assert fits("--what-if", "0.01", "--delta", "1e-9", "--analyst", "bob") == {"data set": 10, "bob": 10}
    with tacit.open("tacit.toml", own_process=False) as data:
        assert data.session("ana").questions_left(0.1) == 5
        data.session("ana").sql("SELECT COUNT(*) FROM people", epsilon="0.1")
        assert data.session("ana").questions_left(0.1) == 4
        assert data.questions_left(0.01) == 426
        assert data.session("ana").questions_left("0.01") == data.questions_left("0.01", 0, "Ana") == 40


def test_it_is_a_column_of_the_table(begun):
    words = " ".join(run("budget", "--what-if", "0.01").stdout.split())
    assert "questions of" in words
    assert "490" in words
    plain = run("budget").stdout
    assert "questions of" not in plain
    assert "questions_left" not in run("budget", "--json").stdout


def test_what_is_not_a_question_has_no_number(begun):
    assert "requires --what-if" in run("budget", "--delta", "1e-9").stderr
    assert "at least 0.0001" in run("budget", "--what-if", "0.00001").stderr
    assert run("budget", "--what-if", "x").exit_code == 2
    with tacit.open("tacit.toml", own_process=False) as data:
        with pytest.raises(InvalidBudget, match="epsilon must be"):
            data.questions_left(0)
        with pytest.raises(InvalidInput, match="is not an analyst"):
            data.questions_left(1, analyst="eve")


def notes() -> list[str]:
    return list(json.loads(run("check", "--json").stdout)["notes"])


def test_check_warns_of_private_keys_that_have_little_of_delta(begun):
    assert notes() == []
    private = CATALOG + 'columns.town = { keys = "private" }\n'
    (begun / "tacit.toml").write_text(private)
    (note,) = notes()
    assert note.startswith("split = 0.99 leaves delta 1e-08 for all questions with private keys (people.town)")
    (begun / "tacit.toml").write_text(private.replace("delta = 1e-6", "delta = 1e-6\nsplit = 0.5"))
    kept, little = notes()
    assert kept == "the ledger keeps split = 0.99, with which it was begun; split = 0.5 in [budget] has no effect"
    assert little == note


def test_check_warns_before_the_ledger_begins(folder):
    private = CATALOG + 'columns.town = { keys = "private" }\n'
    (folder / "tacit.toml").write_text(private)
    assert notes() == []
    (folder / "tacit.toml").write_text(private.replace("delta = 1e-6", "delta = 1e-6\nsplit = 0.95"))
    (note,) = notes()
    assert "declare split = 0.5 before" in note
