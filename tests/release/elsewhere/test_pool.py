"""Data on a cluster, behind the server: it is reached before anything is paid for, and the log says why a question failed."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from fractions import Fraction

import pytest

from served import served
from shared_pool import shared_pool
from tacit.data.spark.connect import ROOTS, unreachable
from tacit.data.store import StoreInfo
from tacit.doors.server.engine import Answering, derived
from tacit.doors.server.parts import environment_of_an_engine
from tacit.errors import StoreUnusable, TimedOut
from tacit.privacy.catalog import Catalog
from tacit.query.engines.engine import Limits, out_of_limits
from tacit.query.engines.spark.reasons import GONE, SILENT, packed_reason
from tacit.query.price.price import Request
from tacit.release.elsewhere import pool as pool_module
from tacit.release.elsewhere.facts import OPENED, description_in
from tacit.release.elsewhere.frames import ASK, FAILED, TOLD, UNUSABLE, Malformed, receive, send, written
from tacit.release.elsewhere.pool import Pool, PooledRunner
from tacit.release.elsewhere.quotes import fingerprint_of, request_written
from tacit.release.noisy import Paid
from tacit.session import DataSet

TEXT = "SELECT COUNT(*) AS n FROM visits"
ASKED = Request(Fraction(1, 100))
Reply = Callable[[str], tuple[bytes, bytes]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataSet]:
    with served(tmp_path_factory.mktemp("reaching")) as place:
        place.data.engine.open()
        yield place.data


def on_spark(data: DataSet) -> Catalog:
    return replace(data.catalog, store_engine="spark", store_master="sc://localhost")


class Engine:
    """The engine of a cluster, which is there or not."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.opened, self.interrupted, self.limits = error, 0, 0, Limits()

    def open(self) -> None:
        self.opened += 1
        if self.error is not None:
            raise self.error

    def run(self, *_: object) -> None:
        raise self.error or AssertionError

    def size(self, _: str) -> int:
        return 4

    def interrupt(self) -> None:
        self.interrupted += 1


# --- the engine --------------------------------------------------------------------------------------------------------------


def run(data: DataSet) -> bytes:
    quote = derived(TEXT, ASKED, data.catalog, data.public)[0]
    known = {"ask": "run", "text": TEXT, "request": request_written(ASKED), "entry": 1, "seconds": 60, "horizon": None}
    return written(known | {"fingerprint": fingerprint_of(quote, data.version)})


@pytest.mark.parametrize(
    ("error", "reply"),
    [
        (out_of_limits(GONE), (FAILED, packed_reason(GONE))),
        (out_of_limits("Alice is 42"), (FAILED, b"")),
        (unreachable(), (FAILED, packed_reason(GONE))),
        (RuntimeError("SELECT secret"), (FAILED, b"")),
    ],
)
def test_a_failure_of_a_paid_question_is_one_byte_at_most(data, error, reply):
    assert Answering(on_spark(data), Engine(error), data.store).handle(ASK, run(data)) == reply


def test_a_cluster_that_does_not_answer_is_said_before_anything_is_paid_for(data):
    there, gone = Engine(), Engine(unreachable())
    assert Answering(on_spark(data), there, data.store).handle(ASK, written({"ask": "reach"})) == (TOLD, b"{}")
    for asked in ({"ask": "reach"}, {"ask": "size", "table": "wards"}):
        kind, said = Answering(on_spark(data), gone, data.store).handle(ASK, written(asked))
        assert (kind, said.splitlines()[0]) == (UNUSABLE, b"the Spark cluster cannot be reached")
    assert there.opened == 1


def test_public_facts_replace_a_lost_session_first(data):
    engine = Engine()
    assert Answering(on_spark(data), engine, data.store).handle(ASK, written({"ask": "size", "table": "wards"}))[0] == TOLD
    assert engine.opened == 1
    embedded = Engine()
    Answering(data.catalog, embedded, data.store).handle(ASK, written({"ask": "size", "table": "wards"}))
    assert embedded.opened == 0, "a file stays open"


def test_the_work_of_a_cluster_is_stopped_when_nobody_waits_for_it(data):
    engine, embedded = Engine(), Engine()
    Answering(on_spark(data), engine, data.store).leave()
    Answering(data.catalog, embedded, data.store).leave()
    assert (engine.interrupted, embedded.interrupted) == (1, 0)


# --- the clerk ---------------------------------------------------------------------------------------------------------------


def pool_of(data: DataSet, reply: Reply, asked: list[str], pool: Pool | None = None, catalog: Catalog | None = None) -> Pool:
    """A pool with one engine, whose replies to everything but `open` come from `reply`."""
    pool, (ours, theirs) = pool or shared_pool()[0], socket.socketpair()
    opened = Answering(catalog or on_spark(data), data.engine, data.store).handle(ASK, written({"ask": "open"}))

    def answer() -> None:
        with theirs:
            try:
                while True:
                    _, number, content = receive(theirs, ASK)
                    asked.append(json.loads(content)["ask"])
                    kind, said = opened if asked[-1] == "open" else reply(asked[-1])
                    send(theirs, kind, number, said)
            except OSError:
                return

    threading.Thread(target=answer, daemon=True).start()
    pool.add(ours)
    assert pool.info() is not None
    return pool


def runner_of(data: DataSet, pool: Pool, catalog: Catalog) -> PooledRunner:
    return pool.runner(lambda: catalog, data.version)


def unavailable(data: DataSet, pool: Pool) -> StoreUnusable:
    """The error of a question that no engine can answer."""
    with pytest.raises(StoreUnusable, match="gone") as raised:
        runner_of(data, pool, on_spark(data)).open()
    return raised.value


def test_the_cluster_is_asked_for_before_the_question_is_paid_for(data):
    asked: list[str] = []
    pool = pool_of(data, lambda _: (TOLD, b"{}"), asked)
    runner_of(data, pool, on_spark(data)).open()
    assert asked == ["open", "reach"]
    pool.close()


def test_an_open_file_is_not_asked_for(data):
    asked: list[str] = []
    pool = pool_of(data, lambda _: (TOLD, b"{}"), asked, catalog=data.catalog)
    runner_of(data, pool, data.catalog).open()
    assert asked == ["open"]
    pool.close()


def test_an_engine_without_its_cluster_is_dropped_and_its_reason_kept(data):
    pool = pool_of(data, lambda _: (UNUSABLE, b"the Spark cluster cannot be reached\ncheck it"), [])
    with pytest.raises(StoreUnusable, match="cannot be reached; check it"):
        runner_of(data, pool, on_spark(data)).open()
    assert not pool._lines
    pool.close()


def test_a_silent_cluster_is_given_up_and_nothing_is_held(data, monkeypatch):
    monkeypatch.setattr(pool_module, "REACH", 0.1)
    waiting = threading.Event()
    pool = pool_of(data, lambda _: (TOLD, b"{}") if waiting.wait(10) else (FAILED, b""), [])
    runner = runner_of(data, pool, on_spark(data))
    with pytest.raises(StoreUnusable, match="Spark cluster cannot be reached"):
        runner.open()
    waiting.set()
    assert runner._held_line() is None
    assert not pool._lines


def test_after_an_engine_found_no_data_nobody_waits_for_the_next(data, monkeypatch):
    """It is found again as soon as one has opened the data."""
    monkeypatch.setattr(pool_module, "PATIENCE", 600.0)
    pool, (ours, theirs) = pool_of(data, lambda _: (UNUSABLE, b"gone\n"), []), socket.socketpair()
    runner = runner_of(data, pool, on_spark(data))
    with pytest.raises(StoreUnusable, match="gone"):
        runner.open()
    pool.add(ours)
    with theirs:
        _, number, _ = receive(theirs, ASK)
        send(theirs, UNUSABLE, number, b"still gone\n")
        while "still" not in str(pool._unusable):
            time.sleep(0.01)
        with pytest.raises(StoreUnusable, match="still gone"):
            runner.open()
    pool_of(data, lambda _: (TOLD, b"{}"), [], pool)
    while not pool._lines:
        time.sleep(0.01)
    runner.open()
    pool.close()


def test_a_cluster_that_stays_away_is_one_error_until_it_is_back(data, monkeypatch):
    """So the log has one line for it, however many ask; questions of public tables do not wait for it either."""
    monkeypatch.setattr(pool_module, "START", 600.0)
    back: list[str] = []
    pool, _ = shared_pool(reached=lambda: back.append("back"))
    pool_of(data, lambda _: (UNUSABLE, b"gone\n"), [], pool)
    first = unavailable(data, pool)
    assert unavailable(data, pool) is unavailable(data, pool) is first
    with pytest.raises(StoreUnusable, match="gone"):
        pool.facts(data.store).size("wards")
    pool_of(data, lambda _: (UNUSABLE, b"gone\n"), [], pool)
    while not pool._lines:
        time.sleep(0.01)
    assert back == ["back"]
    assert unavailable(data, pool) is not first
    pool.close()


@pytest.mark.parametrize(("content", "why"), [(packed_reason(GONE), GONE), (b"", ""), (b"\xff", "")])
def test_the_reason_of_a_failure_is_for_the_log(data, content, why):
    quote = derived(TEXT, ASKED, data.catalog, data.public)[0]
    pool = pool_of(data, lambda name: (TOLD, b"{}") if name == "reach" else (FAILED, content), [])
    runner = runner_of(data, pool, on_spark(data))
    runner.open()
    with pytest.raises(TimedOut) as raised:
        runner.noisy(quote, Paid(TEXT, 1))
    assert raised.value.why == why
    assert why not in str(raised.value) or not why
    assert not pool._lines


def test_an_engine_that_says_nothing_is_in_the_log_as_such(data):
    quote = derived(TEXT, ASKED, data.catalog, data.public)[0]
    waiting = threading.Event()
    pool = pool_of(data, lambda name: (TOLD, b"{}") if name == "reach" or waiting.wait(10) else (FAILED, b""), [])
    pool.seconds, pool.limits = -0.9, Limits(planning=0.0)  # with the second that is added
    runner = runner_of(data, pool, on_spark(data))
    runner.open()
    with pytest.raises(TimedOut) as raised:
        runner.noisy(quote, Paid(TEXT, 1))
    waiting.set()
    assert raised.value.why == SILENT


def test_an_engine_says_all_that_a_store_says_of_itself(data):
    """A field that the clerk does not expect would end every engine before it serves."""
    assert {each.name for each in fields(StoreInfo)} | {"pricing"} == set(OPENED)
    said = Answering(data.catalog, data.engine, data.store).handle(ASK, written({"ask": "open"}))[1]
    assert description_in(said)[0] == data.store
    with pytest.raises(Malformed, match="limits of another form"):
        description_in(written(json.loads(said) | {"limits": {"visits": "8"}}))


# --- how engines are started -------------------------------------------------------------------------------------------------


def test_an_engine_gets_the_variables_of_its_url_and_no_others(data, monkeypatch):
    monkeypatch.setenv("SPARK_TOKEN", "x")
    monkeypatch.setenv(ROOTS, "/ca.pem")
    named = replace(on_spark(data), store_master="sc://host/;use_ssl=true;token=$SPARK_TOKEN")
    assert environment_of_an_engine(named) == {"SPARK_TOKEN": "x", ROOTS: "/ca.pem"}
    assert environment_of_an_engine(data.catalog) == {}
    assert "PATH" in os.environ
