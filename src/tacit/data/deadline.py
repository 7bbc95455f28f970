"""A limit of time for work that another thread can stop, on every engine: late stops never reach the work that comes next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def stopped_after(seconds: float | None, stop: Callable[[], object], again: float = 0.05) -> Iterator[threading.Event]:
    """Calls `stop` after some seconds, and again and again until the work ends: a stop between two statements is lost.

    It yields an event that is set from the first stop on, for work that a stop does not reach.

    When this returns, no stop is under way and none will follow. Otherwise one that came as the work ended would stop the next
    question on the same connection, which has been paid for. So the end of the work waits for a stop that has begun.
    """
    done, late, stopping = threading.Event(), threading.Event(), threading.Lock()

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            with stopping, suppress(Exception):
                if not done.is_set():
                    late.set()
                    stop()
            wait = again

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield late
    finally:
        done.set()  # first: whoever is interrupted while waiting leaves nothing running
        with stopping:
            pass
