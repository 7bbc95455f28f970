"""Engines that many accounts share, seen from the clerk of a server: it holds the data for a `DataSet`, which it may not open.

An engine serves one question at a time. It is held before a question is paid for, so that no one pays for a place in a queue, and
those who wait are served in turns: first the account that holds the fewest engines, then whoever came first. So an account that
asks slow questions, however many, delays each question of another one by at most one of its own. An engine that is late, says
something else, or is gone is dropped: with its connection it ends, and the supervisor starts another. Its words are never believed
beyond their form; released numbers are taken only behind the fingerprint of the quote that was paid for.
"""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from threading import Condition, Thread, local
from typing import Any

from tacit.data.store import StoreInfo
from tacit.errors import InvalidValue, StoreUnusable
from tacit.privacy.catalog import Catalog
from tacit.query.engines import EMBEDDED
from tacit.query.engines.engine import Limits, out_of_limits
from tacit.query.intervals.bands import Noisy
from tacit.query.price.quote import Quote
from tacit.query.price.work import rung_of
from tacit.query.question import Question
from tacit.release.elsewhere.facts import Cluster, HeldFacts, description_in, unusable
from tacit.release.elsewhere.frames import ASK, FAILED, GRACE, START, TOLD, UNUSABLE, Form, Line, read, written
from tacit.release.elsewhere.packed import Sent, released_by
from tacit.release.elsewhere.quotes import fingerprint_of, pricing_of, request_written
from tacit.release.elsewhere.stays import STAY, Stay
from tacit.release.noisy import Paid

PATIENCE = 60.0  # seconds that a question waits for an engine, before it is paid for
REACH = 75.0  # seconds in which an engine says that its cluster answers; above those that it gives the cluster
TRIES = 3  # engines that were gone before they were asked


# --- whose turn it is --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Caller:
    """The thread that asks for an engine, as its door knows it.

    `account` is the one that it works for. `waits` is called before it waits, and `away` is entered around questions that are not
    paid for: a door that shares its own threads gives this one's place to others. `ended` counts an engine that ended over one.
    """

    account: Callable[[], str] = lambda: ""
    waits: Callable[[], None] = lambda: None
    away: Callable[[], AbstractContextManager[Any]] = nullcontext
    ended: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """One who waits."""

    account: str
    number: int


@dataclass(slots=True)
class Turns:
    """Who waits for an engine, and how many each account holds. Its user has a lock."""

    _waiting: list[Turn] = field(default_factory=list)
    _held: Counter[str] = field(default_factory=Counter)
    _numbers: count[int] = field(default_factory=count)

    def join(self, account: str) -> Turn:
        """Wait, for an account."""
        turn = Turn(account, next(self._numbers))
        self._waiting.append(turn)
        return turn

    def leave(self, turn: Turn) -> None:
        """Wait no longer."""
        self._waiting.remove(turn)

    def is_next(self, turn: Turn) -> bool:
        """Whether the next engine is for this one."""
        return turn is min(self._waiting, key=lambda each: (self._held[each.account], each.number))

    def took(self, account: str) -> None:
        """An account holds one more."""
        self._held[account] += 1

    def gave(self, account: str) -> None:
        """An account holds one less."""
        self._held[account] -= 1
        if not self._held[account]:
            del self._held[account]


# --- the engines -------------------------------------------------------------------------------------------------------------


class Pool:
    """All engines. `changed` is called when one has opened another version of the data than the first did.

    `reached` is called when one can read the data after another could not. Until then it is the same error that says why.
    """

    def __init__(
        self,
        changed: Callable[[], None],
        limits: Limits | None = None,
        reached: Callable[[], None] = lambda: None,
        caller: Caller | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self.limits, self._changed, self._reached = limits or Limits(), changed, reached
        self.caller, self.cluster = caller or Caller(), cluster or Cluster()
        self.seconds = self.limits.seconds
        self._idle: list[Line] = []
        self._lines: set[Line] = set()
        self._info: StoreInfo | None = None
        self._unusable: StoreUnusable | None = None
        self._turns, self._news = Turns(), Condition()
        self.places: int | None = None  # engines that can be held at once, whatever becomes of them; None where the clock is shown
        self._given = 0  # engines that are held

    def limit(self, seconds: int) -> None:
        """Let a question take at most `seconds` from now on."""
        self.seconds = float(seconds)

    def add(self, line: socket.socket) -> None:
        """Take up an engine, as soon as it has opened its store."""
        Thread(target=self._open_line, args=(Line(line),), daemon=True).start()

    def _open_line(self, line: Line) -> None:
        try:
            kind, content = line.ask({"ask": "open"}, TOLD + UNUSABLE + FAILED, START)
            if kind != TOLD:
                raise unusable(content if kind == UNUSABLE else b"")
            line.info, line.pricing = description_in(content)
        except (OSError, StoreUnusable) as error:
            line.socket.close()
            if isinstance(error, StoreUnusable):
                self.away(error)
            return
        self.note_reached()
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

    def note_reached(self) -> None:
        """Note that the data can be read."""
        with self._news:
            before, self._unusable = self._unusable, None
        if before is not None:
            self._reached()

    def take(self, pricing: str | None, seconds: float) -> Line:
        """An idle engine that derives prices from this catalog (None: from any), in turn; raises `TimeoutError`.

        It is for the caller alone until `put` or `drop`.
        """
        self.caller.waits()
        deadline = time.monotonic() + seconds
        with self._news:
            turn = self._turns.join(self.caller.account())
            try:
                while True:
                    while self._idle and self._turns.is_next(turn) and self._has_place():
                        line = self._idle.pop(0)
                        if line.lives() and pricing in (None, line.pricing):
                            line.holder = turn.account
                            self._turns.took(turn.account)
                            self._given += 1
                            return line
                        self._drop(line)
                    if not self._news.wait(deadline - time.monotonic()):
                        raise TimeoutError("no engine in time")
            finally:
                self._turns.leave(turn)
                self._news.notify_all()  # another one is next now

    def holds(self, line: Line) -> bool:
        """Whether an engine was not dropped."""
        with self._news:
            return line in self._lines

    def put(self, line: Line) -> None:
        """Give an engine back."""
        with self._news:
            self._let_go(line)
            self._idle.append(line)
            self._news.notify_all()

    def _has_place(self) -> bool:
        """Whether another engine may be given: one that ended keeps its place until the reply leaves for which it was held."""
        return self.places is None or self._given < self.places

    def enter(self, stay: Stay, line: Line, seconds: float) -> None:
        """Begin a stay at an engine that was taken: its place is another's when it ends, and no earlier."""
        line.stays, stay.release = True, self._leave
        stay.grant(line, seconds)

    def _leave(self, stay: Stay) -> None:
        """End a stay."""
        with self._news:
            line, stay.line = stay.line, None
            if line is None:
                return
            line.stays = False
            if line in self._lines:
                self._let_go(line)
                self._idle.append(line)
            else:
                self._given -= 1
            self._news.notify_all()

    def drop(self, line: Line) -> None:
        """End an engine, by closing its connection."""
        with self._news:
            self._drop(line)

    def _let_go(self, line: Line) -> None:
        if line.holder is not None:
            self._turns.gave(line.holder)
            line.holder = None
            self._given -= not line.stays

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
        self.caller.waits()
        deadline = time.monotonic() + PATIENCE / 2
        with self._news:
            while True:
                for line in [line for line in self._idle if not line.lives() or line.pricing != pricing]:
                    self._idle.remove(line)
                    self._drop(line)
                if self._lines:
                    return
                if self._unusable or not self._news.wait(deadline - time.monotonic()):  # the last one to start had no data
                    raise (self._unusable or unusable(b"")).with_traceback(None)

    def info(self) -> StoreInfo | None:
        """The description of the store, from the first engine that opened it."""
        with self._news:
            if not self._news.wait_for(lambda: self._info or self._unusable, START):
                raise unusable(b"")
            if self._info is None and self._unusable is not None:
                raise self._unusable.with_traceback(None)
            return self._info

    def facts(self, info: StoreInfo) -> HeldFacts:
        """The facts of the public tables."""
        return HeldFacts(self, info.public)

    def runner(self, catalog: Callable[[], Catalog], version: str) -> PooledRunner:
        """Runs paid questions on whichever engine is idle."""
        return PooledRunner(self, catalog, version)

    def ask_any(self, asked: Mapping[str, Any], form: Form) -> dict[str, Any]:
        """The reply of any engine to a question that is not paid for."""
        with self.caller.away():
            for _ in range(TRIES):
                line = self._any(START)
                try:
                    reply = self.heard(line, asked, form, START)
                except OSError:
                    self.caller.ended()
                    continue
                self.put(line)
                return reply
        raise unusable(b"")

    def heard(self, line: Line, asked: Mapping[str, Any], form: Form, seconds: float) -> dict[str, Any]:
        """The reply of an engine that is held; it is dropped if it has none: `OSError` if it says nothing in time."""
        try:
            kind, content = line.ask(asked, TOLD + UNUSABLE + FAILED, seconds)
            if kind == TOLD:
                return read(content, form)
        except OSError:
            self.drop(line)
            raise
        self.drop(line)
        if kind == FAILED and asked["ask"] != "reach":  # after which it ends; what a cluster fails at is no request's fault
            self.caller.ended()
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

    def open(self, *questions: Question) -> None:
        """Hold an engine that prices by the same catalog, before anything is paid for; raises where none is free in time.

        Where the clock is hidden, it is held for the rungs of the questions together.
        """
        stay = STAY.get()
        if stay is not None and stay.line is not None:
            if self.pool.holds(stay.line):
                return
            stay.leave()  # its engine has ended, and the statement goes on with another
        self.free()
        for _ in range(TRIES):
            self.pool.ready(self._price_hash())
            try:
                line = self.pool.take(self._price_hash(), PATIENCE)
            except TimeoutError:
                raise StoreUnusable("all engines are busy", remedy="ask again later, or start more engines") from None
            if self._reaches(line):
                if stay is None:
                    self._mine.line = line
                else:
                    self.pool.enter(stay, line, sum(self._rung(each) for each in questions))
                return
        raise unusable(b"")

    def _reaches(self, line: Line) -> bool:
        """Whether the engine can read its data; raises where its cluster does not answer. An open file needs no question."""
        if self.catalog().store_engine == EMBEDDED:
            return True
        try:
            self.pool.heard(line, {"ask": "reach"}, {}, REACH)
        except TimeoutError:
            raise self.pool.away(self.pool.cluster.away()) from None
        except StoreUnusable as error:
            raise self.pool.away(error) from None
        except OSError:  # it had ended, and so says nothing about the cluster
            return False
        self.pool.note_reached()
        return True

    def free(self) -> None:
        """Give back an engine that was held for nothing: the question was refused, or answered before."""
        if (line := self._held_line()) is not None:
            self.pool.put(line)

    def _held_line(self) -> Line | None:
        line: Line | None = self._mine.__dict__.pop("line", None)
        return line

    def noisy(self, quote: Quote, paid: Paid | None = None) -> Noisy:
        """The released numbers of a paid question; raises `TimedOut`."""
        if paid is None:
            raise out_of_limits()
        fingerprint = fingerprint_of(quote, self.version)
        asked = {"ask": "run", "text": paid.text, "request": request_written(quote.request), "entry": paid.entry}
        asked |= {"fingerprint": fingerprint, "seconds": self.pool.seconds, "horizon": paid.horizon}
        sent = Sent(ASK, written(asked), fingerprint, reason=self.pool.cluster.reason)
        stay, limits = STAY.get(), replace(self.pool.limits, seconds=self.pool.seconds)
        if stay is not None:
            stay.pay(paid.entry)
        line = self._line_to_use()
        if stay is not None:
            line.waits = partial(stay.collect, rung=self._rung(quote.question), patience=limits.together + GRACE)
        try:
            noisy = released_by(line, sent, quote, limits.together + GRACE)
        except (OSError, InvalidValue, MemoryError) as error:
            self.pool.drop(line)
            raise out_of_limits(self.pool.cluster.silence if isinstance(error, TimeoutError) else "") from None
        except BaseException:
            self.pool.drop(line)
            raise
        finally:
            line.waits = None
        if stay is None:
            self.pool.put(line)
        return noisy

    def _rung(self, question: Question) -> float:
        return rung_of(question, self.catalog()) / 1000

    def _line_to_use(self) -> Line:
        """The engine that is held; another one if it has ended since."""
        stay = STAY.get()
        if stay is not None and stay.line is not None:
            return stay.line  # one that has ended is found out when its reply is looked for
        if (line := self._held_line()) is not None:
            if line.lives():
                return line
            self.pool.drop(line)
        try:
            return self.pool.take(self._price_hash(), PATIENCE)
        except TimeoutError:
            raise out_of_limits() from None

    def _price_hash(self) -> str:
        now = self.catalog()
        if self._priced[0] is not now:
            self._priced = (now, pricing_of(now))
        return self._priced[1]

    def close(self) -> None:
        """The engines belong to the pool."""
