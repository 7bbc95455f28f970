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
POST = b"POST /v1/questions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def line(hospital: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A connection to a server whose limits are short."""
    monkeypatch.setattr(Timely, "limits", (0.3, 0.6, 0.5))
    with listening(hospital.desk) as url, socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=10) as found:
        yield found


def rest(line: socket.socket) -> bytes:
    """What still comes until the other side ends the connection."""
    found = b""
    try:
        while part := line.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


def trickled(line: socket.socket, text: bytes, pause: float = 0.05) -> float:
    """The seconds for which one byte after the other was taken."""
    began = time.monotonic()
    try:
        for at in range(len(text)):
            line.sendall(text[at : at + 1])
            time.sleep(pause)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return time.monotonic() - began


def test_the_limits_are_those_of_the_design():
    assert (protocol.HEADER, protocol.BODY) == (5.0, 10.0)
    assert Timely.limits == (protocol.HEADER, protocol.BODY, protocol.STALLED)


def test_a_header_that_trickles_is_cut_off(line):
    assert trickled(line, GET + b"X: " + b"x" * 60) < 3
    assert rest(line) == b""


def test_a_body_that_trickles_is_cut_off(line):
    line.sendall(POST)
    assert trickled(line, b" " * 60) < 3
    assert rest(line) == b""


def test_who_sends_nothing_is_cut_off(line):
    assert rest(line) == b""


def whole_reply(line: socket.socket) -> bytes:
    """A reply with its JSON body, which may come in several pieces."""
    text = b""
    while not text.endswith(b"}") and (more := line.recv(65536)):
        text += more
    return text


def test_requests_in_time_go_on_and_a_second_slow_one_ends(line):
    for _ in range(2):
        line.sendall(GET + b"\r\n")
        assert whole_reply(line).startswith(b"HTTP/1.1 200")
        time.sleep(0.35)  # longer than a header may take: between requests only the keep-alive limit holds
    line.sendall(GET)
    began = time.monotonic()
    assert rest(line) == b""
    assert time.monotonic() - began < 3


def test_a_question_that_takes_long_is_not_cut_off(line, hospital, monkeypatch):
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
    monkeypatch.setattr(protocol, "HEADER", 0.3)
    with (
        listening(hospital.desk, self_signed(tmp_path)) as url,
        socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=10) as line,
    ):
        began = time.monotonic()
        assert rest(line) == b""
        assert time.monotonic() - began < 3
    assert asyncio.constants.SSL_HANDSHAKE_TIMEOUT == 0.3


def test_a_protocol_without_these_limits_is_caught(hospital, monkeypatch):
    """Planted: Uvicorn's own. A header that is never finished keeps its connection."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    monkeypatch.setattr(protocol, "Timely", H11Protocol)
    with listening(hospital.desk) as url, socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=0.8) as line:
        line.sendall(GET)
        with pytest.raises(TimeoutError):
            rest(line)
