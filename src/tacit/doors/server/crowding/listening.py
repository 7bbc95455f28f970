"""A listening socket that takes so many connections, and so many of one address. One too many is closed before it says a word.

The count begins when the kernel hands a connection over, before TLS: a handshake that is never finished is a connection too.
"""

from __future__ import annotations

import socket
from collections.abc import Collection
from typing import Any

from tacit.doors.server.crowding.crowd import Crowd, origin_of

MOST_CONNECTIONS = 2_000
EVERYBODY = ""


class Connection(socket.socket):
    """A connection that counts until it is closed."""

    def __init__(self, fileno: int, counted: Collection[tuple[Crowd, str]]) -> None:
        super().__init__(fileno=fileno)
        self._counted = counted

    def close(self) -> None:
        """Close it, and count it no longer."""
        counted, self._counted = self._counted, ()
        for crowd, who in counted:
            crowd.leave(who)
        super().close()


class Listening(socket.socket):
    """A listening socket with limits; `exempt` are addresses that stand for many others, as that of a proxy does."""

    def __init__(self, fileno: int, most: int | None, exempt: Collection[str] = ()) -> None:
        super().__init__(fileno=fileno)
        self._everybody = Crowd(MOST_CONNECTIONS)
        self._each = None if most is None else Crowd(most)
        self._exempt = {origin_of(address) for address in exempt}

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection within the limits; those beyond are closed."""
        while True:
            descriptor, address = self._accept()  # type: ignore[attr-defined]  # as socket.accept does
            counted = self._admitted(origin_of(str(address[0])))
            connection = Connection(descriptor, counted or ())
            if counted is not None:
                return connection, address
            connection.close()

    def _admitted(self, origin: str) -> tuple[tuple[Crowd, str], ...] | None:
        if not self._everybody.enter(EVERYBODY):
            return None
        if self._each is None or origin in self._exempt:
            return ((self._everybody, EVERYBODY),)
        if self._each.enter(origin):
            return (self._everybody, EVERYBODY), (self._each, origin)
        self._everybody.leave(EVERYBODY)
        return None
