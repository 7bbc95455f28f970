"""The routes of a survey that takes reports: `tacit survey collect --listen`, behind the gate of the server.

    GET /            the page of the survey
    POST, any path   a report
    OPTIONS          any page may send one

The routes answer every page, also one that was opened from a file (its Origin is null), and under any name of the host: a report is
not secret and carries no cookie. HTTP is read in one way and in time, as of questions (`gate.py`), by a front in a sandbox of its
own: it has no file and no store, and passes each report on to the process that has them. Nothing of a sender is passed on, kept or
printed: no address, no header and no time.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from tacit.doors.server import front_process
from tacit.doors.server.calls import Call, Clerk, Reply
from tacit.doors.server.gate import App, Gate, Message, Receive, Rules, Send, Timely, configured, reply_with
from tacit.doors.server.settings import OfFront, Settings
from tacit.untrusted import for_json

PAGE, REPORT = "page", "report"  # operations of the process that has the store
MOST_REPORT = 65_536  # bytes; the process that has the store checks it too
MOST_HELD = 1_000  # connections, beyond which those that wait give way
FAIR = 0.25  # seconds in which a connection does not give way: a report that is on its way has arrived by then
FAREWELL = 2  # seconds for replies under way when the front is to end
OPEN_TO_ALL = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Allow-Methods", "POST, OPTIONS"),
    ("Access-Control-Allow-Headers", "Content-Type"),
    ("Access-Control-Allow-Private-Network", "true"),
    ("Access-Control-Max-Age", "600"),
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
)


def reply_of(status: int, reason: str, message: str, same: bool = False) -> Reply:
    """A reply in the words that the page shows."""
    content = {"message": message} | ({"reason": reason} if reason else {}) | ({"same": True} if same else {})
    return Reply(status, for_json(content).encode())


PROBLEMS: Mapping[str, Reply] = {
    "bad_request": reply_of(400, "malformed", "the request is not valid HTTP"),
    "not_found": reply_of(404, "nothing", "send reports by POST"),
    "method_not_allowed": reply_of(405, "nothing", "send reports by POST"),
    "length_required": reply_of(411, "malformed", "the Content-Length header is missing or invalid"),
    "too_large": reply_of(413, "malformed", f"the report is too long: at most {MOST_REPORT:,} bytes are allowed"),
    "too_many_requests": reply_of(429, "store", "too many requests at once; send it again later"),
    "unavailable": reply_of(503, "store", "the report could not be stored; send it again later"),
}
RULES = Rules(lambda _: None, PROBLEMS.__getitem__, OPEN_TO_ALL, MOST_REPORT)


def app(clerk: Clerk, settings: Settings) -> App:
    """The routes, behind the gate. Each reply ends its connection, except for that to a body which the gate has not read whole."""

    async def routes(scope: Message, receive: Receive, send: Send) -> None:
        reply = await _reply(clerk, scope, receive)
        if reply is None:
            await send({"type": "http.response.start", "status": 204, "headers": [(b"connection", b"close")]})
            await send({"type": "http.response.body"})
        else:
            await reply_with(replace(reply, headers=(*reply.headers, ("Connection", "close"))), send)

    return Gate(routes, settings, RULES)


async def _reply(clerk: Clerk, scope: Message, receive: Receive) -> Reply | None:
    """The reply to a request by its method; None if all is said by the headers of every reply."""
    match scope["method"]:
        case "OPTIONS":
            return None
        case "POST":
            return await _reply_to_report(clerk, scope, receive)
        case "GET":
            return await clerk.ask(Call(PAGE, "", {})) if scope["path"] == "/" else PROBLEMS["not_found"]
        case _:
            return PROBLEMS["method_not_allowed"]


async def _reply_to_report(clerk: Clerk, scope: Message, receive: Receive) -> Reply:
    body = (await receive())["body"]  # whole, as the gate has read it
    if not any(name.lower() == b"content-length" for name, _ in scope["headers"]):
        return PROBLEMS["length_required"]
    return await clerk.ask(Call(REPORT, "", {"text": b64encode(body).decode()}))


class GivingWay(Timely):
    """One of many connections. Beyond `MOST_HELD`, the one that has waited longest without a whole request gives way.

    So silent connections, however many, block no report. An answered connection goes first, then the oldest. One whose report is
    being stored stays.
    """

    malformed = PROBLEMS["bad_request"]
    every_reply = OPEN_TO_ALL

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.since = -inf

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for the new connection, if there are too many."""
        super().connection_made(transport)
        self.since = self.loop.time()
        if len(self.connections) > MOST_HELD:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """On a connection that has answered, a next request begins."""
        if self.since == -inf:
            self.since = self.loop.time()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """The connection stays until its sender goes, or begins anew."""
        self.since = -inf
        super().on_response_complete()

    @property
    def waits(self) -> bool:
        """Whether it waits for its sender: it is open, and no request on it is being answered."""
        return not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete or self.cycle.more_body)

    def _make_room(self) -> None:
        others = [each for each in self.connections if isinstance(each, GivingWay) and each is not self and each.waits]
        oldest = min(others, key=lambda each: each.since, default=None)
        if oldest is not None and oldest.since <= self.loop.time() - FAIR:
            oldest.transport.abort()


def main(fields: Mapping[str, Any]) -> None:
    """The front of a survey as a process, from the settings that it was started with."""
    own = OfFront(**{**fields, "left_out": tuple(fields["left_out"])})
    given = dict(own.settings or {})
    paths = {name: Path(given[name]) for name in ("certificate", "key") if given.get(name)}
    settings = Settings(**{**given, **paths})
    tls = {"ssl_certfile": str(settings.certificate), "ssl_keyfile": str(settings.key)} if paths else {}
    front_process.main(
        own,
        lambda clerk: configured(app(clerk, settings), GivingWay, loop="asyncio", timeout_graceful_shutdown=FAREWELL, **tls),
        PROBLEMS["unavailable"],
        lambda descriptor: front_process.Listening(descriptor, settings.connections_each),
    )
