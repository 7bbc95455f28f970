"""The time that a question on a cluster or a server has taken: on a terminal alone, and gone when the answer is there."""

from __future__ import annotations

import io
import sys
import threading
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.doors.cli import ask, output
from tacit.query.engines import EMBEDDED


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Called in a test, not as a fixture: pytest puts its own stream in place when a test begins."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    return shown


def test_what_takes_long_shows_its_time_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = terminal(monkeypatch)
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    before = set(threading.enumerate())
    with output.clock("waiting for [red]the cluster"):
        until = time.monotonic() + 60
        while "0:00:0" not in shown.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
    assert "waiting for [red]the cluster" in shown.getvalue()
    assert "0:00:0" in shown.getvalue()
    assert shown.getvalue().endswith("\x1b[2K")  # the line is erased
    of_others = {thread for thread in threading.enumerate() if not type(thread).__module__.startswith("rich")}
    for thread in set(threading.enumerate()) - before - of_others:  # the one that draws may take a moment to end
        thread.join(60)
        assert not thread.is_alive()


def test_what_is_done_at_once_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = terminal(monkeypatch)
    monkeypatch.setattr(output, "PATIENCE", 3600.0)
    with output.clock("waiting for the cluster"):
        pass
    assert shown.getvalue() == ""


def test_without_a_terminal_nothing_is_shown(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    with output.clock("waiting for the cluster"):
        time.sleep(0.05)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("engine", "shown"), [("spark", ["waiting for the cluster"]), (EMBEDDED, [])])
def test_an_embedded_engine_is_asked_without_a_thread(engine: str, shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs in a process that is forked, which a thread could hold up."""
    clocks: list[str] = []

    class Data(nullcontext[Any]):
        catalog = SimpleNamespace(store_engine=engine)

    monkeypatch.setattr(ask, "opened", lambda catalog, analyst: SimpleNamespace(data=Data()))
    monkeypatch.setattr(ask, "clock", lambda what: clocks.append(what) or nullcontext())
    with ask.respondent(None, None, None):
        pass
    assert clocks == shown
