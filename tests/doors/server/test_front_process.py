"""The front and its clerk: one that goes, one that comes too early, and a reply for which there is no room."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from loops import in_own_loop
from tacit.doors.server import clerk as clerk_module
from tacit.doors.server import front_process
from tacit.doors.server.calls import Call, Reply, reply_read, reply_written
from tacit.doors.server.clerk import FrontLine
from tacit.doors.server.front_process import OverSocket
from tacit.doors.server.supervisor import Supervisor
from tacit.release.elsewhere.frames import CALL, HEAD, REPLY, framed, head_of

UNAVAILABLE = Reply(503, b"none")
CALLED = Call("budget", "", {})


class Other:
    """A clerk that says its name to every call."""

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.line, self.own = socket.socketpair()

    async def reply(self) -> None:
        loop = asyncio.get_running_loop()
        self.own.setblocking(False)
        _, number, length = head_of(await loop.sock_recv(self.own, HEAD.size), CALL)
        await loop.sock_recv(self.own, length)
        await loop.sock_sendall(self.own, framed(REPLY, number, reply_written(Reply(200, self.name))))


async def _asked(front: OverSocket, other: Other) -> bytes:
    reply, _ = await asyncio.gather(front.ask(CALLED), other.reply())
    return reply.body


def test_a_clerk_that_comes_before_the_last_one_is_gone_stays():
    async def run() -> None:
        front, old, new = OverSocket(UNAVAILABLE), Other(b"old"), Other(b"new")
        tasks = [asyncio.create_task(front.listen(old.line))]
        assert await _asked(front, old) == b"old"
        tasks.append(asyncio.create_task(front.listen(new.line)))
        await asyncio.sleep(0.01)
        old.own.close()  # only now does the front see its end
        await tasks[0]
        assert await _asked(front, new) == b"new"
        new.own.close()
        await tasks[1]

    in_own_loop(run())


def test_without_room_for_a_reply_the_front_goes_on_with_another_connection(monkeypatch):
    def full(_: bytes) -> Reply:
        raise MemoryError

    async def run() -> None:
        front, first, second = OverSocket(UNAVAILABLE), Other(b"first"), Other(b"second")
        task = asyncio.create_task(front.listen(first.line))
        monkeypatch.setattr(front_process, "reply_read", full)
        assert await asyncio.wait_for(_asked(front, first), 60) == UNAVAILABLE.body
        await task
        assert not front.connected
        monkeypatch.setattr(front_process, "reply_read", reply_read)
        task = asyncio.create_task(front.listen(second.line))
        assert await _asked(front, second) == b"second"
        first.own.close()
        second.own.close()
        await task

    in_own_loop(run())


def test_a_front_without_a_clerk_asks_for_one_and_gets_it(monkeypatch):
    monkeypatch.setattr(front_process, "ALONE", 0.02)
    ours, theirs = socket.socketpair()

    async def run() -> None:
        task, asked = asyncio.create_task(front_process._report_loss(OverSocket(UNAVAILABLE), theirs)), asyncio.Event()
        asyncio.get_running_loop().add_reader(ours, asked.set)
        await asyncio.wait_for(asked.wait(), 60)
        asyncio.get_running_loop().remove_reader(ours)
        task.cancel()

    in_own_loop(run())
    supervisor: Any = Supervisor(SimpleNamespace(), ours, lambda _: None)  # type: ignore[arg-type]
    supervisor.tied, supervisor.front.control = (1, 2), ours
    supervisor._report(supervisor.front)
    assert supervisor.tied == (0, 0), "the next step ties them anew"
    ours.close()
    theirs.close()


@pytest.mark.parametrize("error", [MemoryError, clerk_module.Malformed])
def test_a_reply_that_cannot_be_sent_is_unavailable_for_its_caller_alone(error, monkeypatch):
    def fails(_: Reply) -> bytes:
        monkeypatch.setattr(clerk_module, "reply_written", reply_written)
        raise error

    monkeypatch.setattr(clerk_module, "reply_written", fails)
    line = FrontLine(None, SimpleNamespace(handle=lambda _: Reply(200, b"")), None)  # type: ignore[arg-type]
    assert reply_read(line._message(7, CALLED)[0][HEAD.size :]).status == 503
