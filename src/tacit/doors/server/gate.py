"""Which requests get in: HTTP/1.1 with one reading and in time, then a gate before every route.

    connection made, or a next request begins    its header must be whole within HEADER seconds
    header whole                                 its body must be whole within BODY seconds
    reply not read                               the connection ends after STALLED seconds

A header that two readers could read in two ways is refused, and its connection closed: a proxy in front may have read it in the
other way, and would take what one client sent for the request of the next (`Plain`). Between requests, the keep-alive limit of
Uvicorn holds. A connection that is too slow is ended without a word: who sends one byte a second reads no reply either.

A connection on which a reply of an account leaves counts for that account: until it is closed, or, where a proxy shares connections
among its clients, until the reply is read.

At the gate, a request for another host gets nothing (DNS rebinding), nor does one from a page of another site, nor a body that is
not JSON (forms). Every reply says that it is not to be stored, framed, sniffed or run.
"""

from __future__ import annotations

import asyncio
import asyncio.constants
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from tacit.doors.server.calls import CONNECTION, Reply
from tacit.doors.server.leaving import sender
from tacit.doors.server.problems import problem
from tacit.doors.server.settings import Crowd, Settings, forwarded, origin_of

# --- the gate ----------------------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one gate: the refusal of a request by its header, if any, the reply of each code, and headers of every reply."""

    refusal: Callable[[Message], Reply | None]
    problem: Callable[[str], Reply] = problem
    headers: tuple[tuple[str, str], ...] = HEADERS
    most_body: int = MOST_BODY


class Gate:
    """An ASGI application in front of another. Nothing that it refuses reaches the other."""

    def __init__(self, inside: App, settings: Settings, rules: Rules | None = None) -> None:
        self.inside, self.rules = inside, rules or rules_of_questions(settings)
        self.clients = Crowd(settings.per_address)  # requests under way of clients that a proxy names
        self.proxies = {origin_of(address) for address in settings.forwarded_by}
        self.hides_clock = settings.hides_clock
        self.headers = [(name.lower().encode(), value.encode()) for name, value in self.rules.headers]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Let one request through, or refuse it."""
        if scope["type"] != "http":
            return
        started = False
        send = sender(scope, send) if self.hides_clock else send

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": [*message.get("headers", ()), *self.headers]}
            await send(message)

        client = self._client(scope)
        if client is not None and not self.clients.enter(client):
            await reply_with(self.rules.problem("too_many_requests"), send_with_headers)
            return
        try:
            request = self.rules.refusal(scope) or await self._read(scope, receive)
            if isinstance(request, Reply):
                await reply_with(request, send_with_headers)
            else:
                await self.inside(scope, request, send_with_headers)
        except ConnectionError:  # the client has gone
            return
        except Exception:  # its text may quote the request, so nobody gets it
            if not started:
                await reply_with(self.rules.problem("unavailable"), send_with_headers)
        finally:
            if client is not None:
                self.clients.leave(client)

    def _client(self, scope: Message) -> str | None:
        """Whom a known proxy names; None for a connection of the client's own, which was counted when it was made."""
        peer = scope.get("client")
        is_proxy = peer is not None and origin_of(str(peer[0])) in self.proxies
        return forwarded(scope["headers"]) if is_proxy else None

    async def _read(self, scope: Message, receive: Receive) -> Reply | Receive:
        """The whole body before anything is done with it, so that a slow sender takes no place; a refusal if it is too large."""
        length = header_values(scope["headers"], b"content-length")
        if any(not each.isdecimal() or int(each) > self.rules.most_body for each in length):
            return self.rules.problem("too_large")
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise ConnectionError
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.rules.most_body:
                return self.rules.problem("too_large")
        return _replay(bytes(body), receive)


def rules_of_questions(settings: Settings) -> Rules:
    """The rules for questions: they come to a name of the server, and from no other site."""
    more = (FOR_A_YEAR,) if settings.scheme == "https" and settings.reached else ()
    return Rules(partial(refusal, settings), headers=(*HEADERS, *more))


def refusal(settings: Settings, scope: Message) -> Reply | None:
    """The refusal of a request for another host, from a page of another site, or with a body that is not JSON."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    host, origin, site = (header_values(headers, name) for name in (b"host", b"origin", b"sec-fetch-site"))
    if len(host) != 1 or host_name(host[0]) not in settings.hosts:
        return problem("wrong_host")
    if any(each != f"{settings.scheme}://{host[0].lower()}" for each in origin) or any(each not in OWN_SITE for each in site):
        return problem("foreign_origin")
    types = header_values(headers, b"content-type")
    if scope["method"] not in SAFE and (types or _has_body(headers)) and not _is_json(types):
        return problem("unsupported_media_type")
    return None


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


def header_values(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> list[str]:
    """The values of a header, each as a text."""
    return [value.decode("latin-1") for name, value in headers if name.lower() == wanted]


def host_name(host: str) -> str:
    """The name in a Host header, without its port; empty if it is not one."""
    match = HOST.fullmatch(host.lower())
    return match[1] if match else ""


def _has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request announces a body; one that announces none has none."""
    headers = list(headers)
    return bool(header_values(headers, b"transfer-encoding")) or any(
        each != "0" for each in header_values(headers, b"content-length")
    )


def _is_json(types: list[str]) -> bool:
    kind, _, rest = ("" if len(types) != 1 else types[0].lower()).partition(";")
    return kind.strip() == "application/json" and rest.strip() in ("", "charset=utf-8")


# --- HTTP, read in one way and in time ---------------------------------------------------------------------------------------


HEADER, BODY, STALLED = 5.0, 10.0, 30.0  # seconds
KEEP_ALIVE = 5  # seconds
MOST_HEADER = 16_384  # bytes
END = re.compile(rb"\n\r?\n")  # of a header, as h11 finds it
UNCLEAR = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)|\n[ \t]|^[\n \t]")  # a bare LF or CR, a folded line: RFC 9112, sections 2.2 and 5.2
ONCE = (b"authorization", b"content-length", b"content-type", b"host", b"idempotency-key", b"transfer-encoding")


class Plain(h11.Connection):
    """HTTP/1.1 that has one reading only: whole lines, no header of `ONCE` twice, one length, and no header above the limit.

    h11 takes a bare LF for the end of a line, joins folded lines, ignores a Content-Length beside a Transfer-Encoding, and checks
    its limit only of headers that are not whole yet.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MOST_HEADER)
        self._unread = bytearray()  # what arrived and is not part of an event yet; `trailing_data` would copy all of it each time
        self._looked = 0  # bytes of a header that is not whole yet, and plain so far
        self._framing = b""  # of a body in chunks: what was read of the lines between two pieces of data

    def receive_data(self, data: bytes) -> None:
        """Take what arrived."""
        self._unread += data
        super().receive_data(data)

    def next_event(self) -> Any:
        """The next event; `h11.RemoteProtocolError` for what is not plain. It takes as long as what it reads, whatever follows."""
        idle = self.their_state is h11.IDLE
        if idle:
            self._looked = _plain_so_far(self._unread, self._looked)
        event = super().next_event()
        read = len(self._unread) - len(self._receive_buffer)
        length = len(event.data) if isinstance(event, h11.Data) else 0
        between = b"" if idle else bytes(self._unread[: read - length])
        del self._unread[:read]
        if idle:
            return event
        self._framing += between
        if UNCLEAR.search(self._framing) or len(self._framing) > MOST_HEADER:
            raise h11.RemoteProtocolError("chunks or trailers that are not plain")
        if event is not h11.NEED_DATA:
            self._framing = b""
        return event


def _plain_so_far(data: bytearray, looked: int) -> int:
    """The number of plain bytes, `looked` of them from before; 0 if the header is whole. Refuses bytes that are not plain."""
    end = END.search(data, max(0, looked - 2))
    header = data if end is None else data[: end.end()]
    if UNCLEAR.search(header, max(0, looked - 1)) or len(header) > MOST_HEADER:
        raise h11.RemoteProtocolError("a header that is not plain")
    if end is None:
        return len(data)
    first, *lines = bytes(header).split(b"\r\n")
    fields = [(name.lower(), value) for name, _, value in (line.partition(b":") for line in lines)]
    times = Counter(name for name, _ in fields)
    listed = any(name == b"content-length" and b"," in value for name, value in fields)
    version = first[-8:]  # of any other, h11 would believe a coding, and want no Host
    coded = times[b"transfer-encoding"] and (times[b"content-length"] or version == b"HTTP/1.0")
    if any(times[name] > 1 for name in ONCE) or listed or coded or version not in (b"HTTP/1.0", b"HTTP/1.1"):
        raise h11.RemoteProtocolError("a header with two readings")
    return 0


class Timely(H11Protocol):
    """One connection, which is ended if it is too slow."""

    limits = (HEADER, BODY, STALLED)
    malformed: ClassVar[Reply] = problem("bad_request")  # the reply to what is not HTTP
    every_reply: ClassVar[tuple[tuple[str, str], ...]] = HEADERS

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], **more: Any) -> None:
        super().__init__(config, server_state, {**app_state, CONNECTION: self}, **more)
        self.conn = Plain()
        self._account: tuple[Crowd, str] | None = None
        self._shared = False
        self._waiting: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._phase = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a header."""
        super().connection_made(transport)
        self._wait("header", self.limits[0])

    def data_received(self, data: bytes) -> None:
        """Take what arrived, and wait for what is still missing."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """After a reply, the next header is waited for from its first byte on; until then the keep-alive limit holds."""
        super().on_response_complete()
        self._read()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """No timer outlives its connection."""
        self._stop()
        self._unstall()
        self._let_go()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read: it has the seconds of `STALLED` to begin."""
        super().pause_writing()
        self._unstall()
        self._stalled = self.loop.call_later(self.limits[2], self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._unstall()
        super().resume_writing()
        self._read()

    def owe(self, crowd: Crowd, account: str, shared: bool) -> bool:
        """Count this connection for the account of a reply; False if the account has too many."""
        self._shared = shared
        if self._account == (crowd, account):
            return True
        self._let_go()
        if not crowd.enter(account):
            return False
        self._account = crowd, account
        return True

    def _read(self) -> None:
        """Where clients share connections, one whose reply is read belongs to no account."""
        if self._shared and self._stalled is None and (self.cycle is None or self.cycle.response_complete):
            self._let_go()

    def _let_go(self) -> None:
        if self._account is not None:
            crowd, account = self._account
            self._account = None
            crowd.leave(account)

    def send_400_response(self, msg: str) -> None:
        """Bytes that are not HTTP get the one reply of their code, which does not repeat them."""
        self._stop()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        reply = self.malformed
        told = (("Content-Type", reply.media), ("Content-Length", str(len(reply.body))), ("Connection", "close"), *self.every_reply)
        headers = [(name.encode(), value.encode()) for name, value in told]
        parts = (h11.Response(status_code=reply.status, headers=headers), h11.Data(data=reply.body), h11.EndOfMessage())
        for part in parts:
            self.transport.write(self.conn.send(part) or b"")
        self.transport.close()

    def _look(self) -> None:
        """Wait for the part of a request that is not whole yet, or for nothing."""
        if self.transport.is_closing():
            self._stop()
        elif self.conn.their_state is h11.SEND_BODY:
            self._wait("body", self.limits[1])
        elif self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._wait("header", self.limits[0])
        else:
            self._stop()

    def _wait(self, phase: str, seconds: float) -> None:
        """Count from the beginning of a phase: a byte now and then does not make it longer."""
        if self._waiting is not None and self._phase == phase:
            return
        self._stop()
        self._phase, self._waiting = phase, self.loop.call_later(seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _unstall(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


def configured(app: Any, http: type[Timely] | None = None, /, **more: Any) -> Config:
    """Uvicorn's settings: this protocol, no access log, no headers that describe the server, no trust in headers of a proxy.

    A TLS handshake has as long as a header. Uvicorn passes no limit of its own to asyncio, so that asyncio's default is changed.
    """
    asyncio.constants.SSL_HANDSHAKE_TIMEOUT = HEADER
    return Config(
        app,
        http=http or Timely,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        **more,
    )
