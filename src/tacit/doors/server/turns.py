"""In which order those who wait get an engine: first whoever's account holds the fewest of them, then whoever came first.

So an account that asks slow questions, however many, delays each question of another one by at most one of its own. And how many
threads of the clerk work at a time, engines aside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from threading import Semaphore, local

WORKING: ContextVar[str] = ContextVar("the account whose request this thread works on", default="")


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

    def join(self) -> Turn:
        """Wait, for the account that this thread works for."""
        turn = Turn(WORKING.get(), next(self._numbers))
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


class Seats:
    """How many threads work on calls at a time: more of them would only contend for the interpreter, call by call of the ledger.

    Whoever waits for an engine gives its seat up, so that a slow question keeps nobody from the desk.
    """

    def __init__(self, number: int) -> None:
        self._free, self._mine = Semaphore(number), local()

    @contextmanager
    def seat(self) -> Iterator[None]:
        """A seat, as soon as one is free."""
        self._free.acquire()
        self._mine.held = True
        try:
            yield
        finally:
            self.leave()

    def leave(self) -> None:
        """Give the seat of this thread up, if it has one."""
        if getattr(self._mine, "held", False):
            self._mine.held = False
            self._free.release()
