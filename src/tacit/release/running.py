"""Where a query runs: in a process of its own, which can be ended, or in this one.

Engine and noise run together, and only released numbers come back. A query that takes too long is ended with its process, even if
the engine does not respond (inside one cell) and in the steps after the engine; memory is limited in the same way. Any failure
after a query is paid for is one error, `TimedOut`, with the same message.
"""

from __future__ import annotations

import pickle
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from tacit.data.store import StoreInfo
from tacit.errors import InvalidValue, StoreUnusable
from tacit.privacy.catalog import Catalog
from tacit.query.engines.engine import Engine, Opening, out_of_limits
from tacit.query.intervals.bands import Noisy
from tacit.query.price.price import Quote
from tacit.release.frames import ASKED, GRACE, OPENED, RELEASED, UNUSABLE, receive, send
from tacit.release.noisy import Observer, ran, released
from tacit.release.packed import unpacked
from tacit.release.processes import Child, started

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.query.free import Facts

START = 120.0  # seconds for a process to start and to open a store; no row is read in that time


@dataclass(frozen=True, slots=True)
class Paid:
    """What was paid for: the question as the ledger records it, and the number of its entry."""

    text: str
    entry: int


class Runner(Protocol):
    """Runs paid queries on one version of a store."""

    def start(self) -> None:
        """Start without waiting; reads nothing."""

    def open(self) -> None:
        """Open the store before anything is paid for; reads no row. What is held for this query is held until `free`."""

    def noisy(self, quote: Quote, paid: Paid | None = None) -> Noisy:
        """The released numbers of a paid query; raises `TimedOut`. One that asks other processes tells them what was paid."""

    def free(self) -> None:
        """Nothing is held for this query any more."""

    def close(self) -> None:
        """Close the store."""


class Holder(Protocol):
    """Prepared data that other processes hold: this one may not open the store."""

    def info(self) -> StoreInfo | None:
        """The store's description of itself; None if there is no store."""

    def facts(self, info: StoreInfo) -> Facts:
        """What is known of its public tables."""

    def runner(self, catalog: Callable[[], Catalog], version: str) -> Runner:
        """Runs paid queries on one version of it, as the catalog says at that time."""


class InProcess:
    """Runs queries in this process, under the engine's own limits of time and memory. `observers` see every release."""

    def __init__(self, engine: Engine, observers: Sequence[Observer] = ()) -> None:
        self.engine, self.observers = engine, observers

    def start(self) -> None:
        """There is nothing to start."""

    def open(self) -> None:
        self.engine.open()

    def noisy(self, quote: Quote, paid: Paid | None = None) -> Noisy:
        exact = ran(quote, self.engine.run)
        try:
            return released(quote, exact, self.observers)
        except (MemoryError, RecursionError):
            raise out_of_limits() from None

    def free(self) -> None:
        """There is nothing to give back."""

    def close(self) -> None:
        self.engine.close()


class OwnProcess:
    """Runs queries in a separate process, which is reused; it is ended when time is up, and started again."""

    def __init__(self, opening: Opening) -> None:
        self.opening, self.limits = opening, opening.limits
        self._child: Child | None = None
        self._opened = False
        self._forget: Any = None
        self._lock = threading.RLock()

    def start(self) -> None:
        with self._lock:
            if self._child is None or not self._child.lives():
                self.close()
                self._child = started()
                self._forget = weakref.finalize(self, self._child.end)

    def open(self) -> None:
        """Open the store there, or confirm that it is still open: an unresponsive process is replaced before any payment."""
        with self._lock:
            if self._opened:
                self._opened = self._asked(("ping",), START)[0] == OPENED
            self.start()
            if not self._opened:
                kind, said = self._asked(("open", replace(self.opening, limits=self.limits)), START)
                if kind != OPENED:
                    self.close()
                    raise _unusable(kind, said)
                self._opened = True

    def noisy(self, quote: Quote, paid: Paid | None = None) -> Noisy:
        with self._lock:
            if not self._opened:
                raise out_of_limits()
            kind, numbers = self._asked(("noisy", quote), self.limits.together + GRACE)
            if kind != RELEASED:
                self.close()  # after a failure, its state may be unfit for another query
                raise out_of_limits()
            try:
                return unpacked(quote, numbers)
            except (InvalidValue, MemoryError):
                raise out_of_limits() from None

    def free(self) -> None:
        """There is nothing to give back."""

    def close(self) -> None:
        with self._lock:
            if self._forget is not None:
                self._forget()
            self._child, self._opened, self._forget = None, False, None

    def _asked(self, message: Sequence[Any], seconds: float) -> tuple[bytes, bytes]:
        """The reply to a message; if none arrives in time, the process is ended and the reply is empty."""
        assert self._child is not None  # noqa: S101  # the caller has started it
        deadline = time.monotonic() + seconds
        try:
            send(self._child.line, ASKED, pickle.dumps(message), deadline)
            return receive(self._child.line, deadline)
        except OSError:
            self.close()
            return b"", b""
        except BaseException:  # Ctrl-C: the answer is no longer wanted
            self.close()
            raise


def _unusable(kind: bytes, said: bytes) -> StoreUnusable:
    if kind == UNUSABLE:
        message, _, remedy = said.decode().partition("\n")
        return StoreUnusable(message, remedy=remedy)
    return StoreUnusable("the process that answers could not open the prepared store", remedy="try again, or run: tacit prepare")
