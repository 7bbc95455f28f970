"""Rates and places per account: however many requests one account sends, free ones too, the others find their places free."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from tacit.doors.server.turns import WORKING

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
    def taken(self, account: str, counts: float = 1.0) -> Iterator[None]:
        """One request of an account, which `counts` as so many; raises `TooManyRequests` if it has no place or no rate left."""
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
