"""`tacit attack timing`: against a server of somebody else, and against its own."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from served import listening, served
from tacit.doors.cli import app
from tacit.doors.cli.attack.sessions import ABSENT, PRESENT, without
from tacit.doors.cli.demo import hospital
from tacit.evidence.attacks import reply_times as clock

run = CliRunner().invoke
HERE, GONE = (f"SELECT COUNT(*) AS n FROM visits WHERE cost > {at}" for at in (1, 2))


def test_a_server_of_somebody_else_is_asked_and_paid(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "REST", 0.0)
    with served(tmp_path) as found, listening(found.desk) as url:
        found.desk.places.rate = found.desk.places.burst = 1e9
        monkeypatch.setenv("TACIT_TOKEN", found.tokens["ana"])
        words = ["attack", "timing", "--server", url, "--question", HERE, "--control", GONE, "--count", "20", "--json"]
        result = run(app, words)
        assert result.exit_code == 0, result.output
        told = json.loads(result.stdout)
        assert told["processor"] is None
        assert 0 <= told["wall"]["auc"] <= 1
        spends = [entry for entry in found.data.ledger.entries() if entry.kind == "spend"]
        assert len(spends) == 2 * (20 + clock.WARM_UP), "no reply was a stored answer"
        assert all(Fraction(1, 10**4) < (entry.price.epsilon or 0) < Fraction(2, 10**4) for entry in spends)


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--question", HERE], "require --server"), (["--server", "http://localhost:1"], "requires --question")],
)
def test_what_belongs_together_is_said(words, said):
    result = run(app, ["attack", "timing", *words])
    assert result.exit_code == 2
    assert said in result.output


def test_the_person_who_is_left_out_is_gone_with_all_visits(tmp_path, monkeypatch):
    monkeypatch.setattr(hospital, "PATIENTS", 400)
    hospital.build(tmp_path)
    before = people(tmp_path)
    without(tmp_path, ABSENT)
    after = people(tmp_path)
    assert {PRESENT, ABSENT} <= set(before)
    assert set(before) - set(after) == {ABSENT}
    visits = set(pq.read_table(tmp_path / "visits.parquet")["patient_id"].to_pylist())
    assert before[ABSENT] not in visits
    assert before[PRESENT] in visits


def people(folder: Path) -> dict[int, int]:
    """Patients by their badge."""
    table = pq.read_table(folder / "patients.parquet")
    return {badge: each for badge, each in zip(table["badge"].to_pylist(), table["id"].to_pylist(), strict=True) if badge}


@pytest.mark.slow
def test_its_own_server_is_started_asked_and_ended(tmp_path):
    result = run(app, ["attack", "timing", "--count", "20", "--chart", str(tmp_path / "times.svg")])
    assert result.exit_code == 0, result.output
    assert "which a quiet machine would show" in result.output
    assert (tmp_path / "times.svg").exists()
