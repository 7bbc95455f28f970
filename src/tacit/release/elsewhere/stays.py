"""The stay of a question at an engine, where a server hides its clock: public times alone, from the grant of the engine on.

    granted     the engine is held, before anything is paid for; later times follow from here and from rungs (query/price/work.py)
    collected   three quarters of a rung later the clerk looks whether the engine has replied; it reads nothing before
    left        one rung after the grant the reply leaves, and the engine is free for another question

So no reply, failure or end of an engine is noticed before its public time: not by whoever asked, and not by others, who see
engines, entries of the ledger and the work of the clerk. A reply that is not there at its time is looked for, or leaves, when the
stay is twice as long: at the next rung. server.md has the argument.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tacit.query.price.work import HIGHEST

if TYPE_CHECKING:
    from tacit.release.elsewhere.frames import Line

COLLECTED = 0.75  # of a rung, after which the numbers are read; the rest of it is for the answer that is made of them
LONGEST = HIGHEST / 1000  # seconds of the last rung; beyond it every further one is as long


@dataclass(slots=True)
class Stay:
    """One call of a door, and its stay at an engine, if it has one. The thread that works on the call fills it in.

    `clock` and `sleep` are those of the machine. `is_paid` is set once something was paid for; `missed` counts the rungs at which
    something was not there. `record` notes a late reply in the ledger. `first` is the stay whose reply must leave before this one.
    """

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    line: Line | None = None
    granted: float | None = None
    length: float = 0.0  # seconds of the whole stay
    begun: float = 0.0  # when the present question of a statement begins
    is_paid: bool = False
    missed: int = 0
    record: Callable[[], None] | None = None
    first: Stay | None = None
    is_over: bool = False
    staying: dict[int, Stay] = field(default_factory=dict)  # by the entry that each has paid for, until its reply has left
    release: Callable[[Stay], None] = lambda _: None

    def grant(self, line: Line, seconds: float) -> None:
        """Begin a stay of a number of seconds; after an engine that ended, the same stay goes on with another."""
        self.line = line
        if self.granted is None:
            self.granted = self.begun = self.clock()
            self.length = seconds

    def pay(self, entry: int) -> None:
        """Note what was paid for: no repetition of it leaves before the reply of this stay."""
        self.is_paid, self.staying[entry] = True, self

    def collect(self, line: socket.socket, rung: float, patience: float) -> bool:
        """Wait until a reply is there at a public time; False if none is after `patience` seconds. Nothing of it is read."""
        span = rung
        while True:
            self.sleep(max(0.0, self.begun + COLLECTED * span - self.clock()))
            if is_readable(line):
                break
            if COLLECTED * span >= patience:
                break
            longer = next_span(span)
            self.missed, self.length, span = self.missed + 1, self.length + longer - span, longer
        self.begun += span
        return is_readable(line)

    def settle(self) -> float | None:
        """The moment at which the reply leaves; None for a reply that leaves on the next tick. A late one is recorded."""
        if self.granted is None or not self.is_paid:
            return None
        self._lengthen()  # what was not made in its time leaves at the next rung
        record, self.record = self.record, None
        if self.missed and record is not None:
            record()
            self._lengthen()
        return self.granted + self.length

    def _lengthen(self) -> None:
        while self.granted is not None and self.clock() > self.granted + self.length:
            self.missed, self.length = self.missed + 1, next_span(self.length)

    def leave(self) -> None:
        """Give the engine back."""
        self.release(self)

    def end(self) -> None:
        """The reply has left: what it paid for may be repeated, and the engine is free."""
        self.is_over = True
        for entry in [entry for entry, stay in list(self.staying.items()) if stay is self]:
            self.staying.pop(entry, None)
        self.leave()


def next_span(span: float) -> float:
    """The next rung: twice as long, up to the last of the ladder.

    >>> next_span(0.1), next_span(LONGEST)
    (0.2, 204.8)
    """
    return span + min(span, LONGEST)


def is_readable(line: socket.socket) -> bool:
    """Whether something has arrived, or the other end is closed."""
    try:
        return bool(select.select([line], [], [], 0)[0])
    except (OSError, ValueError):
        return True


STAY: ContextVar[Stay | None] = ContextVar("the stay of the call of this thread; None where the clock is shown", default=None)
