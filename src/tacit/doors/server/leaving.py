"""How replies leave the front where the clock is hidden: on public ticks, and in bodies of public sizes.

A reply that was paid for comes from the clerk when it is to leave, and leaves at once. Everything else (explanations, refusals,
free questions, pages, health) leaves on the next tick. Bodies are filled up to the next of a few sizes: JSON, SVG and HTML with
white space, an Arrow stream behind its end mark. CSV and certificates are sent as they are: white space would be part of them.
Nothing is ever compressed, since the size would follow what is inside.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

TICK = 0.005  # seconds
LEAST, TIMES = 1024, 4  # bytes of the smallest size; each further one is four times as large
TIMED = "timed"  # in the state of a scope: the clerk has let the reply leave at its time
FILLING: Mapping[str, bytes] = {
    "application/json": b" ",
    "application/vnd.tacit.answer+json": b" ",
    "image/svg+xml": b" ",
    "text/html": b" ",
    "application/vnd.apache.arrow.stream": b"\0",
}


def sender(scope: Message, send: Send) -> Send:
    """The `send` of a request whose reply is filled up, and does not leave before the next tick unless it is timed already."""
    started: list[Message] = []

    async def send_later(message: Message) -> None:
        if message["type"] == "http.response.start":
            started.append(message)
            return
        if started:
            start = started.pop()
            if not message.get("more_body", False):
                message = {**message, "body": fill(media_of(start), message.get("body", b""))}
                start = {**start, "headers": _with_length(start["headers"], len(message["body"]))}
            if not scope.get("state", {}).get(TIMED):
                await asyncio.sleep(to_the_next_tick(time.monotonic()))
            await send(start)
        await send(message)

    return send_later


def to_the_next_tick(now: float) -> float:
    """The seconds to the next tick.

    >>> round(to_the_next_tick(7.0013), 6)
    0.0037
    """
    return TICK - now % TICK


def fill(media: str, body: bytes) -> bytes:
    """A body of the least size that it fits into; as it is, if its form has no room for that, or if it is empty.

    >>> [len(fill("application/json", b"1" * number)) for number in (0, 1, 1024, 1025, 20_000)]
    [0, 1024, 1024, 4096, 65536]
    """
    filling = FILLING.get(media.partition(";")[0].strip().lower())
    return body if filling is None or not body else body.ljust(size_of(len(body)), filling)


def size_of(length: int) -> int:
    """The least size for a number of bytes."""
    size = LEAST
    while size < length:
        size *= TIMES
    return size


def media_of(start: Message) -> str:
    """The media type of a reply; empty if its body is encoded in another way."""
    headers = dict(start["headers"])
    return "" if b"content-encoding" in headers else headers.get(b"content-type", b"").decode("latin-1")


def _with_length(headers: Any, length: int) -> list[tuple[bytes, bytes]]:
    others = [(name, value) for name, value in headers if name != b"content-length"]
    return [*others, (b"content-length", str(length).encode())]
