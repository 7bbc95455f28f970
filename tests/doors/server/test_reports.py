"""The routes of `tacit survey collect --listen`: open to every page, bounded in every direction, behind the gate of the server."""

import json
import socket
import threading
import time
from base64 import b64encode
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from types import SimpleNamespace
from typing import ClassVar

import pytest

from filling import receiving
from loops import in_own_loop
from tacit.doors.server import front_process, gate, reports
from tacit.doors.server.calls import Call
from tacit.doors.server.gate import Timely
from tacit.doors.server.reports import PROBLEMS, GivingWay, app
from tacit.doors.server.settings import Settings
from tacit.publish.local.survey.reading import parse_survey
from tacit.publish.local.survey.reports import LARGEST, Form, Store

SURVEY = parse_survey('id = "two"\ntitle = "T"\ncloses = 2090-01-01\nepsilon = 1\n[questions.yes]\nask = "Yes?"\nkind = "yes/no"')
REPORT = Form.of(SURVEY).text_of({"yes": 1}, bytes(range(32))).encode()
MOST = 8  # connections, in tests of a crowd


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """On a busy machine a request takes its time; whatever is to be cut off here, its test says after how long."""
    monkeypatch.setattr(Timely, "limits", (600.0, 600.0, 600.0))


@contextmanager
def running():
    with Store(None, SURVEY) as store, receiving(store, "<p>form</p>") as port:
        yield SimpleNamespace(store=store, port=port)


@pytest.fixture
def endpoint():
    with running() as started:
        yield started


def asked(endpoint, method, body=None, headers=None, path="/"):
    connection = HTTPConnection("127.0.0.1", endpoint.port, timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        headers = {name.title(): value for name, value in answer.getheaders()}
        return answer.status, headers, json.loads(text) if text.startswith(b"{") else text
    finally:
        connection.close()


def raw(endpoint, sent, answered):
    """What comes back on a connection, whose sender waits for an answer before it says that no more will come."""
    with socket.create_connection(("127.0.0.1", endpoint.port), timeout=60) as connection:
        connection.sendall(sent)
        first = connection.recv(4096) if answered else b""
        with suppress(OSError):  # it is closed already
            connection.shutdown(socket.SHUT_WR)
        return first + b"".join(iter(lambda: connection.recv(4096), b""))


def test_a_report_is_counted_and_a_second_one_recognized(endpoint):
    assert asked(endpoint, "POST", REPORT)[0::2] == (200, {"message": "counted"})
    status, headers, told = asked(endpoint, "POST", REPORT)
    assert (status, told["reason"], headers["Connection"]) == (409, "duplicate", "close")
    assert endpoint.store.counts()["counted"] == endpoint.store.counts()["duplicate"] == 1


@pytest.mark.parametrize("origin", ["null", "https://example.org"])
def test_every_page_may_send_also_one_from_a_file(endpoint, origin):
    status, headers, _ = asked(endpoint, "OPTIONS", headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
    assert status == 204
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers["Access-Control-Allow-Headers"] == "Content-Type"
    assert headers["Access-Control-Allow-Private-Network"] == "true"
    assert "Access-Control-Allow-Credentials" not in headers
    assert "Content-Length" not in headers
    from_a_page = {"Origin": origin, "Sec-Fetch-Site": "cross-site", "Host": "survey.example.org", "Content-Type": "text/plain"}
    status, headers, _ = asked(endpoint, "POST", REPORT, from_a_page, "/reports")
    assert (status, headers["Access-Control-Allow-Origin"]) == (200, "*")


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"nonsense", 400, "malformed"),
        (b"", 400, "malformed"),
        (b"[" * 60_000, 400, "malformed"),
        (REPORT.replace(b'"two"', b'"three"'), 422, "foreign"),
        (b"x" * (LARGEST + 1), 413, "malformed"),
        (b"x" * 2**23, 413, "malformed"),  # far more than waits in a socket
    ],
)
def test_what_is_no_report_is_refused_with_its_reason(endpoint, body, status, reason):
    given, headers, told = asked(endpoint, "POST", body)
    assert (given, told["reason"]) == (status, reason)
    assert headers["Access-Control-Allow-Origin"] == "*", "so that the page can read why"
    assert len(endpoint.store.set_aside()) == (0 if status == 413 else 1), "what is too long is not kept; all else is"


def test_the_largest_report_is_the_one_of_the_store():
    assert reports.MOST_REPORT == LARGEST


def test_a_report_that_comes_too_late_is_told(endpoint, monkeypatch):
    late = parse_survey('id = "two"\ntitle = "T"\ncloses = 2020-01-01\nepsilon = 1\n[questions.yes]\nask = "Yes?"\nkind = "yes/no"')
    monkeypatch.setattr(endpoint.store, "form", Form.of(late))
    assert asked(endpoint, "POST", REPORT)[0] == 410
    assert endpoint.store.counts()["late"] == 1


HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(REPORT)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (HEAD + b"\r\n", b"411"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b"411"),
        (HEAD + b"Content-Length: 99999999999999999999\r\n\r\nhello", b"413"),
        (HEAD + b"Content-Length: -5\r\n\r\nhello", b"400"),
        (HEAD + b"Content-Length: 1e3\r\n\r\nhello", b"400"),
        (HEAD + b"Content-Length: 50\r\n\r\nhello", b""),
        (b"DELETE / HTTP/1.1\r\nHost: a\r\n\r\n", b"405"),
        (b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", b"405"),
        (b"GET /" + b"/" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\n" + LENGTH + b"\r\n" + REPORT, b"400"),  # without a host
        (HEAD + LENGTH + LENGTH + b"\r\n" + REPORT, b"400"),
        (HEAD + LENGTH + b"Transfer-Encoding: chunked\r\n\r\n" + REPORT, b"400"),
        (HEAD + b"A: 1\r\n b\r\n" + LENGTH + b"\r\n" + REPORT, b"400"),
        (HEAD + b"A: 1\n" + LENGTH + b"\r\n" + REPORT, b"400"),
        (b"POST / HTTP/1.2\r\nHost: a\r\n" + LENGTH + b"\r\n" + REPORT, b"400"),
        (b"garbage\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00", b"400"),
        (b"", b""),
    ],
)
def test_odd_requests_are_answered_and_do_no_harm(endpoint, sent, status):
    answer = raw(endpoint, sent, bool(status))
    assert status in answer[:80]
    assert (answer == b"") == (status == b"")
    assert endpoint.store.counts() == dict.fromkeys(endpoint.store.counts(), 0), "nothing of it is kept"
    if b" 400 " in answer[:80]:
        assert b'{"message": "the request is not valid HTTP", "reason": "malformed"}' in answer
        assert b"Access-Control-Allow-Origin: *" in answer
    assert asked(endpoint, "POST", REPORT)[0] == 200


def test_the_form_is_shown_and_nothing_else(endpoint):
    status, headers, page = asked(endpoint, "GET")
    assert (status, page) == (200, b"<p>form</p>")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert (headers["X-Frame-Options"], headers["Cache-Control"]) == ("DENY", "no-store")
    assert asked(endpoint, "GET", path="/../etc/passwd")[0] == 404


class Listens:
    """A clerk that keeps what it is asked."""

    def __init__(self):
        self.calls = []

    async def ask(self, call):
        self.calls.append(call)
        return PROBLEMS["not_found"]


def test_nothing_of_a_sender_is_passed_on():
    clerk, sent = Listens(), []
    headers = {b"host": b"a", b"content-length": b"5", b"user-agent": b"me", b"cookie": b"me=1", b"x-forwarded-for": b"192.0.2.1"}
    scope = {"type": "http", "method": "POST", "path": "/me", "client": ("192.0.2.1", 4711), "headers": list(headers.items())}

    async def receive():
        return {"type": "http.request", "body": b"hello", "more_body": False}

    async def send(message):
        sent.append(message)

    in_own_loop(app(clerk, Settings())(scope, receive, send))
    assert clerk.calls == [Call("report", "", {"text": b64encode(b"hello").decode()})]
    assert sent[0]["status"] == 404


# --- time and places ---------------------------------------------------------------------------------------------------------


BEGUN = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nhel"


def ends(connection):
    while connection.recv(4096):
        pass
    return True


@pytest.mark.parametrize(("limits", "sent"), [((600, 0.2, 600), BEGUN), ((0.2, 600, 600), b"POST / HTTP/1.1\r\nA")])
def test_a_slow_sender_is_cut_off(endpoint, monkeypatch, limits, sent):
    with monkeypatch.context() as hurried:
        hurried.setattr(Timely, "limits", limits)
        with socket.create_connection(("127.0.0.1", endpoint.port), timeout=60) as connection:
            connection.sendall(sent)
            assert ends(connection)
    assert asked(endpoint, "POST", REPORT)[0] == 200


def test_a_crowd_waits_for_its_turn(monkeypatch):
    monkeypatch.setattr(reports, "MOST_HELD", 2)
    monkeypatch.setattr(reports, "FAIR", 600)  # whose report is on its way, on a busy machine
    form, told = Form.of(SURVEY), []
    texts = [form.text_of({"yes": 1}, number.to_bytes(32, "big")).encode() for number in range(40)]
    with running() as endpoint:
        crowd = [threading.Thread(target=lambda text=text: told.append(asked(endpoint, "POST", text)[0])) for text in texts]
        for sender in crowd:
            sender.start()
        for sender in crowd:
            sender.join()
    assert told == [200] * 40


class Watched(GivingWay):
    """Connections that a test can count."""

    open: ClassVar[list[GivingWay]] = []

    def connection_made(self, transport):
        self.open.append(self)
        super().connection_made(transport)


@pytest.fixture
def crowd(monkeypatch):
    """An endpoint with few places, and its connections in the order in which they came."""
    monkeypatch.setattr(reports, "MOST_HELD", MOST)
    monkeypatch.setattr(reports, "FAIR", 0)
    monkeypatch.setattr(Watched, "open", [])
    monkeypatch.setattr("filling.GivingWay", Watched)
    with running() as endpoint:
        yield endpoint


def held(endpoint, sent=b""):
    """A connection that is kept open after a few bytes, once the endpoint has it."""
    before = len(Watched.open)
    connection = socket.create_connection(("127.0.0.1", endpoint.port), timeout=60)
    connection.sendall(sent)
    until(lambda: len(Watched.open) > before)
    return connection


def until(reached):
    for _ in range(12_000):
        if reached():
            return
        time.sleep(0.005)
    pytest.fail("it did not come to that")


def is_open(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        connection.settimeout(60)


@pytest.mark.parametrize("sent", [b"", b"POST / HTTP/1.1\r\nA", BEGUN])
def test_whoever_holds_all_places_and_sends_nothing_keeps_nobody_out(crowd, sent):
    """As many silent connections as there are places, which could stay for ever."""
    silent = [held(crowd, sent) for _ in range(MOST)]
    try:
        assert asked(crowd, "POST", REPORT)[0] == 200
        assert not is_open(silent[0]), "the oldest gives way"
        assert [is_open(each) for each in silent[1:]] == [True] * (MOST - 1), "and no more than need to"
    finally:
        for each in silent:
            each.close()


@pytest.mark.parametrize("gives_way", [True, False])
def test_silent_connections_up_to_the_last_one_block_no_report(monkeypatch, crowd, gives_way):
    """Planted: connections that do not give way. Then whoever holds all of them keeps everybody out."""
    monkeypatch.setattr(front_process, "MOST_CONNECTIONS", MOST + 1)
    if not gives_way:
        monkeypatch.setattr(GivingWay, "_make_room", lambda _: None)
    with running() as endpoint:
        silent = [socket.create_connection(("127.0.0.1", endpoint.port), timeout=60) for _ in range(3 * MOST)]
        until(lambda: sum(map(is_open, silent)) <= MOST + 1)
        try:
            if gives_way:
                assert asked(endpoint, "POST", REPORT)[0] == 200
            else:
                with pytest.raises(ConnectionError):
                    asked(endpoint, "POST", REPORT)
        finally:
            for each in silent:
                each.close()


def test_a_sender_is_not_sent_away_before_its_report_can_have_come(crowd, monkeypatch):
    monkeypatch.setattr(reports, "FAIR", 600)
    silent = [held(crowd) for _ in range(MOST)]
    assert asked(crowd, "POST", REPORT)[0] == 200
    assert all(map(is_open, silent))
    for each in silent:
        each.close()


def test_a_report_that_is_being_stored_keeps_its_place(crowd, monkeypatch):
    told, arrived, go_on, take = [], threading.Event(), threading.Event(), crowd.store.take
    monkeypatch.setattr(crowd.store, "take", lambda text: (arrived.set(), go_on.wait(60), take(text))[-1])
    sender = threading.Thread(target=lambda: told.append(asked(crowd, "POST", REPORT)[0]))
    sender.start()
    assert arrived.wait(60)
    silent = [held(crowd) for _ in range(2 * MOST)]  # it is the oldest, and does not give way to them
    assert sum(map(is_open, silent)) == MOST - 1
    go_on.set()
    sender.join()
    assert told == [200]
    for each in silent:
        each.close()


def test_an_answered_connection_is_the_first_to_give_way(crowd):
    silent = [held(crowd) for _ in range(MOST - 1)]
    answered = held(crowd, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n")
    until(lambda: Watched.open[-1].since < 0)
    assert b" 413 " in answered.recv(4096)[:80]
    held(crowd).close()
    until(lambda: not is_open(answered))
    assert all(map(is_open, silent))
    for each in (*silent, answered):
        each.close()


# --- the store ---------------------------------------------------------------------------------------------------------------


def test_a_flood_of_nonsense_is_bounded_on_disk(endpoint):
    endpoint.store.most_aside = 400
    assert asked(endpoint, "POST", b"x" * 80)[0] == 400
    assert asked(endpoint, "POST", b"y" * 80)[0::2] == (
        507,
        {"message": "it is not JSON; it was not kept, because the limit of reports set aside is reached", "reason": "malformed"},
    )
    assert asked(endpoint, "POST", b"x" * 80)[0] == 400, "it is there already"
    assert len(endpoint.store.set_aside()) == 1
    assert [asked(endpoint, "POST", REPORT)[0] for _ in range(2)] == [200, 409], "sound reports are counted all the same"


def test_a_store_that_fails_is_told_and_the_report_can_come_again(endpoint):
    endpoint.store._database.execute("ALTER TABLE reports RENAME TO elsewhere")
    assert asked(endpoint, "POST", REPORT)[0::2] == (
        503,
        {"message": "the report could not be stored; send it again later", "reason": "store"},
    )
    endpoint.store._database.execute("ALTER TABLE elsewhere RENAME TO reports")
    assert asked(endpoint, "POST", REPORT)[0] == 200


def test_the_gate_speaks_the_words_of_the_page():
    codes = ("too_many_requests", "too_large", "unavailable", "bad_request")
    for code in codes:
        assert set(json.loads(PROBLEMS[code].body)) == {"message", "reason"}
    assert gate.Rules(lambda _: None).headers == gate.HEADERS != reports.OPEN_TO_ALL
