"""When replies leave: those that were paid for by a timer, at the end of their stay at an engine; all others at once.

The timer holds replies that are written already. So no thread that works waits for a departure, and none is late because others
are at work. The engine of a stay is given back when its reply has left. A repetition of a question that its analyst has paid for
leaves after the reply that it repeats. The front lets all that is not paid for leave on public ticks (leaving.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from threading import Condition, Thread

from tacit.release.elsewhere.stays import Stay

Send = Callable[[], None]


@dataclass(slots=True)
class Departures:
    """Replies that wait for their time: one thread, which sleeps until the next one is due."""

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
