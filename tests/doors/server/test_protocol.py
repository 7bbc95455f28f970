"""Connections on a real socket: slow senders are cut off, what is not HTTP is refused, and nothing describes the server."""

from __future__ import annotations

import asyncio.constants
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from served import Served, listening, self_signed, served
from tacit.doors.server import protocol
from tacit.doors.server.protocol import Timely

GET = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /v1/questions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        yield found


SHORT, LONG = (0.3, 0.6, 0.5), (600.0, 600.0, 600.0)  # limits that a test waits for, and limits that no busy machine exceeds
PATIENCE = 60  # seconds until what should have ended has not; without our limits it would last for ever


@pytest.fixture
def line(hospital: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A connection to a server whose limits are long, so that what is meant to be in time is."""
    monkeypatch.setattr(Timely, "limits", LONG)
    with listening(hospital.desk) as url, connected(url) as found:
        yield found


@pytest.fixture
def hurried(hospital: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A connection to a server whose limits are short."""
    monkeypatch.setattr(Timely, "limits", SHORT)
    with listening(hospital.desk) as url, connected(url) as found:
        yield found


def connected(url: str, timeout: float = PATIENCE) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=timeout)


def rest(line: socket.socket) -> bytes:
    """What still comes until the other side ends the connection."""
    found = b""
    try:
        while part := line.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


def is_cut_off(line: socket.socket, begin: bytes, byte: bytes, pause: float = 0.05) -> bool:
    """Whether the other side ends the connection before so many bytes were sent, one after the other."""
    try:
        line.sendall(begin)
        for _ in range(round(PATIENCE / pause)):
            line.sendall(byte)
            time.sleep(pause)
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


def test_the_limits_are_those_of_the_design():
    assert (protocol.HEADER, protocol.BODY) == (5.0, 10.0)
    assert Timely.limits == (protocol.HEADER, protocol.BODY, protocol.STALLED)


def test_a_header_that_trickles_is_cut_off(hurried):
    assert is_cut_off(hurried, GET + b"X: ", b"x")
    assert rest(hurried) == b""


def test_a_body_that_trickles_is_cut_off(line, monkeypatch):
    """A longer one than is sent: it is never whole."""
    monkeypatch.setattr(Timely, "limits", (LONG[0], *SHORT[1:]))
    assert is_cut_off(line, POST, b" ")
    assert rest(line) == b""


def test_who_sends_nothing_is_cut_off(hurried):
    assert rest(hurried) == b""


def whole_reply(line: socket.socket) -> bytes:
    """A reply with its JSON body, which may come in several pieces."""
    text = b""
    while not text.endswith(b"}") and (more := line.recv(65536)):
        text += more
    return text


def hurry(line: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second request on, limits are short. One that comes whole needs no time: it is read at once."""
    line.sendall(GET + b"\r\n")
    assert whole_reply(line).startswith(b"HTTP/1.1 200")
    monkeypatch.setattr(Timely, "limits", SHORT)


def test_requests_in_time_go_on_and_a_second_slow_one_ends(line, monkeypatch):
    hurry(line, monkeypatch)
    for _ in range(2):
        line.sendall(GET + b"\r\n")
        assert whole_reply(line).startswith(b"HTTP/1.1 200")
        time.sleep(0.35)  # longer than a header may take: between requests only the keep-alive limit holds
    line.sendall(GET)
    assert rest(line) == b""


def test_a_question_that_takes_long_is_not_cut_off(line, hospital, monkeypatch):
    hurry(line, monkeypatch)
    ready = type(hospital.desk).handle
    monkeypatch.setattr(type(hospital.desk), "handle", lambda self, call: (time.sleep(0.9), ready(self, call))[1])
    line.sendall(GET + b"\r\n")
    assert whole_reply(line).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "text", [b"\x16\x03\x01 nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"G" * 70_000, b"GET /\r\n\r\n"]
)
def test_what_is_not_http_is_refused_without_being_repeated(line, text):
    line.sendall(text)
    reply = rest(line)
    assert b"nonsense" not in reply
    assert b"bad_request" in reply or (len(text) > 65_536 and reply == b""), "what is not read may take the reply with it"


def test_nothing_describes_the_server(line):
    line.sendall(GET + b"Connection: close\r\n\r\n")
    head = rest(line).lower().partition(b"\r\n\r\n")[0]
    assert b"\r\nserver:" not in head
    assert b"\r\ndate:" not in head
    assert b"uvicorn" not in head


def test_a_handshake_that_is_never_finished_is_cut_off(hospital, tmp_path, monkeypatch):
    """By asyncio's own limit it would be cut off after a minute, which is not waited for."""
    monkeypatch.setattr(protocol, "HEADER", 0.3)
    with listening(hospital.desk, self_signed(tmp_path)) as url, connected(url, timeout=30) as line:
        assert asyncio.constants.SSL_HANDSHAKE_TIMEOUT == 0.3
        assert rest(line) == b""


def test_a_protocol_without_these_limits_is_caught(hospital, monkeypatch):
    """Planted: Uvicorn's own. A header that is never finished keeps its connection."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    monkeypatch.setattr(protocol, "Timely", H11Protocol)
    with listening(hospital.desk) as url, connected(url, timeout=0.8) as line:
        line.sendall(GET)
        with pytest.raises(TimeoutError):
            rest(line)
