"""The endpoint of `tacit survey collect --listen`: a store in this process, and HTTP in a sandboxed one that is started again."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from base64 import b64encode
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPSConnection
from importlib import import_module
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from served import self_signed
from tacit.doors.cli.survey import endpoint as survey_endpoint
from tacit.doors.cli.survey.endpoint import Endpoint, ReportDesk
from tacit.doors.server.calls import LOST, OF_FRONT, Call
from tacit.doors.server.parts import Part
from tacit.doors.server.sandbox import landlock
from tacit.errors import InvalidInput
from tacit.publish.local.survey.reading import parse_survey
from tacit.publish.local.survey.reports import LARGEST, Form, Store

DECLARED = 'id = "two"\ntitle = "T"\ncloses = 2090-01-01\nepsilon = 1\n[questions.yes]\nask = "Yes?"\nkind = "yes/no"'
SURVEY = parse_survey(DECLARED)
REPORT = Form.of(SURVEY).text_of({"yes": 1}, bytes(range(32))).encode()
collect = import_module("tacit.doors.cli.survey.collect")


@contextmanager
def running(path=None, host="127.0.0.1"):
    with Store(path, SURVEY) as store, Endpoint((host, 0), store, "<p>form</p>") as started:
        started.wait()
        yield started


def asked(endpoint, method, body=None, host="127.0.0.1"):
    connection = HTTPConnection(host, endpoint.port, timeout=60)
    try:
        connection.request(method, "/", body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def call(text, operation="report"):
    return Call(operation, "", {"text": text})


# --- the desk ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (call(b64encode(REPORT).decode()), 200),
        (call(b64encode(b"x" * (LARGEST + 1)).decode()), 413),
        (call(b64encode(REPORT).decode(), "ledger"), 404),
        (call("", "page"), 404),
        (call("no base 64"), 503),
        (call(["a"]), 503),
        (Call("report", "", {}), 503),
    ],
)
def test_the_front_is_not_trusted(sent, status):
    with Store(None, SURVEY) as store:
        assert ReportDesk(store).handle(sent).status == status
        assert store.counts()["counted"] == (status == 200)
        assert store.set_aside() == []


# --- the process -------------------------------------------------------------------------------------------------------------


def test_reports_are_taken_by_a_process_that_can_reach_no_file(tmp_path, capfd):
    with running(tmp_path / "answers.sqlite") as endpoint:
        assert asked(endpoint, "GET") == (200, b"<p>form</p>")
        assert asked(endpoint, "POST", REPORT)[0] == 200
        assert asked(endpoint, "POST", b"garbage")[0] == 400
        front = Path(f"/proc/{endpoint.front.process.pid}")
        if sys.platform == "linux":
            about = dict(line.split(":\t") for line in (front / "status").read_text().splitlines())
            assert (about["NoNewPrivs"], about["Seccomp"]) == ("1", "2")
            assert landlock.version() == 0 or endpoint.missing == []
            assert not [each for each in _open_files(front) if "answers" in each], "it has no descriptor of the store"
        assert endpoint.desk.store.counts()["counted"] == 1
    assert capfd.readouterr() == ("", ""), "nobody is named in a log"
    kept = (tmp_path / "answers.sqlite").read_bytes()
    assert b"127.0.0.1" not in kept
    assert endpoint.front.process is None


def _open_files(process):
    try:
        return [os.readlink(each) for each in (process / "fd").iterdir()]
    except PermissionError:  # it is closed to others, as is its memory
        return []


def test_a_front_that_is_killed_is_started_again():
    with running() as endpoint:
        endpoint.front.process.kill()
        endpoint.front.process.wait()
        endpoint.look()
        endpoint.wait()
        assert asked(endpoint, "POST", REPORT)[0] == 200


def test_a_front_that_lost_its_connection_gets_another():
    with Store(None, SURVEY) as store, Endpoint(("127.0.0.1", 0), store) as endpoint:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            endpoint.front = Part("reports", subprocess.Popen(["sleep", "600"]), ours)
            theirs.send(LOST)
            endpoint.look()
            tag, descriptors, _, _ = socket.recv_fds(theirs, 1, 1)
            assert (tag, len(descriptors)) == (OF_FRONT, 1)
            os.close(descriptors[0])


def test_a_front_that_cannot_start_is_told(monkeypatch):
    monkeypatch.setattr(survey_endpoint, "started", lambda *_: subprocess.Popen(["false"]))
    with (
        Store(None, SURVEY) as store,
        Endpoint(("127.0.0.1", 0), store) as endpoint,
        pytest.raises(InvalidInput, match="ended while it started"),
    ):
        endpoint.wait()


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_it_listens_on_ipv6_too():
    with running(host="::1") as endpoint:
        assert asked(endpoint, "POST", REPORT, "::1")[0] == 200


def test_reports_are_taken_over_tls(tmp_path):
    files = self_signed(tmp_path)
    with Store(None, SURVEY) as store, Endpoint(("127.0.0.1", 0), store, tls=files) as endpoint:
        endpoint.wait()
        context = ssl.create_default_context(cafile=files[0])
        connection = HTTPSConnection("localhost", endpoint.port, timeout=60, context=context)
        connection.request("POST", "/", REPORT)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b'{"message": "counted"}')
        assert answer.getheader("Strict-Transport-Security") is None, "another page of this host may have no TLS"
        connection.close()
        with pytest.raises(ConnectionError):
            asked(endpoint, "POST", REPORT)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cert": "cert.pem"}, "must be given together"),
        ({"key": "key.pem"}, "must be given together"),
        ({"cert": "key.pem", "key": "cert.pem"}, "cannot read --cert and --key"),
        ({"cert": "nowhere.pem", "key": "key.pem"}, "cannot read --cert and --key"),
        ({"cert": "cert.pem", "key": "locked.pem"}, "no password"),
        ({"cert": "cert.pem", "key": "key.pem", "listen": ""}, "need --listen"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_told_at_once(tmp_path, given, message):
    _, key = self_signed(tmp_path)
    locked = load_pem_private_key(key.read_bytes(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    (tmp_path / "locked.pem").write_bytes(locked)
    files = {name: tmp_path / each for name, each in given.items() if name != "listen"}
    with pytest.raises(InvalidInput, match=message):
        collect.collect(tmp_path / "survey.toml", ["-"], tmp_path / "a", given.get("listen", "127.0.0.1:0"), **files)


# --- the command -------------------------------------------------------------------------------------------------------------


def test_listening_needs_the_server_and_files_do_not(tmp_path, monkeypatch):
    (tmp_path / "survey.toml").write_text(DECLARED)
    (tmp_path / "reports.txt").write_bytes(REPORT)
    code = "import sys; sys.modules.update(dict.fromkeys(('uvicorn', 'h11', 'fastapi', 'sqlalchemy', 'starlette')))\n"
    code += "from tacit.doors.cli import app; app()"
    run = [sys.executable, "-c", code, "survey", "collect", "survey.toml", "reports.txt", "--store", "a.sqlite"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "a.sqlite: 1 report counted\n"), done.stderr
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(InvalidInput, match=r"pip install 'tacit\[server\]'"):
        collect.collect(tmp_path / "survey.toml", ["nowhere.txt"], tmp_path / "b.sqlite", "127.0.0.1:0")
    assert not (tmp_path / "b.sqlite").exists()


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_it_starts_to_listen_ends_it(end, monkeypatch):
    wait = Endpoint.wait

    def signalled(endpoint):
        os.kill(os.getpid(), end)
        wait(endpoint)

    def too_early(*_):
        raise AssertionError("nobody was there to take the signal")

    monkeypatch.setattr(Endpoint, "wait", signalled)
    before = signal.signal(end, too_early)
    try:
        with Store(None, SURVEY) as store:
            collect._listen(store, ("127.0.0.1", 0))
        assert signal.getsignal(end) is too_early
    finally:
        signal.signal(end, before)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_command_takes_reports_until_it_is_stopped(end, tmp_path):
    (tmp_path / "survey.toml").write_text(DECLARED)
    words = [sys.executable, "-m", "tacit", "survey", "collect", "survey.toml", "--listen", "127.0.0.1:0"]
    words += ["--store", "a.sqlite", "--json"]
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
    with pytest.raises(ConnectionError):  # the process that listened has ended too
        until_closed(port)


def until_closed(port):
    for _ in range(600):
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
        time.sleep(0.05)
