"""The answering process: it runs paid questions on an open store, adds the noise, and returns only what is released.

Exact numbers never leave it. It has one connection, to the process that asks, and ends with it. A failure is a reply of at most one
byte; after one the process ends, since its state may be unfit for another question. The operating system ends a question that
outlives its time. `serve` is the process of the command line and of Python; an engine of a server (doors/server/engine.py) is the
same with a catalog of its own and a sandbox.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from tacit.release.elsewhere.frames import (
    ASK,
    FAILED,
    GRACE,
    OWN_NUMBERS,
    QUOTE,
    TOLD,
    UNUSABLE,
    Form,
    Frame,
    Malformed,
    read,
    receive,
    send,
    written,
)

ROOM = 2**30  # bytes of the process in addition to the engine's
WHOLE = 32  # questions after which all of memory is looked through for garbage, and not that of the last question alone
LEAVING = 2.0  # seconds to stop the work of a cluster before the process ends
Told = tuple[bytes, bytes]
Value = TypeVar("Value")


class Answers(Protocol):
    """An open store, and the replies to messages about it."""

    def handle(self, kind: bytes, content: bytes) -> Told:
        """The reply to one message; raises `Malformed` for a message of no form that it has."""

    def leave(self) -> None:
        """Stop work that would go on without this process."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The rights that a process gives up: `first` while it has one thread and has opened nothing, `last` when all is open."""

    first: Callable[[], None] = lambda: None
    last: Callable[[], None] = lambda: None


def open_confined(sandbox: Sandbox, opened: Callable[[], Value]) -> Value:
    """The value that `opened` makes in between the two parts of a sandbox; nothing of it is garbage."""
    sandbox.first()
    gc.disable()
    value = opened()
    sandbox.last()
    gc.freeze()
    return value


# --- messages ----------------------------------------------------------------------------------------------------------------


def begin(descriptor: int) -> socket.socket:
    """The connection of a process that has just started; signals have their own meaning in it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return socket.socket(fileno=descriptor)


def answer(line: socket.socket, answers: Answers, kinds: bytes = ASK) -> NoReturn:
    """Answer one message after the other, until the other end is closed or a failure has been told."""
    answer_each(line, answers, listen(line, answers, kinds))


def listen(line: socket.socket, answers: Answers, kinds: bytes) -> queue.SimpleQueue[Frame]:
    """The messages as they arrive, even while a question runs: if no one can receive its answer any more, the process ends."""
    messages: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(line, answers, kinds, messages), daemon=True).start()
    return messages


def _listen(line: socket.socket, answers: Answers, kinds: bytes, messages: queue.SimpleQueue[Frame]) -> None:
    try:
        while True:
            messages.put(receive(line, kinds))
    except OSError:
        leaving = threading.Thread(target=answers.leave, daemon=True)
        leaving.start()
        leaving.join(LEAVING)
        os._exit(0)


def answer_each(line: socket.socket, answers: Answers, messages: queue.SimpleQueue[Frame]) -> NoReturn:
    """Answer what was heard. Anything that is not a message, and a reply that is too long, end the process."""
    answered = count(1)
    while True:
        asked, number, content = messages.get()
        try:
            kind, reply = answers.handle(asked, content)
            send(line, kind, number, reply)
        except OSError:
            os._exit(1)
        if kind in (FAILED, UNUSABLE):
            os._exit(1)
        gc.collect(generation=2 if next(answered) % WHOLE == 0 else 0)  # of the last question, while no one waits for it


def asked_of(content: bytes, forms: Mapping[str, Form]) -> dict[str, Any]:
    """A message of one of these forms, by the name of what it asks."""
    try:
        name = json.loads(content)["ask"]
    except (ValueError, TypeError, LookupError, RecursionError):
        raise Malformed("a message that asks nothing") from None
    if not isinstance(name, str) or name not in forms:
        raise Malformed("a message that asks something else")
    return read(content, forms[name])


def told_unusable(error: Any) -> bytes:
    """Why the data cannot be read, in two lines of tacit's own words."""
    from tacit.errors import StoreUnusable

    message, remedy = (error.message, error.remedy) if isinstance(error, StoreUnusable) else (str(error), "")
    return f"{message}\n{remedy}".encode()[:4096]


# --- limits ------------------------------------------------------------------------------------------------------------------


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


# --- the process of the command line and of Python ---------------------------------------------------------------------------

LIMITS: Form = {"seconds": (int, float), "memory": str, "threads": int, "planning": (int, float)}
OPEN: Form = {"ask": str, "place": str, "version": (str, type(None)), **LIMITS}
FORMS: Mapping[str, Form] = {"open": OPEN, "ping": {"ask": str}}


class Worker:
    """One store of the embedded engine, once it is opened, and the queries on it."""

    def __init__(self) -> None:
        self.engine: Any = None
        self.seconds = 0.0

    def handle(self, kind: bytes, content: bytes) -> Told:
        """The reply to one message."""
        if kind == QUOTE:
            return self.run(content)
        asked = asked_of(content, FORMS)
        return self.open(asked) if asked["ask"] == "open" else self.confirm()

    def leave(self) -> None:
        """The embedded engine ends with its process."""

    def open(self, asked: Mapping[str, Any]) -> Told:
        """Open a store of one version; any problem with it is public, so its message is returned."""
        from tacit.errors import StoreUnusable
        from tacit.query.engines import engine_at
        from tacit.query.engines.engine import Limits, Opening

        limits = Limits(**{name: asked[name] for name in LIMITS})
        opening = Opening(Path(asked["place"]), version=asked["version"], limits=limits)
        try:
            self.engine, self.seconds = engine_at(opening), limits.together
            self.engine.open()
            limit_memory(limits.memory)
        except StoreUnusable as error:
            return UNUSABLE, told_unusable(error)
        except Exception:  # the engine's message goes no further
            return FAILED, b""
        return TOLD, written({})

    def confirm(self) -> Told:
        """Confirms that the process runs; a store that it has opened stays open."""
        return TOLD, written({})

    def run(self, content: bytes) -> Told:
        """The released numbers of a query, behind the fingerprint of its quote; a failure gives no reason."""
        from tacit.release.elsewhere.packed import numbers_of
        from tacit.release.elsewhere.quotes import fingerprint_of_message, quote_read

        try:
            with ended_after(self.seconds + 2 * GRACE):
                return OWN_NUMBERS, numbers_of(quote_read(content), self.engine.run, fingerprint_of_message(content))
        except Exception:  # one reply for every reason
            return FAILED, b""


def serve(descriptor: int) -> NoReturn:
    """Answer until the other end is closed; `processes.py` starts it with one end of a pair of sockets and nothing else."""
    line, worker = begin(descriptor), Worker()
    messages = listen(line, worker, ASK + QUOTE)
    _load()
    answer_each(line, worker, messages)


def load_shared() -> None:
    """Import what both an answering process and the one that asks it need: code alone, which holds nothing of a data set."""
    import tacit.query.language.sql  # with sqlglot, which Ibis needs too
    import tacit.release.elsewhere.packed
    import tacit.release.elsewhere.quotes  # noqa: F401  # with NumPy, and the engine


def _load() -> None:
    """Loads everything that answering needs in advance, while the parent process does other work."""
    gc.disable()
    load_shared()
    from tacit.query.engines import load

    load()
    gc.freeze()
