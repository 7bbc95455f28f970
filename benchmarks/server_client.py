"""Clients of the benchmark of the server: plain HTTP/1.1 over asyncio, with as little work of their own as possible."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
import time
from dataclasses import dataclass
from itertools import cycle
from typing import Any

LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def message(token: str, path: str, body: str) -> bytes:
    """A request as bytes; one without a body is a GET."""
    method = "POST" if body != "{}" else "GET"
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if method == "POST" else ""
    return f"{head}{length}\r\n{body if method == 'POST' else ''}".encode()


async def exchanged(stream: Stream, request: bytes) -> int:
    """The status of the reply, which is read to its end."""
    reader, writer = stream
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    found = LENGTH.search(head)
    await reader.readexactly(int(found[1]) if found else 0)
    return int(head.split(b" ", 2)[1])


async def asked(port: int, token: str, path: str, body: dict[str, Any]) -> int:
    """One request on a connection of its own; 0 where it ends without a reply."""
    try:
        stream = await asyncio.open_connection("127.0.0.1", port)
        try:
            return await exchanged(stream, message(token, path, json.dumps(body)))
        finally:
            stream[1].close()
    except (OSError, asyncio.IncompleteReadError):
        return 0


async def idle(port: int, connections: int) -> tuple[int, float]:
    """Opens so many connections, each with one request behind it; how many stand, and the slowest of 20 more requests.

    The server ends a connection 5 s after its last request: all of this takes less.
    """
    request = message("", "/v1/health", "{}")
    streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(connections)]
    await asyncio.gather(*(exchanged(stream, request) for stream in streams))
    slowest = 0.0
    for _ in range(20):
        begun = time.monotonic()
        await asked(port, "", "/v1/health", {})
        slowest = max(slowest, time.monotonic() - begun)
    held = sum(not stream[0].at_eof() for stream in streams)
    return held, slowest


@dataclass(frozen=True, slots=True)
class Load:
    """Clients that each send one request after the other, in a process of their own. A client is a token and its requests."""

    port: int
    path: str
    clients: list[tuple[str, list[str]]]
    seconds: float

    def run(self) -> tuple[int, float]:
        """How many requests were answered with 200, and in how many seconds."""
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(self._run)

    def _run(self) -> tuple[int, float]:
        return asyncio.run(self._all())

    async def _all(self) -> tuple[int, float]:
        begun = time.monotonic()
        done = await asyncio.gather(*(self._client(token, bodies, begun + self.seconds) for token, bodies in self.clients))
        return sum(done), time.monotonic() - begun

    async def _client(self, token: str, bodies: list[str], end: float) -> int:
        stream = await asyncio.open_connection("127.0.0.1", self.port)
        done = 0
        for request in cycle([message(token, self.path, body) for body in bodies]):
            if time.monotonic() >= end:
                break
            status = await exchanged(stream, request)
            done += status == 200
            if status != 200:
                await asyncio.sleep(0.05)
        stream[1].close()
        return done
