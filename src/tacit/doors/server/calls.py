"""What the front asks the clerk, and what the clerk replies: the only two messages between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

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
    """What the front sends back, byte for byte; `account` is for the front alone, which counts the connections of each."""

    status: int
    body: bytes
    media: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    account: str = ""


class Clerk(Protocol):
    """What the front holds: over a socket in production, in process in tests."""

    async def ask(self, call: Call) -> Reply:
        """The reply to one call."""
