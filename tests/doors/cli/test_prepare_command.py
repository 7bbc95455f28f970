"""`tacit prepare` from the outside."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app
from tacit.query.store import open_store

CATALOG = """\
[budget]
epsilon = 8

[tables.visits]
source = "visits.csv"
unit = { column = "patient" }
max_rows = 2

[tables.visits.columns]
cost = { bounds = [0, 100] }
sex = { values = ["F", "M"], unknown = "drop" }

[tables.wards]
source = "wards.csv"
public = true
"""
VISITS = "patient,cost,sex\n1,5,F\n1,500,F\n1,7,M\n2,,F\n2,8,X\n,9,F\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "tacit.toml").write_text(CATALOG)
    (tmp_path / "visits.csv").write_text(VISITS)
    (tmp_path / "wards.csv").write_text("ward,empty\na,\nb,\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_CATALOG", raising=False)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["prepare", *arguments])


def test_the_report_is_for_the_curator(folder):
    result = run()
    assert result.exit_code == 0
    assert "for the curator alone" in result.stdout
    words = " ".join(result.stdout.split())
    assert "visits private 6 3 1 rows dropped: value out of the declared" in words
    assert "1 rows dropped: no unit" in words
    assert "1 rows dropped: beyond max_rows or a repeated key" in words
    assert "cost: 1 missing, 1 above" in words
    assert "empty is left out: it has no values" in words
    assert result.stderr == ""


def test_the_same_as_json(folder):
    report = json.loads(run("--json").stdout)
    assert list(report) == ["store", "version", "for_the_curator_alone"]
    visits, wards = report["for_the_curator_alone"]["tables"]
    assert (visits["read"], visits["kept"], visits["dropped"]) == (6, 3, {"value": 1, "no unit": 1, "limit": 1})
    assert wards["left_out"] == {"empty": "it has no values"}
    with open_store(folder / ".tacit" / "store" / "store.duckdb") as engine:
        assert engine.execute("SELECT version FROM tacit_store").fetchone() == (report["version"],)


def test_rows_of_several_owners_are_told_to_the_curator(folder):
    """A message belongs to each of its parties."""
    (folder / "tacit.toml").write_text(
        "budget.epsilon = 8\n"
        '[tables.parties]\nsource = "parties.csv"\nunit = { column = "person" }\nmax_rows = 9\ncolumns.message = { key = true }\n'
        '[tables.messages]\nsource = "messages.csv"\nunit = { column = "id", references = "parties.message" }\nmax_rows = 9\n'
    )
    (folder / "parties.csv").write_text("message,person\n1,a\n1,b\n2,a\n2,b\n2,c\n3,a\n")
    (folder / "messages.csv").write_text("id\n1\n2\n3\n4\n")
    words = " ".join(run().stdout.split())
    assert "2 rows are shared by several units, at most 3 each: a row of m units is protected at m times epsilon" in words
    assert "6 copies are stored, and COUNT(*) counts copies" in words
    messages = json.loads(run("--json").stdout)["for_the_curator_alone"]["tables"][1]
    assert {key: messages[key] for key in ("read", "kept", "copies", "shared", "most_owners")} == {
        "read": 4,
        "kept": 3,
        "copies": 6,
        "shared": 2,
        "most_owners": 3,
    }
    assert messages["dropped"] == {"value": 0, "no unit": 1, "limit": 0}


def test_what_is_unusable_ends_with_4(folder):
    (folder / "visits.csv").unlink()
    result = run("--json")
    assert (result.exit_code, result.stdout) == (4, "")
    assert "there is no file visits.csv" in json.loads(result.stderr)["error"]["message"]
    assert run("--memory", "plenty").exit_code == 2


def test_a_terminal_sees_a_bar_and_a_pipe_does_not(folder):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tacit", "prepare", "--json"]
    seen = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    shown = subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, env=seen)
    os.close(theirs)
    bar = b""
    while chunk := _read(ours):
        bar += chunk
    os.close(ours)
    answer, _ = shown.communicate()
    assert shown.returncode == 0
    assert json.loads(answer)["version"]
    assert "━".encode() in bar
    assert b"\x1b[?25h" in bar, "the cursor is shown again"


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def test_ctrl_c_leaves_nothing_behind(folder):
    with (folder / "visits.csv").open("w") as visits:
        visits.write("patient,cost,sex\n")
        visits.writelines(f"{place % 100_000},{place % 100},F\n" for place in range(1_500_000))
    running = subprocess.Popen([sys.executable, "-m", "tacit", "prepare"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    store = folder / ".tacit" / "store"
    while not list(store.glob("preparing-*/store.duckdb*")):
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    said, complained = running.communicate(timeout=60)
    assert running.returncode != 0
    assert (said, b"Traceback" in complained) == (b"", False)
    assert [path.name for path in store.iterdir()] == ["prepare.lock"]
