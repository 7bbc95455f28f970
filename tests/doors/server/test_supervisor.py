"""When processes are started: what dies at once, what dies again and again later, and further engines after the first."""

import socket
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.doors.server import parts, supervisor
from tacit.doors.server.calls import AWAY, NOT_USABLE, READY
from tacit.doors.server.parts import FIRST_WAIT, LONGEST_AWAY, LONGEST_WAIT, WELL, Part
from tacit.doors.server.supervisor import LOOK, Supervisor


class Alive:
    """A process that runs, or one that has ended."""

    def __init__(self, returncode: int | None = None) -> None:
        self.returncode = returncode

    def poll(self) -> int | None:
        return self.returncode


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    for module in (parts, supervisor):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


@pytest.fixture
def server():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        found: Any = Supervisor(SimpleNamespace(), ours, lambda _: None)  # type: ignore[arg-type]
        found.engines = [Part("engine 1"), Part("engine 2"), Part("engine 3")]
        yield found


def waited(part: Part, clock: Any, away: bool = False) -> float:
    """How long a part that ends now waits before it is started again."""
    part.ended(away)
    return float(part.due - clock.seconds)


def test_what_dies_is_started_at_once_and_what_dies_soon_again_later_each_time(clock):
    part = Part("clerk", since=clock.seconds)
    waits = [waited(part, clock) for _ in range(10)]
    assert waits[:4] == pytest.approx([0.0, FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT])
    assert waits[-1] == LONGEST_WAIT
    clock.seconds += WELL + 1
    assert waited(part, clock) == 0.0, "it had run well"


def test_an_engine_without_its_cluster_is_started_ever_more_rarely(clock):
    """However long it tried: a cluster that says nothing keeps it for longer than a good start takes."""
    part, waits = Part("engine 1"), list[float]()
    for _ in range(14):
        part.since, clock.seconds = clock.seconds, clock.seconds + WELL + 1
        waits.append(waited(part, clock, away=True))
        clock.seconds += waits[-1]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (0.0, LONGEST_AWAY)
    assert sum(wait < LONGEST_AWAY for wait in waits) == 11, "two minutes until then"
    part.since = clock.seconds
    assert waited(part, clock) == LONGEST_WAIT, "one that had opened the data is waited for as before"


def test_an_engine_learns_which_sessions_the_one_before_it_may_have_left():
    """One that did not reach its cluster has left none, and has ended none."""
    part = Part("engine 1")
    first = part.new_session()
    assert first["before"] == ""
    part.ended(away=False)
    second = part.new_session()
    assert second["before"] == first["session"] != second["session"]
    part.ended(away=True)
    third = part.new_session()
    assert (third["before"], third["session"] in (first["session"], second["session"])) == (first["session"], False)
    part.ended(away=False)
    assert part.new_session()["before"] == third["session"]


def test_a_changed_catalog_is_tried_at_once(server, clock, tmp_path):
    """Also if clerk and engines wait for a cluster: the owner may have corrected where it is."""
    server.say, server.plan = (lambda _: None), SimpleNamespace(path=tmp_path / "tacit.toml")
    server.plan.path.write_text("")
    for part in (server.clerk, *server.engines):
        part.due, part.wait = clock.seconds + LONGEST_AWAY, LONGEST_AWAY
    server.changed = True
    server._look_at_catalog()
    assert [(part.due, part.wait) for part in (server.clerk, *server.engines)] == [(clock.seconds, 0.0)] * 4


def test_the_log_has_one_line_for_each_change_of_a_cluster(server, clock):
    said: list[str] = []
    server.say, server.was_ready = said.append, True
    server.clerk.process = Alive()
    ours, theirs = socket.socketpair()
    server.clerk.control = ours
    with ours, theirs:
        for _ in range(8):
            for part in server.engines:
                part.process, part.since = Alive(AWAY), clock.seconds
            server._reap()
            clock.seconds += LONGEST_AWAY
        assert said == ["no engine can open the data; they try again after at most 60 seconds"]
        assert [part.due > clock.seconds - LONGEST_AWAY for part in server.engines] == [True] * 3
        theirs.sendall(READY)
        server._report(server.clerk)
        assert said[1:] == ["an engine has opened the data again"]
        assert [(part.due <= clock.seconds, part.wait) for part in server.engines] == [(True, 0.0)] * 3
        for _ in range(2):
            theirs.sendall(NOT_USABLE + b"the Spark cluster cannot be reached")
            server._report(server.clerk)
        assert said[2:] == ["clerk: the Spark cluster cannot be reached"]
    server.engines[0].process = Alive(1)
    server._reap()
    assert said[3:] == ["engine 1 ended (1); it is started again"], "anything else is said each time"


def test_what_ends_again_and_again_before_it_is_ready_is_said_once(server, clock):
    said: list[str] = []
    server.say = said.append
    for _ in range(6):
        server.front.process, server.front.since = Alive(1), clock.seconds
        server.clerk.process = Alive()
        server._reap()
        clock.seconds += 1
    assert [each.partition(". ")[0] for each in said] == ["front ended (1) before it was ready; it is started again"]
    assert "site-packages" in said[0]


def test_what_ends_once_before_it_is_ready_is_not_said(server, clock):
    """The clerk has said why: that is the error of the command."""
    said: list[str] = []
    server.say = said.append
    server.clerk.process, server.clerk.since = Alive(1), clock.seconds
    server._reap()
    server.engines[0].process, server.engines[0].since = Alive(AWAY), clock.seconds
    server._reap()
    assert said == []


def test_further_engines_are_started_when_the_first_one_has_opened_the_data(server):
    server.front.process = Alive()
    assert [part.name for part in server._parts_to_start()] == ["clerk"]
    server.clerk.process = Alive()
    assert [part.name for part in server._parts_to_start()] == ["engine 1"]
    server.engines[0].process = Alive()
    assert server._parts_to_start() == []
    server.clerk.ready = True
    assert [part.name for part in server._parts_to_start()] == ["engine 2", "engine 3"]


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
