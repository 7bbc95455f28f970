"""`tacit plan`: errors of questions at several budgets and limits, and the split that levels them, from public parameters alone."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit
from stored import write_csv
from tacit.doors.cli import app
from tacit.errors import StoreUnusable

CATALOG = """\
budget = { epsilon = 8, delta = 1e-7 }

[tables.visits]
source = "visits.csv"
unit = { column = "person" }
max_rows = 8

[tables.visits.columns]
cost = { bounds = [0, 5000] }
ward = { values = ["a", "b"], unknown = "drop", nulls = "drop" }
"""
QUESTIONS = """\
SELECT COUNT(*) AS n FROM visits;
SELECT ward, SUM(cost) AS total FROM visits GROUP BY ward;
SELECT AVG(cost) AS mean FROM visits;
SELECT MEDIAN(cost) AS m FROM visits;
SELECT COUNT(*) FROM nowhere
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tacit.toml").write_text(CATALOG)
    (tmp_path / "questions.sql").write_text(QUESTIONS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_CATALOG", raising=False)
    return tmp_path


def told(*options: str) -> dict:  # type: ignore[type-arg]
    done = CliRunner().invoke(app, ["plan", "questions.sql", "--json", *options])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def widths(plan: dict, question: int, most: int | None) -> list[str | None]:  # type: ignore[type-arg]
    (row,) = (row for row in plan["errors"] if (row["question"], row["max_rows"]) == (question, most))
    return [each["errors"][-1]["half_width"] for each in row["budgets"]]


def test_errors_are_those_of_explain_and_need_no_data(folder: Path) -> None:
    plan = told("--epsilons", "0.5,1", "--max-rows", "1", "--group-rows", "1000")
    assert not (folder / "visits.csv").exists()
    assert not (folder / ".tacit").exists()
    write_csv(folder / "visits.csv", ["person", "cost", "ward"], [[1, 5, "a"]])
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        data.prepare()
        data.begin_scratch("a test")
        for place, text in enumerate(QUESTIONS.split(";")[:4], 1):
            explained = data.session().explain(text, epsilons=["0.5", "1"], group_rows=1000)
            assert widths(plan, place, None) == [each.errors[-1].half_width for each in explained.budgets]
    assert told("--epsilons", "0.5,1", "--max-rows", "1", "--group-rows", "1000") == plan, "prepared or not"
    assert [float(one) / float(other) for one, other in zip(widths(plan, 1, None), widths(plan, 1, 1), strict=True)] == [8, 8]
    refused = [row for row in plan["errors"] if row["question"] == 5]
    assert all("unknown table" in row["refused"] for row in refused)


def test_explain_needs_the_catalog_alone_too(folder: Path) -> None:
    """Before there is a store or a ledger; with them, the explanation adds what remains, and nothing else changes."""
    texts = [*QUESTIONS.split(";")[:4], "SELECT DISTINCT ward FROM visits", "SELECT COUNT(*) AS n FROM visits LIMIT 0"]
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        before = [data.session().explain(text).to_dict() for text in texts]
    assert not (folder / ".tacit").exists()
    write_csv(folder / "visits.csv", ["person", "cost", "ward"], [[1, 5, "a"]])
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        data.prepare()
        data.begin_scratch("a test")
        after = [data.session().explain(text).to_dict() for text in texts]
    assert [{**each, "left": ""} for each in after] == [{**each, "left": ""} for each in before]
    assert all(each.get("left") for each in after)


def test_a_public_table_that_was_not_prepared_is_not_explained(folder: Path) -> None:
    public = '[tables.wards]\nsource = "wards.csv"\npublic = true\n'
    (folder / "tacit.toml").write_text(CATALOG + public)
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        for text in ("SELECT * FROM wards", "SELECT COUNT(*) FROM visits JOIN wards ON visits.ward = wards.ward"):
            with pytest.raises(StoreUnusable, match="has not been prepared"):
                data.session().explain(text)


def test_the_split_levels_relative_errors_within_the_budget(folder: Path) -> None:
    split = told("--split", "1", "--group-rows", "1000")["split"]
    assert [each["question"] for each in split["shares"]] == [1, 2, 3]
    assert [each["question"] for each in split["left_out"]] == [4, 5]
    assert 1 - Fraction(1, 1000) <= sum(Fraction(each["epsilon"]) for each in split["shares"]) <= 1
    relative = [float(each["relative_error"]) for each in split["shares"]]
    assert max(relative) <= 1.02 * min(relative)
    for each, size in zip(split["shares"], (1000, 1000 * 5000, 5000), strict=True):
        assert float(each["errors"][-1]["half_width"]) / size == pytest.approx(float(each["relative_error"]), rel=1e-4)


def test_without_a_size_counts_and_sums_have_no_part(folder: Path) -> None:
    split = told("--split", "1")["split"]
    assert split["shares"] == []
    assert all(each["reason"] for each in split["left_out"])


@pytest.mark.parametrize(
    "options", [["--max-rows", "0"], ["--max-rows", "a"], ["--epsilons", "0"], ["--split", "-1"], ["--split", "1e-5"]]
)
def test_what_cannot_be_planned_is_refused(folder: Path, options: list[str]) -> None:
    done = CliRunner().invoke(app, ["plan", "questions.sql", "--group-rows", "1000", *options])
    assert done.exit_code in (2, 3), done.output
    assert "unforeseen" not in done.output


def test_the_tables_are_printed(folder: Path) -> None:
    done = CliRunner().invoke(app, ["plan", "questions.sql", "--group-rows", "1000"])
    assert done.exit_code == 0
    assert "A split of epsilon 8 with nearly equal relative errors:" in done.stdout
    assert "Question 4 has no part in the split: its error is not known in advance." in done.stdout
    assert "nothing was spent" in done.stdout
