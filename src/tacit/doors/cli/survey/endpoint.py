"""Reports over HTTP into a store: `tacit survey collect --listen`.

The store is in this process, and HTTP in another: a front in a sandbox (`doors/server/reports.py`), which has no file and passes on
the text of each report and nothing of its sender. If the front ends, another is started on the same socket.
"""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from tacit.doors.server.calls import LOST, OF_FRONT, READY, Call, Reply
from tacit.doors.server.clerk import FrontLine
from tacit.doors.server.parts import Part, started
from tacit.doors.server.reports import PAGE, PROBLEMS, REPORT, reply_of
from tacit.doors.server.sandbox.check import CALLS, PATHS, protections
from tacit.doors.server.settings import OfFront
from tacit.errors import InvalidInput
from tacit.publish.local.survey.reports import LARGEST, SAME, Report, Store

BACKLOG = 512
AT_ONCE = 4  # threads that store reports; the store takes one report at a time
FAREWELL = 5.0  # seconds that the front has to end by itself
LOOK = 0.02  # seconds between two looks at a front that is being started
ROLE = "reports"
RESTRICTIONS = {CALLS: "calls", PATHS: "paths"}  # of the front, which does without one that the machine does not have
STATUS = {"malformed": 400, "foreign": 422, "late": 410, "duplicate": 409}


class ReportDesk:
    """Replies to the calls of the front: the page, and the fate of a report. The front is not trusted."""

    def __init__(self, store: Store, page: str = "") -> None:
        self.store, self.page = store, page

    def handle(self, call: Call) -> Reply:
        """The reply to one call; it raises nothing."""
        try:
            if call.operation == PAGE and self.page:
                return Reply(200, self.page.encode("utf-8"), "text/html; charset=utf-8")
            if call.operation != REPORT:
                return PROBLEMS["not_found"]
            text = b64decode(str(call.arguments["text"]), validate=True)
            return PROBLEMS["too_large"] if len(text) > LARGEST else self._take(text)
        except Exception:  # of the store, of its disk, or of a front that sends another thing; a report can be sent again
            return PROBLEMS["unavailable"]

    def _take(self, text: bytes) -> Reply:
        taken = self.store.take(text)
        if isinstance(taken, Report):
            return reply_of(200, "", "counted")
        if not taken.kept and taken.why != SAME:  # of the same report nothing would be lost
            return reply_of(507, taken.reason, f"{taken.why}; it was not kept, because the limit of reports set aside is reached")
        return reply_of(STATUS[taken.reason], taken.reason, taken.why, same=taken.why == SAME)


class Endpoint:
    """A socket that takes reports into a store, with a front that is started by `look` whenever it does not run."""

    def __init__(self, address: tuple[str, int], store: Store, page: str = "", tls: tuple[Path, Path] | None = None) -> None:
        self.desk, self.front, self.was_ready = ReportDesk(store, page), Part(ROLE), False
        held = protections()
        self.missing = [name for name in RESTRICTIONS if not held[name]]
        files = {} if tls is None else {"certificate": str(tls[0]), "key": str(tls[1])}
        self._settings: dict[str, Any] = {"host": address[0], "port": address[1], **files}
        self._workers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="report")
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        both = family is socket.AF_INET6 and socket.has_dualstack_ipv6()
        self.listening = socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=both)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.listening.getsockname()[1])

    def look(self) -> None:
        """Start the front if it does not run, and connect it if it has lost its connection."""
        if self.front.process is not None and not self.front.lives():
            if not self.was_ready:
                raise InvalidInput("reports cannot be received: the process that accepts them ended while it started")
            self.front.ended()
        if self.front.process is None and time.monotonic() >= self.front.due:
            self._start()
        with suppress(OSError):  # nothing was said, or it has just ended
            word = b"" if self.front.control is None else self.front.control.recv(1)
            if word == READY:
                self.front.ready = self.was_ready = True
            elif word == LOST:
                self._connect()

    def wait(self) -> None:
        """Return when reports are accepted; they wait at the socket until then."""
        while not self.front.ready:
            self.look()
            time.sleep(LOOK)

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        at = self.listening.fileno()
        with theirs:
            given = OfFront(theirs.fileno(), at, self._settings, left_out=tuple(RESTRICTIONS[name] for name in self.missing))
            self.front.process, self.front.since = started(ROLE, given, (theirs.fileno(), at)), time.monotonic()
        ours.setblocking(False)
        self.front.control = ours
        self._connect()

    def _connect(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            assert self.front.control is not None  # noqa: S101  # it was started
            with suppress(OSError):  # it has just ended, which the next look finds; the thread then reads the end
                socket.send_fds(self.front.control, [OF_FRONT], [theirs.fileno()])
        threading.Thread(target=self._answer, args=(ours,), daemon=True).start()

    def _answer(self, line: socket.socket) -> None:
        """Reply to the calls of a front until it is gone."""
        with line:
            FrontLine(line, self.desk, self._workers).listen()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *_: object) -> None:
        """End the front when it has sent its replies, then wait for reports that are being stored."""
        self.listening.close()
        if self.front.process is not None:
            self.front.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.front.process.wait(FAREWELL)
        self.front.end()
        self._workers.shutdown()
