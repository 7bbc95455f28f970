"""Messages between the asking and the answering process: one byte for the kind, a length, and the content."""

from __future__ import annotations

import socket
import struct
import time

HEAD = struct.Struct("!cQ")
LONGEST = 2**33  # bytes of a message
GRACE = 1.0  # seconds: first the engine stops itself, then the waiting process ends it, then the operating system
ASKED, OPENED, UNUSABLE, RELEASED, FAILED = b"?", b"o", b"u", b"r", b"f"


def send(line: socket.socket, kind: bytes, content: bytes, deadline: float | None = None) -> None:
    """Send one whole message; raises `OSError` if it is not accepted in time."""
    line.settimeout(left(deadline))
    line.sendall(HEAD.pack(kind, len(content)))
    line.sendall(content)


def receive(line: socket.socket, deadline: float | None = None) -> tuple[bytes, bytes]:
    """The kind and the content of the next message; raises `OSError` if none arrives in time, or ever."""
    kind, length = HEAD.unpack(exactly(line, HEAD.size, deadline))
    if length > LONGEST:
        raise ConnectionError("a message of an impossible length")
    return kind, exactly(line, length, deadline)


def exactly(line: socket.socket, count: int, deadline: float | None) -> bytes:
    """So many bytes; raises `OSError` if they do not arrive in time, or ever."""
    room = memoryview(bytearray(count))
    filled = 0
    while filled < count:
        line.settimeout(left(deadline))
        came = line.recv_into(room[filled:])
        if came == 0:
            raise ConnectionError("the other end is closed")
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError("the time is up")
        filled += came
    return bytes(room)


def left(deadline: float | None) -> float | None:
    """The seconds until a deadline, for the time-out of a socket."""
    return None if deadline is None else max(0.001, deadline - time.monotonic())
