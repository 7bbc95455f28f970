"""The endpoint of `tacit survey collect --listen`: open to every page, bounded in every direction."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path

import pytest

from tacit.doors.cli.survey import endpoint as survey_endpoint
from tacit.doors.cli.survey.endpoint import Endpoint, Places, Waiting
from tacit.publish.local.survey.reading import parse_survey
from tacit.publish.local.survey.reports import LARGEST, Form, Store

SURVEY = parse_survey('id = "two"\ntitle = "T"\ncloses = 2090-01-01\nepsilon = 1\n[questions.yes]\nask = "Yes?"\nkind = "yes/no"')
REPORT = Form.of(SURVEY).text_of({"yes": 1}, bytes(range(32))).encode()


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """On a busy machine a request takes its time; whatever is to be cut off here, its test says after how long."""
    for name, seconds in {"PATIENCE": 60.0, "HEADERS": 60.0, "SECONDS": 240.0, "LINGER": 30.0}.items():
        monkeypatch.setattr(survey_endpoint, name, seconds)


@contextmanager
def running(**settings):
    with Store(None, SURVEY) as store, Endpoint(("127.0.0.1", 0), store, page="<p>form</p>", **settings) as started:
        thread = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield started
        finally:
            started.shutdown()
            thread.join()


@pytest.fixture
def endpoint():
    with running() as started:
        yield started


def asked(endpoint, method, body=None, headers=None, path="/"):
    connection = HTTPConnection("127.0.0.1", endpoint.server_address[1], timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, dict(answer.getheaders()), json.loads(text) if text.startswith(b"{") else text
    finally:
        connection.close()


def raw(endpoint, sent):
    with socket.create_connection(("127.0.0.1", endpoint.server_address[1]), timeout=60) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(4096), b""))


def test_a_report_is_counted_and_a_second_one_recognized(endpoint):
    assert asked(endpoint, "POST", REPORT)[0::2] == (200, {"message": "counted"})
    status, _, told = asked(endpoint, "POST", REPORT)
    assert (status, told["reason"]) == (409, "duplicate")
    assert endpoint.store.counts()["counted"] == endpoint.store.counts()["duplicate"] == 1


@pytest.mark.parametrize("origin", ["null", "https://example.org"])
def test_every_page_may_send_also_one_from_a_file(endpoint, origin):
    status, headers, _ = asked(endpoint, "OPTIONS", headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
    assert status == 204
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers["Access-Control-Allow-Headers"] == "Content-Type"
    assert headers["Access-Control-Allow-Private-Network"] == "true"
    assert "Access-Control-Allow-Credentials" not in headers
    assert asked(endpoint, "POST", REPORT, {"Origin": origin})[1]["Access-Control-Allow-Origin"] == "*"


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
    found, _, told = asked(endpoint, "POST", body)
    assert (found, told["reason"]) == (status, reason)
    assert len(endpoint.store.set_aside()) == (0 if status == 413 else 1), "what is too long is not kept; all else is"


def test_a_report_that_comes_too_late_is_told(endpoint, monkeypatch):
    late = parse_survey('id = "two"\ntitle = "T"\ncloses = 2020-01-01\nepsilon = 1\n[questions.yes]\nask = "Yes?"\nkind = "yes/no"')
    monkeypatch.setattr(endpoint.store, "form", Form.of(late))
    assert asked(endpoint, "POST", REPORT)[0] == 410
    assert endpoint.store.counts()["late"] == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST / HTTP/1.1\r\n\r\n", b"411"),
        (b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\nhello", b"411"),
        (b"POST / HTTP/1.1\r\nContent-Length: 1e3\r\n\r\nhello", b"411"),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\nhello", b"413"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b"411"),
        (b"POST / HTTP/1.1\r\nContent-Length: 50\r\n\r\nhello", b"400"),
        (b"DELETE / HTTP/1.1\r\n\r\n", b"501"),
        (b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"\x16\x03\x01\x02\x00\x01\x00", b""),
        (b"", b""),
    ],
)
def test_odd_requests_are_answered_and_do_no_harm(endpoint, sent, status):
    answer = raw(endpoint, sent)
    assert status in answer[:80]
    assert asked(endpoint, "POST", REPORT)[0] == 200


def test_the_form_is_shown_and_nothing_else(endpoint):
    status, headers, page = asked(endpoint, "GET")
    assert (status, page) == (200, b"<p>form</p>")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert asked(endpoint, "GET", path="/../etc/passwd")[0] == 404


def test_a_slow_sender_is_cut_off(endpoint, monkeypatch):
    with (
        monkeypatch.context() as hurried,
        socket.create_connection(("127.0.0.1", endpoint.server_address[1]), timeout=60) as connection,
    ):
        hurried.setattr(survey_endpoint, "SECONDS", 0.2)
        connection.sendall(b"POST / HTTP/1.1\r\nContent-Length: 50\r\n\r\nhel")
        while connection.recv(4096):
            pass
    assert asked(endpoint, "POST", REPORT)[0] == 200


def test_a_crowd_waits_for_its_turn(monkeypatch):
    monkeypatch.setattr(survey_endpoint, "FAIR", 10)  # whose report is on its way, on a busy machine
    form, told = Form.of(SURVEY), []
    texts = [form.text_of({"yes": 1}, number.to_bytes(32, "big")).encode() for number in range(40)]
    with running(most_at_once=2) as endpoint:
        crowd = [threading.Thread(target=lambda text=text: told.append(asked(endpoint, "POST", text)[0])) for text in texts]
        for sender in crowd:
            sender.start()
        for sender in crowd:
            sender.join()
    assert told == [200] * 40


def held(endpoint, sent=b""):
    """A connection that is kept open after a few bytes, once the endpoint has given it a place."""
    before = len(endpoint.places._waiting)
    connection = socket.create_connection(("127.0.0.1", endpoint.server_address[1]), timeout=60)
    connection.sendall(sent)
    until(lambda: len(endpoint.places._waiting) > before)
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
    finally:
        connection.settimeout(60)


BEGUN = b"POST / HTTP/1.1\r\nContent-Length: 50\r\n\r\nhel"


@pytest.mark.parametrize("sent", [b"", b"POST / HTTP/1.1\r\nA", BEGUN])
def test_whoever_holds_all_places_and_sends_nothing_keeps_nobody_out(endpoint, sent, monkeypatch):
    """As many silent connections as there are places, which could stay for ever."""
    monkeypatch.setattr(survey_endpoint, "HEADERS", 3600)
    monkeypatch.setattr(survey_endpoint, "SECONDS", 3600)
    silent = [held(endpoint, sent) for _ in range(survey_endpoint.MOST_AT_ONCE)]
    try:
        assert asked(endpoint, "POST", REPORT)[0] == 200
        assert silent[0].recv(1) == b"", "the oldest gives way"
        assert [is_open(each) for each in silent[-10:]] == [True] * 10, "and no more than need to"
    finally:
        for each in silent:
            each.close()


def test_a_sender_is_not_sent_away_before_its_report_can_have_come(monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        places = Places(1)
        assert places.take(ours)
        for fair, stays in ((3600, True), (0, False)):
            monkeypatch.setattr(survey_endpoint, "FAIR", fair)
            places._cut_oldest()
            assert is_open(theirs) == stays


def test_a_report_that_is_being_written_down_keeps_its_place(monkeypatch):
    monkeypatch.setattr(survey_endpoint, "PATIENCE", 0.05)
    monkeypatch.setattr(survey_endpoint, "FAIR", 0)
    with running(most_at_once=1) as endpoint:
        told, arrived, go_on, take = [], threading.Event(), threading.Event(), endpoint.store.take
        monkeypatch.setattr(endpoint.store, "take", lambda text: (arrived.set(), go_on.wait(60), take(text))[-1])
        sender = threading.Thread(target=lambda: told.append(asked(endpoint, "POST", REPORT)[0]))
        sender.start()
        assert arrived.wait(60)
        with pytest.raises(ConnectionError):
            asked(endpoint, "POST", REPORT)
        monkeypatch.setattr(survey_endpoint, "PATIENCE", 60)
        go_on.set()
        sender.join()
        assert told == [200]
        assert asked(endpoint, "POST", REPORT)[0] == 409, "the place is free again"


def test_a_place_is_given_back_where_no_thread_can_be_started(endpoint, monkeypatch):
    def full(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as crowded:
        crowded.setattr(threading.Thread, "start", full)
        for _ in range(survey_endpoint.MOST_AT_ONCE):
            with pytest.raises(ConnectionError):
                asked(endpoint, "POST", REPORT)
    assert endpoint.places._free._value == survey_endpoint.MOST_AT_ONCE
    assert asked(endpoint, "POST", REPORT)[0] == 200


def test_a_place_that_was_taken_away_counts_nothing():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        places = Places(1)
        assert places.take(ours)
        places._waiting[ours] = Waiting(0, 0)
        places.cut_overdue()
        assert theirs.recv(1) == b""
        with places.at_work(ours) as has_place:
            assert not has_place
        assert not places._waiting


def test_an_answered_connection_is_the_first_to_give_way():
    (ours, theirs), (other, far) = socket.socketpair(), socket.socketpair()
    with ours, theirs, other, far:
        places = Places(2)
        assert places.take(other)
        assert places.take(ours)
        with places.at_work(ours) as has_place:
            assert has_place
        places._cut_oldest()
        assert (is_open(theirs), is_open(far)) == (False, True)


def test_a_request_soon_says_what_it_is(endpoint, monkeypatch):
    with held(endpoint, BEGUN) as begun:
        (waiting,) = endpoint.places._waiting
        until(lambda: endpoint.places._waiting[waiting].until > time.monotonic() + survey_endpoint.HEADERS)  # it was heard
        monkeypatch.setattr(survey_endpoint, "HEADERS", 0.05)
        with socket.create_connection(("127.0.0.1", endpoint.server_address[1]), timeout=60) as silent:
            silent.sendall(b"POST / HTTP/1.1\r\nA")
            assert silent.recv(1) == b""
            assert is_open(begun), "it has said what it is, and has longer"


def test_no_more_senders_at_once_than_there_are_places(endpoint, monkeypatch):
    monkeypatch.setattr(survey_endpoint, "PATIENCE", 0.05)
    places = [endpoint.places._free.acquire(blocking=False) for _ in range(survey_endpoint.MOST_AT_ONCE)]
    try:
        assert all(places)
        assert raw(endpoint, b"") == b""
        with pytest.raises(ConnectionError):
            asked(endpoint, "POST", REPORT)
    finally:
        for _ in places:
            endpoint.places._free.release()
    assert asked(endpoint, "POST", REPORT)[0] == 200


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
    assert asked(endpoint, "POST", REPORT)[0] == 503
    endpoint.store._database.execute("ALTER TABLE elsewhere RENAME TO reports")
    assert asked(endpoint, "POST", REPORT)[0] == 200


def test_nobody_is_named_in_a_log(endpoint, capfd):
    asked(endpoint, "POST", REPORT)
    raw(endpoint, b"garbage\r\n\r\n")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_it_starts_to_listen_ends_it(end, monkeypatch):
    serve = Endpoint.serve_forever

    def signalled(endpoint):
        os.kill(os.getpid(), end)
        serve(endpoint)

    def too_early(*_):
        raise AssertionError("nobody was there to take the signal")

    monkeypatch.setattr(Endpoint, "serve_forever", signalled)
    before = signal.signal(end, too_early)
    try:
        with Store(None, SURVEY) as store:
            import_module("tacit.doors.cli.survey.collect")._listen(store, ("127.0.0.1", 0))
        assert signal.getsignal(end) is too_early
    finally:
        signal.signal(end, before)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_command_takes_reports_until_it_is_stopped(end, tmp_path):
    Path(tmp_path / "survey.toml").write_text(
        'id = "two"\ntitle = "T"\ncloses = 2090-01-01\nepsilon = 1\n[questions.yes]\nask = "Yes?"\nkind = "yes/no"'
    )
    words = [
        sys.executable,
        "-m",
        "tacit",
        "survey",
        "collect",
        "survey.toml",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "a.sqlite",
        "--json",
    ]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        try:
            line = command.stderr.readline()
            port = int(line.split("http://127.0.0.1:")[1].split("/")[0])
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("POST", "/", REPORT)
            assert connection.getresponse().read() == b'{"message": "counted"}'
            connection.close()
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/")
            assert f"connect-src http://127.0.0.1:{port}/;".encode() in connection.getresponse().read()
            connection.close()
            command.send_signal(end)
            printed, said = command.communicate(timeout=300)
        finally:
            command.kill()
    assert command.returncode == 0, said
    assert json.loads(printed)["counted"] == 1
