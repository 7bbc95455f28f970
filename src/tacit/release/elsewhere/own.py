"""A process of one's own for paid questions: the command line's and Python's, started when it is needed and ended when time is up.

Engine and noise run together there, and only released numbers come back. A query that takes too long is ended with its process,
even if the engine does not respond (inside one cell) and in the steps after the engine; memory is limited in the same way. Any
failure after a query is paid for is one error, `TimedOut`, with the same message.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import asdict
from typing import Any

from tacit.errors import InvalidValue, StoreUnusable
from tacit.query.engines.engine import Opening, out_of_limits
from tacit.query.intervals.bands import Noisy
from tacit.query.price.quote import Quote
from tacit.query.question import Question
from tacit.release.elsewhere.frames import FAILED, GRACE, OWN_NUMBERS, QUOTE, START, TOLD, UNUSABLE, Line
from tacit.release.elsewhere.packed import Sent, released_by
from tacit.release.elsewhere.processes import Child, start_process
from tacit.release.elsewhere.quotes import fingerprint_of_message, quote_written
from tacit.release.noisy import Paid


class OwnProcess:
    """Runs queries in a separate process, which is reused; it is ended when time is up, and started again."""

    def __init__(self, opening: Opening) -> None:
        self.opening, self.limits = opening, opening.limits
        self._child: Child | None = None
        self._line: Line | None = None
        self._opened = False
        self._forget: Any = None
        self._lock = threading.RLock()

    def start(self) -> None:
        with self._lock:
            if self._child is None or not self._child.lives():
                self.close()
                self._child = start_process()
                self._line = Line(self._child.line)
                self._forget = weakref.finalize(self, self._child.end)

    def open(self, *_: Question) -> None:
        """Open the store there, or confirm that it is still open: an unresponsive process is replaced before any payment."""
        with self._lock:
            if self._opened:
                self._opened = self._reply_to({"ask": "ping"})[0] == TOLD
            self.start()
            if not self._opened:
                place, version = str(self.opening.place), self.opening.version
                kind, said = self._reply_to({"ask": "open", "place": place, "version": version, **asdict(self.limits)})
                if kind != TOLD:
                    self.close()
                    raise _unusable(kind, said)
                self._opened = True

    def noisy(self, quote: Quote, paid: Paid | None = None) -> Noisy:
        with self._lock:
            if not self._opened or self._line is None:
                raise out_of_limits()
            try:
                content = quote_written(quote)
                sent = Sent(QUOTE, content, fingerprint_of_message(content), OWN_NUMBERS)
                return released_by(self._line, sent, quote, self.limits.together + GRACE)
            except (OSError, InvalidValue, MemoryError):
                self.close()
                raise out_of_limits() from None
            except BaseException:  # a failure, after which its state may be unfit for another query; or Ctrl-C
                self.close()
                raise

    def free(self) -> None:
        """There is nothing to give back."""

    def close(self) -> None:
        with self._lock:
            if self._forget is not None:
                self._forget()
            self._child, self._line, self._opened, self._forget = None, None, False, None

    def _reply_to(self, asked: dict[str, Any]) -> tuple[bytes, bytes]:
        """The reply to a message before any payment; if none arrives in time, the process is ended and the reply is empty."""
        assert self._line is not None  # noqa: S101  # the caller has started it
        try:
            return self._line.ask(asked, TOLD + UNUSABLE + FAILED, START)
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
