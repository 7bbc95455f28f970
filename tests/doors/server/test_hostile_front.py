"""A front that was broken into says anything to the clerk: nobody else notices, and nothing is told without a credential."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from served import COUNT, GIVEN, Served, served
from tacit.doors.server import clerk
from tacit.doors.server.calls import Call, Reply, call_read, call_written, reply_read
from tacit.doors.server.clerk import FrontLine
from tacit.doors.server.desk import OPERATIONS, Desk
from tacit.doors.server.records import Account
from tacit.doors.server.turns import Places
from tacit.release.elsewhere.frames import CALL, HEAD, LONGEST, REPLY, framed, receive

TEXTS = st.text(max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
OPERATION = st.sampled_from([*OPERATIONS, "health"]) | TEXTS
CREDENTIAL = st.sampled_from(["", "x", "tacit_" + "A" * 43, "Bearer", "\ud800", "' OR 1=1 --"]) | TEXTS
ARGUMENTS = st.sampled_from([*GIVEN.values(), {"sql": COUNT, "epsilon": "0.1"}]) | st.dictionaries(TEXTS, VALUES, max_size=3)
CALLS = st.builds(Call, OPERATION, CREDENTIAL, ARGUMENTS, TEXTS).map(call_written)
FIELDS = ("operation", "credential", "arguments", "key", "more")
SHAPES = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, VALUES | st.just(float("inf"))))
CONTENTS = CALLS | st.binary(max_size=60) | SHAPES.map(lambda known: json.dumps(known).encode())
NUMBERS = st.sampled_from([0, 1, 1, 2**64 - 1]) | st.integers(0, 2**64 - 1)
KINDS = st.sampled_from([CALL] * 6 + [REPLY, b"?", b"\0"])
LENGTHS = st.sampled_from([None] * 6 + [0, 1, LONGEST[CALL] + 1, 2**32 - 1])
LAST = 2**63 + 1  # of the call after all others
PATIENCE = 60  # seconds, for what takes a moment on a machine that does nothing else
FRAMES = st.tuples(KINDS, NUMBERS, LENGTHS, CONTENTS)


def as_bytes(frame: tuple[bytes, int, int | None, bytes]) -> bytes:
    """A frame; its length is a lie if one is given."""
    kind, number, length, content = frame
    return HEAD.pack(kind, number, len(content) if length is None else length) + content


class Line:
    """A connection of a front to a clerk in a thread."""

    def __init__(self, place: Desk, workers: ThreadPoolExecutor) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.thread = threading.Thread(target=FrontLine(self.theirs, place, workers).listen)
        self.thread.start()

    def ask(self, call: Call, number: int = 1) -> Reply:
        self.ours.sendall(framed(CALL, number, call_written(call)))
        return reply_read(receive(self.ours, REPLY)[2])

    def told(self, data: bytes) -> list[tuple[int, Reply]]:
        """All replies to what is sent: until that to a last call, or until the clerk ends the connection."""
        with suppress(OSError):
            self.ours.sendall(data + framed(CALL, LAST, call_written(Call("health", "", {}))))
        found: list[tuple[int, Reply]] = []
        with suppress(OSError):
            while not found or found[-1][0] != LAST:
                _, number, content = receive(self.ours, REPLY, time.monotonic() + PATIENCE)
                found.append((number, reply_read(content)))
        return found

    def end(self) -> bool:
        """Whether the clerk's thread ended by itself when this end is closed."""
        self.ours.close()
        self.thread.join(PATIENCE)
        self.theirs.close()
        return not self.thread.is_alive()


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("hostile")) as found:
        found.desk.places = Places(rate=1e9, burst=1e9, places=99)
        yield found


@pytest.fixture(scope="module")
def workers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:  # in the order of the calls
        yield threads


@pytest.fixture(scope="module")
def other(hospital: Served, workers: ThreadPoolExecutor) -> Iterator[Line]:
    """The connection of another front, which nothing must disturb."""
    line = Line(hospital.desk, workers)
    yield line
    assert line.end()


def is_silent(reply: Reply) -> bool:
    """Whether a reply to somebody without a credential tells nothing."""
    return reply.status == 401 or (reply.status, reply.body) == (200, b'{"status": "ready"}')


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(frames=st.lists(FRAMES, min_size=1, max_size=4))
def test_whatever_a_front_says_nothing_is_told_and_nobody_else_notices(hospital, workers, other, frames):
    before = hospital.data.ledger.head
    line = Line(hospital.desk, workers)
    replies = line.told(b"".join(map(as_bytes, frames)))
    assert all(is_silent(reply) for _, reply in replies)
    assert {number for number, _ in replies} <= {number for _, number, _, _ in frames} | {LAST}
    assert line.end()
    assert hospital.data.ledger.head == before, "nothing is spent"
    assert other.ask(Call("budget", hospital.tokens["ana"], {})).status == 200


def test_calls_of_every_operation_reach_the_desk_and_are_told_nothing(hospital, workers):
    """So that the test above is not about malformed frames alone."""
    line = Line(hospital.desk, workers)
    calls = [framed(CALL, at, call_written(Call(name, "x", GIVEN.get(name, {})))) for at, name in enumerate(OPERATIONS)]
    replies = line.told(b"".join(calls))
    assert [number for number, _ in replies] == [*range(len(OPERATIONS)), LAST]
    assert [reply.status for _, reply in replies] == [401] * len(OPERATIONS) + [200]
    assert line.end()


def test_numbers_that_are_used_again_get_the_reply_of_each_call(hospital, workers):
    """Two calls under one number: each is answered for itself, and the same key is paid for once."""
    token, asked = hospital.tokens["ana"], {"sql": "SELECT COUNT(*) AS n FROM visits WHERE cost > 5", "epsilon": "0.01"}
    before = hospital.data.ledger.head.questions
    call = framed(CALL, 7, call_written(Call("ask", token, asked, "replayed")))
    line = Line(hospital.desk, workers)
    line.ours.sendall(call * 3)
    replies = [receive(line.ours, REPLY) for _ in range(3)]
    assert {number for _, number, _ in replies} == {7}
    assert len({content for _, _, content in replies}) == 1
    assert hospital.data.ledger.head.questions == before + 1
    assert line.end()


def test_a_head_that_announces_too_much_ends_the_line_before_anything_is_read(hospital, workers):
    line = Line(hospital.desk, workers)
    assert line.told(HEAD.pack(CALL, 1, LONGEST[CALL] + 1)) == []
    assert line.end()


# --- planted -----------------------------------------------------------------------------------------------------------------


def test_a_desk_that_takes_an_empty_credential_for_somebody_is_caught(hospital, workers, monkeypatch):
    whole = hospital.office.accounts.who
    planted = lambda credential: whole(credential) or (None if credential else Account("ana", "analyst", 1))  # noqa: E731
    monkeypatch.setattr(hospital.office.accounts, "who", planted)
    line = Line(hospital.desk, workers)
    assert not is_silent(line.ask(Call("budget", "", {})))
    assert line.end()


def test_an_operation_that_needs_no_credential_is_caught(hospital, workers, monkeypatch):
    class Open(Desk):
        def _handle(self, call: Call) -> Reply:
            return Reply(200, b"{}") if call.operation == "catalog" else super()._handle(call)

    line = Line(Open(hospital.office, hospital.desk.places), workers)
    assert not is_silent(line.ask(Call("catalog", "", {})))
    assert line.end()


def test_a_clerk_that_believes_types_is_caught(hospital, workers, monkeypatch):
    """Its thread would end with an error, and leave the front without a word."""

    def believing(content: bytes) -> Any:
        return replace(call_read(call_written(Call("health", "", {}))), **json.loads(content))

    ended = []
    monkeypatch.setattr(clerk, "call_read", believing)
    monkeypatch.setattr(threading, "excepthook", lambda given: ended.append(given.exc_type))
    line = Line(hospital.desk, workers)
    line.ours.sendall(framed(CALL, 1, b"[]"))
    line.thread.join(PATIENCE)
    assert ended
    assert line.end()
