"""The clerk's side of the engines: which of them are there, and what is asked of them. It holds the data for a `DataSet`.

An engine serves one question at a time. It is held before a question is paid for, so that nobody pays for a place in a queue, and
those who wait are served in turns (turns.py). One that is late, says something else, or is gone is dropped: with its connection it
ends, and the supervisor starts another. What an engine says is never believed beyond its form; released numbers are taken only
behind the fingerprint of the quote that was paid for.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Condition, Thread, local
from typing import Any

from tacit.data.spark.connect import unreachable
from tacit.data.store import StoreInfo
from tacit.doors.server.facts import HeldFacts, described, unusable
from tacit.doors.server.quotes import fingerprint_of, pricing_of, request_written
from tacit.doors.server.requests import elsewhere, engine_ended, lift
from tacit.doors.server.turns import Seats, Turns
from tacit.doors.server.wire import FAILED, FINGERPRINT, NUMBERS, TOLD, UNUSABLE, Line, Malformed, read
from tacit.errors import InvalidValue, StoreUnusable
from tacit.privacy.catalog import Catalog
from tacit.query.engines import EMBEDDED
from tacit.query.engines.engine import Limits, out_of_limits
from tacit.query.engines.spark.reasons import SILENT, unpacked_reason
from tacit.query.intervals.bands import Noisy
from tacit.query.price.price import Quote
from tacit.release.frames import GRACE
from tacit.release.packed import unpacked
from tacit.release.running import START, Paid

PATIENCE = 60.0  # seconds that a question waits for an engine, before it is paid for
SEATS = 1  # threads of the clerk that work at a time; those that wait for an engine do not count
REACH = 75.0  # seconds in which an engine says that its cluster answers; above those that it gives the cluster
TRIES = 3  # engines that were gone before they were asked


class Pool:
    """All engines. `changed` is called when one has opened another version of the data than the first did.

    `reached` is called when one can read the data after another could not. Until then it is the same error that says why.
    """

    def __init__(
        self, changed: Callable[[], None], limits: Limits | None = None, reached: Callable[[], None] = lambda: None
    ) -> None:
        self.limits, self._changed, self._reached = limits or Limits(), changed, reached
        self.seconds = self.limits.seconds
        self._idle: list[Line] = []
        self._lines: set[Line] = set()
        self._info: StoreInfo | None = None
        self._unusable: StoreUnusable | None = None
        self._turns, self._news = Turns(), Condition()
        self.seats = Seats(SEATS, elsewhere=elsewhere)

    def limit(self, seconds: int) -> None:
        """From now on a question may take so many seconds."""
        self.seconds = float(seconds)

    # --- which engines there are ---------------------------------------------------------------------------------------------

    def add(self, line: socket.socket) -> None:
        """Take up an engine, as soon as it has opened its store."""
        Thread(target=self._opened, args=(Line(line),), daemon=True).start()

    def _opened(self, line: Line) -> None:
        try:
            kind, content = line.ask({"ask": "open"}, TOLD + UNUSABLE + FAILED, START)
            if kind != TOLD:
                raise unusable(content if kind == UNUSABLE else b"")
            line.info, line.pricing = described(content)
        except (OSError, StoreUnusable) as error:
            line.socket.close()
            if isinstance(error, StoreUnusable):
                self.away(error)
            return
        self.found()
        with self._news:
            self._info = self._info or line.info
            other = line.info.version != self._info.version
            self._lines.add(line)
            self._idle.append(line)
            self._news.notify_all()
        if other:
            self._changed()

    def away(self, error: StoreUnusable) -> StoreUnusable:
        """Note why the data cannot be read; returns the error of before if it says the same."""
        with self._news:
            if str(error) != str(self._unusable):
                self._unusable = error
            self._news.notify_all()
            return (self._unusable or error).with_traceback(None)

    def found(self) -> None:
        """Note that the data can be read."""
        with self._news:
            before, self._unusable = self._unusable, None
        if before is not None:
            self._reached()

    def take(self, pricing: str | None, seconds: float) -> Line:
        """An idle engine that derives prices from this catalog (None: from any), in turn; raises `TimeoutError`.

        It is for the caller alone until `put` or `drop`.
        """
        self.seats.leave()
        deadline = time.monotonic() + seconds
        with self._news:
            turn = self._turns.join()
            try:
                while True:
                    while self._idle and self._turns.is_next(turn):
                        line = self._idle.pop(0)
                        if line.lives() and pricing in (None, line.pricing):
                            line.holder = turn.account
                            self._turns.took(turn.account)
                            return line
                        self._drop(line)
                    if not self._news.wait(deadline - time.monotonic()):
                        raise TimeoutError("no engine in time")
            finally:
                self._turns.leave(turn)
                self._news.notify_all()  # somebody else is the next one now

    def put(self, line: Line) -> None:
        """Give an engine back."""
        with self._news:
            self._let_go(line)
            self._idle.append(line)
            self._news.notify_all()

    def drop(self, line: Line) -> None:
        """End an engine, by closing its connection."""
        with self._news:
            self._drop(line)

    def _let_go(self, line: Line) -> None:
        if line.holder is not None:
            self._turns.gave(line.holder)
            line.holder = None

    def _drop(self, line: Line) -> None:
        self._let_go(line)
        self._lines.discard(line)
        line.socket.close()

    def close(self) -> None:
        """End all engines."""
        with self._news:
            for line in list(self._lines):
                self._drop(line)
            self._idle.clear()

    def ready(self, pricing: str) -> None:
        """Wait until some engine, idle or not, can answer by this catalog."""
        self.seats.leave()
        deadline = time.monotonic() + PATIENCE / 2
        with self._news:
            while True:
                for line in [line for line in self._idle if not line.lives() or line.pricing != pricing]:
                    self._idle.remove(line)
                    self._drop(line)
                if self._lines:
                    return
                if self._unusable or not self._news.wait(deadline - time.monotonic()):  # the last one to start found no data
                    raise (self._unusable or unusable(b"")).with_traceback(None)

    # --- what a data set asks of its holder ----------------------------------------------------------------------------------

    def info(self) -> StoreInfo | None:
        """The description of the store, from the first engine that opened it."""
        with self._news:
            if not self._news.wait_for(lambda: self._info or self._unusable, START):
                raise unusable(b"")
            if self._info is None and self._unusable is not None:
                raise self._unusable.with_traceback(None)
            return self._info

    def facts(self, info: StoreInfo) -> HeldFacts:
        """What is known of the public tables."""
        return HeldFacts(self, info.public)

    def runner(self, catalog: Callable[[], Catalog], version: str) -> PooledRunner:
        """Runs paid questions on whichever engine is idle."""
        return PooledRunner(self, catalog, version)

    def told(self, known: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any]:
        """What any engine says to a question that is not paid for."""
        with elsewhere(), self.seats.away():
            for _ in range(TRIES):
                line = self._any(START)
                try:
                    found = self.heard(line, known, form, START)
                except OSError:
                    engine_ended()
                    continue
                self.put(line)
                return found
        raise unusable(b"")

    def heard(self, line: Line, known: Mapping[str, Any], form: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """What an engine that is held says; it is dropped if it cannot say it: `OSError` if it says nothing in time."""
        try:
            kind, content = line.ask(known, TOLD + UNUSABLE + FAILED, seconds)
            if kind == TOLD:
                return read(content, form)
        except OSError:
            self.drop(line)
            raise
        self.drop(line)
        if kind == FAILED and known["ask"] != "reach":  # after which it ends; what a cluster fails at is no request's fault
            engine_ended()
        raise unusable(content if kind == UNUSABLE else b"")

    def _any(self, seconds: float) -> Line:
        with self._news:
            if self._unusable and not self._lines:
                raise self._unusable.with_traceback(None)
        try:
            return self.take(None, seconds)
        except TimeoutError:
            raise unusable(b"") from None


@dataclass(slots=True)
class PooledRunner:
    """Runs paid questions on the engines of a pool."""

    pool: Pool
    catalog: Callable[[], Catalog]
    version: str
    _priced: tuple[Catalog | None, str] = (None, "")
    _mine: local = field(default_factory=local)  # the engine that this thread holds

    def start(self) -> None:
        """The supervisor starts engines."""

    def open(self) -> None:
        """Hold an engine that prices by the same catalog, before anything is paid for; raises where none is free in time."""
        lift()
        self.free()
        for _ in range(TRIES):
            self.pool.ready(self._pricing())
            try:
                line = self.pool.take(self._pricing(), PATIENCE)
            except TimeoutError:
                raise StoreUnusable("all engines are busy", remedy="ask again later, or start more engines") from None
            if self._reaches(line):
                self._mine.line = line
                return
        raise unusable(b"")

    def _reaches(self, line: Line) -> bool:
        """Whether the engine can read its data; raises where its cluster does not answer. An open file needs no question."""
        if self.catalog().store_engine == EMBEDDED:
            return True
        try:
            self.pool.heard(line, {"ask": "reach"}, {}, REACH)
        except TimeoutError:
            raise self.pool.away(unreachable()) from None
        except StoreUnusable as error:
            raise self.pool.away(error) from None
        except OSError:  # it had ended, and so says nothing about the cluster
            return False
        self.pool.found()
        return True

    def free(self) -> None:
        """Give back an engine that was held for nothing: the question was refused, or answered before."""
        if (line := self._held()) is not None:
            self.pool.put(line)

    def _held(self) -> Line | None:
        line: Line | None = self._mine.__dict__.pop("line", None)
        return line

    def noisy(self, quote: Quote, paid: Paid | None = None) -> Noisy:
        """The released numbers of a paid question; raises `TimedOut`."""
        if paid is None:
            raise out_of_limits()
        fingerprint = fingerprint_of(quote, self.version)
        known = {"ask": "run", "text": paid.text, "request": request_written(quote.request), "entry": paid.entry}
        known |= {"fingerprint": fingerprint, "seconds": self.pool.seconds}
        line = self._taken()
        try:
            kind, content = line.ask(known, NUMBERS + FAILED, replace(self.pool.limits, seconds=self.pool.seconds).together + GRACE)
            if kind == FAILED:
                raise out_of_limits(unpacked_reason(content))
            if content[:FINGERPRINT] != fingerprint.encode():
                raise Malformed("numbers of another quote")
            found = unpacked(quote, content[FINGERPRINT:])
        except (OSError, InvalidValue, MemoryError) as error:
            self.pool.drop(line)
            raise out_of_limits(SILENT if isinstance(error, TimeoutError) else "") from None
        except BaseException:
            self.pool.drop(line)
            raise
        self.pool.put(line)
        return found

    def _taken(self) -> Line:
        """The engine that is held; another one if it has ended since."""
        if (line := self._held()) is not None:
            if line.lives():
                return line
            self.pool.drop(line)
        try:
            return self.pool.take(self._pricing(), PATIENCE)
        except TimeoutError:
            raise out_of_limits() from None

    def _pricing(self) -> str:
        now = self.catalog()
        if self._priced[0] is not now:
            self._priced = (now, pricing_of(now))
        return self._priced[1]

    def close(self) -> None:
        """The engines belong to the pool."""
