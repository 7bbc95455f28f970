"""Figures of a server: OpenMetrics on a socket of its owner's, counted when replies leave, and the same on neighbouring tables."""

from __future__ import annotations

import json
import re
import socket
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from served import COUNT, served
from tacit.doors.server.calls import Call, Reply, call_written
from tacit.doors.server.clerk import FrontLine
from tacit.doors.server.desk import OPERATIONS, desk
from tacit.doors.server.figures import LOG, Figures, Shown, listen_at, open_metrics, send_copy
from tacit.doors.server.problems import STATUS, problem
from tacit.release.elsewhere.frames import CALL, REPLY, framed, receive
from tacit.session import open as open_data

LABELS = r"\{[a-z_]+=\"[^\"\\\n]*\"(?:,[a-z_]+=\"[^\"\\\n]*\")*\}"
SAMPLE = re.compile(rf"([a-z_]+)((?:{LABELS})?) ([0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)")
PEOPLE = """
[budget]
epsilon = 4
[tables.people]
source = "people.csv"
unit = "row"
[tables.people.columns]
age = { bounds = [0, 100] }
"""


def figures(clock: Any = time.time) -> Figures:
    return Figures(frozenset(OPERATIONS), frozenset(STATUS), clock)


def parsed(text: str) -> dict[str, float]:
    """The samples of an OpenMetrics text, by the rules of its grammar that concern counters and gauges."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""], "the text ends with EOF and a line feed"
    samples, kinds, family = dict[str, float](), dict[str, str](), ""
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            family, kind = line.removeprefix("# TYPE ").split(" ")
            assert family not in kinds, "the metrics of a family stand together"
            assert kind in ("counter", "gauge")
            kinds[family] = kind
        elif line.startswith("# HELP "):
            assert line.removeprefix("# HELP ").split(" ")[0] == family
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            assert sample[1] == (f"{family}_total" if kinds[family] == "counter" else family)
            assert sample[1] + sample[2] not in samples, "no sample is there twice"
            samples[sample[1] + sample[2]] = float(sample[3])
    return samples


@pytest.mark.parametrize(
    "planted",
    ["a_total 1\n# EOF\n", "# TYPE a counter\na 1\n# EOF\n", "# TYPE a gauge\na 1\n", "# TYPE a gauge\na b\n# EOF\n"],
)
def test_the_check_of_the_grammar_refuses_other_texts(planted: str) -> None:
    with pytest.raises((AssertionError, KeyError)):
        parsed(planted)


def test_counts_are_by_closed_lists() -> None:
    counted = figures()
    for call, reply in (
        (Call("ask", "", {}, ""), Reply(200, b"{}")),
        (Call("ask", "", {}, ""), problem("unavailable")),
        (Call('x"\n# EOF', "", {}, ""), problem("forbidden")),
        (Call("explain", "", {}, ""), Reply(400, b'{"error": {"code": "of nobody"}}')),
        (Call("explain", "", {}, ""), Reply(400, b"no JSON")),
    ):
        counted.left(counted.came(call), reply)
    counted.came(Call("ask", "", {}, ""))
    samples = parsed(open_metrics(counted.copy(0.0025)))
    assert samples['tacit_requests_total{operation="ask"}'] == 3
    assert samples['tacit_requests_under_way{operation="ask"}'] == 1
    assert samples['tacit_replies_total{operation="ask",code="ok"}'] == 1
    assert samples['tacit_replies_total{operation="ask",code="unavailable"}'] == 1
    assert samples['tacit_replies_total{operation="other",code="forbidden"}'] == 1
    assert samples['tacit_replies_total{operation="explain",code="other"}'] == 2
    assert samples["tacit_ledger_look_seconds"] == 0.0025


def until(holds: Any) -> None:
    for _ in range(1200):
        if holds():
            return
        time.sleep(0.05)
    pytest.fail("it never held")


def fetched(place: Path, request: bytes = b"GET /metrics HTTP/1.0\r\n\r\n") -> str:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(place))
        line.sendall(request)
        reply = b""
        while part := line.recv(65_536):
            reply += part
    head, _, text = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200 OK")
    assert b"application/openmetrics-text; version=1.0.0" in head
    return text.decode()


def test_the_socket_is_its_owners_and_shows_the_last_copy_whatever_is_sent(tmp_path: Path) -> None:
    place = tmp_path / "figures.sock"
    with listen_at(place) as line:
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        shown = Shown(line)
        shown.start()
        assert fetched(place) == "# EOF\n"
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        shown.take(ours)
        counted = figures()
        counted.came(Call("ask", "", {}, ""))
        send_copy(counted, lambda: None, theirs, tmp_path)
        until(lambda: 'operation="ask"' in fetched(place))
        first = fetched(place)
        parsed(first)
        counted.came(Call("ask", "", {}, ""))  # nothing shows before the next copy
        assert fetched(place, b"POST /secret HTTP/1.1\r\n\r\n") == first
        theirs.close()
        until(lambda: fetched(place) == "# EOF\n")  # figures of a clerk that ended are not shown
    listen_at(place).close()  # one that a server left behind is replaced
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="not a socket"):
        listen_at(tmp_path / "file")


class Slow:
    """A desk whose replies wait."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.may = inner, threading.Event()

    def handle(self, call: Call) -> Reply:
        reply: Reply = self.inner.handle(call)
        self.may.wait(120)
        return reply


def test_a_reply_counts_when_it_leaves(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with served(tmp_path) as place, theirs, ours, ThreadPoolExecutor(2) as workers:
        counted, slow = figures(), Slow(place.desk)
        threading.Thread(target=FrontLine(theirs, slow, workers, figures=counted).listen, daemon=True).start()
        call = Call("ask", place.tokens["ana"], {"sql": COUNT, "epsilon": "0.1"}, "")
        ours.sendall(framed(CALL, 1, call_written(call)))
        until(lambda: place.data.ledger.head.questions == 1)
        copy = counted.copy()
        assert copy["replies"] == []
        assert copy["under_way"] == {"ask": 1}
        slow.may.set()
        receive(ours, REPLY)
        until(lambda: counted.copy()["replies"] == [["ask", "ok", 1]])
        assert counted.copy()["under_way"] == {"ask": 0}
        ours.shutdown(socket.SHUT_RDWR)


def test_the_log_has_one_line_for_each_copy_with_no_name_and_no_text(tmp_path: Path) -> None:
    counted = figures(lambda: 1_795_111_247.9)
    counted.left(counted.came(Call("ask", "tacit_secret", {"sql": "SELECT secret"}, "secret")), problem("unavailable"))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        send_copy(counted, lambda: None, theirs, tmp_path)
        (line,) = (tmp_path / LOG).read_text().splitlines()
        assert "secret" not in line + ours.recv(65_536).decode()
    assert json.loads(line)["at"].endswith(":00+00:00"), "a full minute"
    assert stat.S_IMODE((tmp_path / LOG).stat().st_mode) == 0o600


def figures_on(folder: Path, rows: str, leak: bool = False) -> Any:
    """The figures after some questions, of a data set with these rows; `leak` plants a count of answers above 3."""
    folder.mkdir()
    (folder / "tacit.toml").write_text(PEOPLE)
    (folder / "people.csv").write_text(f"age\n{rows}")
    with open_data(folder / "tacit.toml", own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
        place = desk(data)
        token, counted = place.office.accounts.add("ana", "analyst").token, figures()
        for sql, epsilon in (("SELECT COUNT(*) AS n FROM people WHERE age > 90", "3"), ("SELECT x FROM people", "1"), (COUNT, "9")):
            call = Call("ask", token, {"sql": sql, "epsilon": epsilon}, "")
            reply = place.handle(call)
            counted.left(counted.came(call), reply)
            if leak and reply.status == 200 and json.loads(reply.body)["rows"][0]["n"]["value"] > 20:
                counted.came(call)
        place.office.records.close()
    return {name: each for name, each in counted.copy().items() if name != "at"}


def test_figures_are_the_same_on_other_tables(tmp_path: Path) -> None:
    """Another answer, and another number of rows, changes no figure; a planted one that follows the answer is seen."""
    few, many = "30\n" * 5, "30\n" * 5 + "95\n" * 40
    assert figures_on(tmp_path / "few", few) == figures_on(tmp_path / "many", many)
    assert figures_on(tmp_path / "few, leaking", few, leak=True) != figures_on(tmp_path / "many, leaking", many, leak=True)
