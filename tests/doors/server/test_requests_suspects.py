"""What ended a process twice is refused until the curator looks; what is counted outlives the clerk and is bounded."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from typer.testing import CliRunner

from served import COUNT, Served, served
from shared_pool import shared_pool
from tacit.doors.cli import app
from tacit.doors.server import requests
from tacit.doors.server.desk import desk
from tacit.doors.server.records import FILE, SUSPECTS, Records
from tacit.doors.server.requests import CLERK, ENGINE, Suspects, engine_ended, fingerprint_of, fingerprint_once_paid, forget, lift
from tacit.doors.server.turns import WORKING
from tacit.errors import StoreUnusable, TimedOut, TooManyFailures
from tacit.query.question import pause
from tacit.release.elsewhere.frames import FAILED
from tacit.session import open as open_data

PATIENCE = 60.0


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    found = Records(tmp_path / FILE)
    yield found
    found.close()


def next_clerk(records: Records, died: bool) -> Suspects:
    """The suspects of a clerk that is started after another one."""
    found = Suspects(records, records.file.parent)
    found.recover(died)
    return found


def dies_over(records: Records, fingerprint: str, *others: str) -> None:
    """A clerk works on requests, all but the last of which it finishes, and is ended by a signal."""
    clerk = next_clerk(records, died=False)
    for other in others:
        with clerk.at_work(other):
            pass
    working = clerk.at_work(fingerprint)
    working.__enter__()
    next_clerk(records, died=True)
    with suppress(TooManyFailures):
        working.__exit__(None, None, None)


def test_two_ends_are_too_many_and_survive_clerks(records):
    for _ in range(requests.ENDS):
        next_clerk(records, died=False).require_few("hostile")
        dies_over(records, "hostile", "before", "other")
    with pytest.raises(TooManyFailures, match="tacit ledger resume"):
        next_clerk(records, died=False).require_few("hostile")
    for innocent in ("before", "other"):
        next_clerk(records, died=False).require_few(innocent)
    forget(records)
    next_clerk(records, died=False).require_few("hostile")


def test_a_clerk_that_is_ended_on_purpose_counts_nothing(records):
    """Planted: a mark that is left is counted, whoever ended the clerk."""
    clerk = next_clerk(records, died=False)
    with clerk.at_work("hostile"):
        assert b"hostile" in (records.file.parent / requests.FILE).read_bytes()
        assert ends(next_clerk(records, died=False)) == {}
        clerk.write(0, "hostile ana")
        assert ends(next_clerk(records, died=True)) == {"hostile": 1}


def ends(clerk: Suspects) -> dict[str, int]:
    with clerk._records.reader() as connection:
        return {row.fingerprint: row.ends for row in connection.execute(sql.select(SUSPECTS))}


def test_while_an_engine_works_the_clerk_does_not(records):
    clerk = next_clerk(records, died=False)
    file = records.file.parent / requests.FILE
    with clerk.at_work("question"):
        with requests.elsewhere():
            assert not file.read_bytes().strip(b"\0")
        assert b"question" in file.read_bytes(), "it goes on in the clerk"
        lift()
        assert not file.read_bytes().strip(b"\0")
    assert len({clerk.place() for _ in range(requests.PLACES)}) == requests.PLACES, "every place is given back, once"
    assert clerk.place() is None


def test_what_is_remembered_is_bounded(records, monkeypatch):
    monkeypatch.setattr(requests, "MOST", 5)
    clerk = next_clerk(records, died=False)
    for number in range(12):
        clerk.count(f"{number:064}", "ana", ENGINE)
    assert sorted(ends(clerk)) == [f"{number:064}" for number in range(7, 12)]
    assert (records.file.parent / requests.FILE).stat().st_size <= requests.PLACES * requests.SIZE
    clerk.write(0, "x" * 10_000)
    assert (records.file.parent / requests.FILE).stat().st_size <= requests.PLACES * requests.SIZE


def test_fingerprints_are_of_an_account_and_its_question():
    own = fingerprint_of("ana", COUNT, None)
    assert own == fingerprint_of("ana", f"\n{COUNT} ", {})
    assert fingerprint_of("ana", COUNT, {"a": 1}) not in {own, fingerprint_of("ana", COUNT, {"a": 2})}
    assert len({own, fingerprint_once_paid(own), fingerprint_of("bob", COUNT, None)}) == 3
    assert COUNT not in own


# --- through the desk ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as found:
        yield found


def code_of(place: Served, operation: str, by: str = "ana", **given: Any) -> tuple[int, str]:
    reply = place.call(operation, by, **given)
    return reply.status, json.loads(reply.body).get("error", {}).get("code", "")


def count_clerks_over(place: Served, text: str) -> None:
    for _ in range(requests.ENDS):
        place.office.suspects.count(fingerprint_of("ana", text, None), "ana", CLERK)


def test_what_ended_the_clerk_is_refused_to_whoever_asked_it_and_costs_nothing(place):
    """Nobody can take an ordinary question from others, nor learn by a refusal that they asked it."""
    count_clerks_over(place, COUNT)
    for operation in ("ask", "explain"):
        assert code_of(place, operation, sql=COUNT, epsilon="0.2") == (409, "too_many_failures")
    assert place.data.ledger.head.number == 0
    for operation in ("ask", "explain"):
        assert code_of(place, operation, "bob", sql=COUNT, epsilon="0.2")[0] == 200
    assert code_of(place, "explain", sql=f"{COUNT} WHERE cost > 3", epsilon="0.2")[0] == 200
    assert place.call("resume", "cara", reason="looked").status == 200
    assert code_of(place, "ask", sql=COUNT, epsilon="0.2")[0] == 200


def test_the_command_line_forgets_them_too(place):
    count_clerks_over(place, COUNT)
    done = CliRunner().invoke(app, ["ledger", "resume", "--reason", "looked", "--catalog", str(place.folder / "tacit.toml")])
    assert done.exit_code == 0, done.output
    assert code_of(place, "explain", sql=COUNT, epsilon="0.2")[0] == 200


def test_a_paid_question_that_does_not_finish_twice_is_refused_to_whoever_was_told_so(place, monkeypatch):
    """Whatever the reason was: an engine that died, its limit, nonsense. Nobody else learns that it did not finish."""
    monkeypatch.setattr(type(place.data.runner), "noisy", lambda *_: (_ for _ in ()).throw(TimedOut("one reply for all")))
    for _ in range(requests.ENDS):
        assert code_of(place, "ask", sql=COUNT, epsilon="0.01") == (504, "timed_out")
    before = place.data.ledger.head.number
    assert code_of(place, "ask", sql=COUNT, epsilon="0.02") == (409, "too_many_failures")
    assert place.data.ledger.head.number == before, "it is refused before anything is spent, and is not one more failure"
    assert code_of(place, "explain", sql=COUNT, epsilon="0.01")[0] == 200, "what is free tells nothing"
    assert code_of(place, "ask", "bob", sql=COUNT, epsilon="0.01") == (504, "timed_out")


def test_a_refusal_to_everybody_would_be_caught(place, monkeypatch):
    """Planted: failures of paid questions, which may depend on rows, are counted for all analysts together."""
    monkeypatch.setattr("tacit.doors.server.analysts.fingerprint_of", lambda _, text, params: fingerprint_of("all", text, params))
    monkeypatch.setattr(type(place.data.runner), "noisy", lambda *_: (_ for _ in ()).throw(TimedOut("one reply for all")))
    for _ in range(requests.ENDS):
        code_of(place, "ask", sql=COUNT, epsilon="0.01")
    assert code_of(place, "ask", "bob", sql=COUNT, epsilon="0.01") == (409, "too_many_failures")


def test_engines_that_end_over_public_tables_are_counted(place, monkeypatch):
    pool, _ = shared_pool()
    monkeypatch.setattr(pool, "_any", lambda _: object())
    monkeypatch.setattr(pool, "drop", lambda _: None)
    for reply in (OSError("it is gone"), (FAILED, b"")):

        def heard(*_: object, said: Any = reply) -> Any:
            if isinstance(said, OSError):
                raise said
            return said

        monkeypatch.setattr(pool, "_any", lambda _, ask=heard: type("Ended", (), {"ask": ask})())
        fingerprint = f"free {reply}"
        with place.office.suspects.at_work(fingerprint), pytest.raises(StoreUnusable):
            pool.ask_any({"ask": "free"}, {})
        assert ends(place.office.suspects)[fingerprint] >= 1
    engine_ended()  # outside a request there is nothing to count


def test_a_cluster_that_fails_is_no_fault_of_a_question(place, monkeypatch):
    """Else two hiccups of a cluster would take an ordinary question from whoever asked it."""
    (pool, _), line = shared_pool(), type("Failing", (), {"ask": lambda *_: (FAILED, b"")})()
    monkeypatch.setattr(pool, "drop", lambda _: None)
    with place.office.suspects.at_work("ordinary"), pytest.raises(StoreUnusable):
        pool.heard(line, {"ask": "reach"}, {}, 1.0)
    assert ends(place.office.suspects) == {}


@pytest.mark.parametrize("sound", [True, False], ids=["sound", "planted"])
def test_who_lets_others_go_first_is_not_worked_on(records, sound, monkeypatch):
    """An innocent request pauses, and the one that has its seat meanwhile ends the clerk. Planted: its mark stays."""
    (_, seats), clerk = shared_pool(), next_clerk(records, died=False)
    if not sound:
        monkeypatch.setattr(seats, "_elsewhere", nullcontext)
    waits, taken, done = threading.Event(), threading.Event(), threading.Event()

    def hostile() -> None:
        WORKING.set("mallory")
        waits.set()
        with seats.seat(), clerk.at_work("hostile"):
            taken.set()
            done.wait(PATIENCE)

    def innocent() -> None:
        WORKING.set("bob")
        with seats.seat(), clerk.at_work("innocent"):
            thread.start()
            while not seats._waiting:
                waits.wait(0.001)
            seats._used["bob"] = (1.0, time.monotonic())
            pause()
            marked.append((records.file.parent / requests.FILE).read_bytes())

    thread, marked = threading.Thread(target=hostile, daemon=True), list[bytes]()
    other = threading.Thread(target=innocent, daemon=True)
    other.start()
    assert taken.wait(PATIENCE)
    found = (records.file.parent / requests.FILE).read_bytes()
    assert b"hostile mallory" in found
    assert (b"innocent" not in found) is sound
    done.set()
    other.join(PATIENCE)
    assert b"innocent bob" in marked[0], "it is worked on again"
    assert seats._free == 1


def test_old_records_open_and_count(tmp_path):
    """Records of before had no such table."""
    with served(tmp_path) as found:
        with found.office.records.transaction() as connection:
            connection.exec_driver_sql("DROP TABLE suspects")
        found.office.records.close()
        with open_data(tmp_path / "tacit.toml", own_process=False) as data:
            assert ends(desk(data).office.suspects) == {}
