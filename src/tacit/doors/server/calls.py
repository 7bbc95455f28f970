"""The two messages between the front and the clerk, a call and its reply; and the words between each process and the supervisor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.release.elsewhere.frames import Malformed, read, written

OF_ENGINE, OF_FRONT = b"e", b"f"  # whose connection it is that the supervisor hands over
READY, NOT_USABLE, LOST = b"r", b"u", b"l"  # to the supervisor; lost is the connection between front and clerk
AWAY = 75  # how an engine ends that did not reach the cluster of its data: a temporary failure, as sysexits.h has it
MOST_HEADERS = 32
ADMISSION = "admission"  # asks whether an account may use the operation that its arguments name; nothing is done
CONNECTION = "connection"  # where a request finds the connection that it came on, in the state of its scope


@dataclass(frozen=True, slots=True)
class Call:
    """One operation of the API as the front received it. The clerk trusts nothing in it and checks all of it again."""

    operation: str
    credential: str  # the bearer token as received; empty if there is none
    arguments: Mapping[str, Any]  # JSON values only: body, path and query parameters
    key: str = ""  # the Idempotency-Key


@dataclass(frozen=True, slots=True)
class Reply:
    """The bytes that the front sends back; `account` is for the front alone, which counts the connections of each."""

    status: int
    body: bytes
    media: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    account: str = ""
    timed: bool = False  # whether the clerk lets it leave at a public time of its own


class Clerk(Protocol):
    """The clerk, to the front: over a socket in production, in process in tests."""

    async def ask(self, call: Call) -> Reply:
        """The reply to one call."""


# --- on the wire -------------------------------------------------------------------------------------------------------------


def call_written(call: Call) -> bytes:
    """A call as the content of a message."""
    return written({"operation": call.operation, "credential": call.credential, "arguments": dict(call.arguments), "key": call.key})


def call_read(content: bytes) -> Call:
    """The call that `call_written` wrote."""
    return Call(**read(content, {"operation": str, "credential": str, "arguments": dict, "key": str}))


def reply_written(reply: Reply) -> bytes:
    """A reply as the content of a message: a line of JSON, and the body as it is."""
    head = {"status": reply.status, "media": reply.media, "headers": [list(pair) for pair in reply.headers]}
    return written(head | {"account": reply.account, "timed": reply.timed}) + b"\n" + reply.body


def reply_read(content: bytes) -> Reply:
    """The reply that `reply_written` wrote."""
    line, _, body = content.partition(b"\n")
    head = read(line, {"status": int, "media": str, "headers": list, "account": str, "timed": bool})
    pairs = head["headers"]
    if len(pairs) > MOST_HEADERS or not all(_is_pair(pair) for pair in pairs):
        raise Malformed("headers that are not pairs of texts")
    if not 200 <= head["status"] <= 599 or not _is_plain(head["media"]):
        raise Malformed("a reply that HTTP does not have")
    return Reply(head["status"], body, head["media"], tuple((name, value) for name, value in pairs), head["account"], head["timed"])


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, str) and _is_plain(each) for each in pair)


def _is_plain(text: str) -> bool:
    """Whether a text can stand in a header: printable ASCII, so that no line can be added."""
    return text.isascii() and text.isprintable()
