"""When processes are started: what dies at once, what dies again and again later, and further engines after the first."""

import socket
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.doors.server import supervisor as module
from tacit.doors.server.supervisor import FIRST_WAIT, LONGEST_WAIT, LOOK, WELL, Part, Supervisor


class Alive:
    """A process that runs."""

    def poll(self) -> None:
        return None


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


@pytest.fixture
def server():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        found: Any = Supervisor(SimpleNamespace(), ours, lambda _: None)  # type: ignore[arg-type]
        found.engines = [Part("engine 1"), Part("engine 2"), Part("engine 3")]
        yield found


def waited(part: Part, clock: Any) -> float:
    """How long a part that ends now waits before it is started again."""
    part.ended()
    return part.due - clock.seconds


def test_what_dies_is_started_at_once_and_what_dies_soon_again_later_each_time(clock):
    part = Part("clerk", since=clock.seconds)
    waits = [waited(part, clock) for _ in range(10)]
    assert waits[:4] == pytest.approx([0.0, FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT])
    assert waits[-1] == LONGEST_WAIT
    clock.seconds += WELL + 1
    assert waited(part, clock) == 0.0, "it had run well"


def test_further_engines_are_started_when_the_first_one_has_opened_the_data(server):
    server.front.process = Alive()
    assert [part.name for part in server._missing()] == ["clerk"]
    server.clerk.process = Alive()
    assert [part.name for part in server._missing()] == ["engine 1"]
    server.engines[0].process = Alive()
    assert server._missing() == []
    server.clerk.ready = True
    assert [part.name for part in server._missing()] == ["engine 2", "engine 3"]


def test_a_start_that_is_due_is_not_slept_through(server, clock):
    server.front.process = server.clerk.process = server.engines[0].process = Alive()
    assert server._pause() == LOOK
    server.engines[0].process, server.engines[0].due = None, clock.seconds + LOOK / 5
    assert server._pause() == pytest.approx(LOOK / 5)
    server.engines[0].due = clock.seconds - 1
    assert server._pause() == 0.0


def test_the_supervisor_loads_nothing_that_the_processes_run():
    heavy = ("numpy", "duckdb", "sqlglot", "sqlalchemy", "pydantic", "uvicorn")
    program = f"import sys, tacit.doors.server.supervisor; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
