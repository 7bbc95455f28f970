"""Messages between tacit's processes, over stream sockets: a kind, a number, a length, a content of a closed form.

Nothing in a message is executed, and no length is believed beyond the limit of its kind. Anything that is not a message ends the
connection. The number ties a reply to its question. The command line, Python and the server send the same frames; few imports.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.data.store import StoreInfo

HEAD = struct.Struct("!cQQ")
MIB = 2**20
ASK, QUOTE = b"?", b"q"  # to an engine: JSON of a closed form, or the quote of a paid question
TOLD, NUMBERS, OWN_NUMBERS, UNUSABLE, FAILED = b"t", b"n", b"o", b"u", b"f"  # from an engine
CALL, REPLY = b"c", b"r"  # between the front and the clerk of a server
LONGEST: Mapping[bytes, int] = {  # bytes of a content
    ASK: MIB,
    QUOTE: 2**33,
    TOLD: 64 * MIB,
    NUMBERS: 512 * MIB,
    OWN_NUMBERS: 2**33,  # of a process that the asking one has started for itself
    UNUSABLE: 4096,
    FAILED: 1,
    CALL: MIB,
    REPLY: 256 * MIB,
}
FINGERPRINT = 64  # letters in front of released numbers
START = 120.0  # seconds for a process to start and to open a store; no row is read in that time
GRACE = 1.0  # seconds: first the engine stops itself, then the waiting process ends it, then the operating system

Frame = tuple[bytes, int, bytes]  # kind, number, content
Form = Mapping[str, type | tuple[type, ...]]


class Malformed(ConnectionError):
    """A message of another kind or form than is expected here."""


# --- frames ------------------------------------------------------------------------------------------------------------------


def framed(kind: bytes, number: int, content: bytes = b"") -> bytes:
    """A whole message as bytes."""
    if len(content) > LONGEST[kind]:
        raise Malformed("a message above the limit of its kind")
    return HEAD.pack(kind, number, len(content)) + content


def head_of(data: bytes, expected: bytes) -> tuple[bytes, int, int]:
    """The kind, the number and the length that a head announces; only of the kinds that are expected."""
    kind, number, length = HEAD.unpack(data)
    if kind not in expected or length > LONGEST[kind]:
        raise Malformed("a message of another kind or length")
    return kind, number, length


def send(line: socket.socket, kind: bytes, number: int, content: bytes = b"", deadline: float | None = None) -> None:
    """Send one whole message; raises `OSError` if it is not accepted in time."""
    line.settimeout(seconds_left(deadline))
    line.sendall(framed(kind, number, content))


def receive(line: socket.socket, expected: bytes, deadline: float | None = None) -> Frame:
    """The next message; raises `OSError` if none arrives in time, or ever."""
    kind, number, length = head_of(exactly(line, HEAD.size, deadline), expected)
    return kind, number, exactly(line, length, deadline)


def exactly(line: socket.socket, count: int, deadline: float | None) -> bytes:
    """The next `count` bytes; raises `OSError` if they do not arrive in time, or ever."""
    room = memoryview(bytearray(count))
    filled = 0
    while filled < count:
        line.settimeout(seconds_left(deadline))
        came = line.recv_into(room[filled:])
        if came == 0:
            raise ConnectionError("the other end is closed")
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError("the time is up")
        filled += came
    return bytes(room)


def seconds_left(deadline: float | None) -> float | None:
    """The seconds until a deadline, for the time-out of a socket."""
    return None if deadline is None else max(0.001, deadline - time.monotonic())


Waits = Callable[[socket.socket], bool]


@dataclass(slots=True, eq=False)
class Line:
    """The connection to one engine, with its description of its store and the account that it works for."""

    socket: socket.socket
    info: StoreInfo | None = None
    pricing: str = ""
    holder: str | None = None
    numbers: count[int] = field(default_factory=count)
    stays: bool = False  # whether its place is kept for the reply that it works for, even if it ends
    waits: Waits | None = None  # whether a reply is there, at a public time; None: it is read as it comes

    def ask(self, asked: Mapping[str, Any], expected: bytes, seconds: float) -> tuple[bytes, bytes]:
        """The reply to one question in JSON; raises `OSError` if no reply arrives in time, or that to another."""
        return self.exchange(ASK, written(asked), expected, seconds)

    def exchange(self, kind: bytes, content: bytes, expected: bytes, seconds: float) -> tuple[bytes, bytes]:
        """The reply to one message; raises `OSError` if no reply arrives in time, or that to another."""
        deadline, number = time.monotonic() + seconds, next(self.numbers)
        send(self.socket, kind, number, content, deadline)
        if self.waits is not None:
            if not self.waits(self.socket):
                raise TimeoutError("the time is up")
            deadline = time.monotonic() + GRACE
        told, replied, reply = receive(self.socket, expected, deadline)
        if replied != number:
            raise Malformed("a reply to another question")
        return told, reply

    def lives(self) -> bool:
        """Whether the other end is open, and silent as it must be."""
        try:
            self.socket.settimeout(0)
            return self.socket.recv(1, socket.MSG_PEEK) is None
        except BlockingIOError:
            return True
        except OSError:
            return False


# --- contents ----------------------------------------------------------------------------------------------------------------


def written(content: Mapping[str, Any]) -> bytes:
    """An object as JSON."""
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def read(content: bytes, fields: Form) -> dict[str, Any]:
    """The object that `written` wrote, with these fields of these types and no others; `Malformed` for anything else.

    >>> read(b'{"table":"wards"}', {"table": str})
    {'table': 'wards'}
    """
    try:
        fields_read = json.loads(content, parse_constant=_refuse_constant, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        raise Malformed("a content that is not JSON") from None
    if not isinstance(fields_read, dict) or set(fields_read) != set(fields):
        raise Malformed("a content with other fields")
    if not all(_is(fields_read[name], kind) for name, kind in fields.items()):
        raise Malformed("a content with other types")
    return fields_read


def _is(value: object, kind: type | tuple[type, ...]) -> bool:
    """Whether a value is of a type; a truth is not a number."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return type(value) in kinds


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        raise ValueError("a name twice")
    return names
