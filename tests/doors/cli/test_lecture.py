"""`tacit lecture`: pages in a terminal, item by item, in a folder of their own."""

from __future__ import annotations

import os
from pathlib import Path

from typer.testing import CliRunner

from tacit.doors.cli import app
from tacit.doors.cli import lecture as module


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["lecture", *words])
    return result.exit_code, result.output


def test_pages_are_listed_and_so_are_items() -> None:
    code, listed = run()
    assert code == 0
    assert all(name.value in listed for name in module.Name)
    code, items = run("tutorial", "--list")
    assert code == 0
    assert "T124  The worst outcome: ratio 7" in items


def test_an_item_shows_its_text_runs_its_command_and_compares() -> None:
    code, shown = run("tutorial", "--item", "t131")
    assert code == 0
    assert "$ tacit show counties --noise 1" in shown
    assert "is 100 % sure that W comes from Somerset" in shown
    code, only = run("tutorial", "--item", "T131", "--no-run")
    assert code == 0
    assert "is 100 % sure" in only, "the page has the output too"


def test_python_runs_with_what_earlier_items_of_the_part_defined() -> None:
    code, shown = run("numeric-queries", "--item", "N7")
    assert code == 0
    assert ">>> first.size, second.size, first.distance(second)\n(5, 6, 3)" in shown
    assert shown.index("(5, 6, 3)") < shown.index("(6, 8)"), "the solution follows"


def test_commands_run_elsewhere_and_leave_no_trace(tmp_path, monkeypatch) -> None:
    (tmp_path / "tacit.toml").write_text("[tables]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_CATALOG", str(tmp_path / "tacit.toml"))
    state = os.environ["XDG_STATE_HOME"]
    code, shown = run("one-hour", "--item", "H9")
    assert code == 0
    assert "all clean" in shown, "the catalog of the page, and not the one that the variable names"
    assert (Path.cwd(), os.environ["XDG_STATE_HOME"]) == (tmp_path, state)
    assert os.environ["TACIT_CATALOG"] == str(tmp_path / "tacit.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["tacit.toml"]


def test_an_unknown_item_is_refused() -> None:
    code, shown = run("tutorial", "--item", "T999")
    assert code == 2
    assert "T1 to T143" in shown


def test_at_a_terminal_enter_goes_on_and_q_ends_the_walk(monkeypatch) -> None:
    answers = iter(["", "q"])
    monkeypatch.setattr(module, "_at_terminal", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    code, shown = run("tutorial", "--item", "T20")
    assert code == 0
    assert "x3 = 2: every answer" in shown
    assert "x2 = 7: every answer" not in shown
