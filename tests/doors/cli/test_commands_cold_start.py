"""Tricks of a cold start that no other test watches, on the installed versions: docs/decisions/0017-cold-start.md lists them all.

Each test sees an effect, such as a module that is not imported. Time is measured in benchmarks/cold_start.py.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.doors import cli
from tacit.doors.server import parts

CATALOG = '[budget]\nepsilon = 1\n[tables.people]\nsource = "people.csv"\nunit = "row"\ncolumns.age = { bounds = [0, 110] }\n'


def printed(script: str, folder: Path) -> list[str]:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.splitlines()


@pytest.fixture
def data_set(tmp_path: Path) -> Path:
    import tacit

    (tmp_path / "tacit.toml").write_text(CATALOG)
    (tmp_path / "people.csv").write_text("age\n" + "40\n" * 10)
    tacit.open(tmp_path / "tacit.toml").prepare(new_ledger=True)
    return tmp_path


@pytest.mark.parametrize(("value", "loaded"), [("3", "False"), ("drei\u00e9", "True")])
def test_an_option_in_plain_ascii_needs_no_pydantic(value: str, loaded: str, data_set: Path) -> None:
    """Typer imports pydantic to read a value; an option that is not given, or a text in ASCII, is taken as it is."""
    words = ["tacit", "explain", "SELECT COUNT(*) FROM people", "--epsilon", "1", "--analyst", f"ana{value}"]
    script = f"import sys; sys.argv = {words!r}\nfrom tacit.doors.cli import run\ntry: run('explain')\nexcept SystemExit: pass\n"
    assert printed(f"{script}print('pydantic' in sys.modules)", data_set)[-1] == loaded


def test_a_process_of_one_answer_ends_without_taking_itself_apart(data_set: Path) -> None:
    """Functions for the end of the process run; objects that are still there are not deleted one by one."""
    watched = "import atexit, sys\nclass Seen:\n    def __del__(self): print('taken apart')\nseen = Seen()\n"
    watched += "atexit.register(lambda: print('closed'))\n"
    ended = f"{watched}sys.argv = ['tacit', 'budget']\nfrom tacit.doors.cli import main\nmain()"
    assert printed(ended, data_set)[-1] == "closed"
    assert printed(f"{watched}sys.exit()", data_set) == ["closed", "taken apart"]


def test_a_command_of_the_map_does_not_load_the_tables(tmp_path: Path) -> None:
    loaded = "import sys, tacit.publish.synthetic.commuters.release\nprint('tacit.publish.synthetic.rows.release' in sys.modules)\n"
    loaded += "from tacit.publish.synthetic import synthesize_table\nprint('tacit.publish.synthetic.rows.release' in sys.modules)"
    assert printed(loaded, tmp_path) == ["False", "True"]


def test_a_process_of_the_server_does_not_look_for_garbage_while_it_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    enabled = []
    monkeypatch.setitem(parts.ROLES, "seen", lambda _: enabled.append(gc.isenabled()))
    try:
        parts.run("seen", "{}")
    finally:
        gc.enable()
    assert enabled == [False]


@pytest.mark.parametrize(("command", "collects"), [("sql", False), ("explain", False), ("check", True)])
def test_a_command_that_answers_once_collects_no_garbage(command: str, collects: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    enabled = []
    monkeypatch.setattr("tacit.doors.cli.commands.application", lambda asked: lambda **_: enabled.append(gc.isenabled()))
    monkeypatch.setattr("tacit.release.elsewhere.processes.start_ahead", lambda: None)
    monkeypatch.setattr("sys.argv", ["tacit", command])
    try:
        cli.run(command)
    finally:
        gc.enable()
    assert enabled == [collects]
