"""What the front asks the clerk, and what the clerk replies: the only two messages between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Call:
    """One operation of the API as the front received it. The clerk trusts nothing in it and checks all of it again."""

    operation: str
    credential: str  # the bearer token as received; empty if there is none
    arguments: Mapping[str, Any]  # JSON values only: body, path and query parameters
    key: str = ""  # the Idempotency-Key


@dataclass(frozen=True, slots=True)
class Reply:
    """What the front sends back, byte for byte."""

    status: int
    body: bytes
    media: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


class Clerk(Protocol):
    """What the front holds: over a socket in production, in process in tests."""

    async def ask(self, call: Call) -> Reply:
        """The reply to one call."""
