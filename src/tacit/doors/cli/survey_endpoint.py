"""A small endpoint that takes reports: `tacit survey collect --listen`.

It answers everybody, also a page that was opened from a file (whose Origin is null): a report is no secret and carries no cookie,
so any page may send one. Bodies, threads and time are bounded. Addresses of senders are neither kept nor printed.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tacit.errors import StoreUnusable
from tacit.publish.local.survey.report import LARGEST, SAME, Report
from tacit.publish.local.survey.store import Store

MOST_AT_ONCE = 64
PATIENCE = 2.0  # seconds that a sender waits for a place before it is sent away
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


class Endpoint(ThreadingHTTPServer):
    """Takes reports into a store; `page`, if there is one, is what a browser gets to see."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], store: Store, page: str = "", most_at_once: int = MOST_AT_ONCE) -> None:
        self.store, self.page = store, page
        self._slots = threading.BoundedSemaphore(most_at_once)
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._slots.acquire(timeout=PATIENCE):
            super().process_request(request, client_address)
        else:
            self.close_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        ended = threading.Timer(SECONDS, _cut, [request])
        ended.daemon = True
        ended.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            ended.cancel()
            self._slots.release()

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection after its answer. What the sender still had on the way is read: it would never see the answer else."""
        with contextlib.suppress(OSError):
            request.shutdown(socket.SHUT_WR)
            request.settimeout(LINGER)
            left = LARGEST_UNREAD
            while left > 0 and (part := request.recv(65_536)):
                left -= len(part)
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender that goes away is no event."""


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint
    server_version, sys_version = "tacit", ""

    def do_OPTIONS(self) -> None:
        self._answer(204)

    def do_GET(self) -> None:
        if self.server.page and self.path == "/":
            self._answer(200, self.server.page.encode("utf-8"), "text/html; charset=utf-8")
        else:
            self._say(404, "nothing", "reports are sent here by POST")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            return self._say(411, "malformed", "the length of the report is missing")
        if len(length) > 9 or int(length) > LARGEST:
            return self._say(413, "malformed", f"a report has at most {LARGEST:,} bytes")
        text = self.rfile.read(int(length))
        if len(text) < int(length):
            return self._say(400, "malformed", "the report did not arrive in full")
        try:
            self._take(text)
        except StoreUnusable:
            self._say(503, "store", "the report could not be written down; send it again later")

    def _take(self, text: bytes) -> None:
        taken = self.server.store.take(text)
        if isinstance(taken, Report):
            return self._say(200, "", "counted")
        if not taken.kept and taken.why != SAME:  # of the same report nothing would be lost
            return self._say(507, taken.reason, f"{taken.why}; it was not kept either, since too much was set aside here already")
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


def _cut(request: socket.socket) -> None:
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)
