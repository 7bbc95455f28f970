"""Messages between the processes of the server, over Unix stream sockets: a kind, a number, a length, a content of a closed form.

Nothing in a message is ever executed, and no length is believed beyond the limit of its kind. What is not a message ends the
connection. The number ties a reply to its question, so that many can be under way on one connection.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from tacit.doors.server.calls import Call, Reply
from tacit.release.frames import exactly, left

if TYPE_CHECKING:
    from tacit.data.store import StoreInfo

HEAD = struct.Struct("!cQI")
MIB = 2**20
CALL, REPLY = b"c", b"r"  # between front and clerk
ASK, TOLD, NUMBERS, UNUSABLE, FAILED = b"?", b"t", b"n", b"u", b"f"  # between clerk and engine
OF_ENGINE, OF_FRONT = b"e", b"f"  # whose connection it is that the supervisor hands over
READY, NOT_USABLE, LOST = b"r", b"u", b"l"  # what the supervisor is told; lost is the connection between front and clerk
AWAY = 75  # how an engine ends that did not reach the cluster of its data: a temporary failure, as sysexits.h has it
LONGEST: Mapping[bytes, int] = {  # bytes of a content
    CALL: MIB,
    REPLY: 256 * MIB,
    ASK: MIB,
    TOLD: 64 * MIB,
    NUMBERS: 512 * MIB,
    UNUSABLE: 4096,
    FAILED: 1,
}
FINGERPRINT = 64  # letters in front of released numbers
MOST_HEADERS = 32

Frame = tuple[bytes, int, bytes]  # kind, number, content


class Malformed(ConnectionError):
    """What came is not a message of the kinds that are expected here."""


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
    line.settimeout(left(deadline))
    line.sendall(framed(kind, number, content))


def receive(line: socket.socket, expected: bytes, deadline: float | None = None) -> Frame:
    """The next message; raises `OSError` if none arrives in time, or ever."""
    kind, number, length = head_of(exactly(line, HEAD.size, deadline), expected)
    return kind, number, exactly(line, length, deadline)


@dataclass(slots=True, eq=False)
class Line:
    """The connection to one engine, and what it said of its store."""

    socket: socket.socket
    info: StoreInfo | None = None
    pricing: str = ""
    holder: str | None = None  # the account that it works for
    numbers: count[int] = field(default_factory=count)

    def ask(self, known: Mapping[str, Any], expected: bytes, seconds: float) -> tuple[bytes, bytes]:
        """The reply to one question; raises `OSError` if no reply arrives in time, or that to another."""
        deadline, number = time.monotonic() + seconds, next(self.numbers)
        send(self.socket, ASK, number, written(known), deadline)
        kind, told, content = receive(self.socket, expected, deadline)
        if told != number:
            raise Malformed("a reply to another question")
        return kind, content

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


def written(known: Mapping[str, Any]) -> bytes:
    """An object as JSON."""
    return json.dumps(known, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def read(content: bytes, fields: Mapping[str, type | tuple[type, ...]]) -> dict[str, Any]:
    """The object that `written` wrote, with these fields of these types and no others; `Malformed` for anything else.

    >>> read(b'{"table":"wards"}', {"table": str})
    {'table': 'wards'}
    """
    try:
        found = json.loads(content, parse_constant=_refused, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        raise Malformed("a content that is not JSON") from None
    if not isinstance(found, dict) or set(found) != set(fields):
        raise Malformed("a content with other fields")
    if not all(_is(found[name], kind) for name, kind in fields.items()):
        raise Malformed("a content with other types")
    return found


def _is(value: object, kind: type | tuple[type, ...]) -> bool:
    """Whether a value is of a type; a truth is not a number."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return type(value) in kinds


def _refused(constant: str) -> None:
    raise ValueError(constant)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice")
    return found


def call_written(call: Call) -> bytes:
    """A call as the content of a message."""
    return written({"operation": call.operation, "credential": call.credential, "arguments": dict(call.arguments), "key": call.key})


def call_read(content: bytes) -> Call:
    """The call that `call_written` wrote."""
    return Call(**read(content, {"operation": str, "credential": str, "arguments": dict, "key": str}))


def reply_written(reply: Reply) -> bytes:
    """A reply as the content of a message: a line of JSON, and the body as it is."""
    known = {"status": reply.status, "media": reply.media, "headers": [list(pair) for pair in reply.headers]}
    known |= {"account": reply.account}
    return written(known) + b"\n" + reply.body


def reply_read(content: bytes) -> Reply:
    """The reply that `reply_written` wrote."""
    line, _, body = content.partition(b"\n")
    known = read(line, {"status": int, "media": str, "headers": list, "account": str})
    pairs = known["headers"]
    if len(pairs) > MOST_HEADERS or not all(_is_pair(pair) for pair in pairs):
        raise Malformed("headers that are not pairs of texts")
    if not 200 <= known["status"] <= 599 or not _is_plain(known["media"]):
        raise Malformed("a reply that HTTP does not have")
    return Reply(known["status"], body, known["media"], tuple((name, value) for name, value in pairs), known["account"])


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, str) and _is_plain(each) for each in pair)


def _is_plain(text: str) -> bool:
    """Whether a text can stand in a header: printable ASCII, so that no line can be added."""
    return text.isascii() and text.isprintable()
