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

from tacit.data.store import open_store
from tacit.doors.cli import app

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
    assert "for the data owner only" in result.stdout
    words = " ".join(result.stdout.split())
    assert "visits private 6 3 1 row dropped: value out of the declared" in words
    assert "1 row dropped: no unit" in words
    assert "1 row dropped: beyond max_rows or a repeated key" in words
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


def test_units_in_common_are_told_and_keys_that_never_meet_are_refused(folder):
    patients = '[tables.patients]\nsource = "patients.csv"\nunit = "row"\ncolumns.id = { key = true }\n'
    refers = CATALOG.replace('{ column = "patient" }', '{ column = "patient", references = "patients.id" }')
    (folder / "tacit.toml").write_text(refers + patients)
    (folder / "patients.csv").write_text("id\n1\n7\n8\n")
    shown = run()
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "visits and patients share 1 unit: visits has 2, patients has 3" in " ".join(shown.stdout.split())
    (folder / "patients.csv").write_text("id\nP1\nP7\n")
    refused = run()
    assert refused.exit_code == 1
    assert "visits and patients have no unit in common, though visits refers to patients" in " ".join(refused.stdout.split())
    private = json.loads(run("--json", "--yes").stdout)["for_the_curator_alone"]
    assert [(each["units"], each["shared"]) for each in private["sharing"]] == [([2, 2], 0)]


def test_what_is_unusable_ends_with_4(folder):
    (folder / "visits.csv").unlink()
    result = run("--json")
    assert (result.exit_code, result.stdout) == (4, "")
    assert "file not found: visits.csv" in json.loads(result.stderr)["error"]["message"]
    (folder / "visits.csv").write_text(VISITS)
    assert run("--memory", "plenty").exit_code == 2


# --- the verdict -----------------------------------------------------------------------------------------------------------------


def version(folder):
    with open_store(folder / ".tacit" / "store" / "store.duckdb") as engine:
        return engine.execute("SELECT version FROM tacit_store").fetchone()[0]


def test_a_column_that_cannot_be_read_leaves_the_old_store(folder):
    assert run().exit_code == 0
    before = version(folder)
    (folder / "visits.csv").write_text("patient;cost;sex\n1;4812,35;F\n2;12,5;F\n3;7;F\n")
    refused = run()
    words = " ".join(refused.stdout.split())
    assert (refused.exit_code, version(folder)) == (1, before)
    assert "unreadable, such as '4812,35': is the decimal sign a comma? decimal = \",\"" in words
    assert "visits: cost: 2 of 3 values cannot be used as they are written The old store stays" in words
    told = json.loads(run("--json").stdout)
    assert (told["version"], told["for_the_curator_alone"]["accepted"]) == (None, False)
    assert told["for_the_curator_alone"]["tables"][0]["columns"][0]["examples"] == {"unreadable": "4812,35"}
    assert run("--yes").exit_code == 0
    assert version(folder) != before


def test_the_line_that_is_proposed_helps(folder):
    (folder / "visits.csv").write_text("patient;cost;sex\n1;48,0;F\n2;12,0;F\n")
    assert run().exit_code == 1
    (folder / "tacit.toml").write_text(CATALOG.replace("max_rows = 2", 'max_rows = 2\ndecimal = ","'))
    done = run()
    assert (done.exit_code, "all clean" in done.stdout) == (0, True)


def test_a_table_of_which_no_row_is_kept_leaves_the_old_store(folder):
    (folder / "visits.csv").write_text("patient,cost,sex\n,1,F\n,2,M\n")
    refused = run()
    assert (refused.exit_code, "visits: no row is kept" in refused.stdout) == (1, True)
    assert not (folder / ".tacit" / "store" / "store.duckdb").exists()
    assert run("--yes").exit_code == 0


def test_numbers_between_two_steps_are_no_secret(folder):
    (folder / "visits.csv").write_text("patient,cost,sex\n1,62.692,F\n2,2,F\n3,5,F\n")
    done = run()
    words = " ".join(done.stdout.split())
    assert (done.exit_code, "cost: 1 rounded to the step" in words) == (0, True)
    assert "rounded, such as '62.692': does the point part thousands? thousands = \".\"" in words


def test_larger_limits_are_told(folder):
    (folder / "visits.csv").write_text("patient,cost,sex\n" + "".join(f"1,{cost},F\n" for cost in range(9)) + "2,1,F\n")
    words = " ".join(run().stdout.split())
    assert "7 rows dropped: beyond max_rows or a repeated key max_rows = 4 would keep 5, max_rows = 8 would keep 9" in words


def test_an_example_steers_no_terminal_and_is_stored_nowhere(folder):
    (folder / "visits.csv").write_text("patient,cost,sex\n1,\x1b[31mSECRET9,F\n2,2,F\n3,5,F\n")
    done = run()
    assert done.exit_code == 0
    assert "'\\x1b[31mSECRET9'" in done.stdout
    assert "\x1b" not in done.stdout
    assert not any(b"SECRET9" in file.read_bytes() for file in (folder / ".tacit").rglob("*") if file.is_file())


def test_a_version_is_new_unless_the_owner_declares_that_nothing_changed(folder):
    run()
    first = version(folder)
    run()
    second = version(folder)
    assert run("--keep-version").exit_code == 0
    assert (first == second, version(folder)) == (False, second)
    (folder / "tacit.toml").write_text(CATALOG.replace("[0, 100]", "[0, 200]"))
    changed = run("--keep-version")
    assert (changed.exit_code, version(folder)) == (4, second)
    assert "the catalog has changed" in changed.stderr


def test_there_is_no_version_to_keep_before_the_first(folder):
    refused = run("--keep-version")
    assert (refused.exit_code, "no store whose version can be kept" in refused.stderr) == (4, True)


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
    said, complained = running.communicate(timeout=300)
    assert running.returncode != 0
    assert (said, b"Traceback" in complained) == (b"", False)
    assert [path.name for path in store.iterdir()] == ["prepare.lock"]
