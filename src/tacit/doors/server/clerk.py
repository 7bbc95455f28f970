"""The clerk: the one process that knows accounts and ledger. It spends, asks an engine, keeps the answer, and replies to the front.

Connections reach it as descriptors from the supervisor: one to each engine, one to the front. It opens no other connection, except
to a ledger in PostgreSQL, and has no right on the store. The files that it writes are named one by one before the sandbox closes.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from threading import Condition, Thread
from typing import NoReturn, Protocol

from tacit.data.catalog import read_catalog, stamp_of
from tacit.data.spark.connect import unreachable
from tacit.doors.server.analysts import load_forms
from tacit.doors.server.calls import ADMISSION, AWAY, NOT_USABLE, OF_ENGINE, READY, Call, Reply, call_read, reply_written
from tacit.doors.server.figures import Figures, send_each_minute
from tacit.doors.server.problems import STATUS, problem
from tacit.doors.server.requests import elsewhere, engine_ended, lift
from tacit.doors.server.sandbox.database import places_of, settled
from tacit.doors.server.sandbox.limits import become
from tacit.doors.server.sandbox.profiles import (
    CLERK,
    CLERK_OF_A_DATABASE,
    CLERK_WITH_NAMES,
    Profile,
    close_first,
    close_last,
    reach_of,
)
from tacit.doors.server.settings import OfClerk
from tacit.doors.server.turns import WORKING, Seats
from tacit.errors import TacitError
from tacit.files import make_private_folder, owned
from tacit.privacy.catalog import Catalog
from tacit.query.engines import EMBEDDED
from tacit.query.engines.spark.reasons import SILENT, unpacked_reason
from tacit.release.elsewhere.facts import Cluster
from tacit.release.elsewhere.frames import CALL, REPLY, Malformed, framed, receive
from tacit.release.elsewhere.pool import Caller, Pool
from tacit.release.elsewhere.stays import STAY, Stay
from tacit.release.once import LOG, noted
from tacit.session import DataSet

AT_ONCE = 80  # calls that are worked on, or wait for an engine; others wait
MOST_WAITING = 256  # calls of a front that have no reply yet; it then waits before it sends more
SEATS = 1  # threads that work at a time; those that wait for an engine do not count
RECORDS = "server.sqlite"
NAMES = ("/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/services", "/etc/host.conf", "/etc/gai.conf")


class Handles(Protocol):
    """The desk: the reply to each call, from many threads at once."""

    def handle(self, call: Call) -> Reply:
        """The reply to one call; it raises nothing."""


CLUSTER = Cluster(unpacked_reason, SILENT, unreachable)
Desks = Callable[[DataSet, Pool, Seats], Handles]


def main(settings: OfClerk, desks: Desks, profile: Profile = CLERK) -> NoReturn:
    """Open what is written, close the sandbox, and reply to calls until the supervisor is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=settings.control)
    if settings.owner is not None:
        become(settings.owner)
    seats = Seats(SEATS, elsewhere=elsewhere)
    changed = lambda: os._exit(3)  # noqa: E731  # with the clerk all engines end, and open the new data
    pool = Pool(changed, reached=lambda: _say_ready(control), caller=caller_at(seats), cluster=CLUSTER)
    pool.places = settings.places or None
    path = Path(settings.catalog)
    try:
        data = DataSet(read_catalog(path), read_at=stamp_of(path), holder=pool)
        desk = desks(data, pool, seats)
        held = _closed(data, replace(profile, left_out=frozenset(settings.left_out)))
        load_forms()  # inside the sandbox, since pyarrow starts a thread of its own
    except TacitError as error:
        _give_up(control, error)
    except Exception as error:
        _give_up(control, noted(error, path.parent / ".tacit"))
    gc.freeze()
    gc.enable()
    serve(control, data, pool, desk, held, figures_of(settings, data))


def figures_of(settings: OfClerk, data: DataSet) -> Figures | None:
    """The figures about this clerk, sent each minute to where the supervisor wants them; None if it wants none."""
    if settings.figures < 0:
        return None
    from tacit.doors.server.desk import LOGIN, OF_PAGES, OPERATIONS

    figures = Figures(frozenset((*OPERATIONS, *OF_PAGES, LOGIN, "health", ADMISSION)), frozenset(STATUS))
    sent = (figures, lambda: data.ledger.head, socket.socket(fileno=settings.figures), data.catalog.kept)
    threading.Thread(target=send_each_minute, args=sent, name="figures", daemon=True).start()
    return figures


def caller_at(seats: Seats) -> Caller:
    """A thread of the clerk, to the pool: while it waits for an engine it has no seat, and its request is not worked on."""

    def waits() -> None:
        lift()
        seats.leave()

    @contextmanager
    def away() -> Iterator[None]:
        with elsewhere(), seats.away():
            yield

    return Caller(WORKING.get, waits, away, engine_ended)


def _closed(data: DataSet, profile: Profile) -> list[sqlite3.Connection]:
    """Open the ledger and the files beside it, then close the sandbox; returns connections that keep the files of SQLite there."""
    catalog = data.catalog
    address = catalog.ledger_address(os.environ)
    file = address.removeprefix("sqlite:///")
    local = file != address
    alone = local or settled(address, os.environ)
    data.open_ledger()  # while the register of ledgers can be read
    with suppress(TacitError, OSError):  # without the key that signs, everything but certificates is served
        _ = data.signer
    changes = (catalog.heads_folder, (catalog.kept / LOG).parent)  # where it makes, renames and removes files
    for folder in changes:
        make_private_folder(folder)
    databases = [path for path in ((Path(file),) if local else ()) + (catalog.kept / RECORDS,) if path.exists()]
    held = [_kept_open(path) for path in databases]
    for ending in (".lock", ".flush") if local else ():
        owned(Path(file + ending))
    writes = [Path(f"{path}{ending}") for path in databases for ending in ("", "-wal", "-shm", ".lock", ".flush")]
    reads = (_file_of(catalog), *(() if local else map(Path, NAMES)))
    ports = () if local else tuple(port for _, port in places_of(address, os.environ))
    if not local:
        profile = replace(CLERK_OF_A_DATABASE if alone else CLERK_WITH_NAMES, left_out=profile.left_out)
    close_first(profile, reach_of(reads, tuple(writes), changes, ports=ports))
    close_last(profile)
    return held


def _file_of(catalog: Catalog) -> Path:
    assert catalog.path is not None  # noqa: S101  # it was read from there
    return catalog.path


def _kept_open(file: Path) -> sqlite3.Connection:
    """A connection that is never closed: the last one to close would remove the write-ahead log, and none may make a new one."""
    connection = sqlite3.connect(f"file:{file}?mode=rw", uri=True, check_same_thread=False)
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return connection


def _give_up(control: socket.socket, error: TacitError, code: int = 1) -> NoReturn:
    """Tell the supervisor why, in words of tacit, and end."""
    with suppress(OSError):
        control.sendall(NOT_USABLE + str(error).encode()[:4000])
    os._exit(code)


# --- at work -----------------------------------------------------------------------------------------------------------------


def serve(
    control: socket.socket,
    data: DataSet,
    pool: Pool,
    desk: Handles,
    _held: list[sqlite3.Connection],
    figures: Figures | None = None,
) -> NoReturn:
    """Take up the connections that the supervisor hands over; end when it does."""
    workers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="call")
    departures = None if pool.places is None else Departures()
    threading.Thread(target=_report, args=(control, data), daemon=True).start()
    while True:
        tag, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not tag or not descriptors:
            os._exit(0)
        line = socket.socket(fileno=descriptors[0])
        if tag == OF_ENGINE:
            pool.add(line)
        else:
            threading.Thread(target=FrontLine(line, desk, workers, departures, figures).listen, daemon=True).start()


def _report(control: socket.socket, data: DataSet) -> None:
    """Tell the supervisor that questions can be answered, or why not."""
    try:
        _ = data.store
    except TacitError as error:
        _give_up(control, error, 1 if data.catalog.store_engine == EMBEDDED else AWAY)
    _say_ready(control)


def _say_ready(control: socket.socket) -> None:
    with suppress(OSError):
        control.sendall(READY)


@dataclass(slots=True)
class FrontLine:
    """The connection to a front: calls come in, and replies go out as they are ready."""

    line: socket.socket
    desk: Handles
    workers: ThreadPoolExecutor
    departures: Departures | None = None  # None where the clock is shown
    figures: Figures | None = None
    _sending: threading.Lock = field(default_factory=threading.Lock)
    _room: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(MOST_WAITING))

    def listen(self) -> None:
        """Take calls until the front is gone, or says what is not a call."""
        try:
            while True:
                _, number, content = receive(self.line, CALL)
                call = call_read(content)
                self._room.acquire()
                self.workers.submit(self._reply, number, call)
        except OSError:  # Malformed is one
            pass
        finally:  # whatever it was: the front notices, and asks for another connection
            with suppress(OSError):
                self.line.shutdown(socket.SHUT_RDWR)

    def _message(self, number: int, call: Call) -> tuple[bytes, Reply]:
        try:
            reply, stay = self.desk.handle(call), STAY.get()
            timed = stay is not None and stay.is_paid
            return framed(REPLY, number, reply_written(replace(reply, timed=timed))), reply
        except (Malformed, MemoryError):  # a reply above every limit is nobody else's trouble
            return framed(REPLY, number, reply_written(problem("unavailable"))), problem("unavailable")

    def _reply(self, number: int, call: Call) -> None:
        operation = "" if self.figures is None else self.figures.came(call)
        if self.departures is None:
            self._send(*self._message(number, call), operation)
            return
        stay = self.departures.stay()
        mine = STAY.set(stay)
        try:
            message, reply = self._message(number, call)
        finally:
            STAY.reset(mine)
        self.departures.leave(stay, partial(self._send, message, reply, operation))

    def _send(self, message: bytes, reply: Reply, operation: str) -> None:
        try:
            with self._sending:
                self.line.settimeout(None)
                self.line.sendall(message)
            if self.figures is not None:
                self.figures.left(operation, reply)
        except OSError:  # the front is gone; what was paid for is kept
            pass
        finally:
            self._room.release()


# --- departures --------------------------------------------------------------------------------------------------------------


Send = Callable[[], None]


@dataclass(slots=True)
class Departures:
    """When replies leave: those that were paid for by a timer, at the end of their stay at an engine; all others at once.

    The timer is one thread, which sleeps until the next reply is due, and holds replies that are written already. So no thread that
    works waits for a departure, and none is late because others are at work. The engine of a stay is given back when its reply has
    left. A repetition of a question that its analyst has paid for leaves after the reply that it repeats. The front lets all others
    leave on public ticks (leaving.py).
    """

    clock: Callable[[], float] = time.monotonic
    _heap: list[tuple[float, int, Send]] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)
    _news: Condition = field(default_factory=Condition)
    staying: dict[int, Stay] = field(default_factory=dict)
    _after: dict[int, list[Send]] = field(default_factory=dict)  # by the stay that has not left, what leaves after it
    _thread: Thread | None = None

    def stay(self) -> Stay:
        """The stay of a new call."""
        return Stay(self.clock, staying=self.staying)

    def leave(self, stay: Stay, send: Send) -> None:
        """Let a reply leave at the end of its stay; one that was not paid for leaves at once, and after the one that it repeats."""
        due = stay.settle()
        if due is not None:
            self.at(due, lambda: self._depart(stay, send))
            return
        with self._news:
            waits = stay.first is not None and not stay.first.is_over
            if waits:
                self._after.setdefault(id(stay.first), []).append(send)
        stay.leave()
        if not waits:
            send()

    def at(self, due: float, send: Send) -> None:
        """Do something at a moment, on the thread of the timer."""
        with self._news:
            heappush(self._heap, (due, next(self._numbers), send))
            if self._thread is None:
                self._thread = Thread(target=self._run, name="departures", daemon=True)
                self._thread.start()
            self._news.notify()

    def _depart(self, stay: Stay, send: Send) -> None:
        try:
            send()
        finally:
            with self._news:
                stay.end()
                after = self._after.pop(id(stay), [])
            for each in after:
                each()

    def _run(self) -> None:
        while True:
            with self._news:
                while not self._heap or (wait := self._heap[0][0] - self.clock()) > 0:
                    self._news.wait(wait if self._heap else None)
                _, _, send = heappop(self._heap)
            with suppress(Exception):  # no reply keeps others from leaving; whatever it was, its connection has ended
                send()
