"""HTTP/1.1 with time limits that Uvicorn does not have: a whole header in 5 s, a whole body in 10 s, and a reply that is read.

    connection made, or a next request begins    its header must be whole within HEADER seconds
    header whole                                 its body must be whole within BODY seconds
    reply not read                               the connection ends after STALLED seconds

A connection on which a reply of an account leaves counts for that account: until it is closed, or, where a proxy shares connections
among its clients, until the reply is read.

Between requests, the keep-alive limit of Uvicorn holds. A connection that is too slow is ended without a word: who sends one byte a
second reads no reply either.
"""

from __future__ import annotations

import asyncio
import asyncio.constants
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from tacit.doors.server.calls import CONNECTION
from tacit.doors.server.crowding.crowd import Crowd
from tacit.doors.server.gate import HEADERS
from tacit.doors.server.problems import problem

HEADER, BODY, STALLED = 5.0, 10.0, 30.0  # seconds
KEEP_ALIVE = 5  # seconds
MOST_HEADER = 16_384  # bytes


class Timely(H11Protocol):
    """One connection, which is ended if it is too slow."""

    limits = (HEADER, BODY, STALLED)

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], **more: Any) -> None:
        super().__init__(config, server_state, {**app_state, CONNECTION: self}, **more)
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
        """The client does not read: it has so many seconds to begin."""
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
        """Where clients share connections, one whose reply is read belongs to nobody."""
        if self._shared and self._stalled is None and (self.cycle is None or self.cycle.response_complete):
            self._let_go()

    def _let_go(self) -> None:
        if self._account is not None:
            crowd, account = self._account
            self._account = None
            crowd.leave(account)

    def send_400_response(self, msg: str) -> None:
        """What is not HTTP gets the one reply of its code; what it was is not repeated."""
        self._stop()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        reply = problem("bad_request")
        told = (("Content-Type", reply.media), ("Content-Length", str(len(reply.body))), ("Connection", "close"), *HEADERS)
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


def configured(app: Any, **more: Any) -> Config:
    """Uvicorn's settings: this protocol, no access log, no headers that describe the server, no trust in headers of a proxy.

    A TLS handshake has as long as a header. Uvicorn passes no limit of its own to asyncio, so that asyncio's default is changed.
    """
    asyncio.constants.SSL_HANDSHAKE_TIMEOUT = HEADER
    return Config(
        app,
        http=Timely,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        h11_max_incomplete_event_size=MOST_HEADER,
        **more,
    )
