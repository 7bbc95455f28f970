"""Nobody pays for a place in a queue, and no account keeps all engines from the others."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from served import COUNT, served
from shared_pool import shared_pool
from tacit.accounting.ledger.selling import LEASE
from tacit.doors.server.engine import Answering
from tacit.doors.server.models import MOST_SECONDS
from tacit.doors.server.turns import WORKING, Places, Seats
from tacit.errors import BudgetExceeded, StoreUnusable
from tacit.query.question import pause
from tacit.release.elsewhere import pool as pool_module
from tacit.release.elsewhere.frames import ASK, GRACE, TOLD, Line, receive, send
from tacit.release.elsewhere.pool import Pool, Turns
from tacit.release.elsewhere.quotes import pricing_of
from tacit.session import DataSet, Session

PATIENCE = 60.0  # seconds, for what takes a moment on a machine that does nothing else


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[DataSet, Pool]]:
    """A data set whose one engine answers, behind a pool."""
    with served(tmp_path) as place:
        place.data.engine.open()
        answering = Answering(place.data.catalog, place.data.engine, place.data.store)
        (pool, _), (ours, theirs) = shared_pool(), socket.socketpair()

        def answer() -> None:
            with theirs, suppress(OSError):
                while True:
                    _, number, content = receive(theirs, ASK)
                    kind, said = answering.handle(ASK, content)
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
    (pool, _), pairs, order = shared_pool(), [socket.socketpair() for _ in range(2)], list[str]()
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
    first, second = turns.join(""), turns.join("")
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
    pool, seats = shared_pool()
    if not leaves:
        monkeypatch.setattr(seats, "leave", lambda: None)
    waiting = threading.Event()

    def ask() -> None:
        with seats.seat():
            waiting.set()
            pool.drop(pool.take(None, PATIENCE))  # there is none until the end

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    assert waiting.wait(PATIENCE)
    assert seated(seats, PATIENCE if leaves else 0.5) is leaves
    ours, theirs = socket.socketpair()
    with theirs:
        pool.put(Line(ours))  # so that nobody waits any longer
        asking.join(PATIENCE)


# --- seats in turns ----------------------------------------------------------------------------------------------------------


class Clock:
    """A clock that stands still until somebody works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FirstCome(Seats):
    """Planted: a seat goes to whoever came first, and long work keeps it to its end."""

    def _next(self) -> object:
        return min(self._waiting, key=lambda each: each.number, default=None)

    def pause(self) -> None:
        return


class Desk:
    """Threads of accounts that work in steps on one seat, and the order of their steps."""

    def __init__(self, seats: type[Seats]) -> None:
        self.clock, self.order, self.threads = Clock(), list[str](), list[threading.Thread]()
        self.seats = seats(1, self.clock)
        self.begin = threading.Event()

    def join(self, account: str, steps: int, first: bool = False) -> None:
        """Wait for the seat, and take so many steps of a tenth of a second; `first` holds it until all others wait."""
        ready = threading.Event()

        def work() -> None:
            WORKING.set(account)
            with self.seats.seat():
                if first:
                    ready.set()
                    assert self.begin.wait(PATIENCE)
                for _ in range(steps):
                    self.order.append(account)
                    self.clock.now += 0.1
                    pause()

        before = len(self.seats._waiting)
        self.threads.append(threading.Thread(target=work, daemon=True))
        self.threads[-1].start()
        while not (ready.is_set() if first else len(self.seats._waiting) > before):
            threading.Event().wait(0.001)

    def run(self) -> list[str]:
        """The accounts in the order of their steps."""
        self.begin.set()
        for thread in self.threads:
            thread.join(PATIENCE)
        assert self.seats._free == 1
        return self.order


def crowded(seats: type[Seats]) -> list[str]:
    """Four accounts with four long explanations each, and then one that asks little."""
    desk = Desk(seats)
    desk.join("mallory0", 20, first=True)
    for number in range(1, 16):
        desk.join(f"mallory{number % 4}", 20)
    desk.join("ana", 2)
    return desk.run()


def test_who_asks_little_waits_for_one_step_of_each_other_account() -> None:
    order = crowded(Seats)
    assert len(order) == 16 * 20 + 2, "nobody's work is lost"
    assert order.index("ana") <= 4, "she came last, behind 16, of four accounts that had used nothing either"
    assert len(order) - order[::-1].index("ana") - 1 <= 9, "between her two steps, each of the others may have one"


def test_a_first_come_queue_is_caught() -> None:
    order = crowded(FirstCome)
    assert order.index("ana") == 16 * 20


def test_accounts_that_ask_as_much_have_as_much() -> None:
    """In every stretch of steps in which all four wait, none has had two more than another."""
    order = crowded(Seats)
    counts = {f"mallory{number}": 0 for number in range(4)}
    for account in order[: 16 * 15]:
        if account != "ana":
            counts[account] += 1
            assert max(counts.values()) - min(counts.values()) <= 2, counts


def test_what_was_used_long_ago_counts_little() -> None:
    desk = Desk(Seats)
    desk.join("ana", 3, first=True)
    desk.run()
    used = desk.seats._seconds("ana")
    desk.clock.now += 5.0
    assert desk.seats._seconds("ana") == pytest.approx(used / 2)


def test_who_asked_an_engine_of_public_tables_takes_a_seat_again() -> None:
    """Else the pricing that follows would go on beside whoever has the seat, and pause for nobody."""
    (pool, seats), held = shared_pool(), list[bool]()
    ours, theirs = socket.socketpair()
    line = Line(ours)

    def ask(*_: object) -> tuple[bytes, bytes]:
        held.append(seated(seats, PATIENCE))
        return TOLD, b'{"number": 1}'

    with theirs, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Line, "ask", ask)
        pool.put(line)
        with seats.seat():
            pool.ask_any({"ask": "size"}, {"number": int})
            assert held == [True], "others work while the engine does"
            assert not seated(seats, 0.2)
        assert seated(seats, PATIENCE)
        pool.drop(line)


def test_a_seat_that_was_given_up_is_not_taken_back_at_a_pause() -> None:
    """Who waits for an engine has none, and goes on without."""
    seats = Seats(1)
    with seats.seat():
        seats.leave()
        assert seated(seats, PATIENCE)
        pause()
        assert seated(seats, PATIENCE)


@pytest.mark.parametrize("operation", ["explain", "ask", "history"])
def test_free_work_pauses(tmp_path: Path, operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is: pricing by the sum, a history by the entry. Planted: a price that pauses nowhere."""
    sums = ", ".join(f"SUM(cost + {at}) AS c{at}" for at in range(30))
    given = {} if operation == "history" else {"sql": f"SELECT {sums} FROM visits", "epsilon": "90", "delta": "1e-9"}
    steps = list[str]()
    with served(tmp_path) as place:
        for at in range(5):
            place.call("ask", sql=f"SELECT COUNT(*) AS n FROM visits WHERE cost > {at}", epsilon="0.01")
        monkeypatch.setattr(place.office.seats, "pause", lambda: steps.append(operation))
        place.call(operation, **given)
        assert len(steps) >= (10 if operation == "history" else 90)
        steps.clear()
        for module in ("price", "quote", "needs", "explain"):
            monkeypatch.setattr(f"tacit.query.price.{module}.pause", lambda: None)
        monkeypatch.setattr("tacit.doors.server.analysts.pause", lambda: None)
        place.call(operation, **{**given, **({} if operation == "history" else {"epsilon": "91"})})
        assert steps == []


def test_an_explanation_counts_as_two_requests(tmp_path: Path) -> None:
    with served(tmp_path) as place:
        place.desk.places = Places(rate=0.0, burst=7.0)
        told = [place.call("explain", sql=COUNT, epsilon="0.1").status for _ in range(4)]
        assert told == [200, 200, 200, 429]
        assert place.call("budget").status == 200, "one request is left"
        assert place.call("budget").status == 429
