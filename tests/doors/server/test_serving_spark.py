"""Spark Connect behind the server, for real: answers, the sandbox, and clusters that are gone, slow or back again."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import inside_real
from asking_clients import entries
from behind_connect import EXACT, LONG, Place, answered, ask, busy, hospital_served, new
from clusters import SPARK, connect_server
from hospital import hospital_session
from services import Missing, _free_port, on_loopback
from serving import serving
from tacit.doors.server.sandbox import landlock
from tacit.doors.server.sandbox.kernel import KNOWN
from tacit.session import open as open_data
from valve import Valve

pytestmark = [*SPARK, pytest.mark.slow, pytest.mark.skipif(not KNOWN, reason="processes are looked up in /proc")]
needs_kernel = pytest.mark.skipif(
    not KNOWN or landlock.version() < landlock.SCOPES_ABI, reason="needs Landlock of ABI 6 and seccomp"
)
QUESTIONS = [
    "SELECT ward, COUNT(*) AS n, SUM(pulse) AS c FROM visits GROUP BY ward",
    "SELECT sex, AVG(pulse) AS m FROM visits JOIN patients ON visits.patient_id = patients.id GROUP BY sex",
    "SELECT floor, SUM(pulse) AS c FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY floor",
    "SELECT kind, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY kind",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    pytest.importorskip("grpc", reason="install grpcio (pip install 'tacit[test]') to run these tests")
    folder, jobs = tmp_path_factory.mktemp("connect"), _free_port()
    try:
        with connect_server(spark_ui_enabled="true", spark_ui_port=str(jobs)) as (address, _):
            port = int(address.rpartition(":")[2])
            with Valve(port) as valve:
                tokens, said = hospital_served(folder, f"sc://localhost:{valve.port}"), folder / "said"
                with serving(folder, tokens, seconds=LONG, said=said) as server:
                    yield Place(server, valve, port, jobs, said)
    except Missing as missing:
        pytest.skip(str(missing))


def values(rows: list[dict[str, Any]]) -> list[Any]:
    """Keys and numbers, without their intervals."""
    return sorted(str({name: cell["value"] if isinstance(cell, dict) else cell for name, cell in row.items()}) for row in rows)


def counts(place: Place) -> tuple[int, int]:
    """How many questions were paid for, and how many of them failed."""
    kinds = [entry.kind for entry in entries(place.server).values()]
    return kinds.count("spend"), kinds.count("failure")


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_answers_are_those_of_the_embedded_engine(place, tmp_path):
    with hospital_session(tmp_path):
        pass
    declared = (place.server.folder / "tacit.toml").read_text("utf-8").partition("[store]")[0]
    (tmp_path / "tacit.toml").write_text(declared, "utf-8")
    with open_data(tmp_path / "tacit.toml", own_process=False) as data:
        for question in QUESTIONS:
            expected = data.session("ana").sql(question, epsilon=EXACT).to_dict()["rows"]
            status, told = ask(place, question)
            assert (status, told["price"]["epsilon"]) == (200, EXACT)
            assert values(told["rows"]) == values(expected)


def test_repeated_explained_free_and_refused_questions(place):
    first, before = ask(place, new(900))[1], counts(place)
    again = ask(place, new(900))[1]
    assert (again["entry"], again["rows"], counts(place)) == (first["entry"], first["rows"], before)
    explained = place.server.request("POST", "/v1/explain", "ana", {"sql": new(901), "epsilon": "0.5"})
    assert explained[0] == 200
    assert ask(place, "SELECT floor, COUNT(*) AS n FROM wards GROUP BY floor")[1]["price"]["epsilon"] == "0"
    assert ask(place, "SELECT cost FROM visits")[0] == ask(place, "SELECT x FROM nowhere")[0] == 422
    assert counts(place) == before


def test_an_engine_needs_its_description_of_the_store_no_more(place):
    """It has become another user by then, who may not read it."""
    described = place.server.folder / ".tacit" / "store" / "store.json"
    away = described.rename(described.with_suffix(".away"))
    try:
        assert ask(place, new(950))[0] == 200
    finally:
        away.rename(described)


def tried(place: Place, left_out: str = "") -> dict[str, str]:
    """What the system said to each attempt of an engine whose data is on a cluster."""
    reads, writes = os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as other:
        more = {
            "TACIT_LEDGER_PORT": str(place.valve.port),
            "TACIT_OTHER_PORT": str(other.getsockname()[1]),
            "TACIT_LEFT_OUT": left_out,
        }
        more |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
        folder = place.server.folder
        files = [str(folder / name) for name in ("tacit.toml", ".tacit/store/store.json", ".tacit/ledger.sqlite", "visits.parquet")]
        words = [
            sys.executable,
            inside_real.__file__,
            "engine",
            str(folder / "tacit.toml"),
            str(writes),
            *files,
            "/etc/resolv.conf",
        ]
        try:
            subprocess.run(words, pass_fds=(writes,), env=os.environ | more, timeout=LONG, check=True)
            return dict(json.loads(os.read(reads, 100_000)))
        finally:
            os.close(reads)
            os.close(writes)


@needs_kernel
def test_the_engine_reaches_spark_connect_and_nothing_else(place):
    said = tried(place)
    assert {name for name, error in said.items() if not error} == {"read store.json", "open a socket", "connect to the ledger"}
    assert said["connect elsewhere"] == "EACCES", "by Landlock"
    assert {said[name] for name in ("a datagram", "another family", "another protocol", "connect by sending")} == {"EPERM"}


@needs_kernel
def test_an_engine_that_may_send_datagrams_is_noticed(place):
    """Planted: the filter lets other sockets and TCP Fast Open pass. Landlock, which is still there, sees neither."""
    said = tried(place, "socket of another kind;sendto that connects")
    assert (said["a datagram"], said["connect by sending"], said["connect elsewhere"]) == ("", "", "EACCES")


def test_a_cluster_that_is_gone_costs_nothing_and_is_found_again(place):
    supervisor, before = place.server.process.pid, counts(place)
    place.valve.cut()
    for number in (1000, 1001):
        assert ask(place, new(number))[1]["error"]["code"] == "unavailable"
    assert counts(place) == before
    assert "the Spark cluster cannot be reached" in place.log()[-1]
    place.valve.restore()
    assert answered(place, 1002) == 200
    assert (place.server.process.pid, place.server.process.poll()) == (supervisor, None)
    assert counts(place) == (before[0] + 1, before[1])


def test_a_cluster_that_goes_away_during_a_question(place):
    before, told = counts(place), list[tuple[int, Any]]()
    place.valve.hold_at(b"COUNT(")
    asking = threading.Thread(target=lambda: told.append(ask(place, new(1100))))
    asking.start()
    assert place.valve.held.wait(60)
    place.valve.cut()
    asking.join()
    assert (told[0][0], told[0][1]["error"]["code"]) == (504, "timed_out")
    assert counts(place) == (before[0] + 1, before[1] + 1)
    assert place.log()[-1].endswith(": the cluster went away")
    place.valve.restore()
    assert answered(place, 1101) == 200


def test_a_slow_question_is_interrupted_on_the_cluster(place):
    before, told = counts(place), list[tuple[int, Any]]()
    place.valve.hold_at(b"COUNT(")
    asking = threading.Thread(target=lambda: told.append(ask(place, new(1200))))
    asking.start()
    assert place.valve.held.wait(60)
    with busy(place.connect):
        while len(place.running()) < 1:
            time.sleep(0.2)
        place.valve.release()
        while len(place.running()) < 2:
            time.sleep(0.2)
        asking.join()
        assert (told[0][0], told[0][1]["error"]["code"]) == (504, "timed_out")
        end = time.monotonic() + 10
        while len(place.running()) > 1 and time.monotonic() < end:
            time.sleep(0.2)
        assert len(place.running()) == 1, "what is left is the work of somebody else"
    assert counts(place) == (before[0] + 1, before[1] + 1)
    assert place.log()[-1].endswith(("it was stopped when its time was up", "its engine did not answer in time"))
    assert answered(place, 1201) == 200


def test_the_work_of_an_engine_that_was_killed_is_ended_by_the_next(place):
    """It has nobody to tell the cluster; left alone, the cluster would go on for minutes."""
    with open_data(place.server.folder / "tacit.toml", own_process=False) as data:
        data.resume("the failures of the tests before")  # after three of one analyst, nothing would be answered
    before, told = counts(place), list[tuple[int, Any]]()
    place.valve.hold_at(b"COUNT(")
    asking = threading.Thread(target=lambda: told.append(ask(place, new(1250))))
    asking.start()
    assert place.valve.held.wait(60)
    with busy(place.connect):
        until(lambda: len(place.running()) == 1)
        others = place.running()
        place.valve.release()
        until(lambda: len(place.running()) == 2)
        left = place.running() - others
        place.server.kill("engine")
        asking.join()
        assert told[0][1]["error"]["code"] == "timed_out"
        until(lambda: not left & place.running())
        assert others <= place.running(), "the work of somebody else goes on"
    assert counts(place) == (before[0] + 1, before[1] + 1)
    assert answered(place, 1251) == 200


@pytest.mark.skipif(not on_loopback("::1"), reason="this machine has no IPv6 on its loopback")
def test_a_cluster_that_has_an_ipv6_address_alone(place, tmp_path):
    with Valve(place.connect, "::1") as valve:
        tokens, said = hospital_served(tmp_path, f"sc://[::1]:{valve.port}"), tmp_path / "said"
        with serving(tmp_path, tokens, seconds=LONG, said=said) as server:
            other = Place(server, valve, place.connect, place.jobs, said)
            assert ask(other, new(1300))[0] == 200
            valve.cut()
            assert ask(other, new(1301))[1]["error"]["code"] == "unavailable"
            valve.restore()
            assert answered(other, 1302) == 200
