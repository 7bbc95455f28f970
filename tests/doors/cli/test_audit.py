"""`tacit audit` and `tacit attack denial`: demonstration, batch, conversation, history, exit codes."""

from __future__ import annotations

import json
import sys

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app
from tacit.doors.cli.audit import AuditorName
from tacit.publish.audited.named import NAMES

run = CliRunner().invoke
CSV = "name,ward,pay\nana,north,100\nbob,north,220\ncid,north,180\ndan,south,90\neve,south,310\nfay,south,150\n"
ASK = ["--value", "pay", "--public", "name,ward"]


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text(CSV)
    return str(tmp_path / "people.csv")


def test_the_names_are_the_auditors():
    assert [name.value for name in AuditorName] == list(NAMES)


def test_the_demonstration_plays_both_auditors(tmp_path):
    result = run(app, ["audit", "--demo", "--chart", str(tmp_path / "costs.svg")])
    assert result.exit_code == 0
    for words in ("x5 = 10", "value-based", "simulatable", "SUM(x1, x3)", "questions 1, 2", "probabilistic-max"):
        assert words in result.output
    assert "None of these answers is differentially private" in result.output
    assert (tmp_path / "costs.svg").exists()


def test_the_demonstration_as_json():
    told = json.loads(run(app, ["audit", "--demo", "--json"]).stdout)
    assert told["max"][1]["gives_away"] == "x5 = 10"
    assert told["max"][3]["gives_away"] is None
    assert [turn["answer"] for turn in told["sum"]] == [50, 80, None, 50]
    assert told["differentially_private"] is False


def test_a_batch_keeps_its_history(people):
    first = run(app, ["audit", people, *ASK], input="MAX(pay)\n\n-- a comment\nCOUNT(*) WHERE ward = 'north'\n")
    assert first.exit_code == 0
    assert "310  (exact; not differentially private)" in first.output
    second = run(app, ["audit", people, *ASK, "--questions", "-", "--json"], input="MAX(pay) WHERE name <> 'eve'\n")
    told = json.loads(second.stdout)
    assert told["replies"][0]["answered"] is False
    assert told["replies"][0]["reason"] == "if the answer were below 310, only row 5 could have the 310 of question 1"
    assert (told["summary"]["answers"], told["summary"]["refusals"]) == (1, 1)
    assert told["differentially_private"] is False


def test_a_refusal_is_the_same_whatever_the_data(people, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(CSV.replace("bob,north,220", "bob,north,310"))
    asked = "MAX(pay)\nMAX(pay) WHERE name <> 'eve'\n"
    first, second = (run(app, ["audit", path, *ASK], input=asked).output for path in (people, str(other)))
    assert first == second


def test_questions_from_a_file(people, tmp_path):
    (tmp_path / "asked.sql").write_text("SUM(pay)\nAVG(pay) WHERE ward = 'north'\n")
    result = run(app, ["audit", people, *ASK, "--auditor", "sum", "--questions", str(tmp_path / "asked.sql")])
    assert result.exit_code == 0
    assert "1050 " in result.output
    assert "166.66666666666666 " in result.output
    missing = run(app, ["audit", people, *ASK, "--auditor", "sum", "--questions", str(tmp_path / "nowhere")])
    assert (missing.exit_code, "file not found" in missing.output) == (2, True)


def test_a_question_that_is_not_understood_does_not_stop_the_rest(people):
    result = run(app, ["audit", people, *ASK], input="MAX(pay) WHERE pay > 3\nMAX(pay)\n")
    assert result.exit_code == 3
    assert "pay is audited and cannot be used in a condition" in result.output
    assert "310  (exact" in result.output


def test_a_conversation(people, monkeypatch):
    module = sys.modules["tacit.doors.cli.audit"]
    lines = iter(["help", "MAX(pay)", "MAX(pay) WHERE name <> 'eve'", "nonsense", "summary", "quit"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))
    monkeypatch.setattr(module.sys, "stdin", type("Terminal", (), {"isatty": lambda self: True})())
    shown = []
    monkeypatch.setattr("builtins.print", lambda *words, **options: shown.append(" ".join(map(str, words))))
    module.audit(module.Path(people), value="pay", public="name,ward")
    text = "\n".join(shown)
    assert "310  (exact; not differentially private)" in text
    assert "refused: if the answer were below 310" in text
    assert "invalid query" in text
    assert next(lines, None) is None


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ([], 2, "the table to audit is missing"),
        (["nowhere.csv"], 2, "file not found: nowhere.csv"),
        (["PEOPLE", "--auditor", "median"], 2, "probabilistic-max"),
        (["PEOPLE", "--value", "weight"], 2, "missing column 'weight'"),
        (["PEOPLE", "--bounds", "nine"], 2, "LOW,HIGH"),
        (["PEOPLE", "--bounds", "0,200"], 2, "outside the bounds"),
        (["PEOPLE", "--auditor", "probabilistic-max"], 2, "both bounds"),
    ],
)
def test_wrong_usage_says_what_to_do(people, options, code, words):
    result = run(app, ["audit", *(people if word == "PEOPLE" else word for word in options)], input="")
    assert result.exit_code == code
    assert words in " ".join(result.output.split())


def test_another_auditor_over_the_same_history_is_refused(people):
    run(app, ["audit", people, *ASK], input="MAX(pay)\n")
    result = run(app, ["audit", people, *ASK, "--auditor", "sum", "--json"], input="SUM(pay)\n")
    assert result.exit_code == 4
    assert "another auditor" in json.loads(result.stderr)["error"]["message"]


def test_bounds_and_odds_reach_the_auditor(people):
    bounded = run(app, ["audit", people, *ASK, "--bounds", "0,"], input="MAX(pay)\n")
    assert "everybody knows that no value is below 0" in bounded.output
    odds = ["--auditor", "probabilistic-max", "--bounds", "0,400", "--rounds", "3", "--history", people + ".history"]
    result = run(app, ["audit", people, *ASK, *odds], input="MAX(pay)\n")
    assert result.exit_code == 0
    assert "0 of 3 answers" in result.output


def test_the_attack_names_x5():
    result = run(app, ["attack", "denial", "--example", "max"])
    assert result.exit_code == 0
    assert "x5 = 10" in result.output
    assert "simulatable: 5 of 6 refused; the refusals disclose nothing" in result.output


def test_the_attack_on_random_values_as_json(tmp_path):
    result = run(app, ["attack", "denial", "--example", "random", "--people", "12", "--json", "--chart", str(tmp_path / "a.svg")])
    told = json.loads(result.stdout)
    assert len(told["value_based"]["named"]) == 4
    assert told["simulatable"]["named"] == {}
    assert (tmp_path / "a.svg").exists()


def test_an_attack_that_works_on_a_simulatable_auditor_exits_with_one(monkeypatch):
    from tacit.evidence.attacks import denial as module

    monkeypatch.setattr(module, "_whatever_the_answer", lambda rule, known, here: {0: 1.0})
    result = run(app, ["attack", "denial"])
    assert result.exit_code == 1
    assert "simulatable" in result.output
