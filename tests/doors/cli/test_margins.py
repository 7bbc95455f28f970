"""`tacit margins`: all margins of a few columns as one question, explained, released and recalled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hospital import files
from tacit.doors.cli import app
from tacit.session import open as open_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("margins")
    with open_data(files(place), own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
    return place


def run(folder: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["margins", *words, "--catalog", str(folder / "tacit.toml"), "--analyst", "ana"])
    return done.exit_code, done.output


def test_margins_are_one_entry_and_the_same_again_is_free(folder: Path) -> None:
    words = ("visits", "--columns", "ward,kind,urgent", "--epsilon", "0.25", "--json")
    code, said = run(folder, *words)
    assert code == 0
    first = json.loads(said)
    assert first["price"]["epsilon"] == "0.25"
    names = [column["name"] for column in first["columns"]]
    assert names == ["ward", "kind", "urgent", "n"]
    again = json.loads(run(folder, *words)[1])
    assert again["rows"] == first["rows"]
    assert again["entry"] == first["entry"]


def test_totals_of_margins_agree(folder: Path) -> None:
    """NULL is a ward too, so that GROUPING tells which columns a row does not have."""
    level = "GROUPING(ward, kind, urgent) AS level"
    text = f"SELECT ward, kind, urgent, {level}, COUNT(*) AS n FROM visits GROUP BY MARGINS (2, ward, kind, urgent)"
    words = ["sql", text, "--epsilon", "0.5", "--json", "--catalog", str(folder / "tacit.toml"), "--analyst", "ana"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    totals: dict[int, int] = {}
    for row in json.loads(done.output)["rows"]:
        totals[row["level"]] = totals.get(row["level"], 0) + row["n"]["value"]
    assert sorted(totals) == [1, 2, 3, 4, 5, 6]
    assert len(set(totals.values())) == 1


def test_an_explanation_spends_nothing(folder: Path) -> None:
    code, said = run(folder, "visits", "--columns", "ward,kind,urgent", "--explain")
    assert code == 0
    assert "price: epsilon 1" in said
    assert "part 6" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("visits", "--columns", "ward,kind", "--epsilon", "1", "--loss", "cubes"), "loss must be one of squares, largest"),
        (("visits", "--columns", "ward,ward", "--epsilon", "1"), "given twice"),
        (("visits", "--columns", "", "--epsilon", "1"), "1 to 60 columns"),
        (("visits", "--columns", "ward,kind"), "missing budget"),
    ],
)
def test_wrong_margins_end_with_a_remedy(folder: Path, words: tuple[str, ...], says: str) -> None:
    code, said = run(folder, *words)
    assert code in (2, 3)
    assert says in " ".join(said.split())
