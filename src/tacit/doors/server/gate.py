"""The gate before every route: names, origins, sizes and headers, whatever is asked for.

A request for another host gets nothing (DNS rebinding), nor does one from a page of another site, nor a body that is not JSON
(forms). Every reply says that it is not to be stored, framed, sniffed or run.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from tacit.doors.server.calls import Reply
from tacit.doors.server.crowding.crowd import Crowd, forwarded, origin_of
from tacit.doors.server.problems import problem
from tacit.doors.server.settings import Settings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

MOST_BODY = 131_072  # bytes
SAFE = ("GET", "HEAD")
OWN_SITE = ("same-origin", "none")  # of Sec-Fetch-Site: a page of this server, or no page at all
HOST = re.compile(r"([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?")
POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
HEADERS = (
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", POLICY),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
)
FOR_A_YEAR = ("Strict-Transport-Security", "max-age=31536000")


class Gate:
    """An ASGI application in front of another. Nothing that it refuses reaches the other."""

    def __init__(self, inside: App, settings: Settings) -> None:
        self.inside, self.settings = inside, settings
        more = (FOR_A_YEAR,) if settings.scheme == "https" and settings.reached else ()
        self.clients = Crowd(settings.per_address)  # requests under way of clients that a proxy names
        self.proxies = {origin_of(address) for address in settings.forwarded_by}
        self.headers = [(name.lower().encode(), value.encode()) for name, value in (*HEADERS, *more)]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Let one request through, or refuse it."""
        if scope["type"] != "http":
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": [*message.get("headers", ()), *self.headers]}
            await send(message)

        client = self._client(scope)
        if client is not None and not self.clients.enter(client):
            await reply_with(problem("too_many_requests"), sending)
            return
        try:
            refusal = self._refused(scope) or await self._read(scope, receive)
            if isinstance(refusal, Reply):
                await reply_with(refusal, sending)
            else:
                await self.inside(scope, refusal, sending)
        except ConnectionError:  # the client has gone
            return
        except Exception:  # its text may quote the request, so nobody gets it
            if not started:
                await reply_with(problem("unavailable"), sending)
        finally:
            if client is not None:
                self.clients.leave(client)

    def _client(self, scope: Message) -> str | None:
        """Whom a known proxy names; None for a connection of the client's own, which was counted when it was made."""
        peer = scope.get("client")
        known = peer is not None and origin_of(str(peer[0])) in self.proxies
        return forwarded(scope["headers"]) if known else None

    def _refused(self, scope: Message) -> Reply | None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        host, origin, site = (_values(headers, name) for name in (b"host", b"origin", b"sec-fetch-site"))
        if len(host) != 1 or _name(host[0]) not in self.settings.hosts:
            return problem("wrong_host")
        if any(each != f"{self.settings.scheme}://{host[0].lower()}" for each in origin) or any(
            each not in OWN_SITE for each in site
        ):
            return problem("foreign_origin")
        types = _values(headers, b"content-type")
        if scope["method"] not in SAFE and (types or _has_body(headers)) and not _is_json(types):
            return problem("unsupported_media_type")
        return None

    async def _read(self, scope: Message, receive: Receive) -> Reply | Receive:
        """The whole body before anything is done with it, so that a slow sender takes no place; a refusal if it is too large."""
        length = _values(scope["headers"], b"content-length")
        if any(not each.isdecimal() or int(each) > MOST_BODY for each in length):
            return problem("too_large")
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise ConnectionError
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MOST_BODY:
                return problem("too_large")
        return _replay(bytes(body), receive)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body, once; after it, what the connection says."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return parts.pop() if parts else await receive()

    return read


async def reply_with(reply: Reply, send: Send) -> None:
    """Send a reply of the desk, or of the gate itself."""
    headers = [("content-type", reply.media), ("content-length", str(len(reply.body))), *reply.headers]
    encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
    await send({"type": "http.response.body", "body": reply.body})


def _values(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in headers if name.lower() == wanted]


def _name(host: str) -> str:
    """The name in a Host header, without its port; empty if it is not one."""
    found = HOST.fullmatch(host.lower())
    return found[1] if found else ""


def _has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request announces a body; one that announces none has none."""
    headers = list(headers)
    return bool(_values(headers, b"transfer-encoding")) or any(each != "0" for each in _values(headers, b"content-length"))


def _is_json(types: list[str]) -> bool:
    kind, _, rest = ("" if len(types) != 1 else types[0].lower()).partition(";")
    return kind.strip() == "application/json" and rest.strip() in ("", "charset=utf-8")
