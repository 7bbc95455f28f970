"""The answering process: it opens a store, runs plans on it, adds the noise, and returns only what is released.

Exact numbers never leave it. `running.py` starts it with one end of a pair of sockets and nothing else: no input, no output,
nowhere to print. Any failure in it reaches the caller as one byte. It ends when the other end is closed, and the operating system
ends a query that outlives its time.
"""

from __future__ import annotations

import gc
import os
import pickle
import queue
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from tacit.release.frames import FAILED, GRACE, OPENED, RELEASED, UNUSABLE, receive, send

ROOM = 2**30  # bytes of the process in addition to the engine's


class Worker:
    """One store, once it is opened, and the queries on it."""

    def __init__(self) -> None:
        self.engine: Any = None
        self.seconds = 0.0

    def handle(self, message: bytes) -> tuple[bytes, bytes]:
        """The reply: a kind, and its content."""
        name, *given = pickle.loads(message)  # noqa: S301  # from the process that started this one
        replies: dict[str, Callable[..., tuple[bytes, bytes]]] = {"open": self.open, "ping": self.ping, "noisy": self.noisy}
        return replies[name](*given)

    def open(self, opening: Any) -> tuple[bytes, bytes]:
        """Open a store of one version; any problem with it is public, so its message is returned."""
        from tacit.errors import StoreUnusable
        from tacit.query.engines import engine_at

        try:
            self.engine, self.seconds = engine_at(opening), opening.limits.together
            self.engine.open()
            limit_memory(opening.limits.memory)
        except StoreUnusable as error:
            return UNUSABLE, f"{error.message}\n{error.remedy}".encode()
        except Exception:  # the engine's message goes no further
            return FAILED, b""
        return OPENED, b""

    def ping(self) -> tuple[bytes, bytes]:
        """Confirms that the process runs and that its store is open."""
        return (OPENED if self.engine is not None else FAILED), b""

    def noisy(self, quote: Any) -> tuple[bytes, bytes]:
        """The released numbers of a query; a failure gives no reason."""
        from tacit.release.noisy import ran, released
        from tacit.release.packed import packed

        try:
            with ended_after(self.seconds + 2 * GRACE):
                return RELEASED, packed(quote, released(quote, ran(quote, self.engine.run)))
        except Exception:  # one reply for every reason
            return FAILED, b""


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """The operating system ends this process if the work within takes longer, whatever it is doing and whoever is waiting."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def limit_memory(declared: str) -> None:
    """Limit memory to what the engine may use and a third more, also for the steps after the engine."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = process_bytes(declared)
    with suppress(OSError, ValueError):  # a system without such a limit; the engine keeps its own
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def process_bytes(declared: str) -> int:
    """The maximum number of bytes of the process, from the engine's memory: a share of the machine's, or a size.

    >>> process_bytes("30GB") == 40 * 10**9, process_bytes("12MB") == 12 * 10**6 + 2**30
    (True, True)
    """
    units = {
        "%": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 100,
        "KB": 10**3,
        "MB": 10**6,
        "GB": 10**9,
        "TB": 10**12,
    }
    units |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
    number = declared.rstrip("%KMGTiB")
    engine = int(float(number) * units[declared[len(number) :].strip()])
    return max(engine * 4 // 3, engine + ROOM)


def serve(descriptor: int) -> NoReturn:
    """Answer until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    line = socket.socket(fileno=descriptor)
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(line, messages), daemon=True).start()
    _load()
    worker = Worker()
    while True:
        send(line, *worker.handle(messages.get()))
        gc.collect()  # while no one waits for it


def _listen(line: socket.socket, messages: queue.SimpleQueue[bytes]) -> None:
    """Listens even while a query runs: if no one can receive the answer any more, the process ends."""
    try:
        while True:
            messages.put(receive(line)[1])
    except OSError:
        os._exit(0)


def load_shared() -> None:
    """Import what both an answering process and the one that asks it need: code alone, which holds nothing of a data set."""
    import tacit.query.language.sql  # with sqlglot, which Ibis needs too
    import tacit.release.packed  # noqa: F401  # with NumPy, and the engine


def _load() -> None:
    """Loads everything that answering needs in advance, while the parent process does other work."""
    gc.disable()
    load_shared()
    from tacit.query.engines import load

    load()
    gc.freeze()
