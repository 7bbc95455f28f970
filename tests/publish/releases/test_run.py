"""Runs of releases: each period once, caught up, killed at every step, and never changed in silence."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from monthly import RELEASES, hospital, released, rows_of, spends
from tacit.accounting.ledger import selling
from tacit.accounting.ledger.ledger import Ledger
from tacit.errors import BudgetExceeded, InvalidInput, TacitError
from tacit.publish.releases import run as running
from tacit.publish.releases.kept import Kept
from tacit.session import DataSet

MONTHS = ("2024-01", "2024-02", "2024-03")
ALL = {f"{name} {month}": 1 for name in ("visits", "total") for month in MONTHS}


class Killed(BaseException):
    """What no handler of tacit sees, as kill -9."""


@pytest.fixture
def data(tmp_path: Path) -> DataSet:
    return hospital(tmp_path / "hospital")


def files(data: DataSet) -> set[str]:
    return {f"{file.parent.name}/{file.name}" for file in (data.catalog.kept / "releases").glob("*/20*.json")}


def test_every_period_that_is_due_is_released_once(data: DataSet) -> None:
    assert [(ran.release, ran.period) for ran in released(data)] == [
        (name, month) for month in MONTHS for name in ("visits", "total")
    ]
    assert released(data) == []
    assert spends(data) == ALL
    assert files(data) == {f"{name}/{month}.json" for name in ("visits", "total") for month in MONTHS}


def test_missed_months_are_caught_up(data: DataSet) -> None:
    released(data, through="2024-01")
    assert [ran.period for ran in released(data, through="2024-04") if ran.release == "visits"] == ["2024-02", "2024-03", "2024-04"]
    assert set(spends(data).values()) == {1}


def test_a_clock_that_jumps_changes_nothing_and_pays_for_nothing_twice(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten years ahead and back between any two looks at it: what is due follows from the data owner's word alone."""
    looks, real = count(), time.time
    monkeypatch.setattr(time, "time", lambda: real() + (-1) ** next(looks) * 10 * 365 * 86_400)
    monkeypatch.setattr("tacit.accounting.ledger.pages.now", lambda: f"{2016 + 20 * (next(looks) % 2)}-01-01T00:00:00.000+00:00")
    for through in ("2024-01", "2024-03", "2024-03"):
        released(data, through=through)
    assert spends(data) == ALL
    assert files(data) == {f"{name}/{month}.json" for name in ("visits", "total") for month in MONTHS}
    assert data.ledger.verify().whole


KILLS: dict[str, tuple[Any, str]] = {
    "before the definition is noted": (Kept, "begin"),
    "before the spend": (Ledger, "reserve_all"),
    "after the spend, before an answer": (Ledger, "answered"),
    "before the file": (Kept, "keep"),
}


@pytest.mark.parametrize("step", KILLS)
def test_a_run_that_is_killed_loses_nothing_and_pays_nothing_twice(
    data: DataSet, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step of each period, one after the other."""
    where, name = KILLS[step]
    usual, passed = getattr(where, name), [0]

    def killed(*given: Any, **named: Any) -> Any:
        passed[0] += 1
        if passed[0] % 2:
            raise Killed
        return usual(*given, **named)

    monkeypatch.setattr(where, name, killed)
    done = 0
    for _ in range(40):
        try:
            done += len(released(data))
            break
        except Killed:
            continue
    assert spends(data) == ALL
    assert len(files(data)) == 6
    assert passed[0] > 6
    monkeypatch.undo()
    assert released(data) == []
    assert data.ledger.verify().problems == ()


def test_a_ledger_that_does_not_resume_would_pay_twice(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a lost spend is not answered under its own entry."""
    usual = Ledger.answered
    monkeypatch.setattr(Ledger, "answered", lambda *_: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        released(data)
    monkeypatch.setattr(Ledger, "answered", usual)
    monkeypatch.setattr(selling, "_resumed", lambda *_: None)
    monkeypatch.setattr(selling, "is_leased", lambda *_: False)
    released(data)
    assert spends(data)["visits 2024-01"] == 2


def test_only_its_own_request_is_resumed(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same question of an analyst is a question of its own: it waits for the lease, and pays."""
    usual = Ledger.answered
    monkeypatch.setattr(Ledger, "answered", lambda *_: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        released(data)
    monkeypatch.setattr(Ledger, "answered", usual)
    monkeypatch.setattr(selling, "is_leased", lambda *_: False)
    text = "SELECT ward, COUNT(*) AS visits FROM visits WHERE day BETWEEN :first AND :last GROUP BY ward"
    session, days = data.session(), {"first": "2024-01-01", "last": "2024-01-31"}
    first = session.for_request("release visits 2024-01 other", resumes=True).sql(text, params=days, epsilon=0.5)
    assert first.receipt.entry is not None
    paid = [entry for entry in data.ledger.entries() if entry.kind == "spend"]
    assert len(paid) == 2


def test_an_answer_that_was_paid_for_is_released_from_whatever_version_is_prepared(
    data: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Kept.keep
    monkeypatch.setattr(Kept, "keep", lambda *_: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        released(data)
    monkeypatch.setattr(Kept, "keep", usual)
    data.prepare()
    ran = released(data)
    assert (ran[0].release, ran[0].period, ran[0].recovered) == ("visits", "2024-01", True)
    assert set(spends(data).values()) == {1}
    done = json.loads((data.catalog.kept / "releases/visits/2024-01.json").read_text("utf-8"))
    assert [column[0] for column in done["answer"]["columns"]] == ["ward", "visits"]


def test_a_release_that_changes_is_refused_and_another_name_is_not(data: DataSet) -> None:
    released(data)
    for old, new in (
        ("epsilon = 0.5", "epsilon = 0.6"),
        ("GROUP BY ward", "GROUP BY ward ORDER BY ward"),
        ('"month"\n\n', '"quarter"\n\n'),
    ):
        with pytest.raises(InvalidInput, match="a release never changes in silence"):
            released(data, RELEASES.replace(old, new, 1))
    assert released(data, RELEASES.replace("Visits by ward", "Visits to wards").replace("FROM visits  ", "FROM visits ")) == []
    renamed = RELEASES.replace("[releases.visits]", "[releases.by-ward]")
    assert len(released(data, renamed)) == 3


def test_a_declaration_may_be_corrected_until_something_was_released(data: DataSet) -> None:
    with pytest.raises(TacitError):
        released(
            data,
            RELEASES.replace(
                "COUNT(*) AS visits FROM visits WHERE day BETWEEN :first AND :last GROUP", "wrong, :first, :last GROUP"
            ),
        )
    assert released(data)[0].release == "visits"


def test_one_release_that_fails_does_not_stop_the_others(data: DataSet) -> None:
    with pytest.raises(BudgetExceeded) as caught:
        released(data, RELEASES.replace("epsilon = 0.5", "epsilon = 200"))
    assert "release visits 2024-01" in caught.value.__notes__[0]
    assert set(spends(data)) == {f"total {month}" for month in MONTHS}


def test_two_runs_at_once_are_one(data: DataSet) -> None:
    kept = Kept(data.catalog.kept)
    with kept.alone() as first, Kept(data.catalog.kept).alone() as second:
        assert first
        assert not second
    with kept.alone() as again:
        assert again


def test_refusals_prices_and_due_periods_are_those_of_a_neighbour(tmp_path: Path) -> None:
    """Everything but released numbers: without all rows of one person, and with one whose rows are in one month alone."""
    worlds = [
        hospital(tmp_path / str(at), rows)
        for at, rows in enumerate((rows_of(40), rows_of(39), [*rows_of(40), "99,north,2024-03-05"]))
    ]
    told = [[ran.to_dict() for ran in released(each)] for each in worlds]
    assert told[0] == told[1] == told[2]
    shapes = [[(file.name, sorted(json.loads(file.read_text("utf-8")))) for file in sorted((each.catalog.kept / "releases").glob("*/*.json"))] for each in worlds]  # fmt: skip  # noqa: E501
    assert shapes[0] == shapes[1] == shapes[2]


@pytest.mark.slow
def test_a_loop_of_real_processes_that_are_killed_at_random(tmp_path: Path) -> None:
    """kill -9 at random moments, until a run ends by itself; then every period was paid for once, and every file is there."""
    folder, chance = tmp_path / "hospital", random.Random(7)
    with hospital(folder, releases=RELEASES.replace("2024-03", "2024-12")) as data:
        pass
    kills = 0
    for _ in range(200):
        process = subprocess.Popen(
            [sys.executable, "-m", "tacit", "release", "run", "--catalog", "tacit.toml"], cwd=folder, start_new_session=True
        )
        try:
            process.wait(timeout=chance.uniform(0.3, 6) * (1 + kills / 8))  # longer and longer, so that a slow machine gets there
            break
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            time.sleep(0.05)
    assert process.returncode == 0
    assert kills >= 3
    counted = spends(data)
    assert set(counted.values()) == {1}, counted
    assert len(counted) == 24
    assert len(files(data)) == 24
    assert data.ledger.verify().problems == ()
    assert running.__doc__
