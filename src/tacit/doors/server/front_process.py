"""The front as a process: Uvicorn on a socket that the supervisor opened, and one connection to the clerk.

When the clerk is gone, calls under way are answered with `unavailable`; the supervisor hands over a connection to the next clerk.
The certificate is read before the sandbox closes; after that no file is within reach but public code.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import uvicorn

from tacit.doors.server.calls import Call, Clerk, Reply
from tacit.doors.server.sandbox.limits import User
from tacit.doors.server.sandbox.profiles import FRONT, Profile, close_first, close_last, reach_of
from tacit.doors.server.wire import CALL, HEAD, READY, REPLY, Malformed, call_written, framed, head_of, reply_read

PATIENCE = 5.0  # seconds that a call waits for a clerk that is being started
ALONE = 30.0  # seconds without a clerk after which the front ends: the supervisor connects the next front

Configured = Callable[[Clerk], uvicorn.Config]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the front is started with; `settings` are those of the application."""

    control: int
    listening: int
    user: int | None = None
    group: int | None = None
    left_out: tuple[str, ...] = ()
    settings: dict[str, Any] | None = None

    @property
    def owner(self) -> User | None:
        """The user that it becomes, if one is named."""
        return None if self.user is None or self.group is None else User(self.user, self.group)


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
            number = next(self._numbers)
            reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            message = framed(CALL, number, call_written(call))
        except (TimeoutError, Malformed, ValueError):
            return self._unavailable
        self._waiting[number] = reply
        try:
            assert self._writer is not None  # noqa: S101  # it is there
            self._writer.write(message)
            await self._writer.drain()
            return await reply
        except OSError:
            return self._unavailable
        finally:
            self._waiting.pop(number, None)

    async def listen(self, line: socket.socket) -> None:
        """Take replies from a clerk until it is gone, or says what is not a reply; another one may be there by then."""
        reader, writer = await asyncio.open_connection(sock=line)
        self._writer = writer
        self._there.set()
        try:
            while True:
                _, number, length = head_of(await reader.readexactly(HEAD.size), REPLY)
                found = reply_read(await reader.readexactly(length))
                if (waiting := self._waiting.get(number)) and not waiting.done():
                    waiting.set_result(found)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()
            if self._writer is writer:
                self._there.clear()
                asyncio.get_running_loop().call_later(ALONE, self._leave_if_alone)
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(ConnectionError("the clerk is gone"))

    def _leave_if_alone(self) -> None:
        if not self._there.is_set():
            os._exit(1)


def main(settings: Settings, configured: Configured, unavailable: Reply, profile: Profile = FRONT) -> None:
    """Read the certificate, close the sandbox, and serve until the supervisor is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    profile = replace(profile, left_out=frozenset(settings.left_out))
    control, listening = socket.socket(fileno=settings.control), socket.socket(fileno=settings.listening)
    clerk = OverSocket(unavailable)
    config = configured(clerk)
    config.load()  # reads the certificate and its key, which stay within reach of nothing later
    close_first(profile, reach_of(), settings.owner)
    close_last(profile, settings.owner)
    asyncio.run(_served(clerk, uvicorn.Server(config), control, listening))


async def _served(clerk: OverSocket, server: uvicorn.Server, control: socket.socket, listening: socket.socket) -> None:
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
    told = asyncio.create_task(_report(server, control))
    await server.serve(sockets=[listening])
    await told


async def _report(server: uvicorn.Server, control: socket.socket) -> None:
    """Tell the supervisor when connections are accepted."""
    while not server.started:
        await asyncio.sleep(0.01)
    with suppress(OSError):
        control.sendall(READY)
