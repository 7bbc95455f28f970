"""How accounts share the clerk: their rates and places, and the threads that work (`Seats`).

However many requests one account sends, free ones too, the others find their places free. Their turns at engines are in
release/elsewhere/pool.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from math import inf
from threading import Event, Lock, local

from tacit.query.question import pausing

# --- rates and places --------------------------------------------------------------------------------------------------------


RATE, BURST = 20.0, 60.0  # requests a second of one account, and how many it may save up
PLACES = 4  # requests of one account that are worked on at once
MOST_REMEMBERED = 10_000  # accounts


class TooManyRequests(Exception):
    """An account beyond its rate or its places."""


@dataclass(slots=True)
class _Use:
    saved: float
    at: float
    busy: int = 0


@dataclass(slots=True)
class Places:
    """Who is being served, and how many requests each account may still send. The clock is one that does not jump."""

    rate: float = RATE
    burst: float = BURST
    places: int = PLACES
    clock: Callable[[], float] = time.monotonic
    _uses: dict[str, _Use] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def take(self, account: str, counts: float = 1.0) -> Iterator[None]:
        """One request of an account, which `counts` against its rate; raises `TooManyRequests` without a place or rate left."""
        with self._lock:
            use = self._use(account)
            if use.saved < counts or use.busy >= self.places:
                raise TooManyRequests
            use.saved -= counts
            use.busy += 1
        working = WORKING.set(account)
        try:
            yield
        finally:
            WORKING.reset(working)
            with self._lock:
                use.busy -= 1

    def _use(self, account: str) -> _Use:
        now = self.clock()
        use = self._uses.setdefault(account, _Use(self.burst, now))
        use.saved, use.at = min(self.burst, use.saved + self.rate * max(0.0, now - use.at)), now
        if len(self._uses) > MOST_REMEMBERED:
            self._uses = {
                name: each for name, each in self._uses.items() if each.busy or name == account or each.saved < self.burst
            }
        return use


# --- threads that work ------------------------------------------------------------------------------------------------------


MOST_COUNTED = 10_000  # accounts
Around = Callable[[], AbstractContextManager[None]]
WORKING: ContextVar[str] = ContextVar("the account whose request this thread works on", default="")


HALF_LIFE = 5.0  # seconds after which what an account has used counts half
SLICE = 0.01  # seconds more than another account has used, from which on it is the other's turn


@dataclass(slots=True)
class _Waiting:
    """One who waits for a seat."""

    account: str
    number: int
    given: Event = field(default_factory=Event)


class Seats:
    """How many threads work on calls at a time: more of them would only contend for the interpreter, call by call of the ledger.

    A seat goes to the account that has used the least time lately, then to whoever came first. Long work pauses now and then
    (`query/question.py`), and gives its seat to an account that has used less. So whatever others ask, and however much, an account
    that asks little waits for one step of theirs. Whoever waits for an engine gives its seat up, so that a slow question keeps
    no other from the desk. `elsewhere` is entered while a thread pauses, and others have its seat.
    """

    def __init__(self, number: int, clock: Callable[[], float] = time.monotonic, elsewhere: Around = nullcontext) -> None:
        self._free, self._clock, self._lock, self._mine, self._elsewhere = number, clock, Lock(), local(), elsewhere
        self._waiting, self._numbers = list[_Waiting](), count()
        self._used: dict[str, tuple[float, float]] = {}  # by account: seconds, as they counted at a moment

    @contextmanager
    def seat(self) -> Iterator[None]:
        """A seat, when it is this account's turn."""
        self._take()
        try:
            with pausing(self.pause):
                yield
        finally:
            self.leave()

    def pause(self) -> None:
        """Let an account go first that has used less than this one, if it waits."""
        if not self._waiting or getattr(self._mine, "since", None) is None:
            return
        with self._lock:
            self._count()
            least = min((self._seconds(each.account) for each in self._waiting), default=inf)
            if least + SLICE > self._seconds(WORKING.get()):
                return
        with self._elsewhere(), self.away():
            pass

    @contextmanager
    def away(self) -> Iterator[None]:
        """Give the seat of this thread up, and take one again after it; nothing if it has none."""
        seated = getattr(self._mine, "since", None) is not None
        self.leave()
        try:
            yield
        finally:
            if seated:
                self._take()

    def leave(self) -> None:
        """Give the seat of this thread up, if it has one."""
        if getattr(self._mine, "since", None) is None:
            return
        with self._lock:
            self._count()
            self._mine.since = None
            if (chosen := self._next()) is None:
                self._free += 1
            else:
                self._waiting.remove(chosen)
                chosen.given.set()

    def _take(self) -> None:
        with self._lock:
            mine = None if self._free else _Waiting(WORKING.get(), next(self._numbers))
            if mine is None:
                self._free -= 1
            else:
                self._waiting.append(mine)
        if mine is not None:
            mine.given.wait()
        self._mine.since = self._clock()

    def _next(self) -> _Waiting | None:
        """Whose turn it is."""
        return min(self._waiting, key=lambda each: (self._seconds(each.account), each.number), default=None)

    def _count(self) -> None:
        """Count what this thread has used of its seat."""
        now, account = self._clock(), WORKING.get()
        self._used[account] = self._seconds(account) + now - self._mine.since, now
        self._mine.since = now
        if len(self._used) > MOST_COUNTED:
            self._used = {name: kept for name, kept in self._used.items() if self._seconds(name) > SLICE / 10}

    def _seconds(self, account: str) -> float:
        """The seconds that an account has used lately."""
        seconds, at = self._used.get(account, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self._clock() - at) / HALF_LIFE))
