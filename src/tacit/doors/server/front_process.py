"""The front as a process: Uvicorn on a socket that the supervisor opened, and one connection to the clerk.

When the clerk is gone, calls under way are answered with `unavailable`; the supervisor hands over a connection to the next clerk.
If the connection ends for any other reason, the front asks for a new one.
The certificate is read before the sandbox closes; after that no file is within reach but public code.

`Listening` limits connections in total and per address, and closes the excess ones at once. The count begins when the kernel hands
a connection over, before TLS: a handshake that is never finished is a connection too.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any

import uvicorn

from tacit.doors.server.calls import LOST, READY, Call, Clerk, Reply, call_written, reply_read
from tacit.doors.server.sandbox.profiles import FRONT, Profile, close_first, close_last, reach_of
from tacit.doors.server.settings import Crowd, OfFront, origin_of
from tacit.release.elsewhere.frames import CALL, HEAD, REPLY, Malformed, framed, head_of

PATIENCE = 5.0  # seconds that a call waits for a clerk that is being started
ALONE = 2.0  # seconds without a clerk after which the front asks for a connection

Configured = Callable[[Clerk], uvicorn.Config]
Listens = Callable[[int], socket.socket]


class OverSocket:
    """The clerk at the other end of a connection, which may be replaced by another."""

    def __init__(self, unavailable: Reply) -> None:
        self._unavailable = unavailable
        self._numbers, self._waiting = count(1), dict[int, asyncio.Future[Reply]]()
        self._writer: asyncio.StreamWriter | None = None
        self._there = asyncio.Event()

    async def ask(self, call: Call) -> Reply:
        """The reply to one call; `unavailable` if the clerk does not come back in time, or ends before it replies."""
        try:
            await asyncio.wait_for(self._there.wait(), PATIENCE)
            waiting, writer = self._waiting, self._writer  # of this clerk: another one may come meanwhile
            number = next(self._numbers)
            reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            message = framed(CALL, number, call_written(call))
        except (TimeoutError, Malformed, ValueError):
            return self._unavailable
        if writer is None or not self.connected:  # it has gone since
            return self._unavailable
        waiting[number] = reply
        try:
            writer.write(message)
            await writer.drain()
            return await reply
        except OSError:
            return self._unavailable
        finally:
            waiting.pop(number, None)

    @property
    def connected(self) -> bool:
        """Whether there is a clerk to ask."""
        return self._there.is_set()

    async def listen(self, line: socket.socket) -> None:
        """Take replies from a clerk until it is gone, or says what is not a reply."""
        reader, writer = await asyncio.open_connection(sock=line)
        waiting = self._waiting = dict[int, asyncio.Future[Reply]]()
        self._writer = writer
        self._there.set()
        try:
            while True:
                _, number, length = head_of(await reader.readexactly(HEAD.size), REPLY)
                reply = reply_read(await reader.readexactly(length))
                if (asked := waiting.get(number)) and not asked.done():
                    asked.set_result(reply)
        except (OSError, asyncio.IncompleteReadError, MemoryError):  # without room for a reply, what follows it cannot be read
            pass
        finally:
            if self._writer is writer:  # else another clerk is there already
                self._there.clear()
            writer.close()
            for asked in waiting.values():
                if not asked.done():
                    asked.set_exception(ConnectionError("the clerk is gone"))


def main(settings: OfFront, configured: Configured, unavailable: Reply, listens: Listens, profile: Profile = FRONT) -> None:
    """Read the certificate, close the sandbox, and serve until the supervisor is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    profile = replace(profile, left_out=frozenset(settings.left_out))
    control, listening = socket.socket(fileno=settings.control), listens(settings.listening)
    clerk = OverSocket(unavailable)
    config = configured(clerk)
    config.load()  # reads the certificate and its key, which stay within reach of nothing later
    close_first(profile, reach_of(), settings.owner)
    close_last(profile, settings.owner)
    gc.freeze()
    gc.enable()
    asyncio.run(_serve(clerk, uvicorn.Server(config), control, listening))


async def _serve(clerk: OverSocket, server: uvicorn.Server, control: socket.socket, listening: socket.socket) -> None:
    lines = set[asyncio.Task[None]]()

    def news() -> None:
        """A connection to a clerk, or the end of the supervisor."""
        tag, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not tag or not descriptors:
            os._exit(0)
        task = asyncio.create_task(clerk.listen(socket.socket(fileno=descriptors[0])))
        lines.add(task)
        task.add_done_callback(lines.discard)

    asyncio.get_running_loop().add_reader(control, news)
    told, kept = asyncio.create_task(_report(server, control)), asyncio.create_task(_report_loss(clerk, control))
    await server.serve(sockets=[listening])
    kept.cancel()
    await told


async def _report(server: uvicorn.Server, control: socket.socket) -> None:
    """Tell the supervisor when connections are accepted."""
    while not server.started:
        await asyncio.sleep(0.01)
    with suppress(OSError):
        control.sendall(READY)


async def _report_loss(clerk: OverSocket, control: socket.socket) -> None:
    """Ask the supervisor for a connection to the clerk, whenever there was none for a while."""
    alone = 0
    while True:
        await asyncio.sleep(ALONE / 2)
        alone = 0 if clerk.connected else alone + 1
        if alone >= 2:
            with suppress(OSError):
                control.sendall(LOST)
            alone = 0


# --- connections within limits -----------------------------------------------------------------------------------------------


MOST_CONNECTIONS = 2_000
EVERYBODY = ""


class Connection(socket.socket):
    """A connection that counts until it is closed."""

    def __init__(self, fileno: int, counted: Collection[tuple[Crowd, str]]) -> None:
        super().__init__(fileno=fileno)
        self._counted = counted

    def close(self) -> None:
        """Close it, and count it no longer."""
        counted, self._counted = self._counted, ()
        for crowd, who in counted:
            crowd.leave(who)
        super().close()


class Listening(socket.socket):
    """A listening socket with limits; `exempt` are addresses that stand for many others, as that of a proxy does."""

    def __init__(self, fileno: int, most: int | None, exempt: Collection[str] = ()) -> None:
        super().__init__(fileno=fileno)
        self._everybody = Crowd(MOST_CONNECTIONS)
        self._each = None if most is None else Crowd(most)
        self._exempt = {origin_of(address) for address in exempt}

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection within the limits; those beyond are closed."""
        while True:
            descriptor, address = self._accept()  # type: ignore[attr-defined]  # as socket.accept does
            counted = self._admit(origin_of(str(address[0])))
            connection = Connection(descriptor, counted or ())
            if counted is not None:
                return connection, address
            connection.close()

    def _admit(self, origin: str) -> tuple[tuple[Crowd, str], ...] | None:
        if not self._everybody.enter(EVERYBODY):
            return None
        if self._each is None or origin in self._exempt:
            return ((self._everybody, EVERYBODY),)
        if self._each.enter(origin):
            return (self._everybody, EVERYBODY), (self._each, origin)
        self._everybody.leave(EVERYBODY)
        return None
