"""Connections on a real socket: slow senders are cut off, what is not HTTP is refused, and nothing describes the server."""

from __future__ import annotations

import asyncio.constants
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import h11
import pytest

from served import Served, listening, self_signed, served
from services import Missing, nginx_server
from tacit.doors.server import gate
from tacit.doors.server.gate import Timely

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
    assert (gate.HEADER, gate.BODY) == (5.0, 10.0)
    assert Timely.limits == (gate.HEADER, gate.BODY, gate.STALLED)


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
    monkeypatch.setattr(gate, "HEADER", 0.3)
    with listening(hospital.desk, self_signed(tmp_path)) as url, connected(url, timeout=30) as line:
        assert asyncio.constants.SSL_HANDSHAKE_TIMEOUT == 0.3
        assert rest(line) == b""


def test_a_protocol_without_these_limits_is_caught(hospital, monkeypatch):
    """Planted: Uvicorn's own. A header that is never finished keeps its connection."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    monkeypatch.setattr(gate, "Timely", H11Protocol)
    with listening(hospital.desk) as url, connected(url, timeout=0.8) as line:
        line.sendall(GET)
        with pytest.raises(TimeoutError):
            rest(line)


# --- headers with two readings -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def patient(hospital: Served) -> Iterator[str]:
    """The URL of one server for many connections, whose limits no busy machine exceeds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Timely, "limits", LONG)
        with listening(hospital.desk) as url:
            yield url


HIDDEN = b"GET /v1/catalog HTTP/1.1\r\nHost: localhost\r\n\r\n"  # what would be smuggled past a reader of the other kind
JSON = b"POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = JSON + b"Transfer-Encoding: chunked\r\n\r\n"
UNCLEAR = {
    "both lengths": JSON + b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (5 + len(HIDDEN)) + HIDDEN,
    "lengths the other way": JSON + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "two lengths": JSON + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a list of lengths": JSON + b"Content-Length: 2, 2\r\n\r\n{}",
    "two codings": JSON + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"0\r\n\r\n",
    "chunks in HTTP/0.9": CHUNKED.replace(b"HTTP/1.1", b"HTTP/0.9") + b"0\r\n\r\n",
    "another version, and no host": b"GET /v1/health HTTP/1.2\r\n\r\n",
    "bare LF everywhere": GET.replace(b"\r\n", b"\n") + b"\n",
    "bare LF after the request line": GET.replace(b"1.1\r\n", b"1.1\n") + b"\r\n",
    "bare LF between headers": GET + b"X: 1\nY: 2\r\n\r\n",
    "bare LF at the end": GET + b"\n",
    "bare LF at the beginning": b"\n" + GET + b"\r\n",
    "bare LF, and the header is not whole": GET + b"X: 1\nY: 2\r\n",
    "bare CR": GET + b"X: 1\rY: 2\r\n\r\n",
    "a folded line": GET + b"X: 1\r\n 2\r\n\r\n",
    "a folded line with a tab": GET + b"X: 1\r\n\tY: 2\r\n\r\n",
    "a folded length": JSON + b"Content-Length:\r\n 2\r\n\r\n{}",
    "two tokens": GET + b"Authorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n",
    "two keys": GET + b"Idempotency-Key: a\r\nIDEMPOTENCY-KEY: a\r\n\r\n",
    "two types": JSON + b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    "bare LF after the chunks": CHUNKED + b"2\r\n{}\r\n0\r\n\n",
    "bare LF in trailers": CHUNKED + b"2\r\n{}\r\n0\r\nX: 1\nY: 2\r\n\r\n",
    "bare CR in a chunk's head": CHUNKED + b"2;a\rb\r\n{}\r\n0\r\n\r\n",
    "folded trailers": CHUNKED + b"2\r\n{}\r\n0\r\nX: 1\r\n 2\r\n\r\n",
    "long trailers": CHUNKED + b"2\r\n{}\r\n0\r\nX: " + b"x" * gate.MOST_HEADER + b"\r\n\r\n",
    "a long header at once": GET + b"X: " + b"x" * gate.MOST_HEADER + b"\r\n\r\n",
    "many headers at once": GET + b"X: 1\r\n" * (gate.MOST_HEADER // 6) + b"\r\n",
}


@pytest.mark.parametrize("text", UNCLEAR.values(), ids=UNCLEAR.keys())
def test_a_header_with_two_readings_is_refused_and_the_connection_closed(patient, text):
    with connected(patient) as line:
        line.sendall(text)
        reply = rest(line)
    assert reply.startswith(b"HTTP/1.1 400 "), reply
    assert reply.count(b"HTTP/1.1 ") == 1, "nothing behind it was read as a request"
    assert b"\r\nconnection: close\r\n" in reply.lower()


def test_the_same_after_a_request_on_the_same_connection(line):
    line.sendall(GET + b"\r\n" + GET + b"\n")
    reply = rest(line)
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert reply.count(b"HTTP/1.1 ") == 2
    assert b"HTTP/1.1 400 " in reply


PLAIN = {
    "a length": JSON + b"Content-Length: 2\r\n\r\n{}",
    "chunks": CHUNKED + b"1\r\n{\r\n1;a=b\r\n}\r\n0\r\n\r\n",
    "trailers": CHUNKED + b"2\r\n{}\r\n0\r\nX: 1\r\n\r\n",
    "an empty value": JSON + b"X:\r\nX: \r\nContent-Length: 2\r\n\r\n{}",
    "a header at the limit": JSON + b"Content-Length: 2\r\nX: " + b"x" * (16_384 - len(JSON) - 26) + b"\r\n\r\n{}",
}


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN.keys())
@pytest.mark.parametrize("whole", [True, False], ids=["at once", "byte by byte"])
def test_what_has_one_reading_is_read(text, whole):
    """So that nothing above is refused for another reason; wherever the pieces of a request end."""
    connection, events = gate.Plain(), list[type]()
    for piece in [text] if whole else [bytes([byte]) for byte in text]:
        connection.receive_data(piece)
        while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            events.append(type(event))
    assert events[0] is h11.Request
    assert events[-1] is h11.EndOfMessage


class Copying(gate.Plain):
    """Planted: what is not read yet is copied to read one event more."""

    copied = 0

    @property
    def trailing_data(self) -> tuple[bytes, bool]:
        found = super().trailing_data
        self.copied += len(found[0])
        return found

    def next_event(self) -> object:
        _ = self.trailing_data
        return super().next_event()


class Watched(Copying):
    """The protocol as it is."""

    next_event = gate.Plain.next_event


@pytest.mark.parametrize("kind", [Watched, Copying], ids=["sound", "planted"])
def test_a_body_in_many_small_chunks_is_read_in_time_that_grows_with_it(kind):
    """Else a quarter of a megabyte, which arrives at once, keeps the front from everybody else for seconds."""
    connection, chunks = kind(), b"1\r\nx\r\n" * 1_000
    connection.receive_data(CHUNKED + chunks + b"0\r\n\r\n" + HIDDEN)
    events = list[type]()
    while (event := connection.next_event()) is not h11.PAUSED:
        events.append(type(event))
    assert events == [h11.Request, *[h11.Data] * 1_000, h11.EndOfMessage]
    assert connection.trailing_data[0] == HIDDEN
    assert (connection.copied <= len(CHUNKED + chunks)) is (kind is Watched)


@pytest.mark.parametrize("name", UNCLEAR)
def test_h11_alone_is_caught(name):
    """Planted: h11 as it is reads most of these, one way or the other; those that it refuses are listed."""
    connection = h11.Connection(h11.SERVER, gate.MOST_HEADER)
    connection.receive_data(UNCLEAR[name])
    try:
        while connection.next_event() not in (h11.NEED_DATA, h11.PAUSED):
            pass
    except h11.RemoteProtocolError:
        assert name in REFUSED_BY_H11
    else:
        assert name not in REFUSED_BY_H11


REFUSED_BY_H11 = {"two codings", "bare LF at the beginning", "bare CR"}


# --- behind nginx ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def proxied(hospital: Served, patient: str) -> Iterator[tuple[int, list[str]]]:
    """The port of an nginx in front of the server, and the operations that reach the desk."""
    reached, ready = list[str](), type(hospital.desk).handle
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(type(hospital.desk), "handle", lambda self, call: (reached.append(call.operation), ready(self, call))[1])
        try:
            yield stack.enter_context(nginx_server(urlsplit(patient).port or 0)), reached
        except Missing as missing:
            pytest.skip(str(missing))


def told(port: int, text: bytes) -> bytes:
    """What comes back on a connection on which nothing more is sent, until nginx closes it."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall(text)
        return rest(line)


@pytest.mark.parametrize("place", [b"/v1/", b"/streamed/v1/"], ids=["buffered", "streamed"])
@pytest.mark.parametrize("name", UNCLEAR)
def test_behind_nginx_no_request_is_hidden_in_another(proxied, name, place):
    """All clients share one connection behind the proxy: what one of them hides would be answered to the next."""
    port, reached = proxied
    told(port, UNCLEAR[name].replace(b" /v1/", b" " + place))
    after = [told(port, GET.replace(b" /v1/", b" " + place) + b"Connection: close\r\n\r\n") for _ in range(2)]
    assert all(reply.startswith(b"HTTP/1.1 200 ") and reply.count(b"HTTP/1.1 ") == 1 for reply in after), after
    assert "catalog" not in reached


def test_behind_nginx_two_tokens_are_refused_and_one_is_read(proxied, hospital):
    port, reached = proxied
    token = b"Authorization: Bearer " + hospital.tokens["ana"].encode() + b"\r\n"
    budget = b"GET /v1/budget HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + token
    assert told(port, budget + b"\r\n").startswith(b"HTTP/1.1 200 ")
    reached.clear()
    assert told(port, budget + token + b"\r\n").startswith(b"HTTP/1.1 400 ")
    assert reached == []


@pytest.mark.parametrize("place", [b"/v1/", b"/streamed/v1/"], ids=["buffered", "streamed"])
def test_behind_nginx_bodies_in_chunks_are_read(proxied, hospital, place):
    port, _ = proxied
    token = b"Authorization: Bearer " + hospital.tokens["ana"].encode() + b"\r\nConnection: close\r\n"
    asked = b'{"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"}'
    head = JSON.replace(b" /v1/", b" " + place) + token
    chunks = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(asked), asked)
    for body in (chunks, b"Content-Length: %d\r\n\r\n%s" % (len(asked), asked)):
        assert told(port, head + body).startswith(b"HTTP/1.1 200 ")
