"""A small endpoint that takes reports: `tacit survey collect --listen`.

It answers everybody, also a page that was opened from a file (whose Origin is null): a report is not secret and carries no cookie,
so any page may send one. Bodies, threads and time are bounded, and whoever only holds a place gives way to others. Addresses of
senders are neither kept nor printed.
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tacit.errors import StoreUnusable
from tacit.publish.local.survey.reports import LARGEST, SAME, Report, Store

MOST_AT_ONCE = 64
PATIENCE = 2.0  # seconds that a sender waits for a place before it is sent away
FAIR = 0.25  # seconds that nobody is sent away in: a report that is on its way has arrived by then
HEADERS = 5.0  # seconds until a request has said what it is
SECONDS = 20.0  # for one request from beginning to end
LINGER = 1.0  # seconds without a byte after which an answered connection is closed
LARGEST_UNREAD = 16 * 2**20  # bytes of a request that are read without use, so that its sender gets to read why it was refused
MOST_ASIDE = 256 * 2**20  # bytes of texts set aside, beyond which no more are kept: disks are finite; sound reports still count
OPEN_TO_ALL = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Allow-Private-Network": "true",
    "Access-Control-Max-Age": "600",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
STATUS = {"malformed": 400, "foreign": 422, "late": 410, "duplicate": 409}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A connection that has a place and waits for its sender: since when, and until when it may."""

    since: float
    until: float


class Places:
    """A limited number of simultaneous connections. If all places are taken, the oldest connection without a report gives way."""

    def __init__(self, count: int) -> None:
        self._free = threading.BoundedSemaphore(count)
        self._waiting: dict[socket.socket, Waiting] = {}
        self._changing = threading.Lock()  # of those who wait

    def take(self, connection: socket.socket) -> bool:
        """Whether the connection got a place, within `PATIENCE`."""
        end = time.monotonic() + PATIENCE
        while not self._free.acquire(blocking=False):
            self._cut_oldest()
            if self._free.acquire(timeout=FAIR / 5):
                break
            if time.monotonic() > end:
                return False
        now = time.monotonic()
        with self._changing:
            self._waiting[connection] = Waiting(now, now + HEADERS)
        return True

    def leave(self, connection: socket.socket) -> None:
        """Gives the place back."""
        with self._changing:
            self._waiting.pop(connection, None)
        self._free.release()

    def heard(self, connection: socket.socket) -> None:
        """The request has said what it is, and has the time to send it."""
        with self._changing:
            if connection in self._waiting:
                since = self._waiting[connection].since
                self._waiting[connection] = Waiting(since, since + SECONDS)

    @contextlib.contextmanager
    def at_work(self, connection: socket.socket) -> Iterator[bool]:
        """Keeps the place while a report is written down and answered; false if it was taken away before."""
        with self._changing:
            wait = self._waiting.pop(connection, None)
        try:
            yield wait is not None
        finally:
            with self._changing:
                if wait is not None:  # what is left is to see the sender go: the first to give way
                    self._waiting[connection] = Waiting(-math.inf, wait.until)

    def cut_overdue(self) -> None:
        """Ends the connections that take too long."""
        now = time.monotonic()
        with self._changing:
            for connection in [each for each, wait in self._waiting.items() if wait.until < now]:
                self._cut(connection)

    def _cut_oldest(self) -> None:
        with self._changing:
            oldest = min(self._waiting, key=lambda each: self._waiting[each].since, default=None)
            if oldest is not None and self._waiting[oldest].since <= time.monotonic() - FAIR:
                self._cut(oldest)

    def _cut(self, connection: socket.socket) -> None:
        del self._waiting[connection]
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)  # its thread reads the end, and leaves


class Endpoint(ThreadingHTTPServer):
    """Takes reports into a store; `page`, if there is one, is what a browser gets to see."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], store: Store, page: str = "", most_at_once: int = MOST_AT_ONCE) -> None:
        self.store, self.page, self.places = store, page, Places(most_at_once)
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serves a request if there is a place for it; closes it otherwise."""
        if not self.places.take(request):
            return self.close_request(request)
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started, which would have given the place back
            self.places.leave(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serves a request and gives its place back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.leave(request)

    def service_actions(self) -> None:
        """Called after every request, and twice a second."""
        self.places.cut_overdue()

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection after its answer. Reads what the sender still transmits, or the sender would never see the answer."""
        with contextlib.suppress(OSError):
            request.shutdown(socket.SHUT_WR)
            request.settimeout(LINGER)
            left = LARGEST_UNREAD
            while left > 0 and (part := request.recv(65_536)):
                left -= len(part)
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores a sender that disconnects."""


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint
    server_version, sys_version = "tacit", ""

    def parse_request(self) -> bool:
        known = super().parse_request()
        self.server.places.heard(self.connection)
        return known

    def do_OPTIONS(self) -> None:
        self._answer(204)

    def do_GET(self) -> None:
        if self.server.page and self.path == "/":
            self._answer(200, self.server.page.encode("utf-8"), "text/html; charset=utf-8")
        else:
            self._say(404, "nothing", "send reports by POST")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            return self._say(411, "malformed", "the Content-Length header is missing or invalid")
        if len(length) > 9 or int(length) > LARGEST:
            return self._say(413, "malformed", f"the report is too long: at most {LARGEST:,} bytes are allowed")
        text = self.rfile.read(int(length))
        if len(text) < int(length):
            return self._say(400, "malformed", "the report is incomplete")
        with self.server.places.at_work(self.connection) as has_place:
            return self._take(text) if has_place else None

    def _take(self, text: bytes) -> None:
        try:
            taken = self.server.store.take(text)
        except StoreUnusable:
            return self._say(503, "store", "the report could not be stored; send it again later")
        if isinstance(taken, Report):
            return self._say(200, "", "counted")
        if not taken.kept and taken.why != SAME:  # of the same report nothing would be lost
            return self._say(507, taken.reason, f"{taken.why}; it was not kept, because the limit of reports set aside is reached")
        return self._say(STATUS[taken.reason], taken.reason, taken.why, same=taken.why == SAME)

    def _say(self, status: int, reason: str, message: str, same: bool = False) -> None:
        told = {"message": message} | ({"reason": reason} if reason else {}) | ({"same": True} if same else {})
        self._answer(status, json.dumps(told).encode("utf-8"))

    def _answer(self, status: int, body: bytes = b"", kind: str = "application/json") -> None:
        self.send_response(status)
        headers = OPEN_TO_ALL | ({"Content-Type": kind, "Content-Length": str(len(body))} if body else {})
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  # its name in the class above
        """Nothing: a log of who came when is what this survey does not keep."""
