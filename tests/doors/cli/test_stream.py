"""`tacit stream`: each period pays once, a repeat is free, and its price is said before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit
from by_month import Clinic, declared
from tacit.doors.cli import app

VISITS = tuple((person, f"2025-{month:02}-{1 + person:02}", person) for person in range(8) for month in range(1, 5))
TEXT = """-- visits so far
SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS visits,
       SUM(COUNT(*)) OVER (ORDER BY month) AS total
FROM visits WHERE day <= :last GROUP BY month
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("stream")
    declared(place, Clinic(tuple((person, person) for person in range(8)), VISITS, ()))
    with tacit.open(place / "tacit.toml", own_process=False) as data:
        data.prepare(yes=True, through="2025-04", reason="a test")
        data.begin_scratch("a test")
    (place / "totals.sql").write_text(TEXT)
    return place


def run(folder: Path, *words: str) -> tuple[int, str]:
    asked = ["--horizon", "48", "--epsilon", "0.3", "--delta", "1e-8", "--catalog", str(folder / "tacit.toml")]
    done = CliRunner().invoke(app, ["stream", *words, *asked])
    return done.exit_code, done.output


def test_a_month_is_read_once_and_again_for_nothing(folder: Path) -> None:
    file = ("--file", str(folder / "totals.sql"))
    code, said = run(folder, *file, "--through", "2025-02", "--json")
    assert code == 0
    told = json.loads(said)
    assert [row["month"] for row in told["rows"]] == ["2025-01-01", "2025-02-01"]
    assert (told["periods"], len(told["entries"])) == ("2025-01 to 2025-02", 2)
    assert json.loads(run(folder, *file, "--through", "2025-02", "--json")[1])["rows"] == told["rows"]
    code, said = run(folder, *file, "--through", "2025-03", "--chart", str(folder / "totals.svg"))
    assert (code, "2025-03-01" in said) == (0, True)
    assert "day &lt;= 2025-03-31" in (folder / "totals.svg").read_text("utf-8")
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        assert len([entry for entry in data.ledger.entries() if entry.kind == "spend"]) == 3


def test_the_price_is_said_and_nothing_is_spent(folder: Path) -> None:
    code, said = run(folder, " ".join(TEXT.splitlines()[1:]), "--through", "2025-04", "--explain")
    assert code == 0
    assert "paid when it is first read, for all 48 measurements" in said
    assert "total of 48 months" in said
    told = json.loads(run(folder, " ".join(TEXT.splitlines()[1:]), "--through", "2025-04", "--explain", "--json")[1])
    assert (told["horizon"], told["first"], told["price"]["epsilon"]) == (48, "2025-01", "0.3")


def test_what_is_missing_is_named(folder: Path) -> None:
    code, said = run(folder, "SELECT COUNT(*) AS n FROM visits", "--through", "2025-04")
    assert (code, ":last" in said) == (2, True)
    done = CliRunner().invoke(
        app, ["stream", "SELECT 1", "--through", "2025-02", "--horizon", "3", "--catalog", str(folder / "tacit.toml")]
    )
    assert (done.exit_code, "epsilon and delta" in done.output) == (2, True)
