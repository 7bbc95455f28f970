"""The front's end of the line to the clerk: clerks come and go, and a front that stays alone ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from tacit.doors.server import front_process
from tacit.doors.server.calls import Call, Reply
from tacit.doors.server.front_process import OverSocket
from tacit.doors.server.wire import CALL, REPLY, framed, receive, reply_written

GONE, GOOD = Reply(503, b"gone"), Reply(200, b"good")
HEALTH = Call("health", "", {})


def answer_one(clerk: socket.socket) -> None:
    """What a clerk does with one call."""
    _, number, _ = receive(clerk, CALL)
    clerk.sendall(framed(REPLY, number, reply_written(GOOD)))


def with_two_clerks(then: Callable[[OverSocket, socket.socket, socket.socket], Awaitable[None]]) -> None:
    """A front whose second clerk is there before it notices that the first is gone."""

    async def run() -> None:
        clerk = OverSocket(GONE)
        (ours, first), (mine, second) = socket.socketpair(), socket.socketpair()
        with first, second:
            lines = [asyncio.create_task(clerk.listen(line)) for line in (ours, mine)]
            await asyncio.sleep(0.05)
            await then(clerk, first, second)
            for end in (first, second):
                end.close()
            await asyncio.gather(*lines)

    asyncio.run(run())


def test_the_end_of_an_old_line_leaves_the_new_one_as_it_is(monkeypatch):
    monkeypatch.setattr(front_process, "ALONE", 3600)

    async def then(clerk: OverSocket, first: socket.socket, second: socket.socket) -> None:
        first.close()
        await asyncio.sleep(0.05)
        answered = asyncio.create_task(asyncio.to_thread(answer_one, second))
        assert await asyncio.wait_for(clerk.ask(HEALTH), 10) == GOOD
        await answered

    with_two_clerks(then)


@pytest.mark.parametrize("comes", [False, True])
def test_a_front_that_stays_without_a_clerk_ends(monkeypatch, comes):
    """Nobody else would connect it: the supervisor does so when one of the two is new."""
    ended = list[int]()
    monkeypatch.setattr(front_process, "ALONE", 0.1)
    monkeypatch.setattr(front_process.os, "_exit", ended.append)

    async def then(clerk: OverSocket, first: socket.socket, second: socket.socket) -> None:
        second.sendall(b"what is not a reply")
        await asyncio.sleep(0.02)
        ours, third = socket.socketpair()
        task = asyncio.create_task(clerk.listen(ours)) if comes else None
        await asyncio.sleep(0.3)
        assert ended == ([] if comes else [1])
        third.close()
        if task is None:
            ours.close()
        else:
            await task

    with_two_clerks(then)
