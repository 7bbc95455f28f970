"""`tacit train`: the noise before the spend, the training, and the accuracy as a question of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.doors.cli.commands import application

CATALOG = """
[budget]
epsilon = 100
delta = 1e-4

[tables.people]
source = "people.csv"
unit = "row"
rows_at_most = 10000

[tables.people.columns]
age = { bounds = [0, 99] }
smoker = { values = [false, true], unknown = "drop", nulls = "drop" }
"""


def ran(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(application("train"), ["train", *words])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import tacit

    (tmp_path / "people.csv").write_text(
        "age,smoker\n" + "".join(f"{at % 100},{str(at % 100 > 40).lower()}\n" for at in range(900))
    )
    (tmp_path / "tacit.toml").write_text(CATALOG)
    monkeypatch.chdir(tmp_path)
    with tacit.open("tacit.toml") as data:
        data.prepare(new_ledger=True, reason="a test")
    return tmp_path


def test_a_model_is_explained_trained_written_and_measured(folder: Path) -> None:
    asked = ("classifier", "people", "--label", "smoker", "--epsilon", "20", "--delta", "1e-6")
    explained = ran(*asked, "--explain", "--rows", "900")
    assert "nothing is spent yet" in explained
    assert "age" in explained
    trained = ran(*asked, "--out", "model.json")
    assert "Spent: epsilon 20, delta 1e-06. Remaining: epsilon " in trained.replace("\n", " ")
    assert "tacit train accuracy model.json" in trained
    assert "nothing was spent" in ran(*asked)
    assert (folder / "model.json.certificate.json").exists()
    assert ran("accuracy", "model.json", "--sql").startswith("SELECT AVG(CASE WHEN (")
    measured = json.loads(ran("accuracy", "model.json", "--epsilon", "5", "--json"))
    assert [column["name"] for column in measured["columns"]] == ["accuracy", "class_share"]
    assert measured["price"]["epsilon"] == "5"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("accuracy", "model.json"), 2, "is not a model"),
        (("classifier", "people", "--label", "smoker"), 3, "missing budget"),
        (("classifier", "people", "--label", "smoker", "--epsilon", "1", "--rows", "5"), 2, "add --explain"),
        (("classifier", "people", "--label", "smoker", "--epsilon", "1", "--seed", "5"), 3, "remove --seed"),
        (("classifier", "people", "--label", "smoker", "--epsilon", "1", "--out", "people.csv"), 2, "is, or would be, read"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_refused_says_the_remedy(words: tuple[str, ...], code: int, said: str) -> None:
    Path("model.json").write_text("{}")
    result = CliRunner().invoke(application("train"), ["train", *words])
    assert said in result.output.replace("\n", " ")
    assert result.exit_code in (2, 3), code
