"""Figures about a running server, for those who run it: OpenMetrics on a Unix socket, and one JSON line a minute in a log.

    counted     by the clerk: a call when it arrives, a reply when it leaves
    a minute    on each full minute the ledger's last entry is read, and a copy is made; it is shown until the next one
    shown       by the supervisor, which holds the socket: the latest copy to whoever connects, whatever they send

Operations and codes are those of closed lists, accounts are not named, and no question, answer or row has a part in a figure. A
reply counts when it leaves, so that figures tell no more of the moment than the reply itself has told. The time of the ledger is
that of a look of the clerk's own, which belongs to no request.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacit.doors.server.calls import Call, Reply
from tacit.errors import TacitError
from tacit.files import append_line

EVERY = 60.0  # seconds between two copies
MOST = 65_536  # bytes of a copy
MEDIA = "application/openmetrics-text; version=1.0.0; charset=utf-8"
LOG = "log/figures.jsonl"
LARGEST_LOG = 1 << 20
PATIENCE = 2.0  # seconds for one who reads the figures
OTHER = "other"


@dataclass(slots=True)
class Figures:
    """The counts of one clerk, from its start. `operations` and `codes` are the closed lists; all else counts as "other"."""

    operations: frozenset[str]
    codes: frozenset[str]
    clock: Callable[[], float] = time.time
    _came: Counter[str] = field(default_factory=Counter)
    _left: Counter[tuple[str, str]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def came(self, call: Call) -> str:
        """Count a call; returns the name of its operation, as it is counted."""
        operation = call.operation if call.operation in self.operations else OTHER
        with self._lock:
            self._came[operation] += 1
        return operation

    def left(self, operation: str, reply: Reply) -> None:
        """Count a reply that has left, by the code of its problem, or as "ok"."""
        code = "ok" if reply.status < 400 else self._code_of(reply)
        with self._lock:
            self._left[operation, code] += 1

    def copy(self, ledger_seconds: float = 0.0) -> dict[str, Any]:
        """The figures at this moment, as plain values; with the time that a look at the ledger took."""
        with self._lock:
            came, left = dict(self._came), dict(self._left)
        answered: Counter[str] = Counter()
        for (operation, _), count in left.items():
            answered[operation] += count
        return {
            "at": datetime.fromtimestamp(self.clock() // EVERY * EVERY, UTC).isoformat(timespec="seconds"),
            "requests": dict(sorted(came.items())),
            "replies": [[operation, code, count] for (operation, code), count in sorted(left.items())],
            "under_way": {operation: count - answered[operation] for operation, count in sorted(came.items())},
            "ledger_seconds": round(ledger_seconds, 6),
        }

    def _code_of(self, reply: Reply) -> str:
        with suppress(ValueError, LookupError, TypeError):
            code = json.loads(reply.body)["error"]["code"]
            return code if code in self.codes else OTHER
        return OTHER


def open_metrics(copy: Mapping[str, Any]) -> str:
    r"""A copy in the text format of OpenMetrics 1.0.

    >>> empty = Figures(frozenset({"ask"}), frozenset()).copy()
    >>> open_metrics(empty).splitlines()[-2:]
    ['tacit_ledger_look_seconds 0.0', '# EOF']
    """
    requests = [(f'{{operation="{name}"}}', count) for name, count in copy["requests"].items()]
    replies = [(f'{{operation="{name}",code="{code}"}}', count) for name, code, count in copy["replies"]]
    under_way = [(f'{{operation="{name}"}}', count) for name, count in copy["under_way"].items()]
    lines = [
        *_family("tacit_requests", "counter", "Requests that arrived.", "_total", requests),
        *_family("tacit_replies", "counter", "Replies that left, by the code of their problem.", "_total", replies),
        *_family("tacit_requests_under_way", "gauge", "Requests whose reply has not left.", "", under_way),
        *_family("tacit_ledger_look_seconds", "gauge", "Time to read the last entry.", "", [("", copy["ledger_seconds"])]),
    ]
    return "\n".join([*lines, "# EOF", ""])


def _family(name: str, kind: str, words: str, ending: str, samples: Iterable[tuple[str, float]]) -> list[str]:
    return [f"# TYPE {name} {kind}", f"# HELP {name} {words}", *(f"{name}{ending}{labels} {value}" for labels, value in samples)]


# --- in the clerk ------------------------------------------------------------------------------------------------------------


def send_each_minute(figures: Figures, look: Callable[[], object], line: socket.socket, folder: Path) -> None:
    """On each full minute, send a copy to the supervisor and add it to the log; one that cannot take it misses it."""
    while True:
        time.sleep(EVERY - figures.clock() % EVERY)
        send_copy(figures, look, line, folder)


def send_copy(figures: Figures, look: Callable[[], object], line: socket.socket, folder: Path) -> None:
    """Measure a look at the ledger, and send and log one copy."""
    began = time.perf_counter()
    with suppress(TacitError):
        look()
    copy = figures.copy(time.perf_counter() - began)
    with suppress(OSError):
        append_line(folder / LOG, json.dumps(copy), LARGEST_LOG)
    text = open_metrics(copy).encode()
    with suppress(OSError):
        if len(text) <= MOST:
            line.send(text, socket.MSG_DONTWAIT)


# --- in the supervisor -------------------------------------------------------------------------------------------------------


def listen_at(place: Path, group: int | None = None) -> socket.socket:
    """A Unix socket for its owner alone, or for a group too; one that a server which has ended left behind is replaced."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(place).st_mode):
            raise FileExistsError(errno.EEXIST, "a file that is not a socket is there")
        place.unlink()
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        line.bind(str(place))
        if group is not None:
            os.chown(place, -1, group)
            place.chmod(0o660)
    except OSError:
        line.close()
        raise
    finally:
        os.umask(before)
    line.listen(8)
    return line


class Shown:
    """The latest copy, for whoever connects. The text is the clerk's, and is passed on as it is."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening, self._text = listening, b"# EOF\n"

    def start(self) -> None:
        """Answer in a thread of its own, one reader at a time."""
        threading.Thread(target=self._answer, name="figures", daemon=True).start()

    def take(self, line: socket.socket) -> None:
        """Take copies from a clerk until it ends; after it the text is empty."""

        def read() -> None:
            with line, suppress(OSError):
                while text := line.recv(MOST):
                    self._text = text
            self._text = b"# EOF\n"

        threading.Thread(target=read, name="figures of a clerk", daemon=True).start()

    def _answer(self) -> None:
        while True:
            try:
                reader, _ = self._listening.accept()
            except OSError:
                return
            with reader, suppress(OSError):
                reader.settimeout(PATIENCE)
                reader.recv(4096)  # whatever is asked for, this is the only reply
                head = f"HTTP/1.0 200 OK\r\nContent-Type: {MEDIA}\r\nContent-Length: {len(self._text)}\r\n\r\n"
                reader.sendall(head.encode() + self._text)
