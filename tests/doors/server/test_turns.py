"""Nobody pays for a place in a queue, and no account keeps all engines from the others."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from served import COUNT, served
from tacit.accounting.ledger.selling import LEASE
from tacit.doors.server import pool as pool_module
from tacit.doors.server.engine import Answering
from tacit.doors.server.models import MOST_SECONDS
from tacit.doors.server.pool import Line, Pool
from tacit.doors.server.quotes import pricing_of
from tacit.doors.server.turns import WORKING, Seats, Turns
from tacit.doors.server.wire import ASK, receive, send
from tacit.errors import BudgetExceeded, StoreUnusable
from tacit.release.frames import GRACE
from tacit.session import DataSet, Session

PATIENCE = 60.0  # seconds, for what takes a moment on a machine that does nothing else


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[DataSet, Pool]]:
    """A data set whose one engine answers, behind a pool."""
    with served(tmp_path) as place:
        place.data.engine.open()
        answering = Answering(place.data.catalog, place.data.engine, place.data.store)
        pool, (ours, theirs) = Pool(changed=lambda: None), socket.socketpair()

        def answer() -> None:
            with theirs, suppress(OSError):
                while True:
                    _, number, content = receive(theirs, ASK)
                    kind, said = answering.handle(content)
                    send(theirs, kind, number, said)

        threading.Thread(target=answer, daemon=True).start()
        pool.add(ours)
        yield DataSet(place.data.catalog, holder=pool), pool
        pool.close()


def test_nobody_pays_for_a_place_in_the_queue(held, monkeypatch):
    """Before: the question was paid for, waited, timed out, and counted as a failure of the one who waited."""
    data, pool = held
    before = data.ledger.head
    monkeypatch.setattr(pool_module, "PATIENCE", 0.05)
    _ = data.store
    line = pool.take(pricing_of(data.catalog), 1)
    with pytest.raises(StoreUnusable, match="all engines are busy"):
        Session(data, "ana").sql(COUNT, epsilon="0.01")
    assert data.ledger.head == before
    pool.put(line)
    assert Session(data, "ana").sql(COUNT, epsilon="0.01").receipt.entry is not None


def test_an_engine_that_was_held_for_nothing_is_given_back(held):
    data, pool = held
    for _ in range(2):  # the second time it is the stored answer
        Session(data, "ana").sql(COUNT, epsilon="0.01")
        assert len(pool._idle) == 1
    with pytest.raises(BudgetExceeded):
        Session(data, "ana").sql(COUNT, epsilon="900")
    assert len(pool._idle) == 1
    assert not pool._turns._held
    assert not pool._turns._waiting


def _waits(pool: Pool, account: str, order: list[str]) -> threading.Thread:
    def wait() -> None:
        WORKING.set(account)
        line = pool.take(None, PATIENCE)
        order.append(account)
        pool.put(line)

    waiting = len(pool._turns._waiting)
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    while len(pool._turns._waiting) == waiting:
        threading.Event().wait(0.001)
    return thread


def test_an_account_with_many_questions_does_not_keep_all_engines():
    pool, pairs, order = Pool(changed=lambda: None), [socket.socketpair() for _ in range(2)], list[str]()
    pool._idle += [Line(ours) for ours, _ in pairs]
    WORKING.set("mallory")
    slow = [pool.take(None, 1), pool.take(None, 1)]
    WORKING.set("")
    threads = [_waits(pool, account, order) for account in ("mallory", "mallory", "mallory", "ana")]
    pool.put(slow[1])
    for thread in threads:
        thread.join(PATIENCE)
    assert order == ["ana", "mallory", "mallory", "mallory"], "she came last, and held no engine"
    for line in slow:
        pool.drop(line)
    for _, theirs in pairs:
        theirs.close()


def test_first_come_first_served_within_an_account():
    turns = Turns()
    first, second = turns.join(), turns.join()
    assert turns.is_next(first)
    assert not turns.is_next(second)
    turns.leave(first)
    assert turns.is_next(second)


def test_the_lease_of_a_question_outlasts_it():
    """Else the same question, asked meanwhile, would be paid for again, and the first one counted as a failure."""
    assert MOST_SECONDS + 2 * GRACE < LEASE


def seated(seats: Seats, seconds: float) -> bool:
    """Whether another thread gets a seat in time."""
    got = threading.Event()

    def sit() -> None:
        with seats.seat():
            got.set()

    threading.Thread(target=sit, daemon=True).start()
    return got.wait(seconds)


def test_one_thread_works_at_a_time_and_a_seat_is_given_up_once() -> None:
    seats = Seats(1)
    with seats.seat():
        assert not seated(seats, 0.2)
        seats.leave()
        seats.leave()
        with seats.seat():
            assert not seated(seats, 0.1), "leaving twice frees one seat"
    assert seated(seats, PATIENCE)


@pytest.mark.parametrize("leaves", [True, False], ids=["sound", "planted"])
def test_who_waits_for_an_engine_keeps_nobody_from_the_desk(leaves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(changed=lambda: None)
    if not leaves:
        monkeypatch.setattr(pool.seats, "leave", lambda: None)
    waiting = threading.Event()

    def ask() -> None:
        with pool.seats.seat():
            waiting.set()
            pool.drop(pool.take(None, PATIENCE))  # there is none until the end

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    assert waiting.wait(PATIENCE)
    assert seated(pool.seats, PATIENCE if leaves else 0.5) is leaves
    ours, theirs = socket.socketpair()
    with theirs:
        pool.put(Line(ours))  # so that nobody waits any longer
        asking.join(PATIENCE)
