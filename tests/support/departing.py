"""A clerk that hides its clock, in this process, with engines that take as long as a test says; and the times that its clients see.

Everything is real but the engines: desk, ledger, pool, stays, timer and messages. An engine replies with numbers that were released
once for the same plan, after the seconds that the test gives for the question: it sleeps, as on a core of its own, or it works in
this process, as on a shared one.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from shared_pool import shared_pool
from tacit.data.catalog import read_catalog, stamp_of
from tacit.doors.server.calls import Call, Reply, call_written, reply_read
from tacit.doors.server.clerk import Departures, FrontLine
from tacit.doors.server.desk import Desk, desk
from tacit.doors.server.engine import Answering, derived
from tacit.query.price.quote import Request
from tacit.release.elsewhere.frames import ASK, CALL, FAILED, NUMBERS, REPLY, framed, receive, send, written
from tacit.release.elsewhere.packed import packed
from tacit.session import DataSet
from tacit.session import open as open_data

SPINNING = 4  # threads of an engine at work in this process
ASKED = Request(Fraction(1))
Work = Callable[[str], float]  # the seconds that an engine takes for the text of a question; negative if it fails after them


@dataclass
class Client:
    """What sends calls to a clerk, and notes when each reply arrives."""

    line: socket.socket
    waiting: dict[int, Future[tuple[float, bytes]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    last: int = 0

    def listen(self) -> None:
        try:
            while True:
                _, number, content = receive(self.line, REPLY)
                self.waiting.pop(number).set_result((time.monotonic(), content))
        except OSError:
            return

    def send(self, call: Call) -> Future[tuple[float, bytes]]:
        with self.lock:
            self.last += 1
            told: Future[tuple[float, bytes]] = Future()
            self.waiting[self.last] = told
            self.line.sendall(framed(CALL, self.last, call_written(call)))
        return told


@dataclass
class Clerk:
    """A world behind its clerk."""

    desk: Desk
    client: Client
    tokens: dict[str, str]
    data: DataSet
    work: Work = lambda _: 0.0
    spins: bool = False  # whether engines work in this process, as on the core of the clerk

    def send(self, operation: str, by: str = "ana", **given: Any) -> Future[tuple[float, bytes]]:
        return self.client.send(Call(operation, self.tokens[by], given))

    def timed(self, operation: str, by: str = "ana", **given: Any) -> tuple[float, Reply]:
        """The seconds until the reply, and the reply."""
        began = time.monotonic()
        arrived, content = self.send(operation, by, **given).result(120)
        return arrived - began, reply_read(content)

    def look_into(self) -> None:
        """The curator looks into late replies, so that questions go on."""
        if self.data.ledger.head.number and self.late:
            self.data.resume("a test")

    @property
    def late(self) -> int:
        (entry,) = list(self.data.ledger.entries(first=self.data.ledger.head.number))
        return sum(entry.late.values())


@contextmanager
def clerk_of(place: Path, engines: int = 1) -> Iterator[Clerk]:
    """The clerk of a prepared catalog with a ledger; accounts ana, bob and otto are made."""
    pool, seats = shared_pool()
    pool.places = engines
    with open_data(place, own_process=False) as plain, DataSet(read_catalog(place), read_at=stamp_of(place), holder=pool) as data:
        opened = Answering(plain.catalog, plain.engine, plain.store)
        plain.engine.open()
        made: dict[str, bytes] = {}

        def numbers(text: str) -> bytes:
            if text not in made:
                (quote, *_) = derived(text, ASKED, plain.catalog, plain.public)
                made[text] = packed(quote, plain.runner.noisy(quote))
            return made[text]

        lines: list[socket.socket] = []
        for _ in range(engines):
            ours, theirs = socket.socketpair()
            lines.append(theirs)
            threading.Thread(target=_engine, args=(theirs, opened, numbers, lambda: clerk), daemon=True).start()
            pool.add(ours)
        here, there = socket.socketpair()
        desk_of = desk(data, pool.limit, seats)
        roles = (("ana", "analyst"), ("bob", "analyst"), ("otto", "auditor"))
        tokens = {name: desk_of.office.accounts.add(name, role, declared=data.catalog.analysts).token for name, role in roles}
        clerk = Clerk(desk_of, Client(here), tokens, data)
        with ThreadPoolExecutor(16) as workers:
            front = FrontLine(there, desk_of, workers, Departures())
            for target in (front.listen, clerk.client.listen):
                threading.Thread(target=target, daemon=True).start()
            pool.info()
            yield clerk
            here.shutdown(socket.SHUT_RDWR)
        pool.close()
        for line in (here, there, *lines):
            line.close()
        desk_of.office.records.close()


def _engine(line: socket.socket, opened: Answering, numbers: Callable[[str], bytes], of: Callable[[], Clerk]) -> None:
    try:
        while True:
            _, number, content = receive(line, ASK)
            asked = json.loads(content)
            if asked["ask"] != "run":
                send(line, *_told(opened.handle(ASK, written(asked)), number))
                continue
            released, seconds = numbers(asked["text"]), of().work(asked["text"])
            _take(abs(seconds), of().spins)
            if seconds < 0:
                send(line, FAILED, number)
                line.close()
                return
            send(line, NUMBERS, number, asked["fingerprint"].encode() + released)
    except OSError:
        return


def _told(told: tuple[bytes, bytes], number: int) -> tuple[bytes, int, bytes]:
    return told[0], number, told[1]


def _take(seconds: float, spins: bool) -> None:
    until = time.monotonic() + seconds
    if spins:
        others = [threading.Thread(target=_spin, args=(until,)) for _ in range(SPINNING)]
        for other in others:
            other.start()
    time.sleep(max(0.0, until - time.monotonic()))


def _spin(until: float) -> None:
    while time.monotonic() < until:
        sum(range(1000))
