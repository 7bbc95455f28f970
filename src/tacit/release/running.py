"""Where a question runs: in a process of its own, which can be ended, or in this one.

Engine and noise run together, and what comes back is released. A question that takes too long is ended with its process, also where
the engine does not listen (inside one cell) and in what comes after the engine; memory is limited in the same way. Whatever
goes wrong once a question is paid for is one error, `TimedOut`, in the same words.
"""

from __future__ import annotations

import pickle
import threading
import time
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from tacit.errors import InvalidValue, StoreUnusable
from tacit.query.engines.engine import Engine, Opening, out_of_limits
from tacit.query.price.price import Quote
from tacit.release.frames import ASKED, GRACE, OPENED, RELEASED, UNUSABLE, receive, send
from tacit.release.noisy import Noisy, Observer, released
from tacit.release.packed import unpacked
from tacit.release.processes import Child, started

if TYPE_CHECKING:
    from collections.abc import Sequence

START = 120.0  # seconds that a process may take to start and to open a store; no row is read in them


class Runner(Protocol):
    """Runs paid questions on one version of a store."""

    def start(self) -> None:
        """Make ready, without waiting; reads nothing."""

    def open(self) -> None:
        """Open the store, before anything is paid for; reads no row."""

    def noisy(self, quote: Quote) -> Noisy:
        """The released numbers of a question that is paid for; or `TimedOut`."""

    def close(self) -> None:
        """Let go of the store."""


class InProcess:
    """Runs questions in this process: limits of time and memory are the engine's own. `observers` see every release."""

    def __init__(self, engine: Engine, observers: Sequence[Observer] = ()) -> None:
        self.engine, self.observers = engine, observers

    def start(self) -> None:
        """There is nothing to start."""

    def open(self) -> None:
        self.engine.open()

    def noisy(self, quote: Quote) -> Noisy:
        try:
            return released(quote, self.engine.run, self.observers)
        except (MemoryError, RecursionError):
            raise out_of_limits() from None

    def close(self) -> None:
        self.engine.close()


class OwnProcess:
    """Runs questions in a process of its own, which is kept for further ones; ended when time is up, and started anew."""

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
        """Open the store there, or hear that it is open still: whoever does not reply is replaced before anything is paid for."""
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

    def noisy(self, quote: Quote) -> Noisy:
        with self._lock:
            if not self._opened:
                raise out_of_limits()
            kind, numbers = self._asked(("noisy", quote), self.limits.seconds + GRACE)
            if kind != RELEASED:
                self.close()  # what failed there may be in no state for another question
                raise out_of_limits()
            try:
                return unpacked(quote, numbers)
            except (InvalidValue, MemoryError):
                raise out_of_limits() from None

    def close(self) -> None:
        with self._lock:
            if self._forget is not None:
                self._forget()
            self._child, self._opened, self._forget = None, False, None

    def _asked(self, message: Sequence[Any], seconds: float) -> tuple[bytes, bytes]:
        """The reply to a message; where none comes in time, the process is ended, and the reply is nothing."""
        assert self._child is not None  # noqa: S101  # the caller has started it
        deadline = time.monotonic() + seconds
        try:
            send(self._child.line, ASKED, pickle.dumps(message), deadline)
            return receive(self._child.line, deadline)
        except OSError:
            self.close()
            return b"", b""
        except BaseException:  # Ctrl-C: nobody waits for the answer any more
            self.close()
            raise


def _unusable(kind: bytes, said: bytes) -> StoreUnusable:
    if kind == UNUSABLE:
        message, _, remedy = said.decode().partition("\n")
        return StoreUnusable(message, remedy=remedy)
    return StoreUnusable("the process that answers could not open the prepared store", remedy="try again, or run: tacit prepare")
